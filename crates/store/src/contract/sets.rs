//! Sets of 64-bit ids, where a store keeps and combines them itself.
//!
//! A [`SetWay`] is the way to do that: exactly, or as a sketch whose error theory knows. A store that has one hands out a [`SetKeeper`]
//! ([`KeepSets`](crate::KeepSets)); sets are numbered from 0.

use crate::StoreError;
use std::ops::Range;

/// A way to keep sets of ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetWay {
    /// The name of the way: the value of the option `way`.
    pub name: &'static str,
    /// The precision of its counts.
    pub precision: SetPrecision,
}

/// The precision of a way's counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetPrecision {
    /// Exact counts.
    Exact,
    /// A HyperLogLog (Flajolet, Fusy, Gandouet, Meunier 2007): counts and unions only.
    HyperLogLog {
        /// The number of registers, a power of two.
        registers: u32,
    },
    /// A theta sketch (Dasgupta, Lang, Rhodes, Thaler 2016): counts, unions and intersections.
    Theta {
        /// The number of hashes, a power of two.
        hashes: u32,
    },
}

/// The combination of several sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SetCombination {
    /// The ids that are in any of the sets.
    Union,
    /// The ids that are in all of the sets.
    Intersection,
}

/// The key under which a store with keys keeps the result of combining several sets.
pub const SET_RESULT_KEY: &str = "kvtrial-sets:result";

/// Returns the key under which a store with keys keeps a set.
pub fn set_key(set: usize) -> String {
    format!("kvtrial-sets:{set}")
}

/// The facts about the sets that are known before the first id is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetPlan {
    /// The number of sets.
    pub sets: usize,
    /// The number of ids that will be added to all sets together: no fewer than there are different ids.
    pub ids: usize,
}

/// A number of sets that are being built and asked.
pub trait SetKeeper: Send {
    /// Adds ids to a set; an id that is there already changes nothing.
    ///
    /// # Errors
    /// The store's words.
    fn add(&mut self, set: usize, ids: &[u64]) -> Result<(), StoreError>;

    /// Ends the adding of ids: does the work that is done once for all of them, such as sorting.
    ///
    /// # Errors
    /// The store's words.
    fn settle(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Closes the connection, where there is one, and opens another: everything acknowledged over the old connection must still be there.
    ///
    /// # Errors
    /// The store's words.
    fn renew(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Returns how many ids are in the union or intersection of these sets; of a single set: how many ids it has.
    ///
    /// # Errors
    /// The store's words.
    fn count(&mut self, combination: SetCombination, sets: Range<usize>) -> Result<u64, StoreError>;

    /// Hands over every id of the union or intersection of these sets, each once, in any order. Called only for exact ways.
    ///
    /// # Errors
    /// The store's words.
    fn members(
        &mut self,
        combination: SetCombination,
        sets: Range<usize>,
        visit: &mut dyn FnMut(u64),
    ) -> Result<(), StoreError>;

    /// Returns the number of bytes that the sets take with everything that belongs to them (an index of ids), when that is known.
    ///
    /// # Errors
    /// The store's words.
    fn bytes(&mut self) -> Result<Option<u64>, StoreError>;
}

impl SetPrecision {
    /// Returns the standard error of a count of `count` ids, in ids.
    pub fn count_error(self, count: u64) -> f64 {
        let count = count as f64;
        match self {
            SetPrecision::Exact => 0.0,
            SetPrecision::HyperLogLog { registers } => 1.04 / f64::from(registers).sqrt() * count,
            SetPrecision::Theta { hashes } => {
                // What is below the threshold is counted exactly.
                if count <= f64::from(hashes) { 0.0 } else { count / f64::from(hashes).sqrt() }
            }
        }
    }

    /// Returns the standard error of an intersection, in ids: `each` are the sizes of the sets, `union` and `intersection` the sizes of their union
    /// and intersection. For HyperLogLogs the intersection is |A| + |B| - |A ∪ B|, whose three errors add up; a theta sketch samples the ids with a
    /// probability that the largest set decides.
    pub fn intersection_error(self, each: &[u64], union: u64, intersection: u64) -> f64 {
        match self {
            SetPrecision::Exact => 0.0,
            SetPrecision::HyperLogLog { .. } => {
                let squares = each.iter().chain([&union]).map(|&count| self.count_error(count).powi(2));
                squares.sum::<f64>().sqrt()
            }
            SetPrecision::Theta { hashes } => {
                let largest = each.iter().copied().max().unwrap_or(0) as f64;
                let sampled = (f64::from(hashes) / largest).min(1.0);
                // Where nothing is in common one id may still be sampled in its place.
                (intersection.max(1) as f64 * (1.0 / sampled - 1.0)).sqrt()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SetPrecision;

    #[test]
    fn standard_errors_are_those_of_the_papers() {
        let (hll, theta) = (SetPrecision::HyperLogLog { registers: 1 << 14 }, SetPrecision::Theta { hashes: 1 << 14 });
        let close = |found: f64, right: f64| (found / right - 1.0).abs() < 0.01;
        assert!(close(hll.count_error(1_000_000), 8125.0), "0.81 % of a million");
        assert!(close(theta.count_error(1_000_000), 7812.0), "0.78 % of a million");
        assert_eq!(theta.count_error(16_384), 0.0);
        assert_eq!(SetPrecision::Exact.count_error(1_000_000), 0.0);
    }

    #[test]
    fn an_intersection_of_two_sketches_errs_the_more_the_smaller_it_is() {
        let (hll, theta) = (SetPrecision::HyperLogLog { registers: 1 << 14 }, SetPrecision::Theta { hashes: 1 << 14 });
        let share = |precision: SetPrecision, common: u64| {
            precision.intersection_error(&[1_000_000; 2], 2_000_000 - common, common) / common as f64
        };
        // Half in common: 3.4 % against 1.1 %; one in a hundred: 198 % against 7.7 %.
        assert!((0.03..0.035).contains(&share(hll, 500_000)) && (0.01..0.012).contains(&share(theta, 500_000)));
        assert!((1.9..2.0).contains(&share(hll, 10_000)) && (0.07..0.08).contains(&share(theta, 10_000)));
        assert_eq!(SetPrecision::Exact.intersection_error(&[5, 5], 7, 3), 0.0);
    }
}
