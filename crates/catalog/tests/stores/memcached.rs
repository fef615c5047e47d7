//! What only memcached has: limits of key and item, versions, tokens, an unsigned counter.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::time::{Duration, Instant};
use store::{Expected, Operation, OwnedReply};
use testkit::Rig;
use testkit::bytes::noise;
use testkit::replies::{no_rows, refusal, refused, rows};
use testkit::waiting::{soon, until};

#[test]
fn a_time_to_live_is_kept_by_either_protocol_and_touch_starts_it_again() {
    for spec in ["memcached-unix", "memcached,protocol=text"] {
        let server = Rig::start(spec);
        let mut client = server.client(1, 1);
        let put = |key: &'static [u8], ttl_ms| Operation::PutTtl { key, value: b"v", ttl_ms };
        for put in [put(b"gone", 1000), put(b"touched", 3_600_000), put(b"lasts", 3_600_000)] {
            assert_eq!(client.call(put), OwnedReply::Done, "{spec}");
        }
        assert_eq!(client.get("touched"), OwnedReply::Value(b"v".into()), "{spec}");
        let touch = |key: &'static [u8]| Operation::Touch { key, ttl_ms: 1000 };
        assert_eq!(client.call(touch(b"touched")), OwnedReply::Done, "{spec}");
        assert_eq!(client.call(touch(b"none")), OwnedReply::Missing, "{spec}");
        if server.capabilities().has(store::OperationKind::TimeLeft) {
            let mut left = |key: &'static [u8]| client.call(Operation::TimeLeft { key });
            assert!(matches!(left(b"lasts"), OwnedReply::Number(3_000_000..=3_600_000)), "{spec}");
            assert_eq!(left(b"none"), OwnedReply::Missing, "{spec}");
            assert_eq!(client.put("put", "w"), OwnedReply::Done, "{spec}");
            assert_eq!(client.call(Operation::TimeLeft { key: b"put" }), OwnedReply::Number(store::LASTS), "{spec}");
        }
        assert_eq!(server.capabilities().has(store::OperationKind::TimeLeft), spec == "memcached-unix");
        for key in ["gone", "touched"] {
            until("the value has expired", || client.get(key) == OwnedReply::Missing);
        }
        assert_eq!(client.get("lasts"), OwnedReply::Value(b"v".into()), "{spec}");
    }
}

#[test]
fn the_largest_value_declared_is_taken_with_every_key_and_what_the_server_refuses_leaves_the_session_whole() {
    for (spec, item_bytes) in
        [("memcached-unix", 1 << 20), ("memcached,item=8m", 8 << 20), ("memcached-unix,item=512k", 512 << 10)]
    {
        let server = Rig::start(spec);
        let limits = server.store().capabilities().clone();
        assert_eq!(limits.max_value_bytes, item_bytes - 245, "{spec}");
        let mut client = server.client(1, 2);
        let largest = noise(7, limits.max_value_bytes);
        for key in [vec![b'k'], vec![b'k'; limits.max_key_bytes], vec![0; limits.max_key_bytes]] {
            assert_eq!(client.put(&key, &largest), OwnedReply::Done, "{spec}");
            assert!(client.get(&key) == OwnedReply::Value(largest.clone()), "{spec}");
        }
        for size in [item_bytes - 59, item_bytes, item_bytes + 1, 3 * item_bytes] {
            let value = noise(8, size);
            let both = [(0, Operation::Put { key: b"k", value: &value }), (1, Operation::Get { key: b"none" })];
            let answers = client.on_slots(&both);
            assert_eq!(
                answers,
                [refused("SERVER_ERROR object too large for cache"), OwnedReply::Missing],
                "{spec} {size}"
            );
        }
    }
}

