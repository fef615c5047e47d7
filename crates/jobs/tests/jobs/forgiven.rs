//! What each job forgives after operations failed: what failed, and nothing else. An honest store of which some writes fail and take effect or
//! not, and three that use the occasion to lose what they had acknowledged.
#![allow(clippy::unwrap_used)]

use crate::harness;

use data::splitmix::Rng;
use harness::{Backend, Memory, Outcome, Request, Response, Turns, everything, run};
use kvtrial_jobs as jobs;
use std::collections::BTreeMap;
use store::{Capabilities, OperationKind, OperationSet};
use study::ReasonKind;

/// What the store does beside failing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lie {
    None,
    /// After the outage it has nothing any more.
    ComesBackEmpty,
    /// Whenever a write of a key fails, it forgets the last one that it had acknowledged of that key.
    ForgetsTheOneBefore,
    /// After the outage it has what it had some operations before it.
    ComesBackOlder,
}

/// A store that answers nothing for a while. Of the writes sent meanwhile some take effect.
struct Failing {
    memory: Memory,
    lie: Lie,
    outage: std::ops::Range<u64>,
    asked: u64,
    rng: Rng,
    failed: u64,
    before: BTreeMap<Vec<u8>, Option<(Vec<u8>, u64)>>,
    older: Option<BTreeMap<Vec<u8>, (Vec<u8>, u64)>>,
}

fn written(request: &Request) -> Option<&[u8]> {
    match request {
        Request::Put(key, _) | Request::Append(key, _) | Request::Increment(key, _) | Request::Delete(key) => Some(key),
        Request::IncrementField(key, ..) | Request::CompareAndSet(key, ..) => Some(key),
        Request::PutMany(pairs) => pairs.first().map(|(key, _)| key.as_slice()),
        _ => None,
    }
}

impl Backend for Failing {
    fn answer(&mut self, request: &Request) -> Response {
        self.asked += 1;
        if self.asked + 200 == self.outage.start {
            self.older = Some(self.memory.values.clone());
        }
        if self.asked == self.outage.end {
            match self.lie {
                Lie::ComesBackEmpty => self.memory.forget_everything(),
                Lie::ComesBackOlder => self.memory.values = self.older.take().unwrap_or_default(),
                Lie::None | Lie::ForgetsTheOneBefore => {}
            }
        }
        let key = written(request).map(<[u8]>::to_vec);
        // Some come through, so that programs of several steps fail in every one of them.
        if !self.outage.contains(&self.asked) || self.rng.below(3) == 0 {
            if let Some(key) = key {
                self.before.insert(key.clone(), self.memory.values.get(&key).cloned());
            }
            return self.memory.answer(request);
        }
        let Some(key) = key else { return Response::Deadline };
        self.failed += match request {
            Request::PutMany(pairs) => pairs.len() as u64,
            _ => 1,
        };
        if self.lie == Lie::ForgetsTheOneBefore
            && let Some(before) = self.before.remove(&key)
        {
            match before {
                Some(before) => _ = self.memory.values.insert(key, before),
                None => _ = self.memory.values.remove(&key),
            }
        } else if self.rng.below(2) == 0 {
            self.memory.answer(request);
        }
        Response::Deadline
    }
}

struct Case {
    job: &'static str,
    data: Option<&'static str>,
    set: &'static [(&'static str, &'static str)],
    /// Operations from which on the store fails, and up to which.
    outage: std::ops::Range<u64>,
    lacks: &'static [OperationKind],
}

const fn case(
    job: &'static str,
    data: Option<&'static str>,
    set: &'static [(&'static str, &'static str)],
    outage: std::ops::Range<u64>,
) -> Case {
    Case { job, data, set, outage, lacks: &[] }
}

/// Every job that writes by operations, in every way.
const CASES: [Case; 15] = [
    case("ycsb", None, &[("records", "100"), ("operations", "6000"), ("workload", "A")], 2000..2300),
    case("ycsb", None, &[("records", "100"), ("operations", "6000"), ("workload", "D")], 2000..2300),
    case("ycsb", None, &[("records", "100"), ("operations", "6000"), ("workload", "E")], 2000..2300),
    case("ycsb", None, &[("records", "100"), ("operations", "6000"), ("workload", "F")], 2000..2300),
    case("append", Some("gen:1000:7"), &[("append", "native")], 1000..1300),
    case("append", Some("gen:1000:7"), &[("append", "rewrite")], 2000..2300),
    case("bulk", Some("gen:3000:42"), &[("batch", "10")], 100..120),
    case("bulk", Some("gen:3000:42"), &[("batch", "1")], 1000..1200),
    case("crud", None, &[("rows", "1000")], 500..700),
    case("crud", None, &[("rows", "1000")], 2500..2700),
    case("grow", None, &[("items", "2000"), ("reads", "0.3")], 1000..1300),
    case("fans", Some("debian-1k"), &[("policy", "partition"), ("variant", "blob")], 6000..6300),
    case("fans", Some("debian-1k"), &[("policy", "cas"), ("variant", "blob")], 6000..6300),
    case("fans", Some("debian-1k"), &[("policy", "lock"), ("variant", "blob")], 6000..6300),
    Case { lacks: &[OperationKind::Increment, OperationKind::GetCounter], ..case("counts", None, &[], 3000..3300) },
];

/// Those on counters, which this store keeps apart from values.
const COUNTER_CASES: [Case; 3] = [
    case("counts", None, &[("increment", "native")], 3000..3300),
    case("counts", None, &[("increment", "memcached")], 6000..6300),
    case("fans", Some("debian-1k"), &[("policy", "partition"), ("variant", "counters")], 6000..6300),
];

