//! A store that lies to a script is caught, and what the script did need not know of it.
#![allow(clippy::unwrap_used)]

use crate::common;
use crate::harness;

use common::opened;
use harness::{Backend, Memory, Request, Response, Turns, everything, nothing, run};
use kvtrial_script as script;
use std::collections::BTreeMap;
use study::ReasonKind;

/// Reads, counts up, writes; every client its own keys, twice over.
const COUNT_UP: &str = "
function run(client)
  for round = 1, 6 do
    for i = client.number, 40, client.count do
      local key = ('key%02d'):format(i)
      kv.put(key, ('%d'):format(tonumber(kv.get(key) or 0) + 1))
    end
  end
end
function answer() for key in kv.keys() do kv.say(key, kv.get(key)) end end
";

fn lied_to(text: &str, mut lie: impl FnMut(&Request, &mut Memory) -> Option<Response>) -> Vec<ReasonKind> {
    let mut memory = Memory::default();
    let mut store = |request: &Request| lie(request, &mut memory).unwrap_or_else(|| memory.answer(request));
    run(opened(text, None, &[]).unwrap().as_ref(), &mut store, everything(), 4, Turns::Random(5)).kinds()
}

/// Lies once, the nth time this is asked.
fn once(n: u32) -> impl FnMut() -> bool {
    let mut asked = 0;
    move || {
        asked += 1;
        asked == n
    }
}

#[test]
fn a_lost_update_is_found_at_the_next_read_of_the_key() {
    let mut now = once(100);
    let found =
        lied_to(COUNT_UP, |request, _| (matches!(request, Request::Put(..)) && now()).then_some(Response::Done));
    assert!(found.contains(&ReasonKind::StaleValue), "{found:?}");
}

#[test]
fn an_update_lost_behind_the_last_read_is_found_by_reading_back() {
    let text = "function run(client) for round = 1, 2 do kv.put('k' .. client.number, 'v' .. round) end end";
    let mut now = once(8);
    let found = lied_to(text, |request, _| (matches!(request, Request::Put(..)) && now()).then_some(Response::Done));
    assert_eq!(found, [ReasonKind::LostUpdates]);
}

#[test]
fn a_stale_read_is_found() {
    let mut before: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
    let mut now = once(90);
    let found = lied_to(COUNT_UP, |request, memory| match request {
        Request::Put(key, _) => {
            let old = memory.values.get(key).map(|(value, _)| value.clone());
            old.map(|old| before.insert(key.clone(), old));
            None
        }
        Request::Get(key) if before.contains_key(key) && now() => Some(Response::Value(before[key].clone())),
        _ => None,
    });
    assert!(found.contains(&ReasonKind::StaleValue), "{found:?}");
}

#[test]
fn the_value_of_another_key_is_found() {
    let text = "function run(client) for i = 1, 9 do local k = client.number .. ':' .. i kv.put(k, 'of ' .. k) kv.get(k) end end";
    let mut now = once(20);
    let found = lied_to(text, |request, _| {
        (matches!(request, Request::Get(_)) && now()).then(|| Response::Value(b"of 4:9".to_vec()))
    });
    assert_eq!(found, [ReasonKind::WrongValue]);
}

const BOARD: &str = "
function load(client) for i = client.number, 50, client.count do kv.put(('m%02d'):format(i), 'member ' .. i) end end
function run(client)
  for i = 1, 5 do kv.scan('m', 20) kv.get_many({'m01', 'm02', 'm03'}) end
end
";

#[test]
fn a_wrong_member_a_missing_one_and_one_out_of_order_are_found_in_a_scan() {
    let lies: [(&str, fn(&mut Vec<(Vec<u8>, Vec<u8>)>), ReasonKind); 4] = [
        ("wrong", |rows| rows[7].1 = b"member 99".to_vec(), ReasonKind::WrongValue),
        ("foreign", |rows| rows[7].0 = b"m07x".to_vec(), ReasonKind::ForeignData),
        ("missing", |rows| drop(rows.remove(7)), ReasonKind::UnexpectedMiss),
        ("order", |rows| rows.swap(3, 4), ReasonKind::WrongKey),
    ];
    for (name, lie, kind) in lies {
        let mut now = once(3);
        let found = lied_to(BOARD, |request, memory| match request {
            Request::Scan(..) if now() => {
                let Response::Rows(mut rows) = memory.answer(request) else { return None };
                lie(&mut rows);
                Some(Response::Rows(rows))
            }
            _ => None,
        });
        assert_eq!(found, [kind], "{name}");
    }
}

