//! What is written down and shown while trials run.

use engine::{Phase, Progress};
use report::StudyDir;
use runner::{About, Observer, Plan};
use study::TrialRecord;

/// Writes trials down and shows how far the study is.
pub struct Notebook {
    /// The study on disk.
    pub directory: StudyDir,
    /// The line on the terminal.
    pub progress: report::Progress,
    trial: (u32, u32, String),
    phase: &'static str,
}

impl Notebook {
    /// For the trials of a plan that are not recorded yet.
    pub fn new(directory: StudyDir, plan: &Plan) -> Notebook {
        let mut progress = report::Progress::new();
        let recorded = directory.recorded();
        let names: Vec<String> = plan.cells.iter().map(|planned| planned.label()).collect();
        let turns = plan.turns();
        let left = turns.iter().filter(|turn| !recorded.contains(&turn.order));
        progress.plan(left.map(|turn| names[turn.cell].as_str()));
        Notebook { directory, progress, trial: (0, 0, String::new()), phase: "" }
    }
}

impl Observer for Notebook {
    fn trial_started(&mut self, order: u32, total: u32, store: &str, warmup: bool) {
        self.trial = (order, total, store.to_owned());
        self.phase = "";
        self.progress.trial_started(order, total, store, if warmup { "warm-up" } else { "starting" });
    }

    fn progress(&mut self, phase: &Phase, progress: Progress) {
        if self.phase != phase.name {
            self.phase = phase.name;
            let (order, total, store) = &self.trial;
            self.progress.trial_started(*order, *total, store, phase.name);
        }
        let rate = progress.operations as f64 / progress.elapsed.as_secs_f64().max(1e-9);
        self.progress.update(progress.operations, phase.operations.unwrap_or(0), rate);
        host::interrupt::progress();
    }

    fn cell_added(&mut self, cell: study::Cell) -> Result<(), String> {
        self.directory.add(cell).map_err(|error| error.to_string())
    }

    fn trial_finished(&mut self, cell: usize, record: TrialRecord, about: Option<&About>) -> Result<(), String> {
        host::interrupt::progress();
        self.progress.trial_finished(&record);
        if let Some(about) = about {
            let describe = |cell: &mut study::Cell| {
                cell.durability = Some(about.durability);
                cell.product = about.facts.product.clone();
                cell.store_version = about.facts.version.clone();
                cell.store_config = about.facts.config.clone();
                cell.emulated = about.emulated.iter().map(|&name| name.to_owned()).collect();
                cell.logical_bytes = about.logical_bytes;
            };
            self.directory.describe(cell, describe).map_err(|error| error.to_string())?;
        }
        self.directory.record(cell, record).map_err(|error| error.to_string())
    }
}
