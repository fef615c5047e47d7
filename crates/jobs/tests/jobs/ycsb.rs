//! The ycsb job with all its workloads, on an honest store with any interleaving, and on stores that lie.
#![allow(clippy::unwrap_used)]

use crate::harness;

use harness::{Backend, Memory, Outcome, Request, Response, Turns, everything, nothing, run, run_until};
use jobkit::Job;
use kvtrial_jobs as jobs;
use std::collections::BTreeMap;
use store::{Capabilities, OperationSet};
use study::ReasonKind;

fn job(set: &str) -> Box<dyn Job> {
    let small = "records=500 operations=5000 value=40 scan_max=20 ".to_owned() + set;
    let pair = |word: &str| word.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned())).unwrap();
    let set: Vec<_> = small.split_whitespace().map(pair).collect();
    jobs::prepare(jobs::find("ycsb").unwrap(), None, &set, 42).unwrap()
}

const WORKLOADS: [&str; 6] = ["A", "B", "C", "D", "E", "F"];

#[test]
fn every_workload_is_valid_and_comes_to_the_known_digest_with_any_number_of_slots() {
    for letter in WORKLOADS {
        for distribution in ["zipfian", "uniform", "latest"] {
            let job = job(&format!("workload={letter} distribution={distribution}"));
            let known = job.known_digest().unwrap();
            for (slots, turns) in [(1, Turns::OneByOne), (16, Turns::Random(1)), (256, Turns::Random(2))] {
                let outcome = run(&*job, &mut Memory::default(), everything(), slots, turns);
                assert_eq!(outcome.reasons, [], "{letter} {distribution} {slots}");
                assert_eq!(outcome.answer.digest, known, "{letter} {distribution} {slots}");
                let planned: Vec<u64> = outcome.planned.iter().map(|count| count.unwrap()).collect();
                assert_eq!(outcome.operations, planned, "{letter} {distribution} {slots}");
                let keys = outcome.fact("keys").as_u64().unwrap();
                assert_eq!((outcome.fact("keys_valid"), outcome.logical_bytes), (&keys.into(), keys * 56));
                assert_eq!(keys > 500, ["D", "E"].contains(&letter));
            }
        }
    }
}

#[test]
fn keys_whose_names_are_hashed_lie_among_the_loaded_ones_when_they_are_inserted_and_the_answer_is_the_same() {
    let sorted = |set: &str, from: u64| {
        let job = job(set);
        let trial = job.trial(&jobkit::TrialSetup::alone(4, everything(), 7));
        let mut keys: Vec<(Vec<u8>, bool)> = Vec::new();
        for index in 0.. {
            let mut key = Vec::new();
            if !trial.key(index, &mut key) {
                break;
            }
            keys.push((key, index >= from));
        }
        keys.sort();
        keys.into_iter().map(|(_, is_inserted)| is_inserted).collect::<Vec<_>>()
    };
    let first_half = |inserted: &[bool]| inserted[..inserted.len() / 2].iter().filter(|it| **it).count();
    for (load, fewest, most) in [("rising", 0, 0), ("hashed", 80, 170)] {
        let set = format!("workload=D load={load}");
        let found = first_half(&sorted(&set, 500));
        assert!((fewest..=most).contains(&found), "{load}: {found} of about 250");
        for (slots, turns) in [(1, Turns::OneByOne), (16, Turns::Random(1))] {
            let outcome = run(&*job(&set), &mut Memory::default(), everything(), slots, turns);
            assert_eq!(outcome.reasons, [], "{load} {slots}");
            assert_eq!(Some(outcome.answer.digest), job("workload=D").known_digest(), "{load} {slots}");
        }
    }
    let scans = jobs::prepare(
        jobs::find("ycsb").unwrap(),
        None,
        &[("workload", "E"), ("load", "hashed")].map(|(a, b)| (a.to_owned(), b.to_owned())),
        42,
    );
    assert!(scans.err().unwrap().to_string().contains("load=hashed cannot have scans"));
}

