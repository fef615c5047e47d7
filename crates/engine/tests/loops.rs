//! Closed and open loop on simulated servers whose behaviour in time is known exactly.

mod common;

use common::{Behaviour, Gets, OnlyOnce, Simulated, go_first};
use jobkit::{Arriving, Offence, Phase, Share, Step, Trial, Worker};
use kvtrial_engine::{Arrivals, Begin, Crew, End, Outcome, Settings, Watcher, run_phase};
use measure::Progress;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use store::{Operation, Reply, Slot, Store};
use study::{Answer, Reason, ReasonKind};

/// Simulated servers spin: two at a time on a small machine would slow each other.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn run(store: &dyn Store, gets_per_slot: u64, settings: &Settings) -> Outcome {
    go_first();
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    run_phase(
        store,
        &Gets { per_slot: gets_per_slot, ..Gets::default() },
        0,
        settings,
        &AtomicBool::new(false),
        &mut |_| {},
    )
    .unwrap()
}

const MS: Duration = Duration::from_millis(1);

/// The simulated server lives in this process and loses its processor on a busy machine, which only ever makes it slower: the first of
/// up to twenty runs that was not disturbed counts. What is wrong in kvtrial is wrong in all of them.
fn undisturbed(run: impl Fn() -> Outcome, as_known: impl Fn(&Outcome) -> bool) {
    let mut seen = Vec::new();
    for _ in 0..20 {
        let outcome = run();
        if as_known(&outcome) {
            return;
        }
        seen.push((outcome.counts, outcome.histograms.latencies()));
    }
    panic!("in none of {} runs: {seen:?}", seen.len());
}

fn within_5_percent(ns: u64, known_ns: f64) -> bool {
    (ns as f64 / known_ns - 1.0).abs() < 0.05
}

#[test]
fn every_operation_of_every_slot_is_sent_once_and_counted() {
    let settings = Settings { clients: 5, pipeline: 3, threads: Some(2), ..Settings::default() };
    let outcome = run(&Simulated(Behaviour::Serves(Duration::from_micros(5))), 100, &settings);
    assert_eq!((outcome.end, outcome.counts.operations, outcome.counts.misses), (End::Completed, 1_500, 1_500));
    assert_eq!((outcome.counts.errors, outcome.threads), (0, 2));
    assert_eq!(outcome.series().iter().map(|point| point.operations).sum::<u64>(), 1_500);
}

#[test]
fn a_closed_loop_of_one_slot_sees_the_service_time() {
    let once = || run(&Simulated(Behaviour::Serves(2 * MS)), 200, &Settings::default());
    undisturbed(once, |outcome| {
        let latencies = outcome.histograms.latencies();
        assert_eq!(latencies.service, latencies.response);
        within_5_percent(latencies.response.p50, 2e6)
    });
}

#[test]
fn response_time_counts_from_the_intended_send_when_one_slot_cannot_keep_up() {
    // 2 ms per request at 1,000 per second: request i is due at i ms and answered at 2(i+1) ms, so it took i + 2 ms.
    let settings =
        Settings { arrivals: Arrivals::Fixed { ops_per_s: 1_000.0 }, duration: Some(200 * MS), ..Settings::default() };
    let once = || run(&Simulated(Behaviour::Serves(2 * MS)), u64::MAX, &settings);
    undisturbed(once, |outcome| {
        let latencies = outcome.histograms.latencies();
        assert_eq!((outcome.counts.operations, outcome.counts.not_sent), (200, 0));
        assert!(latencies.send_lag.max > 150_000_000);
        // Service time hides the queue.
        within_5_percent(latencies.response.max, 201e6)
            && within_5_percent(latencies.response.p50, 101e6)
            && within_5_percent(latencies.service.p50, 2e6)
    });
}

#[test]
fn what_could_not_be_sent_is_counted() {
    let settings = Settings {
        arrivals: Arrivals::Fixed { ops_per_s: 1_000.0 },
        duration: Some(200 * MS),
        deadline: 100 * MS,
        ..Settings::default()
    };
    let outcome = run(&Simulated(Behaviour::Serves(10 * MS)), u64::MAX, &settings);
    assert_eq!(outcome.counts.operations + outcome.counts.not_sent, 200);
    assert!(outcome.counts.not_sent > 100, "{:?}", outcome.counts);
}

#[test]
fn a_silent_server_ends_the_phase_at_the_deadline_with_every_slot_counted() {
    for arrivals in [Arrivals::Closed, Arrivals::Fixed { ops_per_s: 100.0 }] {
        let settings = Settings { pipeline: 4, deadline: 300 * MS, arrivals, ..Settings::default() };
        let before = Instant::now();
        let outcome = run(&Simulated(Behaviour::Silent), 10, &settings);
        assert!(before.elapsed() < 2_000 * MS, "{:?}", before.elapsed());
        assert_eq!(outcome.end, End::Unanswered);
        let reasons = outcome.offences.into_reasons();
        assert_eq!(reasons[0].kind, ReasonKind::Deadline);
        assert!(reasons[0].count >= 1 && reasons[0].example.contains("0123456789abcdef"), "{reasons:?}");
    }
}

