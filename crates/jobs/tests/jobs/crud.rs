//! The crud job on an honest store with any interleaving, and on stores that lie.
#![allow(clippy::unwrap_used)]

use crate::harness;

use harness::{Backend, Memory, Outcome, Request, Response, Turns, everything, nothing, run};
use jobkit::Job;
use kvtrial_jobs as jobs;
use std::collections::BTreeMap;
use store::Capabilities;
use study::ReasonKind;

fn prepare(set: &str) -> Result<Box<dyn Job>, String> {
    let pair = |word: &str| word.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned())).unwrap();
    let set: Vec<_> = set.split_whitespace().map(pair).collect();
    jobs::prepare(jobs::find("crud").unwrap(), None, &set, 42).map_err(|error| error.to_string())
}

fn job(set: &str) -> Box<dyn Job> {
    prepare(set).unwrap()
}

fn is_insert(value: &[u8]) -> bool {
    value.len() == 16 && value.ends_with(b"ABCDEF")
}

fn is_update(value: &[u8]) -> bool {
    value.len() == 14 && value.ends_with(b"1230")
}

#[test]
fn every_row_goes_through_every_phase_once_and_nothing_is_left() {
    for (rows, slots, turns) in
        [(1, 4, Turns::OneByOne), (1000, 1, Turns::OneByOne), (1000, 16, Turns::Random(1)), (257, 64, Turns::Random(2))]
    {
        for insert in ["put", "add"] {
            let job = job(&format!("rows={rows} insert={insert}"));
            let mut memory = Memory::default();
            let outcome = run(&*job, &mut memory, everything(), slots, turns);
            assert_eq!(outcome.reasons, [], "{rows} {slots}");
            assert_eq!(Some(outcome.answer.digest), job.known_digest());
            assert_eq!(outcome.operations, [rows; 6]);
            assert!(memory.values.is_empty());
        }
    }
}

#[test]
fn the_digest_is_that_of_the_sorted_rows_after_each_phase() {
    // Answers of `tests/oracle/crud.py`, which shares no code with kvtrial.
    for (rows, known) in [
        (1000, "sha256:9c94f7de735e4729a7356103cd328c78e960e38456f7bde4d53c4e36243e38da"),
        (2000, "sha256:6f8af591eb55d29655ea14f2ac17d191b2a7d3d036db354ab343d9e9d56bfaf6"),
    ] {
        assert_eq!(job(&format!("rows={rows}")).known_digest().as_deref(), Some(known));
    }
}

#[test]
fn no_phase_takes_the_rows_in_rising_order_and_no_two_in_the_same() {
    let mut orders: BTreeMap<&str, Vec<Vec<u8>>> = BTreeMap::new();
    let (mut memory, mut updates) = (Memory::default(), false);
    let mut store = |request: &Request| {
        let (phase, key) = match request {
            Request::Put(key, value) if is_insert(value) => ("insert", key),
            Request::Put(key, value) if is_update(value) => {
                updates = true;
                ("update", key)
            }
            Request::Get(key) if !updates => ("select", key),
            Request::Get(key) => ("check", key),
            Request::Delete(key) => ("delete", key),
            other => panic!("{other:?}"),
        };
        orders.entry(phase).or_default().push(key.clone());
        memory.answer(request)
    };
    run(&*job("rows=500"), &mut store, everything(), 1, Turns::OneByOne);
    let number = |key: &Vec<u8>| std::str::from_utf8(key).unwrap().parse::<u32>().unwrap();
    for phase in ["insert", "select", "update", "delete"] {
        let rises = orders[phase].windows(2).filter(|pair| number(&pair[0]) < number(&pair[1])).count();
        assert!((180..320).contains(&rises), "{phase}: {rises} of 499 steps rise");
    }
    assert!(orders["insert"] != orders["select"] && orders["update"] != orders["delete"]);
}

#[test]
fn a_store_that_keeps_nothing_does_the_four_phases_without_checks() {
    let mut lost = |request: &Request| match request {
        Request::Get(_) => Response::Missing,
        _ => Response::Done,
    };
    let outcome = run(&*job("rows=100"), &mut lost, nothing(), 4, Turns::Random(4));
    assert_eq!((outcome.reasons, outcome.answer.digest.as_str(), outcome.operations), (vec![], "", vec![100; 4]));
}

