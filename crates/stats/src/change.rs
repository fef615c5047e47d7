//! Where a curve changes its level.

use crate::median;
use std::collections::BinaryHeap;

/// The plan of a search for change points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangePlan {
    /// Fewest points between two changes. Less than half of that is never a level, only outliers.
    pub least_length: usize,
    /// The gain a change must bring, in units of ln n; a larger value finds fewer changes. With the default noise alone shows a change in
    /// less than 5 of 100 curves (`tests/changes.rs`).
    pub penalty: f64,
}

impl Default for ChangePlan {
    /// 5 points, penalty 2.5.
    fn default() -> ChangePlan {
        ChangePlan { least_length: 5, penalty: 2.5 }
    }
}

/// A place where the level changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangePoint {
    /// Index of the first value of the new level.
    pub at: usize,
    /// Median from the change before (or the start) to this one.
    pub before: f64,
    /// Median from this change to the next one (or the end).
    pub after: f64,
}

/// Returns the places where the values' level changes, in order; empty when there are none, fewer than two times `least_length` values, or
/// one is not finite.
///
/// Method: the cheapest of all ways to cut the curve, by PELT (Killick, Fearnhead & Eckley, *Optimal Detection of Changepoints
/// with a Linear Computational Cost*, JASA 107, 2012). The cost of a piece is the sum of its values' distances from its median,
/// so that outliers and stalls of less than half the least length, however far off, make no change. The noise's scale and its autocorrelation, by which the
/// penalty grows, are read off the differences of values one and two apart, which hardly see the changes (Chakar, Lebarbier,
/// Lévy-Leduc & Robin, *A robust approach for estimating change-points in the mean of an AR(1) process*, Bernoulli 23, 2017).
///
/// A level, not a slope: a curve that falls steadily comes out as a staircase; divide such a trend out first. Take logarithms
/// where noise is proportional to the level, as of rates and latencies.
///
/// Invariant: shifting the values or scaling them by a positive factor does not move the changes. Cost: O(n² log n) at
/// worst, 1 ms for 600 values; O(n) memory.
///
/// ```
/// let curve: Vec<f64> = (0..40).map(|i| f64::from(i % 3) + if i < 25 { 100.0 } else { 80.0 }).collect();
/// let changes = stats::change_points(&curve, stats::ChangePlan::default());
/// assert_eq!((changes.len(), changes[0].at, changes[0].before, changes[0].after), (1, 25, 101.0, 81.0));
/// ```
pub fn change_points(values: &[f64], plan: ChangePlan) -> Vec<ChangePoint> {
    let least = plan.least_length.max(1);
    if values.len() < 2 * least || values.iter().any(|value| !value.is_finite()) {
        return Vec::new();
    }
    let penalty = penalty(values, plan.penalty);
    let cuts = cheapest_cuts(values, least, penalty);
    let level = |from: usize, to: usize| median(&values[from..to]).unwrap_or_default();
    (1..cuts.len() - 1)
        .map(|i| ChangePoint { at: cuts[i], before: level(cuts[i - 1], cuts[i]), after: level(cuts[i], cuts[i + 1]) })
        .collect()
}

/// What a cut must save in summed distances.
fn penalty(values: &[f64], factor: f64) -> f64 {
    // Of noise of deviation s and autocorrelation r, differences of neighbours have variance 2 s² (1 - r), of values two apart
    // 2 s² (1 - r²): their ratio is 1 + r.
    let (near, far) = (scale_of_differences(values, 1), scale_of_differences(values, 2));
    let smooth = steps(values, 1) == 0.0; // most neighbours are equal: what differs is change, not noise
    let correlation = if smooth || near == 0.0 { 0.0 } else { ((far / near).powi(2) - 1.0).clamp(0.0, 0.9) };
    let deviation = near / (2.0 * (1.0 - correlation)).sqrt();
    // Sums of autocorrelated noise vary (1 + r) / (1 - r) times as much as of independent noise.
    let wander = (1.0 + correlation) / (1.0 - correlation);
    let smallest = values.iter().fold(0.0f64, |largest, value| largest.max(value.abs())) * 1e-12;
    (factor * (values.len() as f64).ln() * deviation * wander).max(smallest)
}

/// Median size of the differences of values `lag` apart.
fn steps(values: &[f64], lag: usize) -> f64 {
    median(&differences(values, lag)).unwrap_or(0.0)
}

fn differences(values: &[f64], lag: usize) -> Vec<f64> {
    values.iter().zip(&values[lag..]).map(|(before, after)| (after - before).abs()).collect()
}

/// Standard deviation of the differences of values `lag` apart, from their mean size; sizes beyond five times the middle one, which
/// are changes and stalls, count as that.
fn scale_of_differences(values: &[f64], lag: usize) -> f64 {
    let sizes = differences(values, lag);
    let most = Some(5.0 * steps(values, lag)).filter(|most| *most > 0.0).unwrap_or(f64::INFINITY);
    1.253_314 * sizes.iter().map(|size| size.min(most)).sum::<f64>() / sizes.len().max(1) as f64
}