#[test]
fn the_digest_is_that_of_the_sorted_keys_and_their_verdicts() {
    // (seq 0 499 | awk '{printf "user0000%08x\tvalid\n", $1}') | LC_ALL=C sort | sha256sum
    let known = "sha256:a754f2887d6e76e58d6276ae51506ce4b78693ac04e7e1a6ee5e1749697aa9d3";
    assert_eq!(job("workload=C").known_digest().as_deref(), Some(known));
}

/// Counts requests of each kind, by key, while the honest store answers.
fn counted(set: &str) -> BTreeMap<(&'static str, Vec<u8>), u64> {
    let (mut memory, mut counts) = (Memory::default(), BTreeMap::new());
    let mut store = |request: &Request| {
        let (kind, key) = match request {
            Request::Get(key) => ("get", key),
            Request::Put(key, _) => ("put", key),
            Request::Scan(key, _) => ("scan", key),
            other => panic!("{other:?}"),
        };
        *counts.entry((kind, key.clone())).or_default() += 1;
        memory.answer(request)
    };
    run(&*job(set), &mut store, everything(), 4, Turns::Random(3));
    counts
}

#[test]
fn a_load_rises_or_is_scattered_and_has_every_key_once_either_way() {
    let loaded = |set: &str| {
        let (mut memory, mut keys) = (Memory::default(), Vec::new());
        let mut store = |request: &Request| {
            if let Request::Put(key, _) = request {
                keys.push(key.clone());
            }
            memory.answer(request)
        };
        let job = job(&format!("workload=C {set}"));
        let outcome = run(&*job, &mut store, everything(), 1, Turns::OneByOne);
        assert_eq!((outcome.reasons.len(), Some(outcome.answer.digest)), (0, job.known_digest()), "{set}");
        keys
    };
    let rising = loaded("load=rising");
    assert!(rising.is_sorted() && rising == loaded("records=500"));
    let mut scattered = loaded("load=scattered");
    // Of keys in random order a third of the neighbours in time would be as far apart; of those in rising order none is.
    let number = |key: &Vec<u8>| i64::from_str_radix(std::str::from_utf8(&key[8..]).unwrap(), 16).unwrap();
    let far = scattered.windows(2).filter(|pair| (number(&pair[0]) - number(&pair[1])).abs() > 100).count();
    assert!(far > 300, "{far} of 499");
    scattered.sort();
    assert_eq!(scattered, rising);
}

#[test]
fn scans_are_as_long_as_the_settings_say() {
    let (mut memory, mut limits) = (Memory::default(), std::collections::BTreeSet::new());
    let mut store = |request: &Request| {
        if let Request::Scan(_, limit) = request {
            limits.insert(*limit);
        }
        memory.answer(request)
    };
    run(&*job("workload=E scan_min=5 scan_max=9"), &mut store, everything(), 4, Turns::OneByOne);
    assert_eq!(limits.into_iter().collect::<Vec<_>>(), [5, 6, 7, 8, 9]);
}

#[test]
fn hot_keys_are_as_hot_as_the_law_says_and_not_neighbours() {
    let counts = counted("workload=C operations=100000");
    // The read-back asks for each key once.
    let mut gets: Vec<(u64, u64)> = counts
        .iter()
        .filter(|((kind, _), _)| *kind == "get")
        .map(|((_, key), count)| (count - 1, u64::from_str_radix(std::str::from_utf8(&key[8..]).unwrap(), 16).unwrap()))
        .collect();
    gets.sort_unstable_by_key(|&(count, _)| std::cmp::Reverse(count));
    let total: f64 = (1..=500).map(|rank| f64::from(rank).powf(-0.99)).sum();
    for (rank, &(count, _)) in gets[..5].iter().enumerate() {
        let expected = 100_000.0 * ((rank + 1) as f64).powf(-0.99) / total;
        assert!((count as f64 - expected).abs() < 6.0 * expected.sqrt(), "rank {rank}: {count}, expected {expected}");
    }
    let mut hottest: Vec<u64> = gets[..5].iter().map(|&(_, id)| id).collect();
    hottest.sort_unstable();
    assert!(hottest.windows(2).all(|pair| pair[1] - pair[0] > 5), "{hottest:?}");
}

