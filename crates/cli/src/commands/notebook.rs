//! What is written down and shown while trials run.

use super::shown;
use crate::output;
use archive::{DirectoryError, StudyDir};
use measure::Progress;
use runner::{About, Observer, Plan, RunError, UnderWay};
use selftest::ShownLevels;
use std::time::Duration;
use study::{Left, LeftCount, Reason, ReasonKind, Study, TrialRecord};

/// Writes trials down and shows how far the study is.
pub struct Notebook {
    /// The study on disk.
    pub directory: StudyDir,
    /// The view on the terminal.
    pub progress: terminal::ProgressView,
    trial: (u32, u32, String),
    phase: String,
    /// The length of timed phases, when time ends them.
    duration: Option<Duration>,
    /// Cells that could not be run, and why.
    failed: Vec<(usize, Reason)>,
    /// The keys that the user's own stores hold by now.
    pub left: Vec<Left>,
    /// The results of crashes of stores.
    shown: ShownLevels,
}

impl Notebook {
    /// Makes a notebook for the trials of a plan that are not recorded yet.
    pub fn new(directory: StudyDir, plan: &Plan) -> Notebook {
        let mut progress =
            terminal::ProgressView::new(output::error_colour()).storing(words::Batches::stored(directory.study()));
        let names: Vec<String> = plan.cells.iter().map(|planned| planned.label()).collect();
        for (name, cell) in names.iter().zip(&directory.study().cells) {
            cell.trials.iter().for_each(|trial| progress.known(name, trial));
        }
        let recorded = directory.recorded();
        let turns = plan.turns();
        let left = turns.iter().filter(|turn| !recorded.contains(&turn.order));
        progress.plan(left.map(|turn| names[turn.cell].as_str()));
        let duration = plan.cells.first().and_then(|cell| cell.settings.duration);
        let left = directory.study().left.clone();
        let (trial, phase) = ((0, 0, String::new()), String::new());
        Notebook { directory, progress, trial, phase, duration, failed: Vec::new(), left, shown: shown::known() }
    }

    /// Closes the study. Cells that were not run say why: those that could not be run for reasons of their own, others because of
    /// `stopped`, if the study ended early. Of a study that ended before its first trial was finished nothing stays on disk, unless it has left
    /// something in a store of the user's: then the study says what.
    ///
    /// # Errors
    /// It could not be written.
    pub fn close(mut self, stopped: Option<Reason>) -> Result<Closed, DirectoryError> {
        if stopped.is_some() || !self.failed.is_empty() {
            let failed = self.failed;
            self.directory.explain_unrun(|cell| {
                let own = failed.iter().find(|(at, _)| *at == cell).map(|(_, why)| why);
                own.or(stopped.as_ref()).cloned().unwrap_or(Reason {
                    kind: ReasonKind::NoTrial,
                    count: 1,
                    example: String::new(),
                })
            });
        }
        if stopped.is_some() && !self.directory.has_trials() && self.left.is_empty() {
            return self.directory.abandon().map(|_| Closed::Nothing);
        }
        if self.directory.study().left != self.left {
            self.directory.amend(|study| study.left = self.left)?;
        }
        self.directory.close().map(Closed::Kept)
    }

    /// How much of a phase is over: time where time ends it, else operations.
    fn share(&self, phase: &UnderWay, progress: &Progress) -> Option<f64> {
        match self.duration.filter(|_| phase.timed) {
            Some(duration) => Some(progress.elapsed.as_secs_f64() / duration.as_secs_f64()),
            None => phase.operations.map(|planned| progress.operations as f64 / planned.max(1) as f64),
        }
    }
}

/// The remains of a study that is over.
#[expect(clippy::large_enum_variant, reason = "there is one, and it is taken apart at once")]
pub enum Closed {
    /// The study, on disk as well.
    Kept(Study),
    /// Nothing was run, so nothing was kept.
    Nothing,
}

/// Returns why a study ended early, for the cells it did not come to.
pub fn interrupted() -> Reason {
    Reason { kind: ReasonKind::Interrupted, count: 1, example: String::new() }
}

