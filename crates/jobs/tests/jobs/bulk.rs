//! The bulk job against known answers, on honest stores with and without batches, scans and reductions, and on stores that lie.
#![allow(clippy::unwrap_used)]

use crate::harness;

use harness::{Backend, Memory, Outcome, Request, Response, Turns, everything, nothing, run};
use jobkit::Job;
use kvtrial_jobs as jobs;
use store::{Capabilities, OperationKind, OperationSet};
use study::ReasonKind;

fn prepare(data: Option<&str>, set: &str) -> Result<Box<dyn Job>, String> {
    let pair = |word: &str| word.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned())).unwrap();
    let set: Vec<_> = set.split_whitespace().map(pair).collect();
    jobs::prepare(jobs::find("bulk").unwrap(), data.map(str::to_owned), &set, 42).map_err(|error| error.to_string())
}

fn job(set: &str) -> Box<dyn Job> {
    prepare(Some("geonames-1k"), set).unwrap()
}

/// Answers of `tests/oracle/bulk.py`, which shares no code with kvtrial.
fn known(name: &str, fact: &str) -> String {
    let path = format!("{}/tests/answers/bulk_{name}.json", env!("CARGO_MANIFEST_DIR"));
    let answers: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    answers[fact].as_str().map_or_else(|| answers[fact].to_string(), str::to_owned)
}

fn only(kinds: &[OperationKind]) -> Capabilities {
    Capabilities { native: OperationSet::BASIC.and(kinds), ..Capabilities::BASIC }
}

#[test]
fn the_known_digests_are_those_of_the_oracle() {
    for (data, name) in [("geonames-1k", "geonames_1k"), ("geonames-20k", "geonames_20k")] {
        for scheme in ["sequential", "random"] {
            let job = prepare(Some(data), &format!("ids={scheme}")).unwrap();
            let digest = known(name, &format!("sha256_{scheme}"));
            assert_eq!(job.known_digest(), Some(format!("sha256:{digest}")), "{data} {scheme}");
        }
    }
}

#[test]
fn every_document_arrives_in_batches_of_any_size_with_any_number_of_slots() {
    for (batch, ids) in [(1, "random"), (7, "sequential"), (100, "random"), (20_000, "sequential")] {
        let job = job(&format!("batch={batch} ids={ids}"));
        for (slots, turns) in [(1, Turns::OneByOne), (16, Turns::Random(1))] {
            for store in [everything(), only(&[]), only(&[OperationKind::PutMany]), only(&[OperationKind::GetMany])] {
                let outcome = run(&*job, &mut Memory::default(), store.clone(), slots, turns);
                assert_eq!(outcome.reasons, [], "{batch} {slots}");
                assert_eq!(Some(outcome.answer.digest.clone()), job.known_digest(), "{batch} {slots}");
                let single = batch == 1 || !store.has(OperationKind::PutMany);
                assert_eq!(outcome.operations[0], if single { 1000 } else { 1000u64.div_ceil(batch) });
                for (fact, name) in [("sha256_groups", "sha256_groups"), ("sum", "sum"), ("groups", "groups")] {
                    let found = outcome.fact(fact);
                    let found = found.as_str().map_or_else(|| found.to_string(), str::to_owned);
                    assert_eq!(found, known("geonames_1k", name), "{fact}");
                }
            }
        }
    }
}

#[test]
fn what_a_store_lacks_is_named() {
    let job = job("batch=10");
    assert_eq!(job.suits(&everything()).unwrap(), ["reduce by scan"]);
    assert_eq!(job.suits(&only(&[])).unwrap(), ["put_many by put", "reduce by get"]);
    assert_eq!(self::job("batch=1 reduce=none").suits(&only(&[])).unwrap(), [""; 0]);
}

#[test]
fn a_store_that_keeps_nothing_is_only_loaded() {
    let outcome = run(&*job("batch=10"), &mut |_: &Request| Response::Done, nothing(), 4, Turns::Random(4));
    assert_eq!((outcome.reasons, outcome.answer.digest.as_str(), outcome.operations), (vec![], "", vec![100]));
}

/// Runs on a store whose answers `lie` may change.
fn run_with_lies(set: &str, mut lie: impl FnMut(&Request, &mut Memory) -> Option<Response>) -> Outcome {
    let mut memory = Memory::default();
    let mut store = |request: &Request| lie(request, &mut memory).unwrap_or_else(|| memory.answer(request));
    run(&*job(set), &mut store, everything(), 4, Turns::Random(5))
}

