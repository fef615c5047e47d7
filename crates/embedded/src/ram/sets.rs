//! Sets of ids in kvtrial's own memory: a way is one file and one line here.
//!
//! What a store takes for the same work, in time and bytes, is to be seen beside these.

mod bitmap;
mod hash;
mod hll;
mod indexed_roaring;
mod roaring;
mod sorted;
mod theta;

use std::ops::Range;
use std::time::Duration;
use store::{KeepSets, OptionInfo, SetCombination, SetKeeper, SetPlan, SetWay, StoreError};
use study::Spec;

/// The value of the option for a store that has no sets: a job then keeps them element by element.
pub const ELEMENTS: &str = "elements";

/// Names the modules of the ways and lists them.
macro_rules! ways {
    ($($module:ident),* $(,)?) => {
        /// The option that chooses the way.
        pub const OPTION: OptionInfo = OptionInfo::one_of(
            "way",
            &[ELEMENTS, $($module::WAY.name),*],
            "how it keeps sets of ids (job sets): each id a key, or a data structure of its own; it then is compared with other \
             libraries, not as a baseline",
        );

        static WAYS: &[RamSets] =
            &[$(RamSets { way: $module::WAY, make: |plan| Box::new($module::Sets::new(plan)) }),*];
    };
}

ways! { hash, sorted, bitmap, roaring, indexed_roaring, hll, theta }

/// The sets of a way.
pub struct RamSets {
    way: SetWay,
    make: fn(SetPlan) -> Box<dyn SetKeeper>,
}

impl KeepSets for RamSets {
    fn way(&self) -> SetWay {
        self.way
    }

    fn set_keeper(&self, plan: SetPlan, _: Duration) -> Result<Box<dyn SetKeeper>, StoreError> {
        Ok((self.make)(plan))
    }
}

/// Returns the sets that a spec asks for.
pub fn of(spec: &Spec) -> Option<&'static RamSets> {
    let asked = OPTION.asked(spec)?;
    WAYS.iter().find(|sets| sets.way.name == asked)
}

/// A set that can be asked for one id.
trait Holds {
    fn holds(&self, id: u64) -> bool;
}

/// Hands over each id of the union or intersection of sets. The ids of a set can be listed, and asked for one by one.
fn each_member<S: Holds, I: Iterator<Item = u64>>(
    all: &[S],
    ids: impl Fn(usize) -> I,
    combination: SetCombination,
    sets: Range<usize>,
    mut visit: impl FnMut(u64),
) {
    let Some(first) = sets.clone().next() else { return };
    match combination {
        SetCombination::Union => {
            for set in sets {
                let earlier = &all[first..set];
                ids(set).filter(|id| !earlier.iter().any(|set| set.holds(*id))).for_each(&mut visit);
            }
        }
        SetCombination::Intersection => {
            let others = &all[first + 1..sets.end];
            ids(first).filter(|id| others.iter().all(|set| set.holds(*id))).for_each(visit);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{RamSets, WAYS};
    use std::collections::BTreeSet;
    use store::{SetCombination, SetPlan, SetPrecision};

    /// Three sets with ids in common, twice given ids, the id 0 and the largest among them.
    fn sets() -> Vec<Vec<u64>> {
        let ids = |from: u64, to: u64| (from..to).map(|at| at.wrapping_mul(0x9E37_79B9_7F4A_7C15)).collect::<Vec<_>>();
        let mut sets = vec![ids(0, 3000), ids(1000, 5000), ids(2500, 2600)];
        sets[1].extend([u64::MAX, 0, u64::MAX]);
        sets[2].push(u64::MAX);
        sets
    }

    #[test]
    fn exact_ways_agree_with_ordered_sets_of_the_standard_library_to_the_element() {
        let sets = sets();
        let plan = SetPlan { sets: 3, ids: sets.iter().map(Vec::len).sum() };
        for RamSets { way, make } in WAYS.iter().filter(|sets| sets.way.precision == SetPrecision::Exact) {
            let mut kept = make(plan);
            for (number, ids) in sets.iter().enumerate() {
                ids.chunks(700).for_each(|some| kept.add(number, some).unwrap());
            }
            kept.settle().unwrap();
            for range in [0..1, 1..2, 2..3, 0..2, 1..3, 0..3] {
                let known: Vec<BTreeSet<u64>> =
                    sets[range.clone()].iter().map(|ids| ids.iter().copied().collect()).collect();
                for (combination, right) in [
                    (SetCombination::Union, known.iter().flatten().copied().collect::<BTreeSet<u64>>()),
                    (
                        SetCombination::Intersection,
                        known[0].iter().copied().filter(|id| known.iter().all(|set| set.contains(id))).collect(),
                    ),
                ] {
                    let what = format!("{} {combination:?} {range:?}", way.name);
                    assert_eq!(kept.count(combination, range.clone()).unwrap(), right.len() as u64, "{what}");
                    let mut found = Vec::new();
                    kept.members(combination, range.clone(), &mut |id| found.push(id)).unwrap();
                    assert_eq!(found.len(), right.len(), "{what}: each once");
                    assert_eq!(found.into_iter().collect::<BTreeSet<u64>>(), right, "{what}");
                }
            }
            assert!(kept.bytes().unwrap().is_none_or(|bytes| bytes > 0), "{}", way.name);
        }
    }

    #[test]
    fn sketches_count_within_four_standard_errors() {
        let ids = |from: u64, to: u64| (from..to).map(|at| at.wrapping_mul(0x9E37_79B9_7F4A_7C15)).collect::<Vec<_>>();
        let sets = [ids(0, 200_000), ids(100_000, 300_000)];
        for RamSets { way, make } in WAYS.iter().filter(|sets| sets.way.precision != SetPrecision::Exact) {
            let mut kept = make(SetPlan { sets: 2, ids: 400_000 });
            sets.iter().enumerate().for_each(|(number, ids)| kept.add(number, ids).unwrap());
            kept.settle().unwrap();
            let near = |count: u64, right: u64, error: f64| (count as f64 - right as f64).abs() <= 4.0 * error;
            let size = kept.count(SetCombination::Union, 0..1).unwrap();
            assert!(near(size, 200_000, way.precision.count_error(200_000)), "{}: {size}", way.name);
            let union = kept.count(SetCombination::Union, 0..2).unwrap();
            assert!(near(union, 300_000, way.precision.count_error(300_000)), "{}: {union}", way.name);
            assert!(kept.bytes().unwrap().is_some_and(|bytes| (10_000..600_000).contains(&bytes)), "{}", way.name);
        }
    }
}