fn run_with_lies(set: &str, mut lie: impl FnMut(&Request, &mut Memory) -> Option<Response>) -> Outcome {
    let mut memory = Memory::default();
    let mut store = |request: &Request| lie(request, &mut memory).unwrap_or_else(|| memory.answer(request));
    run(&*job(set), &mut store, everything(), 4, Turns::Random(5))
}

#[test]
fn an_insert_an_update_and_a_delete_that_did_nothing_are_distinct() {
    let outcome = run_with_lies("rows=200", |request, _| match request {
        Request::Put(key, value) if key == b"17" && is_insert(value) => Some(Response::Done),
        _ => None,
    });
    assert!(outcome.reason(ReasonKind::UnexpectedMiss).example.starts_with("key 17"), "{:?}", outcome.reasons);
    assert_eq!(outcome.fact("valid_after_insert"), 199);

    let outcome = run_with_lies("rows=200", |request, _| match request {
        Request::Put(key, value) if key == b"18" && is_update(value) => Some(Response::Done),
        _ => None,
    });
    assert_eq!(outcome.kinds(), [ReasonKind::StaleValue]);
    assert_eq!((outcome.fact("valid_after_insert"), outcome.fact("valid_after_update")), (&200.into(), &199.into()));

    let outcome = run_with_lies("rows=200", |request, _| match request {
        Request::Delete(key) if key == b"19" => Some(Response::Done),
        _ => None,
    });
    assert_eq!(outcome.kinds(), [ReasonKind::UnexpectedHit]);
    assert_eq!(outcome.fact("valid_after_delete"), 199);
    assert_ne!(Some(outcome.answer.digest), job("rows=200").known_digest());
}

#[test]
fn one_register_for_all_keys_is_the_value_of_other_rows() {
    let (mut register, mut gone) = (None, std::collections::BTreeSet::new());
    let mut store = |request: &Request| match request {
        Request::Put(_, value) => {
            register = Some(value.clone());
            Response::Done
        }
        // Even one that knows which keys were deleted.
        Request::Get(key) if gone.contains(key) => Response::Missing,
        Request::Get(_) => register.clone().map_or(Response::Missing, Response::Value),
        Request::Delete(key) => {
            gone.insert(key.clone());
            Response::Done
        }
        other => panic!("{other:?}"),
    };
    let outcome = run(&*job("rows=200"), &mut store, everything(), 4, Turns::Random(5));
    assert_eq!(outcome.kinds(), [ReasonKind::WrongKey]);
    assert_eq!(outcome.reasons[0].count, 2 * 199, "each row but the last one written, after insert and update");
    assert!(outcome.reasons[0].example.contains("the value of row "), "{:?}", outcome.reasons);
    assert_ne!(Some(outcome.answer.digest), job("rows=200").known_digest());
}

#[test]
fn rows_that_were_there_before_an_add_are_found() {
    let mut memory = Memory::default();
    memory.put(b"5", b"somebody's");
    let outcome = run(&*job("rows=10 insert=add"), &mut memory, everything(), 2, Turns::OneByOne);
    assert!(outcome.kinds().contains(&ReasonKind::UnexpectedHit), "{:?}", outcome.reasons);
    let lacking = Capabilities { native: store::OperationSet::BASIC, ..everything() };
    assert_eq!(job("insert=add").suits(&lacking).unwrap(), ["add by put"]);
}

#[test]
fn parameters_that_cannot_be_are_refused_with_those_that_can() {
    assert!(prepare("rows=0").err().unwrap().contains("1 to 1000000000000000"));
    assert!(prepare("insert=upsert").err().unwrap().contains("put or add"));
    let narrow = Capabilities { max_key_bytes: 4, ..everything() };
    assert!(job("rows=10000").suits(&narrow).is_ok());
    assert!(job("rows=10001").suits(&narrow).unwrap_err().to_string().contains("another store"));
}