#[test]
fn a_wrong_member_of_a_batch_is_found() {
    let mut now = once(2);
    let found = lied_to(BOARD, |request, memory| match request {
        Request::GetMany(_) if now() => {
            let Response::Rows(mut rows) = memory.answer(request) else { return None };
            rows[1].1 = b"member 1".to_vec();
            Some(Response::Rows(rows))
        }
        _ => None,
    });
    assert_eq!(found, [ReasonKind::WrongValue]);
}

#[test]
fn a_counter_that_loses_one_count_is_found_although_all_clients_share_it() {
    let text = "kv.shared(true) function run(client) for i = 1, 20 do kv.increment('c') end end";
    let mut now = once(50);
    let found = lied_to(text, |request, _| {
        (matches!(request, Request::Increment(..)) && now()).then_some(Response::Number(50))
    });
    assert!(found.contains(&ReasonKind::LostUpdates), "{found:?}");
}

#[test]
fn with_sharing_a_value_nobody_wrote_is_found_and_so_is_one_that_another_had_surely_replaced() {
    let text = "kv.shared(true)
function run(client) for i = 1, 20 do kv.put('k', client.number .. ':' .. i) kv.get('k') end end";
    let lie = |value: &'static str| {
        let mut now = once(70);
        lied_to(text, move |request, _| {
            (matches!(request, Request::Get(_)) && now()).then(|| Response::Value(value.into()))
        })
    };
    assert_eq!(lie("5:1"), [ReasonKind::WrongValue]);
    assert_eq!(lie("1:1"), [ReasonKind::StaleValue]);
}

#[test]
fn a_store_that_forgets_a_delete_is_found() {
    let text = "function run(client) local k = 'k' .. client.number kv.put(k, 'v') kv.delete(k) kv.get(k) end";
    let mut now = once(2);
    let found = lied_to(text, |request, _| (matches!(request, Request::Delete(_)) && now()).then_some(Response::Done));
    assert!(
        !found.is_empty() && found.iter().all(|kind| matches!(kind, ReasonKind::StaleValue | ReasonKind::LostUpdates)),
        "{found:?}"
    );
}

#[test]
fn a_refused_write_ends_the_script_with_its_line() {
    let mut memory = Memory::default();
    let mut store = |request: &Request| match request {
        Request::Put(..) => Response::Refused("too large"),
        other => memory.answer(other),
    };
    let job = opened("function run(client)\n  kv.put('k' .. client.number, 'v')\nend", None, &[]).unwrap();
    let outcome = run(job.as_ref(), &mut store, everything(), 1, Turns::OneByOne);
    assert_eq!(outcome.kinds()[0], ReasonKind::Refused);
    assert!(
        outcome
            .reasons
            .iter()
            .any(|reason| reason.example.contains("test.lua:2") && reason.example.contains("too large"))
    );
}

/// Keys that are read by all and written by one, or by all.
fn sharing(shared: bool) -> String {
    format!(
        "kv.shared({shared})
local keys = 6
function load(client) for i = client.number, keys, client.count do kv.put('k' .. i, 'first') end end
function run(client)
  for round = 1, 30 do
    local key = 'k' .. kv.random(keys)
    local what = kv.random(5)
    if what == 1 then kv.get(key)
    elseif what == 2 then kv.scan('k', 4)
    elseif {shared} or client:owns(key) then
      if what == 3 then kv.put(key, client.number .. '.' .. round)
      elseif round % 3 == 0 then kv.append(key, '+' .. round)
      elseif round % 3 == 1 then kv.cas(key, kv.get(key), 'same')
      else kv.delete(key) end
    end
    kv.increment('c' .. ({shared} and kv.random(3) or client.number), 1)
  end
end"
    )
}

#[test]
fn an_honest_store_is_never_accused_whatever_the_order_of_replies() {
    for shared in [true, false] {
        let job = opened(&sharing(shared), None, &[]).unwrap();
        for seed in 0..300 {
            let slots = 1 + seed as u32 % 9;
            let outcome = run(job.as_ref(), &mut Memory::default(), everything(), slots, Turns::Random(seed));
            assert_eq!(outcome.reasons, [], "shared {shared}, seed {seed}, {slots} clients");
        }
    }
}

