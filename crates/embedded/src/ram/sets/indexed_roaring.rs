//! An index map that gives each id a number, and a compressed bitmap of the library `roaring` per set over the numbers.

use super::{Holds, each_member};
use ground::id_index::IdIndex;
use roaring::RoaringBitmap;
use std::ops::Range;
use store::{SetCombination, SetKeeper, SetPlan, SetPrecision, SetWay, StoreError};

/// This way.
pub const WAY: SetWay = SetWay { name: "indexed", precision: SetPrecision::Exact };

/// The sets.
pub struct Sets {
    index: IdIndex,
    sets: Vec<RoaringBitmap>,
}

impl Sets {
    /// Makes empty sets.
    pub fn new(plan: SetPlan) -> Sets {
        Sets { index: IdIndex::new(plan.ids), sets: vec![RoaringBitmap::new(); plan.sets] }
    }
}

impl Holds for RoaringBitmap {
    fn holds(&self, number: u64) -> bool {
        u32::try_from(number).is_ok_and(|number| self.contains(number))
    }
}

impl SetKeeper for Sets {
    fn add(&mut self, set: usize, ids: &[u64]) -> Result<(), StoreError> {
        let numbers = &mut self.sets[set];
        self.index.each_number(ids, |number| {
            let number = u32::try_from(number)
                .map_err(|_| StoreError::Session("more than 3 billion ids; use way=bitmap".into()))?;
            numbers.insert(number);
            Ok(())
        })
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
        let numbers = |set: usize| self.sets[set].iter().map(u64::from);
        each_member(&self.sets, numbers, combination, sets, |number| visit(self.index.id(number as usize)));
        Ok(())
    }

    fn bytes(&mut self) -> Result<Option<u64>, StoreError> {
        let containers = self.sets.iter().map(RoaringBitmap::statistics).map(|found| {
            found.n_bytes_array_containers + found.n_bytes_run_containers + found.n_bytes_bitset_containers
        });
        Ok(Some(self.index.bytes() + containers.sum::<u64>()))
    }
}
