//! What each job makes of a phase that did not come to its end because nothing was answered any more: what was acknowledged must be there, what
//! failed may be, what was never sent is not missed; and what was lost is found all the same.
#![allow(clippy::unwrap_used)]

use crate::harness;

use data::splitmix::Rng;
use harness::{Backend, Memory, Request, Response, everything};
use jobkit::{Offences, Purpose, Step, Trial, Worker};
use kvtrial_jobs as jobs;
use std::path::Path;
use std::time::Duration;
use store::{Capabilities, Opener, OperationKind, OperationSet, Store};
use study::{ReasonKind, Spec, WriteAccount};

const SLOTS: u32 = 8;

struct Case {
    job: &'static str,
    data: Option<&'static str>,
    set: &'static [(&'static str, &'static str)],
    lacks: &'static [OperationKind],
}

const fn case(job: &'static str, data: Option<&'static str>, set: &'static [(&'static str, &'static str)]) -> Case {
    Case { job, data, set, lacks: &[] }
}

const NO_COUNTERS: &[OperationKind] = &[OperationKind::Increment, OperationKind::GetCounter];

/// Every job that says it judges what is unfinished, in every way.
const CASES: [Case; 19] = [
    case("ycsb", None, &[("records", "300"), ("operations", "3000"), ("workload", "A")]),
    case("ycsb", None, &[("records", "300"), ("operations", "3000"), ("workload", "D")]),
    case("nodes", None, &[("records", "300"), ("operations", "1000"), ("update", "0.5")]),
    case("append", Some("gen:1000:7"), &[("append", "native")]),
    case("append", Some("gen:1000:7"), &[("append", "rewrite")]),
    case("bulk", Some("gen:3000:42"), &[("batch", "10")]),
    case("bulk", Some("gen:3000:42"), &[("batch", "1")]),
    case("crud", None, &[("rows", "1000")]),
    case("grow", None, &[("items", "2000"), ("reads", "0.3")]),
    case("events", None, &[("events", "20000")]),
    case("replay", None, &[("requests", "4000")]),
    case("sets", None, &[("ids", "1000")]),
    case("fans", Some("debian-1k"), &[("policy", "partition"), ("variant", "blob")]),
    case("fans", Some("debian-1k"), &[("policy", "cas"), ("variant", "blob")]),
    case("fans", Some("debian-1k"), &[("policy", "lock"), ("variant", "blob")]),
    case("fans", Some("debian-1k"), &[("policy", "partition"), ("variant", "counters")]),
    case("counts", None, &[("increment", "native")]),
    case("counts", None, &[("increment", "memcached")]),
    Case { lacks: NO_COUNTERS, ..case("counts", None, &[]) },
];

/// What came of a trial that was broken off.
struct Ended {
    kinds: Vec<ReasonKind>,
    account: WriteAccount,
    words: String,
}

/// Runs a trial that is cut off after this many operations; what is in flight then takes effect or not. `None`: it was complete
/// before. `loses`: the store forgets everything before it is read back.
fn broken_off(case: &Case, after: u64, loses: bool) -> Option<Ended> {
    let set: Vec<(String, String)> =
        case.set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let job = jobs::prepare(jobs::find(case.job).unwrap(), case.data.map(str::to_owned), &set, 42).unwrap();
    let kinds: Vec<OperationKind> = OperationKind::ALL.into_iter().filter(|kind| !case.lacks.contains(kind)).collect();
    let capabilities = Capabilities { native: OperationSet::of(&kinds), ..everything() };
    let trial = job.trial(&jobkit::TrialSetup::alone(SLOTS, capabilities, 42));
    assert!(trial.judges_unfinished(), "{}", case.job);
    let (mut memory, mut offences, mut left) = (Memory::default(), Offences::default(), after);
    let whole = ram();
    for (number, phase) in trial.phases().into_iter().enumerate() {
        let is_over = left == 0;
        if is_over && phase.purpose != Purpose::ReadBack {
            continue;
        }
        if trial.whole(number, &*whole, Duration::from_secs(60)).is_some() {
            continue;
        }
        let mut to_the_end = u64::MAX;
        let most = if phase.purpose == Purpose::ReadBack { &mut to_the_end } else { &mut left };
        run_phase(&*trial, number, &mut memory, most, &mut offences);
        if !is_over && left == 0 && loses {
            memory.forget_everything();
        }
    }
    let (_, reasons) = trial.answer();
    let mut all = offences.into_reasons();
    all.extend(reasons);
    let kinds = all.iter().map(|reason| reason.kind).collect();
    let words = format!("{} {:?} after {after}: {all:?}", case.job, case.set);
    (left == 0).then(|| Ended { kinds, account: trial.account().unwrap(), words })
}

