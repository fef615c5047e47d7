//! The latency distributions of one thread or phase.

use serde::{Deserialize, Serialize};
use store::OperationKind;
use study::{Histogram, Latencies, LatencyDistributions};

/// Latency distributions of one thread or phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Histograms {
    /// Latencies from actual send to reply, of operations that were answered.
    pub service: Histogram,
    /// Open loop: from intended send to actual send.
    pub send_lag: Histogram,
    /// Open loop: how much of that no slot was waited for.
    pub client_lag: Histogram,
    /// Latencies from intended send to reply, by kind of operation. Under closed loop intended is actual.
    pub response: [Histogram; OperationKind::ALL.len()],
}

impl Default for Histograms {
    fn default() -> Self {
        Histograms {
            service: Histogram::default(),
            send_lag: Histogram::default(),
            client_lag: Histogram::default(),
            response: std::array::from_fn(|_| Histogram::default()),
        }
    }
}

impl Histograms {
    /// Adds other distributions.
    pub fn merge(&mut self, other: &Histograms) {
        self.service.merge(&other.service);
        self.send_lag.merge(&other.send_lag);
        self.client_lag.merge(&other.client_lag);
        for (mine, theirs) in self.response.iter_mut().zip(&other.response) {
            mine.merge(theirs);
        }
    }

    /// Returns the histograms in the form that is stored.
    pub fn distributions(&self) -> LatencyDistributions {
        LatencyDistributions {
            by_operation: OperationKind::ALL
                .iter()
                .zip(&self.response)
                .map(|(kind, histogram)| (kind.name().to_owned(), histogram.distribution()))
                .filter(|(_, distribution)| !distribution.is_empty())
                .collect(),
            service: self.service.distribution(),
            send_lag: self.send_lag.distribution(),
            client_lag: self.client_lag.distribution(),
        }
    }

    /// Returns the summaries of `study.json`.
    pub fn latencies(&self) -> Latencies {
        // What a histogram wrote it can read.
        LatencyDistributions::together([&self.distributions()]).unwrap_or_default()
    }
}
