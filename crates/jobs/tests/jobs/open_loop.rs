//! Every job under open loop, on a store that is too slow or freezes: what was due is sent late and shown as late, or counted.
#![allow(clippy::unwrap_used)]

use engine::{Arrivals, End, Outcome, Settings, run_phase};
use jobkit::TrialSetup;
use kvtrial_jobs as jobs;
use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use store::{
    Capabilities, Facts, Opener, Operation, Reply, Session, SessionPlan, Sink, Slot, Store, StoreError, Threading,
    Until,
};
use study::Spec;

/// The ram store, behind one server that serves one request after the other and may freeze.
struct OneAtATime {
    ram: Box<dyn Store>,
    server: Arc<Server>,
}

struct Server {
    service: Duration,
    freeze: Mutex<Option<Window>>,
    one: Mutex<()>,
}

/// A freeze from `after` the first request on, for `time`.
struct Window {
    after: Duration,
    time: Duration,
    first_request: Option<Instant>,
}

impl OneAtATime {
    fn new(service: Duration) -> OneAtATime {
        let Some(Opener::Embedded(open)) = catalog::find("ram").map(|info| info.opener) else { panic!("no ram store") };
        let ram = open(&Spec::private("ram"), std::path::Path::new("")).unwrap();
        OneAtATime { ram, server: Arc::new(Server { service, freeze: Mutex::new(None), one: Mutex::new(()) }) }
    }
}

impl Server {
    fn freeze(&self, after: Duration, time: Duration) {
        *self.freeze.lock().unwrap() = Some(Window { after, time, first_request: None });
    }

    fn serve(&self) {
        let _alone = self.one.lock().unwrap();
        let now = Instant::now();
        if let Some(window) = self.freeze.lock().unwrap().as_mut() {
            let from = *window.first_request.get_or_insert(now) + window.after;
            if (from..from + window.time).contains(&now) {
                std::thread::sleep(from + window.time - now);
            }
        }
        if !self.service.is_zero() {
            std::thread::sleep(self.service);
        }
    }
}

impl Store for OneAtATime {
    fn capabilities(&self) -> &Capabilities {
        self.ram.capabilities()
    }

    fn session(&self, plan: SessionPlan) -> Result<Box<dyn Session>, StoreError> {
        Ok(Box::new(Client { ram: self.ram.session(plan)?, server: Arc::clone(&self.server) }))
    }

    fn threading(&self) -> Threading {
        Threading::Shared
    }

    fn facts(&self) -> Result<Facts, StoreError> {
        self.ram.facts()
    }
}

struct Client {
    ram: Box<dyn Session>,
    server: Arc<Server>,
}

impl Session for Client {
    fn submit(&mut self, slot: Slot, operation: &Operation<'_>) -> Result<Option<Reply<'_>>, StoreError> {
        self.server.serve();
        self.ram.submit(slot, operation)
    }

    fn poll(&mut self, cx: &mut Context<'_>, until: Until, sink: &mut dyn Sink) -> Poll<Result<(), StoreError>> {
        self.ram.poll(cx, until, sink)
    }
}

/// When the store freezes within a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Freeze {
    Never,
    Start,
    Middle,
    End,
}

/// How long a timed phase is to last, and how long the store is frozen in it.
const TIME: Duration = Duration::from_millis(300);
const FROZEN: Duration = Duration::from_millis(100);

/// The outcome of each timed phase, with its planned operations.
fn run(
    job: &str,
    data: Option<&str>,
    set: &str,
    store: &OneAtATime,
    freeze: Freeze,
    load: Load,
) -> Vec<(u64, Outcome)> {
    let set: Vec<(String, String)> = set
        .split_whitespace()
        .map(|one| one.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned())).unwrap())
        .collect();
    let job = jobs::prepare(jobs::find(job).unwrap(), data.map(Into::into), &set, 42).unwrap();
    job.suits(store.capabilities()).unwrap();
    let (clients, pipeline) = load.slots;
    let capabilities = store.capabilities().clone();
    let trial = job.trial(&TrialSetup::alone(clients * pipeline, capabilities, 42));
    let mut outcomes = Vec::new();
    for (number, phase) in trial.phases().into_iter().enumerate() {
        // A job that knows its operations has them within the time; another is ended by the time.
        let ops_per_s = phase.operations.map_or(RATE, |operations| operations as f64 / TIME.as_secs_f64());
        let settings = Settings {
            clients,
            pipeline,
            threads: Some(load.threads),
            arrivals: if load.poisson { Arrivals::Poisson { ops_per_s } } else { Arrivals::Fixed { ops_per_s } },
            duration: phase.operations.is_none().then_some(TIME),
            deadline: load.deadline,
            ..Settings::default()
        };
        match freeze {
            Freeze::Start if phase.timed => store.server.freeze(Duration::ZERO, FROZEN),
            Freeze::Middle if phase.timed => store.server.freeze(TIME / 3, FROZEN),
            Freeze::End if phase.timed => store.server.freeze(TIME - FROZEN / 2, FROZEN),
            _ => {}
        }
        let stop = AtomicBool::new(false);
        let outcome = run_phase(store, trial.as_ref(), number, &settings, &stop, &mut |_| {}).unwrap();
        assert_eq!(outcome.offences.clone().into_reasons(), [], "{}: {load:?} {freeze:?}", phase.name);
        if phase.timed {
            outcomes.push((phase.operations.unwrap_or(0), outcome));
        }
    }
    outcomes
}

