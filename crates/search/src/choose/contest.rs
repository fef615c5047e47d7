//! Stores that are raced against each other, and what came of it.

use super::field::{Field, Judge};
use super::{Kills, Kind};
use crate::budget::SearchTime;
use crate::lab::Lab;
use crate::race::{RaceStanding, RaceTime, Raced, race};
use data::splitmix::Rng;
use runner::{PlannedCell, RunError};
use stats::FEWEST_TRIALS;
use std::time::Duration;
use study::{Cell, Meets};

/// Stores whose other settings are tried: as many of the best.
const FINALISTS: usize = 3;

/// Stores that are raced against each other, and what came of it.
pub(super) struct Contest<'c> {
    pub kind: Option<Kind>,
    pub judge: Judge<'c>,
    /// The stores as they come.
    pub stores: Vec<PlannedCell>,
    pub raced: Raced,
    /// The best of them and their other settings, and the race between these.
    pub finals: Option<(Vec<PlannedCell>, Raced)>,
}

impl<'c> Contest<'c> {
    pub fn new(kind: Option<Kind>, stores: Vec<PlannedCell>, judge: Judge<'c>) -> Contest<'c> {
        Contest { kind, judge, raced: Raced::before(stores.len()), stores, finals: None }
    }

    /// Races the stores as they come.
    pub fn race(
        &mut self,
        lab: &mut Lab<'_>,
        kills: &dyn Kills,
        budget: SearchTime,
        time: RaceTime,
    ) -> Result<(), RunError> {
        let seed = lab.plan().seed;
        let mut field = Field { lab, kills, judge: self.judge, budget, stores: &self.stores, stage: "round" };
        self.raced = race(&mut field, self.stores.len(), time, seed)?;
        Ok(())
    }

    /// Races the best of those that meet the needs against as many of their other settings as there is time for.
    pub fn race_settings(
        &mut self,
        lab: &mut Lab<'_>,
        kills: &dyn Kills,
        budget: SearchTime,
        until: Duration,
    ) -> Result<(), RunError> {
        let meets = |store: &usize| {
            let shown = self.judge.shown(lab, kills, &self.stores[*store], analysis::NEED_ALPHA);
            analysis::meets_all(&shown) == Meets::Met && !self.raced.figures[*store].is_empty()
        };
        let mut best: Vec<usize> = self.raced.left().into_iter().filter(meets).take(FINALISTS).collect();
        let left = until.saturating_sub(budget.spent());
        // As many of the best as leave time for as many other settings.
        let affordable = loop {
            let took: Duration = best.iter().map(|store| self.raced.took[*store]).sum();
            let Some(typical) = took.checked_div(best.len() as u32).filter(|typical| !typical.is_zero()) else {
                return Ok(());
            };
            let stores = (left.as_secs_f64() / (typical.as_secs_f64() * FEWEST_TRIALS as f64)) as usize;
            if stores >= 2 * best.len() {
                break stores - best.len();
            }
            best.pop();
        };
        let seed = lab.plan().seed;
        let mut others: Vec<PlannedCell> =
            best.iter().flat_map(|store| runner::other_settings(&self.stores[*store])).collect();
        let mut random = Rng::new(seed ^ 0x7365_7474_696e_6701);
        for last in (1..others.len()).rev() {
            others.swap(last, random.below(last as u64 + 1) as usize);
        }
        others.truncate(affordable);
        if others.is_empty() {
            return Ok(());
        }
        let mut stores: Vec<PlannedCell> = best.iter().map(|store| self.stores[*store].clone()).collect();
        stores.append(&mut others);
        let mut field = Field { lab, kills, judge: self.judge, budget, stores: &stores, stage: "settings" };
        let raced = race(&mut field, stores.len(), RaceTime { until, first_until: until }, seed)?;
        self.finals = Some((stores, raced));
        Ok(())
    }

    /// Returns the trials of all races.
    pub fn trials(&self) -> u32 {
        self.raced.trials + self.finals.as_ref().map_or(0, |(_, raced)| raced.trials)
    }

    /// Returns the cell of a store by its spec.
    pub fn find(&self, store: &str) -> Option<&PlannedCell> {
        let finals = self.finals.iter().flat_map(|(stores, _)| stores);
        self.stores.iter().chain(finals).find(|planned| planned.spec.to_string() == store)
    }

    /// Returns a cell with what its trials show.
    pub fn seen(&self, lab: &Lab<'_>, kills: &dyn Kills, planned: &PlannedCell) -> Cell {
        self.judge.seen(lab, kills, planned)
    }

    /// Returns how long the latest trial of a store took.
    pub fn took(&self, planned: &PlannedCell) -> Duration {
        let of = |stores: &[PlannedCell], raced: &Raced| {
            stores.iter().position(|known| known.spec == planned.spec).map(|at| raced.took[at])
        };
        let finals = self.finals.as_ref().and_then(|(stores, raced)| of(stores, raced));
        finals.or_else(|| of(&self.stores, &self.raced)).unwrap_or_default()
    }

    /// Returns the standings of all: of the stores as they come, and behind them of settings shown to be ahead of all of those.
    pub fn entries(&self) -> Vec<Entry<'_>> {
        let mut entries: Vec<Entry<'_>> = (self.stores.iter().zip(&self.raced.standings).zip(&self.raced.figures))
            .map(|((planned, standing), figures)| Entry { planned, standing: *standing, figures: figures.clone() })
            .collect();
        let Some((stores, raced)) = &self.finals else { return entries };
        let is_plain = |planned: &PlannedCell| self.stores.iter().any(|store| store.spec == planned.spec);
        let is_plain_ahead = (stores.iter().zip(&raced.standings))
            .any(|(planned, standing)| is_plain(planned) && *standing == RaceStanding::In);
        for ((planned, standing), figures) in stores.iter().zip(&raced.standings).zip(&raced.figures) {
            match entries.iter_mut().find(|entry| entry.planned.spec == planned.spec) {
                Some(known) => {
                    known.standing = *standing;
                    known.figures.extend(figures);
                }
                None if *standing == RaceStanding::In && !is_plain_ahead => {
                    entries.push(Entry { planned, standing: *standing, figures: figures.clone() });
                }
                None => {}
            }
        }
        entries
    }

    /// Returns how many settings other than those the stores come with were tried.
    pub fn settings_tried(&self) -> u32 {
        let Some((stores, raced)) = &self.finals else { return 0 };
        let is_tried = |at: &usize| !raced.figures[*at].is_empty() && self.is_other(&stores[*at]);
        (0..stores.len()).filter(is_tried).count() as u32
    }

    /// Returns the option in which a store differs from one that was raced as it comes.
    pub fn setting(&self, planned: &PlannedCell) -> Option<String> {
        let plain = |store: &&PlannedCell| {
            let mut spec = store.spec.clone();
            spec.options.clone_from(&planned.spec.options);
            spec == planned.spec && store.spec.options.len() + 1 == planned.spec.options.len()
        };
        let plain = self.stores.iter().find(plain).filter(|_| self.is_other(planned))?;
        let own = planned.spec.options.iter().find(|(name, _)| !plain.spec.options.contains_key(*name));
        own.map(|(name, value)| format!("{name}={value}"))
    }

    fn is_other(&self, planned: &PlannedCell) -> bool {
        self.stores.iter().all(|store| store.spec != planned.spec)
    }
}

/// A store at the end of all races.
pub(super) struct Entry<'e> {
    pub planned: &'e PlannedCell,
    pub standing: RaceStanding,
    pub figures: Vec<f64>,
}
