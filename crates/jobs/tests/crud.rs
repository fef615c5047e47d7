//! The crud job on an honest store with any interleaving, and on stores that lie.
#![allow(clippy::unwrap_used)]

mod harness;

use engine::Job;
use harness::{Backend, Memory, Outcome, Request, Response, Turns, everything, nothing, run};
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
    // (seq 0 999 | awk '{print "insert\t" $1 "\t1234567890ABCDEF"; print "update\t" $1 "\t00012312301230"; print "delete\t" $1
    // "\tmissing"}') | LC_ALL=C sort | sha256sum
    let known = "sha256:348f8d6ff3336195295f440a9a0701210997f80d8bfd6ebd57008f3cf80c8c1c";
    assert_eq!(job("rows=1000").known_digest().as_deref(), Some(known));
}

#[test]
fn no_phase_takes_the_rows_in_rising_order_and_no_two_in_the_same() {
    let mut orders: BTreeMap<&str, Vec<Vec<u8>>> = BTreeMap::new();
    let (mut memory, mut updates) = (Memory::default(), false);
    let mut store = |request: &Request| {
        let (phase, key) = match request {
            Request::Put(key, value) if value == b"1234567890ABCDEF" => ("insert", key),
            Request::Put(key, value) if value == b"00012312301230" => {
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
fn an_insert_an_update_and_a_delete_that_did_nothing_are_told_apart() {
    let outcome = run_with_lies("rows=200", |request, _| match request {
        Request::Put(key, value) if key == b"17" && value == b"1234567890ABCDEF" => Some(Response::Done),
        _ => None,
    });
    assert!(outcome.reason(ReasonKind::UnexpectedMiss).example.starts_with("key 17"), "{:?}", outcome.reasons);
    assert_eq!(outcome.fact("valid_after_insert"), 199);

    let outcome = run_with_lies("rows=200", |request, _| match request {
        Request::Put(key, value) if key == b"18" && value == b"00012312301230" => Some(Response::Done),
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
    assert!(prepare("rows=0").err().unwrap().contains("1 to 1000000000"));
    assert!(prepare("insert=upsert").err().unwrap().contains("put or add"));
    let narrow = Capabilities { max_key_bytes: 4, ..everything() };
    assert!(job("rows=10000").suits(&narrow).is_ok());
    assert!(job("rows=10001").suits(&narrow).unwrap_err().to_string().contains("another store"));
}
