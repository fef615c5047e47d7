//! The append job against known answers, by its own append and by rewriting, and against stores that lie.
#![allow(clippy::unwrap_used)]

use crate::harness;

use harness::{Backend, Memory, Request, Response, Turns, everything, nothing, run};
use jobkit::Job;
use kvtrial_jobs as jobs;
use store::{Capabilities, OperationKind, OperationSet};
use study::ReasonKind;

/// Answers of `tests/oracle/append.py` on the events of an independent generator.
const GEN_1000_7: &str = "sha256:309cc2785568f6644313b62a256a84240af1aa1b4b1d01493860ac701ae01de4";
const GEN_20000_42: &str = "sha256:38721726c8b6bcd2049d50bf4bd39b5f0ed0d1cea3286054f6eeab2ac820b71b";

fn job(data: &str, set: &[(&str, &str)]) -> Box<dyn Job> {
    let set: Vec<_> = set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    jobs::prepare(jobs::find("append").unwrap(), Some(data.into()), &set, 42).unwrap()
}

#[test]
fn the_answer_is_that_of_an_unrelated_script_however_it_is_run() {
    assert_eq!(job("gen:20000:42", &[]).known_digest().as_deref(), Some(GEN_20000_42));
    for method in ["native", "rewrite"] {
        let job = job("gen:1000:7", &[("append", method)]);
        for (slots, turns) in
            [(1, Turns::OneByOne), (3, Turns::Random(1)), (16, Turns::Random(2)), (300, Turns::Random(3))]
        {
            let mut store = Memory::default();
            let outcome = run(&*job, &mut store, everything(), slots, turns);
            assert_eq!(
                (outcome.answer.digest.as_str(), &outcome.reasons[..]),
                (GEN_1000_7, &[][..]),
                "{method}, {slots}"
            );
            assert_eq!(outcome.planned.iter().map(|count| count.unwrap()).collect::<Vec<_>>(), outcome.operations);
            assert_eq!(
                (outcome.fact("keys_read_back"), outcome.fact("value_bytes_read_back")),
                (&1000.into(), &55_392.into())
            );
            assert_eq!(outcome.logical_bytes, 1000 * 8 + 55_392);
        }
    }
}

#[test]
fn a_store_without_append_gets_it_emulated_and_named_and_too_small_values_are_refused() {
    let basic = Capabilities { native: OperationSet::BASIC, ..everything() };
    let job_ = job("gen:1000:7", &[]);
    assert_eq!(job_.suits(&basic), Ok(vec!["append"]));
    assert_eq!(job_.suits(&everything()), Ok(vec![]));
    let native = job("gen:1000:7", &[("append", "native")]);
    assert!(native.suits(&basic).unwrap_err().0.contains("append=rewrite"));
    let small = Capabilities { max_value_bytes: 1000, ..everything() };
    assert!(job_.suits(&small).unwrap_err().0.contains("16384 bytes"));
    assert!(!basic.has(OperationKind::Append));
}

#[test]
fn a_null_store_is_never_checked_and_a_sample_says_that_it_is_one() {
    let mut void = |request: &Request| match request {
        Request::Get(_) => Response::Missing,
        _ => Response::Done,
    };
    let outcome = run(&*job("gen:1000:7", &[]), &mut void, nothing(), 2, Turns::OneByOne);
    assert_eq!((outcome.operations.len(), outcome.reasons, outcome.answer.digest.as_str()), (1, vec![], ""));
    let sampled = job("gen:1000:7", &[("verify", "sample")]);
    let outcome = run(&*sampled, &mut Memory::default(), everything(), 4, Turns::Random(5));
    assert_eq!((outcome.operations[1], outcome.fact("verified")), (10, &"1 key in 100".into()));
    assert!(outcome.answer.digest.is_empty() && sampled.known_digest().is_none());
}

/// A store that does one append of many wrongly.
struct Liar(Memory, u64, fn(&mut Memory, &Request));

impl Backend for Liar {
    fn answer(&mut self, request: &Request) -> Response {
        if matches!(request, Request::Append(..)) {
            self.1 += 1;
            if self.1 == 2000 {
                (self.2)(&mut self.0, request);
                return Response::Done;
            }
        }
        self.0.answer(request)
    }
}

