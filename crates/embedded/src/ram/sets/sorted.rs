//! A sorted vector per set; unions and intersections are merges.

use std::ops::Range;
use store::{SetCombination, SetKeeper, SetPlan, SetPrecision, SetWay, StoreError};

/// This way.
pub const WAY: SetWay = SetWay { name: "sorted", precision: SetPrecision::Exact };

/// The sets.
pub struct Sets(Vec<Vec<u64>>);

impl Sets {
    /// Makes empty sets.
    pub fn new(plan: SetPlan) -> Sets {
        Sets(vec![Vec::new(); plan.sets])
    }
}

/// Goes through sorted sets at once; `visit` hears each id that is in any of them, and the number of sets it is in.
fn merge(sets: &[Vec<u64>], mut visit: impl FnMut(u64, usize)) {
    let mut rest: Vec<&[u64]> = sets.iter().map(Vec::as_slice).collect();
    if let [a, b] = rest.as_mut_slice() {
        while let (Some(&x), Some(&y)) = (a.first(), b.first()) {
            visit(x.min(y), 1 + usize::from(x == y));
            *a = &a[usize::from(x <= y)..];
            *b = &b[usize::from(y <= x)..];
        }
    }
    while let Some(least) = rest.iter().filter_map(|ids| ids.first()).min().copied() {
        let mut holders = 0;
        for ids in &mut rest {
            if ids.first() == Some(&least) {
                *ids = &ids[1..];
                holders += 1;
            }
        }
        visit(least, holders);
    }
}

impl SetKeeper for Sets {
    fn add(&mut self, set: usize, ids: &[u64]) -> Result<(), StoreError> {
        self.0[set].extend_from_slice(ids);
        Ok(())
    }

    fn settle(&mut self) -> Result<(), StoreError> {
        for ids in &mut self.0 {
            ids.sort_unstable();
            ids.dedup();
            ids.shrink_to_fit();
        }
        Ok(())
    }

    fn count(&mut self, combination: SetCombination, sets: Range<usize>) -> Result<u64, StoreError> {
        let mut count = 0;
        match sets.len() {
            1 => count = self.0[sets.start].len() as u64,
            _ => self.members(combination, sets, &mut |_| count += 1)?,
        }
        Ok(count)
    }

    fn members(
        &mut self,
        combination: SetCombination,
        sets: Range<usize>,
        visit: &mut dyn FnMut(u64),
    ) -> Result<(), StoreError> {
        let needed = match combination {
            SetCombination::Union => 1,
            SetCombination::Intersection => sets.len(),
        };
        merge(&self.0[sets], |id, holders| {
            if holders >= needed {
                visit(id);
            }
        });
        Ok(())
    }

    fn bytes(&mut self) -> Result<Option<u64>, StoreError> {
        Ok(Some(self.0.iter().map(|ids| (ids.capacity() * size_of::<u64>()) as u64).sum()))
    }
}