#[derive(Clone, Copy, Debug)]
struct Load {
    slots: (u32, u32),
    threads: u32,
    poisson: bool,
    deadline: Duration,
}

/// Operations per second where the time ends the phase.
const RATE: f64 = 2_000.0;
const PATIENT: Duration = Duration::from_secs(10);

/// Operations due while the store is frozen wait from that time down to nothing, evenly; 1 % of the operations of a run are due in
/// a hundredth of its time, and wait longer than p99. Anything else on this machine only makes that longer.
fn least_p99_ns() -> u64 {
    (FROZEN - TIME / 100).as_nanos() as u64 * 98 / 100
}

#[test]
fn whatever_was_due_within_the_time_is_sent_after_a_freeze_and_shown_as_late() {
    for (workload, slots, poisson) in
        [("C", (1, 1), false), ("F", (1, 1), true), ("C", (50, 16), true), ("F", (50, 16), false)]
    {
        let load = Load { slots, threads: slots.0.min(2), poisson, deadline: PATIENT };
        let set = format!("workload={workload} seconds=0.3 records=50 value=100");
        let sent = |freeze| {
            let mut outcomes = run("ycsb", None, &set, &OneAtATime::new(Duration::ZERO), freeze, load);
            let (_, outcome) = outcomes.pop().unwrap();
            assert_eq!((outcome.end, outcome.counts.not_sent), (End::Completed, 0), "{load:?} {freeze:?}");
            let latencies = outcome.histograms.latencies();
            assert_eq!(latencies.response.n, outcome.counts.operations);
            (outcome.counts.operations, latencies.response)
        };
        // When operations are due depends on rate and seed alone.
        let (due, _) = sent(Freeze::Never);
        assert!(if poisson { (500..700).contains(&due) } else { due == 600 }, "{due}");
        for freeze in [Freeze::Start, Freeze::Middle, Freeze::End] {
            let (operations, response) = sent(freeze);
            assert_eq!(operations, due, "{load:?} {freeze:?}");
            let least = if poisson { least_p99_ns() * 85 / 100 } else { least_p99_ns() };
            assert!(response.p99 >= least, "{load:?} {freeze:?}: {response:?}");
        }
    }
}

/// Tried elsewhere or not at all: sets are asked as wholes, events come from threads of their own, nodes needs several.
const NOT_TRIED: [&str; 3] = ["sets", "events", "nodes"];

#[test]
fn every_job_sends_all_it_has_after_a_freeze_and_shows_how_late() {
    let cases = [
        ("ycsb", None, "workload=A operations=600 records=50 value=100"),
        ("fans", Some("gen:60:7"), "policy=partition"),
        ("fans", Some("gen:60:7"), "policy=lock"),
        ("counts", Some("gen:30:7"), ""),
        ("append", Some("gen:300:7"), ""),
        ("bulk", Some("gen:2000:7"), "batch=10"),
        ("crud", None, "rows=300"),
        ("grow", None, "items=540 value=100"),
        ("replay", None, "requests=600"),
    ];
    let tried: BTreeSet<&str> = cases.iter().map(|(name, ..)| *name).chain(NOT_TRIED).collect();
    assert_eq!(tried, jobs::all().map(|job| job.name).collect());
    for (job, data, set) in cases {
        for (slots, poisson) in [((1, 1), false), ((1, 1), true), ((4, 4), false)] {
            let load = Load { slots, threads: slots.0.min(2), poisson, deadline: PATIENT };
            for (planned, outcome) in run(job, data, set, &OneAtATime::new(Duration::ZERO), Freeze::Middle, load) {
                let response = outcome.histograms.latencies().response;
                let seen = format!("{job} {set} {load:?}: {:?} {response:?}", outcome.counts);
                assert_eq!((outcome.counts.operations, outcome.counts.not_sent), (planned, 0), "{seen}");
                let least = if poisson { least_p99_ns() * 85 / 100 } else { least_p99_ns() };
                assert!(response.n == planned && response.p99 >= least, "{seen}");
            }
        }
    }
}