/// Returns the same when an error ended it.
pub fn stopped(error: &impl ToString) -> Reason {
    Reason { kind: ReasonKind::StudyStopped, count: 1, example: error.to_string() }
}

impl Observer for Notebook {
    fn trial_started(&mut self, order: u32, total: u32, store: &str, warmup: bool) {
        self.trial = (order, total, store.to_owned());
        self.phase.clear();
        self.progress.trial_started(order, total, store, if warmup { "warm-up" } else { "starting" });
    }

    fn progress(&mut self, phase: &UnderWay, progress: Progress) {
        if self.phase != phase.name {
            self.phase.clone_from(&phase.name);
            let (order, total, store) = &self.trial;
            self.progress.trial_started(*order, *total, store, &phase.name);
        }
        self.progress.update(&terminal::Moment {
            operations: progress.operations,
            each: phase
                .operations
                .zip(phase.carried)
                .map(|(operations, records)| records as f64 / operations.max(1) as f64),
            share: self.share(phase, &progress),
            errors: progress.errors,
            p99_ns: progress.p99_ns,
            elapsed: progress.elapsed,
        });
        host::interrupt::progress();
    }

    fn does(&mut self, what: &str) {
        what.clone_into(&mut self.phase);
        let (order, total, store) = &self.trial;
        self.progress.trial_started(*order, *total, store, what);
    }

    fn decides(&mut self, words: &str) {
        self.progress.note(&format!("kvtrial: {words}"));
    }

    fn cell_added(&mut self, cell: study::Cell) -> Result<(), String> {
        self.directory.add(cell).map_err(|error| error.to_string())
    }

    fn rounds_settled(&mut self, repeats: u32) -> Result<(), String> {
        self.progress.finish();
        let fewest = stats::FEWEST_TRIALS;
        if (repeats as usize) < fewest {
            output::note(&format!(
                "kvtrial: {repeats} trials per store, too few to put them in order; one more would take well over 30 s \
                 (--repeats {fewest} runs it)"
            ));
        } else {
            output::note(&format!(
                "kvtrial: {repeats} trials per store; one more would take over 30 s (--repeats N sets the number)"
            ));
        }
        self.directory.amend(|study| study.repeats = repeats).map_err(|error| error.to_string())
    }

    fn cell_failed(&mut self, cell: usize, error: &RunError) {
        self.failed.push((cell, error.reason()));
    }

    fn leaves(&mut self, left: Left) -> Result<(), String> {
        if left.keys == 0 && left.count == LeftCount::Exact && left.made.is_empty() {
            self.left.retain(|known| known.store != left.store); // its job has deleted what it wrote
            return Ok(());
        }
        let known = self.left.iter_mut().find(|known| known.store == left.store);
        let is_known = known.is_some();
        match known {
            Some(known) => *known = left,
            None => self.left.push(left),
        }
        if !is_known {
            // On disk before the first key is written, so that it is known whatever becomes of this process.
            let all = self.left.clone();
            self.directory.amend(|study| study.left = all).map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    fn trial_finished(&mut self, cell: usize, record: TrialRecord, about: Option<&About>) -> Result<(), String> {
        host::interrupt::progress();
        self.progress.trial_finished(&record);
        if let Some(about) = about {
            let describe = |cell: &mut study::Cell| {
                let started = shown::started(&cell.store, about.durability, &about.facts);
                cell.durability_shown = started.and_then(|started| self.shown.of(&started).cloned());
                cell.durability = Some(about.durability);
                cell.durability_source = Some(about.source);
                cell.product = about.facts.product.clone();
                cell.store_version = about.facts.version.clone();
                cell.store_config = about.facts.config.clone();
                cell.set_up.clone_from(&about.facts.set_up);
                cell.emulated.clone_from(&about.emulated);
                cell.logical_bytes = about.logical_bytes;
            };
            self.directory.describe(cell, describe).map_err(|error| error.to_string())?;
        }
        self.directory.record(cell, record).map_err(|error| error.to_string())
    }
}
