//! The engine alone knows the time: what is due within it is sent or counted, whichever thread gives up when.

mod common;

use common::{Behaviour, FirstSilent, Gets, Simulated, SlowCalls};
use kvtrial_engine::{Arrivals, End, Outcome, Settings, run_phase};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use store::Store;

const MS: Duration = Duration::from_millis(1);
const RATES: [Arrivals; 2] = [Arrivals::Fixed { ops_per_s: 1_000.0 }, Arrivals::Poisson { ops_per_s: 1_000.0 }];

fn run(store: &dyn Store, gets: &Gets, settings: &Settings) -> Outcome {
    run_phase(store, gets, 0, settings, &AtomicBool::new(false), &mut |_| {}).unwrap()
}

/// What is due within the time, by rate and seed alone: a store that answers at once is sent it all.
fn due(gets: &Gets, settings: &Settings) -> u64 {
    let outcome = run(&Simulated(Behaviour::Serves(Duration::ZERO)), gets, settings);
    assert_eq!((outcome.end, outcome.counts.not_sent), (End::Completed, 0));
    outcome.counts.operations
}

#[test]
fn a_thread_that_gives_up_before_the_others_leaves_its_whole_share_counted() {
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
        // One was sent to the silent client and failed; the other client's half was all answered.
        assert_eq!(outcome.counts.errors, 1);
        let due = due(&gets, &settings);
        assert!(arrivals == RATES[1] || due == 600, "{due}");
        assert_eq!(outcome.counts.operations + outcome.counts.not_sent, due, "{:?}", outcome.counts);
        assert!((240..360).contains(&outcome.counts.not_sent), "{:?}", outcome.counts);
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