/// How often a kind of reason was seen, by workers and by the answer.
fn count(outcome: &Outcome, kind: ReasonKind) -> u64 {
    outcome.reasons.iter().filter(|reason| reason.kind == kind).map(|reason| reason.count).sum()
}

#[test]
fn a_batch_that_loses_its_last_document_is_found_and_each_loss_counted() {
    let outcome = run_with_lies("batch=50", |request, memory| match request {
        Request::PutMany(pairs) => Some(memory.answer(&Request::PutMany(pairs[..49].to_vec()))),
        _ => None,
    });
    assert_eq!(count(&outcome, ReasonKind::UnexpectedMiss), 20, "{:?}", outcome.reasons);
    assert!(
        outcome.kinds().contains(&ReasonKind::WrongAnswer),
        "the reduction must be wrong as well: {:?}",
        outcome.reasons
    );
    assert_ne!(Some(outcome.answer.digest.clone()), job("batch=50").known_digest());
    assert_eq!(outcome.fact("documents_valid"), 980);
}

#[test]
fn one_changed_byte_in_one_document_is_found_with_its_place() {
    let outcome = run_with_lies("batch=50 reduce=none", |request, memory| match request {
        Request::PutMany(pairs) => {
            let mut pairs = pairs.clone();
            for (key, value) in &mut pairs {
                if key == b"0000000777" {
                    value[17] ^= 1;
                }
            }
            Some(memory.answer(&Request::PutMany(pairs)))
        }
        _ => None,
    });
    let reason = outcome.reason(ReasonKind::WrongValue);
    assert_eq!(reason.count, 1);
    assert!(reason.example.contains("0000000777") && reason.example.contains("byte 17"), "{}", reason.example);
}

#[test]
fn a_refused_batch_is_counted_with_its_first_document() {
    let mut batches = 0;
    let outcome = run_with_lies("batch=100", |request, _| match request {
        Request::PutMany(_) => {
            batches += 1;
            (batches == 3).then_some(Response::Refused("disk full"))
        }
        _ => None,
    });
    let reason = outcome.reason(ReasonKind::Refused);
    assert!(reason.count == 1 && reason.example.contains("disk full"), "{reason:?}");
    // What was never promised is no loss, and is accounted for.
    assert_eq!(outcome.kinds(), [ReasonKind::Refused]);
    let account = outcome.account.unwrap();
    assert_eq!((account.lost, account.failed_absent, account.failed_present), (0, 100, 0));
    assert_eq!(outcome.fact("documents_valid"), 900);
}

#[test]
fn a_scan_that_turns_in_circles_ends() {
    let outcome = run_with_lies("", |request, memory| match request {
        Request::Scan(_, limit) => Some(memory.answer(&Request::Scan(Vec::new(), *limit))),
        _ => None,
    });
    // The first page holds all 1,000 documents, and a second one nobody needs.
    assert_eq!(outcome.reasons, []);
    let outcome = run(
        &*prepare(Some("gen:3000:42"), "").unwrap(),
        &mut {
            let mut memory = Memory::default();
            move |request: &Request| match request {
                Request::Scan(_, limit) => memory.answer(&Request::Scan(Vec::new(), *limit)),
                other => memory.answer(other),
            }
        },
        everything(),
        2,
        Turns::OneByOne,
    );
    assert!(outcome.reason(ReasonKind::WrongReply).example.contains("did not go on"), "{:?}", outcome.reasons);
}

#[test]
fn parameters_and_documents_that_cannot_be_are_refused_with_the_remedy() {
    let refused = |set: &str| prepare(Some("geonames-1k"), set).err().unwrap();
    assert!(refused("batch=0").contains("1 to 20000") && refused("batch=20001").contains("1 to 20000"));
    assert!(refused("ids=rising").contains("sequential, random, own or field:NAME"));
    assert!(refused("ids=field:a'b").contains("origin.iata"));
    assert!(refused("reduce=countrycode").contains("GROUP:SUM"));
    let message = refused("reduce=name:latitude");
    assert!(message.contains("line 1") && message.contains("'latitude'") && message.contains("integer"), "{message}");
    let message = refused("reduce=nowhere:population");
    assert!(message.contains("has no field 'nowhere'") && message.contains("countrycode"), "{message}");
    let small = Capabilities { max_value_bytes: 300, ..everything() };
    let message = job("").suits(&small).unwrap_err().to_string();
    assert!(message.contains("geonames-1k, line ") && message.contains("at most 300"), "{message}");
    let short = Capabilities { max_key_bytes: 16, ..everything() };
    assert!(job("").suits(&short).is_ok() && job("ids=random").suits(&short).is_err());
}
