//! The choice of a store by what the user needs, with real trials and within a budget of time.
//!
//! First the stores race, with the settings they come with. The best of those that meet the needs then race against their own other settings,
//! one option at a time; a setting is taken only where it is shown to be ahead. Those to be taken are killed while they write, if data must be
//! kept: one that loses what it acknowledged is out, and the next is killed. At last the first does the job with ten times the data.

mod contest;
mod decision;
mod field;
mod set_up;

use crate::budget::SearchTime;
use crate::lab::Lab;
use crate::race::RaceTime;
use analysis::Need;
use contest::Contest;
use field::Judge;
use jobkit::Params;
use runner::{PlannedCell, RunError};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use study::{Cell, Class, Durability, MoreData, ShownPromise, StoreChoice};

/// Shares of the budget that are kept free for what follows the race, where it is asked for.
const KILLS_SHARE: f64 = 0.2;
const SETTINGS_SHARE: f64 = 0.2;
const MORE_SHARE: f64 = 0.1;

/// The options of a choice.
pub struct ChooseOptions {
    /// The user's needs.
    pub needs: Vec<Need>,
    /// The time for it.
    pub budget: SearchTime,
    /// The job with more data; else why there is none.
    pub more: Result<MoreWork, String>,
}

/// The job with more data.
#[derive(Clone, Debug)]
pub struct MoreWork {
    /// The parameter that is raised.
    pub param: &'static str,
    /// How many times as much data there is.
    pub times: u32,
    /// All parameters of the job.
    pub params: Params,
}

/// Kills of stores, and what they show.
pub trait Kills {
    /// Returns whether stores are killed at all.
    fn are_asked_for(&self) -> bool;

    /// Returns what is known of the level of durability a cell was measured at, from these kills or from earlier ones.
    fn known(&self, cell: &Cell) -> Option<ShownPromise>;

    /// Kills the store of a cell while clients write, as often as there is time for and as was asked. Does nothing where it cannot be killed, or
    /// where earlier kills have shown enough.
    fn kill(&mut self, planned: &PlannedCell, cell: &Cell, time: Duration);
}

/// Why there is no choice.
#[derive(Debug, thiserror::Error)]
pub enum ChooseError {
    /// A trial could not be run or recorded.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Not enough time for a single trial.
    #[error("--budget is too small: no trial was finished in {used_s:.0} s; give it {needed_s:.0}s or more")]
    Budget {
        /// The time that was used.
        used_s: f64,
        /// A budget in which there would be some trials.
        needed_s: f64,
    },
    /// The user interrupted before anything was decided.
    #[error("interrupted before anything was decided")]
    Interrupted,
}

/// Races the stores of the lab's plan: all together where there are needs, else those of one class and level of durability; and tries those to
/// be taken further. `stop` is the lab's flag: it is set when the budget is used up or `interrupted` is set.
///
/// # Errors
/// See [`ChooseError`].
pub fn choose(
    lab: &mut Lab<'_>,
    options: &ChooseOptions,
    kills: &mut dyn Kills,
    stop: &AtomicBool,
    interrupted: &AtomicBool,
) -> Result<StoreChoice, ChooseError> {
    options.budget.watched(stop, interrupted, || Chooser { lab, options, kills, interrupted }.run())
}

struct Chooser<'c, 'l> {
    lab: &'c mut Lab<'l>,
    options: &'c ChooseOptions,
    kills: &'c mut dyn Kills,
    interrupted: &'c AtomicBool,
}

