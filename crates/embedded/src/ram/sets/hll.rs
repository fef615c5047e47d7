//! A HyperLogLog of Apache DataSketches per set: 2^14 registers of 8 bits.

use datasketches::hll::{HllSketch, HllType, HllUnion};
use std::ops::Range;
use store::{SetCombination, SetKeeper, SetPlan, SetPrecision, SetWay, StoreError};

const LG_REGISTERS: u8 = 14;

/// This way.
pub const WAY: SetWay = SetWay { name: "hll", precision: SetPrecision::HyperLogLog { registers: 1 << LG_REGISTERS } };

/// The sets.
pub struct Sets {
    sets: Vec<HllSketch>,
    /// The number of sets to make: making one can fail.
    wanted: usize,
}

fn refused(error: impl std::fmt::Display) -> StoreError {
    StoreError::Session(format!("the sketch says: {error}"))
}

impl Sets {
    /// Makes empty sets.
    pub fn new(plan: SetPlan) -> Sets {
        Sets { sets: Vec::new(), wanted: plan.sets }
    }

    fn ready(&mut self) -> Result<&mut [HllSketch], StoreError> {
        while self.sets.len() < self.wanted {
            self.sets.push(HllSketch::new(LG_REGISTERS, HllType::Hll8).map_err(refused)?);
        }
        Ok(&mut self.sets)
    }
}

impl SetKeeper for Sets {
    fn add(&mut self, set: usize, ids: &[u64]) -> Result<(), StoreError> {
        let sketch = &mut self.ready()?[set];
        ids.iter().for_each(|id| sketch.update(id));
        Ok(())
    }

    fn count(&mut self, combination: SetCombination, sets: Range<usize>) -> Result<u64, StoreError> {
        let sketches = &self.ready()?[sets];
        let estimate = match (sketches, combination) {
            ([one], _) => one.estimate(),
            (several, SetCombination::Union) => {
                let mut union = HllUnion::new(LG_REGISTERS).map_err(refused)?;
                several.iter().for_each(|sketch| union.update(sketch));
                union.estimate()
            }
            (_, SetCombination::Intersection) => return Err(refused("a HyperLogLog has no intersections")),
        };
        Ok(estimate.round() as u64)
    }

    fn members(&mut self, _: SetCombination, _: Range<usize>, _: &mut dyn FnMut(u64)) -> Result<(), StoreError> {
        Err(refused("it keeps no ids"))
    }

    fn bytes(&mut self) -> Result<Option<u64>, StoreError> {
        Ok(Some(self.sets.iter().map(|sketch| sketch.estimated_size() as u64).sum()))
    }
}
