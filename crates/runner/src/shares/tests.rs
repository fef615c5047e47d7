//! Shares in threads of this process, on one store, as workers carry them out: what they say is sent as text, then joined.

use super::{PhasesDone, ShareFound, ShareReport, finish_of_shares};
use crate::assignment::{Assignment, ChangedBy};
use crate::message::{Finish, FromWorker, Order, PhaseDone, UnderWay};
use crate::worker::bench::{Bench, Link};
use crate::worker::holding::HeldKeys;
use crate::worker::phases::{Extent, phases};
use engine::{End, Outcome, Settings};
use jobkit::{Job, JobError, Share, TrialSetup};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;
use store::{Keeps, Opener, OperationKind, Store, StoreInfo};
use study::{CurvePoint, ReasonKind, Spec, Stall};

/// As it comes from another machine.
fn sent<T: Serialize + DeserializeOwned>(it: &T) -> T {
    serde_json::from_slice(&serde_json::to_vec(it).unwrap()).unwrap()
}

/// Where shares meet.
struct Table {
    told: Mutex<Vec<ShareReport>>,
    all: Barrier,
}

/// A share's place there, and what it has said.
struct Seat<'a> {
    table: &'a Table,
    number: usize,
    begun: Vec<String>,
    done: Vec<PhaseDone>,
}

impl Link for Seat<'_> {
    fn say(&mut self, report: FromWorker) {
        if let FromWorker::Phase(done) = report {
            self.done.push(sent(&*done));
        }
    }

    fn ask(&mut self, report: FromWorker) -> Order {
        if let FromWorker::Begins(phase) = report {
            self.begun.push(phase.name);
        }
        self.table.all.wait();
        Order::Go
    }

    fn exchange(&mut self, told: ShareReport) -> Vec<ShareReport> {
        self.table.told.lock().unwrap()[self.number] = sent(&told);
        self.table.all.wait();
        let told = self.table.told.lock().unwrap().clone();
        self.table.all.wait();
        told
    }
}

fn ram() -> (&'static StoreInfo, Box<dyn Store>) {
    let info = catalog::find("ram").unwrap();
    let Opener::Embedded(open) = info.opener else { panic!("it is a library") };
    (info, open(&Spec::private("ram"), Path::new("")).unwrap())
}

fn assignment(settings: Settings) -> Assignment {
    let location = serde_json::json!({
        "reached": {"Directory": "/"}, "servers": [], "directory": null, "logs": [], "asking": "Unasked"
    });
    Assignment {
        job: "crud".into(),
        script: None,
        data: None,
        file: None,
        params: jobkit::Params::new(),
        seed: 42,
        spec: Spec::private("ram"),
        location: serde_json::from_value(location).unwrap(),
        settings,
        keys: None,
        changed_by: ChangedBy::Worker,
        history: None,
    }
}

