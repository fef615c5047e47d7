//! The fans job against known answers, under every policy, and against stores that lie.
#![allow(clippy::unwrap_used)]

use crate::harness;

use harness::{Backend, Memory, Outcome, Request, Response, Turns, everything, nothing, run};
use jobkit::Job;
use kvtrial_jobs as jobs;
use serde_json::Value;
use store::{Capabilities, OperationSet};
use study::ReasonKind;

fn job(data: &str, policy: &str, variant: &str) -> Box<dyn Job> {
    let set = [("policy", policy), ("variant", variant)].map(|(name, value)| (name.to_owned(), value.to_owned()));
    jobs::prepare(jobs::find("fans").unwrap(), Some(data.into()), &set, 42).unwrap()
}

fn oracle(name: &str) -> Value {
    let path = format!("{}/tests/answers/fans_{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn digest(known: &Value) -> String {
    format!("sha256:{}", known["sha256_pairs"].as_str().unwrap())
}

/// Everything the answer says against everything the oracle says.
fn assert_right(outcome: &Outcome, known: &Value) {
    assert_eq!(outcome.reasons, []);
    assert_eq!(outcome.answer.digest, digest(known));
    let fans = format!("sha256:{}", known["sha256_fans"].as_str().unwrap());
    assert_eq!(outcome.fact("sha256_fans"), &Value::from(fans));
    for name in ["pages", "mentions", "pair_increments", "ordered_pairs", "top_page", "top_page_fans"] {
        assert_eq!(outcome.fact(name), &known[name], "{name}");
    }
}

fn assert_known(data: &str, name: &str, slots: u32, turns: Turns) {
    let (job, known, mut store) = (job(data, "partition", "blob"), oracle(name), Memory::default());
    assert_eq!(job.known_digest(), Some(digest(&known)), "the answer computed from the input alone");
    let outcome = run(&*job, &mut store, everything(), slots, turns);
    assert_right(&outcome, &known);
    let number = |name: &str| known[name].as_u64().unwrap();
    let read_back = number("final_value_bytes");
    assert_eq!(store.bytes_read, number("value_bytes_read") + read_back);
    assert_eq!(store.bytes_written, number("value_bytes_written"));
    assert_eq!((store.misses, store.hits), (number("pages"), number("mentions")));
    let planned: Vec<u64> = outcome.planned.iter().map(|count| count.unwrap()).collect();
    assert_eq!((&outcome.operations, outcome.operations.len()), (&planned, 2));
    let key_bytes: usize = store.values.keys().map(Vec::len).sum();
    assert_eq!(outcome.logical_bytes, read_back + key_bytes as u64);
}

#[test]
fn the_shipped_data_has_the_known_answer_and_the_known_sizes() {
    assert_known("debian-1k", "debian_1k", 1, Turns::OneByOne);
    assert_known("debian-10k", "debian_10k", 1, Turns::OneByOne);
}

#[test]
fn partitioned_slots_write_the_very_same_records_in_any_interleaving() {
    assert_known("debian-1k", "debian_1k", 16, Turns::Random(1));
    assert_known("debian-1k", "debian_1k", 256, Turns::Random(2));
    assert_known("debian-10k", "debian_10k", 16, Turns::Random(3));
}

#[test]
fn the_generated_data_has_the_known_answer() {
    assert_known("gen:10000:42", "gen_10000_42", 16, Turns::Random(4));
}

#[test]
fn every_policy_and_variant_comes_to_the_same_answer() {
    let known = oracle("debian_1k");
    for (policy, variant) in [("cas", "blob"), ("lock", "blob"), ("partition", "counters"), ("cas", "counters")] {
        for (slots, turns) in [(1, Turns::OneByOne), (16, Turns::Random(5)), (256, Turns::Random(6))] {
            let mut store = Memory::default();
            let outcome = run(&*job("debian-1k", policy, variant), &mut store, everything(), slots, turns);
            assert_right(&outcome, &known);
            assert_eq!(store.conflicts > 0, policy == "cas" && variant == "blob" && slots > 1, "{policy} {slots}");
        }
    }
    let alone = run(&*job("debian-1k", "none", "blob"), &mut Memory::default(), everything(), 1, Turns::OneByOne);
    assert_right(&alone, &known);
}

#[test]
fn without_a_policy_interleaved_slots_lose_updates_and_it_is_said_how_many() {
    let mut store = Memory::default();
    let outcome = run(&*job("debian-1k", "none", "blob"), &mut store, everything(), 8, Turns::Random(7));
    assert_eq!(outcome.kinds(), [ReasonKind::LostUpdates]);
    let lost = outcome.reason(ReasonKind::LostUpdates);
    // Counted here from the store's own records.
    let fans: u64 = store
        .values
        .values()
        .map(|(value, _)| serde_json::from_slice::<Value>(value).unwrap()["fans"].as_u64().unwrap())
        .sum();
    assert_eq!(lost.count, 5041 - fans);
    assert!(lost.count > 50, "{lost:?}");
    assert!(lost.example.contains(&format!("in all {} fans", lost.count)), "{lost:?}");
    assert_ne!(outcome.answer.digest, digest(&oracle("debian_1k")));
}

#[test]
fn a_store_that_keeps_nothing_is_neither_checked_nor_read_back() {
    let mut lost = |request: &Request| match request {
        Request::Get(_) => Response::Missing,
        _ => Response::Done,
    };
    let outcome = run(&*job("debian-1k", "partition", "blob"), &mut lost, nothing(), 4, Turns::Random(8));
    assert_eq!((outcome.reasons, outcome.answer.digest.as_str(), outcome.operations), (vec![], "", vec![2 * 5041]));
}

/// Runs debian-1k on a store whose answers `lie` may change; it sees the honest store before it has acted.
fn run_with_lies(policy: &str, mut lie: impl FnMut(&Request, &mut Memory) -> Option<Response>) -> Outcome {
    let mut memory = Memory::default();
    let mut store = |request: &Request| lie(request, &mut memory).unwrap_or_else(|| memory.answer(request));
    run(&*job("debian-1k", policy, "blob"), &mut store, everything(), 4, Turns::Random(9))
}

const EXACT: [&str; 2] = ["partition", "lock"];

#[test]
fn a_put_that_is_acknowledged_but_dropped_is_found_at_the_next_read() {
    for policy in EXACT {
        let mut puts = 0;
        let outcome = run_with_lies(policy, |request, _| match request {
            Request::Put(key, _) if key == b"libc6" => {
                puts += 1;
                (puts == 100).then_some(Response::Done)
            }
            _ => None,
        });
        let stale = outcome.reason(ReasonKind::StaleValue);
        assert_eq!(stale.count, 1, "{stale:?}");
        assert!(stale.example.contains("key libc6: a record with fans=99, after 100"), "{stale:?}");
        assert_eq!(outcome.reason(ReasonKind::LostUpdates).count, 1);
        assert_ne!(outcome.answer.digest, digest(&oracle("debian_1k")));
    }
}

#[test]
fn an_older_value_is_called_stale() {
    for policy in EXACT {
        let (mut kept, mut gets) = (None, 0);
        let outcome = run_with_lies(policy, |request, memory| match request {
            Request::Get(key) if key == b"python3" => {
                gets += 1;
                if gets == 10 {
                    kept = memory.values.get(key).map(|(value, _)| value.clone());
                }
                (gets == 20).then(|| Response::Value(kept.clone().unwrap()))
            }
            _ => None,
        });
        let stale = outcome.reason(ReasonKind::StaleValue);
        assert!(stale.count == 1 && stale.example.contains("key python3: a record with fans=9, after 19"), "{stale:?}");
    }
}

#[test]
fn another_keys_value_is_called_so_and_that_key_is_named() {
    for policy in EXACT {
        let mut gets = 0;
        let outcome = run_with_lies(policy, |request, memory| match request {
            Request::Get(key) if key == b"python3" => {
                gets += 1;
                let other = memory.values.get(&b"libc6"[..]).map(|(value, _)| value.clone());
                (gets == 20).then(|| Response::Value(other.unwrap()))
            }
            _ => None,
        });
        let wrong = outcome.reason(ReasonKind::WrongKey);
        assert!(wrong.count == 1 && wrong.example == "key python3: the record of libc6", "{wrong:?}");
    }
}

#[test]
fn a_changed_byte_a_cut_value_a_miss_and_a_failure_have_their_own_reasons() {
    for (lie, kind, words) in [
        (0, ReasonKind::WrongValue, "that was never written"),
        (1, ReasonKind::WrongValue, "not a record: expected"),
        (2, ReasonKind::UnexpectedMiss, "missing, after fans=19"),
        (3, ReasonKind::Refused, "out of memory"),
        (4, ReasonKind::Deadline, "no reply"),
        (5, ReasonKind::WrongReply, "unexpected reply"),
        (6, ReasonKind::WrongValue, "0 bytes, not a record"),
    ] {
        let mut gets = 0;
        let outcome = run_with_lies("partition", |request, memory| match request {
            Request::Get(key) if key == b"python3" => {
                gets += 1;
                let mut value = memory.values.get(key).map(|(value, _)| value.clone()).unwrap_or_default();
                (gets == 20).then(|| match lie {
                    0 => {
                        let at = value.iter().position(|byte| *byte == b'q').unwrap();
                        value[at] = b'Q';
                        Response::Value(value)
                    }
                    1 => Response::Value(value[..value.len() - 1].to_vec()),
                    2 => Response::Missing,
                    3 => Response::Refused("out of memory"),
                    4 => Response::Deadline,
                    5 => Response::Number(7),
                    _ => Response::Value(Vec::new()),
                })
            }
            _ => None,
        });
        let reason = outcome.reason(kind);
        assert!(reason.count == 1 && reason.example.starts_with("key python3: "), "{reason:?}");
        assert!(reason.example.contains(words), "{reason:?}");
        assert_ne!(outcome.answer.digest, digest(&oracle("debian_1k")), "{kind:?}");
    }
}

#[test]
fn under_compare_and_set_stale_lost_and_broken_values_are_found_too() {
    let mut gets = 0;
    let outcome = run_with_lies("cas", |request, memory| match request {
        Request::GetVersioned(key) if key == b"libc6" => {
            gets += 1;
            let (value, version) = memory.values.get(key)?.clone();
            match gets {
                100 => Some(Response::Versioned(br#"{"fans":1,"with":{}}"#.to_vec(), version)),
                110 => Some(Response::Versioned(value[1..].to_vec(), version + 1_000_000)),
                120 => Some(Response::Missing),
                _ => None,
            }
        }
        _ => None,
    });
    for kind in [ReasonKind::StaleValue, ReasonKind::WrongValue, ReasonKind::UnexpectedMiss] {
        let reason = outcome.reason(kind);
        assert!(reason.count == 1 && reason.example.starts_with("key libc6: "), "{reason:?}");
    }
    let mut sets = 0;
    let outcome = run_with_lies("cas", |request, _| match request {
        Request::CompareAndSet(key, ..) if key == b"libc6" => {
            sets += 1;
            (sets == 100).then_some(Response::Done)
        }
        _ => None,
    });
    assert!(outcome.kinds().contains(&ReasonKind::LostUpdates), "{:?}", outcome.reasons);
}

#[test]
fn a_failed_put_is_one_offence_and_not_a_row_of_them() {
    let mut puts = 0;
    let outcome = run_with_lies("partition", |request, _| match request {
        Request::Put(key, _) if key == b"libc6" => {
            puts += 1;
            (puts == 50).then_some(Response::Refused("OOM command not allowed"))
        }
        _ => None,
    });
    assert_eq!((outcome.kinds(), outcome.reasons[0].count), (vec![ReasonKind::Refused], 1));
    let account = outcome.account.unwrap();
    assert_eq!((account.lost, account.failed_absent, account.failed_present), (0, 1, 0));
}

#[test]
fn a_store_that_was_not_empty_is_noticed_at_the_first_read() {
    let mut memory = Memory::default();
    memory.put(b"libc6", br#"{"fans":7,"with":{}}"#);
    let outcome = run(&*job("debian-1k", "partition", "blob"), &mut memory, everything(), 4, Turns::Random(10));
    let hit = outcome.reason(ReasonKind::UnexpectedHit);
    assert!(hit.count == 1 && hit.example.contains("was the store empty?"), "{hit:?}");
    let wrong = outcome.reason(ReasonKind::WrongValue);
    assert!(wrong.example.contains("key libc6: fans=413, right is 406"), "{wrong:?}");
}

#[test]
fn what_is_wrong_only_at_the_end_is_found_by_reading_back() {
    for (lie, kind, words) in [
        (&br#"{"fans":1,"with":{"no-such-page":1}}"#[..], ReasonKind::ForeignData, "no-such-page"),
        (br#"{"fans":1,"with":{"libc6":1,"libc6":1}}"#, ReasonKind::WrongValue, "libc6 twice"),
        (br#"{"fans":1,"with":{"libc6":1000}}"#, ReasonKind::WrongValue, "is 1,000, right is"),
        (br#"{"fans":1000,"with":{}}"#, ReasonKind::WrongValue, "fans=1000, right is"),
        (br#"{"fans":1}"#, ReasonKind::WrongValue, "not a record"),
        (br#"{"fans":1,"with":{}}"#, ReasonKind::LostUpdates, "key python3: 1 fans of"),
    ] {
        let mut gets = 0;
        let python3 = 112;
        let outcome = run_with_lies("partition", |request, _| match request {
            Request::Get(key) if key == b"python3" => {
                gets += 1;
                (gets > python3).then(|| Response::Value(lie.to_vec()))
            }
            _ => None,
        });
        let reason = outcome.reason(kind);
        assert!(reason.example.contains(words), "{reason:?}");
        // Beside it only that the sums of both sides of some pair differ.
        assert!(
            outcome.kinds().iter().all(|other| [kind, ReasonKind::WrongAnswer].contains(other)),
            "{:?}",
            outcome.reasons
        );
        assert_ne!(outcome.answer.digest, digest(&oracle("debian_1k")));
    }
}

#[test]
fn a_wrong_answer_to_an_increment_is_found_whatever_the_policy_and_however_many_slots() {
    for policy in ["partition", "cas"] {
        for fields in [false, true] {
            let (mut memory, mut asked, mut told) = (Memory::default(), 0, 0);
            let mut store = |request: &Request| {
                let honest = memory.answer(request);
                let mine = matches!(request, Request::IncrementField(..)) == fields;
                match honest {
                    Response::Number(count @ 5..) if mine => {
                        asked += 1;
                        let lies = asked % 20 == 0 && told < 3;
                        told += u64::from(lies);
                        Response::Number(if lies { count - 3 } else { count })
                    }
                    other => other,
                }
            };
            let outcome = run(&*job("debian-1k", policy, "counters"), &mut store, everything(), 16, Turns::Random(1));
            assert_eq!(outcome.kinds(), [ReasonKind::WrongNumber], "{policy} {fields}: {:?}", outcome.reasons);
            // A page's own counter goes on from what was said, and is wrong again when the truth comes back.
            assert!(
                (3..=6).contains(&outcome.reasons[0].count) && told == 3,
                "{policy} {fields}: {:?}",
                outcome.reasons
            );
        }
    }
}

#[test]
fn wrong_counters_are_found_during_the_run_and_at_the_end() {
    let mut memory = Memory::default();
    let (mut fans, mut pairs) = (0, 0);
    let mut store = |request: &Request| match (memory.answer(request), request) {
        (Response::Number(number), Request::Increment(key, _)) if key == b"fans:libc6" => {
            fans += 1;
            Response::Number(number + i64::from(fans == 50))
        }
        (Response::Number(number), Request::IncrementField(key, ..)) if key == b"with:python3" => {
            pairs += 1;
            Response::Number(if pairs == 50 { 0 } else { number })
        }
        (Response::Rows(rows), Request::GetFields(key)) if key == b"with:perl" => Response::Rows(rows[1..].to_vec()),
        (response, _) => response,
    };
    let outcome = run(&*job("debian-1k", "partition", "counters"), &mut store, everything(), 4, Turns::Random(11));
    let wrong = outcome.reason(ReasonKind::WrongNumber);
    // The next true number does not fit the wrong one either.
    assert_eq!(wrong.count, 3, "{wrong:?}");
    let lost = outcome.reason(ReasonKind::LostUpdates);
    assert!(lost.example.contains("key perl: "), "{lost:?}");
}

#[test]
fn stores_that_cannot_do_the_job_are_refused_before_it_with_the_remedy() {
    let refusal = |policy: &str, variant: &str, store: Capabilities| {
        job("debian-10k", policy, variant).suits(&store).unwrap_err().to_string()
    };
    let small = Capabilities { max_value_bytes: 97_167, ..everything() };
    let words = refusal("partition", "blob", small.clone());
    assert!(words.contains("libc6 will grow to 97168 bytes") && words.contains("at most 97167"), "{words}");
    let fits = Capabilities { max_value_bytes: 97_168, ..everything() };
    assert_eq!(job("debian-10k", "partition", "blob").suits(&fits), Ok(vec![]));
    assert_eq!(job("debian-10k", "partition", "counters").suits(&small), Ok(vec![]));
    let words = refusal("partition", "blob", Capabilities { max_key_bytes: 20, ..everything() });
    assert!(words.contains("longest key has") && words.contains("at most 20"), "{words}");
    let basic = Capabilities { native: OperationSet::BASIC, ..everything() };
    let words = refusal("cas", "blob", basic.clone());
    assert!(words.contains("get_versioned, compare_and_set") && words.contains("policy=lock"), "{words}");
    let words = refusal("partition", "counters", basic);
    assert!(words.contains("increment_field") && words.contains("variant=blob"), "{words}");
}

#[test]
fn wrong_parameters_are_refused_with_the_possible_ones() {
    let fans = jobs::find("fans").unwrap();
    let refusal = |name: &str, value: &str| {
        jobs::prepare(fans, None, &[(name.to_owned(), value.to_owned())], 42).err().unwrap().to_string()
    };
    assert_eq!(refusal("policy", "hope"), "policy=hope is not possible; use partition, cas, lock or none");
    assert_eq!(refusal("variant", "xml"), "variant=xml is not possible; use blob or counters");
    assert_eq!(refusal("polcy", "cas"), "fans has no parameter 'polcy'. Did you mean policy? It has policy, variant");
}

#[test]
fn a_query_lists_the_correlated_pages_most_correlated_first() {
    let (mut store, known) = (Memory::default(), oracle("debian_10k"));
    run(&*job("debian-10k", "partition", "blob"), &mut store, everything(), 1, Turns::OneByOne);
    let query = jobs::find("fans").unwrap().extras.query.unwrap();
    let page = known["top_page"].as_str().unwrap();
    let value = &store.values[page.as_bytes()].0;
    assert_eq!(value.len() as u64, known["largest_value"].as_u64().unwrap());
    let line = (query.render)(page.as_bytes(), value).unwrap();
    assert!(line.starts_with(r#"{"page":"libc6","fans":3839,"with":[["libstdc++6",1333],"#), "{}", &line[..80]);
    let parsed: Value = serde_json::from_str(&line).unwrap();
    let with = parsed["with"].as_array().unwrap();
    assert_eq!(with.len() as u64, known["top_page_partners"].as_u64().unwrap());
    assert_eq!(with[..10], known["top10"].as_array().unwrap()[..]);
    let order = |pair: &Value| (std::cmp::Reverse(pair[1].as_u64()), pair[0].as_str().unwrap().to_owned());
    assert!(with.is_sorted_by_key(order));
    assert!((query.render)(b"x", b"{}").unwrap_err().contains("not a record"));
}

#[test]
fn pages_with_quotes_and_spaces_come_back_as_they_were() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("profiles.txt");
    std::fs::write(
        &path,
        "1: { fanof:['a \"b\\\\', 'käse & bier', \"it's\"] }\n2: { fanof:[\"it's\", 'a \"b\\\\'] }\n",
    )
    .unwrap();
    let (job, mut store) = (job(&path.display().to_string(), "cas", "blob"), Memory::default());
    let outcome = run(&*job, &mut store, everything(), 2, Turns::Random(12));
    assert_eq!((outcome.reasons, Some(outcome.answer.digest)), (vec![], job.known_digest()));
    let record: Value = serde_json::from_slice(&store.values[&b"it's"[..]].0).unwrap();
    assert_eq!(record, serde_json::json!({"fans": 2, "with": {"a \"b\\": 2, "käse & bier": 1}}));
    let query = jobs::find("fans").unwrap().extras.query.unwrap();
    let line = (query.render)(b"it's", &store.values[&b"it's"[..]].0).unwrap();
    assert_eq!(line, r#"{"page":"it's","fans":2,"with":[["a \"b\\",2],["käse & bier",1]]}"#);
}
