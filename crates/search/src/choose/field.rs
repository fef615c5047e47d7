//! Stores that race, as numbers.

use super::Kills;
use crate::budget::SearchTime;
use crate::lab::Lab;
use crate::race::{Lap, Laps, RaceStanding};
use analysis::{Better, Metric, Need, meets_all, shown_at, summarise};
use runner::{PlannedCell, RunError};
use std::time::Duration;
use study::{Cell, Meets, NeedShown};

/// What trials are held against.
#[derive(Clone, Copy)]
pub(super) struct Judge<'j> {
    /// The user's needs.
    pub needs: &'j [Need],
    /// The cells that memory is counted from.
    pub baselines: &'j [PlannedCell],
}

impl Judge<'_> {
    /// Returns a cell with what its trials show so far.
    pub fn seen(&self, lab: &Lab<'_>, kills: &dyn Kills, planned: &PlannedCell) -> Cell {
        let mut cell = match lab.tested(planned) {
            Some(tested) => Cell { trials: tested.trials.clone(), ..tested.cell.clone() },
            None => lab.plan().cell(planned),
        };
        cell.durability_shown = kills.known(&cell);
        summarise(&mut cell);
        cell
    }

    /// Returns what a cell shows of each need, at this level of significance.
    pub fn shown(&self, lab: &Lab<'_>, kills: &dyn Kills, planned: &PlannedCell, alpha: f64) -> Vec<NeedShown> {
        let baselines: Vec<Cell> = self.baselines.iter().map(|planned| self.seen(lab, kills, planned)).collect();
        let baselines: Vec<&Cell> = baselines.iter().collect();
        let cell = self.seen(lab, kills, planned);
        self.needs.iter().map(|need| shown_at(need, &cell, &baselines, alpha)).collect()
    }
}

/// Stores that race.
pub(super) struct Field<'f, 'l> {
    pub lab: &'f mut Lab<'l>,
    pub kills: &'f dyn Kills,
    pub judge: Judge<'f>,
    pub budget: SearchTime,
    pub stores: &'f [PlannedCell],
    /// What rounds are called in the study.
    pub stage: &'static str,
}

impl Laps for Field<'_, '_> {
    type Error = RunError;

    fn lap(&mut self, store: usize, round: u32) -> Result<Lap, RunError> {
        let planned = &self.stores[store];
        let record = match self.lab.trial(planned, &format!("{} {round}", self.stage)) {
            Ok(Some(record)) => record,
            Ok(None) => return Ok(Lap::Stopped),
            // A lost worker says nothing of the store.
            Err(error @ (RunError::Record(_) | RunError::Broken { .. })) => return Err(error),
            // One that cannot be run here is out, and the others go on.
            Err(_) => return Ok(Lap::NotRun),
        };
        let metric = Metric::ranking(&self.lab.plan().cell(planned));
        let figure = metric.of_trial(&record).filter(|figure| figure.is_finite() && *figure > 0.0);
        Ok(match figure.filter(|_| record.verdict.is_ranked()) {
            Some(figure) if metric.better() == Better::Higher => Lap::Figure(1.0 / figure),
            Some(figure) => Lap::Figure(figure),
            None => Lap::Void,
        })
    }

    fn meets(&self, store: usize, alpha: f64) -> Meets {
        meets_all(&self.judge.shown(self.lab, self.kills, &self.stores[store], alpha))
    }

    fn spent(&self) -> Duration {
        self.budget.spent()
    }

    fn leaves(&mut self, store: usize, standing: RaceStanding, ahead: Option<usize>) {
        let name = &self.stores[store].spec;
        let because = match (standing, ahead) {
            (RaceStanding::Worse, Some(best)) => format!("it is behind {}", self.stores[best].spec),
            (RaceStanding::Missed, _) => {
                let shown = self.judge.shown(self.lab, self.kills, &self.stores[store], analysis::NEED_ALPHA);
                let missed = shown.iter().find(|one| one.meets == Meets::Missed);
                missed.map_or("it misses a need".into(), |one| format!("it misses {}", one.need))
            }
            (RaceStanding::Dear, _) => "its trials take too much of the time".into(),
            (RaceStanding::Void, _) => "its trial was void".into(),
            _ => "it could not be run".into(),
        };
        self.lab.says(&format!("{name} gets no more trials: {because}"));
    }
}