/// Start, cuts and end of the partition whose pieces' distances plus a penalty a piece are least.
fn cheapest_cuts(values: &[f64], least: usize, penalty: f64) -> Vec<usize> {
    let n = values.len();
    // cost[t]: of the best partition of the first t values; last[t]: where its last piece starts.
    let mut cost = vec![f64::INFINITY; n + 1];
    let mut last = vec![0; n + 1];
    cost[0] = -penalty;
    let mut open: Vec<Piece> = Vec::new();
    for t in 1..=n {
        let start = t - 1;
        if cost[start].is_finite() {
            open.push(Piece { start, spread: Spread::default(), beaten_at: None });
        }
        for piece in &mut open {
            piece.spread.add(values[start]);
            let total = cost[piece.start] + piece.spread.distance() + penalty;
            if t - piece.start >= least && total < cost[t] {
                cost[t] = total;
                last[t] = piece.start;
            }
        }
        for piece in &mut open {
            // A longer piece costs at least its parts, so cutting here is better at every later end from which a piece may start here.
            if piece.beaten_at.is_none() && cost[piece.start] + piece.spread.distance() > cost[t] {
                piece.beaten_at = Some(t);
            }
        }
        open.retain(|piece| piece.beaten_at.is_none_or(|beaten| t + 1 < beaten + least));
    }
    let mut cuts = vec![n];
    let mut at = n;
    while at > 0 {
        at = last[at];
        cuts.push(at);
    }
    cuts.reverse();
    cuts
}

/// A piece that may still be the last one.
struct Piece {
    start: usize,
    spread: Spread,
    beaten_at: Option<usize>,
}

/// The sum of distances of numbers from their median, kept up to date as numbers are added: two heaps around the median.
#[derive(Default)]
struct Spread {
    low: BinaryHeap<Ordered>,
    high: BinaryHeap<std::cmp::Reverse<Ordered>>,
    low_sum: f64,
    high_sum: f64,
}

impl Spread {
    fn add(&mut self, value: f64) {
        if self.low.peek().is_none_or(|top| value <= top.0) {
            self.low.push(Ordered(value));
            self.low_sum += value;
        } else {
            self.high.push(std::cmp::Reverse(Ordered(value)));
            self.high_sum += value;
        }
        if self.low.len() > self.high.len() + 1 {
            if let Some(Ordered(moved)) = self.low.pop() {
                self.low_sum -= moved;
                self.high_sum += moved;
                self.high.push(std::cmp::Reverse(Ordered(moved)));
            }
        } else if self.high.len() > self.low.len()
            && let Some(std::cmp::Reverse(Ordered(moved))) = self.high.pop()
        {
            self.high_sum -= moved;
            self.low_sum += moved;
            self.low.push(Ordered(moved));
        }
    }

    /// Any point between the two middle numbers gives the least sum; with an odd count the middle number is in `low`.
    fn distance(&self) -> f64 {
        let centre = self.low.peek().map_or(0.0, |top| top.0);
        let below = centre * self.low.len() as f64 - self.low_sum;
        let above = self.high_sum - centre * self.high.len() as f64;
        (below + above).max(0.0)
    }
}

/// A finite number in a heap.
#[derive(PartialEq)]
struct Ordered(f64);

impl Eq for Ordered {}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Ordered) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ordered {
    fn cmp(&self, other: &Ordered) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{Spread, cheapest_cuts};
    use crate::median;
    use crate::random::Random;

    fn distance(piece: &[f64]) -> f64 {
        let centre = median(piece).unwrap();
        piece.iter().map(|value| (value - centre).abs()).sum()
    }

    /// Every start for every end, nothing left out.
    fn by_brute_force(values: &[f64], least: usize, penalty: f64) -> Vec<usize> {
        let n = values.len();
        let mut best: Vec<Option<(f64, Vec<usize>)>> = vec![None; n + 1];
        best[0] = Some((0.0, vec![0]));
        for to in least..=n {
            for from in 0..=to - least {
                let Some((before, cuts)) = best[from].clone() else { continue };
                let total = before + distance(&values[from..to]) + penalty;
                if best[to].as_ref().is_none_or(|(known, _)| total < *known) {
                    best[to] = Some((total, [cuts, vec![to]].concat()));
                }
            }
        }
        best[n].clone().unwrap().1
    }

    #[test]
    fn what_is_left_out_early_would_not_have_been_the_cheapest() {
        let mut random = Random::new(5);
        for case in 0..300 {
            let (n, least) = (10 + random.below(60), 1 + random.below(5));
            let mut level = 0.0;
            let values: Vec<f64> = (0..n)
                .map(|_| {
                    level = if random.below(12) == 0 { 10.0 * random.unit() } else { level };
                    level + random.unit()
                })
                .collect();
            let penalty = 0.5 + 3.0 * random.unit();
            // Of two ways that cost the same, either is right.
            let cost =
                |cuts: &[usize]| cuts.windows(2).map(|cut| distance(&values[cut[0]..cut[1]]) + penalty).sum::<f64>();
            let (found, truth) = (cheapest_cuts(&values, least, penalty), by_brute_force(&values, least, penalty));
            assert!((cost(&found) - cost(&truth)).abs() < 1e-9, "case {case}: {found:?} for {truth:?}");
        }
    }

    #[test]
    fn the_running_distance_is_that_from_the_median() {
        let mut spread = Spread::default();
        let mut seen = Vec::new();
        for i in 0..200u64 {
            let value = (i * i * 7919 % 1009) as f64;
            spread.add(value);
            seen.push(value);
            let centre = median(&seen).unwrap();
            let truth: f64 = seen.iter().map(|one| (one - centre).abs()).sum();
            assert!((spread.distance() - truth).abs() < 1e-6, "{i}");
        }
    }
}
