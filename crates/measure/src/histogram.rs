//! Latency histograms: log-linear, as HDR histograms are (Tene, hdrhistogram.org), with at most 0.4 % error from 1 ns to 2.4 hours.

use serde::{Deserialize, Serialize};
use study::{LatencySummary, PERCENTILES};

/// 2^7 buckets an octave: half a bucket is 1/256 of the value.
const SUB_BITS: u32 = 7;
const SUB: usize = 1 << SUB_BITS;
/// Values of 2^43 ns (2.4 hours) and more land in the last bucket.
const MAX_BITS: u32 = 43;
const BUCKETS: usize = (MAX_BITS - SUB_BITS + 1) as usize * SUB;

/// A latency distribution in nanoseconds. Memory is constant: 37 KiB of counters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Sparse", try_from = "Sparse")]
pub struct Histogram {
    counts: Box<[u64]>,
    n: u64,
    sum: u64,
    min: u64,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram { counts: vec![0; BUCKETS].into_boxed_slice(), n: 0, sum: 0, min: u64::MAX, max: 0 }
    }
}

/// A histogram as it is sent: the buckets that are not empty, by number.
#[derive(Serialize, Deserialize)]
struct Sparse {
    counts: Vec<(u32, u64)>,
    sum: u64,
    min: u64,
    max: u64,
}

impl From<Histogram> for Sparse {
    fn from(full: Histogram) -> Sparse {
        Sparse { counts: filled(&full.counts), sum: full.sum, min: full.min, max: full.max }
    }
}

impl TryFrom<Sparse> for Histogram {
    type Error = String;

    fn try_from(sparse: Sparse) -> Result<Histogram, String> {
        let mut full = Histogram { sum: sparse.sum, min: sparse.min, max: sparse.max, ..Histogram::default() };
        fill(&mut full.counts, &sparse.counts)?;
        full.n = full.counts.iter().sum();
        Ok(full)
    }
}

/// The buckets that are not empty, by number.
fn filled(counts: &[u64]) -> Vec<(u32, u64)> {
    (0..).zip(counts).filter(|(_, count)| **count > 0).map(|(number, count)| (number, *count)).collect()
}

fn fill(counts: &mut [u64], filled: &[(u32, u64)]) -> Result<(), String> {
    for (number, count) in filled {
        *counts.get_mut(*number as usize).ok_or_else(|| format!("a histogram has no bucket {number}"))? = *count;
    }
    Ok(())
}

/// Counts by coarse bucket; sent as the buckets that are not empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Vec<(u32, u64)>", try_from = "Vec<(u32, u64)>")]
pub struct CoarseCounts(pub Box<[u64]>);

impl Default for CoarseCounts {
    fn default() -> CoarseCounts {
        CoarseCounts(vec![0; COARSE_BUCKETS].into())
    }
}

impl CoarseCounts {
    /// Adds other counts.
    pub fn add(&mut self, other: &CoarseCounts) {
        self.0.iter_mut().zip(&other.0).for_each(|(mine, theirs)| *mine += theirs);
    }
}

impl From<CoarseCounts> for Vec<(u32, u64)> {
    fn from(full: CoarseCounts) -> Vec<(u32, u64)> {
        filled(&full.0)
    }
}

impl TryFrom<Vec<(u32, u64)>> for CoarseCounts {
    type Error = String;

    fn try_from(sparse: Vec<(u32, u64)>) -> Result<CoarseCounts, String> {
        let mut full = CoarseCounts::default();
        fill(&mut full.0, &sparse)?;
        Ok(full)
    }
}

#[inline(always)]
fn bucket(ns: u64) -> usize {
    let ns = ns.min((1 << MAX_BITS) - 1);
    let exponent = (63 - (ns | (SUB as u64 - 1)).leading_zeros()) + 1 - SUB_BITS;
    // The first SUB values are exact; from there each octave has SUB buckets, of which the upper half is used twice as wide.
    ((exponent as usize) << SUB_BITS) + (ns >> exponent.saturating_sub(1)) as usize
        - if exponent == 0 { 0 } else { SUB }
}

