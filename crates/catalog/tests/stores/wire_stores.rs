//! Redis and memcached, each over TCP and a unix socket, as real servers: what every wire store must do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::HashMap;
use std::time::{Duration, Instant};
use store::{Availability, Expected, Operation, OperationKind, OwnedReply, Until};
use testkit::Rig;
use testkit::bytes::noise;
use testkit::replies::{loss, no_rows, refusal, rows as rows_of};
use testkit::waiting::waits_of_this_thread;

const ALL: [&str; 4] = ["redis", "redis-unix", "memcached", "memcached-unix"];

/// The same stores, with room for values of 1 MiB and more.
const LARGE: [&str; 4] = ["redis", "redis-unix", "memcached,item=8m", "memcached-unix,item=8m"];

#[test]
fn the_programs_are_found_with_their_versions() {
    for name in ALL {
        let Availability::Found(found) = kvtrial_catalog::find(name).unwrap().probe() else {
            panic!("{name} is not installed")
        };
        let (product, version) = found.split_once(' ').unwrap();
        assert!(["Redis", "Valkey", "memcached"].contains(&product), "{found}");
        assert!(version.starts_with(|first: char| first.is_ascii_digit()), "{found}");
    }
}

#[test]
fn what_is_put_is_got_until_it_is_deleted() {
    for spec in ALL {
        let server = Rig::start(spec);
        let mut client = server.client(1, 1);
        assert_eq!(client.get("k"), OwnedReply::Missing);
        assert_eq!(client.put("k", "first"), OwnedReply::Done);
        assert_eq!(client.get("k"), OwnedReply::Value(b"first".into()));
        assert_eq!(client.put("k", ""), OwnedReply::Done);
        assert_eq!(client.get("k"), OwnedReply::Value(b"".into()));
        assert_eq!(client.call(Operation::Delete { key: b"k" }), OwnedReply::Done);
        assert_eq!(client.call(Operation::Delete { key: b"k" }), OwnedReply::Missing);
        assert_eq!(client.get("k"), OwnedReply::Missing);
    }
}

#[test]
fn any_bytes_do_as_key_and_value() {
    for spec in ALL {
        let server = Rig::start(spec);
        let limits = server.store().capabilities().clone();
        let mut client = server.client(1, 1);
        let mut keys: Vec<Vec<u8>> = (0..=255u8).map(|byte| vec![byte]).collect();
        keys.extend((0..=255u8).map(|byte| vec![b'x', byte, b'y']));
        keys.extend([
            b"\r\n".to_vec(),
            b"a b".to_vec(),
            "ключ".into(),
            b"VALUE x 0 1\r\n".to_vec(),
            b"$3\r\n".to_vec(),
        ]);
        keys.extend(
            [187, 186, 185, 184]
                .map(|size| noise(size as u64, size))
                .into_iter()
                .filter(|key| key.len() <= limits.max_key_bytes),
        );
        keys.extend([b'k', 0].map(|byte| vec![byte; limits.max_key_bytes]));
        if limits.min_key_bytes == 0 {
            keys.push(Vec::new());
        }
        let value = |key: &[u8]| [&(0..=255).collect::<Vec<u8>>()[..], b"\r\nEN\r\n$-1\r\n", key].concat();
        for key in &keys {
            assert_eq!(client.put(key, value(key)), OwnedReply::Done, "{spec} {key:?}");
        }
        for key in &keys {
            assert_eq!(client.get(key), OwnedReply::Value(value(key)), "{spec} {key:?}");
        }
    }
}

