//! The engine alone knows the time: what is due within it is sent or counted, whichever thread gives up when.

mod common;

use common::{Behaviour, FirstSilent, Gets, Simulated, SlowCalls, Uneven, go_first};
use kvtrial_engine::{Arrivals, End, Outcome, Settings, run_phase};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use store::Store;

const MS: Duration = Duration::from_millis(1);
const RATES: [Arrivals; 2] = [Arrivals::Fixed { ops_per_s: 1_000.0 }, Arrivals::Poisson { ops_per_s: 1_000.0 }];

fn run(store: &dyn Store, gets: &Gets, settings: &Settings) -> Outcome {
    go_first();
    run_phase(store, gets, 0, settings, &AtomicBool::new(false), &mut |_| {}).unwrap()
}

/// What is due within the time, by rate and seed alone: a store that answers at once is sent it all.
fn due(gets: &Gets, settings: &Settings) -> u64 {
    let outcome = run(&Simulated(Behaviour::Serves(Duration::ZERO)), gets, settings);
    assert_eq!((outcome.end, outcome.counts.not_sent), (End::Completed, 0));
    outcome.counts.operations
}

#[test]
fn what_is_due_after_a_thread_gave_up_is_sent_by_the_others() {
    for arrivals in RATES {
        let settings = Settings {
            clients: 2,
            threads: Some(2),
            arrivals,
            duration: Some(600 * MS),
            deadline: 100 * MS,
            ..Settings::default()
        };
        let gets = Gets { per_slot: u64::MAX, known: None };
        let outcome = run(&FirstSilent(AtomicBool::new(false)), &gets, &settings);
        assert_eq!(outcome.end, End::Unanswered);
        // One was sent to the silent client and failed; the other client was sent the rest.
        assert_eq!(outcome.counts.errors, 1);
        let due = due(&gets, &settings);
        assert!(arrivals == RATES[1] || due == 600, "{due}");
        assert_eq!((outcome.counts.operations, outcome.counts.not_sent), (due, 0), "{:?}", outcome.counts);
    }
}

#[test]
fn a_job_that_knows_its_operations_has_those_counted_it_never_sent_and_no_more() {
    for arrivals in RATES {
        let settings = Settings { clients: 2, threads: Some(2), arrivals, deadline: 100 * MS, ..Settings::default() };
        let gets = Gets { per_slot: 150, known: Some(300) };
        let outcome = run(&FirstSilent(AtomicBool::new(false)), &gets, &settings);
        // The schedule would go on for ever; the job has 150 a client, of which the silent one was sent one.
        assert_eq!((outcome.end, outcome.counts.operations, outcome.counts.not_sent), (End::Unanswered, 151, 149));
    }
}

#[test]
fn a_job_that_has_no_more_operations_leaves_nothing_unsent_however_long_the_time_would_go_on() {
    for arrivals in RATES {
        let settings = Settings { pipeline: 4, arrivals, duration: Some(10_000 * MS), ..Settings::default() };
        let began = Instant::now();
        let outcome = run(&Simulated(Behaviour::Serves(MS / 10)), &Gets { per_slot: 25, ..Gets::default() }, &settings);
        assert_eq!((outcome.end, outcome.counts.operations, outcome.counts.not_sent), (End::Completed, 100, 0));
        assert!(began.elapsed() < 5_000 * MS);
    }
}

#[test]
fn a_silent_store_leaves_all_that_was_due_within_the_time_counted_but_what_was_in_flight() {
    for (pipeline, arrivals) in [(1, RATES[0]), (16, RATES[0]), (16, RATES[1])] {
        let settings =
            Settings { pipeline, arrivals, duration: Some(400 * MS), deadline: 100 * MS, ..Settings::default() };
        let gets = Gets { per_slot: u64::MAX, known: None };
        let outcome = run(&Simulated(Behaviour::Silent), &gets, &settings);
        assert_eq!(outcome.end, End::Unanswered);
        assert_eq!(outcome.counts.not_sent, due(&gets, &settings) - u64::from(pipeline), "{:?}", outcome.counts);
    }
}

#[test]
fn a_slow_library_ends_with_the_time_and_not_with_its_turn() {
    let settings = Settings { duration: Some(100 * MS), ..Settings::default() };
    let gets = Gets { per_slot: u64::MAX, known: None };
    let outcome = run(&SlowCalls(20 * MS), &gets, &settings);
    // A turn has 64 operations.
    assert!((1..=5).contains(&outcome.counts.operations), "{:?}", outcome.counts);
}

#[test]
fn uneven_work_slows_no_arrival_down() {
    go_first();
    for (threads, clients) in [(1, 16), (2, 16), (16, 16), (64, 64)] {
        let settings = Settings { clients, threads: Some(threads), arrivals: RATES[0], ..Settings::default() };
        // Of 300 gets the last slot has as many as all others together have not.
        let uneven = Uneven { all: 300, others: 1, clients };
        let outcome =
            run_phase(&SlowCalls(Duration::ZERO), &uneven, 0, &settings, &AtomicBool::new(false), &mut |_| {}).unwrap();
        let offered = outcome.offered.unwrap();
        assert_eq!((outcome.counts.operations, offered.sent), (300, 300));
        assert!((offered.within.as_secs_f64() - 0.3).abs() < 1e-6, "{threads} threads: {offered:?}");
        assert!(offered.late < 50 * MS, "{threads} threads: {offered:?}"); // a fiftieth of what it was by shares beforehand
        assert!((outcome.counts.operations as f64 / outcome.elapsed.as_secs_f64() / 1_000.0 - 1.0).abs() < 0.2);
    }
}

#[test]
fn the_time_given_is_the_time_of_the_phase_and_what_is_answered_after_it_is_in_no_rate() {
    // Two clients of 40 ms per call: in 100 ms each has two answers in time, and one that is late.
    let settings = Settings { clients: 2, duration: Some(100 * MS), ..Settings::default() };
    let outcome = run(&SlowCalls(40 * MS), &Gets { per_slot: u64::MAX, known: None }, &settings);
    assert_eq!((outcome.elapsed, outcome.end), (100 * MS, End::Completed));
    assert_eq!(outcome.counts.late, 2, "{:?}", outcome.counts);
    assert!(outcome.counts.operations <= 6 && outcome.drain.unwrap() >= 10 * MS, "{:?}", outcome.drain);
    // One at a rate of 1 per second is 1 per second, though it is answered at once.
    let settings =
        Settings { arrivals: Arrivals::Fixed { ops_per_s: 5.0 }, duration: Some(200 * MS), ..Settings::default() };
    let outcome = run(&SlowCalls(Duration::ZERO), &Gets { per_slot: u64::MAX, known: None }, &settings);
    assert_eq!((outcome.elapsed, outcome.counts.operations, outcome.counts.late), (200 * MS, 1, 0));
}
