//! Lost workers: a trial that loses one is void and is run again.

use super::ticks::WORKERS;
use data::wyrand::WyRand;
use std::fmt::Write;

/// Hours in which a worker is lost once, on average: a machine that fails once per year, one that a cloud takes back after a month, and
/// one that is taken back after two days.
const HOURS_PER_LOSS: [(&str, f64); 3] = [("one per year", 8766.0), ("one per month", 730.0), ("one per 2 days", 48.0)];

const TRIAL_S: f64 = 30.0;

/// 8 stores, 5 repeats and a warm-up.
const TRIALS: u32 = 48;

/// The time that a trial takes whose stores start, connect and are read back beside the 30 s on the clock.
const BESIDE_S: f64 = 20.0;

/// How long it takes until a silent worker is called lost.
const SILENCE_S: f64 = 3.0;

const STUDIES: u64 = 2_000;

/// Returns the chance that nobody is lost, and how long a study takes where lost trials are run again.
pub fn table() -> String {
    let mut out = format!(
        "A study of {TRIALS} trials, each {:.0} s with start and reading back; a lost trial is void and run again with another worker.\n\n\
         | workers | each is lost | studies without a loss | simulated | time, as a multiple | simulated |\n|---|---|---|---|---|---|\n",
        TRIAL_S + BESIDE_S
    );
    for workers in WORKERS {
        for (name, hours) in HOURS_PER_LOSS {
            let per_s = workers as f64 / (hours * 3600.0);
            let trial_s = TRIAL_S + BESIDE_S;
            let none = (-per_s * trial_s * f64::from(TRIALS)).exp();
            // Until a trial comes through: (e^(r s) - 1) / r, and the silence after each loss.
            let lost_per_trial = (per_s * trial_s).exp() - 1.0;
            let time = (lost_per_trial / per_s + lost_per_trial * SILENCE_S) / trial_s;
            let (seen_none, seen_time) = simulated(per_s, trial_s, workers);
            _ = writeln!(
                out,
                "| {workers} | {name} | {:.2} % | {:.2} % | {time:.4} | {seen_time:.4} |",
                none * 100.0,
                seen_none * 100.0
            );
        }
    }
    out
}

/// Studies in which workers are lost at random moments: the share without a loss, and the mean time as a multiple of that without.
fn simulated(per_s: f64, trial_s: f64, seed: u64) -> (f64, f64) {
    let mut random = WyRand::new(seed, 7);
    let mut until_loss = || -((random.below(1 << 52) + 1) as f64 / (1u64 << 52) as f64).ln() / per_s;
    let (mut whole, mut time) = (0, 0.0);
    for _ in 0..STUDIES {
        let mut lost = false;
        for _ in 0..TRIALS {
            loop {
                let loss_s = until_loss();
                if loss_s >= trial_s {
                    break;
                }
                lost = true;
                time += loss_s + SILENCE_S;
            }
            time += trial_s;
        }
        whole += u64::from(!lost);
    }
    (whole as f64 / STUDIES as f64, time / (STUDIES as f64 * f64::from(TRIALS) * trial_s))
}