/// The value in the middle of a bucket.
fn middle(index: usize) -> u64 {
    let (octave, rest) = (index >> SUB_BITS, index & (SUB - 1));
    if octave == 0 {
        return rest as u64;
    }
    let width_bits = octave as u32 - 1;
    let low = ((SUB + rest) as u64) << width_bits;
    low + (1u64 << width_bits) / 2
}

/// Buckets of the coarse view: 2^3 an octave, half a bucket is 1/16 of the value.
pub const COARSE_BUCKETS: usize = (MAX_BITS as usize - 2) << 3;
const COARSER: u32 = SUB_BITS - 3;

/// The value in the middle of a coarse bucket.
fn coarse_middle(index: usize) -> u64 {
    let (octave, rest) = ((index >> 3) as u32, (index & 7) as u64);
    if octave == 0 { rest } else { ((8 + rest) << (octave - 1)) + (1 << (octave - 1)) / 2 }
}

/// The value that this percent of the counted ones stayed at or under, from a coarse view; `None` when nothing was counted.
pub fn coarse_percentile(counts: impl Iterator<Item = u64> + Clone, percent: u64) -> Option<u64> {
    let rank = (counts.clone().sum::<u64>() * percent).div_ceil(100).max(1);
    let mut seen = 0;
    let reaches = |count: u64| {
        seen += count;
        seen >= rank
    };
    counts.map(reaches).position(|reached| reached).map(coarse_middle)
}

/// The coarse bucket of a small value, which has a fine bucket of its own.
fn coarse_of_exact(value: usize) -> usize {
    let octave = (usize::BITS - (value | 7).leading_zeros()) as usize - 3;
    (octave << 3) + (value >> octave.saturating_sub(1)) - if octave == 0 { 0 } else { 8 }
}

impl Histogram {
    /// Adds its counts to a coarse view.
    pub fn add_coarse(&self, total: &mut [u64; COARSE_BUCKETS]) {
        if self.n == 0 {
            return;
        }
        for (value, count) in self.counts[..SUB].iter().enumerate() {
            total[coarse_of_exact(value)] += count;
        }
        for (index, count) in self.counts.iter().enumerate().skip(SUB) {
            total[(index >> COARSER) + (COARSER as usize) * 8] += count;
        }
    }

    /// Counts one latency.
    #[inline(always)]
    pub fn record(&mut self, ns: u64) {
        self.record_many(ns, 1);
    }

    /// Counts the same latency several times.
    #[inline(always)]
    pub fn record_many(&mut self, ns: u64, times: u32) {
        let times = u64::from(times);
        self.counts[bucket(ns)] += times;
        self.n += times;
        self.sum += ns * times;
        self.min = self.min.min(ns);
        self.max = self.max.max(ns);
    }

    /// Adds another histogram.
    pub fn merge(&mut self, other: &Histogram) {
        if other.n == 0 {
            return;
        }
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.n += other.n;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Number of latencies counted.
    pub fn n(&self) -> u64 {
        self.n
    }

    /// The latency that a share `quantile` (0 to 1) of all stayed at or under, within 0.4 %; 0 when nothing was counted.
    pub fn quantile(&self, quantile: f64) -> u64 {
        let rank = ((quantile * self.n as f64).ceil() as u64).clamp(1, self.n.max(1));
        let mut seen = 0;
        for (index, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return middle(index).clamp(self.min.min(self.max), self.max);
            }
        }
        0
    }

    /// Percents and nanoseconds of a latency curve: those of [`PERCENTILES`] with at least one latency beyond them.
    pub fn percentiles(&self) -> Vec<(f64, u64)> {
        let beyond = |percent: f64| self.n as f64 * (1.0 - percent / 100.0) >= 1.0 - 1e-6;
        let known = PERCENTILES.iter().filter(|percent| beyond(**percent));
        known.map(|&percent| (percent, self.quantile(percent / 100.0))).collect()
    }

