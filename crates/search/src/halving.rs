//! Successive halving: which of many settings is best, with few trials.
//!
//! Every round gives each setting still in it the same number of trials and the same share of the time, then the worse half is
//! given up. With a fixed budget this finds the best of n settings with a number of trials within a logarithm of the least possible
//! (Karnin, Koren and Somekh 2013, *Almost Optimal Exploration in Multi-Armed Bandits*; Jamieson and Talwalkar 2016, *Non-stochastic
//! Best Arm Identification and Hyperparameter Optimization*). The unit of both is a trial; here trials cost different times, so
//! a round ends when its share of the time is used up, and never in the middle of a pass over its settings.

use data::splitmix::Rng;
use std::time::Duration;
use study::TuneRound;

/// The result of a trial of a setting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Played {
    /// The trial's score: above 0, more is better.
    Score(f64),
    /// The trial was void: the setting is out.
    Void,
    /// The trial was stopped: the search is over.
    Stopped,
}

/// Trials of settings, which are numbered, and a clock.
pub trait SettingTrials {
    /// Why a search cannot go on.
    type Error;

    /// Runs one trial of a setting.
    ///
    /// # Errors
    /// The search ends.
    fn play(&mut self, setting: usize, round: usize) -> Result<Played, Self::Error>;

    /// Returns the time used so far.
    fn spent(&self) -> Duration;
}

/// The record a search keeps of a setting.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// Scores of its trials, and the round of each.
    pub scores: Vec<(usize, f64)>,
    /// Whether a trial was void.
    pub void: bool,
    took: Duration,
    plays: u32,
}

impl Record {
    /// Returns the typical score.
    pub fn score(&self) -> Option<f64> {
        if self.void { None } else { stats::median(&self.scores.iter().map(|(_, score)| *score).collect::<Vec<_>>()) }
    }
}

/// The result of the search.
#[derive(Clone, Debug, Default)]
pub struct Halved {
    /// Settings from best to worst, as far as they have a score: those given up last come first.
    pub ranking: Vec<usize>,
    /// Each round.
    pub rounds: Vec<TuneRound>,
    /// By setting.
    pub records: Vec<Record>,
}

/// Returns how many rounds it takes to halve the settings down to one.
pub fn rounds(settings: usize) -> u32 {
    settings.next_power_of_two().trailing_zeros().max(1)
}

/// Returns the most settings that can be tried in this time when a trial takes `trial`: every round must have time for one trial of each
/// of the settings it begins with.
pub fn affordable(time: Duration, trial: Duration) -> usize {
    let trials = time.as_secs_f64() / trial.as_secs_f64().max(1e-6);
    (2..=4096usize).rev().find(|&settings| settings as f64 * f64::from(rounds(settings)) <= trials).unwrap_or(0)
}

/// Finds the best of the settings 0 to `settings` - 1, until `deadline` on the arena's clock.
///
/// # Errors
/// Those of the arena.
pub fn halve<A: SettingTrials>(
    arena: &mut A,
    settings: usize,
    deadline: Duration,
    seed: u64,
) -> Result<Halved, A::Error> {
    let mut random = Rng::new(seed ^ 0x7475_6e65_0000_0001);
    let mut halved = Halved { records: vec![Record::default(); settings], ..Halved::default() };
    let mut left: Vec<usize> = (0..settings).collect();
    let planned = rounds(settings);
    let mut given_up: Vec<usize> = Vec::new();
    let mut over = false;
    for round in 0..planned {
        let begun = arena.spent();
        let share = deadline.saturating_sub(begun) / (planned - round);
        let mut tried = TuneRound { settings: left.len() as u32, trials: 0 };
        loop {
            shuffle(&mut left, &mut random);
            for &setting in &left {
                if arena.spent() + expected(&halved.records, setting) > deadline {
                    over = true;
                    break;
                }
                let before = arena.spent();
                let played = arena.play(setting, round as usize)?;
                let record = &mut halved.records[setting];
                match played {
                    Played::Score(score) => record.scores.push((round as usize, score)),
                    Played::Void => record.void = true,
                    Played::Stopped => {
                        over = true;
                        break;
                    }
                }
                record.took += arena.spent().saturating_sub(before);
                record.plays += 1;
                tried.trials += 1;
            }
            left.retain(|setting| !halved.records[*setting].void);
            let pass: Duration = left.iter().map(|setting| expected(&halved.records, *setting)).sum();
            if over || left.is_empty() || arena.spent() + pass > begun + share {
                break;
            }
        }
        let score = |setting: &usize| halved.records[*setting].score().unwrap_or(f64::NEG_INFINITY);
        left.sort_by(|a, b| score(b).total_cmp(&score(a)));
        halved.rounds.push(tried);
        let half = left.len().div_ceil(2).max(1).min(left.len());
        given_up.splice(0..0, left.split_off(half));
        if over || left.len() <= 1 {
            break;
        }
    }
    left.extend(given_up);
    left.retain(|setting| halved.records[*setting].score().is_some());
    halved.ranking = left;
    Ok(halved)
}

