//! A hash set of the library `hashbrown` (the map of Rust's standard library) per set, asked element by element.

use super::{Holds, each_member};
use hashbrown::HashSet;
use std::ops::Range;
use store::{SetCombination, SetKeeper, SetPlan, SetPrecision, SetWay, StoreError};

/// This way.
pub const WAY: SetWay = SetWay { name: "hash", precision: SetPrecision::Exact };

/// The sets.
pub struct Sets(Vec<HashSet<u64>>);

impl Sets {
    /// Makes empty sets. They grow by themselves, as they do in a program that does not know how many ids will come.
    pub fn new(plan: SetPlan) -> Sets {
        Sets(vec![HashSet::new(); plan.sets])
    }
}

impl Holds for HashSet<u64> {
    fn holds(&self, id: u64) -> bool {
        self.contains(&id)
    }
}

impl SetKeeper for Sets {
    fn add(&mut self, set: usize, ids: &[u64]) -> Result<(), StoreError> {
        self.0[set].extend(ids);
        Ok(())
    }

    fn count(&mut self, combination: SetCombination, sets: Range<usize>) -> Result<u64, StoreError> {
        if sets.len() == 1 {
            return Ok(self.0[sets.start].len() as u64);
        }
        let mut count = 0;
        self.members(combination, sets, &mut |_| count += 1)?;
        Ok(count)
    }

    fn members(
        &mut self,
        combination: SetCombination,
        sets: Range<usize>,
        visit: &mut dyn FnMut(u64),
    ) -> Result<(), StoreError> {
        each_member(&self.0, |set| self.0[set].iter().copied(), combination, sets, visit);
        Ok(())
    }

    fn bytes(&mut self) -> Result<Option<u64>, StoreError> {
        Ok(Some(self.0.iter().map(|set| set.allocation_size() as u64).sum()))
    }
}
