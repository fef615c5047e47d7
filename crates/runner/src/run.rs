//! All trials of a plan, one after the other.

use crate::error::RunError;
use crate::observer::Observer;
use crate::plan::Plan;
use crate::planned_cell::PlannedCell;
use crate::trial::{Finished, Position, TrialRun, Visit};
use crate::users::UsersStores;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use study::Left;

/// The way in which a study ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Every trial was run.
    Complete,
    /// The user interrupted; what was finished is recorded.
    Interrupted,
}

/// Runs single trials of a plan; what was opened and left behind in stores of the user's is remembered between them.
pub struct Trials<'a> {
    plan: &'a Plan,
    opened: BTreeSet<String>,
    users: UsersStores,
}

impl<'a> Trials<'a> {
    /// Returns `left`: what trials of this study have left in stores of the user's before: there the job's keys are theirs.
    pub fn new(plan: &'a Plan, left: &[Left]) -> Trials<'a> {
        Trials { plan, opened: BTreeSet::new(), users: UsersStores::new(left) }
    }

    /// Runs one trial.
    ///
    /// # Errors
    /// The store cannot be opened the first time, cannot do the job, or holds the user's data.
    pub fn run(
        &mut self,
        cell: &PlannedCell,
        position: Position,
        stop: &AtomicBool,
        observer: &mut dyn Observer,
    ) -> Result<Finished, RunError> {
        let first = self.opened.insert(cell.spec.to_string());
        let visit = if first { Visit::First } else { Visit::Again };
        let keys = self.users.keys(self.plan, cell);
        TrialRun { plan: self.plan, cell, visit, stop }.run(position, keys, observer)
    }
}

/// Runs every trial of the plan that is not in `recorded` (orders of a resumed study, which has `left` something in stores of the
/// user's), until done or `stop` is set.
///
/// A store that cannot be opened or started here is left out, and the others run.
///
/// # Errors
/// When no store of the user's can be opened, one cannot do the job, or a trial cannot be recorded. Finished trials stay recorded.
pub fn run(
    plan: &Plan,
    recorded: &BTreeSet<u32>,
    left: &[Left],
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<Ending, RunError> {
    let mut rounds = vec![0; plan.cells.len()];
    let mut turns = Vec::new();
    for turn in plan.turns() {
        let round: u32 = rounds[turn.cell];
        rounds[turn.cell] += 1;
        if !recorded.contains(&turn.order) {
            turns.push((round, turn));
        }
    }
    if plan.execution.is_apart() {
        plan.job_cache.clear(); // the workers' fork server reads what they need
    }
    let mut trials = Trials::new(plan, left);
    let start = Instant::now();
    let mut closed = LeftOut::default();
    let mut begun = 0;
    for (at, (round, turn)) in turns.iter().enumerate() {
        if stop.load(Ordering::Relaxed) {
            return Ok(Ending::Interrupted);
        }
        if closed.has(plan, turn.cell) {
            continue;
        }
        if let Some(repeats) = plan.enough(turn.order, start.elapsed()).filter(|_| recorded.is_empty()) {
            observer.rounds_settled(repeats).map_err(RunError::Record)?;
            return closed.ending(plan);
        }
        let planned = &plan.cells[turn.cell];
        begun += 1;
        // Of the trials that are left: those that were recorded before, and those of stores that could not be started, are not run.
        let last = if recorded.is_empty() { plan.expected(turn.order, start.elapsed()) } else { u32::MAX };
        let to_come = turns[at + 1..].iter().filter(|(_, it)| it.order <= last && !closed.has(plan, it.cell)).count();
        observer.trial_started(begun, begun + to_come as u32, &planned.label(), turn.warmup);
        let position = Position { order: turn.order, warmup: turn.warmup, round: *round };
        let finished = match trials.run(planned, position, stop, observer) {
            Ok(finished) => finished,
            Err(error) => {
                if !error.is_of_here() {
                    observer.cell_failed(turn.cell, &error);
                    return Err(error);
                }
                let same = |cell: &usize| plan.cells[*cell].spec == planned.spec;
                (0..plan.cells.len()).filter(same).for_each(|cell| observer.cell_failed(cell, &error));
                closed.add(planned.spec.to_string(), error);
                continue;
            }
        };
        if finished.interrupted {
            return Ok(Ending::Interrupted); // half a trial is no trial: it is run again on --resume
        }
        observer.trial_finished(turn.cell, finished.record, finished.about.as_ref()).map_err(RunError::Record)?;
    }
    closed.ending(plan)
}

/// Stores that could not be opened or started here.
#[derive(Default)]
struct LeftOut {
    specs: BTreeSet<String>,
    first: Option<RunError>,
}

impl LeftOut {
    fn add(&mut self, spec: String, error: RunError) {
        self.specs.insert(spec);
        self.first.get_or_insert(error);
    }

    /// Whether this cell's store is one of them.
    fn has(&self, plan: &Plan, cell: usize) -> bool {
        !self.specs.is_empty() && self.specs.contains(&plan.cells[cell].spec.to_string())
    }

    /// The study is complete, unless none of the stores that the user named could be run.
    fn ending(self, plan: &Plan) -> Result<Ending, RunError> {
        let ran = (0..plan.cells.len()).any(|cell| !plan.cells[cell].baseline && !self.has(plan, cell));
        match self.first {
            Some(error) if !ran => Err(error),
            _ => Ok(Ending::Complete),
        }
    }
}
