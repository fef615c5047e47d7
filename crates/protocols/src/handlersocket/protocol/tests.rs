//! The codec without sockets: exact bytes, replies fed byte by byte, and noise.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::super::line::{push_token, unescape};
use super::{Greeting, HandlerSocket, KEY_BYTES};
use proptest::prelude::{any, prop, proptest};
use store::wire::{Codec, Decoded, Expect};
use store::{Expected, Operation, OperationKind, Reply};

fn codec() -> HandlerSocket {
    HandlerSocket::new(Greeting { secret: Some("s3\n".into()), database: "kvtrial".into() }, 100)
}

fn encoded(operation: &Operation<'_>) -> String {
    let mut out = Vec::new();
    assert_eq!(codec().encode(operation, &mut out).kind, operation.kind());
    out.escape_ascii().to_string()
}

#[test]
fn requests_are_the_lines_of_the_protocol() {
    let present = Expected::Present { version: 77, value: b"not sent" };
    let cases: &[(Operation<'_>, &str)] = &[
        (Operation::Get { key: b"k" }, r"1\t=\t1\tk\n"),
        (Operation::GetVersioned { key: b"\0" }, r"3\t=\t1\t\x01@\n"),
        (Operation::GetCounter { key: b"" }, r"5\t=\t1\t\n"),
        (
            Operation::Put { key: b"k", value: b"\t\n" },
            r"2\t=\t1\tk\t1\t0\tU\t\x01I\x01J\t101\n3\t+\t3\tk\t\x01I\x01J\t102\n",
        ),
        (Operation::Delete { key: b"k" }, r"2\t=\t1\tk\t1\t0\tD\n"),
        (Operation::Increment { key: b"k", by: -5 }, r"5\t+\t2\tk\t0\n4\t=\t1\tk\t1\t0\t+?\t-5\n"),
        (Operation::CompareAndSet { key: b"k", expected: Expected::Absent, value: b"v" }, r"3\t+\t3\tk\tv\t101\n"),
        (
            Operation::CompareAndSet { key: b"k", expected: present, value: b"" },
            r"2\t=\t1\tk\t1\t0\tF\t=\t0\t77\tU\t\t101\n",
        ),
        (Operation::GetMany { keys: &[b"a", b"", b"c"] }, r"1\t=\t1\t\t3\t0\t@\t0\t3\ta\t\tc\n"),
        (Operation::GetMany { keys: &[] }, r"1\t=\t1\t\n"),
        (Operation::PutMany { pairs: &[] }, r"1\t=\t1\t\n"),
        (Operation::Scan { start: b"a", limit: 9 }, r"1\t>=\t1\ta\t9\t0\n"),
        // The server would cut this key off.
        (Operation::Put { key: &[b'k'; KEY_BYTES + 1], value: b"v" }, r"1\t=\t1\t\n"),
    ];
    for (operation, text) in cases {
        assert_eq!(encoded(operation), *text);
    }
}

#[test]
fn a_connection_begins_with_its_secret_and_the_indexes() {
    let mut out = Vec::new();
    assert_eq!(codec().hello(&mut out), 7);
    let text = out.escape_ascii().to_string();
    assert!(text.starts_with(r"A\t1\ts3\x01J\nP\t1\tkvtrial\tkvtrial_kv\tPRIMARY\tk,v\nP\t2\t"), "{text}");
    let mut codec = codec();
    assert_eq!(codec.hello_reply(b"0\t1"), Decoded::Incomplete { at_least: 1 });
    assert_eq!(codec.hello_reply(b"0\t1\nmore"), Decoded::Reply { reply: Reply::Done, consumed: 4 });
    let text = format!("{:?}", codec.hello_reply(b"3\t1\tunauth\n"));
    assert!(text.contains("unauth") && text.contains("plain_secret_wr"), "{text}");
}

/// What comes of bytes that answer a request; of each shorter part nothing may come yet.
fn decoded(operation: &Operation<'_>, input: &[u8]) -> String {
    let mut codec = codec();
    let expect = codec.encode(operation, &mut Vec::new());
    for end in 0..input.len() {
        match codec.decode(expect, &input[..end]) {
            Decoded::Incomplete { at_least } => assert!((1..=input.len() - end).contains(&at_least), "at {end}"),
            other => panic!("cut at {end}: {other:?}"),
        }
    }
    let more = [input, b"0\t1\n"].concat();
    let text = format!("{:?}", codec.decode(expect, &more));
    assert!(text.ends_with(&format!("consumed: {} }}", input.len())), "{text}");
    text
}

#[test]
fn replies_fed_one_byte_at_a_time_are_incomplete_until_they_are_whole() {
    let get = Operation::Get { key: b"k" };
    let put = Operation::Put { key: b"k", value: b"v" };
    let add = Operation::Increment { key: b"k", by: 7 };
    let delete = Operation::Delete { key: b"k" };
    let insert = Operation::CompareAndSet { key: b"k", expected: Expected::Absent, value: b"v" };
    let swap =
        Operation::CompareAndSet { key: b"k", expected: Expected::Present { version: 1, value: b"" }, value: b"v" };
    let many = Operation::GetMany { keys: &[b"1", b"2", b"3"] };
    let puts = Operation::PutMany { pairs: &[(b"a", b"1"), (b"b", b"2")] };
    let scan = Operation::Scan { start: b"", limit: 5 };
    let cases: &[(&Operation<'_>, &[u8], &str)] = &[
        (&get, b"0\t2\tk\ta\x01I\n", "Value([97, 9])"),
        (&get, b"0\t2\tk\t\n", "Value([])"),
        (&get, b"0\t2\n", "Missing"),
        (&get, b"2\t1\tstmtnum\n", "Refused(\"HandlerSocket says stmtnum (2)\")"),
        (&Operation::GetVersioned { key: b"k" }, b"0\t3\tk\tv\t9\n", "version: 9"),
        (&Operation::GetCounter { key: b"k" }, b"0\t2\tk\t-3\n", "Number(-3)"),
        (&put, b"0\t1\t1\n1\t1\t121\n", "Done"),
        (&put, b"0\t1\t0\n0\t1\n", "Done"),
        (&put, b"0\t1\t0\n1\t1\t121\n", "Done"),
        (&put, b"1\t1\t139\n1\t1\t139\n", "Refused(\"the storage engine's error 139\")"),
        (&put, b"0\t1\t0\n1\t1\t139\n", "Refused"),
        (&delete, b"0\t1\t1\n", "Done"),
        (&delete, b"0\t1\t0\n", "Missing"),
        (&add, b"0\t1\n0\t1\t0\n", "Number(7)"),
        (&add, b"1\t1\t121\n0\t1\t-9\n", "Number(-2)"),
        (&insert, b"0\t1\n", "Done"),
        (&insert, b"1\t1\t121\n", "Conflict"),
        (&swap, b"0\t1\t1\n", "Done"),
        (&swap, b"0\t1\t0\n", "Conflict"),
        (&many, b"0\t2\t1\ta\t3\t\n", "Rows"),
        (&many, b"0\t2\n", "Rows"),
        (&Operation::GetMany { keys: &[] }, b"0\t2\t\tthe empty key\n", "Rows"),
        (&puts, b"0\t1\t1\n1\t1\t121\n0\t1\t0\n0\t1\n", "Done"),
        (&puts, b"0\t1\t1\n1\t1\t121\n0\t1\t0\n1\t1\t139\n", "Refused"),
        (&Operation::PutMany { pairs: &[] }, b"0\t2\n", "Done"),
        (&scan, b"0\t2\ta\t1\tb\t2\n", "Rows"),
        (&Operation::Put { key: &[0; KEY_BYTES + 1], value: b"" }, b"0\t2\n", "would cut it off"),
    ];
    for (operation, whole, words) in cases {
        let text = decoded(operation, whole);
        assert!(text.contains(words), "{}: {text}", whole.escape_ascii());
    }
}

#[test]
fn a_reply_to_another_request_or_of_another_kind_is_not_taken_for_an_answer() {
    let get = Operation::Get { key: b"k" };
    let cases: &[(Operation<'_>, &[u8])] = &[
        (get, b"0\t2\tother\tv\n"),
        (get, b"0\t2\tk\n"),
        (get, b"0\t2\tk\t\x02\n"),
        (get, b"0\t2\tk\t\x01\n"),
        (get, b"+OK\r\n"),
        (get, b"\n"),
        (Operation::GetVersioned { key: b"k" }, b"0\t2\tk\tv\n"),
        (Operation::GetCounter { key: b"k" }, b"0\t2\tk\tten\n"),
        (Operation::Delete { key: b"k" }, b"0\t1\n"),
        (Operation::Increment { key: b"k", by: 1 }, b"0\t1\n0\t1\n"),
        (Operation::GetMany { keys: &[b"a", b"b"] }, b"0\t2\tb\t2\ta\t1\n"),
        (Operation::GetMany { keys: &[b"a"] }, b"0\t2\tc\t2\n"),
    ];
    for (operation, input) in cases {
        let mut codec = codec();
        let expect = codec.encode(operation, &mut Vec::new());
        let text = format!("{:?}", codec.decode(expect, input));
        assert!(text.starts_with("Broken"), "{}: {text}", input.escape_ascii());
    }
}

#[test]
fn replies_behind_one_another_are_each_found() {
    let mut codec = codec();
    let expects: Vec<Expect> =
        [b"a", b"b", b"c"].map(|key| codec.encode(&Operation::Get { key }, &mut Vec::new())).into();
    let mut input = &b"0\t2\ta\t1\n0\t2\n0\t2\tc\t3\n"[..];
    for (expect, reply) in expects.into_iter().zip([Reply::Value(b"1"), Reply::Missing, Reply::Value(b"3")]) {
        let Decoded::Reply { reply: found, consumed } = codec.decode(expect, input) else { panic!() };
        assert_eq!(found, reply);
        input = &input[consumed..];
    }
    assert!(input.is_empty());
}

proptest! {
    #[test]
    fn no_bytes_make_the_decoder_panic_or_take_more_than_there_is(
        words in prop::collection::vec(prop::sample::select(vec!["0", "1", "\t", "\t", "\n", "a", "121", "\x01@"]), 0..20),
        noise in any::<Vec<u8>>(), detail in 0..4u32,
    ) {
        for input in [words.concat().as_bytes(), &noise] {
            for kind in OperationKind::ALL {
                let mut codec = codec();
                codec.encode(&Operation::GetMany { keys: &[b"a", b"\0"] }, &mut Vec::new());
                if let Decoded::Reply { consumed, .. } = codec.decode(Expect { kind, detail }, input) {
                    assert!((1..=input.len()).contains(&consumed));
                }
            }
        }
    }

    #[test]
    fn any_bytes_come_back_from_their_token(bytes in any::<Vec<u8>>()) {
        let (mut token, mut back) = (Vec::new(), Vec::new());
        push_token(&mut token, &bytes);
        assert!(token.iter().all(|byte| *byte >= 16 || *byte == 1));
        unescape(&mut back, &token).unwrap();
        assert_eq!(back, bytes);
    }
}

#[test]
fn mutated_replies_split_anywhere_never_panic_never_stand_still_and_are_read_alike() {
    let expected = Expected::Present { version: 7, value: b"" };
    ground::fuzz::assault(
        codec,
        &[
            (Operation::Get { key: b"k" }, |_| b"0\t2\tk\thel\x01Jlo\n".to_vec()),
            (Operation::Get { key: b"k" }, |_| b"0\t2\n".to_vec()),
            (Operation::GetVersioned { key: b"k" }, |_| b"0\t3\tk\tv\t77\n".to_vec()),
            (Operation::GetCounter { key: b"k" }, |_| b"0\t2\tk\t17\n".to_vec()),
            (Operation::Put { key: b"k", value: b"v" }, |_| b"0\t1\t1\n1\t1\t121\n".to_vec()),
            (Operation::Put { key: b"k", value: b"v" }, |_| b"2\t1\tunauth\n2\t1\tunauth\n".to_vec()),
            (Operation::Delete { key: b"k" }, |_| b"0\t1\t0\n".to_vec()),
            (Operation::Increment { key: b"k", by: 4 }, |_| b"1\t1\t121\n0\t1\t13\n".to_vec()),
            (Operation::CompareAndSet { key: b"k", expected, value: b"v" }, |_| b"0\t1\t1\n".to_vec()),
            (Operation::GetMany { keys: &[b"a", b"b"] }, |_| b"0\t2\ta\tA\tb\t\n".to_vec()),
            (Operation::PutMany { pairs: &[(b"a", b"1"), (b"b", b"2")] }, |_| {
                b"0\t1\t0\n0\t1\n0\t1\t1\n1\t1\t121\n".to_vec()
            }),
            (Operation::Scan { start: b"a", limit: 3 }, |_| b"0\t2\ta\tA\tb\tB\n".to_vec()),
        ],
    );
}
