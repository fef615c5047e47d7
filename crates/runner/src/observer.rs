//! Who hears what happens while a study runs.

use crate::error::RunError;
use crate::message::UnderWay;
use measure::Progress;
use store::Facts;
use study::{Cell, Durability, DurabilitySource, Left, TrialRecord};

/// Hears what happens while a study runs. Called between trials and 10 times per second within one; never on the timed threads.
pub trait Observer {
    /// Hears that a trial begins: the one with this number of those that are run now, `total` where that is known; 0 in a search.
    fn trial_started(&mut self, order: u32, total: u32, store: &str, warmup: bool);

    /// Hears the progress of a phase.
    fn progress(&mut self, phase: &UnderWay, progress: Progress);

    /// Hears of work that is no phase: data is flushed, or keys are counted.
    fn does(&mut self, what: &str) {
        let _ = what;
    }

    /// Hears what a search has decided, in words.
    fn decides(&mut self, words: &str) {
        let _ = words;
    }

    /// The study gets another cell, behind those it has: a search decided to try it.
    ///
    /// # Errors
    /// When the study could not be written.
    fn cell_added(&mut self, cell: Cell) -> Result<(), String> {
        drop(cell);
        Ok(())
    }

    /// The study is over with fewer counted trials per cell than planned: more would have taken it beyond the plan's patience.
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

    /// Hears that this cell could not be run. Where that is not the store's fault, as it is here, the study stops.
    fn cell_failed(&mut self, cell: usize, error: &RunError) {
        let _ = (cell, error);
    }

    /// Takes a finished trial; `about` is what is known of the store by now.
    ///
    /// # Errors
    /// When the trial could not be recorded; the study then stops.
    fn trial_finished(&mut self, cell: usize, record: TrialRecord, about: Option<&About>) -> Result<(), String>;
}

/// The facts about a cell's store, once it was opened.
#[derive(Clone, Debug)]
pub struct About {
    /// Product, version, effective configuration.
    pub facts: Facts,
    /// Durability level in effect, as the store itself says.
    pub durability: Durability,
    /// The source of the level.
    pub source: DurabilitySource,
    /// Operations the job emulates on it.
    pub emulated: Vec<String>,
    /// Key and value bytes the job left in it.
    pub logical_bytes: u64,
}
