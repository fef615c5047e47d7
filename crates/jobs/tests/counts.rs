//! The counts job against known answers, each way of incrementing, and against stores that lie.
#![allow(clippy::unwrap_used)]

mod harness;

use engine::Job;
use harness::{Backend, Memory, Request, Response, Turns, everything, nothing, run};
use kvtrial_jobs as jobs;
use store::{Capabilities, OperationSet};
use study::ReasonKind;

/// Answers of `tests/oracle/counts.py`; the second on the messages of an independent generator.
const VADER: &str = "sha256:c584e96eb575f5d29c83293ead8448107741de6d6982af0dbafed5cb1bcd38f0";
const GEN_500_42: &str = "sha256:4662399b4f6d874c17ed9780dd318caa76cb9c1a2acdb21b0a5b2c6155af4272";

fn job(data: &str, increment: &str) -> Box<dyn Job> {
    let set = [("increment".to_owned(), increment.to_owned())];
    jobs::prepare(jobs::find("counts").unwrap(), Some(data.into()), &set, 42).unwrap()
}

#[test]
fn the_shipped_messages_have_the_answer_of_an_unrelated_script() {
    let outcome = run(&*job("vader", "native"), &mut Memory::default(), everything(), 1, Turns::OneByOne);
    assert_eq!((outcome.answer.digest.as_str(), outcome.reasons), (VADER, vec![]));
    assert_eq!(outcome.operations, [796_677, 236_135]);
}

#[test]
fn the_memcached_way_takes_a_get_an_add_for_each_new_term_and_an_increment() {
    let outcome = run(&*job("vader", "memcached"), &mut Memory::default(), everything(), 1, Turns::OneByOne);
    assert_eq!((outcome.answer.digest.as_str(), outcome.operations[0]), (VADER, 1_829_489));
}

#[test]
fn every_way_of_incrementing_gives_the_same_answer_with_any_number_of_slots() {
    for increment in ["native", "memcached", "rewrite"] {
        let job = job("gen:500:42", increment);
        assert_eq!(job.known_digest().as_deref(), Some(GEN_500_42));
        for (slots, turns) in [(1, Turns::OneByOne), (3, Turns::Random(1)), (64, Turns::Random(2))] {
            let outcome = run(&*job, &mut Memory::default(), everything(), slots, turns);
            assert_eq!(
                (outcome.answer.digest.as_str(), &outcome.reasons[..]),
                (GEN_500_42, &[][..]),
                "{increment} {slots}"
            );
            assert_eq!(outcome.fact("sum_of_counts"), &serde_json::Value::from(16_186));
            let planned = outcome.planned[0].unwrap();
            // Two slots may both find a term absent.
            assert!(outcome.operations[0] == planned || increment == "memcached" && slots > 1, "{outcome:?}");
        }
    }
}

#[test]
fn a_store_without_counters_is_rewritten_and_that_is_named() {
    let basic = Capabilities { native: OperationSet::BASIC, ..everything() };
    assert_eq!(job("gen:10:1", "auto").suits(&basic), Ok(vec!["increment"]));
    assert_eq!(job("gen:10:1", "auto").suits(&everything()), Ok(vec![]));
    assert!(job("gen:10:1", "native").suits(&basic).unwrap_err().0.contains("increment=rewrite"));
}

#[test]
fn a_null_store_is_never_checked() {
    let mut void = |request: &Request| match request {
        Request::Increment(_, by) => Response::Number(*by),
        _ => Response::Missing,
    };
    let outcome = run(&*job("gen:100:1", "auto"), &mut void, nothing(), 2, Turns::OneByOne);
    assert_eq!((outcome.operations.len(), outcome.reasons.len()), (1, 0));
}

#[test]
fn one_increment_that_is_lost_or_done_twice_is_found_once_in_the_run_and_once_at_the_end() {
    for by in [0, 2] {
        let (mut memory, mut increments) = (Memory::default(), 0);
        let mut liar = |request: &Request| match request {
            Request::Increment(key, _)
                if {
                    increments += 1;
                    increments == 9000
                } =>
            {
                memory.answer(&Request::Increment(key.clone(), by))
            }
            _ => memory.answer(request),
        };
        let outcome = run(&*job("gen:500:42", "native"), &mut liar, everything(), 1, Turns::OneByOne);
        let count: u64 = outcome.reasons.iter().map(|reason| reason.count).sum();
        assert_eq!(count, 2, "{:?}", outcome.reasons);
        assert!(outcome.kinds().contains(&ReasonKind::WrongNumber) && outcome.answer.digest != GEN_500_42);
    }
}
