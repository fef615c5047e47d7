//! A theta sketch of Apache DataSketches per set: up to 2^14 hashes, which can be intersected.

use datasketches::theta::{ThetaIntersection, ThetaSketch, ThetaSketchBuilder, ThetaUnionBuilder};
use std::ops::Range;
use store::{SetCombination, SetKeeper, SetPlan, SetPrecision, SetWay, StoreError};

const LG_HASHES: u8 = 14;

/// This way.
pub const WAY: SetWay = SetWay { name: "theta", precision: SetPrecision::Theta { hashes: 1 << LG_HASHES } };

/// The sets.
pub struct Sets {
    sets: Vec<ThetaSketch>,
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

    fn ready(&mut self) -> Result<&mut [ThetaSketch], StoreError> {
        while self.sets.len() < self.wanted {
            self.sets.push(ThetaSketchBuilder::default().lg_k(LG_HASHES).build().map_err(refused)?);
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
                let mut union = ThetaUnionBuilder::default().lg_k(LG_HASHES).build().map_err(refused)?;
                several.iter().try_for_each(|sketch| union.update(sketch)).map_err(refused)?;
                union.to_sketch(false).estimate()
            }
            (several, SetCombination::Intersection) => {
                let mut common = ThetaIntersection::default();
                several.iter().try_for_each(|sketch| common.update(sketch)).map_err(refused)?;
                common.to_sketch(false).map_or(0.0, |sketch| sketch.estimate())
            }
        };
        Ok(estimate.round() as u64)
    }

    fn members(&mut self, _: SetCombination, _: Range<usize>, _: &mut dyn FnMut(u64)) -> Result<(), StoreError> {
        Err(refused("it keeps a sample of the ids"))
    }

    fn bytes(&mut self) -> Result<Option<u64>, StoreError> {
        Ok(Some(self.sets.iter().map(|sketch| sketch.estimated_size() as u64).sum()))
    }
}
