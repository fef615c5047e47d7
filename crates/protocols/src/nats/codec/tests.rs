//! The codec without sockets: requests read by the other side's rules, replies in pieces, lies and noise.
#![allow(clippy::unwrap_used, clippy::panic)]

use super::{MessageLives, Nats, Reads, Repliers, Shared};
use crate::nats::bucket::Bucket;
use std::sync::Arc;
use store::wire::{Codec, Decoded, Expect, Head};
use store::{Endpoint, Expected, Failure, Operation, OperationKind, Reply};

fn codec(reads: Reads) -> Nats {
    codec_of(reads, Repliers::One)
}

fn codec_of(reads: Reads, repliers: Repliers) -> Nats {
    let bucket = Bucket::of(&Endpoint { database: Some("b".into()), ..Endpoint::loopback(4222) }).unwrap();
    let shared = Shared {
        bucket,
        reads,
        repliers,
        lives: MessageLives::Each,
        max_value_bytes: 100,
        connect: b"CONNECT {}\r\n".to_vec(),
    };
    Nats::new(Arc::new(shared), b"_INBOX.x.".to_vec())
}

fn encoded(reads: Reads, operation: &Operation<'_>) -> String {
    let mut out = Vec::new();
    let expect = codec(reads).encode(operation, &mut out);
    assert_eq!(expect, Expect { kind: operation.kind(), detail: 1 });
    String::from_utf8(out).unwrap()
}

const SWAP: Operation<'_> =
    Operation::CompareAndSet { key: b"k", expected: Expected::Present { version: 17, value: b"old" }, value: b"new" };

#[test]
fn requests_are_those_of_the_key_value_store() {
    use Reads::{Direct, Leader};
    let absent = Operation::CompareAndSet { key: b"k", expected: Expected::Absent, value: b"" };
    let no_version = Expected::Present { version: 0, value: b"old" };
    let long = [b'v'; 101];
    for (reads, operation, request) in [
        (Direct, Operation::Put { key: b"a.b", value: b"hello" }, "PUB $KV.b.a=2Eb _INBOX.x.1 5\r\nhello\r\n"),
        (Direct, Operation::Put { key: b"", value: b"" }, "PUB $KV.b.= _INBOX.x.1 0\r\n\r\n"),
        (Direct, Operation::Get { key: b"k" }, "PUB $JS.API.DIRECT.GET.KV_b.$KV.b.k _INBOX.x.1 0\r\n\r\n"),
        (
            Leader,
            Operation::GetVersioned { key: b"k\0" },
            "PUB $JS.API.STREAM.MSG.GET.KV_b _INBOX.x.1 29\r\n{\"last_by_subj\":\"$KV.b.k=00\"}\r\n",
        ),
        (
            Direct,
            Operation::Delete { key: b"k" },
            "PUB $JS.API.STREAM.PURGE.KV_b _INBOX.x.1 20\r\n{\"filter\":\"$KV.b.k\"}\r\n",
        ),
        (
            Direct,
            SWAP,
            "HPUB $KV.b.k _INBOX.x.1 53 56\r\nNATS/1.0\r\nNats-Expected-Last-Subject-Sequence: 17\r\n\r\nnew\r\n",
        ),
        (
            Direct,
            absent,
            "HPUB $KV.b.k _INBOX.x.1 52 52\r\nNATS/1.0\r\nNats-Expected-Last-Subject-Sequence: 0\r\n\r\n\r\n",
        ),
        (
            Direct,
            Operation::PutTtl { key: b"k", value: b"new", ttl_ms: 90_000 },
            "HPUB $KV.b.k _INBOX.x.1 26 29\r\nNATS/1.0\r\nNats-TTL: 90\r\n\r\nnew\r\n",
        ),
        // What cannot be is sent to the own inbox instead, with the reason.
        (Direct, Operation::PutTtl { key: b"k", value: &long, ttl_ms: 1000 }, "PUB _INBOX.x.1 1\r\nv\r\n"),
        (Direct, Operation::CompareAndSet { key: b"k", expected: no_version, value: b"" }, "PUB _INBOX.x.1 1\r\nc\r\n"),
        (Direct, Operation::Put { key: b"k", value: &long }, "PUB _INBOX.x.1 1\r\nv\r\n"),
        (Direct, Operation::Get { key: &[b'k'; 1025] }, "PUB _INBOX.x.1 1\r\nk\r\n"),
        (Direct, Operation::GetMany { keys: &[] }, "PUB _INBOX.x.1 1\r\nn\r\n"),
    ] {
        assert_eq!(encoded(reads, &operation), request);
    }
}

