//! Latency histograms: log-linear, as HDR histograms are (Tene, hdrhistogram.org), with at most 0.4 % error from 1 ns to 2.4 hours.

use crate::distribution::LatencyDistribution;
use crate::latency::{AskedPercentiles, LatencySummary, PERCENTILES};
use serde::{Deserialize, Serialize};

/// 2^7 buckets an octave: half a bucket is 1/256 of the value.
pub const SUB_BITS: u32 = 7;
const SUB: usize = 1 << SUB_BITS;
/// Values of 2^43 ns (2.4 hours) and more land in the last bucket.
pub const MAX_BITS: u32 = 43;
const BUCKETS: usize = (MAX_BITS - SUB_BITS + 1) as usize * SUB;

/// A latency distribution in nanoseconds, and how many operations failed, which have no latency. Memory is constant: 37 KiB of counters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "LatencyDistribution", try_from = "LatencyDistribution")]
pub struct Histogram {
    counts: Box<[u64]>,
    n: u64,
    failed: u64,
    sum: u64,
    min: u64,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram { counts: vec![0; BUCKETS].into_boxed_slice(), n: 0, failed: 0, sum: 0, min: u64::MAX, max: 0 }
    }
}

impl From<Histogram> for LatencyDistribution {
    fn from(full: Histogram) -> LatencyDistribution {
        full.distribution()
    }
}

impl TryFrom<LatencyDistribution> for Histogram {
    type Error = String;

    fn try_from(distribution: LatencyDistribution) -> Result<Histogram, String> {
        let mut full = Histogram::default();
        full.add(&distribution)?;
        Ok(full)
    }
}

#[inline(always)]
fn bucket(ns: u64) -> usize {
    let ns = ns.min((1 << MAX_BITS) - 1);
    // The first 2 SUB values are exact; from there each octave has SUB buckets, twice as wide as those before.
    let shift = 63 - (ns | (2 * SUB as u64 - 1)).leading_zeros() - SUB_BITS;
    ((shift as usize) << SUB_BITS) + (ns >> shift) as usize
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

impl Histogram {
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

    /// Counts an operation that failed: it has no latency, and was answered later than any that was.
    #[cold]
    pub fn fail(&mut self) {
        self.failed += 1;
    }

    /// Adds another histogram.
    pub fn merge(&mut self, other: &Histogram) {
        self.failed += other.failed;
        if other.n == 0 {
            return;
        }
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.n += other.n;
        self.sum = self.sum.saturating_add(other.sum);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Adds what was written down of another.
    ///
    /// # Errors
    /// It is not what a histogram writes.
    pub fn add(&mut self, written: &LatencyDistribution) -> Result<(), String> {
        let before = self.n;
        for bucket in written.counts() {
            let (number, count) = bucket?;
            let mine = self.counts.get_mut(number).ok_or_else(|| format!("a histogram has no bucket {number}"))?;
            *mine = mine.saturating_add(count);
            self.n = self.n.saturating_add(count);
        }
        self.failed = self.failed.saturating_add(written.failed);
        if self.n > before {
            self.sum = self.sum.saturating_add(written.sum_ns);
            self.min = self.min.min(written.min_ns);
            self.max = self.max.max(written.max_ns);
        }
        Ok(())
    }

    /// Returns the histogram's contents in a form that can be stored.
    pub fn distribution(&self) -> LatencyDistribution {
        let (min_ns, max_ns) = if self.n == 0 { (0, 0) } else { (self.min, self.max) };
        LatencyDistribution::of_counts(
            &self.counts,
            LatencyDistribution {
                failed: self.failed,
                sum_ns: self.sum,
                min_ns,
                max_ns,
                ..LatencyDistribution::default()
            },
        )
    }

    /// Returns the number of latencies counted.
    pub fn n(&self) -> u64 {
        self.n
    }

    /// Returns how many latencies each bucket has.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// Returns the latency that a share `quantile` (0 to 1) of all stayed at or under, within 0.4 %; 0 when nothing was counted.
    pub fn quantile(&self, quantile: f64) -> u64 {
        self.at_rank(((quantile * self.n as f64).ceil() as u64).clamp(1, self.n.max(1))).unwrap_or(0)
    }

    /// Returns the same of all that was asked: what failed counts as slower than all that was answered. `None`: that is where this
    /// quantile lies.
    pub fn quantile_of_asked(&self, quantile: f64) -> Option<u64> {
        let asked = self.n + self.failed;
        self.at_rank(((quantile * asked as f64).ceil() as u64).clamp(1, asked.max(1)))
    }

    fn at_rank(&self, rank: u64) -> Option<u64> {
        let mut seen = 0;
        let reaches = |count: &u64| {
            seen += count;
            seen >= rank
        };
        self.counts.iter().position(reaches).map(|at| middle(at).clamp(self.min.min(self.max), self.max))
    }

    /// Percents and nanoseconds of a latency curve of all that was asked: those of [`PERCENTILES`] with at least one operation beyond them
    /// that were reached.
    pub fn percentiles(&self) -> Vec<(f64, u64)> {
        let asked = (self.n + self.failed) as f64;
        let beyond = |percent: f64| asked * (1.0 - percent / 100.0) >= 1.0 - 1e-6;
        let known = PERCENTILES.iter().filter(|percent| beyond(**percent));
        known.map_while(|&percent| Some((percent, self.quantile_of_asked(percent / 100.0)?))).collect()
    }

    /// Returns the usual figures.
    pub fn summary(&self) -> LatencySummary {
        let asked = (self.failed > 0).then(|| AskedPercentiles {
            p50: self.quantile_of_asked(0.5),
            p90: self.quantile_of_asked(0.9),
            p95: self.quantile_of_asked(0.95),
            p99: self.quantile_of_asked(0.99),
            p99_9: self.quantile_of_asked(0.999),
        });
        if self.n == 0 {
            return LatencySummary { failed: self.failed, asked, ..LatencySummary::default() };
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
            failed: self.failed,
            asked,
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
