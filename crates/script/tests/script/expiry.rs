//! Scripts whose values have a time to live, on stores that keep it, on stores that lie, and on stores that let nothing expire.
#![allow(clippy::unwrap_used)]

use crate::bad_input::{failed, says};
use crate::common;
use crate::harness;

use common::opened;
use harness::{Backend, Memory, Outcome, Request, Response, Turns, everything, run};
use std::collections::HashMap;
use std::time::{Duration, Instant};
use store::{Capabilities, Expiry, OperationKind, OperationSet};
use study::ReasonKind;

/// Each client puts keys of its own with a time to live, reads them until they are gone, and touches and replaces others.
const SESSIONS: &str = "
function run(client)
  local name = function(what, i) return ('%s:%d:%d'):format(what, client.number, i) end
  for i = 1, 5 do
    kv.put(name('short', i), 'a', {ttl = 0.1})
    kv.put(name('touched', i), 'b', {ttl = 0.1})
    kv.touch(name('touched', i), 60)
    kv.put(name('kept', i), 'c', {ttl = 0.1})
    kv.put(name('kept', i), 'd')
  end
  for i = 1, 5 do
    while kv.get(name('short', i)) do end
    kv.expect(kv.get(name('touched', i)) == 'b' and kv.get(name('kept', i)) == 'd', 'it lasts')
    kv.expect(not kv.touch(name('short', i), 60), 'nothing is left to touch')
    kv.put(name('again', i), 'e', {ttl = 0.001})
    kv.put(name('again', i), 'f', {ttl = 60})
    kv.expect(kv.get(name('again', i)) == 'f', 'the second time counts')
  end
end
function answer() kv.say('done') end
";

/// Keeps values for their time to live, times `share`.
struct Mortal {
    memory: Memory,
    over: HashMap<Vec<u8>, Instant>,
    share: f64,
}

impl Mortal {
    fn new(share: f64) -> Mortal {
        Mortal { memory: Memory::default(), over: HashMap::new(), share }
    }

    fn lives(&mut self, key: &[u8], ttl_ms: u64) {
        let over = Instant::now() + Duration::from_millis(ttl_ms).mul_f64(self.share);
        self.over.insert(key.to_vec(), over);
    }
}

impl Backend for Mortal {
    fn answer(&mut self, request: &Request) -> Response {
        let (Request::Get(key)
        | Request::Touch(key, _)
        | Request::TimeLeft(key)
        | Request::GetVersioned(key)
        | Request::Delete(key)) = request
        else {
            match request {
                Request::PutTtl(key, value, ttl_ms) => {
                    self.memory.put(key, value);
                    self.lives(key, *ttl_ms);
                    return Response::Done;
                }
                Request::Put(key, _) => drop(self.over.remove(key)),
                _ => {}
            }
            return self.memory.answer(request);
        };
        if self.over.get(key).is_some_and(|over| *over <= Instant::now()) {
            self.over.remove(key);
            self.memory.values.remove(key);
        }
        match request {
            Request::Touch(key, ttl_ms) if self.memory.values.contains_key(key) => {
                self.lives(key, *ttl_ms);
                Response::Done
            }
            Request::Touch(..) => Response::Missing,
            Request::TimeLeft(key) if self.over.contains_key(key) => {
                Response::Number(self.over[key].saturating_duration_since(Instant::now()).as_millis() as i64)
            }
            other => self.memory.answer(other),
        }
    }
}

fn exact() -> Capabilities {
    Capabilities { expiry: Some(Expiry { early_ms: 0, late_ms: 5, ..Expiry::IN_MS }), ..everything() }
}

fn run_on(store: &mut dyn Backend, capabilities: Capabilities, text: &str) -> Outcome {
    run(opened(text, None, &[]).unwrap().as_ref(), store, capabilities, 4, Turns::Random(5))
}

#[test]
fn what_expires_is_gone_in_its_time_and_what_was_touched_or_put_again_lasts() {
    let outcome = run_on(&mut Mortal::new(1.0), exact(), SESSIONS);
    assert_eq!(outcome.reasons, []);
    assert!(outcome.fact("expired_reads").as_u64().unwrap() >= 20, "{:?}", outcome.answer);
}

