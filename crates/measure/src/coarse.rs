//! The coarse view of latency histograms: what curves over time and over records are made of.

use serde::{Deserialize, Serialize};
use study::{Histogram, MAX_BITS, SUB_BITS};

const SUB: usize = 1 << SUB_BITS;

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

    /// Returns what was counted since there were `earlier` counts.
    pub fn since(&self, earlier: &CoarseCounts) -> CoarseCounts {
        CoarseCounts(self.0.iter().zip(&earlier.0).map(|(now, then)| now.saturating_sub(*then)).collect())
    }

    /// Returns whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|count| *count == 0)
    }

    /// Returns the value that this percent of the counted ones stayed at or under; `None` when nothing was counted.
    pub fn percentile(&self, percent: u64) -> Option<u64> {
        coarse_percentile(self.0.iter().copied(), percent)
    }
}

impl From<CoarseCounts> for Vec<(u32, u64)> {
    fn from(full: CoarseCounts) -> Vec<(u32, u64)> {
        (0..).zip(full.0).filter(|(_, count)| *count > 0).collect()
    }
}

impl TryFrom<Vec<(u32, u64)>> for CoarseCounts {
    type Error = String;

    fn try_from(sparse: Vec<(u32, u64)>) -> Result<CoarseCounts, String> {
        let mut full = CoarseCounts::default();
        for (number, count) in sparse {
            *full.0.get_mut(number as usize).ok_or_else(|| format!("a histogram has no bucket {number}"))? = count;
        }
        Ok(full)
    }
}

/// Buckets of the coarse view: 2^3 an octave, half a bucket is 1/16 of the value.
pub const COARSE_BUCKETS: usize = (MAX_BITS as usize - 2) << 3;
const COARSER: u32 = SUB_BITS - 3;

/// The value in the middle of a coarse bucket.
fn coarse_middle(index: usize) -> u64 {
    let (octave, rest) = ((index >> 3) as u32, (index & 7) as u64);
    if octave == 0 { rest } else { ((8 + rest) << (octave - 1)) + (1 << (octave - 1)) / 2 }
}

/// Returns the value that this percent of the counted ones stayed at or under, from a coarse view; `None` when nothing was counted.
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

/// Adds the counts of a histogram to a coarse view.
pub fn add_coarse(histogram: &Histogram, total: &mut [u64; COARSE_BUCKETS]) {
    if histogram.n() == 0 {
        return;
    }
    let counts = histogram.counts();
    for (value, count) in counts[..SUB].iter().enumerate() {
        total[coarse_of_exact(value)] += count;
    }
    for (index, count) in counts.iter().enumerate().skip(SUB) {
        total[(index >> COARSER) + (COARSER as usize) * 8] += count;
    }
}

#[cfg(test)]
mod tests {
    use super::{COARSE_BUCKETS, add_coarse, coarse_middle};
    use study::Histogram;

    #[test]
    fn the_coarse_view_puts_every_value_within_seven_percent() {
        for value in (0..5_000u64).chain((13..42).map(|bits| (1 << bits) + 12_345)) {
            let mut histogram = Histogram::default();
            histogram.record(value);
            let mut total = [0; COARSE_BUCKETS];
            add_coarse(&histogram, &mut total);
            let index = total.iter().position(|count| *count == 1).unwrap_or(usize::MAX);
            let shown = coarse_middle(index);
            assert!((shown as f64 - value as f64).abs() <= 0.07 * value as f64, "{value} is shown as {shown}");
        }
    }
}