#[test]
fn the_newest_keys_are_read_most_under_latest() {
    let counts = counted("workload=D operations=20000");
    let new: u64 = counts
        .iter()
        .filter(|((kind, key), _)| *kind == "get" && key.as_slice() > b"user0000000001f3".as_slice())
        .map(|(_, n)| n)
        .sum();
    let all: u64 = counts.iter().filter(|((kind, _), _)| *kind == "get").map(|(_, n)| n).sum();
    assert!(new * 3 > all, "{new} of {all} reads went to keys inserted during the run");
}

#[test]
fn a_store_that_keeps_nothing_is_neither_checked_nor_read_back() {
    for letter in WORKLOADS {
        let mut lost = |request: &Request| match request {
            Request::Get(_) => Response::Missing,
            Request::Scan(..) => Response::Rows(Vec::new()),
            _ => Response::Done,
        };
        let outcome = run(&*job(&format!("workload={letter}")), &mut lost, nothing(), 4, Turns::Random(4));
        assert_eq!((outcome.reasons, outcome.answer.digest.as_str(), outcome.operations.len()), (vec![], "", 2));
    }
}

/// Runs on a store whose answers `lie` may change; it sees the honest store before it has acted.
fn run_with_lies(set: &str, mut lie: impl FnMut(&Request, &mut Memory) -> Option<Response>) -> Outcome {
    let mut memory = Memory::default();
    let mut store = |request: &Request| lie(request, &mut memory).unwrap_or_else(|| memory.answer(request));
    run(&*job(set), &mut store, everything(), 4, Turns::Random(5))
}

#[test]
fn a_store_that_forgets_everything_is_caught_by_a_read_only_workload() {
    let outcome = run_with_lies("workload=C", |request, _| match request {
        Request::Put(..) => Some(Response::Done),
        _ => None,
    });
    assert_eq!(outcome.kinds(), [ReasonKind::UnexpectedMiss]);
    assert_eq!(outcome.reasons[0].count, 5000 + 500);
    assert_ne!(Some(outcome.answer.digest), job("workload=C").known_digest());
}

#[test]
fn one_lost_update_is_found_at_the_latest_by_reading_back() {
    // Puts that are the last of their keys, from an honest run; a loss that is overwritten before it is read hurts
    // nobody.
    let (mut last, mut puts) = (BTreeMap::new(), 0);
    run_with_lies("workload=A", |request, _| {
        if let Request::Put(key, _) = request {
            puts += 1;
            last.insert(key.clone(), puts);
        }
        None
    });
    for number in last.into_values().filter(|number| *number > 500).step_by(25) {
        let mut puts = 0;
        let outcome = run_with_lies("workload=A", |request, _| match request {
            Request::Put(..) => {
                puts += 1;
                (puts == number).then_some(Response::Done)
            }
            _ => None,
        });
        let stale = outcome.reason(ReasonKind::StaleValue);
        assert!(stale.example.contains("was acknowledged"), "{stale:?}");
        assert_eq!(outcome.kinds(), [ReasonKind::StaleValue]);
    }
}

#[test]
fn one_wrong_value_has_its_reason_and_its_key() {
    const HOT: usize = 3000;
    for (lie, kind, words) in [
        (0, ReasonKind::WrongValue, "byte 39 is wrong"),
        (1, ReasonKind::WrongValue, "the checksum of its first 16 bytes is wrong"),
        (2, ReasonKind::WrongValue, "39 bytes, must be 40"),
        (3, ReasonKind::WrongKey, "the value of user0000"),
        (4, ReasonKind::UnexpectedMiss, "missing"),
        (5, ReasonKind::Deadline, "no reply"),
        (6, ReasonKind::WrongReply, "unexpected reply"),
    ] {
        let (mut gets, mut asked) = (0, Vec::new());
        let outcome = run_with_lies("workload=B", |request, memory| match request {
            Request::Get(key) => {
                gets += 1;
                if gets != HOT {
                    return None;
                }
                asked = key.clone();
                let mut value = memory.values[key].0.clone();
                Some(match lie {
                    0 => {
                        value[39] ^= 1;
                        Response::Value(value)
                    }
                    1 => {
                        value[4] ^= 1;
                        Response::Value(value)
                    }
                    2 => Response::Value(value[..39].to_vec()),
                    3 => Response::Value(memory.values.iter().find(|(other, _)| *other != key).unwrap().1.0.clone()),
                    4 => Response::Missing,
                    5 => Response::Deadline,
                    _ => Response::Number(1),
                })
            }
            _ => None,
        });
        assert_eq!(outcome.kinds(), [kind]);
        let reason = &outcome.reasons[0];
        assert_eq!(reason.count, 1, "{reason:?}");
        let key = String::from_utf8(asked).unwrap();
        assert!(reason.example.starts_with(&format!("key {key}: ")) && reason.example.contains(words), "{reason:?}");
    }
}

