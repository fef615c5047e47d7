//! NATS JetStream, the real server: one, three of which one dies, and servers that say what is not so.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use crate::common;
use crate::suite;

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::OnceLock;
use std::thread;
use store::{Endpoint, Operation, OperationKind, OwnedReply, Sweep};
use study::{Class, Spec};
use testkit::bytes::noise;
use testkit::replies::{breach, doubt, loss, refusal, value};
use testkit::rig::{connect_of, info};
use testkit::waiting::until;
use testkit::{Client, Rig};

fn rig() -> &'static Rig {
    static RIG: OnceLock<Rig> = OnceLock::new();
    Rig::shared("nats", &RIG)
}

suite! {
    all_bytes_come_back_from_keys_and_values,
    an_overwrite_leaves_nothing_of_the_old_value,
    what_was_never_stored_is_missing,
    of_sixteen_compare_and_sets_exactly_one_wins,
    a_compare_and_set_needs_the_version_that_was_read,
    sixteen_slots_may_create_the_same_key,
    a_refused_value_leaves_the_connection_usable,
    the_store_says_what_it_is,
}

#[test]
fn a_killed_server_is_lost_and_found_again_when_it_is_back() {
    common::restart::kill_and_come_back("nats");
}

#[test]
fn values_of_every_size_to_the_limit_come_back_whole_whoever_is_asked() {
    for spec in ["nats", "nats,reads=leader"] {
        let rig = Rig::start(spec);
        let mut client = rig.client(1, 2);
        for size in [0, 1, 2, 3, 100, 1000, 65_535, 65_537, (1 << 20) - 1, 1 << 20] {
            let (value, other) = (noise(size as u64, size), noise(!(size as u64), size / 2));
            let puts =
                [(0, Operation::Put { key: b"a", value: &value }), (1, Operation::Put { key: b"b", value: &other })];
            assert_eq!(client.on_slots(&puts), [OwnedReply::Done, OwnedReply::Done], "{spec} {size}");
            let gets = [(0, Operation::Get { key: b"a" }), (1, Operation::Get { key: b"b" })];
            let both = [OwnedReply::Value(value), OwnedReply::Value(other)];
            assert!(client.on_slots(&gets) == both, "{spec} {size}");
        }
        assert_eq!(rig.store().holding().unwrap().keys, Some(2));
        assert!(rig.store().sweep(Sweep::Look, &[]).unwrap().is_none());
    }
}

#[test]
fn an_old_server_lets_nothing_expire_and_says_so() {
    let rig = Rig::start("nats");
    let version = rig.store().facts().unwrap().version;
    assert!(version.starts_with("2.9."), "{version}: then its messages may have a time to live");
    assert!(!rig.capabilities().has(OperationKind::PutTtl) && rig.capabilities().expiry.is_none());
    let mut client = rig.client(1, 1);
    let reply = client.call(Operation::PutTtl { key: b"k", value: b"v", ttl_ms: 1000 });
    assert!(refusal(&reply).is_some_and(|words| words.contains("nothing expires")), "{reply:?}");
    assert_eq!(client.get("k"), OwnedReply::Missing);
}

#[test]
#[ignore = "needs what kvtrial fetch-store nats gets"]
fn a_message_has_a_time_to_live_in_a_server_that_has_them() {
    let rig = Rig::start("nats,version=2.15.1");
    let expiry = rig.capabilities().expiry.unwrap();
    let mut client = rig.client(1, 2);
    let put = |key: &'static [u8], ttl_ms| Operation::PutTtl { key, value: b"v", ttl_ms };
    for put in [put(b"gone", expiry.least_ms), put(b"put again", expiry.least_ms), put(b"lasts", 3_600_000)] {
        assert_eq!(client.call(put), OwnedReply::Done);
    }
    assert_eq!([client.get("gone"), client.put("put again", "w")], [value("v"), OwnedReply::Done]);
    until("its time is over", || client.get("gone") == OwnedReply::Missing);
    assert_eq!([client.get("put again"), client.get("lasts")], [value("w"), value("v")]);
    assert_eq!(rig.store().holding().unwrap().keys, Some(2));
}

#[test]
fn pipelined_replies_each_find_their_own_request() {
    let rig = rig();
    let mut client = rig.client(4, 16);
    let keys: Vec<String> = (0..64).map(|slot| format!("slot {slot}")).collect();
    for round in 0..40_u64 {
        let values: Vec<Vec<u8>> = (0..64).map(|slot| noise(round << 8 | slot, (slot * 37 % 900) as usize)).collect();
        let puts: Vec<_> = (0..64)
            .map(|slot| (slot as u32, Operation::Put { key: keys[slot].as_bytes(), value: &values[slot] }))
            .collect();
        assert!(client.on_slots(&puts).iter().all(|reply| *reply == OwnedReply::Done));
        let gets: Vec<_> = (0..64).map(|slot| (slot as u32, Operation::Get { key: keys[slot].as_bytes() })).collect();
        let expected: Vec<_> = values.into_iter().map(OwnedReply::Value).collect();
        assert!(client.on_slots(&gets) == expected, "round {round}");
    }
}

