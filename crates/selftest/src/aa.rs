//! A store against itself: how often are equal stores called different, and how surely is a small slowdown found?
//!
//! Each pair is a study as `kvtrial run` makes it, of one store named twice: every trial on a fresh start, in the study's balanced
//! random order, compared by the rule that ranks ([`stats::separations`]). Of equal stores at most 5 in 100 pairs may come out as
//! different at 5 %, whatever else the machine does. With the second store slowed down by a layer that burns time
//! (`burn=` of the crate `layers`), the pairs that come out as different are the power.

use crate::study_of::SmallStudy;
use engine::Settings;
use runner::Execution;
use stats::{Detectable, Detection, TrialFigures};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Instant;
use store::StoreInfo;
use study::{Proof, Quantity, Spec, Status, Tolerance};

/// Trials of each store in a pair, unless asked otherwise.
pub const REPEATS: u32 = 8;

const ALPHA: f64 = 0.05;
const LEVEL: f64 = 0.95;
/// Time of a trial's operations. Short, so that hundreds of pairs take minutes; starting a server takes longer.
const TRIAL_S: f64 = 0.03;

/// The pairs to compare.
pub struct Pairs {
    /// The store's adapter.
    pub info: &'static StoreInfo,
    /// The store, as the user named it.
    pub spec: Spec,
    /// Pairs of equal stores, and as many of a store and a slower one.
    pub pairs: u32,
    /// Trials of each store in a pair.
    pub repeats: u32,
    /// How much slower the slower store is made, e.g. 0.05.
    pub slowdown: f64,
    /// The directory below which private directories are made.
    pub base: PathBuf,
    /// Seed of orders and keys; each pair has its own from it.
    pub seed: u64,
    /// The process in which trials are carried out.
    pub execution: Execution,
}

/// What pairs came to.
#[derive(Default)]
struct PairTally {
    different: usize,
    pairs: usize,
    /// Of each pair: the smallest difference it would have found, as a ratio.
    smallest: Vec<f64>,
    /// Of each pair: the repeats that would find the slowdown.
    needed: Vec<f64>,
    /// Time these pairs took.
    elapsed_s: f64,
}

impl Pairs {
    /// Runs all pairs: a proof of the rate of false alarms, and one of the power. `hear` hears how many of how many pairs are done.
    /// `None` when `stop` was set meanwhile.
    ///
    /// # Errors
    /// The store cannot be started, or answered wrongly: then its times mean nothing.
    pub fn prove(&self, stop: &AtomicBool, hear: &mut dyn FnMut(u32, u32)) -> Result<Option<[Proof; 2]>, String> {
        let Some(operations) = self.operations(stop)? else { return Ok(None) };
        let mut slower = self.spec.clone();
        slower.options.insert("burn".into(), format!("{}%", self.slowdown * 100.0));
        let (mut equal, mut unequal) = (PairTally::default(), PairTally::default());
        // In turn, so that both see the same machine.
        for pair in 0..self.pairs {
            for (second, tally) in [(&self.spec, &mut equal), (&slower, &mut unequal)] {
                let begun = Instant::now();
                if !self.pair(pair, second, operations, stop, tally)? {
                    return Ok(None);
                }
                tally.elapsed_s += begun.elapsed().as_secs_f64();
            }
            hear(pair + 1, self.pairs);
        }
        Ok(Some([self.false_alarms(&equal), self.power(&unequal)]))
    }

    /// One pair; false when interrupted.
    fn pair(
        &self,
        number: u32,
        second: &Spec,
        operations: u64,
        stop: &AtomicBool,
        tally: &mut PairTally,
    ) -> Result<bool, String> {
        let seed = data::splitmix::mix(self.seed ^ (u64::from(number) << 20));
        let second_is_slower = *second != self.spec;
        let stores = vec![(self.info, self.spec.clone()), (self.info, second.clone())];
        let Some(groups) = self.times(stores, operations, self.repeats, seed, stop)? else { return Ok(false) };
        let [first, second] = groups.as_slice() else { return Err("a pair has two stores".into()) };
        let groups = [first, second].map(|figures| TrialFigures { figures, step: 0.0 });
        let found = stats::separations(&groups, &[(0, 1)]);
        tally.pairs += 1;
        tally.different += found.iter().flatten().filter(|found| found.p_holm < ALPHA).count();
        let detection = Detection { draws: 400, seed, ..Detection::default() };
        if let Some(Detectable::Ratio(ratio)) = detection.smallest(first, second) {
            tally.smallest.push(ratio);
        }
        // The search takes longer than the pair; a few dozen tell the median well enough.
        if tally.needed.len() < 40 && second_is_slower {
            let needed = detection.repeats_needed(first, second, 1.0 + self.slowdown);
            tally.needed.push(needed.unwrap_or(stats::MOST_REPEATS) as f64);
        }
        Ok(true)
    }