    /// The usual figures.
    pub fn summary(&self) -> LatencySummary {
        if self.n == 0 {
            return LatencySummary::default();
        }
        LatencySummary {
            n: self.n,
            mean: self.sum as f64 / self.n as f64,
            min: self.min,
            p50: self.quantile(0.5),
            p90: self.quantile(0.9),
            p95: self.quantile(0.95),
            p99: self.quantile(0.99),
            p99_9: self.quantile(0.999),
            max: self.max,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BUCKETS, Histogram, MAX_BITS, bucket, middle};

    #[test]
    fn a_latency_curve_ends_where_no_latency_is_left_beyond() {
        let mut histogram = Histogram::default();
        (1..=1000).for_each(|ns| histogram.record(ns));
        let curve = histogram.percentiles();
        assert!(
            curve.is_sorted() && curve.last().is_some_and(|last| last.0 == 99.9 && (995..=1000).contains(&last.1)),
            "{curve:?}"
        );
        assert!(Histogram::default().percentiles().is_empty());
    }

    #[test]
    fn every_value_from_one_nanosecond_to_an_hour_is_shown_within_one_percent() {
        let mut value = 1u64;
        while value < 3_600_000_000_000 {
            for near in [value.saturating_sub(1).max(1), value, value + 1, value + value / 3] {
                let shown = middle(bucket(near));
                assert!(
                    (shown as f64 / near as f64 - 1.0).abs() <= 0.004 || shown == near,
                    "{near} is shown as {shown}"
                );
            }
            value *= 2;
        }
    }

    #[test]
    fn buckets_rise_without_gaps_and_stay_in_bounds() {
        let mut last = 0;
        for value in 0..200_000u64 {
            let index = bucket(value);
            assert!(index == last || index == last + 1, "{value}: {last} then {index}");
            last = index;
        }
        assert_eq!(bucket((1 << MAX_BITS) - 1), BUCKETS - 1);
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn the_coarse_view_puts_every_value_within_seven_percent() {
        for value in (0..5_000u64).chain((13..42).map(|bits| (1 << bits) + 12_345)) {
            let mut histogram = Histogram::default();
            histogram.record(value);
            let mut total = [0; super::COARSE_BUCKETS];
            histogram.add_coarse(&mut total);
            let index = total.iter().position(|count| *count == 1).unwrap_or(usize::MAX);
            let shown = super::coarse_middle(index);
            assert!((shown as f64 - value as f64).abs() <= 0.07 * value as f64, "{value} is shown as {shown}");
        }
    }

    #[test]
    fn quantiles_of_a_known_distribution_are_within_one_percent() {
        let mut histogram = Histogram::default();
        (1..=100_000u64).for_each(|us| histogram.record(us * 1_000));
        for (quantile, truth) in [(0.5, 50_000_000.0), (0.99, 99_000_000.0), (0.999, 99_900_000.0)] {
            let shown = histogram.quantile(quantile) as f64;
            assert!((shown / truth - 1.0).abs() < 0.01, "{quantile}: {shown} for {truth}");
        }
        let summary = histogram.summary();
        assert_eq!((summary.min, summary.max, summary.n), (1_000, 100_000_000, 100_000));
    }

    #[test]
    fn merging_is_the_same_as_counting_together() {
        let (mut one, mut two, mut both) = (Histogram::default(), Histogram::default(), Histogram::default());
        for value in 0..5_000u64 {
            if value % 3 == 0 { &mut one } else { &mut two }.record(value * value);
            both.record(value * value);
        }
        one.merge(&two);
        one.merge(&Histogram::default());
        assert_eq!(one.summary(), both.summary());
    }
}
