//! What theory says of an algorithm.

use super::Algorithm;
use store::spread::Law;

/// Points of a node on libketama's ring.
const POINTS: f64 = 160.0;

/// Probes of a key.
const PROBES: f64 = 21.0;

/// How much the share that moves among the old nodes of maglev's table differs from [`maglev_elsewhere`]: standard deviation.
const ELSEWHERE_DEVIATION: f64 = 0.0006;

/// Returns the share of keys that move among the old nodes of maglev's table when one joins these.
pub(super) fn maglev_elsewhere(nodes: usize) -> f64 {
    0.0013 * (nodes as f64).ln()
}

/// Returns how evenly an algorithm spreads keys over this many nodes, and how many of them move when one joins.
pub(super) fn law(algorithm: Algorithm, nodes: usize) -> Law {
    let n = nodes as f64;
    let even = Law { nodes, own_variance: 0.0, moved: 1.0 / (n + 1.0), moved_deviation: 0.0 };
    // The share of one of n nodes with p points each on a ring is a Beta(p, p(n-1)) variable.
    let beta = |n: f64, points: f64| (n - 1.0) / (n * n * (points * n + 1.0));
    match algorithm {
        Algorithm::Jump | Algorithm::Rendezvous | Algorithm::Anchor => even,
        Algorithm::Modulo => Law { moved: n / (n + 1.0), ..even },
        Algorithm::Ketama => {
            Law { own_variance: beta(n, POINTS), moved_deviation: beta(n + 1.0, POINTS).sqrt(), ..even }
        }
        // Places differ by at most one, and the new node has its share of them to the place. Beside those, some places change hands
        // among the old nodes: the paper has no formula for that, and the tables of 2 to 258 nodes are within 0.2 % of this.
        Algorithm::Maglev => {
            Law { moved: even.moved + maglev_elsewhere(nodes), moved_deviation: ELSEWHERE_DEVIATION, ..even }
        }
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