#[test]
fn a_key_the_server_does_not_take_is_refused_in_its_words_and_nothing_else_happens() {
    let server = Rig::start("memcached-unix");
    let mut client = server.client(1, 5);
    for key in [&b""[..], &[b'k'; 251], &[0; 187], &[b'k'; 3000], &[0; 3000], &[b' '; 251]] {
        let operations = [
            Operation::Put { key, value: b"md k\r\n" },
            Operation::Append { key, value: b"md k\r\n" },
            Operation::Get { key },
            Operation::Increment { key, by: 1 },
            Operation::Get { key: b"k" },
        ];
        assert_eq!(client.put("k", "v"), OwnedReply::Done);
        let operations: Vec<_> = (0..).zip(operations).collect();
        let answers = client.on_slots(&operations);
        for answer in &answers[..4] {
            assert!(refusal(answer).is_some_and(|words| words.contains("ERROR")), "{key:?}: {answers:?}");
        }
        assert_eq!(answers[4], OwnedReply::Value(b"v".into()));
        let many = client.call(Operation::GetMany { keys: &[b"k", key, b"k"] });
        assert!(refusal(&many).is_some(), "{key:?}: {many:?}");
        assert_eq!(client.get("k"), OwnedReply::Value(b"v".into()));
    }
    assert_eq!(client.put([b'k'; 250], "longest plain key"), OwnedReply::Done);
}

#[test]
fn a_key_is_the_same_key_plain_and_in_base64() {
    let server = Rig::start("memcached-unix");
    let mut client = server.client(1, 1);
    // 0x80 to 0xff travel plain, with a space beside them in base64: two keys, not one.
    for key in [&b"\xff\x80"[..], b"\xff \x80", b"\xff\0\x80"] {
        assert_eq!(client.get(key), OwnedReply::Missing);
        assert_eq!(client.put(key, key), OwnedReply::Done);
    }
    for key in [&b"\xff\x80"[..], b"\xff \x80", b"\xff\0\x80"] {
        assert_eq!(client.get(key), OwnedReply::Value(key.into()));
    }
}

#[test]
fn a_counter_never_goes_below_zero_nor_shows_more_than_63_bits() {
    let server = Rig::start("memcached-unix");
    let mut client = server.client(1, 1);
    let mut add = |by| client.call(Operation::Increment { key: b"n", by });
    assert_eq!(add(-5), OwnedReply::Number(0));
    assert_eq!(add(12), OwnedReply::Number(12));
    assert_eq!(add(-13), OwnedReply::Number(0));
    assert_eq!(add(i64::MAX), OwnedReply::Number(i64::MAX));
    assert!(refusal(&add(1)).is_some_and(|words| words.contains("9223372036854775807")));
    assert_eq!(add(-1), OwnedReply::Number(i64::MAX));
    assert_eq!(add(i64::MIN), OwnedReply::Number(0));
}

#[test]
fn a_version_changes_with_every_write() {
    let server = Rig::start("memcached");
    let mut client = server.client(1, 1);
    let mut versions = Vec::new();
    for _ in 0..3 {
        assert_eq!(client.put("k", "same"), OwnedReply::Done);
        let OwnedReply::Versioned { version, .. } = client.call(Operation::GetVersioned { key: b"k" }) else {
            panic!()
        };
        assert!(version > 0 && !versions.contains(&version));
        versions.push(version);
    }
    let old = Expected::Present { version: versions[1], value: b"same" };
    assert_eq!(client.call(Operation::CompareAndSet { key: b"k", expected: old, value: b"x" }), OwnedReply::Conflict);
}

#[test]
fn a_server_without_room_forgets_or_refuses_but_never_lies() {
    let server = Rig::start("memcached-unix,memory=2");
    let mut client = server.client(1, 1);
    let mut stored = Vec::new();
    for n in 0..200u64 {
        match client.put(format!("{n}"), noise(n, 100_000)) {
            OwnedReply::Done => stored.push(n),
            other => assert!(refusal(&other).is_some_and(|words| words.starts_with("SERVER_ERROR")), "{other:?}"),
        }
    }
    let found = stored.iter().filter(|n| match client.get(format!("{n}")) {
        OwnedReply::Value(value) => {
            assert!(value == noise(**n, 100_000));
            true
        }
        OwnedReply::Missing => false,
        other => panic!("{other:?}"),
    });
    let found = found.count();
    assert!(found > 0 && found < 200, "{found} of 200 found");
}