/// However a job shares its work out among clients, and these are among threads: operation i is due at its time, and sent then. A machine
/// that is busy sends late: the first of some runs that was not disturbed counts.
#[test]
fn every_job_is_offered_the_rate_that_was_asked_for_by_any_number_of_threads() {
    let cases = [
        ("ycsb", None, "workload=A operations=150 records=50 value=100"),
        ("ycsb", None, "workload=F operations=7 records=50 value=100"),
        ("fans", Some("gen:20:7"), "policy=partition"),
        ("fans", Some("gen:20:7"), "policy=cas"),
        ("counts", Some("gen:10:7"), ""),
        // One key has nearly all events.
        ("append", Some("gen:50:1"), ""),
        ("append", Some("gen:50:1"), "append=rewrite"),
        ("bulk", Some("gen:500:7"), "batch=10"),
        ("crud", None, "rows=60"),
        ("grow", None, "items=150 value=100"),
    ];
    for (job, data, set) in cases {
        for (slots, threads, poisson) in
            [((1, 1), 1, false), ((16, 1), 16, false), ((64, 2), 3, false), ((16, 1), 16, true)]
        {
            let load = Load { slots, threads, poisson, deadline: PATIENT };
            let offered = || {
                let outcomes = run(job, data, set, &OneAtATime::new(Duration::ZERO), Freeze::Never, load);
                outcomes.into_iter().map(|(planned, outcome)| (planned, outcome.offered.unwrap())).collect::<Vec<_>>()
            };
            let is_right = |seen: &[(u64, engine::Offered)]| {
                seen.iter().all(|(planned, offered)| {
                    let is_all = offered.sent == *planned || *planned == 0;
                    let rate = offered.per_s() / offered.asked_per_s - 1.0;
                    is_all && offered.shortfall() < 0.01 && (poisson || rate.abs() < 0.01)
                })
            };
            let mut seen = offered();
            for _ in 0..20 {
                if is_right(&seen) {
                    break;
                }
                seen = offered();
            }
            assert!(is_right(&seen), "{job} {set} {load:?}: {seen:?}");
        }
    }
}

/// 5 ms per request and 2,000 requests per second: each request is sent another 4.5 ms late.
#[test]
fn what_a_slow_store_could_not_be_sent_in_time_is_counted_to_the_operation() {
    let service = Duration::from_millis(5);
    for (slots, poisson) in [((1, 1), false), ((1, 1), true), ((50, 16), false)] {
        let slow = |deadline| {
            let load = Load { slots, threads: slots.0.min(2), poisson, deadline };
            let set = "workload=C seconds=0.3 records=5 value=100";
            run("ycsb", None, set, &OneAtATime::new(service), Freeze::Never, load).pop().unwrap().1
        };
        let impatient = slow(Duration::from_millis(200));
        let due = impatient.counts.operations + impatient.counts.not_sent;
        assert!(if poisson { (500..700).contains(&due) } else { due == 600 }, "{:?}", impatient.counts);
        // 500 ms have room for at most 100 operations, and one more for each of two threads.
        assert!((1..=102).contains(&impatient.counts.operations), "{:?}", impatient.counts);
    }
    let load = Load { slots: (1, 1), threads: 1, poisson: false, deadline: PATIENT };
    let set = "workload=C operations=150 records=5 value=100";
    let (_, outcome) = run("ycsb", None, set, &OneAtATime::new(service), Freeze::Never, load).pop().unwrap();
    assert_eq!((outcome.counts.operations, outcome.counts.not_sent), (150, 0));
    // 150 operations within 300 ms: one every 2 ms, the last answered 5 ms · 150 after the start.
    let last_ms = 150.0 * 5.0 - 149.0 * 2.0;
    assert!(outcome.histograms.latencies().response.max as f64 / 1e6 >= last_ms * 0.99);
}
