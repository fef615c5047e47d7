//! Races among stores whose truth is known, with noise as machines make it: how often is the wrong one taken, how often are equal ones said to
//! differ, and how many trials does it take?
#![allow(clippy::unwrap_used)]

use data::splitmix::Rng;
use search::race::{Lap, Laps, RaceStanding, RaceTime, race};
use stats::{FEWEST_TRIALS, TrialFigures, separations};
use std::convert::Infallible;
use std::time::Duration;
use study::{Meets, RaceEnd};

const STUDIES: u64 = 1_000;

fn until(until: Duration) -> RaceTime {
    RaceTime { until, first_until: until }
}

/// Stores that take so long, typically, and the bound they must keep.
struct Simulated {
    typical: Vec<f64>,
    figures: Vec<Vec<f64>>,
    bound: Option<f64>,
    random: Rng,
    laps: u32,
    most: u32,
    /// A store whose trials take a minute.
    slow: Option<usize>,
    spent_s: u32,
}

impl Simulated {
    fn new(typical: Vec<f64>, bound: Option<f64>, seed: u64) -> Simulated {
        let figures = vec![Vec::new(); typical.len()];
        Simulated { typical, figures, bound, random: Rng::new(seed), laps: 0, most: u32::MAX, slow: None, spent_s: 0 }
    }

    fn uniform(&mut self) -> f64 {
        (self.random.below(1 << 52) as f64 + 0.5) / (1u64 << 52) as f64
    }

    /// Noise of 5 % and, in one trial of ten, a disturbance of 30 % and more, as of makespans on a shared machine.
    fn noise(&mut self) -> f64 {
        let normal = (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos();
        let disturbed = if self.uniform() < 0.1 { 1.0 - 0.3 * self.uniform().ln() } else { 1.0 };
        (0.05 * normal).exp() * disturbed
    }

    /// The stores as good as the best of those that keep the bound, but for a twentieth.
    fn good(&self) -> Vec<usize> {
        let keeps = |typical: &f64| self.bound.is_none_or(|bound| *typical < bound);
        let best = self.typical.iter().copied().filter(keeps).fold(f64::INFINITY, f64::min);
        (0..self.typical.len()).filter(|at| keeps(&self.typical[*at]) && self.typical[*at] <= 1.05 * best).collect()
    }
}

impl Laps for Simulated {
    type Error = Infallible;

    fn lap(&mut self, store: usize, _: u32) -> Result<Lap, Infallible> {
        if self.laps == self.most {
            return Ok(Lap::Stopped);
        }
        self.laps += 1;
        self.spent_s += if self.slow == Some(store) { 60 } else { 1 };
        let figure = self.typical[store] * self.noise();
        self.figures[store].push(figure);
        Ok(Lap::Figure(figure))
    }

    fn meets(&self, store: usize, alpha: f64) -> Meets {
        let Some(bound) = self.bound else { return Meets::Met };
        match stats::side(&self.figures[store], bound, 0.0) {
            Some(side) if side.p < alpha && side.log_ratio < 0.0 => Meets::Met,
            Some(side) if side.p < alpha => Meets::Missed,
            _ => Meets::NotShown,
        }
    }