#[test]
fn options_that_cannot_be_are_refused_before_anything_starts() {
    for (spec, words) in [
        ("nats,nodes=2", "use 1 or 3"),
        ("nats,replicas=3", "add nodes=3"),
        ("nats,replicas=5,nodes=3", "use 1 or 3"),
        ("nats,sync=always", "since 2.10; this one is 2.9"),
        ("nats,durability=commit", "durability"),
        ("nats,sync=never", "2min, always"),
        ("nats,program=/no/such", "/no/such"),
        ("nats,reads=any", "auto, direct, leader"),
    ] {
        let spec: Spec = spec.parse().unwrap();
        let refused = match layers::check(info("nats"), &spec) {
            Err(error) => error.to_string(),
            Ok(()) => host::open(info("nats"), &spec, &std::env::temp_dir()).unwrap_err().to_string(),
        };
        // A server of the machine that can sync starts.
        assert!(refused.contains(words), "{spec}: {refused}");
    }
}

#[test]
fn the_users_own_server_takes_its_bucket_from_the_url_and_no_password_is_shown() {
    let rig = rig();
    let open = |url: &str| {
        let spec: Spec = url.parse().unwrap();
        assert!(!spec.to_string().contains(rig.password().as_str()), "{spec}");
        host::open(info("nats"), &spec, &std::env::temp_dir()).map_err(|error| error.to_string())
    };
    let mine = open(&format!("nats://{}/mine", rig.authority())).unwrap();
    let mut client = Client::of(mine.store());
    assert_eq!(client.put("k", "mine"), OwnedReply::Done);
    assert_eq!(rig.client(1, 1).get("k"), OwnedReply::Missing, "another bucket");
    assert_eq!(client.get("k"), value("mine"));
    assert_eq!(mine.store().belongings().names(), ["bucket mine"]);
    let port = rig.port();
    for (url, words) in [
        (format!("nats://kvtrial:wrong@127.0.0.1:{port}"), "Authorization Violation"),
        (format!("nats://:wrong@127.0.0.1:{port}"), "Authorization Violation"),
        (format!("nats://127.0.0.1:{port}"), "Authorization Violation"),
        (format!("nats://token@127.0.0.1:{port}"), "nats://:TOKEN@HOST"),
        (format!("nats://{}/a.b", rig.authority()), "names no bucket"),
        (format!("nats://{},nodes=3", rig.authority()), "is for a private server"),
        (format!("nats://{},sync=always", rig.authority()), "is for a private server"),
    ] {
        let refused = open(&url).map(|_| ()).unwrap_err();
        assert!(refused.contains(words) && !refused.contains("wrong"), "{url}: {refused}");
    }
}

