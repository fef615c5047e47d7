//! Requests of a trace into the null store, against reads of ycsb into it, in turn: time of a processor per operation.
//! `cargo run --release -p kvtrial-jobs --example replay_rate`
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use data::wyrand::WyRand;
use data::zipf::Zipf;
use engine::{Settings, Timing, run_phase};
use jobkit::{Job, TrialSetup};
use kvtrial_jobs as jobs;
use std::sync::atomic::AtomicBool;
use store::{Opener, Store};
use study::Spec;

const ROUNDS: usize = 11;
const REQUESTS: u32 = 5_000_000;
const KEYS: u64 = 100_000;

fn job(name: &str, data: Option<&str>, set: &str) -> Box<dyn Job> {
    let set: Vec<(String, String)> = set
        .split_whitespace()
        .map(|one| one.split_once('=').unwrap())
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    jobs::prepare(jobs::find(name).unwrap(), data.map(str::to_owned), &set, 42).unwrap()
}

/// Nanoseconds of a processor per operation of a phase.
fn ns(job: &dyn Job, phase: usize, store: &dyn Store, slots: u32) -> f64 {
    let trial = job.trial(&TrialSetup::alone(slots, store.capabilities().clone(), 42));
    let settings = Settings { clients: slots, threads: Some(1), timing: Timing::Sampled(64), ..Settings::default() };
    let stop = AtomicBool::new(false);
    let outcome = run_phase(store, trial.as_ref(), phase, &settings, &stop, &mut |_| {}).unwrap();
    assert_eq!(outcome.counts.operations, u64::from(REQUESTS));
    outcome.client_cpu.as_nanos() as f64 / f64::from(REQUESTS)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("zipf.trace");
    let (law, mut rng) = (Zipf::new(KEYS, 0.99), WyRand::new(1, 1));
    let bytes: Vec<u8> = (0..REQUESTS).flat_map(|_| (law.draw(&mut rng) as u32).to_be_bytes()).collect();
    std::fs::write(&file, bytes).unwrap();
    let Opener::Embedded(open) = catalog::find("null").unwrap().opener else { panic!("null is embedded") };
    let null = open(&Spec::private("null"), directory.path()).unwrap();
    let ycsb = job("ycsb", None, &format!("workload=C records={KEYS} operations={REQUESTS}"));
    let replay = job("replay", file.to_str(), "fill=never");
    for slots in [1, 4] {
        let (mut of_ycsb, mut of_replay) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            of_ycsb.push(ns(ycsb.as_ref(), 1, null.as_ref(), slots));
            of_replay.push(ns(replay.as_ref(), 0, null.as_ref(), slots));
        }
        let ratios = of_replay.iter().zip(&of_ycsb).map(|(replay, ycsb)| replay / ycsb).collect();
        println!(
            "{slots} slots: ycsb reads {:.1} ns, replay {:.1} ns per operation; round by round x{:.2}",
            median(of_ycsb),
            median(of_replay),
            median(ratios)
        );
    }
}