    fn spent(&self) -> Duration {
        Duration::from_secs(u64::from(self.spent_s))
    }
}

fn run(simulated: &mut Simulated, seed: u64) -> search::race::Raced {
    let stores = simulated.typical.len();
    let Ok(raced) = race(simulated, stores, until(Duration::from_secs(100_000)), seed);
    raced
}

/// Between 2 and 12 stores, each up to four times as slow as the best.
fn field(seed: u64) -> Vec<f64> {
    let mut random = Rng::new(seed ^ 0xF1E1D);
    (0..2 + seed % 11).map(|_| 1.0 + 3.0 * random.below(1_000) as f64 / 1_000.0).collect()
}

#[test]
fn a_store_that_is_worse_than_the_best_by_more_than_a_twentieth_is_taken_in_at_most_5_percent_of_studies() {
    let wrong = (0..STUDIES).filter(|seed| {
        let mut simulated = Simulated::new(field(*seed), None, *seed);
        let raced = run(&mut simulated, *seed);
        !simulated.good().contains(&raced.left()[0])
    });
    let wrong = wrong.count();
    assert!(wrong <= 50, "{wrong} of {STUDIES}");
}

#[test]
fn a_store_that_misses_the_need_is_not_taken_and_one_that_meets_it_is_not_out() {
    let (mut taken, mut put_out) = (0, 0);
    for seed in 0..STUDIES {
        let mut random = Rng::new(seed ^ 0xB0);
        // A tenth or more beyond the bound of 2, or below it.
        let typical: Vec<f64> = (0..6)
            .map(|_| {
                if random.below(2) == 0 {
                    2.2 + random.below(100) as f64 / 50.0
                } else {
                    1.0 + random.below(80) as f64 / 100.0
                }
            })
            .collect();
        let mut simulated = Simulated::new(typical.clone(), Some(2.0), seed);
        let raced = run(&mut simulated, seed);
        let meets = |store: usize| simulated.meets(store, 0.05) == Meets::Met;
        taken += u32::from(raced.left().iter().any(|store| typical[*store] > 2.0 && meets(*store)));
        put_out += u32::from((0..6).any(|at| raced.standings[at] == RaceStanding::Missed && typical[at] < 2.0));
    }
    assert!(taken <= 50 && put_out <= 50, "{taken} took one that misses it, {put_out} put one out that meets it");
}

#[test]
fn equal_stores_stay_in_together_in_95_of_100_studies() {
    let apart = (0..STUDIES).filter(|seed| {
        let mut simulated = Simulated::new(vec![1.0; 2 + (*seed % 11) as usize], None, *seed);
        let raced = run(&mut simulated, *seed);
        raced.standings.contains(&RaceStanding::Worse)
    });
    let apart = apart.count();
    assert!(apart <= 50, "{apart} of {STUDIES}");
}

#[test]
fn no_setting_is_taken_over_the_store_as_it_comes_where_none_is_better_and_the_best_one_is_where_it_is() {
    let (mut wrong, mut missed) = (0, 0);
    for seed in 0..STUDIES {
        // The store as it comes is the first; a setting is taken only where that one is out.
        let mut random = Rng::new(seed ^ 0x5E7);
        let others = (0..9).map(|_| 1.0 + 0.3 * random.below(1_000) as f64 / 1_000.0);
        let mut none_better = Simulated::new(std::iter::once(1.0).chain(others).collect(), None, seed);
        wrong += u32::from(run(&mut none_better, seed).standings[0] == RaceStanding::Worse);
        let mut one_better =
            Simulated { typical: none_better.typical.clone(), ..Simulated::new(vec![0.0; 10], None, seed) };
        one_better.typical[4] = 0.8;
        let raced = run(&mut one_better, seed);
        missed += u32::from(raced.standings[0] != RaceStanding::Worse || raced.left()[0] != 4);
    }
    assert!(wrong <= 50 && missed <= 50, "{wrong} took one that is no better, {missed} did not take the better one");
}

/// Trials of all twelve stores until the best is shown to be ahead of each, when all are repeated equally and one looks once at the end with
/// the correction for all looks: the least of such numbers of rounds, which nobody knows beforehand.
fn equal_repeats(typical: &[f64], seed: u64) -> u32 {
    let mut simulated = Simulated::new(typical.to_vec(), None, seed);
    for round in 1..=200u32 {
        for store in 0..typical.len() {
            let Ok(_) = simulated.lap(store, round);
        }
        if (round as usize) < FEWEST_TRIALS {
            continue;
        }
        let groups: Vec<TrialFigures<'_>> =
            simulated.figures.iter().map(|figures| TrialFigures { figures, step: 0.0 }).collect();
        let pairs: Vec<(usize, usize)> = (1..typical.len()).map(|other| (0, other)).collect();
        let look = f64::from(round) - FEWEST_TRIALS as f64 + 1.0;
        let alpha = 0.05 / (look * (look + 1.0));
        if separations(&groups, &pairs)
            .iter()
            .all(|found| found.is_some_and(|it| it.p_holm < alpha && it.log_ratio > 0.0))
        {
            return round * typical.len() as u32;
        }
    }
    200 * typical.len() as u32
}

#[test]
fn a_race_of_twelve_takes_at_most_four_tenths_of_the_trials_of_equal_repeats() {
    // As far apart as stores are: one a tenth behind the best, the others slower and slower.
    let typical = [1.0, 1.1, 1.3, 1.6, 1.9, 2.3, 2.8, 3.4, 4.0, 5.0, 6.0, 8.0];
    let (mut raced, mut repeated) = (0, 0);
    for seed in 0..100 {
        let mut simulated = Simulated::new(typical.to_vec(), None, seed);
        let found = run(&mut simulated, seed);
        raced += found.trials;
        repeated += equal_repeats(&typical, seed);
    }
    let share = f64::from(raced) / f64::from(repeated);
    assert!(share <= 0.4, "{share:.3}: {raced} against {repeated}");
}

#[test]
fn a_race_ends_in_time_and_says_why() {
    let mut simulated = Simulated::new(vec![1.0, 1.02, 1.01], None, 1);
    let Ok(raced) = race(&mut simulated, 3, until(Duration::from_secs(8)), 1);
    assert_eq!((raced.ended, raced.trials), (RaceEnd::Budget, 6), "a third round would end behind it");
    let mut stopped = Simulated { most: 4, ..Simulated::new(vec![1.0, 2.0], None, 1) };
    assert_eq!(run(&mut stopped, 1).ended, RaceEnd::Interrupted);
    let mut clear = Simulated::new(vec![1.0, 30.0], None, 1);
    assert_eq!((run(&mut clear, 1).ended, clear.laps), (RaceEnd::Decided, 6));
}

#[test]
fn a_store_whose_trials_take_most_of_the_time_is_left_aside_and_the_others_are_decided() {
    let mut simulated = Simulated { slow: Some(1), ..Simulated::new(vec![1.0, 60.0, 2.0], None, 1) };
    let Ok(raced) = race(&mut simulated, 3, until(Duration::from_secs(100)), 1);
    assert_eq!(raced.standings, [RaceStanding::In, RaceStanding::Dear, RaceStanding::Worse]);
    assert!(raced.ended == RaceEnd::Decided && raced.figures[1].len() == 1, "{raced:?}");
}