#[test]
fn a_store_that_lets_nothing_expire_has_the_moment_in_the_value_and_is_swept_by_reading_back() {
    let capabilities = Capabilities { native: OperationSet::LASTING, expiry: None, ..everything() };
    let mut store = Memory::default();
    let outcome = run_on(&mut store, capabilities, SESSIONS);
    assert_eq!(outcome.reasons, []);
    assert_eq!(store.values.keys().filter(|key| key.starts_with(b"short")).count(), 0, "they were swept");
    assert_eq!(store.values.keys().filter(|key| key.starts_with(b"touched")).count(), 20);
}

#[test]
fn a_store_without_expiry_that_compares_and_sets_replaces_what_is_over() {
    let text = "
function run(client)
  local key = 'k' .. client.number
  kv.put(key, 'old', {ttl = 0.001})
  while kv.get(key) do end
  kv.expect(kv.cas(key, nil, 'new'), 'what is over is as good as gone')
  kv.expect(kv.get(key) == 'new', 'and replaced')
end
function answer() kv.say('done') end";
    for capabilities in [exact(), Capabilities { native: OperationSet::LASTING, expiry: None, ..everything() }] {
        let is_native = capabilities.expiry.is_some();
        let outcome = match is_native {
            true => run_on(&mut Mortal::new(1.0), capabilities, text),
            false => run_on(&mut Memory::default(), capabilities, text),
        };
        assert_eq!(outcome.reasons, [], "{is_native}");
    }
}

/// Asks what is left of each kind of key.
const LEFT: &str = "
function run(client)
  local key = 'k' .. client.number
  kv.expect(kv.ttl(key) == nil, 'there is none')
  kv.put(key, 'v', {ttl = 0.05})
  local left = kv.ttl(key)
  kv.expect(left == nil or left > 0 and left <= 0.06, 'left of 0.05 s: ' .. tostring(left))
  while kv.ttl(key) do end
  kv.put(key, 'w')
  kv.expect(kv.ttl(key) == nil, 'it lasts')
  kv.touch(key, 60)
  left = kv.ttl(key)
  kv.expect(left > 50 and left <= 60.1, 'left of a minute: ' .. left)
end
function answer() kv.say('done') end
";

#[test]
fn what_is_left_of_a_time_is_told_by_the_store_or_by_the_moment_in_the_value() {
    let lasting = Capabilities { native: OperationSet::LASTING, expiry: None, ..everything() };
    assert_eq!(run_on(&mut Mortal::new(1.0), exact(), LEFT).reasons, []);
    assert_eq!(run_on(&mut Memory::default(), lasting, LEFT).reasons, []);
    // One that lets values expire and does not say when cannot be asked.
    let silent = Capabilities { native: everything().native.without(&[OperationKind::TimeLeft]), ..exact() };
    let refused = opened(LEFT, None, &[]).unwrap().suits(&silent).unwrap_err().to_string();
    assert!(refused.contains("kv.ttl") && refused.contains("has left of its time"), "{refused}");
}

#[test]
fn a_store_that_tells_another_time_than_is_left_is_found() {
    let text = "function run(client) kv.put('k', 'v', {ttl = 60}) kv.ttl('k') end";
    let lasts = "function run(client) kv.put('k', 'v', {ttl = 60}) kv.put('k', 'w') kv.ttl('k') end";
    for (text, told, words) in [
        (text, Some(55_000), "it says that 55000 ms are left; 59"),
        (text, Some(66_000), "it says that 66000 ms are left; 59"),
        (text, Some(-1), "it says that it lasts; 59"),
        (lasts, Some(30_000), "it says that 30000 ms are left; it has no time to live (test.lua:1"),
        (text, None, "before its time to live was over"),
    ] {
        let mut memory = Mortal::new(1.0);
        let mut store = |request: &Request| match (request, told) {
            (Request::TimeLeft(_), Some(left_ms)) => Response::Number(left_ms),
            (Request::TimeLeft(_), None) => Response::Missing,
            (other, _) => memory.answer(other),
        };
        let outcome = run(opened(text, None, &[]).unwrap().as_ref(), &mut store, exact(), 1, Turns::OneByOne);
        assert!(outcome.reasons.iter().any(|reason| reason.example.contains(words)), "{words}: {:?}", outcome.reasons);
    }
}

