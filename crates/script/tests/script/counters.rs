//! Counters: several clients count without more ado, and every sum is exact; what they cannot be is said by name.
#![allow(clippy::unwrap_used)]

use crate::common;
use crate::harness;

use common::opened;
use harness::{Backend, Memory, Outcome, Request, Response, Turns, everything, run};
use jobkit::TrialSetup;
use store::{Capabilities, Counter, Overflow};
use study::ReasonKind;

fn ran(text: &str, slots: u32, turns: Turns) -> Outcome {
    run(opened(text, None, &[]).unwrap().as_ref(), &mut Store::default(), everything(), slots, turns)
}

/// An honest store, which deletes counters and records, too.
#[derive(Default)]
struct Store(Memory);

impl Backend for Store {
    fn answer(&mut self, request: &Request) -> Response {
        match request {
            Request::Delete(key) => {
                let counted = self.0.forget_counts(key);
                match self.0.answer(request) {
                    Response::Missing if counted => Response::Done,
                    reply => reply,
                }
            }
            _ => self.0.answer(request),
        }
    }
}

const TOGETHER: &str = "
function run(client)
  for turn = 1, 30 do
    local sum = kv.increment('all', turn % 3 - 1)
    kv.expect(sum > -400 and sum < 400, 'a number')
    kv.increment('up')
    kv.get_counter('all')
    kv.increment_field('record', 'field ' .. turn % 4, 2)
    kv.increment_field('record', '', -1)
  end
end
function answer()
  kv.say(kv.get_counter('all'), kv.get_counter('up'))
  local fields = kv.get_fields('record')
  kv.say(fields[''], fields['field 0'])
end
";

#[test]
fn several_clients_count_up_and_down_without_saying_that_they_share_and_every_sum_is_exact() {
    let alone = ran(TOGETHER, 6, Turns::OneByOne);
    assert_eq!(alone.reasons, []);
    for seed in 0..100 {
        let outcome = ran(TOGETHER, 6, Turns::Random(seed));
        assert_eq!((outcome.reasons.as_slice(), &outcome.answer.digest), (&[][..], &alone.answer.digest), "{seed}");
    }
}

#[test]
fn a_number_beyond_what_was_sent_is_found_also_where_others_count_down_at_the_same_time() {
    for (number, seed) in [(31, 1), (-31, 2), (1000, 3), (-1000, 4)] {
        let mut memory = Memory::default();
        let mut asked = 0;
        let mut store = |request: &Request| {
            asked += u32::from(matches!(request, Request::Increment(..)));
            match request {
                Request::Increment(..) if asked == 20 => Response::Number(number),
                other => memory.answer(other),
            }
        };
        let text = "function run(client) for turn = 1, 10 do kv.increment('c', turn % 2 * 2 - 1) end end";
        let job = opened(text, None, &[]).unwrap();
        let outcome = run(job.as_ref(), &mut store, everything(), 3, Turns::Random(seed));
        assert!(outcome.kinds().contains(&ReasonKind::WrongNumber), "{number}: {:?}", outcome.reasons);
    }
}

#[test]
fn a_deleted_counter_begins_at_nothing_and_accuses_nobody_whoever_counts_meanwhile() {
    let alone = "function run(client)
      local own, record = 'c' .. client.number, 'r' .. client.number
      kv.increment(own, 5) kv.increment_field(record, 'a', 5)
      kv.expect(kv.delete(own) == true and kv.delete(record) == true, 'it was there')
      kv.expect(kv.get_counter(own) == nil and next(kv.get_fields(record)) == nil, 'it is gone')
      kv.expect(kv.increment(own, 2) == 2 and kv.increment_field(record, 'a', 3) == 3, 'it begins at nothing')
      kv.increment('gone' .. client.number) kv.delete('gone' .. client.number)
      kv.delete('never' .. client.number) kv.increment('never' .. client.number)
    end";
    assert_eq!(ran(alone, 5, Turns::Random(1)).reasons, []);
    let crossed = "function run(client)
      for turn = 1, 40 do
        if kv.random(9) == 1 then kv.delete('hits') kv.delete('record') end
        kv.increment('hits', kv.random(3) - 2)
        kv.increment_field('record', 'f' .. kv.random(3))
        kv.get_counter('hits')
      end
    end";
    for seed in 0..200 {
        assert_eq!(ran(crossed, 1 + seed as u32 % 5, Turns::Random(seed)).reasons, [], "{seed}");
    }
}

#[test]
fn a_counter_that_a_store_forgets_to_delete_is_found() {
    let text = "function run(client) kv.increment('c', 5) kv.delete('c') kv.increment('c') end";
    let mut memory = Memory::default();
    let mut store = |request: &Request| match request {
        Request::Delete(_) => Response::Done,
        other => memory.answer(other),
    };
    let outcome = run(opened(text, None, &[]).unwrap().as_ref(), &mut store, everything(), 1, Turns::OneByOne);
    assert!(outcome.kinds().contains(&ReasonKind::WrongNumber), "{:?}", outcome.reasons);
}