#[test]
fn a_store_that_drops_writes_is_found_whatever_the_order_of_replies() {
    for shared in [true, false] {
        let job = opened(&sharing(shared), None, &[]).unwrap();
        for seed in 0..50 {
            let mut memory = Memory::default();
            let mut writes = 0;
            let mut store = |request: &Request| {
                if matches!(request, Request::Put(..) | Request::Increment(..)) {
                    writes += 1;
                    if writes % 5 == 0 {
                        return match request {
                            Request::Increment(..) => Response::Number(writes),
                            _ => Response::Done,
                        };
                    }
                }
                memory.answer(request)
            };
            let outcome = run(job.as_ref(), &mut store, everything(), 4, Turns::Random(seed));
            assert!(!outcome.reasons.is_empty(), "shared {shared}, seed {seed}");
        }
    }
}

/// A lock that clients take and give back, and a number they count up, each with compare-and-set.
const LOCK: &str = "
kv.shared(true)
function run(client)
  for turn = 1, 10 do
    if kv.cas('lock', nil, 'client ' .. client.number) then kv.delete('lock') end
    local held = kv.get('sum')
    kv.cas('sum', held, ('%d'):format(tonumber(held or 0) + 1))
  end
end
";

/// What a store makes of the nth compare-and-set of which that is true.
fn swapping(n: u32, fits: fn(&Request) -> bool, lie: fn(&Request, &mut Memory) -> Response) -> Vec<ReasonKind> {
    let mut now = once(n);
    lied_to(LOCK, move |request, memory| (fits(request) && now()).then(|| lie(request, memory)))
}

/// Carried out, whatever is there.
fn carried_out(request: &Request, memory: &mut Memory) -> Response {
    if let Request::CompareAndSet(key, _, value) = request {
        memory.put(key, value);
    }
    Response::Done
}

#[test]
fn with_sharing_a_lock_that_two_clients_hold_is_found() {
    // Each time it is free: of clients that look at the same time more than one gets it.
    let mut answered = 0;
    let found = lied_to(LOCK, |request, memory| match request {
        Request::CompareAndSet(key, None, _) if key == b"lock" => {
            answered += u32::from(memory.values.contains_key(key));
            Some(carried_out(request, memory))
        }
        _ => None,
    });
    assert!(answered > 0 && found.contains(&ReasonKind::LostUpdates), "{answered}: {found:?}");
}

#[test]
fn with_sharing_a_compare_and_set_that_takes_an_outdated_value_is_found() {
    let mut taken = 0;
    let found = lied_to(LOCK, |request, memory| match request {
        Request::CompareAndSet(key, Some((version, _)), _) if key == b"sum" && taken == 0 => {
            let outdated = memory.values[key].1 != *version;
            taken += u32::from(outdated);
            outdated.then(|| carried_out(request, memory))
        }
        _ => None,
    });
    assert!(taken == 1 && found.contains(&ReasonKind::LostUpdates), "{taken}: {found:?}");
}

#[test]
fn with_sharing_a_compare_and_set_that_is_acknowledged_and_forgotten_is_found() {
    for n in 1..8 {
        for (key, fits) in [
            (
                "lock",
                (|request| matches!(request, Request::CompareAndSet(key, ..) if key == b"lock"))
                    as fn(&Request) -> bool,
            ),
            ("sum", |request| matches!(request, Request::CompareAndSet(key, ..) if key == b"sum")),
        ] {
            let found = swapping(n, fits, |_, _| Response::Done);
            assert!(!found.is_empty(), "{key}, {n}");
        }
    }
}

#[test]
fn a_store_that_keeps_nothing_is_stood_in_for_and_gives_no_answer() {
    for example in script::EXAMPLES.iter().filter(|it| it.name != "fans" && !it.is_for_few_stores()) {
        let job = opened(example.text, None, &[]).unwrap();
        let mut null = |request: &Request| match request {
            Request::Get(_) | Request::GetVersioned(_) | Request::GetCounter(_) => Response::Missing,
            Request::Increment(..) => Response::Number(1),
            Request::Delete(_) | Request::TimeLeft(_) => Response::Missing,
            Request::Scan(..) | Request::GetMany(_) => Response::Rows(Vec::new()),
            _ => Response::Done,
        };
        let outcome = run(job.as_ref(), &mut null, nothing(), 4, Turns::Random(1));
        assert_eq!(
            (outcome.reasons.len(), outcome.answer.digest.as_str()),
            (0, ""),
            "{}: {:?}",
            example.name,
            outcome.reasons
        );
    }
}