/// What each share said, and finished with.
fn carried_out(job: &dyn Job, workers: u32) -> (Vec<Vec<String>>, Vec<Vec<PhaseDone>>, Vec<Finish>, TrialSetup) {
    let (info, store) = ram();
    let clients = 7;
    let setup = TrialSetup::alone(clients, store.capabilities().clone(), 42);
    let shares = Share::split(clients, workers);
    let nothing = ShareReport { complete: true, part: Default::default() };
    let table = Table { told: Mutex::new(vec![nothing; shares.len()]), all: Barrier::new(shares.len()) };
    let run = |share: Share| {
        let mut seat = Seat { table: &table, number: share.number as usize, begun: Vec::new(), done: Vec::new() };
        let (stop, changed) = (Arc::new(AtomicBool::new(false)), AtomicBool::new(false));
        let no_job = |_: &jobkit::Params| Err(JobError("it is here already".into()));
        let bench = Bench { info, job: &no_job, stop: &stop, changed: &changed };
        let trial = job.trial(&setup.sharing(share));
        let assignment = assignment(Settings { clients, share: Some(share), ..Settings::default() });
        let extent = Extent { count: trial.phases().len(), recording: None };
        let done = phases(&*store, trial.as_ref(), extent, &assignment, &bench, &mut seat);
        let found = ShareFound { done, part: trial.part().unwrap(), held: None, commands: None };
        let finish = Finish { complete: true, share: Some(found), peak_rss_bytes: 7, resent: 1, ..Finish::default() };
        (seat.begun, seat.done, sent(&finish))
    };
    let ran: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = shares.iter().map(|&share| scope.spawn(move || run(share))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let (mut begun, mut done, mut finished) = (Vec::new(), Vec::new(), Vec::new());
    for (names, phases, finish) in ran {
        begun.push(names);
        done.push(phases);
        finished.push(finish);
    }
    (begun, done, finished, setup)
}

fn crud() -> Box<dyn Job> {
    jobs::prepare(jobs::find("crud").unwrap(), None, &[("rows".into(), "500".into())], 42).unwrap()
}

#[test]
fn workers_that_share_a_trial_begin_the_same_phases_and_finish_as_one_would() {
    let job = crud();
    // Handles on a library are no connections over which to read again.
    let names = ["insert", "select", "update", "check update", "delete", "check delete"];
    for workers in [1, 2, 3] {
        let (begun, done, finished, setup) = carried_out(&*job, workers);
        assert!(begun.iter().all(|begun| *begun == names), "{begun:?}");
        for phase in 0..names.len() {
            let shares: Vec<PhaseDone> = done.iter().map(|done| done[phase].clone()).collect();
            let all = PhaseDone::of_shares(shares).unwrap();
            assert_eq!((all.phase.name.as_str(), all.outcome.counts.operations), (names[phase], 500), "{workers}");
            assert_eq!((all.outcome.end, all.outcome.offences.total()), (End::Completed, 0));
        }
        let joined = job.trial(&setup);
        let finish = finish_of_shares(&*job, joined.as_ref(), Keeps::Everything, finished).unwrap();
        assert!(finish.complete && finish.answer_reasons.is_empty());
        assert_eq!(Some(finish.answer.digest), finish.known_digest);
        assert_eq!((finish.keys_left, finish.resent, finish.peak_rss_bytes), (Some(0), u64::from(workers), 7));
    }
}

#[test]
fn a_share_that_was_not_completed_leaves_the_whole_incomplete_and_one_without_a_part_is_an_error() {
    let job = crud();
    let (_, _, mut finished, setup) = carried_out(&*job, 2);
    if let Some(found) = &mut finished[1].share {
        found.done = PhasesDone::BROKEN;
    }
    let joined = job.trial(&setup);
    let finish = finish_of_shares(&*job, joined.as_ref(), Keeps::Everything, finished.clone()).unwrap();
    assert!(!finish.complete && finish.known_digest.is_none() && finish.answer.digest.is_empty());
    finished[0].share = None;
    assert!(finish_of_shares(&*job, job.trial(&setup).as_ref(), Keeps::Everything, finished).is_err());
    assert!(finish_of_shares(&*job, job.trial(&setup).as_ref(), Keeps::Everything, Vec::new()).is_err());
}

#[test]
fn what_the_store_says_it_holds_is_held_against_what_the_clients_of_all_shares_left() {
    let job = jobs::prepare(jobs::find("ycsb").unwrap(), None, &[("records".into(), "900".into())], 42).unwrap();
    let (_, _, finished, setup) = carried_out(&*job, 3);
    for (keys, expected) in
        [(900, None), (907, Some((ReasonKind::ForeignData, 7))), (300, Some((ReasonKind::LostUpdates, 600)))]
    {
        let mut finished = finished.clone();
        let held = HeldKeys::Counted { keys: Some(keys), evicted: 0, expired: 0 };
        finished[0].share.as_mut().unwrap().held = Some(held);
        let finish = finish_of_shares(&*job, job.trial(&setup).as_ref(), Keeps::Everything, finished).unwrap();
        let said = finish.answer_reasons.iter().map(|reason| (reason.kind, reason.count)).collect::<Vec<_>>();
        assert_eq!(said, Vec::from_iter(expected), "{keys}");
    }
}

fn phase_done(outcome: Outcome, flush_ms: u64) -> PhaseDone {
    PhaseDone {
        phase: UnderWay { name: "run".into(), timed: true, operations: None, carried: None },
        outcome,
        flush: Duration::from_millis(flush_ms),
        curve: Vec::new(),
        stalls: Vec::new(),
        carried: None,
        reads_back: false,
        process_cpu_s: 0.5,
    }
}

#[test]
fn the_merged_histograms_are_bucket_for_bucket_those_of_one_that_recorded_every_sample() {
    let (mut one, mut shares) = (Outcome::default(), vec![Outcome::default(); 3]);
    let mut state = 1u64;
    for sample in 0..100_000 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let ns = (state >> 33) >> (state >> 60); // over many orders of magnitude
        let share = &mut shares[sample % 7 % 3];
        for outcome in [&mut one, share] {
            outcome.histograms.service.record(ns);
            outcome.histograms.send_lag.record(ns / 3);
            outcome.histograms.client_lag.record(ns / 5);
            outcome.histograms.response[sample % OperationKind::ALL.len()].record(ns * 2);
            outcome.counts.operations += 1;
        }
    }
    let done = shares.into_iter().zip([5, 9, 7]).map(|(outcome, flush_ms)| sent(&phase_done(outcome, flush_ms)));
    let all = PhaseDone::of_shares(done.collect()).unwrap();
    assert_eq!(all.outcome.histograms, one.histograms);
    assert_eq!((all.outcome.counts, all.process_cpu_s), (one.counts, 1.5));
    assert_eq!(all.flush, Duration::from_millis(9), "the phase waits for the last");
    assert!(PhaseDone::of_shares(Vec::new()).is_none());
}

#[test]
fn memory_and_causes_are_those_a_worker_saw_at_that_time() {
    let look = |at_s, rss| CurvePoint { at_s, rss_bytes: Some(rss), ..CurvePoint::default() };
    let looks = [look(1.0, 10), look(2.0, 20)];
    let seen = |at_s| {
        let mut point = CurvePoint { at_s, ..CurvePoint::default() };
        super::look(&mut point, &looks);
        point.rss_bytes
    };
    assert_eq!([seen(0.5), seen(1.5), seen(3.0)], [Some(10), Some(20), Some(20)]);
    let stall =
        |at_s, cause: Option<&str>| Stall { at_s, duration_s: 0.1, cause: cause.map(Into::into), ..Stall::default() };
    let explained = [stall(1.0, None), stall(1.05, Some("swap")), stall(5.0, Some("disk"))];
    let cause = |at_s| {
        let mut found = stall(at_s, None);
        super::explain(&mut found, &explained);
        found.cause
    };
    assert_eq!([cause(1.02), cause(5.0), cause(3.0)], [Some("swap".into()), Some("disk".into()), None]);
}