#[test]
fn values_that_go_early_or_late_are_found() {
    let text = "
function run(client)
  kv.put('k' .. client.number, 'v', {ttl = 0.2})
  while kv.get('k' .. client.number) do end
end";
    let early = run_on(&mut Mortal::new(0.5), exact(), text);
    assert_eq!(early.kinds(), [ReasonKind::ExpiredEarly], "{:?}", early.reasons);
    let example = &early.reason(ReasonKind::ExpiredEarly).example;
    assert!(example.contains("before its time to live was over") && example.contains("test.lua:4"), "{example}");
    let late = run_on(&mut Mortal::new(2.0), exact(), text);
    assert_eq!(late.kinds(), [ReasonKind::ExpiredLate], "{:?}", late.reasons);
}

#[test]
fn a_value_that_is_lost_is_early_and_one_without_a_time_is_missing_as_ever() {
    let lost = "function run(client) kv.put('k', 'v', {ttl = 60}) kv.delete('other') kv.get('k') end";
    let mut memory = Mortal::new(1.0);
    let mut store = |request: &Request| match request {
        Request::PutTtl(..) => Response::Done,
        other => memory.answer(other),
    };
    let outcome = run(opened(lost, None, &[]).unwrap().as_ref(), &mut store, exact(), 1, Turns::OneByOne);
    assert!(outcome.kinds().contains(&ReasonKind::ExpiredEarly), "{:?}", outcome.reasons);
    // A delete, or a touch, that finds nothing says the same.
    for verb in ["kv.delete('k')", "kv.touch('k', 60)"] {
        let text = format!("function run(client) kv.put('k', 'v', {{ttl = 60}}) {verb} end");
        let mut memory = Mortal::new(1.0);
        let mut store = |request: &Request| match request {
            Request::PutTtl(..) => Response::Done,
            other => memory.answer(other),
        };
        let outcome = run(opened(&text, None, &[]).unwrap().as_ref(), &mut store, exact(), 1, Turns::OneByOne);
        assert!(outcome.kinds().contains(&ReasonKind::ExpiredEarly), "{verb}: {:?}", outcome.reasons);
        assert!(outcome.reasons[0].example.contains("test.lua:1"), "{verb}: {:?}", outcome.reasons);
    }
    let lasting = "function run(client) kv.put('k', 'v', {ttl = 0.01}) kv.put('k', 'w') kv.get('k') end";
    let mut memory = Mortal::new(1.0);
    let mut store = |request: &Request| match request {
        Request::Put(..) => Response::Done,
        Request::Get(_) => Response::Missing,
        other => memory.answer(other),
    };
    let outcome = run(opened(lasting, None, &[]).unwrap().as_ref(), &mut store, exact(), 1, Turns::OneByOne);
    assert!(outcome.kinds().contains(&ReasonKind::UnexpectedMiss), "{:?}", outcome.reasons);
}

#[test]
fn a_time_to_live_that_cannot_be_is_refused_with_the_line() {
    for (call, words) in [
        ("kv.put('a', 'b', {ttl = 0})", "must be above 0"),
        ("kv.put('a', 'b', {ttl = -5})", "must be above 0"),
        ("kv.put('a', 'b', {ttl = 0/0})", "must be above 0"),
        ("kv.put('a', 'b', {ttl = '5'})", "must be a number of seconds"),
        ("kv.put('a', 'b', {ttl = 1e12})", "takes at most"),
        ("kv.put('a', 'b', {tll = 5})", "no option 'tll'"),
        ("kv.touch('a', 0)", "must be above 0"),
        ("kv.touch('a')", "must be a number of seconds"),
    ] {
        let (kind, said) = failed(call);
        assert_eq!(kind, ReasonKind::ScriptFailed, "{said}");
        says(&said, &["test.lua:2: kv.", words]);
    }
    let scans = "function run() kv.put('a', 'b', {ttl = 5}) kv.scan('a', 1) end";
    let lasting = Capabilities { native: OperationSet::LASTING, ..everything() };
    let refused = opened(scans, None, &[]).unwrap().suits(&lasting).unwrap_err().to_string();
    assert!(refused.contains("a scan would find what is over"), "{refused}");
}