#[test]
fn numbers_of_options_are_checked() {
    for spec in ["memcached,item=2g", "memcached,item=m", "memcached,memory=0", "memcached,threads=many"] {
        let spec: study::Spec = spec.parse().unwrap();
        let store::Opener::Server { plan, .. } = kvtrial_catalog::find("memcached").unwrap().opener else { panic!() };
        let error = plan(&spec, &mut store::Place::on_paper(true)).err().unwrap().to_string();
        assert!(error.contains("is not possible; use"), "{error}");
    }
}

#[test]
fn the_text_protocol_does_on_a_real_server_what_the_meta_protocol_does() {
    for spec in ["memcached,protocol=text", "memcached-unix,protocol=text,item=2m"] {
        let server = Rig::start(spec);
        let limits = server.store().capabilities().clone();
        let mut client = server.client(2, 4);
        let mut keys: Vec<Vec<u8>> = (0..=255u8).map(|byte| vec![byte]).collect();
        keys.extend([b"~".to_vec(), b"@@x".to_vec(), vec![b'k'; 250], vec![0; limits.max_key_bytes]]);
        for key in &keys {
            assert_eq!(
                client.put(key, [&(0..=255).collect::<Vec<u8>>()[..], b"\r\nEND\r\n", key].concat()),
                OwnedReply::Done
            );
        }
        for key in &keys {
            let value = [&(0..=255).collect::<Vec<u8>>()[..], b"\r\nEND\r\n", key].concat();
            assert_eq!(client.get(key), OwnedReply::Value(value), "{spec} {key:?}");
        }
        let largest = noise(7, limits.max_value_bytes);
        assert_eq!(client.put(vec![0; limits.max_key_bytes], &largest), OwnedReply::Done);
        assert!(client.get(vec![0; limits.max_key_bytes]) == OwnedReply::Value(largest), "{spec}");
        let large = noise(8, 3 << 20);
        assert!(refusal(&client.put("k", &large)).is_some_and(|words| words.contains("too large")), "{spec}");
        let bad = client.call(Operation::Append { key: &[b'k'; 251], value: b"delete k" });
        assert!(refusal(&bad).is_some(), "{bad:?}");
        let append = |value: &'static [u8]| Operation::Append { key: b"log\0", value };
        let all: Vec<_> = (0..).zip([append(b"one"), append(b""), append(b","), append(b"two")]).collect();
        assert_eq!(client.on_slots(&all), [(); 4].map(|()| OwnedReply::Done));
        assert_eq!(client.get("log\0"), OwnedReply::Value(b"one,two".into()));
        let mut add = |by| client.call(Operation::Increment { key: b"n ", by });
        assert_eq!(
            (add(5), add(105), add(-103), add(-9)),
            (OwnedReply::Number(5), OwnedReply::Number(110), OwnedReply::Number(7), OwnedReply::Number(0))
        );
        assert_eq!(client.call(Operation::GetCounter { key: b"n " }), OwnedReply::Number(0));
        let set = |expected, value| Operation::CompareAndSet { key: b"page", expected, value };
        assert_eq!(client.call(set(Expected::Absent, b"first")), OwnedReply::Done);
        assert_eq!(client.call(set(Expected::Absent, b"late")), OwnedReply::Conflict);
        let OwnedReply::Versioned { value, version } = client.call(Operation::GetVersioned { key: b"page" }) else {
            panic!("{spec}")
        };
        let read = Expected::Present { version, value: &value };
        assert_eq!(client.call(set(read, b"second")), OwnedReply::Done);
        assert_eq!(client.call(set(read, b"third")), OwnedReply::Conflict);
        let names: Vec<String> = (0..100).map(|n| format!("many {n}")).collect();
        let pairs: Vec<(&[u8], &[u8])> = names.iter().map(|name| (name.as_bytes(), &name.as_bytes()[5..])).collect();
        assert_eq!(client.call(Operation::PutMany { pairs: &pairs }), OwnedReply::Done);
        let mut keys: Vec<&[u8]> = pairs.iter().map(|pair| pair.0).collect();
        keys.insert(50, b"absent");
        assert_eq!(client.call(Operation::GetMany { keys: &keys }), rows(pairs.iter().copied()));
        assert_eq!(client.call(Operation::GetMany { keys: &[] }), no_rows());
        assert_eq!(client.call(Operation::Delete { key: b"page" }), OwnedReply::Done);
        assert_eq!(client.call(Operation::Delete { key: b"page" }), OwnedReply::Missing);
    }
}