/// How long a trial of a setting will take: as its trials took, or as all did.
fn expected(records: &[Record], setting: usize) -> Duration {
    let own = &records[setting];
    if own.plays > 0 {
        return own.took / own.plays;
    }
    let (plays, took) =
        records.iter().fold((0, Duration::ZERO), |(plays, took), it| (plays + it.plays, took + it.took));
    if plays > 0 { took / plays } else { Duration::ZERO }
}

/// Shuffles the items, as Fisher and Yates do.
pub(super) fn shuffle<T>(items: &mut [T], random: &mut Rng) {
    for last in (1..items.len()).rev() {
        items.swap(last, random.below(last as u64 + 1) as usize);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{Played, SettingTrials, affordable, halve, rounds};
    use data::splitmix::Rng;
    use std::convert::Infallible;
    use std::time::Duration;

    /// Settings of known worth, with noise and a clock of their own.
    struct Simulated {
        worth: Vec<f64>,
        noise: f64,
        random: Rng,
        clock: Duration,
        plays: Vec<u32>,
        void: Option<usize>,
    }

    impl Simulated {
        fn new(worth: Vec<f64>, noise: f64, seed: u64) -> Simulated {
            let plays = vec![0; worth.len()];
            Simulated { worth, noise, random: Rng::new(seed), clock: Duration::ZERO, plays, void: None }
        }
    }

    impl SettingTrials for Simulated {
        type Error = Infallible;

        fn play(&mut self, setting: usize, _: usize) -> Result<Played, Infallible> {
            self.plays[setting] += 1;
            // The better, the sooner over.
            self.clock += Duration::from_secs_f64(1.0 / self.worth[setting]);
            if self.void == Some(setting) {
                return Ok(Played::Void);
            }
            let uniform: f64 = (0..12).map(|_| (self.random.u64() >> 11) as f64 / (1u64 << 53) as f64).sum();
            Ok(Played::Score(self.worth[setting] * ((uniform - 6.0) * self.noise).exp()))
        }

        fn spent(&self) -> Duration {
            self.clock
        }
    }

    #[test]
    fn the_best_of_64_settings_is_found_under_noise() {
        let mut found = 0;
        for seed in 0..50 {
            let mut worth: Vec<f64> = (0..64).map(|n| 1.0 + f64::from(n % 7) * 0.02).collect();
            worth[17] = 1.4;
            let mut arena = Simulated::new(worth, 0.08, seed);
            let halved = halve(&mut arena, 64, Duration::from_secs(500), seed).unwrap();
            found += usize::from(halved.ranking[0] == 17);
        }
        assert!(found >= 47, "{found} of 50");
    }

    #[test]
    fn trials_go_to_those_that_deserve_them_and_time_is_kept() {
        let worth: Vec<f64> = (0..16).map(|n| 1.0 + f64::from(n) * 0.1).collect();
        let mut arena = Simulated::new(worth, 0.01, 5);
        let halved = halve(&mut arena, 16, Duration::from_secs(120), 5).unwrap();
        assert!(arena.clock <= Duration::from_secs(120), "{:?}", arena.clock);
        assert_eq!(halved.ranking[0], 15);
        assert_eq!(halved.rounds.iter().map(|round| round.settings).collect::<Vec<_>>(), [16, 8, 4, 2]);
        assert!(arena.plays[15] >= 3 * arena.plays[0], "{:?}", arena.plays);
        assert_eq!(halved.rounds.iter().map(|round| round.trials).sum::<u32>(), arena.plays.iter().sum::<u32>());
    }

    #[test]
    fn a_void_setting_is_out_however_fast_it_is() {
        let mut arena = Simulated { void: Some(2), ..Simulated::new(vec![1.0, 1.2, 9.0, 1.1], 0.01, 1) };
        let halved = halve(&mut arena, 4, Duration::from_secs(60), 1).unwrap();
        assert_eq!((halved.ranking[0], arena.plays[2]), (1, 1));
        assert!(halved.records[2].void && !halved.ranking.contains(&2));
    }

    #[test]
    fn as_many_settings_are_tried_as_there_is_time_for() {
        assert_eq!((rounds(2), rounds(3), rounds(64), rounds(65)), (1, 2, 6, 7));
        let seconds = Duration::from_secs;
        assert_eq!(affordable(seconds(64 * 6), seconds(1)), 64);
        assert_eq!(affordable(seconds(1), seconds(1)), 0);
        assert_eq!(affordable(seconds(2), seconds(1)), 2);
    }
}