/// A message to the inbox of the first request.
fn to_inbox(headers: &str, payload: &str) -> Vec<u8> {
    let sizes = match headers.len() {
        0 => format!(" {}", payload.len()),
        size => format!(" {size} {}", size + payload.len()),
    };
    let verb = if headers.is_empty() { "MSG" } else { "HMSG" };
    format!("{verb} _INBOX.x.1 1 {sizes}\r\n{headers}{payload}\r\n").into_bytes()
}

const FOUND: &str = "NATS/1.0\r\nNats-Stream: KV_b\r\nNats-Subject: $KV.b.k\r\nNats-Sequence: 9\r\n\r\n";
const DELETED: &str = "NATS/1.0\r\nKV-Operation: DEL\r\nNats-Stream: KV_b\r\nNats-Sequence: 9\r\n\r\n";

fn decoded(reads: Reads, kind: OperationKind, input: &[u8]) -> String {
    format!("{:?}", codec(reads).decode(Expect { kind, detail: 1 }, input))
}

#[test]
fn replies_are_read_as_the_server_means_them_and_only_when_they_are_whole() {
    use OperationKind::{CompareAndSet, Delete, Get, GetVersioned, Put, PutTtl};
    use Reads::{Direct, Leader};
    let error = |code: u32, number: u32| {
        format!(r#"{{"error":{{"code":{code},"err_code":{number},"description":"words"}},"stream":"KV_b","seq":0}}"#)
    };
    let entry = |more: &str| {
        format!(r#"{{"type":"io.nats","message":{{"subject":"$KV.b.k","seq":9{more},"time":"2026-11-23T15:51:31Z"}}}}"#)
    };
    // NATS/1.0, KV-Operation: DEL
    let mark = r#","hdrs":"TkFUUy8xLjANCktWLU9wZXJhdGlvbjogREVMDQoNCg==""#;
    let cases = [
        (Direct, Put, to_inbox("", r#"{"stream":"KV_b", "seq":1}"#), "Done"),
        (Direct, Put, to_inbox("", &error(400, 10077)), "Refused(\"words\")"),
        (Direct, Put, to_inbox("", &error(503, 10008)), "Unknown(\"words\")"),
        (Direct, Put, to_inbox("NATS/1.0 503\r\n\r\n", ""), "NotConnected(\"503"),
        (Direct, PutTtl, to_inbox("", r#"{"stream":"KV_b","seq":2}"#), "Done"),
        (Direct, PutTtl, to_inbox("", &error(400, 10165)), "Refused(\"words\")"),
        (Direct, PutTtl, to_inbox("", "t"), "Refused(\"nothing expires"),
        (Direct, Put, to_inbox("", "v"), "Refused(\"a value longer"),
        (Direct, Put, to_inbox("", "k"), "Refused(\"a key over"),
        (Direct, CompareAndSet, to_inbox("", r#"{"stream":"KV_b","seq":2}"#), "Done"),
        (Direct, CompareAndSet, to_inbox("", &error(400, 10071)), "Conflict"),
        (Direct, CompareAndSet, to_inbox("", "c"), "Conflict"),
        (Direct, Put, to_inbox("", &error(400, 10071)), "Refused"),
        (Direct, Delete, to_inbox("", r#"{"success":true,"purged":1}"#), "Done"),
        (Direct, Delete, to_inbox("", r#"{"success":true,"purged":0}"#), "Missing"),
        (Direct, Delete, to_inbox("", &error(404, 10059)), "Refused(\"words\")"),
        (Direct, Get, to_inbox(FOUND, "hello"), "Value([104, 101, 108, 108, 111])"),
        (Direct, Get, to_inbox(FOUND, ""), "Value([])"),
        (Direct, GetVersioned, to_inbox(FOUND, "x"), "Versioned { value: [120], version: 9 }"),
        (Direct, Get, to_inbox(DELETED, ""), "Missing"),
        (Direct, Get, to_inbox("NATS/1.0 404 Message Not Found\r\n\r\n", ""), "Missing"),
        (Direct, Get, to_inbox("NATS/1.0 408 Bad Request\r\n\r\n", ""), "Refused"),
        (Leader, Get, to_inbox("", &entry(r#","data":"aGVsbG8=""#)), "Value([104, 101, 108, 108, 111])"),
        (Leader, GetVersioned, to_inbox("", &entry("")), "Versioned { value: [], version: 9 }"),
        (Leader, Get, to_inbox("", &entry(mark)), "Missing"),
        (Leader, Get, to_inbox("", &error(404, 10037)), "Missing"),
        (Leader, Get, to_inbox("", &error(503, 10008)), "Unknown(\"words\")"),
        // Time may have run out, or a copy failed, behind a message that is stored.
        (Direct, Put, to_inbox("", &error(503, 10077)), "Unknown(\"words\")"),
        (Direct, Delete, to_inbox("", &error(500, 10110)), "Unknown(\"words\")"),
        (Direct, Put, b"-ERR 'Permissions Violation for Publish to \"$KV.b.k\"'\r\n".to_vec(), "Refused(\"Permissions"),
        (Direct, Put, b"-ERR 'Stale Connection'\r\n".to_vec(), "ConnectionLost(\"Stale Connection\")"),
    ];
    for (reads, kind, whole, words) in cases {
        for end in 0..whole.len() {
            let text = decoded(reads, kind, &whole[..end]);
            assert!(text.starts_with("Incomplete"), "{kind:?} {}: {text}", whole[..end].escape_ascii());
        }
        let text = decoded(reads, kind, &whole);
        assert!(text.contains(words) && text.contains(&format!("consumed: {}", whole.len())), "{kind:?}: {text}");
    }
}

#[test]
fn an_answer_of_another_stream_to_another_inbox_or_of_another_kind_is_not_taken_for_one() {
    use OperationKind::{Delete, Get, Put};
    use Reads::{Direct, Leader};
    let other_stream = FOUND.replace("KV_b", "KV_c");
    let no_sequence = FOUND.replace("Nats-Sequence: 9", "Nats-Sequence: nine");
    let message = r#"{"message":{"subject":"$KV.c.k","seq":9}}"#;
    let not_base64 = r#"{"message":{"subject":"$KV.b.k","seq":9,"data":"aGVsbG8"}}"#;
    for (reads, kind, input) in [
        (Direct, Put, to_inbox("", r#"{"stream":"KV_c","seq":1}"#)),
        (Direct, Put, to_inbox("", r#"{"stream":"KV_b","seq":0}"#)),
        (Direct, Put, to_inbox("", r#"{"stream":"KV_b"}"#)),
        (Direct, Put, to_inbox("", "+OK")),
        (Direct, Put, to_inbox("", "")),
        (Direct, Put, b"MSG _INBOX.x.2 1 26\r\n{\"stream\":\"KV_b\", \"seq\":1}\r\n".to_vec()),
        (Direct, Put, b"MSG _INBOX.y.1 1 26\r\n{\"stream\":\"KV_b\", \"seq\":1}\r\n".to_vec()),
        (Direct, Put, b"MSG _INBOX.x.1 2 26\r\n{\"stream\":\"KV_b\", \"seq\":1}\r\n".to_vec()),
        (Direct, Put, b"+OK\r\n".to_vec()),
        (Direct, Delete, to_inbox("", r#"{"success":false,"purged":1}"#)),
        (Direct, Delete, to_inbox("", r#"{"success":true}"#)),
        (Direct, Get, to_inbox("", "hello")),
        (Direct, Get, to_inbox(&other_stream, "hello")),
        (Direct, Get, to_inbox(&no_sequence, "hello")),
        (Leader, Get, to_inbox("", message)),
        (Leader, Get, to_inbox("", not_base64)),
        (Leader, Get, to_inbox("", "{}")),
    ] {
        let text = decoded(reads, kind, &input);
        assert!(text.starts_with("Broken"), "{kind:?} {}: {text}", input.escape_ascii());
    }
}

#[test]
fn a_ping_is_answered_and_replies_are_named_by_their_tickets() {
    let mut codec = codec(Reads::Direct);
    let mut answer = Vec::new();
    assert_eq!(codec.head(b"PING\r\nMSG", &mut answer), Head::Aside { bytes: 6 });
    assert_eq!(codec.head(b"INFO {}\r\n", &mut answer), Head::Aside { bytes: 9 });
    assert_eq!(answer, b"PONG\r\n");
    assert_eq!(codec.head(b"-ERR 'x'\r\n", &mut answer), Head::Oldest { bytes: 10 });
    assert_eq!(codec.head(b"MSG _INBOX.x.77 1 0\r\n\r\n", &mut answer), Head::Reply { ticket: 77, bytes: 23 });
    assert_eq!(codec.head(b"MSG _INBOX.x.77 1 0\r\n", &mut answer), Head::Incomplete { at_least: 2 });
    assert!(matches!(codec.head(b"MSG _INBOX.y.77 1 0\r\n\r\n", &mut answer), Head::Broken(_)));
}

#[test]
fn the_hello_waits_for_the_pong_and_hears_why_not() {
    let mut codec = codec(Reads::Direct);
    let mut out = Vec::new();
    assert_eq!(codec.hello(&mut out), 1);
    assert_eq!(out, b"CONNECT {}\r\nSUB _INBOX.x.* 1\r\nPING\r\n");
    let said = b"INFO {\"version\":\"2.9.10\"} \r\nPONG\r\n";
    for end in 0..said.len() {
        assert!(matches!(codec.hello_reply(&said[..end]), Decoded::Incomplete { .. }), "{end}");
    }
    assert_eq!(codec.hello_reply(said), Decoded::Reply { reply: Reply::Done, consumed: said.len() });
    let refusal = b"INFO {} \r\n-ERR 'Authorization Violation'\r\n";
    let refused = Reply::Failed(Failure::Refused("Authorization Violation"));
    assert_eq!(codec.hello_reply(refusal), Decoded::Reply { reply: refused, consumed: refusal.len() });
}

/// A reply to the inbox of any request.
fn inbox_of(expect: Expect, headers: &str, payload: &str) -> Vec<u8> {
    let message = String::from_utf8(to_inbox(headers, payload)).unwrap();
    message.replacen("_INBOX.x.1 ", &format!("_INBOX.x.{} ", expect.detail), 1).into_bytes()
}

#[test]
fn mutated_replies_split_anywhere_never_panic_never_stand_still_and_are_read_alike() {
    ground::fuzz::assault(
        || codec(Reads::Direct),
        &[
            (Operation::Get { key: b"k" }, |it| inbox_of(it, FOUND, "hello\r\nworld")),
            (Operation::GetVersioned { key: b"k" }, |it| inbox_of(it, FOUND, "")),
            (Operation::Get { key: b"k" }, |it| inbox_of(it, "NATS/1.0 404 Message Not Found\r\n\r\n", "")),
            (Operation::Put { key: b"k", value: b"v" }, |it| inbox_of(it, "", r#"{"stream":"KV_b", "seq":12}"#)),
            (Operation::Put { key: b"k", value: b"v" }, |it| inbox_of(it, "NATS/1.0 503\r\n\r\n", "")),
            (Operation::Delete { key: b"k" }, |it| inbox_of(it, "", r#"{"type":"x","success":true,"purged":1}"#)),
            (SWAP, |it| inbox_of(it, "", r#"{"error":{"code":400,"err_code":10071,"description":"wrong"},"seq":0}"#)),
        ],
    );
    ground::fuzz::assault(
        || codec(Reads::Leader),
        &[
            (Operation::Get { key: b"k" }, |it| {
                inbox_of(
                    it,
                    "",
                    r#"{"message":{"subject":"$KV.b.k","seq":9,"hdrs":"TkFUUy8xLjANCg0K","data":"aGVsbG8="}}"#,
                )
            }),
            (Operation::GetVersioned { key: b"k" }, |it| {
                inbox_of(it, "", r#"{"type":"x","message":{"subject":"$KV.b.k","seq":9,"time":"2026"}}"#)
            }),
            (Operation::Get { key: b"k" }, |it| {
                inbox_of(it, "", r#"{"error":{"code":404,"err_code":10037,"description":"no message found"}}"#)
            }),
        ],
    );
}

#[test]
fn servers_of_a_cluster_may_all_answer_what_was_asked_and_a_server_alone_answers_once() {
    let (mut cluster, mut alone) = (codec_of(Reads::Leader, Repliers::Several), codec_of(Reads::Leader, Repliers::One));
    for codec in [&mut cluster, &mut alone] {
        for _ in 0..3 {
            codec.encode(&Operation::Get { key: b"k" }, &mut Vec::new());
        }
    }
    assert!((1..=3).all(|ticket| cluster.may_repeat(ticket)));
    assert!(!cluster.may_repeat(4), "that was never asked");
    assert!(!alone.may_repeat(1));
}
