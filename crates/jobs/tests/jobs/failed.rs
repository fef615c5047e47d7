//! Every job on a store that fails some operations: those have no response time, and are in no figure of what was answered.
#![allow(clippy::unwrap_used)]

use engine::{Arrivals, Outcome, Settings, run_phase};
use jobkit::TrialSetup;
use kvtrial_jobs as jobs;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use store::{
    Capabilities, Facts, Failure, Opener, Operation, Reply, Session, SessionPlan, Sink, Slot, Store, StoreError,
    Threading, Until,
};
use study::Spec;

/// The ram store, which refuses one operation in `one_in`.
struct Failing {
    ram: Box<dyn Store>,
    one_in: u64,
}

impl Store for Failing {
    fn capabilities(&self) -> &Capabilities {
        self.ram.capabilities()
    }

    fn session(&self, plan: SessionPlan) -> Result<Box<dyn Session>, StoreError> {
        Ok(Box::new(FailingSession { ram: self.ram.session(plan)?, one_in: self.one_in, asked: 0 }))
    }

    fn threading(&self) -> Threading {
        Threading::Shared
    }

    fn facts(&self) -> Result<Facts, StoreError> {
        self.ram.facts()
    }
}

struct FailingSession {
    ram: Box<dyn Session>,
    one_in: u64,
    asked: u64,
}

/// Operations refused in the phase under way, by all sessions.
static REFUSED: AtomicU64 = AtomicU64::new(0);

impl Session for FailingSession {
    fn submit(&mut self, slot: Slot, operation: &Operation<'_>) -> Result<Option<Reply<'_>>, StoreError> {
        self.asked += 1;
        if self.asked.is_multiple_of(self.one_in) {
            REFUSED.fetch_add(1, Ordering::Relaxed);
            return Ok(Some(Reply::Failed(Failure::Refused("no room"))));
        }
        self.ram.submit(slot, operation)
    }

    fn poll(&mut self, cx: &mut Context<'_>, until: Until, sink: &mut dyn Sink) -> Poll<Result<(), StoreError>> {
        self.ram.poll(cx, until, sink)
    }
}

/// The outcome of each phase, with what the store refused in it.
fn run(job: &str, data: Option<&str>, set: &str, arrivals: Arrivals) -> Vec<(u64, Outcome)> {
    let set: Vec<(String, String)> = set
        .split_whitespace()
        .map(|one| one.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned())).unwrap())
        .collect();
    let job = jobs::prepare(jobs::find(job).unwrap(), data.map(Into::into), &set, 42).unwrap();
    let Some(Opener::Embedded(open)) = catalog::find("ram").map(|info| info.opener) else { panic!("no ram store") };
    let ram = open(&Spec::private("ram"), std::path::Path::new("")).unwrap();
    let store = Failing { ram, one_in: 20 };
    let trial = job.trial(&TrialSetup::alone(8, store.capabilities().clone(), 42));
    let phases = trial.phases().len();
    let settings = Settings {
        clients: 4,
        pipeline: 2,
        threads: Some(2),
        arrivals,
        deadline: Duration::from_secs(10),
        ..Settings::default()
    };
    let phase = |number| {
        REFUSED.store(0, Ordering::Relaxed);
        let stop = AtomicBool::new(false);
        let outcome = run_phase(&store, trial.as_ref(), number, &settings, &stop, &mut |_| {}).unwrap();
        (REFUSED.load(Ordering::Relaxed), outcome)
    };
    (0..phases).map(phase).collect()
}

/// Tried elsewhere or not at all: sets are asked as wholes, events come from threads of their own, nodes needs several.
const NOT_TRIED: [&str; 3] = ["sets", "events", "nodes"];

#[test]
fn what_failed_has_no_response_time_in_any_job_under_closed_and_open_loop() {
    let cases = [
        ("ycsb", None, "workload=A operations=1200 records=200 value=100"),
        ("ycsb", None, "workload=F operations=1200 records=200 value=100"),
        ("fans", Some("gen:60:7"), "policy=partition"),
        ("fans", Some("gen:60:7"), "policy=cas"),
        ("counts", Some("gen:60:7"), ""),
        ("append", Some("gen:600:7"), ""),
        ("bulk", Some("gen:2000:7"), "batch=10"),
        ("crud", None, "rows=300"),
        ("grow", None, "items=540 value=100"),
        ("replay", None, "requests=600"),
    ];
    let tried: BTreeSet<&str> = cases.iter().map(|(name, ..)| *name).chain(NOT_TRIED).collect();
    assert_eq!(tried, jobs::all().map(|job| job.name).collect());
    for (job, data, set) in cases {
        for arrivals in [Arrivals::Closed, Arrivals::Fixed { ops_per_s: 50_000.0 }] {
            let outcomes = run(job, data, set, arrivals);
            assert!(outcomes.iter().any(|(refused, _)| *refused > 0), "{job} {set}");
            for (refused, outcome) in outcomes {
                let latencies = outcome.histograms.latencies();
                let response = latencies.response;
                let seen = format!("{job} {set} {arrivals:?}: {refused} refused, {:?}, {response:?}", outcome.counts);
                // A check between operations is in no figure of theirs.
                let checks = outcome.counts.refused - outcome.counts.failed;
                assert_eq!(outcome.counts.refused, refused, "{seen}");
                assert!(checks <= outcome.counts.checks, "{seen}");
                assert_eq!(
                    (response.failed, response.asked_n()),
                    (outcome.counts.failed, outcome.counts.operations),
                    "{seen}"
                );
                let by_operation = latencies.by_operation.values().map(|it| it.failed).sum::<u64>();
                assert_eq!((by_operation, latencies.service.failed), (response.failed, 0), "{seen}");
                if response.failed * 100 > response.asked_n() {
                    assert_eq!(response.of_asked().p99, None, "{seen}");
                }
            }
        }
    }
}