#[test]
fn values_of_every_critical_size_come_back_whole() {
    let sizes = [
        0, 1, 9, 10, 11, 99, 100, 999, 1000, 1001, 1023, 1024, 1025, 16383, 16384, 65534, 65535, 65536, 65537, 131_073,
    ];
    for spec in LARGE {
        let server = Rig::start(spec);
        let mut client = server.client(2, 2);
        for size in sizes.into_iter().chain([(1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3 << 20]) {
            let (value, other) = (noise(size as u64, size), noise(!(size as u64), size / 2));
            let puts =
                [(0, Operation::Put { key: b"a", value: &value }), (3, Operation::Put { key: b"b", value: &other })];
            assert_eq!(client.on_slots(&puts), [OwnedReply::Done, OwnedReply::Done], "{spec} {size}");
            let gets = [b"a", b"b", b"b", b"a"].map(|key| Operation::Get { key });
            let gets: Vec<_> = (0..).zip(gets).collect();
            let expected = [&value, &other, &other, &value].map(|value| OwnedReply::Value(value.clone()));
            assert!(client.on_slots(&gets) == expected, "{spec} {size}");
        }
    }
}

/// Mixes every kind of small operation over 8 connections, each answer checked against what this very slot did before.
#[test]
fn pipelined_and_concurrent_operations_each_get_their_own_answer() {
    for spec in ALL {
        for pipeline in [1, 16] {
            let server = Rig::start(spec);
            let mut client = server.client(8, pipeline);
            let slots = 8 * pipeline;
            let mut puts: HashMap<(u32, u64), u64> = HashMap::new();
            for round in 0..60u64 {
                let keys: Vec<_> = (0..slots).map(|slot| format!("slot {slot} key {}", round % 5)).collect();
                let values: Vec<_> = (0..slots)
                    .map(|slot| noise(u64::from(slot) << 32 | round, ((slot * 37) as u64 * round % 3000) as usize))
                    .collect();
                let mut operations = Vec::new();
                for slot in 0..slots {
                    let (key, value) = (keys[slot as usize].as_bytes(), &values[slot as usize]);
                    operations.push(match (round + u64::from(slot)) % 3 {
                        0 => (slot, Operation::Put { key, value }),
                        _ => (slot, Operation::Get { key }),
                    });
                }
                let answers = client.on_slots(&operations);
                for ((slot, operation), answer) in operations.iter().zip(answers) {
                    let known = puts.get(&(*slot, round % 5));
                    let expected = match (operation, known) {
                        (Operation::Put { .. }, _) => {
                            puts.insert((*slot, round % 5), round);
                            OwnedReply::Done
                        }
                        (_, None) => OwnedReply::Missing,
                        (_, Some(&then)) => OwnedReply::Value(noise(
                            u64::from(*slot) << 32 | then,
                            ((slot * 37) as u64 * then % 3000) as usize,
                        )),
                    };
                    assert!(answer == expected, "{spec} pipeline {pipeline} slot {slot} round {round}");
                }
            }
        }
    }
}

#[test]
fn appends_add_up_from_nothing() {
    for spec in ALL {
        let server = Rig::start(spec);
        let mut client = server.client(1, 4);
        let append = |value: &'static [u8]| Operation::Append { key: b"log\0", value };
        // Redis says how long the value is now.
        let redis = spec.starts_with("redis");
        let done = |bytes| if redis { OwnedReply::Number(bytes) } else { OwnedReply::Done };
        assert_eq!(client.call(append(b"one")), done(3));
        assert_eq!(client.call(append(b"")), done(3));
        let all = [append(b","), append(b"two"), append(b","), append(b"three")];
        let all: Vec<_> = (0..).zip(all).collect();
        assert_eq!(client.on_slots(&all), [4, 7, 8, 13].map(done));
        assert_eq!(client.get("log\0"), OwnedReply::Value(b"one,two,three".into()));
    }
}

#[test]
fn counters_start_at_the_first_increment() {
    for spec in ALL {
        let server = Rig::start(spec);
        let mut client = server.client(1, 1);
        let mut add = |by| client.call(Operation::Increment { key: b"n ", by });
        assert_eq!(add(5), OwnedReply::Number(5));
        assert_eq!(add(105), OwnedReply::Number(110));
        assert_eq!(add(-103), OwnedReply::Number(7));
        assert_eq!(add(0), OwnedReply::Number(7));
        assert_eq!(client.call(Operation::GetCounter { key: b"n " }), OwnedReply::Number(7));
        assert_eq!(client.call(Operation::GetCounter { key: b"none" }), OwnedReply::Missing);
        let counter = server.store().capabilities().counter.unwrap();
        assert_eq!(client.call(Operation::Increment { key: b"max", by: counter.max }), OwnedReply::Number(counter.max));
        let beyond = client.call(Operation::Increment { key: b"max", by: 1 });
        assert!(refusal(&beyond).is_some(), "{spec}: {beyond:?}");
        assert_eq!(client.get("still here"), OwnedReply::Missing);
    }
}

#[test]
fn compare_and_set_stores_only_over_what_was_read() {
    for spec in LARGE {
        let server = Rig::start(spec);
        let mut client = server.client(1, 1);
        let first = noise(1, 150_000);
        let set = |expected, value| Operation::CompareAndSet { key: b"page", expected, value };
        assert_eq!(client.call(set(Expected::Absent, &first)), OwnedReply::Done);
        assert_eq!(client.call(set(Expected::Absent, b"late")), OwnedReply::Conflict);
        let OwnedReply::Versioned { value, version } = client.call(Operation::GetVersioned { key: b"page" }) else {
            panic!("{spec}")
        };
        assert!(value == first);
        let read = Expected::Present { version, value: &value };
        assert_eq!(client.call(set(read, b"second")), OwnedReply::Done);
        assert_eq!(client.call(set(read, b"third")), OwnedReply::Conflict);
        assert_eq!(client.get("page"), OwnedReply::Value(b"second".into()));
        assert_eq!(client.call(Operation::Delete { key: b"page" }), OwnedReply::Done);
        assert_eq!(client.call(set(read, b"fourth")), OwnedReply::Conflict);
        assert_eq!(client.call(Operation::GetVersioned { key: b"page" }), OwnedReply::Missing);
    }
}

#[test]
fn many_keys_are_read_in_one_request_in_the_order_asked() {
    for spec in LARGE {
        let server = Rig::start(spec);
        let mut client = server.client(1, 3);
        let values: Vec<_> = (0..50).map(|n| noise(n, (n * n * 40) as usize)).collect();
        let keys: Vec<_> = (0..50).map(|n| format!("{n}\n")).collect();
        for (key, value) in keys.iter().zip(&values) {
            if !key.starts_with('3') {
                assert_eq!(client.put(key, value), OwnedReply::Done);
            }
        }
        let keys: Vec<&[u8]> = keys.iter().map(|key| key.as_bytes()).collect();
        let some = [keys[7], keys[3], keys[7], b"never", keys[49]];
        let rows = |keys: &[&[u8]]| {
            let hit = |key: &&&[u8]| !key.starts_with(b"3") && **key != b"never";
            let value = |key: &[u8]| values[std::str::from_utf8(key).unwrap().trim().parse::<usize>().unwrap()].clone();
            rows_of(keys.iter().filter(hit).map(|key| (key, value(key))))
        };
        let asked = [
            (0, Operation::GetMany { keys: &keys }),
            (1, Operation::GetMany { keys: &[] }),
            (2, Operation::GetMany { keys: &some }),
        ];
        assert!(client.on_slots(&asked) == [rows(&keys), no_rows(), rows(&some)], "{spec}");
    }
}

#[test]
fn many_pairs_are_written_at_once_and_the_operations_beside_them_keep_their_answers() {
    for spec in ALL {
        let server = Rig::start(spec);
        let mut client = server.client(1, 4);
        let pairs: Vec<(String, Vec<u8>)> = (0..500).map(|n| (format!("many/{n}"), noise(n as u64, n * 7))).collect();
        let lent: Vec<(&[u8], &[u8])> = pairs.iter().map(|(key, value)| (key.as_bytes(), &value[..])).collect();
        let asked = [
            (0, Operation::PutMany { pairs: &lent }),
            (1, Operation::PutMany { pairs: &[] }),
            (2, Operation::Get { key: b"many/499" }),
            (3, Operation::Get { key: b"never" }),
        ];
        let answers =
            [OwnedReply::Done, OwnedReply::Done, OwnedReply::Value(pairs[499].1.clone()), OwnedReply::Missing];
        assert!(client.on_slots(&asked) == answers, "{spec}");
        for (key, value) in &pairs {
            assert!(client.get(key) == OwnedReply::Value(value.clone()), "{spec}: {key}");
        }
    }
}

#[test]
fn a_session_survives_a_restart_of_its_server() {
    for spec in ALL {
        for clients in [1, 4] {
            let server = Rig::start(spec);
            let mut client = server.client(clients, 2);
            let gets: Vec<_> = (0..clients * 2).map(|slot| (slot, Operation::Get { key: b"k" })).collect();
            assert_eq!(client.put("k", "before"), OwnedReply::Done);
            server.restart();
            let mut rounds = 0;
            while client.on_slots(&gets).iter().any(|answer| loss(answer).is_some()) {
                rounds += 1;
                assert!(rounds <= 3, "{spec} {clients}: the session does not recover");
            }
            assert_eq!(client.put("k", "after"), OwnedReply::Done);
            assert!(
                client.on_slots(&gets).iter().all(|answer| *answer == OwnedReply::Value(b"after".into())),
                "{spec} {clients}"
            );
        }
    }
}

#[test]
fn while_the_server_is_away_operations_fail_slowly_and_none_hangs() {
    for spec in ALL {
        let server = Rig::start(spec);
        let mut client = server.client(2, 1);
        server.kill();
        let start = Instant::now();
        for _ in 0..8 {
            let reply = client.get("k");
            assert!(loss(&reply).is_some(), "{spec}: {reply:?}");
        }
        // Each attempt to connect waits twice as long as the one before: 10 ms, 20, 40, 80, 160.
        assert!(start.elapsed() >= Duration::from_millis(310), "{spec}: {:?}", start.elapsed());
    }
}

#[test]
fn a_poll_returns_at_its_time_when_nothing_comes() {
    for spec in ALL {
        for clients in [1, 3] {
            let server = Rig::start(spec);
            let mut client = server.client(clients, 1);
            server.freeze();
            for in_flight in [false, true] {
                if in_flight {
                    assert_eq!(client.session.submit(0, &Operation::Get { key: b"k" }).unwrap(), None);
                }
                for wait in [Duration::ZERO, Duration::from_micros(300), Duration::from_millis(60)] {
                    let (start, mut polls) = (Instant::now(), 0);
                    while Instant::now() < start + wait {
                        assert!(client.poll(Until::At(start + wait)).replies.is_empty());
                        polls += 1;
                    }
                    assert!(polls <= 5, "{spec} {clients}: {polls} polls in {wait:?}");
                    // On a busy machine any thread may wait once, for memory; a poll that waits does so each time.
                    let has_not_waited = (0..5).any(|_| {
                        let waits = waits_of_this_thread();
                        assert!(client.poll(Until::Now).replies.is_empty());
                        waits_of_this_thread() == waits
                    });
                    assert!(has_not_waited, "{spec} {clients}: a poll that may not wait has waited");
                }
            }
            server.thaw();
            let mut answers = Vec::new();
            while answers.is_empty() {
                answers = client.poll(Until::At(Instant::now() + Duration::from_secs(1))).replies;
            }
            assert_eq!(answers, [(0, OwnedReply::Missing)]);
        }
    }
}

#[test]
fn facts_name_the_server_and_its_settings() {
    for spec in ALL {
        let server = Rig::start(spec);
        let facts = server.store().facts().unwrap();
        let Availability::Found(found) = kvtrial_catalog::find(spec).unwrap().probe() else { panic!() };
        assert_eq!(found, format!("{} {}", facts.product, facts.version));
        assert!(facts.config.len() >= 5, "{facts:?}");
    }
}

#[test]
fn options_of_a_private_server_are_not_taken_for_ones_own() {
    let server = Rig::start("redis");
    let (_, port) = server.endpoint().tcp().unwrap();
    for url in [format!("redis://127.0.0.1:{port},maxmemory=2mb"), format!("memcached://127.0.0.1:{port},item=2m")] {
        let spec: study::Spec = url.parse().unwrap();
        let store::Opener::Server { connect, .. } = kvtrial_catalog::find(&spec.name).unwrap().opener else { panic!() };
        let error = connect(&spec, std::slice::from_ref(server.endpoint())).err().unwrap().to_string();
        assert!(error.contains("private server") && error.contains("leave it out"), "{error}");
    }
}

#[test]
fn a_server_of_another_kind_is_recognised() {
    let redis = Rig::start("redis");
    let memcached = Rig::start("memcached");
    for (name, server) in [("redis", &memcached), ("memcached", &redis)] {
        let store::Opener::Server { connect, .. } = kvtrial_catalog::find(name).unwrap().opener else { panic!() };
        let endpoint = store::Endpoint { user: None, password: None, ..server.endpoint().clone() };
        let error = connect(&study::Spec::private(name), std::slice::from_ref(&endpoint)).err().unwrap().to_string();
        assert!(error.contains(&endpoint.to_string()), "{error}");
    }
}

#[test]
fn nothing_is_said_to_be_native_that_was_not_tested_here() {
    let tested = [
        OperationKind::Get,
        OperationKind::GetVersioned,
        OperationKind::Put,
        OperationKind::Delete,
        OperationKind::Append,
        OperationKind::Increment,
        OperationKind::GetCounter,
        OperationKind::CompareAndSet,
        OperationKind::GetMany,
        OperationKind::PutMany,
        // With each server's own clock: in `redis.rs` and `memcached.rs`.
        OperationKind::PutTtl,
        OperationKind::Touch,
        OperationKind::TimeLeft,
    ];
    // Commands of its own, and SQL: in the tests of scripts.
    let in_redis = [OperationKind::IncrementField, OperationKind::GetFields, OperationKind::Command];
    for spec in ["redis-unix", "memcached-unix"] {
        let server = Rig::start(spec);
        for kind in server.store().capabilities().native.kinds() {
            assert!(
                tested.contains(&kind) || spec.starts_with("redis") && in_redis.contains(&kind),
                "{spec} {}",
                kind.name()
            );
        }
    }
}