/// Runs a phase until it is over, or this many operations were answered.
fn run_phase(trial: &dyn Trial, number: usize, memory: &mut Memory, left: &mut u64, offences: &mut Offences) {
    let mut rng = Rng::new(number as u64 ^ *left);
    let mut workers: Vec<Box<dyn Worker + '_>> =
        (0..2).map(|half| trial.worker(number, half * SLOTS / 2..(half + 1) * SLOTS / 2)).collect();
    let mut idle: Vec<u32> = (0..SLOTS).collect();
    let mut flying: Vec<(u32, Request)> = Vec::new();
    let place = |slot: u32| ((slot / (SLOTS / 2)) as usize, slot % (SLOTS / 2));
    while *left > 0 && (!idle.is_empty() || !flying.is_empty()) {
        if flying.is_empty() || !idle.is_empty() && rng.below(2) == 0 {
            let slot = idle.swap_remove(rng.below(idle.len() as u64) as usize);
            let (worker, own) = place(slot);
            match workers[worker].next(own) {
                Step::Operation(operation) | Step::Check(operation) => flying.push((slot, Request::of(&operation))),
                Step::Wait => idle.push(slot),
                Step::Finished => {}
            }
            continue;
        }
        let (slot, request) = flying.swap_remove(rng.below(flying.len() as u64) as usize);
        let (worker, own) = place(slot);
        let answered = memory.answer(&request).hand_over(|reply| workers[worker].reply(own, reply));
        answered.unwrap_or_else(|offence| offences.add(offence));
        *left -= 1;
        idle.push(slot);
    }
    if *left > 0 {
        return;
    }
    // As the engine does it: first what is in flight fails, then nothing more is sent.
    for (slot, request) in flying {
        if rng.below(2) == 0 {
            memory.answer(&request);
        }
        let (worker, own) = place(slot);
        let failed = Response::Deadline.hand_over(|reply| workers[worker].reply(own, reply));
        failed.unwrap_or_else(|offence| offences.add(offence));
    }
    workers.iter_mut().for_each(|worker| worker.leave_off());
}

fn ram() -> Box<dyn Store> {
    let Some(Opener::Embedded(open)) = catalog::find("ram").map(|info| info.opener) else { panic!("no ram store") };
    open(&Spec::private("ram"), Path::new("")).unwrap()
}

/// Early, in the midst and late; where a job has more than one phase, in several of them.
const AFTER: [u64; 6] = [3, 90, 500, 1300, 2500, 9000];

#[test]
fn of_a_phase_that_was_broken_off_nothing_is_said_to_be_lost_that_was_not_acknowledged() {
    for case in &CASES {
        let mut times = 0;
        for ended in AFTER.into_iter().filter_map(|after| broken_off(case, after, false)) {
            times += 1;
            assert!(ended.kinds.iter().all(|kind| *kind == ReasonKind::Deadline), "{}", ended.words);
            assert_eq!(ended.account.lost, 0, "{}", ended.words);
            assert!(
                ended.account.failed() <= u64::from(SLOTS) * 10,
                "what was never sent has not failed: {}",
                ended.words
            );
        }
        assert!(times >= 2, "{} {:?} was broken off {times} times", case.job, case.set);
    }
}

#[test]
fn what_a_store_loses_while_a_phase_is_broken_off_is_found_in_every_job() {
    for case in &CASES {
        for ended in AFTER.into_iter().filter(|after| *after >= 90).filter_map(|after| broken_off(case, after, true)) {
            assert!(ended.account.lost > 0, "{}", ended.words);
            assert!(ended.kinds.iter().any(|kind| *kind != ReasonKind::Deadline), "{}", ended.words);
        }
    }
}

#[test]
fn every_job_that_says_it_judges_what_is_unfinished_is_tried_here() {
    for info in jobs::all() {
        let tried = CASES.iter().any(|case| case.job == info.name);
        assert!(tried, "{}", info.name);
    }
}