#[test]
fn a_key_with_the_mark_of_another_clients_delete_is_absent() {
    for spec in ["nats", "nats,reads=leader"] {
        let rig = Rig::start(spec);
        let mut client = rig.client(1, 1);
        assert_eq!(client.put("k", "v"), OwnedReply::Done);
        let endpoint = rig.endpoint();
        let (host, port) = endpoint.tcp().unwrap();
        let mut other = std::net::TcpStream::connect((host, port)).unwrap();
        let headers = "NATS/1.0\r\nKV-Operation: DEL\r\n\r\n";
        let login = format!(r#"{{"headers":true,"verbose":false,"user":"kvtrial","pass":"{}"}}"#, rig.password());
        let size = headers.len();
        write!(other, "CONNECT {login}\r\nHPUB $KV.kvtrial.k {size} {size}\r\n{headers}\r\nPING\r\n").unwrap();
        until("the mark is there", || client.get("k") == OwnedReply::Missing);
        assert_eq!(client.call(Operation::GetVersioned { key: b"k" }), OwnedReply::Missing, "{spec}");
    }
}

#[test]
fn three_servers_are_one_store_with_three_copies_or_one() {
    assert_eq!(layers::class_of(info("nats"), &"nats,nodes=3".parse().unwrap()), Class::Distributed);
    for (spec, replicas, consistency) in
        [("nats,nodes=3", "3", "leader"), ("nats,nodes=3,replicas=1", "1", "only copy")]
    {
        let rig = Rig::start(spec);
        let config = rig.store().facts().unwrap().config;
        assert_eq!((config["replicas"].as_str(), config["servers"].as_str()), (replicas, "3"));
        assert!(config["consistency"].contains(consistency), "{config:?}");
        // With several copies two clients may both win: nats-server issue 4320.
        let declared = layers::declared(info("nats"), &spec.parse().unwrap());
        assert_eq!(*rig.capabilities(), declared, "{spec}");
        assert_eq!(declared.has(OperationKind::CompareAndSet), replicas == "1", "{spec}");
        // Clients at different servers read what any of them has written.
        let mut client = rig.client(3, 2);
        for round in 0..30_u32 {
            let written = format!("{round}");
            assert_eq!(
                client.on_slots(&[(round % 6, Operation::Put { key: b"k", value: written.as_bytes() })]),
                [OwnedReply::Done]
            );
            let gets: Vec<_> = (0..6).map(|slot| (slot, Operation::Get { key: b"k" })).collect();
            assert_eq!(client.on_slots(&gets), vec![value(&written); 6], "{spec} round {round}");
        }
        assert_eq!(rig.store().holding().unwrap().keys, Some(1));
    }
}

/// A failure that says nothing of whether the operation was carried out.
fn is_open(reply: &OwnedReply) -> bool {
    // Several servers of which none leads say that they cannot answer now.
    let nobody_leads = doubt(reply).is_some_and(|words| words.contains("temporarily unavailable"));
    loss(reply).is_some() || nobody_leads
}

#[test]
fn a_server_killed_and_started_again_in_mid_work_loses_operations_and_no_acknowledged_write() {
    let rig = Rig::start("nats,nodes=3");
    let mut client = rig.client(3, 1);
    // Of each slot's key: what was acknowledged last, and what was sent since without an answer.
    let mut known: Vec<(String, Vec<String>)> = vec![(String::new(), Vec::new()); 3];
    let (mut lost, mut done, mut round) = (0, 0, 0_u32);
    let leader = rig.store().facts().unwrap().config["leader"].clone();
    let mut work = |rounds: u32, known: &mut Vec<(String, Vec<String>)>, client: &mut Client| {
        let mut good = 0;
        for _ in 0..rounds {
            round += 1;
            let (keys, written): (Vec<_>, Vec<_>) =
                (0..3).map(|slot| (format!("key{slot}"), format!("{slot} {round}"))).unzip();
            let puts: Vec<_> = (0..3)
                .map(|slot| {
                    (slot as u32, Operation::Put { key: keys[slot].as_bytes(), value: written[slot].as_bytes() })
                })
                .collect();
            for (slot, reply) in client.on_slots(&puts).iter().enumerate() {
                match reply {
                    OwnedReply::Done => {
                        known[slot] = (written[slot].clone(), Vec::new());
                        good += 1;
                    }
                    other => {
                        assert!(is_open(other), "{other:?}");
                        known[slot].1.push(written[slot].clone());
                        lost += 1;
                    }
                }
            }
            let gets: Vec<_> =
                (0..3).map(|slot| (slot as u32, Operation::Get { key: keys[slot].as_bytes() })).collect();
            for (slot, reply) in client.on_slots(&gets).iter().enumerate() {
                match reply {
                    OwnedReply::Value(read) => {
                        let (sure, open) = &known[slot];
                        let read = String::from_utf8(read.clone()).unwrap();
                        assert!(
                            read == *sure || open.contains(&read),
                            "{read} was read; {sure} was acknowledged, then {open:?}"
                        );
                        good += 1;
                    }
                    other => {
                        assert!(is_open(other), "{other:?}");
                        lost += 1;
                    }
                }
            }
        }
        done += good;
        good
    };
    assert_eq!(work(20, &mut known, &mut client), 120);
    rig.kill_node(&leader);
    until("all operations are answered again", || work(1, &mut known, &mut client) == 6);
    assert!(!rig.has_caught_up(), "a copy is missing");
    rig.start_node_again(&leader);
    assert_eq!(work(50, &mut known, &mut client), 300, "a server that comes back disturbs nobody");
    assert!(lost > 0, "the leader was killed and nobody saw it");
    until("the server that came back has what it missed", || rig.has_caught_up());
    assert!(rig.connect().is_ok());
}

/// A server that greets, makes any bucket, and answers each request for a key with these words; `INBOX` is the request's.
fn liar(words: &'static str) -> Endpoint {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = Endpoint::loopback(listener.local_addr().unwrap().port());
    thread::spawn(move || {
        for stream in listener.incoming() {
            thread::spawn(move || {
                let (mut stream, mut bytes) = (stream.unwrap(), [0; 4096]);
                let hello = "INFO {\"version\":\"2.9.10\",\"max_payload\":1048704,\"headers\":true}\r\n";
                stream.write_all(hello.as_bytes()).unwrap();
                while let Ok(size @ 1..) = stream.read(&mut bytes) {
                    let said = String::from_utf8_lossy(&bytes[..size]).replace("PONG\r\n", "");
                    if said.is_empty() {
                        continue;
                    }
                    let inbox = said.split_whitespace().find(|word| word.starts_with("_INBOX")).unwrap_or("?");
                    let reply = if said.starts_with("CONNECT") {
                        "PONG\r\n".to_owned()
                    } else if said.contains("STREAM.INFO") {
                        let stream = r#"{"config":{"num_replicas":1,"allow_direct":true}}"#;
                        format!("MSG {inbox} 1 {}\r\n{stream}\r\n", stream.len())
                    } else {
                        words.replace("INBOX", inbox)
                    };
                    stream.write_all(reply.as_bytes()).unwrap();
                }
            });
        }
    });
    endpoint
}

#[test]
fn a_server_that_answers_half_for_another_stream_or_twice_is_caught() {
    let ask = |words, operation: Operation<'_>| {
        let store = connect_of("nats")(&Spec::private("nats"), &[liar(words)]).unwrap();
        let mut client = Client::of(&*store);
        client.call(operation)
    };
    let (get, put) = (Operation::Get { key: b"k" }, Operation::Put { key: b"k", value: b"v" });
    let wrong_stream = ask("MSG INBOX 1 23\r\n{\"stream\":\"KV\",\"seq\":1}\r\n", put);
    assert!(breach(&wrong_stream).is_some_and(|words| words.contains("the bucket's stream")), "{wrong_stream:?}");
    let other_inbox = ask("MSG _INBOX.other 1 2\r\n{}\r\n", put);
    assert!(breach(&other_inbox).is_some_and(|words| words.contains("inbox")), "{other_inbox:?}");
    // Headers that end before their size does, and a message longer than it says.
    let short = ask("HMSG INBOX 1 40 41\r\nNATS/1.0\r\nNats-Stream: KV_kvtrial\r\n\r\nhello\r\n", get);
    assert!(breach(&short).is_some(), "{short:?}");
    let long = ask("HMSG INBOX 1 12 13\r\nNATS/1.0\r\n\r\nhello\r\n", get);
    assert!(breach(&long).is_some(), "{long:?}");
    let denied = ask("-ERR 'Permissions Violation for Publish to \"$KV.kvtrial.k\"'\r\n", put);
    assert!(refusal(&denied).is_some_and(|words| words.contains("Permissions Violation")), "{denied:?}");
    let stale = ask("-ERR 'Stale Connection'\r\n", get);
    assert!(loss(&stale).is_some_and(|words| words.contains("Stale Connection")), "{stale:?}");
    let nobody = ask("HMSG INBOX 1 16 16\r\nNATS/1.0 503\r\n\r\n\r\n", put);
    assert!(loss(&nobody).is_some_and(|words| words.contains("no server serves")), "{nobody:?}");
    // Twice: the first stands, and the connection is not used again as it is.
    let store = connect_of("nats")(
        &Spec::private("nats"),
        &[liar("HMSG INBOX 1 16 16\r\nNATS/1.0 404\r\n\r\n\r\nHMSG INBOX 1 16 16\r\nNATS/1.0 404\r\n\r\n\r\n")],
    );
    let mut client = Client::of(&*store.unwrap());
    let replies = [client.call(get), client.call(get)];
    assert!(replies.iter().any(|reply| breach(reply).is_some_and(|words| words.contains("no request"))), "{replies:?}");
}

#[test]
fn a_ping_while_nothing_is_asked_is_passed_over_and_a_reply_that_never_comes_is_given_up() {
    let store = connect_of("nats")(&Spec::private("nats"), &[liar("PING\r\nINFO {}\r\n")]).unwrap();
    let mut client = Client::of(&*store);
    let reply = client.call(Operation::Get { key: b"k" });
    assert!(loss(&reply).is_some_and(|words| words.contains("no reply within 5 s")), "{reply:?}");
    let store = connect_of("nats")(
        &Spec::private("nats"),
        &[liar("PING\r\nHMSG INBOX 1 16 16\r\nNATS/1.0 404\r\n\r\n\r\nPING\r\n")],
    );
    let mut client = Client::of(&*store.unwrap());
    for _ in 0..3 {
        assert_eq!(client.get("k"), OwnedReply::Missing);
    }
}

#[test]
fn nothing_is_said_to_be_native_that_was_not_tested_here() {
    let tested = [
        OperationKind::Get,
        OperationKind::GetVersioned,
        OperationKind::Put,
        OperationKind::Delete,
        OperationKind::CompareAndSet,
    ];
    assert!(rig().capabilities().native.kinds().all(|kind| tested.contains(&kind)));
}
