//! The open loop against what is known: a stall, a queue, a rate.

use crate::simulated::{EndlessGets, Noted, Simulated};
use crate::test::{Scope, Test};
use engine::{Arrivals, End, Outcome, Settings, run_phase};
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use study::Tolerance;

pub(crate) fn tests() -> [Test; 5] {
    [
        Test {
            name: "stall_p99",
            claim: "a store that freezes once is reported accurately: p99 is the time the formula gives",
            unit: "of the true p99",
            bound: Tolerance::between(0.98, 1.02),
            scope: Scope::Quick,
            attempts: 3,
            measure: Box::new(stall),
        },
        Test {
            name: "queue_m_d_1",
            claim: "the mean response time of random arrivals is that of queueing theory (M/D/1 at load 0.6)",
            unit: "of the mean by Pollaczek and Khinchine",
            bound: Tolerance::between(0.92, 1.08),
            scope: Scope::Full,
            attempts: 3,
            measure: Box::new(queue),
        },
        Test {
            name: "arrivals",
            claim: "random arrivals that 16 threads send are one Poisson process: their counts vary as much as their mean",
            unit: "variance of the operations per 20 ms, as a multiple of their mean",
            bound: Tolerance::between(0.6, 1.5),
            scope: Scope::Full,
            attempts: 3,
            measure: Box::new(|_, stop| dispersion(stop)),
        },
        Test {
            name: "rate",
            claim: "20,000 operations per second asked for are 20,000 per second sent",
            unit: "of the rate asked for",
            bound: Tolerance::between(0.995, 1.005),
            scope: Scope::Full,
            attempts: 3,
            measure: Box::new(|_, stop| Ok(evenly_sent(stop)?.0)),
        },
        Test {
            name: "send_lag_p95",
            claim: "95 of 100 operations are sent less than 1 ms after they are due",
            unit: "ms",
            bound: Tolerance::at_most(1.0),
            scope: Scope::Full,
            attempts: 3,
            measure: Box::new(|_, stop| Ok(evenly_sent(stop)?.1)),
        },
    ]
}

fn outcome(server: &Simulated, arrivals: Arrivals, seconds: f64, stop: &AtomicBool) -> Result<Outcome, String> {
    let settings =
        Settings { pipeline: 4096, arrivals, duration: Some(Duration::from_secs_f64(seconds)), ..Settings::default() };
    let outcome =
        run_phase(server, &EndlessGets, 0, &settings, stop, &mut |_| {}).map_err(|error| error.to_string())?;
    match (outcome.end, outcome.counts.not_sent, outcome.offences.total()) {
        (End::Completed, 0, 0) => Ok(outcome),
        (end, not_sent, wrong) => Err(format!("{end:?}, {not_sent} operations not sent, {wrong} wrong")),
    }
}

/// Operations due while the store is frozen for F wait from F down to nothing, evenly. One operation in a hundred of a run of T
/// at a fixed rate is as many as are due in T / 100, so p99 is F - T / 100.
fn stall(scope: Scope, stop: &AtomicBool) -> Result<f64, String> {
    let (run_s, frozen_s, ops_per_s) = if scope == Scope::Full { (3.0, 0.4, 2000.0) } else { (0.5, 0.1, 4000.0) };
    let freeze = Some((Duration::from_secs_f64(run_s / 3.0), Duration::from_secs_f64(frozen_s)));
    let server = Simulated { service: Duration::ZERO, freeze };
    let seen = outcome(&server, Arrivals::Fixed { ops_per_s }, run_s, stop)?.histograms.latencies().response;
    Ok(seen.p99 as f64 / 1e9 / (frozen_s - run_s / 100.0))
}

/// M/D/1 (Pollaczek & Khinchine with constant service time D): mean response = D + ρ D / (2 (1 - ρ)).
fn queue(_: Scope, stop: &AtomicBool) -> Result<f64, String> {
    let (service_s, ops_per_s) = (0.000_2, 3000.0);
    let load = service_s * ops_per_s;
    let truth_s = service_s + load * service_s / (2.0 * (1.0 - load));
    let server = Simulated { service: Duration::from_secs_f64(service_s), freeze: None };
    let seen = outcome(&server, Arrivals::Poisson { ops_per_s }, 5.0, stop)?.histograms.latencies().response;
    Ok(seen.mean / 1e9 / truth_s)
}

/// Variance over mean of what 16 threads send per 20 ms: 1 of a Poisson process. 250 windows have a standard error of 0.09.
fn dispersion(stop: &AtomicBool) -> Result<f64, String> {
    const WINDOW_S: f64 = 0.02;
    let (threads, seconds) = (16, 5.0);
    let store = Noted::default();
    let settings = Settings {
        clients: threads,
        threads: Some(threads),
        arrivals: Arrivals::Poisson { ops_per_s: 2_000.0 },
        duration: Some(Duration::from_secs_f64(seconds)),
        seed: 0,
        ..Settings::default()
    };
    run_phase(&store, &EndlessGets, 0, &settings, stop, &mut |_| {}).map_err(|error| error.to_string())?;
    let sent = store.sent();
    let first = sent.iter().min().copied().ok_or("nothing was sent")?;
    let mut counts = vec![0.0; (seconds / WINDOW_S) as usize - 1];
    for at in sent {
        let window = (at - first).as_secs_f64() / WINDOW_S;
        counts.get_mut(window as usize).into_iter().for_each(|count| *count += 1.0);
    }
    let mean = counts.iter().sum::<f64>() / counts.len() as f64;
    let variance = counts.iter().map(|count| (count - mean) * (count - mean)).sum::<f64>() / (counts.len() - 1) as f64;
    Ok(variance / mean)
}

/// The rate sent over the rate asked for, and the 95th percentile of lateness in ms.
fn evenly_sent(stop: &AtomicBool) -> Result<(f64, f64), String> {
    let (ops_per_s, seconds) = (20_000.0, 1.0);
    let server = Simulated { service: Duration::ZERO, freeze: None };
    let outcome = outcome(&server, Arrivals::Fixed { ops_per_s }, seconds, stop)?;
    // The last of n operations is due n - 1 gaps after the first.
    let sent = (outcome.counts.operations - 1) as f64 / outcome.elapsed.as_secs_f64();
    Ok((sent / ops_per_s, outcome.histograms.latencies().send_lag.p95 as f64 / 1e6))
}
