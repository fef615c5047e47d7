//! All trials of a plan, one after the other.

use crate::clean::UsersStores;
use crate::message::{Refusal, UnderWay};
use crate::plan::{Plan, PlannedCell};
use crate::trial::{self, About, Finished, Opening, Position};
use engine::Progress;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use store::StoreError;
use study::{Cell, Left, Reason, ReasonKind, TrialRecord};

/// Hears what happens while a study runs. Called between trials and ten times a second within one; never on the timed threads.
pub trait Observer {
    /// A trial begins.
    fn trial_started(&mut self, order: u32, total: u32, store: &str, warmup: bool);

    /// How far a phase is.
    fn progress(&mut self, phase: &UnderWay, progress: Progress);

    /// The study gets another cell, behind those it has: a search decided to try it.
    ///
    /// # Errors
    /// When the study could not be written.
    fn cell_added(&mut self, cell: Cell) -> Result<(), String> {
        drop(cell);
        Ok(())
    }

    /// The study is over with fewer counted trials a cell than planned: more would have taken it beyond the plan's patience.
    ///
    /// # Errors
    /// When the study could not be written.
    fn rounds_settled(&mut self, repeats: u32) -> Result<(), String> {
        let _ = repeats;
        Ok(())
    }

    /// A store of the user's holds keys of the job from now on, or not any more (`keys` is 0 then, and nothing was made).
    ///
    /// # Errors
    /// When the study could not be written.
    fn leaves(&mut self, left: Left) -> Result<(), String> {
        drop(left);
        Ok(())
    }

    /// The study stops, because this cell could not be run.
    fn cell_failed(&mut self, cell: usize, error: &RunError) {
        let _ = (cell, error);
    }

    /// A trial is over; `about` is what is known of the store by now.
    ///
    /// # Errors
    /// When the trial could not be recorded; the study then stops.
    fn trial_finished(&mut self, cell: usize, record: TrialRecord, about: Option<&About>) -> Result<(), String>;
}

/// How a study ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Every trial was run.
    Complete,
    /// The user interrupted; what was finished is recorded.
    Interrupted,
}

/// Why a study could not go on.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A store could not be opened the first time it was needed.
    #[error("{0}")]
    Store(StoreError),
    /// The job cannot be done on a store.
    #[error("{store}: {problem}")]
    Unsuited {
        /// The store's spec.
        store: String,
        /// Why, and what to set instead.
        problem: String,
    },
    /// The user's store holds keys the job would overwrite.
    #[error(
        "{store} already holds {count} of the job's keys ({example}). Use an empty database, or --overwrite to delete those keys first"
    )]
    ForeignData {
        /// The store's spec.
        store: String,
        /// How many.
        count: u64,
        /// The first.
        example: String,
    },
    /// The job's input cannot be read any more.
    #[error("{0}")]
    Job(#[from] engine::JobError),
    /// A trial could not be recorded.
    #[error("{0}")]
    Record(String),
    /// A question has no answer in this store.
    #[error("{0}")]
    Answer(String),
    /// The store, or the process it was opened in, died or no longer answered.
    #[error("{store}: {}: {}", reason.kind.name(), reason.example)]
    Broken {
        /// The store's spec.
        store: String,
        /// How.
        reason: Reason,
    },
}

impl Refusal {
    /// What it says of this store.
    pub(crate) fn error(self, store: String) -> RunError {
        match self {
            Refusal::Store(words) | Refusal::Keys(words) => RunError::Store(StoreError::Session(words)),
            Refusal::Job(words) => RunError::Job(engine::JobError(words)),
            Refusal::Unsuited(problem) => RunError::Unsuited { store, problem },
            Refusal::Answer(words) => RunError::Answer(words),
            Refusal::ForeignData { count, example } => RunError::ForeignData { store, count, example },
        }
    }
}

impl RunError {
    /// Why the cell it happened to was not run.
    pub fn reason(&self) -> Reason {
        let (kind, count, example) = match self {
            RunError::Store(error) => (ReasonKind::NotStarted, 1, error.to_string()),
            RunError::Unsuited { problem, .. } => (ReasonKind::Unsuited, 1, problem.clone()),
            RunError::ForeignData { count, example, .. } => (ReasonKind::KeysFound, *count, example.clone()),
            RunError::Broken { reason, .. } => return reason.clone(),
            RunError::Job(_) | RunError::Record(_) | RunError::Answer(_) => {
                (ReasonKind::StudyStopped, 1, self.to_string())
            }
        };
        Reason { kind, count, example }
    }
}

/// Runs single trials of a plan; what was opened and left behind in stores of the user's is remembered between them.
pub struct Trials<'a> {
    plan: &'a Plan,
    opened: BTreeSet<String>,
    users: UsersStores,
}

impl<'a> Trials<'a> {
    /// `left`: what trials of this study have left in stores of the user's before: there the job's keys are theirs.
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
        let opening = if first { Opening::First } else { Opening::Again };
        trial::run_trial(self.plan, cell, position, opening, &mut self.users, stop, observer)
    }
}

/// Runs every trial of the plan that is not in `recorded` (orders of a resumed study, which has `left` something in stores of the
/// user's), until done or `stop` is set.
///
/// # Errors
/// When a store cannot be opened at all, cannot do the job, or a trial cannot be recorded. Finished trials stay recorded.
pub fn run(
    plan: &Plan,
    recorded: &BTreeSet<u32>,
    left: &[Left],
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<Ending, RunError> {
    let turns = plan.turns();
    let total = turns.len() as u32;
    if plan.execution.is_apart() {
        plan.shelf.clear(); // the workers' nursery reads what they need
    }
    let mut trials = Trials::new(plan, left);
    let start = Instant::now();
    for turn in turns {
        if recorded.contains(&turn.order) {
            continue;
        }
        if stop.load(Ordering::Relaxed) {
            return Ok(Ending::Interrupted);
        }
        if let Some(repeats) = plan.enough(turn.order, start.elapsed()).filter(|_| recorded.is_empty()) {
            observer.rounds_settled(repeats).map_err(RunError::Record)?;
            return Ok(Ending::Complete);
        }
        let planned = &plan.cells[turn.cell];
        observer.trial_started(turn.order, total, &planned.label(), turn.warmup);
        let position = Position { order: turn.order, warmup: turn.warmup };
        let finished = match trials.run(planned, position, stop, observer) {
            Ok(finished) => finished,
            Err(error) => {
                observer.cell_failed(turn.cell, &error);
                return Err(error);
            }
        };
        if finished.interrupted {
            return Ok(Ending::Interrupted); // half a trial is no trial: it is run again on --resume
        }
        observer.trial_finished(turn.cell, finished.record, finished.about.as_ref()).map_err(RunError::Record)?;
    }
    Ok(Ending::Complete)
}
