//! Deletes what a run left in a store of the user's: the keys of its job, and what the adapter has made for itself.

use crate::assignment::{Action, Keys};
use crate::error::RunError;
use crate::message::UnderWay;
use crate::plan::Plan;
use crate::planned_cell::PlannedCell;
use crate::task;
use crate::users::place_of;
use measure::Progress;
use std::sync::atomic::AtomicBool;
use study::{Left, Target};

/// The result of clearing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cleared {
    /// Everything the run left is deleted.
    All {
        /// Keys that were there.
        deleted: u64,
    },
    /// The work was stopped before everything was deleted, or the plan has no such store.
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
    let keys = Keys { action: Action::Delete, params };
    let deleted = task::clear(plan, first, keys, stop, progress)?;
    Ok(deleted.map_or(Cleared::Some, |deleted| Cleared::All { deleted }))
}
