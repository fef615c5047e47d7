//! Requests per CPU second of the whole loop, ycsb job and engine, on the null store: median of interleaved slices,
//! thread CPU time. `cargo run --release -p kvtrial-jobs --example ycsb_rate`

use engine::{Settings, Timing, run_phase};
use jobkit::TrialSetup;
use kvtrial_jobs as jobs;
use std::sync::atomic::AtomicBool;
use store::Opener;
use study::Spec;

const SLICES: usize = 9;
const RUN: usize = 1;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Some(Opener::Embedded(open)) = catalog::find("null").map(|info| info.opener) else {
        return Err("there is no null store".into());
    };
    let null = open(&Spec::private("null"), std::path::Path::new(""))?;
    let ycsb = jobs::find("ycsb").ok_or("there is no ycsb job")?;
    for (workload, distribution, value) in
        [("C", "uniform", "100"), ("C", "zipfian", "100"), ("B", "zipfian", "100"), ("A", "zipfian", "100")]
    {
        let set =
            [("workload", workload), ("distribution", distribution), ("value", value), ("operations", "10000000")];
        let set: Vec<(String, String)> = set.map(|(name, value)| (name.into(), value.into())).into();
        let job = jobs::prepare(ycsb, None, &set, 42)?;
        let trial = job.trial(&TrialSetup::alone(1, null.capabilities().clone(), 42));
        let mut rates = [Vec::new(), Vec::new()];
        for _ in 0..SLICES {
            for (timing, rates) in [Timing::Sampled(64), Timing::Every].into_iter().zip(&mut rates) {
                let settings = Settings { timing, ..Settings::default() };
                let stop = AtomicBool::new(false);
                let outcome = run_phase(null.as_ref(), trial.as_ref(), RUN, &settings, &stop, &mut |_| {})?;
                rates.push(outcome.counts.operations as f64 / outcome.client_cpu.as_secs_f64() / 1e6);
            }
        }
        for (name, rates) in ["sampled 1/64", "every one timed"].into_iter().zip(&mut rates) {
            rates.sort_by(f64::total_cmp);
            let [low, median, high] = [rates[0], rates[SLICES / 2], rates[SLICES - 1]];
            println!("{workload} {distribution:8} {name:16} {median:6.1} M op/s per core ({low:.1} to {high:.1})");
        }
    }
    Ok(())
}
