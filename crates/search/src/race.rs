//! A race: which of several stores is best, with few trials, and no store given up for a bad trial.
//!
//! Every round gives each store still in the race one trial, in random order. From the third round on a store is out when it is shown to be
//! worse than the best of those that meet the needs, or to miss a need; one whose first trial takes too much of the time is left aside (successive elimination: Even-Dar, Mannor and Mansour, *Action
//! Elimination and Stopping Conditions for the Multi-Armed Bandit and Reinforcement Learning Problems*, JMLR 7, 2006; racing: Maron and
//! Moore, *Hoeffding Races*, 1994). Those papers bound figures that have bounds; here the test is [`stats::separations`] on what the trials
//! showed. It is made again after every round, so the k-th look has 1 / (k (k + 1)) of the level: all looks together keep it.

use data::splitmix::Rng;
use stats::{FEWEST_TRIALS, TrialFigures, separations};
use std::time::Duration;
use study::{Meets, RaceEnd};

/// The chance that the best store of a race, or one that is as good, is given up.
const ALPHA: f64 = 0.05;
/// Rounds after which those that are left count as alike.
const MOST_ROUNDS: u32 = 24;
/// A store whose two trials to come would take more than this share of the time that is left gets none of them, if another takes less than a
/// quarter of its time.
const DEAR: f64 = 1.0 / 3.0;
const DEARER: u32 = 4;
/// Stores whose figures are shown to differ by less than this are alike: more trials would not change what is taken.
const ALIKE: f64 = 1.05;

/// The result of a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Lap {
    /// The figure of the trial, above 0: less is better.
    Figure(f64),
    /// The trial was void, or has no figure: the store is out.
    Void,
    /// The store could not be run: it is out.
    NotRun,
    /// The trial was stopped: the race is over.
    Stopped,
}

/// Trials of stores, which are numbered, and a clock.
pub trait Laps {
    /// Why a race cannot go on.
    type Error;

    /// Runs one trial of a store.
    ///
    /// # Errors
    /// The race ends.
    fn lap(&mut self, store: usize, round: u32) -> Result<Lap, Self::Error>;

    /// Returns whether the trials so far show that a store meets its needs, at this level of significance.
    fn meets(&self, store: usize, alpha: f64) -> Meets;

    /// Returns the time used so far.
    fn spent(&self) -> Duration;

    /// Hears that a store gets no more trials; `ahead` is the store that is shown to be better.
    fn leaves(&mut self, store: usize, standing: RaceStanding, ahead: Option<usize>) {
        let _ = (store, standing, ahead);
    }
}

/// The place of a store in a race that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RaceStanding {
    /// Still in when the race ended.
    In,
    /// Out: shown to be worse than another that meets the needs.
    Worse,
    /// Left aside after its first trial, which took too much of the time.
    Dear,
    /// Out: shown to miss a need.
    Missed,
    /// Out: a trial was void.
    Void,
    /// Out: it could not be run.
    NotRun,
}

/// The result of a race.
#[derive(Clone, Debug, PartialEq)]
pub struct Raced {
    /// By store.
    pub standings: Vec<RaceStanding>,
    /// The figures of each store's trials.
    pub figures: Vec<Vec<f64>>,
    /// The time that the latest trial of each took.
    pub took: Vec<Duration>,
    /// Why it ended.
    pub ended: RaceEnd,
    /// Trials run.
    pub trials: u32,
}

impl Raced {
    /// Returns a race of `stores` stores before its first trial.
    pub fn before(stores: usize) -> Raced {
        Raced {
            standings: vec![RaceStanding::In; stores],
            figures: vec![Vec::new(); stores],
            took: vec![Duration::ZERO; stores],
            ended: RaceEnd::Decided,
            trials: 0,
        }
    }

    /// Returns the stores still in, best median first.
    pub fn left(&self) -> Vec<usize> {
        let mut left: Vec<usize> =
            (0..self.standings.len()).filter(|at| self.standings[*at] == RaceStanding::In).collect();
        left.sort_by(|a, b| self.typical(*a).total_cmp(&self.typical(*b)));
        left
    }

    fn leave<L: Laps>(&mut self, laps: &mut L, store: usize, standing: RaceStanding, ahead: Option<usize>) {
        self.standings[store] = standing;
        laps.leaves(store, standing, ahead);
    }

    fn typical(&self, store: usize) -> f64 {
        stats::median(&self.figures[store]).unwrap_or(f64::INFINITY)
    }
}

/// The time on the clock of the trials until which a race may last.
#[derive(Clone, Copy, Debug)]
pub struct RaceTime {
    /// The time behind which no round is to end.
    pub until: Duration,
    /// The same for the first rounds, without which nothing can be shown.
    pub first_until: Duration,
}

impl RaceTime {
    fn of_round(self, round: u32) -> Duration {
        if round as usize <= FEWEST_TRIALS { self.until.max(self.first_until) } else { self.until }
    }
}