#[test]
fn one_append_of_thousands_that_is_lost_doubled_or_wrong_is_found_with_its_key() {
    let double: fn(&mut Memory, &Request) = |memory, request| {
        memory.answer(request);
        memory.answer(request);
    };
    let garble: fn(&mut Memory, &Request) = |memory, request| {
        if let Request::Append(key, value) = request {
            memory.answer(&Request::Append(key.clone(), value.iter().map(|byte| byte ^ 1).collect()));
        }
    };
    let cases: [(fn(&mut Memory, &Request), &[ReasonKind]); 3] = [
        (|_, _| {}, &[ReasonKind::LostUpdates, ReasonKind::UnexpectedMiss]),
        (double, &[ReasonKind::WrongValue]),
        (garble, &[ReasonKind::WrongValue]),
    ];
    for (lie, kinds) in cases {
        let job = job("gen:1000:7", &[]);
        let outcome = run(&*job, &mut Liar(Memory::default(), 0, lie), everything(), 5, Turns::Random(9));
        assert_eq!(outcome.reasons.len(), 1, "{:?}", outcome.reasons);
        assert!(kinds.contains(&outcome.reasons[0].kind) && outcome.reasons[0].count == 1, "{:?}", outcome.reasons);
        assert!(outcome.answer.digest.starts_with("sha256:") && outcome.answer.digest != GEN_1000_7);
        assert_eq!(outcome.fact("keys_wrong"), &serde_json::Value::from(1));
    }
}

#[test]
fn refused_appends_are_counted_and_the_rest_goes_on() {
    let mut memory = Memory::default();
    let mut appends = 0;
    let mut full = |request: &Request| match request {
        Request::Append(..) if appends == 3000 => Response::Refused("OOM command not allowed"),
        _ => {
            appends += u32::from(matches!(request, Request::Append(..)));
            memory.answer(request)
        }
    };
    let outcome = run(&*job("gen:1000:7", &[]), &mut full, everything(), 8, Turns::Random(4));
    assert_eq!(outcome.reason(ReasonKind::Refused).count, 462);
    // What was never promised is no loss, but the answer is not that of all appends.
    assert_eq!(outcome.kinds(), [ReasonKind::Refused]);
    let account = outcome.account.unwrap();
    assert_eq!((account.lost, account.failed_absent, account.failed_present), (0, 462, 0));
    assert!(outcome.answer.digest != GEN_1000_7 && outcome.fact("keys_wrong").as_u64() > Some(0));
}

/// A store that says how long a value is after an append, as Redis does; `said` changes it.
fn run_with_lengths(data: &str, slots: u32, mut said: impl FnMut(&[u8], i64) -> i64) -> harness::Outcome {
    let mut memory = Memory::default();
    let mut store = |request: &Request| match (memory.answer(request), request) {
        (Response::Done, Request::Append(key, _)) => Response::Number(said(key, memory.values[key].0.len() as i64)),
        (other, _) => other,
    };
    run(&*job(data, &[]), &mut store, everything(), slots, Turns::Random(11))
}

#[test]
fn a_length_that_is_said_after_an_append_is_checked_and_a_wrong_one_found_with_its_key() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let lines: String = (0..3000).map(|event| format!("{},{event}\n", (event * 7919) % 401 * 1_000_003)).collect();
    std::fs::write(file.path(), lines).unwrap();
    for data in ["gen:1000:7", file.path().to_str().unwrap()] {
        for slots in [1, 5, 64] {
            let honest = run_with_lengths(data, slots, |_, bytes| bytes);
            assert_eq!(honest.reasons, [], "{data} {slots}");
            let appends = honest.operations[0];
            let seven = run_with_lengths(data, slots, |_, _| 7);
            assert_eq!((seven.kinds(), seven.reasons[0].count), (vec![ReasonKind::WrongNumber], appends));
            // A length that can be, but is that of another key or of another time.
            for wrong in [-16, 16] {
                let (mut asked, mut key_lied_about) = (0, Vec::new());
                let once = run_with_lengths(data, slots, |key, bytes| {
                    asked += u32::from(bytes > 16);
                    let lies = (asked, bytes > 16) == (300, true);
                    if lies {
                        key_lied_about = key.to_vec();
                    }
                    bytes + if lies { wrong } else { 0 }
                });
                let reason = once.reason(ReasonKind::WrongNumber);
                assert!(
                    reason.count <= 2 && reason.example.contains(&jobkit::printable(&key_lied_about)),
                    "{reason:?}"
                );
            }
        }
    }
}
