//! What theory says of an algorithm.

use crate::Algorithm;

/// How evenly keys are spread over nodes, and how many move when one comes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Law {
    nodes: f64,
    /// Variance of a node's share that is the placement's own, before any key is drawn.
    own_variance: f64,
    /// Share of keys that move when a node comes.
    pub moved: f64,
    /// Standard deviation of that share, before any key is drawn.
    pub moved_deviation: f64,
}

/// Points of a node on libketama's ring.
const POINTS: f64 = 160.0;

/// Probes of a key.
const PROBES: f64 = 21.0;

impl Law {
    pub(crate) fn of(algorithm: Algorithm, nodes: usize) -> Law {
        let n = nodes as f64;
        let even = Law { nodes: n, own_variance: 0.0, moved: 1.0 / (n + 1.0), moved_deviation: 0.0 };
        // The share of one of n nodes with p points each on a ring is a Beta(p, p(n-1)) variable.
        let beta = |n: f64, points: f64| (n - 1.0) / (n * n * (points * n + 1.0));
        match algorithm {
            Algorithm::Jump | Algorithm::Rendezvous | Algorithm::Anchor => even,
            Algorithm::Modulo => Law { moved: n / (n + 1.0), ..even },
            Algorithm::Ketama => {
                Law { own_variance: beta(n, POINTS), moved_deviation: beta(n + 1.0, POINTS).sqrt(), ..even }
            }
            // Places differ by at most one. Beside the new node's, some places change hands among the old ones: a few in a hundred.
            Algorithm::Maglev => Law { moved_deviation: 0.02, ..even },
            // Of n points on a ring the gap before one is g/n with density e^-g, and the closest of p probes falls into it in proportion to
            // 1 - e^-pg: mean p/(p+1), mean square 1 - 2/(p+1) + 1/(2p+1). Few nodes have little, so that the others have 1/p more.
            Algorithm::Multiprobe => {
                let (mean, square) = (PROBES / (PROBES + 1.0), 1.0 - 2.0 / (PROBES + 1.0) + 1.0 / (2.0 * PROBES + 1.0));
                let variation = (square / (mean * mean) - 1.0).sqrt();
                let own_variance = if nodes < 2 { 0.0 } else { (variation / n).powi(2) };
                Law { own_variance, moved_deviation: variation / (n + 1.0), ..even }
            }
        }
    }

    /// Coefficient of variation of the nodes' shares of this many keys: standard deviation over mean.
    pub fn variation(&self, keys: u64) -> f64 {
        let sampling = (self.nodes - 1.0) / (self.nodes * self.nodes * keys as f64);
        (self.own_variance + sampling).sqrt() * self.nodes
    }
}
