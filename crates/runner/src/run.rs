//! All trials of a plan, one after the other.

use crate::order::balanced;
use crate::plan::Plan;
use crate::trial::{About, Position, run_trial};
use engine::{Phase, Progress};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use store::StoreError;
use study::TrialRecord;

/// Hears what happens while a study runs. Called between trials and ten times a second within one; never on the timed threads.
pub trait Observer {
    /// A trial begins.
    fn trial_started(&mut self, order: u32, total: u32, store: &str, warmup: bool);

    /// How far a phase is.
    fn progress(&mut self, phase: &Phase, progress: Progress);

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
    /// A trial could not be recorded.
    #[error("{0}")]
    Record(String),
}

/// Runs every trial of the plan that is not in `recorded` (orders of a resumed study), until done or `stop` is set.
///
/// # Errors
/// When a store cannot be opened at all, cannot do the job, or a trial cannot be recorded. Finished trials stay recorded.
pub fn run(
    plan: &Plan,
    recorded: &BTreeSet<u32>,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<Ending, RunError> {
    let turns = balanced(plan.stores.len(), plan.warmups, plan.repeats, plan.seed);
    let total = turns.len() as u32;
    let mut opened = BTreeSet::new();
    for turn in turns {
        if recorded.contains(&turn.order) {
            continue;
        }
        if stop.load(Ordering::Relaxed) {
            return Ok(Ending::Interrupted);
        }
        let planned = &plan.stores[turn.cell];
        observer.trial_started(turn.order, total, &planned.spec.to_string(), turn.warmup);
        let position = Position { order: turn.order, warmup: turn.warmup, first: opened.insert(turn.cell) };
        let finished = run_trial(plan, planned, position, stop, observer)?;
        if finished.interrupted {
            return Ok(Ending::Interrupted); // half a trial is no trial: it is run again on --resume
        }
        observer.trial_finished(turn.cell, finished.record, finished.about.as_ref()).map_err(RunError::Record)?;
    }
    Ok(Ending::Complete)
}
