//! A compressed bitmap of 64-bit numbers of the library `roaring` per set. Made for ids that lie close together; random ids of 64 bits
//! are as far from each other as can be.

use super::{Holds, each_member};
use roaring::RoaringTreemap;
use std::ops::Range;
use store::{SetCombination, SetKeeper, SetPlan, SetPrecision, SetWay, StoreError};

/// This way.
pub const WAY: SetWay = SetWay { name: "roaring", precision: SetPrecision::Exact };

/// The sets.
pub struct Sets {
    sets: Vec<RoaringTreemap>,
    /// The memory of the process before the first id.
    before_bytes: Option<u64>,
}

impl Sets {
    /// Makes empty sets.
    pub fn new(plan: SetPlan) -> Sets {
        Sets { sets: vec![RoaringTreemap::new(); plan.sets], before_bytes: resident_bytes() }
    }
}

/// Returns the memory of this process. The library does not say how much its trees of containers take.
fn resident_bytes() -> Option<u64> {
    const PAGE_BYTES: u64 = 4096;
    let pages = std::fs::read_to_string("/proc/self/statm").ok()?;
    pages.split_whitespace().nth(1)?.parse::<u64>().ok().map(|pages| pages * PAGE_BYTES)
}

impl Holds for RoaringTreemap {
    fn holds(&self, id: u64) -> bool {
        self.contains(id)
    }
}

impl SetKeeper for Sets {
    fn add(&mut self, set: usize, ids: &[u64]) -> Result<(), StoreError> {
        self.sets[set].extend(ids.iter().copied());
        Ok(())
    }

    fn count(&mut self, combination: SetCombination, sets: Range<usize>) -> Result<u64, StoreError> {
        Ok(match (&self.sets[sets.clone()], combination) {
            ([one], _) => one.len(),
            ([a, b], SetCombination::Union) => a.union_len(b),
            ([a, b], SetCombination::Intersection) => a.intersection_len(b),
            _ => {
                let mut count = 0;
                self.members(combination, sets, &mut |_| count += 1)?;
                count
            }
        })
    }

    fn members(
        &mut self,
        combination: SetCombination,
        sets: Range<usize>,
        visit: &mut dyn FnMut(u64),
    ) -> Result<(), StoreError> {
        each_member(&self.sets, |set| self.sets[set].iter(), combination, sets, visit);
        Ok(())
    }

    fn bytes(&mut self) -> Result<Option<u64>, StoreError> {
        let grown = self.before_bytes.zip(resident_bytes()).map(|(before, now)| now.saturating_sub(before));
        Ok(grown.filter(|&bytes| bytes > 0))
    }
}