/// Races the stores 0 to `stores` - 1 until everything is decided or another round would take too long.
///
/// # Errors
/// Those of the trials.
pub fn race<L: Laps>(laps: &mut L, stores: usize, time: RaceTime, seed: u64) -> Result<Raced, L::Error> {
    let mut random = Rng::new(seed ^ 0x7261_6365_0000_0001);
    let mut raced = Raced::before(stores);
    for round in 1..=MOST_ROUNDS {
        let mut order = raced.left();
        if order.is_empty() {
            return Ok(raced);
        }
        let expected: Duration = order.iter().map(|store| raced.took[*store]).sum();
        if laps.spent() + expected > time.of_round(round) {
            raced.ended = RaceEnd::Budget;
            return Ok(raced);
        }
        for last in (1..order.len()).rev() {
            order.swap(last, random.below(last as u64 + 1) as usize);
        }
        for store in order {
            let before = laps.spent();
            match laps.lap(store, round)? {
                Lap::Figure(figure) => raced.figures[store].push(figure),
                Lap::Void => raced.leave(laps, store, RaceStanding::Void, None),
                Lap::NotRun => raced.leave(laps, store, RaceStanding::NotRun, None),
                Lap::Stopped => {
                    raced.ended = RaceEnd::Interrupted;
                    return Ok(raced);
                }
            }
            raced.took[store] = laps.spent().saturating_sub(before);
            raced.trials += 1;
        }
        if round == 1 && is_all_said(laps, &mut raced, time.of_round(round)) {
            return Ok(raced);
        }
        if (round as usize) < FEWEST_TRIALS {
            continue;
        }
        let look = f64::from(round) - FEWEST_TRIALS as f64 + 1.0;
        if let Some(end) = eliminate(laps, &mut raced, ALPHA / (look * (look + 1.0))) {
            raced.ended = end;
            return Ok(raced);
        }
    }
    raced.ended = RaceEnd::Alike;
    Ok(raced)
}

/// Leaves aside what takes too much of the time. Returns whether a single store is left of which nothing more is asked.
fn is_all_said<L: Laps>(laps: &mut L, raced: &mut Raced, deadline: Duration) -> bool {
    let left = raced.left();
    let to_come = deadline.saturating_sub(laps.spent()).mul_f64(DEAR);
    let least = left.iter().map(|store| raced.took[*store]).min().unwrap_or_default();
    for store in &left {
        let took = raced.took[*store];
        if took > least * DEARER && took * (FEWEST_TRIALS as u32 - 1) > to_come {
            raced.leave(laps, *store, RaceStanding::Dear, None);
        }
    }
    match raced.left()[..] {
        [] => left.is_empty(),
        [only] => laps.meets(only, ALPHA) == Meets::Met,
        _ => false,
    }
}

/// Gives up those that are shown to be worse, or to miss a need. Returns why the race is over, if it is.
fn eliminate<L: Laps>(laps: &mut L, raced: &mut Raced, alpha: f64) -> Option<RaceEnd> {
    let meets: Vec<Meets> = (0..raced.standings.len()).map(|store| laps.meets(store, alpha)).collect();
    for store in raced.left() {
        if meets[store] == Meets::Missed {
            raced.leave(laps, store, RaceStanding::Missed, None);
        }
    }
    let left = raced.left();
    // Only one that is shown to meet the needs puts others out.
    let best = left.iter().copied().find(|store| meets[*store] == Meets::Met)?;
    let others: Vec<usize> = left.iter().copied().filter(|store| *store != best).collect();
    let groups: Vec<TrialFigures<'_>> =
        raced.figures.iter().map(|figures| TrialFigures { figures, step: 0.0 }).collect();
    let pairs: Vec<(usize, usize)> = others.iter().map(|other| (best, *other)).collect();
    let found = separations(&groups, &pairs);
    for (other, found) in others.iter().zip(&found) {
        if found.is_some_and(|found| found.p_holm < alpha && found.log_ratio > 0.0) {
            raced.leave(laps, *other, RaceStanding::Worse, Some(best));
        }
    }
    let left = raced.left();
    if left.iter().any(|store| meets[*store] != Meets::Met) {
        return None;
    }
    if left.len() == 1 {
        return Some(RaceEnd::Decided);
    }
    let is_alike = |store: &usize| *store == best || within(&raced.figures[best], &raced.figures[*store]);
    left.iter().all(is_alike).then_some(RaceEnd::Alike)
}

/// Whether two stores are shown to differ by less than matters.
fn within(a: &[f64], b: &[f64]) -> bool {
    let times = |figures: &[f64], factor: f64| figures.iter().map(|figure| figure * factor).collect::<Vec<f64>>();
    let (faster, slower) = (times(a, 1.0 / ALIKE), times(a, ALIKE));
    let groups = [&faster, b, &slower].map(|figures| TrialFigures { figures, step: 0.0 });
    let found = separations(&groups, &[(0, 1), (1, 2)]);
    found.iter().all(|found| found.is_some_and(|found| found.p < ALPHA && found.log_ratio > 0.0))
}