#[test]
fn an_old_but_sound_value_is_stale_and_one_of_another_run_is_wrong() {
    let (mut old, mut seen) = (BTreeMap::new(), 0);
    let outcome = run_with_lies("workload=A", |request, memory| match request {
        Request::Put(key, value) => {
            old.entry(key.clone()).or_insert_with(|| value.clone());
            None
        }
        Request::Get(key) if old[key] != memory.values[key].0 && seen < 200 => {
            seen += 1;
            Some(Response::Value(old[key].clone()))
        }
        _ => None,
    });
    // Also those read while a write of the key was in flight. The first may still be right, where none was acknowledged since.
    let stale = outcome.reason(ReasonKind::StaleValue);
    assert!((190..=200).contains(&stale.count), "{stale:?}");
    assert_eq!(outcome.kinds(), [ReasonKind::StaleValue]);
}

#[test]
fn a_refused_put_is_counted_once_and_its_key_is_not_trusted_again() {
    let mut puts = 0;
    let outcome = run_with_lies("workload=A", |request, _| match request {
        Request::Put(..) => {
            puts += 1;
            (puts == 800).then_some(Response::Refused("OOM command not allowed"))
        }
        _ => None,
    });
    assert_eq!((outcome.kinds(), outcome.reasons[0].count), (vec![ReasonKind::Refused], 1));
    assert_ne!(Some(outcome.answer.digest), job("workload=A").known_digest());
}

#[test]
fn a_store_that_refuses_everything_still_ends() {
    for letter in WORKLOADS {
        let outcome = run_with_lies(&format!("workload={letter}"), |_, _| Some(Response::Refused("no")));
        assert_eq!(outcome.kinds(), [ReasonKind::Refused]);
    }
}

#[test]
fn scans_that_skip_swap_repeat_or_invent_rows_are_found() {
    for (lie, kind, words) in [
        (0, ReasonKind::UnexpectedMiss, "missing in a scan"),
        (1, ReasonKind::UnexpectedMiss, "missing in a scan"),
        (2, ReasonKind::WrongReply, "out of order"),
        (3, ReasonKind::WrongKey, "the value of"),
        (4, ReasonKind::ForeignData, "never written"),
        (5, ReasonKind::WrongReply, "beyond its limit"),
    ] {
        let mut scans = 0;
        let outcome = run_with_lies("workload=E", |request, memory| {
            let Request::Scan(start, limit) = request else { return None };
            let Response::Rows(mut rows) = memory.answer(request) else { panic!() };
            if rows.len() < 4 || start.as_slice() > b"user000000000100".as_slice() {
                return None;
            }
            scans += 1;
            if scans != 100 {
                return None;
            }
            match lie {
                0 => drop(rows.remove(1)),
                1 => drop(rows.pop()),
                2 => rows[2] = rows[1].clone(),
                3 => rows[1].1 = rows[0].1.clone(),
                4 => rows[3].0 = b"user-x".to_vec(),
                _ => {
                    let Response::Rows(more) = memory.answer(&Request::Scan(start.clone(), limit + 1)) else {
                        panic!()
                    };
                    rows = more;
                }
            }
            Some(Response::Rows(rows))
        });
        assert_eq!(outcome.kinds(), [kind], "{lie}: {:?}", outcome.reasons);
        assert!(outcome.reasons[0].count == 1 && outcome.reasons[0].example.contains(words), "{:?}", outcome.reasons);
    }
}

