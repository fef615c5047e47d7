//! An index map that gives each id a number, and an array of bits per set (the way of 2011): unions and intersections are loops
//! over words.

use ground::bit_sets::{self, BitSets};
use ground::id_index::IdIndex;
use std::ops::Range;
use store::{SetCombination, SetKeeper, SetPlan, SetPrecision, SetWay, StoreError};

/// This way.
pub const WAY: SetWay = SetWay { name: "bitmap", precision: SetPrecision::Exact };

/// The sets.
pub struct Sets {
    index: IdIndex,
    bits: BitSets,
}

impl Sets {
    /// Makes empty sets.
    pub fn new(plan: SetPlan) -> Sets {
        let index = IdIndex::new(plan.ids);
        Sets { bits: BitSets::new(plan.sets, index.numbers()), index }
    }
}

impl SetKeeper for Sets {
    fn add(&mut self, set: usize, ids: &[u64]) -> Result<(), StoreError> {
        let words = self.bits.words_mut(set);
        self.index.each_number(ids, |number| {
            bit_sets::set(words, number);
            Ok(())
        })
    }

    fn count(&mut self, combination: SetCombination, sets: Range<usize>) -> Result<u64, StoreError> {
        Ok(self.bits.count(combination, sets))
    }

    fn members(
        &mut self,
        combination: SetCombination,
        sets: Range<usize>,
        visit: &mut dyn FnMut(u64),
    ) -> Result<(), StoreError> {
        let numbers = bit_sets::numbers(self.bits.combined(combination, sets));
        numbers.map(|number| self.index.id(number)).for_each(visit);
        Ok(())
    }

    fn bytes(&mut self) -> Result<Option<u64>, StoreError> {
        Ok(Some(self.index.bytes() + self.bits.bytes()))
    }
}