impl Chooser<'_, '_> {
    fn run(mut self) -> Result<StoreChoice, ChooseError> {
        let budget = self.options.budget;
        let planned = self.lab.plan().cells.clone();
        let (baselines, stores): (Vec<PlannedCell>, Vec<PlannedCell>) =
            planned.into_iter().partition(|cell| cell.baseline);
        for baseline in &baselines {
            self.lab.trial(baseline, "baseline")?;
        }
        let has_settings = stores.iter().any(|store| !runner::other_settings(store).is_empty());
        let share = |asked: bool, share: f64| if asked { share } else { 0.0 };
        let kills_from = 1.0 - share(self.options.more.is_ok(), MORE_SHARE);
        let settings_until = kills_from - share(self.kills.are_asked_for(), KILLS_SHARE);
        let race_until = settings_until - share(has_settings, SETTINGS_SHARE);

        let mut contests = Vec::new();
        let groups = groups(self.lab, stores, &self.options.needs);
        let count = groups.len() as u32;
        for (at, (kind, stores)) in (0u32..).zip(groups) {
            // Each group has its share of the time that is left.
            let until = |share: f64| {
                let left = budget.whole.mul_f64(share).saturating_sub(budget.spent());
                budget.spent() + left / (count - at)
            };
            let time = RaceTime { until: until(race_until), first_until: until(1.0) };
            let judge = Judge { needs: &self.options.needs, baselines: &baselines };
            let mut contest = Contest::new(kind, stores, judge);
            contest.race(self.lab, self.kills, budget, time)?;
            contests.push(contest);
        }
        for (at, contest) in (0u32..).zip(&mut contests) {
            let left = budget.whole.mul_f64(settings_until).saturating_sub(budget.spent());
            contest.race_settings(self.lab, self.kills, budget, budget.spent() + left / (count - at))?;
        }
        let mut choice = StoreChoice { budget_s: budget.whole.as_secs_f64(), ..StoreChoice::default() };
        for (at, contest) in (0u32..).zip(&mut contests) {
            let left = budget.whole.mul_f64(kills_from).saturating_sub(budget.spent());
            self.kill_those_to_be_taken(contest, budget.spent() + left / (count - at));
            let mut decision = contest.decision(self.lab, self.kills, self.interrupted);
            decision.more_data = self.try_more(contest, &decision.take)?;
            choice.trials += contest.trials();
            choice.decisions.push(decision);
        }
        choice.used_s = budget.spent().as_secs_f64();
        match choice.trials {
            0 if self.interrupted.load(Ordering::Relaxed) => Err(ChooseError::Interrupted),
            0 => Err(ChooseError::Budget { used_s: choice.used_s, needed_s: (4.0 * choice.used_s).ceil() }),
            _ => Ok(choice),
        }
    }

    /// Kills the stores that would be taken, one after the other, until one of them kept what it acknowledged and those beside it were killed, too.
    fn kill_those_to_be_taken(&mut self, contest: &Contest<'_>, until: Duration) {
        if !self.kills.are_asked_for() {
            return;
        }
        let mut killed = Vec::new();
        while !self.interrupted.load(Ordering::Relaxed) {
            let take = contest.decision(self.lab, self.kills, self.interrupted).take;
            let Some(at) = take.iter().position(|store| !killed.contains(store)) else { break };
            let left = until.saturating_sub(self.options.budget.spent());
            if left.is_zero() {
                break;
            }
            let Some(planned) = contest.find(&take[at]) else { break };
            let others = take.iter().filter(|store| !killed.contains(*store)).count() as u32;
            let cell = contest.seen(self.lab, self.kills, planned);
            self.kills.kill(planned, &cell, left / others);
            killed.push(take[at].clone());
        }
    }

    /// Lets the first to be taken do the job with more data, if there is time.
    fn try_more(&mut self, contest: &Contest<'_>, take: &[String]) -> Result<Option<MoreData>, RunError> {
        let Some(first) = take.first().and_then(|store| contest.find(store)) else { return Ok(None) };
        let untried = |because: String| MoreData { because, ..MoreData::default() };
        let work = match &self.options.more {
            Ok(work) => work,
            Err(because) => return Ok(Some(untried(because.clone()))),
        };
        let value = work.params.get(work.param).cloned().unwrap_or_default();
        let tried =
            MoreData { times: work.times, param: work.param.into(), value: value.clone(), because: String::new() };
        // Where time ends the work, only what is around it grows.
        let timed = first.settings.duration.unwrap_or_default();
        let expected = timed + contest.took(first).saturating_sub(timed) * work.times;
        if expected > self.options.budget.left() {
            let because = format!("a trial of it may take {:.0} s, more than was left", expected.as_secs_f64().ceil());
            return Ok(Some(MoreData { because, ..tried }));
        }
        let varied = [(work.param.to_owned(), value)].into();
        let planned = PlannedCell { params: work.params.clone(), varied, ..first.clone() };
        Ok(Some(match self.lab.trial(&planned, "more data") {
            Ok(Some(_)) => tried,
            Ok(None) => MoreData { because: "its trial was stopped".into(), ..tried },
            Err(error @ (RunError::Record(_) | RunError::Broken { .. })) => return Err(error),
            Err(error) => MoreData { because: error.to_string(), ..tried },
        }))
    }
}

/// What stores have in common that are raced against each other without needs.
type Kind = (Class, Option<Durability>);

/// Stores that are raced against each other.
type Races = Vec<(Option<Kind>, Vec<PlannedCell>)>;

fn groups(lab: &Lab<'_>, stores: Vec<PlannedCell>, needs: &[Need]) -> Races {
    if !needs.is_empty() {
        return vec![(None, stores)];
    }
    let mut groups: Vec<(Kind, Vec<PlannedCell>)> = Vec::new();
    for store in stores {
        let cell = lab.plan().cell(&store);
        let key = (cell.class, cell.durability);
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, group)) => group.push(store),
            None => groups.push((key, vec![store])),
        }
    }
    groups.sort_by_key(|(key, _)| *key);
    groups.into_iter().map(|(kind, stores)| (Some(kind), stores)).collect()
}
