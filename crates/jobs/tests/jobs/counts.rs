//! The counts job against known answers, each way of incrementing, and against stores that lie.
#![allow(clippy::unwrap_used)]

use crate::harness;

use harness::{Backend, Memory, Request, Response, Turns, everything, nothing, run};
use jobkit::Job;
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

/// What increments answer is changed by `lie`, which gets the term, its count in all, and the right answer. With many slots.
fn answers_changed(
    increment: &str,
    slots: u32,
    mut lie: impl FnMut(&[u8], i64, i64) -> i64,
) -> (u64, harness::Outcome) {
    let mut totals = Memory::default();
    run(&*job("gen:500:42", "native"), &mut totals, everything(), 1, Turns::OneByOne);
    let (mut memory, mut told) = (Memory::default(), 0);
    let mut liar = |request: &Request| match (memory.answer(request), request) {
        (Response::Number(right), Request::Increment(key, 1)) => {
            let Response::Number(total) = totals.answer(&Request::GetCounter(key.clone())) else { panic!() };
            let said = lie(key, total, right);
            told += u64::from(said != right);
            Response::Number(said)
        }
        (other, _) => other,
    };
    let outcome = run(&*job("gen:500:42", increment), &mut liar, everything(), slots, Turns::Random(7));
    (told, outcome)
}

#[test]
fn one_wrong_answer_to_an_increment_is_found_with_its_term_however_many_slots_count_it() {
    for increment in ["native", "memcached"] {
        let mut asked = 0;
        let mut lied_about = Vec::new();
        let (told, outcome) = answers_changed(increment, 64, |term, total, right| {
            asked += i64::from(total > 20);
            if (total, asked) > (20, 700) && lied_about.is_empty() {
                lied_about = term.to_vec();
                return right % total + 1; // a number that another increment of it is answered
            }
            right
        });
        let reason = outcome.reason(ReasonKind::WrongNumber);
        assert_eq!((told, outcome.kinds(), reason.count), (1, vec![ReasonKind::WrongNumber], 1));
        assert!(reason.example.contains(&String::from_utf8(lied_about).unwrap()), "{reason:?}");
        assert_eq!(outcome.answer.digest, GEN_500_42, "every counter is right in the end");
    }
}

#[test]
fn wrong_answers_to_increments_are_found_also_when_nearly_half_of_all_are_wrong() {
    // Every answer is a number from 1 to the term's count, so none is wrong by itself.
    let mut asked = 0_i64;
    let (told, outcome) = answers_changed("native", 16, |_, total, right| {
        asked += 1;
        if asked % 2 == 0 { 1 + asked % total } else { right }
    });
    let reason = outcome.reason(ReasonKind::WrongNumber);
    assert!(told > 3000 && (200..=told).contains(&reason.count), "{told} were told: {reason:?}");
}

#[test]
fn a_get_of_the_memcached_way_that_says_less_than_was_acknowledged_is_found() {
    let (mut memory, mut counted) = (Memory::default(), 0);
    let mut liar = |request: &Request| match (memory.answer(request), request) {
        (Response::Number(count), Request::GetCounter(_)) if count > 100 && counted < 7 => {
            counted += 1;
            Response::Number(2)
        }
        (other, _) => other,
    };
    let outcome = run(&*job("gen:500:42", "memcached"), &mut liar, everything(), 8, Turns::Random(3));
    assert_eq!((outcome.kinds(), outcome.reasons[0].count, counted), (vec![ReasonKind::WrongNumber], 7, 7));
}

#[test]
fn an_increment_that_is_lost_or_done_twice_among_many_slots_is_found_in_what_increments_answer() {
    for by in [0, 2] {
        let (mut memory, mut increments) = (Memory::default(), 0);
        let mut liar = |request: &Request| {
            let mut request = request.clone();
            if let Request::Increment(_, amount) = &mut request {
                increments += 1;
                *amount = if increments == 9000 { by } else { *amount };
            }
            memory.answer(&request)
        };
        let outcome = run(&*job("gen:500:42", "native"), &mut liar, everything(), 32, Turns::Random(8));
        // Once in the answers, once when the counter is read back.
        let count: u64 = outcome.reasons.iter().map(|reason| reason.count).sum();
        assert_eq!(count, 2, "{:?}", outcome.reasons);
    }
}

#[test]
fn after_a_refused_increment_the_others_are_not_called_wrong() {
    let (mut memory, mut increments) = (Memory::default(), 0);
    let mut full = |request: &Request| {
        increments += 1;
        if increments == 5000 { Response::Refused("OOM command not allowed") } else { memory.answer(request) }
    };
    let outcome = run(&*job("gen:500:42", "native"), &mut full, everything(), 16, Turns::Random(2));
    assert_eq!(outcome.reason(ReasonKind::Refused).count, 1);
    assert!(outcome.reasons.iter().all(|reason| reason.kind != ReasonKind::WrongNumber), "{:?}", outcome.reasons);
}
