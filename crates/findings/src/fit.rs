//! What a trace is like, subject by subject: `kvtrial fit`. Each subject is a function of [`TraceFit`], and is drawn as any finding is.

mod arrivals;
mod hits;
mod keys;
mod picture;
mod values;

use crate::block::Block;
use crate::finding::{Arrangement, Finding, FindingPart};
use trace::fit::{self, HitCurve, LikeDistance, LikeTrace, Popularity};
use trace::{Filling, RequestKind, Trace};

/// A trace, with what was found of it.
pub struct TraceFit<'a> {
    /// The trace.
    pub trace: &'a Trace,
    /// How often each key is asked for, most often first.
    pub counts: Vec<u32>,
    /// How popular keys are, if enough were asked for often.
    pub popularity: Option<Popularity>,
    /// What a miss leads to: where the trace sets nothing, what a get misses is put, as the job replay does.
    pub filling: Filling,
    /// The hits of an exact LRU of every size.
    pub curve: HitCurve,
    /// What makes the like, where that is wanted.
    pub like: Option<LikeFit>,
}

/// What makes the like of a trace, and how far each way is off.
pub struct LikeFit {
    /// With the memory of the trace: the script.
    pub memory: LikeTrace,
    /// How far that is off.
    pub script: LikeDistance,
    /// How far a Zipf law without memory is off: the plan.
    pub plan: LikeDistance,
    /// The hits of what the plan draws.
    pub plan_curve: HitCurve,
    /// The hits of what the script draws.
    pub script_curve: HitCurve,
}

impl<'a> TraceFit<'a> {
    /// Looks at a trace.
    pub fn of(trace: &'a Trace, seed: u64) -> TraceFit<'a> {
        let counts = fit::counts(trace);
        let filling = if trace.count(RequestKind::Set) == 0 { Filling::OnMiss } else { Filling::Never };
        let (popularity, curve) = (fit::popularity(&counts, seed), HitCurve::of(trace, filling));
        TraceFit { trace, counts, popularity, filling, curve, like: None }
    }

    /// Finds what makes the like, too.
    pub fn with_like(self, seed: u64) -> TraceFit<'a> {
        let TraceFit { trace, filling, .. } = self;
        let memory = LikeTrace::of(trace, filling, seed);
        let script_curve = memory.curve(&memory.keys(trace, seed), seed);
        let script = memory.distance(trace, seed);
        let drawn = fit::zipf_keys(trace, self.exponent(), seed);
        let plan_curve = memory.curve(&drawn, seed);
        let plan = memory.distance_of(trace, &drawn, seed);
        // The values of a plan have one size.
        let sizes = plan.sizes.map(|_| fit::of_values(&fit::sorted_sizes(trace), &[self.value_bytes()]));
        let plan = LikeDistance { sizes, ..plan };
        TraceFit { like: Some(LikeFit { memory, script, plan, plan_curve, script_curve }), ..self }
    }

    /// Returns the exponent of the nearest Zipf law.
    pub fn exponent(&self) -> f64 {
        self.popularity.as_ref().map_or(0.0, |popularity| popularity.exponent)
    }

    /// Returns the mean size of a value.
    pub fn value_bytes(&self) -> u32 {
        fit::sizes(self.trace).map_or(100, |sizes| sizes.mean)
    }

    /// Returns what is said of it, subject by subject.
    pub fn findings(&self) -> Vec<Finding> {
        let subjects = [
            values::mix,
            keys::popularity,
            values::sizes,
            arrivals::find,
            values::lives,
            keys::working_set,
            hits::find,
            hits::like,
        ];
        subjects.into_iter().filter_map(|find| find(self)).collect()
    }
}

/// Makes a finding of one part.
fn finding(id: &'static str, title: &'static str, blocks: Vec<Block>) -> Option<Finding> {
    let parts = FindingPart::whole(blocks);
    Some(Finding { id, title, intro: String::new(), charts: Arrangement::Below, parts })
}