fn trial(case: &Case, lie: Lie, slots: u32, seed: u64) -> (Outcome, u64) {
    let set: Vec<(String, String)> =
        case.set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let job = jobs::prepare(jobs::find(case.job).unwrap(), case.data.map(str::to_owned), &set, 42).unwrap();
    let mut store = Failing {
        memory: Memory::default(),
        lie,
        outage: case.outage.clone(),
        asked: 0,
        rng: Rng::new(seed),
        failed: 0,
        before: BTreeMap::new(),
        older: None,
    };
    let kinds: Vec<OperationKind> = OperationKind::ALL.into_iter().filter(|kind| !case.lacks.contains(kind)).collect();
    let capabilities = Capabilities { native: OperationSet::of(&kinds), ..everything() };
    let outcome = run(&*job, &mut store, capabilities, slots, Turns::Random(seed));
    (outcome, store.failed)
}

#[test]
fn an_honest_store_of_which_operations_failed_is_accused_of_nothing_and_every_failed_write_is_accounted_for() {
    for case in CASES.iter().chain(&COUNTER_CASES) {
        for (slots, seed) in [(1, 1), (16, 3)] {
            let (outcome, failed) = trial(case, Lie::None, slots, seed);
            let what = format!("{} {:?} {slots}: {:?}", case.job, case.set, outcome.reasons);
            assert_eq!(outcome.kinds(), [ReasonKind::Deadline], "{what}");
            let account = outcome.account.unwrap();
            assert_eq!(account.lost, 0, "{what}");
            assert!(failed > 0, "{what}: nothing failed");
            // Of a program of several steps the write may not have been sent, because the step before it failed.
            let counted = account.failed();
            let exact = !matches!(case.job, "append" | "fans" | "counts");
            assert!(
                if exact { counted == failed } else { counted >= failed || case.job == "fans" },
                "{what}: {account:?}, {failed} failed"
            );
            assert!(account.failed_present > 0 && account.failed_absent > 0, "{what}: {account:?}");
        }
    }
}

#[test]
fn a_store_that_comes_back_empty_has_lost_what_it_had_acknowledged_in_every_job() {
    for case in CASES.iter().chain(&COUNTER_CASES) {
        for (slots, seed) in [(1, 1), (16, 3)] {
            let (outcome, _) = trial(case, Lie::ComesBackEmpty, slots, seed);
            let what = format!("{} {:?} {slots}: {:?} {:?}", case.job, case.set, outcome.account, outcome.reasons);
            assert!(outcome.account.unwrap().lost > 0 && outcome.kinds() != [ReasonKind::Deadline], "{what}");
        }
    }
}

#[test]
fn a_store_that_forgets_an_acknowledged_write_whenever_one_of_the_same_key_failed_is_found_in_every_job_that_writes_keys_again()
 {
    let inserts = |case: &Case| case.set.contains(&("workload", "D")) || case.set.contains(&("workload", "E"));
    let again = |case: &&Case| !matches!(case.job, "bulk" | "grow") && !inserts(case);
    for case in CASES.iter().filter(again) {
        for (slots, seed) in [(1, 1), (16, 3)] {
            let (outcome, _) = trial(case, Lie::ForgetsTheOneBefore, slots, seed);
            let what = format!("{} {:?} {slots}: {:?} {:?}", case.job, case.set, outcome.account, outcome.reasons);
            // The first write of a row of crud may fail: there is nothing to forget.
            if case.job == "crud" && case.outage.start < 1000 {
                continue;
            }
            assert!(outcome.account.unwrap().lost > 0 && outcome.kinds() != [ReasonKind::Deadline], "{what}");
        }
    }
}

#[test]
fn a_store_that_comes_back_as_it_was_some_writes_before_is_found_in_every_job() {
    for case in &CASES {
        for (slots, seed) in [(1, 1), (16, 3)] {
            let (outcome, _) = trial(case, Lie::ComesBackOlder, slots, seed);
            let what = format!("{} {:?} {slots}: {:?} {:?}", case.job, case.set, outcome.account, outcome.reasons);
            assert!(outcome.account.unwrap().lost > 0 && outcome.kinds() != [ReasonKind::Deadline], "{what}");
        }
    }
}

#[test]
fn of_more_than_a_hundred_thousand_unacknowledged_puts_grow_forgives_each_and_none_besides() {
    let set = [("items", "400000"), ("value", "16"), ("reads", "0")].map(|(name, value)| (name.into(), value.into()));
    let job = jobs::prepare(jobs::find("grow").unwrap(), None, &set, 42).unwrap();
    for loses in [false, true] {
        let (mut memory, mut puts) = (Memory::default(), 0u64);
        let mut store = |request: &Request| {
            if let Request::Put(..) = request {
                puts += 1;
                if puts.is_multiple_of(2) {
                    return Response::Deadline; // 200,000 of them
                }
                if loses && puts == 399_999 {
                    return Response::Done; // acknowledged, and dropped
                }
            }
            memory.answer(request)
        };
        let outcome = run(&*job, &mut store, everything(), 8, Turns::OneByOne);
        let account = outcome.account.unwrap();
        assert_eq!((account.lost, account.failed_absent, account.failed_present), (u64::from(loses), 200_000, 0));
        let kinds =
            if loses { vec![ReasonKind::Deadline, ReasonKind::UnexpectedMiss] } else { vec![ReasonKind::Deadline] };
        assert_eq!(outcome.kinds(), kinds, "{:?}", outcome.reasons);
        assert_eq!(outcome.fact("items_not_acknowledged"), 200_000);
    }
}