    /// Times of the trials of each store.
    fn times(
        &self,
        stores: Vec<(&'static StoreInfo, Spec)>,
        operations: u64,
        repeats: u32,
        seed: u64,
        stop: &AtomicBool,
    ) -> Result<Option<Vec<Vec<f64>>>, String> {
        let set = [
            ("records", "500".to_owned()),
            ("value", "100".to_owned()),
            ("workload", "A".to_owned()),
            ("operations", operations.to_string()),
        ];
        let study = SmallStudy {
            stores,
            set: &set,
            settings: Settings::default(),
            repeats,
            seed,
            base: &self.base,
            execution: self.execution.clone(),
        };
        let Some(trials) = study.run(stop)? else { return Ok(None) };
        if let Some(void) = trials.iter().flatten().find(|trial| trial.verdict.status == Status::Void) {
            let reasons: Vec<&str> = void.verdict.reasons.iter().map(|reason| reason.example.as_str()).collect();
            return Err(format!("{}: a trial is void: {}", self.spec, reasons.join("; ")));
        }
        let times = trials.iter().map(|cell| cell.iter().map(|trial| trial.makespan_s).collect());
        Ok(Some(times.collect()))
    }

    /// Operations that take about [`TRIAL_S`].
    fn operations(&self, stop: &AtomicBool) -> Result<Option<u64>, String> {
        const FIRST: u64 = 2000;
        let stores = vec![(self.info, self.spec.clone())];
        let Some(times) = self.times(stores, FIRST, 3, self.seed, stop)? else { return Ok(None) };
        let typical_s = times.first().and_then(|times| stats::median(times)).unwrap_or(TRIAL_S).max(1e-6);
        Ok(Some(((FIRST as f64 * TRIAL_S / typical_s) as u64).clamp(200, 1_000_000)))
    }

    fn false_alarms(&self, seen: &PairTally) -> Proof {
        let bound = Tolerance::at_most(ALPHA);
        let rate = rate(seen);
        // These pairs give the rate only within an interval: what counts is whether it can be 5 % or less.
        let passed = rate.is_some_and(|rate| rate.low <= ALPHA);
        Proof {
            name: format!("false_alarms {}", self.spec),
            passed,
            claim: format!(
                "{} against itself, {} trials each, is called different at 5 % in at most 5 of 100 pairs",
                self.spec, self.repeats
            ),
            measured: rate.map(|rate| rate.value),
            bound,
            unit: "of the pairs".into(),
            interval: rate,
            problem: smallest(seen),
            elapsed_s: seen.elapsed_s,
        }
    }

    fn power(&self, seen: &PairTally) -> Proof {
        let bound = Tolerance::at_least(0.9);
        let rate = rate(seen);
        let found = rate.is_some_and(|rate| rate.high >= 0.9);
        let needed = stats::median(&seen.needed).unwrap_or(f64::INFINITY).round();
        let slowdown = self.slowdown * 100.0;
        let told = needed > f64::from(self.repeats);
        let problem = match (found, needed < stats::MOST_REPEATS as f64) {
            (true, _) => String::new(),
            (false, true) => {
                format!("at this machine's noise {slowdown} % take {needed} repeats to be found 9 times in 10")
            }
            (false, false) => format!("at this machine's noise {slowdown} % cannot be found; make it quieter"),
        };
        Proof {
            name: format!("power {}", self.spec),
            passed: found || told,
            claim: format!(
                "{} slowed down by {slowdown} % is found in 90 of 100 pairs at {} trials each, or the number of repeats it takes is stated",
                self.spec, self.repeats
            ),
            measured: rate.map(|rate| rate.value),
            bound,
            unit: "of the pairs".into(),
            interval: rate,
            problem,
            elapsed_s: seen.elapsed_s,
        }
    }
}

fn rate(seen: &PairTally) -> Option<Quantity> {
    let rate = stats::proportion(seen.different, seen.pairs, LEVEL)?;
    Some(Quantity { value: rate.value, low: rate.low, high: rate.high, level: rate.level, n: rate.n as u32 })
}

fn smallest(seen: &PairTally) -> String {
    match stats::median(&seen.smallest) {
        Some(ratio) => format!("{}, in a typical pair", Detectable::Ratio(ratio)),
        None => String::new(),
    }
}