#[test]
fn a_key_that_is_a_counter_and_a_value_is_refused_with_the_line_and_not_held_against_the_store() {
    for (line, says) in [
        ("kv.put('k', 'v') kv.increment('k')", "key k is a value"),
        ("kv.increment('k') kv.put('k', 'v')", "key k is a counter"),
        ("kv.increment('k') kv.append('k', 'v')", "key k is a counter"),
        ("kv.increment('k') kv.cas('k', nil, 'v')", "key k is a counter"),
        ("kv.increment('k') kv.put_many({k = 'v', l = 'v'})", "key k is a counter"),
        ("kv.increment('k') kv.get('k')", "kv.get_counter reads it"),
        ("kv.increment('k') kv.get_many({'k', 'l'})", "kv.get_counter reads it"),
        ("kv.put('k', 'v') kv.get_counter('k')", "kv.get reads it"),
        ("kv.increment_field('k', 'f') kv.increment('k')", "key k is a record of counters"),
        ("kv.increment('k') kv.increment_field('k', 'f')", "key k is a counter"),
        ("kv.put('k', '1') kv.get_fields('k')", "key k is a value"),
    ] {
        let mut store = |request: &Request| match request {
            // As Redis has it: a counter is a value, too.
            Request::Get(_) => Response::Value(b"1".to_vec()),
            Request::GetMany(keys) => Response::Rows(vec![(keys[0].clone(), b"1".to_vec())]),
            Request::Increment(..) | Request::IncrementField(..) | Request::GetCounter(_) => Response::Number(1),
            Request::GetVersioned(_) => Response::Missing,
            _ => Response::Done,
        };
        let job = opened(&format!("function run(client)\n  {line}\nend"), None, &[]).unwrap();
        let outcome = run(job.as_ref(), &mut store, everything(), 1, Turns::OneByOne);
        let reason = outcome.reason(ReasonKind::ScriptFailed);
        assert!(reason.example.contains(says) && reason.example.contains("test.lua:2"), "{line}: {}", reason.example);
    }
}

fn narrow() -> Capabilities {
    Capabilities { counter: Some(Counter { min: 0, max: i64::MAX, overflow: Overflow::Refused }), ..everything() }
}

#[test]
fn a_counter_that_would_leave_the_range_of_the_store_is_refused_before_the_run_or_by_name_in_it() {
    let below = opened("function run(client)\n  kv.increment('c')\n  kv.increment('c', -2)\nend", None, &[]).unwrap();
    let refused = below.suits(&narrow()).unwrap_err().0;
    assert!(refused.contains("test.lua:3: counter c may come to -1; counters of this store go from 0 to"), "{refused}");
    assert!(below.suits(&everything()).is_ok());
    // Only in some order of two clients, which one client does not come to.
    let crossed = "function run(client) kv.increment('c') kv.increment('c', -1) end";
    let crossed = opened(crossed, None, &[]).unwrap();
    assert!(crossed.suits(&narrow()).is_ok());
    // One client does not come there, either. Lua itself counts to below 2^53.
    let beyond = "function run(client) kv.increment('c', 600000) end";
    let job = opened(beyond, None, &[]).unwrap();
    let million = Counter { min: 0, max: 1_000_000, overflow: Overflow::Refused };
    let small = Capabilities { counter: Some(million), ..everything() };
    let outcome = run(job.as_ref(), &mut Memory::default(), small, 2, Turns::OneByOne);
    let reason = outcome.reason(ReasonKind::ScriptFailed);
    assert!(reason.example.contains("counter c may come to 1200000"), "{}", reason.example);
}

#[test]
fn several_clients_that_count_on_a_store_without_counters_hear_why_each_counter_needs_its_own() {
    let job = opened("function run(client)\n  kv.increment('c')\nend", None, &[]).unwrap();
    let without = Capabilities { counter: None, ..Capabilities::BASIC };
    assert_eq!(job.suits(&without), Ok(vec!["increment"]));
    assert_eq!(run(job.as_ref(), &mut Memory::default(), without.clone(), 1, Turns::OneByOne).reasons, []);
    let outcome = run(job.as_ref(), &mut Memory::default(), without, 2, Turns::OneByOne);
    let reason = outcome.reason(ReasonKind::ScriptFailed);
    assert!(reason.example.contains("test.lua:2: key c is written by client 2"), "{}", reason.example);
    assert!(
        reason.example.contains("no counters of its own: kv.increment is a get and a put here"),
        "{}",
        reason.example
    );
}

#[test]
fn counters_that_are_deleted_are_not_among_the_keys_that_are_left() {
    let text = "function run(client)
      kv.put('v', 'v') kv.increment('a') kv.increment('b') kv.delete('a')
      kv.increment_field('r', 'f') kv.increment_field('s', 'f') kv.delete('s')
    end";
    let job = opened(text, None, &[]).unwrap();
    let trial = job.trial(&TrialSetup::alone(1, everything(), 1));
    let mut worker = trial.worker(0, 0..1);
    let mut store = Store::default();
    while let jobkit::Step::Operation(operation) = worker.next(0) {
        let request = Request::of(&operation);
        store.answer(&request).hand_over(|reply| worker.reply(0, reply)).unwrap();
    }
    assert_eq!(trial.keys_left(), Some(3));
}
