//! Deletes what a run left in a store of the user's: the keys of its job, and what the adapter has made for itself.

use crate::UnderWay;
use crate::clean::{self, place_of};
use crate::message::{Action, Keys, Order, Refusal, Report};
use crate::plan::{Plan, PlannedCell};
use crate::run::RunError;
use crate::work::{Bench, Link};
use engine::{JobError, Progress, TrialSetup};
use std::sync::atomic::{AtomicBool, Ordering};
use store::StoreError;
use study::{Left, Target};

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cleared {
    /// Nothing of the run is there any more.
    All {
        /// Keys that were there.
        deleted: u64,
    },
    /// It was stopped before all was gone, or the plan has no such store.
    Some,
}

/// Deletes from one store of the user's what a run of this plan has left there.
///
/// # Errors
/// The store cannot be reached, or refuses; the job's input cannot be read any more.
pub fn clear(
    plan: &Plan,
    left: &Left,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(&UnderWay, Progress),
) -> Result<Cleared, RunError> {
    let ours = |cell: &&PlannedCell| cell.spec.target != Target::Private && place_of(&cell.spec) == left.store;
    let cells: Vec<&PlannedCell> = plan.cells.iter().filter(ours).collect();
    let Some(first) = cells.first() else { return Ok(Cleared::Some) };
    let mut params: Vec<_> = cells.iter().map(|cell| cell.params.clone()).collect();
    params.sort_unstable();
    params.dedup();
    // It is asked what it can do, as it was then: which keys a job has may rest on that.
    let open = host::Opening::new(&plan.base).open(first.info, &first.spec).map_err(RunError::Store)?;
    let store = open.store();
    let setup = TrialSetup { slots: 1, capabilities: store.capabilities().clone(), seed: plan.seed };
    let bench = Bench { info: first.info, job: &|params| plan.shelf.job(params), stop };
    let keys = Keys { action: Action::Delete, params };
    let deleted = clean::carry_out(&keys, store, &first.settings, &bench, &setup, &mut Shown(progress));
    let deleted = deleted.map_err(failed)?;
    if stop.load(Ordering::Relaxed) {
        return Ok(Cleared::Some);
    }
    store.unmake().map_err(RunError::Store)?;
    open.close().map_err(RunError::Store)?;
    Ok(Cleared::All { deleted })
}

fn failed(refusal: Refusal) -> RunError {
    match refusal {
        Refusal::Job(words) => RunError::Job(JobError(words)),
        Refusal::Store(words) | Refusal::Keys(words) | Refusal::Unsuited(words) => {
            RunError::Store(StoreError::Session(words))
        }
        Refusal::ForeignData { example, .. } => RunError::Store(StoreError::Session(example)),
    }
}

/// Shows how far the clearing is.
struct Shown<'a>(&'a mut dyn FnMut(&UnderWay, Progress));

impl Link for Shown<'_> {
    fn say(&mut self, report: Report) {
        if let Report::Progress(phase, progress) = report {
            (self.0)(&phase, progress);
        }
    }

    fn ask(&mut self, _: Report) -> Order {
        Order::Go
    }
}
