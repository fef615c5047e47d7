//! Histograms as they are kept and sent.

use crate::histogram::Histogram;
use crate::latency::Latencies;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write;

/// A [`Histogram`] as plain text: percentiles over several trials are computed from the sum of their distributions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LatencyDistribution {
    /// Counts of consecutive buckets from the first on, separated by spaces; `+N` passes over N empty ones. `+412 3 12 +2 1`: 3 in bucket
    /// 412, 12 in bucket 413, 1 in bucket 416.
    pub counts: String,
    /// Sum of all latencies, ns.
    pub sum_ns: u64,
    /// The smallest, ns; 0 where none was counted.
    pub min_ns: u64,
    /// The largest, ns.
    pub max_ns: u64,
    /// Operations that failed: they have no latency.
    #[serde(skip_serializing_if = "is_zero")]
    pub failed: u64,
}

pub(crate) fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl LatencyDistribution {
    /// Returns whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty() && self.failed == 0
    }

    /// Writes the counts of all buckets; the rest as it is in `rest`.
    pub(crate) fn of_counts(counts: &[u64], rest: LatencyDistribution) -> LatencyDistribution {
        let (mut text, mut empty) = (String::new(), 0u32);
        for count in counts {
            if *count == 0 {
                empty += 1;
                continue;
            }
            let space = if text.is_empty() { "" } else { " " };
            // Writing to a string does not fail.
            let _ = match std::mem::take(&mut empty) {
                0 => write!(text, "{space}{count}"),
                passed => write!(text, "{space}+{passed} {count}"),
            };
        }
        LatencyDistribution { counts: text, ..rest }
    }

    /// Returns the buckets that are not empty: the number of each, and how many it has.
    pub(crate) fn counts(&self) -> impl Iterator<Item = Result<(usize, u64), String>> {
        let mut next = 0usize;
        self.counts.split_ascii_whitespace().filter_map(move |word| {
            let passed = word.strip_prefix('+');
            let Ok(number) = passed.unwrap_or(word).parse::<u64>() else {
                return Some(Err(format!("'{word}' is no count of a histogram")));
            };
            if passed.is_some() {
                next = next.saturating_add(number as usize);
                return None;
            }
            next = next.saturating_add(1);
            Some(Ok((next - 1, number)))
        })
    }
}

/// The histograms of a phase: of one trial or of several together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LatencyDistributions {
    /// Latencies from the intended send to the reply, by kind of operation (`get`, `put`, ...).
    pub by_operation: BTreeMap<String, LatencyDistribution>,
    /// Open loop: from the actual send to the reply. Under closed loop it is that of all kinds of operations together.
    #[serde(skip_serializing_if = "LatencyDistribution::is_empty")]
    pub service: LatencyDistribution,
    /// Open loop: from the intended to the actual send.
    #[serde(skip_serializing_if = "LatencyDistribution::is_empty")]
    pub send_lag: LatencyDistribution,
    /// Open loop: how much of that no slot was waited for.
    #[serde(skip_serializing_if = "LatencyDistribution::is_empty")]
    pub client_lag: LatencyDistribution,
}

impl LatencyDistributions {
    /// Returns whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.by_operation.values().all(LatencyDistribution::is_empty)
    }

    /// Returns the latencies of all of these together.
    ///
    /// # Errors
    /// One is not what a histogram writes.
    pub fn together<'a>(all: impl IntoIterator<Item = &'a LatencyDistributions>) -> Result<Latencies, String> {
        let mut by_operation: BTreeMap<&str, Histogram> = BTreeMap::new();
        let [mut service, mut send_lag, mut client_lag, mut response] = [(); 4].map(|()| Histogram::default());
        for one in all {
            for (name, distribution) in &one.by_operation {
                by_operation.entry(name).or_default().add(distribution)?;
            }
            service.add(&one.service)?;
            send_lag.add(&one.send_lag)?;
            client_lag.add(&one.client_lag)?;
        }
        by_operation.values().for_each(|histogram| response.merge(histogram));
        let response_summary = response.summary();
        Ok(Latencies {
            service: if service.n() > 0 { service.summary() } else { response_summary.answered() },
            response: response_summary,
            send_lag: send_lag.summary(),
            percentiles: response.percentiles(),
            client_lag: client_lag.summary(),
            by_operation: by_operation.into_iter().map(|(name, it)| (name.to_owned(), it.summary())).collect(),
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{LatencyDistribution, LatencyDistributions};
    use crate::{Histogram, LatencySummary};

    fn of(latencies_ns: &[u64], failed: u32) -> LatencyDistributions {
        let mut histogram = Histogram::default();
        latencies_ns.iter().for_each(|ns| histogram.record(*ns));
        (0..failed).for_each(|_| histogram.fail());
        LatencyDistributions {
            by_operation: [("get".to_owned(), histogram.distribution())].into(),
            ..LatencyDistributions::default()
        }
    }

    #[test]
    fn what_is_kept_of_a_histogram_is_all_of_it() {
        let mut histogram = Histogram::default();
        (0..5_000u64).for_each(|value| histogram.record(value * value));
        histogram.fail();
        histogram.record(u64::MAX / 10_000);
        let kept = serde_json::to_string(&histogram).unwrap();
        assert_eq!(serde_json::from_str::<Histogram>(&kept).unwrap(), histogram);
        let empty = Histogram::default();
        assert_eq!(Histogram::try_from(empty.distribution()).unwrap(), empty);
    }

    #[test]
    fn the_text_of_a_histogram_is_counts_and_gaps() {
        let mut histogram = Histogram::default();
        for (ns, times) in [(5, 3), (6, 12), (9, 1)] {
            histogram.record_many(ns, times);
        }
        assert_eq!(histogram.distribution().counts, "+5 3 12 +2 1");
        for (broken, says) in [("5 x", "'x' is no count"), ("+9999 1", "no bucket 9999")] {
            let broken = LatencyDistribution { counts: broken.into(), ..LatencyDistribution::default() };
            let problem = Histogram::default().add(&broken).unwrap_err();
            assert!(problem.contains(says), "{problem}");
        }
    }

    #[test]
    fn trials_together_have_the_figures_of_all_their_operations() {
        let (fast, slow) = (of(&[100; 990], 0), of(&[10_000; 1_010], 0));
        let all = LatencyDistributions::together([&fast, &slow]).unwrap();
        assert_eq!((all.response.n, all.response.min, all.response.max), (2_000, 100, 10_000));
        assert_eq!((all.response.p50, all.by_operation["get"].p50), (10_000, 10_000));
        assert_eq!(all.response.mean, (990.0 * 100.0 + 1_010.0 * 10_000.0) / 2_000.0);
        assert_eq!(all.service, all.response);
    }

    #[test]
    fn what_failed_is_slower_than_all_that_was_answered() {
        let all = LatencyDistributions::together([&of(&[100; 96], 2), &of(&[500; 2], 0)]).unwrap();
        let LatencySummary { n, max, p99, failed, .. } = all.response;
        assert_eq!((n, max, p99, failed), (98, 500, 500, 2));
        let asked = all.response.of_asked();
        assert_eq!((asked.p50, asked.p95, asked.p99, asked.p99_9), (Some(100), Some(100), None, None));
        assert_eq!((all.service.failed, all.service.asked), (0, None));
        assert_eq!(all.percentiles.last().unwrap().0, 97.5);
        let none = LatencyDistributions::together([&of(&[], 3)]).unwrap().response;
        assert_eq!((none.n, none.of_asked().p50, none.share_failed()), (0, None, Some(1.0)));
    }
}