#[test]
fn a_duration_ends_a_closed_loop_and_an_interrupt_ends_anything() {
    let settings = Settings { duration: Some(100 * MS), ..Settings::default() };
    let once = || run(&Simulated(Behaviour::Serves(MS)), u64::MAX, &settings);
    undisturbed(once, |outcome| {
        assert_eq!(outcome.end, End::Completed);
        (50..=110).contains(&outcome.counts.operations)
    });

    let stop = AtomicBool::new(false);
    let store = Simulated(Behaviour::Serves(MS));
    let mut watch = |_| stop.store(true, Ordering::Relaxed);
    let outcome =
        run_phase(&store, &Gets { per_slot: u64::MAX, ..Gets::default() }, 0, &Settings::default(), &stop, &mut watch)
            .unwrap();
    assert_eq!(outcome.end, End::Interrupted);
}

#[test]
fn when_one_client_cannot_be_opened_none_starts_and_the_reason_is_told() {
    let settings = Settings { clients: 4, ..Settings::default() };
    let store = OnlyOnce(Mutex::new(false));
    let error =
        run_phase(&store, &Gets { per_slot: 1, ..Gets::default() }, 0, &settings, &AtomicBool::new(false), &mut |_| {});
    assert_eq!(error.unwrap_err().to_string(), "only once: taken");
}

/// Gets, each followed by a check that belongs to it.
struct Checked;

struct CheckedWorker {
    checks_next: Vec<bool>,
}

impl Trial for Checked {
    fn phases(&self) -> Vec<Phase> {
        vec![Phase::timed("run", None)]
    }

    fn worker(&self, _: usize, slots: Range<Slot>) -> Box<dyn Worker + '_> {
        Box::new(CheckedWorker { checks_next: vec![false; slots.len()] })
    }

    fn key(&self, _: u64, _: &mut Vec<u8>) -> bool {
        false
    }

    fn answer(&self) -> (Answer, Vec<Reason>) {
        (Answer::default(), Vec::new())
    }
}

impl Worker for CheckedWorker {
    fn next(&mut self, slot: Slot) -> Step<'_> {
        let checks = &mut self.checks_next[slot as usize];
        *checks = !*checks;
        let get = Operation::Get { key: b"k" };
        if *checks { Step::Operation(get) } else { Step::Check(get) }
    }

    fn reply(&mut self, _: Slot, _: &Reply<'_>) -> Result<(), Offence> {
        Ok(())
    }

    fn arrivals(&self) -> Arriving {
        Arriving::Units
    }

    fn is_within(&mut self, slot: Slot) -> bool {
        self.checks_next[slot as usize]
    }
}

#[test]
fn a_check_within_a_unit_follows_at_once_and_makes_nothing_late_that_is_due_later() {
    go_first();
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let rate = Arrivals::Fixed { ops_per_s: 20.0 };
    let settings = Settings { arrivals: rate, duration: Some(Duration::from_secs(1)), ..Settings::default() };
    let server = Simulated(Behaviour::Serves(Duration::from_millis(10)));
    let outcome = run_phase(&server, &Checked, 0, &settings, &AtomicBool::new(false), &mut |_| {}).unwrap();
    assert_eq!((outcome.counts.operations, outcome.counts.checks), (20, 20));
    // A check that waited for the next get to be due would take 10 ms of its time.
    let typical_ms = outcome.histograms.latencies().response.p50 as f64 / 1e6;
    assert!(typical_ms < 17.0, "{typical_ms} ms");
}

/// Begins a phase at a time all shares know, and notes whether all were ready before it.
struct Common {
    at: Instant,
    asked: Option<Instant>,
}

impl Watcher for Common {
    fn ready(&mut self) -> Begin {
        self.asked = Some(Instant::now());
        Begin::At(self.at)
    }

    fn progress(&mut self, _: Progress) {}
}

#[test]
fn shares_begin_at_the_same_time_each_by_its_own_clock_and_drive_every_slot_once() {
    let (store, gets) =
        (Simulated(Behaviour::Serves(Duration::from_micros(5))), Gets { per_slot: 100, ..Gets::default() });
    let at = Instant::now() + 100 * MS;
    let run = |share| {
        let settings =
            Settings { clients: 5, pipeline: 3, threads: Some(2), share: Some(share), ..Settings::default() };
        let mut common = Common { at, asked: None };
        let stop = AtomicBool::new(false);
        let outcome = Crew::over(&store, &gets, &settings, &stop, |crew| crew.run(0, &mut common)).unwrap();
        assert!(common.asked.is_some_and(|asked| asked < at), "it was not asked in time");
        (outcome, Instant::now())
    };
    let all = std::thread::scope(|scope| {
        let threads = Share::split(5, 2).into_iter().map(|share| scope.spawn(move || run(share))).collect::<Vec<_>>();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    let mut sum = Outcome::default();
    for (outcome, ended) in all {
        // The clock of the phase starts then, not when the threads were ready.
        assert!(ended >= at + outcome.elapsed && outcome.elapsed < ended - at + MS, "{:?}", outcome.elapsed);
        sum.merge(outcome);
    }
    assert_eq!((sum.end, sum.counts.operations, sum.threads), (End::Completed, 1_500, 4));
}