#[test]
fn a_run_by_seconds_never_ends_by_itself_and_can_be_ended_anywhere() {
    for (letter, stop_after) in [("A", 50_001), ("C", 120_000), ("D", 30_000), ("F", 1), ("F", 777)] {
        // So short a time would long be over: only the engine looks at the clock.
        let (job, mut memory) = (job(&format!("workload={letter} seconds=0.000001 records=50")), Memory::default());
        let outcome = run_until(&*job, &mut memory, everything(), 5, Turns::Random(6), stop_after);
        assert_eq!(outcome.reasons, [], "{letter}");
        assert!((stop_after..stop_after + 5).contains(&outcome.operations[1]), "{letter}: {:?}", outcome.operations);
        // Of keys inserted by the way there are as many as there was time for: the answer is the same.
        assert_eq!(job.known_digest().as_ref(), Some(&outcome.answer.digest), "{letter}");
        assert_eq!(outcome.planned[1], None);
    }
}

#[test]
fn stores_that_cannot_do_the_workload_are_refused_before_it_with_the_remedy() {
    let refusal = |set: &str, store: Capabilities| job(set).suits(&store).unwrap_err().to_string();
    let basic = Capabilities { native: OperationSet::BASIC, ..everything() };
    assert!(refusal("workload=E", basic.clone()).contains("use workload=A, B, C, D or F"));
    assert_eq!(job("workload=A").suits(&basic), Ok(vec![]));
    let words = refusal("value=100", Capabilities { max_value_bytes: 99, ..everything() });
    assert!(words.contains("value=100: this store takes at most 99 bytes; set value=99"), "{words}");
    assert!(refusal("", Capabilities { max_key_bytes: 15, ..everything() }).contains("keys have 16 bytes"));
    assert_eq!(job("workload=B").input()["name"], "workload B, seed 42");
    assert_eq!(job("workload=B read=1").input()["name"], "own mix, seed 42");
    let ycsb = jobs::find("ycsb").unwrap();
    let error = jobs::prepare(ycsb, Some("x.tsv".into()), &[], 42).err().unwrap().to_string();
    assert!(error.contains("ycsb generates its data"), "{error}");
}

/// A store that answers wrongly only while a write of the key is in flight, and keeps all it ever was given.
fn found_while_writing(workload: &str, slots: u32, lie: fn(&[Vec<u8>], u64) -> Vec<u8>) -> (u64, u64) {
    let (mut memory, mut given) = (Memory::default(), BTreeMap::<Vec<u8>, Vec<Vec<u8>>>::new());
    let (mut told, mut reads) = (0, 0);
    let mut store = |request: &Request| {
        match request {
            Request::Put(key, value) => given.entry(key.clone()).or_default().push(value.clone()),
            Request::Get(key) => {
                reads += 1;
                let all = &given[key];
                let said = lie(all, reads);
                // At the end nothing is in flight any more, and it behaves.
                if reads < 2300 && Some(&said) != all.last() {
                    told += 1;
                    return Response::Value(said);
                }
            }
            other => panic!("{other:?}"),
        }
        memory.answer(request)
    };
    let outcome = run(&*job(workload), &mut store, everything(), slots, Turns::Random(5));
    assert_eq!(outcome.kinds(), [ReasonKind::StaleValue]);
    (outcome.reasons[0].count, told)
}

#[test]
fn old_versions_are_found_also_of_keys_that_are_being_written() {
    for slots in [2, 64] {
        let (found, told) = found_while_writing("workload=A records=5", slots, |all, _| all[0].clone());
        assert!(found * 100 >= told * 95, "the first version ever, {slots} slots: {found} of {told}");
        let back_and_forth = |all: &[Vec<u8>], turn: u64| all[all.len() - 1 - (turn % 2) as usize % all.len()].clone();
        let (found, told) = found_while_writing("workload=A records=5", slots, back_and_forth);
        assert!(found * 10 >= told, "the last two in turns, {slots} slots: {found} of {told}");
    }
}
