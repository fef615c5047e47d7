//! The open loop against queueing theory.

mod common;

use common::{Behaviour, Gets, Simulated, go_first};
use kvtrial_engine::{Arrivals, Settings, run_phase};
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use study::LatencySummary;

const SERVICE_S: f64 = 0.000_5;
const RATE: f64 = 1_200.0;

fn measured() -> LatencySummary {
    go_first();
    let settings = Settings {
        pipeline: 512,
        arrivals: Arrivals::Poisson { ops_per_s: RATE },
        duration: Some(Duration::from_secs(10)),
        ..Settings::default()
    };
    let server = Simulated(Behaviour::Serves(Duration::from_secs_f64(SERVICE_S)));
    let trial = Gets { per_slot: u64::MAX, ..Gets::default() };
    let outcome = run_phase(&server, &trial, 0, &settings, &AtomicBool::new(false), &mut |_| {}).unwrap();
    assert_eq!(outcome.counts.not_sent, 0);
    assert!((outcome.counts.operations as f64 / (10.0 * RATE) - 1.0).abs() < 0.04, "{:?}", outcome.counts);
    outcome.histograms.latencies().response
}

/// M/D/1 (Pollaczek-Khinchine with constant service time D): mean response = D + rho D / (2 (1 - rho)).
/// 12,000 correlated samples give a standard error of about 2 %. The simulated server lives in this process and loses its
/// processor on a busy machine, which only ever makes it slower: the best of up to six runs counts.
#[test]
fn an_open_loop_of_random_arrivals_sees_the_waiting_time_of_queueing_theory() {
    let load = RATE * SERVICE_S;
    let truth_ns = 1e9 * (SERVICE_S + load * SERVICE_S / (2.0 * (1.0 - load)));
    let errors: Vec<f64> = (0..6)
        .map(|_| measured().mean / truth_ns - 1.0)
        .scan(false, |done, error| (!std::mem::replace(done, error.abs() < 0.08)).then_some(error))
        .collect();
    assert!(errors.iter().any(|error| error.abs() < 0.08), "relative errors {errors:?}");
}