#[test]
fn a_speaker_of_the_text_protocol_is_asked_what_it_knows_and_named_as_such() {
    let open = |port: u16| {
        let spec: study::Spec = format!("memcached://127.0.0.1:{port},protocol=text").parse().unwrap();
        host::open(kvtrial_catalog::find("memcached").unwrap(), &spec, &std::env::temp_dir()).unwrap()
    };
    let server = Rig::start("memcached");
    let whole = open(server.endpoint().tcp().unwrap().1);
    assert!(whole.store().capabilities().has(store::OperationKind::CompareAndSet));
    assert!(whole.store().facts().unwrap().product.contains("text protocol"));
    // A speaker with neither versions nor appends, as there are.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                use std::io::{BufRead, BufReader, Write};
                let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
                while let Some(line) = lines.next() {
                    let answer = match line.split(' ').next() {
                        Some("set" | "add") => {
                            lines.next();
                            "STORED\r\n"
                        }
                        Some("delete") => "DELETED\r\n",
                        Some("version") => "VERSION 1.2.0\r\n",
                        Some("incr") => &format!("{}\r\n", line.split(' ').next_back().unwrap()),
                        Some("decr") => "0\r\n",
                        Some("get") => "END\r\n",
                        _ => "ERROR\r\n",
                    };
                    let _ = (&stream).write_all(answer.as_bytes());
                }
            });
        }
    });
    let poor = open(port);
    let native = poor.store().capabilities().clone();
    for (kind, has) in [
        (store::OperationKind::Get, true),
        (store::OperationKind::Increment, true),
        (store::OperationKind::Append, false),
        (store::OperationKind::CompareAndSet, false),
        (store::OperationKind::GetVersioned, false),
    ] {
        assert_eq!(native.has(kind), has, "{}", kind.name());
    }
    assert_eq!(poor.store().facts().unwrap().version, "1.2.0");
}

#[test]
fn a_hash_table_that_grew_is_told_with_the_time_it_was_seen_to() {
    let server = Rig::start("memcached-unix,hashpower=13");
    let store = server.store();
    let mut client = server.client(1, 1);
    store.witness().unwrap().look(std::time::Duration::from_secs(5));
    assert_eq!(client.put("k", "v"), OwnedReply::Done);
    store.witness().unwrap().look(std::time::Duration::from_secs(5));
    assert!(store.witness().unwrap().happened().is_empty());
    let begin = Instant::now();
    // It grows beyond one and a half items a bucket, up to a second later.
    (0..20_000).for_each(|key| assert_eq!(client.put(format!("key {key}"), "v"), OwnedReply::Done));
    let happened = soon("the table has grown", || {
        store.witness().unwrap().look(Duration::from_secs(5));
        Some(store.witness().unwrap().happened()).filter(|happened| !happened.is_empty())
    });
    assert_eq!(happened[0].cause, "rehash");
    assert!(happened[0].start.is_some_and(|start| start + happened[0].duration > begin && start < Instant::now()));
    assert!(happened[0].detail.contains("hash table grew to 2^1"), "{happened:?}");
}
