//! Trials one at a time, on cells made as they are needed.

use engine::Arrivals;
use runner::{Observer, Plan, PlannedCell, Position, RunError, Trials};
use std::sync::atomic::{AtomicBool, Ordering};
use study::{Cell, ReasonKind, Study, TrialRecord};

/// Runs trials for a search and keeps what they showed.
pub struct Lab<'a> {
    plan: &'a Plan,
    trials: Trials<'a>,
    cells: Vec<Tested>,
    order: u32,
    /// Trials there may be in all, as far as the search can tell: for the progress line only. From that one on no total is said.
    pub expected: u32,
    stop: &'a AtomicBool,
    observer: &'a mut dyn Observer,
}

/// A cell with its trials so far.
pub struct Tested {
    /// The cell as it is in the study, without its trials.
    pub cell: Cell,
    /// The trials of the cell.
    pub trials: Vec<TrialRecord>,
    /// Trials of an earlier part of the search, which are not run again.
    earlier: Vec<TrialRecord>,
}

impl Tested {
    /// Makes one of a cell of a study that is resumed.
    fn resumed(mut cell: Cell) -> Tested {
        let earlier = std::mem::take(&mut cell.trials);
        Tested { earlier, ..Tested::new(cell) }
    }

    /// Takes the earlier trial of this stage.
    fn recall(&mut self, stage: &str) -> Option<TrialRecord> {
        let is_it = |trial: &TrialRecord| trial.more.get("stage").and_then(|it| it.as_str()) == Some(stage);
        let at = self.earlier.iter().position(is_it)?;
        Some(self.earlier.remove(at))
    }

    fn new(cell: Cell) -> Tested {
        Tested { cell, trials: Vec::new(), earlier: Vec::new() }
    }
}

impl<'a> Lab<'a> {
    /// Makes a lab for the cells of a plan, which the study has already, and for others.
    pub fn new(plan: &'a Plan, stop: &'a AtomicBool, observer: &'a mut dyn Observer) -> Lab<'a> {
        let cells = plan.cells.iter().map(|cell| Tested::new(plan.cell(cell))).collect();
        Lab { plan, trials: Trials::new(plan, &[]), cells, order: 0, expected: 0, stop, observer }
    }

    /// Makes a lab for a search that is resumed: trials of its study are not run again.
    pub fn resumed(plan: &'a Plan, study: &Study, stop: &'a AtomicBool, observer: &'a mut dyn Observer) -> Lab<'a> {
        let cells = study.cells.iter().cloned().map(Tested::resumed).collect();
        let order = study.cells.iter().flat_map(|cell| &cell.trials).map(|trial| trial.order).max().unwrap_or(0);
        Lab { cells, order, ..Lab::new(plan, stop, observer) }
    }

    /// Returns the plan.
    pub fn plan(&self) -> &'a Plan {
        self.plan
    }

    /// Returns the trials made of a cell so far.
    pub fn tested(&self, planned: &PlannedCell) -> Option<&Tested> {
        let key = self.plan.cell(planned).key();
        self.cells.iter().find(|known| known.cell.key() == key)
    }

    /// Returns how many records the job leaves in the store, as far as its input says.
    pub fn records(&self, planned: &PlannedCell) -> Option<f64> {
        Some(self.plan.job_cache.records(&planned.params)? as f64)
    }

    /// Tells the observer what the search has decided.
    pub fn says(&mut self, words: &str) {
        self.observer.decides(words);
    }

    /// Runs one trial of a cell and records it with the stage of the search it belongs to. `None`: interrupted.
    ///
    /// # Errors
    /// The store cannot be opened or cannot do the job, the trial cannot be recorded, or one of the workers that shared it is lost: what is
    /// searched for would be judged by trials of which nothing is known.
    pub fn trial(&mut self, planned: &PlannedCell, stage: &str) -> Result<Option<TrialRecord>, RunError> {
        if self.stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let at = self.place(planned)?;
        if let Some(record) = self.cells[at].recall(stage) {
            self.cells[at].trials.push(record.clone());
            return Ok(Some(record));
        }
        self.order += 1;
        let total = if self.order < self.expected { self.expected } else { 0 };
        self.observer.trial_started(self.order, total, &label(planned), false);
        let position = Position { order: self.order, warmup: false, round: 0 };
        let mut finished = match self.trials.run(planned, position, self.stop, self.observer) {
            Ok(finished) => finished,
            Err(error) => {
                self.observer.cell_failed(at, &error);
                return Err(error);
            }
        };
        if finished.interrupted {
            self.order -= 1;
            return Ok(None);
        }
        finished.record.more.insert("stage".into(), stage.into());
        self.cells[at].trials.push(finished.record.clone());
        let about = finished.about.as_ref();
        if let Some(about) = about {
            let cell = &mut self.cells[at].cell;
            cell.logical_bytes = about.logical_bytes;
            cell.product.clone_from(&about.facts.product);
            cell.store_version.clone_from(&about.facts.version);
            cell.store_config.clone_from(&about.facts.config);
            cell.set_up.clone_from(&about.facts.set_up);
            (cell.durability, cell.durability_source) = (Some(about.durability), Some(about.source));
        }
        self.observer.trial_finished(at, finished.record.clone(), about).map_err(RunError::Record)?;
        let lost = finished.record.verdict.reasons.iter().find(|reason| reason.kind == ReasonKind::WorkerLost);
        match lost {
            Some(lost) => Err(RunError::Broken { store: planned.spec.to_string(), reason: lost.clone() }),
            None => Ok(Some(finished.record)),
        }
    }

    /// The cell's place in the study, which gets it if it is new.
    fn place(&mut self, planned: &PlannedCell) -> Result<usize, RunError> {
        let cell = self.plan.cell(planned);
        if let Some(at) = self.cells.iter().position(|known| known.cell.key() == cell.key()) {
            return Ok(at);
        }
        self.observer.cell_added(cell.clone()).map_err(RunError::Record)?;
        self.cells.push(Tested::new(cell));
        Ok(self.cells.len() - 1)
    }
}

/// What a trial is called while it runs, with the rate it is given: `redis at 12,300/s`.
fn label(planned: &PlannedCell) -> String {
    let Arrivals::Poisson { ops_per_s } = planned.settings.arrivals else { return planned.label() };
    let digits = format!("{ops_per_s:.0}");
    let comma = |at: usize| if at > 0 && (digits.len() - at).is_multiple_of(3) { "," } else { "" };
    let grouped: String = digits.char_indices().map(|(at, digit)| format!("{}{digit}", comma(at))).collect();
    format!("{} at {grouped}/s", planned.label())
}
