//! What recording a history costs per operation: processor time of the whole loop on the store `ram`, workload C, with and without,
//! interleaved. `cargo run --release -p kvtrial-jobs --example history_rate [OPERATIONS]`

use engine::{Settings, run_phase};
use history::Collector;
use jobkit::TrialSetup;
use kvtrial_jobs as jobs;
use measure::Clock;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use store::{Opener, Store};
use study::Spec;

const SLICES: usize = 7;
const LOAD: usize = 0;
const RUN: usize = 1;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let operations = std::env::args().nth(1).unwrap_or_else(|| "3000000".into());
    let Some(Opener::Embedded(open)) = catalog::find("ram").map(|info| info.opener) else {
        return Err("there is no store ram".into());
    };
    let ram = open(&Spec::private("ram"), std::path::Path::new(""))?;
    let ycsb = jobs::find("ycsb").ok_or("there is no ycsb job")?;
    let set = [("workload", "C"), ("operations", &operations)];
    let set: Vec<(String, String)> = set.map(|(name, value)| (name.into(), value.into())).into();
    let job = jobs::prepare(ycsb, None, &set, 42)?;
    let ns_of = |recorded: bool| -> Result<f64, Box<dyn std::error::Error>> {
        let trial = job.trial(&TrialSetup::alone(1, ram.capabilities().clone(), 42));
        if recorded {
            let clock = Clock::get();
            let collector = Collector::new(&std::env::temp_dir()).timed_by(Box::new(move |ticks| clock.ns(ticks)));
            trial.record_history(&Arc::new(collector))?;
        }
        let stop = AtomicBool::new(false);
        let phase = |number| {
            run_phase(ram.as_ref() as &dyn Store, trial.as_ref(), number, &Settings::default(), &stop, &mut |_| {})
        };
        phase(LOAD)?;
        let outcome = phase(RUN)?;
        Ok(outcome.client_cpu.as_secs_f64() * 1e9 / outcome.counts.operations as f64)
    };
    let mut all = [Vec::new(), Vec::new()];
    for _ in 0..SLICES {
        for (recorded, times) in [false, true].into_iter().zip(&mut all) {
            times.push(ns_of(recorded)?);
        }
    }
    let mut medians = [0.0; 2];
    for ((name, times), median) in ["not recorded", "recorded"].into_iter().zip(&mut all).zip(&mut medians) {
        times.sort_by(f64::total_cmp);
        *median = times[SLICES / 2];
        println!("{name:12} {median:6.1} ns per operation ({:.1} to {:.1})", times[0], times[SLICES - 1]);
    }
    println!("recording    {:6.1} ns per operation", medians[1] - medians[0]);
    Ok(())
}
