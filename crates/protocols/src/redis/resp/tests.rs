//! The codec without sockets: requests read by a parser that shares nothing with it, replies fed byte by byte, and noise.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::{Login, Resp, SCRIPT_SHA1};
use proptest::prelude::{any, prop, proptest};
use store::wire::{Codec, Decoded, Expect};
use store::{Expected, Failure, Operation, OperationKind, Reply};

/// Reads requests as the protocol's description has them: `*n`, then n times `$length`, bytes.
fn arguments(mut input: &[u8]) -> Vec<Vec<Vec<u8>>> {
    fn line(input: &mut &[u8], sign: u8) -> usize {
        assert_eq!(input[0], sign);
        let text = std::str::from_utf8(input)
            .unwrap_or_else(|error| std::str::from_utf8(&input[..error.valid_up_to()]).unwrap());
        let (digits, _) = text[1..].split_once("\r\n").unwrap();
        *input = &input[1 + digits.len() + 2..];
        digits.parse().unwrap()
    }
    let mut requests = Vec::new();
    while !input.is_empty() {
        let count = line(&mut input, b'*');
        let argument = |_| {
            let size = line(&mut input, b'$');
            let (bytes, rest) = input.split_at(size);
            input = rest.strip_prefix(b"\r\n").unwrap();
            bytes.to_vec()
        };
        requests.push((0..count).map(argument).collect());
    }
    requests
}

fn encoded(operation: &Operation<'_>) -> (Expect, Vec<Vec<u8>>) {
    let (mut codec, mut out) = (Resp::new(Login::default()), Vec::new());
    let expect = codec.encode(operation, &mut out);
    let mut requests = arguments(&out);
    assert_eq!(requests.len(), 1);
    (expect, requests.remove(0))
}

proptest! {
    #[test]
    fn every_request_is_read_back_by_an_independent_parser(
        key in any::<Vec<u8>>(), value in prop::collection::vec(any::<u8>(), 0..1200), other in any::<Vec<u8>>(), by in any::<i64>(), shift in 0..64,
    ) {
        let by: i64 = by >> shift;
        let (k, v, o) = (&key[..], &value[..], &other[..]);
        let number = by.to_string();
        let n = number.as_bytes();
        let expected = Expected::Present { version: 7, value: o };
        let (keys, pairs) = ([k, o, k], [(k, v), (o, k)]);
        let cases: Vec<(Operation<'_>, Vec<&[u8]>)> = vec![
            (Operation::Get { key: k }, vec![b"GET", k]),
            (Operation::GetVersioned { key: k }, vec![b"GET", k]),
            (Operation::GetCounter { key: k }, vec![b"GET", k]),
            (Operation::Put { key: k, value: v }, vec![b"SET", k, v]),
            (Operation::Delete { key: k }, vec![b"DEL", k]),
            (Operation::Append { key: k, value: v }, vec![b"APPEND", k, v]),
            (Operation::Increment { key: k, by }, vec![b"INCRBY", k, n]),
            (Operation::IncrementField { key: k, field: o, by }, vec![b"HINCRBY", k, o, n]),
            (Operation::GetFields { key: k }, vec![b"HGETALL", k]),
            (Operation::CompareAndSet { key: k, expected: Expected::Absent, value: v }, vec![b"SET", k, v, b"NX"]),
            (Operation::CompareAndSet { key: k, expected, value: v }, vec![b"EVALSHA", SCRIPT_SHA1.as_bytes(), b"1", k, o, v]),
            (Operation::GetMany { keys: &keys }, vec![b"MGET", k, o, k]),
            (Operation::GetMany { keys: &[] }, vec![b"PING"]),
            (Operation::PutMany { pairs: &pairs }, vec![b"MSET", k, v, o, k]),
            (Operation::PutMany { pairs: &[] }, vec![b"PING"]),
            (Operation::PutTtl { key: k, value: v, ttl_ms: 1500 }, vec![b"SET", k, v, b"PX", b"1500"]),
            (Operation::Touch { key: k, ttl_ms: 1 }, vec![b"PEXPIRE", k, b"1"]),
            (Operation::TimeLeft { key: k }, vec![b"PTTL", k]),
        ];
        for (operation, expected) in cases {
            let (expect, arguments) = encoded(&operation);
            assert_eq!(expect.kind, operation.kind());
            assert_eq!(arguments, expected);
        }
    }

    #[test]
    fn no_bytes_make_the_decoder_panic_or_take_more_than_there_is(
        input in prop::collection::vec(prop::sample::select(b"$*:+-0123459\r\n\r\nax\xff".to_vec()), 0..60), noise in any::<Vec<u8>>(), detail in 0..4u32,
    ) {
        for input in [&input[..], &noise] {
            for kind in OperationKind::ALL {
                let mut codec = codec_that_asked(detail);
                if let Decoded::Reply { consumed, .. } = codec.decode(Expect { kind, detail }, input) {
                    assert!((1..=input.len()).contains(&consumed));
                }
            }
            let mut codec = Resp::new(Login::default());
            codec.hello(&mut Vec::new());
            codec.hello_reply(input);
        }
    }

    #[test]
    fn a_value_of_any_bytes_is_found_whole_whatever_follows_it(value in any::<Vec<u8>>(), tail in any::<Vec<u8>>()) {
        let mut input = format!("${}\r\n", value.len()).into_bytes();
        input.extend_from_slice(&value);
        input.extend_from_slice(b"\r\n");
        let whole = input.len();
        input.extend_from_slice(&tail);
        let mut codec = Resp::new(Login::default());
        let expect = Expect { kind: OperationKind::Get, detail: 0 };
        assert_eq!(codec.decode(expect, &input), Decoded::Reply { reply: Reply::Value(&value), consumed: whole });
    }
}

/// A codec with get-many requests for `count` keys in flight.
fn codec_that_asked(count: u32) -> Resp {
    let mut codec = Resp::new(Login::default());
    let keys: Vec<&[u8]> = [&b"a"[..], b"bb", b"", b"a"].into_iter().take(count as usize).collect();
    codec.encode(&Operation::GetMany { keys: &keys }, &mut Vec::new());
    codec
}

fn decoded(kind: OperationKind, detail: u32, input: &[u8]) -> String {
    format!(
        "{:?}",
        codec_that_asked(if kind == OperationKind::GetMany { detail } else { 0 })
            .decode(Expect { kind, detail }, input)
    )
}

#[test]
fn replies_fed_one_byte_at_a_time_are_incomplete_until_they_are_whole() {
    use OperationKind::{
        Append, CompareAndSet, Delete, Get, GetCounter, GetFields, GetMany, Increment, Put, PutMany, PutTtl, TimeLeft,
        Touch,
    };
    let cases: &[(OperationKind, u32, &[u8], &str)] = &[
        (Get, 0, b"$5\r\na\r\nbc\r\n", "Value"),
        (Get, 0, b"$0\r\n\r\n", "Value([])"),
        (Get, 0, b"$-1\r\n", "Missing"),
        (Get, 0, b"_\r\n", "Missing"),
        (CompareAndSet, 0, b"_\r\n", "Conflict"),
        (GetFields, 0, b"%1\r\n$1\r\nf\r\n$1\r\n5\r\n", "Rows"),
        (Get, 0, b"-LOADING wait\r\n", "Refused(\"LOADING wait\")"),
        (Put, 0, b"+OK\r\n", "Done"),
        (Put, 0, b"-OOM no room\r\n", "Refused(\"OOM no room\")"),
        (Delete, 0, b":1\r\n", "Done"),
        (Delete, 0, b":0\r\n", "Missing"),
        (Append, 0, b":1234567890123\r\n", "Number(1234567890123)"),
        (Increment, 0, b":-9223372036854775808\r\n", "Number(-9223372036854775808)"),
        (Increment, 0, b":9223372036854775807\r\n", "Number(9223372036854775807)"),
        (GetCounter, 0, b"$2\r\n-7\r\n", "Number(-7)"),
        (CompareAndSet, 0, b"$-1\r\n", "Conflict"),
        (CompareAndSet, 0, b"+OK\r\n", "Done"),
        (CompareAndSet, 1, b":0\r\n", "Conflict"),
        (CompareAndSet, 1, b":1\r\n", "Done"),
        (GetMany, 3, b"*3\r\n$1\r\nx\r\n$-1\r\n$12\r\nabcdefghijkl\r\n", "Rows"),
        (GetMany, 0, b"+PONG\r\n", "Rows"),
        (GetMany, 2, b"-ERR no\r\n", "Refused(\"ERR no\")"),
        (GetFields, 0, b"*4\r\n$1\r\nf\r\n$1\r\n1\r\n$1\r\ng\r\n$2\r\n22\r\n", "Rows"),
        (GetFields, 0, b"*0\r\n", "Rows"),
        (PutMany, 2, b"+OK\r\n", "Done"),
        (PutTtl, 0, b"+OK\r\n", "Done"),
        (PutTtl, 0, b"-ERR invalid expire time\r\n", "Refused"),
        (Touch, 0, b":1\r\n", "Done"),
        (Touch, 0, b":0\r\n", "Missing"),
        (TimeLeft, 0, b":1500\r\n", "Number(1500)"),
        (TimeLeft, 0, b":-1\r\n", "Number(-1)"),
        (TimeLeft, 0, b":-2\r\n", "Missing"),
    ];
    for (kind, detail, whole, words) in cases {
        for end in 0..whole.len() {
            let mut codec = codec_that_asked(if *kind == GetMany { *detail } else { 0 });
            match codec.decode(Expect { kind: *kind, detail: *detail }, &whole[..end]) {
                Decoded::Incomplete { at_least } => {
                    // More than is there would make the transport wait for ever; only the smallest hint may be a guess.
                    assert!(
                        at_least >= 1 && (at_least <= 4 || end + at_least <= whole.len()),
                        "{kind:?} {end}: {at_least}"
                    );
                }
                other => panic!("{kind:?} cut at {end}: {other:?}"),
            }
        }
        let text = decoded(*kind, *detail, whole);
        assert!(text.contains(words) && text.contains(&format!("consumed: {}", whole.len())), "{kind:?}: {text}");
    }
}

#[test]
fn rows_of_get_many_are_named_by_the_keys_asked_without_the_missing() {
    let mut codec = Resp::new(Login::default());
    let mut out = Vec::new();
    let first = codec.encode(&Operation::GetMany { keys: &[b"a", b"bb", b"ccc"] }, &mut out);
    let second = codec.encode(&Operation::GetMany { keys: &[b"d"] }, &mut out);
    let third = codec.encode(&Operation::GetMany { keys: &[b"e"] }, &mut out);
    let rows = |decoded: Decoded<'_>| match decoded {
        Decoded::Reply { reply: Reply::Rows(rows), .. } => {
            rows.iter().map(|(key, value)| [key, value].concat()).collect::<Vec<_>>()
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(rows(codec.decode(first, b"*3\r\n$1\r\n1\r\n$-1\r\n$1\r\n3\r\n")), [b"a1".to_vec(), b"ccc3".to_vec()]);
    // A refusal takes its keys with it.
    assert!(matches!(
        codec.decode(second, b"-ERR\r\n"),
        Decoded::Reply { reply: Reply::Failed(Failure::Refused("ERR")), .. }
    ));
    assert_eq!(rows(codec.decode(third, b"*1\r\n$1\r\n5\r\n")), [b"e5".to_vec()]);
}

#[test]
fn a_reply_of_another_type_is_not_taken_for_an_answer() {
    use OperationKind::{Append, CompareAndSet, Delete, Get, GetCounter, GetFields, GetMany, Increment, Put};
    let cases: &[(OperationKind, u32, &[u8])] = &[
        (Get, 0, b"+OK\r\n"),
        (Get, 0, b":1\r\n"),
        (Get, 0, b"*1\r\n$1\r\nx\r\n"),
        (Get, 0, b"$-2\r\n"),
        (Get, 0, b"$3\r\nabcd\r\n"),
        (Get, 0, b"$99999999999\r\n"),
        (Get, 0, b"$ 3\r\nabc\r\n"),
        (Get, 0, b"$\r\n"),
        (Get, 0, b"HTTP/1.1 200 OK\r\n"),
        (Put, 0, b"+QUEUED\r\n"),
        (Put, 0, b"$2\r\nOK\r\n"),
        (Delete, 0, b":2\r\n"),
        (Append, 0, b"+OK\r\n"),
        (Increment, 0, b"$1\r\n1\r\n"),
        (Increment, 0, b":9223372036854775808\r\n"),
        (GetCounter, 0, b"$3\r\nten\r\n"),
        (CompareAndSet, 0, b":1\r\n"),
        (CompareAndSet, 1, b"$-1\r\n"),
        (GetMany, 2, b"*1\r\n$1\r\nx\r\n"),
        (GetMany, 2, b"*2\r\n$1\r\nx\r\n:1\r\n"),
        (GetFields, 0, b"*3\r\n$1\r\nx\r\n$1\r\nx\r\n$1\r\nx\r\n"),
    ];
    for (kind, detail, input) in cases {
        let text = decoded(*kind, *detail, input);
        assert!(text.starts_with("Broken"), "{kind:?} {}: {text}", input.escape_ascii());
    }
}

#[test]
fn mutated_replies_split_anywhere_never_panic_never_stand_still_and_are_read_alike() {
    let expected = Expected::Present { version: 1, value: b"old" };
    ground::fuzz::assault(
        || Resp::new(Login::default()),
        &[
            (Operation::Get { key: b"k" }, |_| b"$12\r\nhello\r\nworld\r\n".to_vec()),
            (Operation::Get { key: b"k" }, |_| b"$-1\r\n".to_vec()),
            (Operation::GetCounter { key: b"k" }, |_| b"$2\r\n17\r\n".to_vec()),
            (Operation::Put { key: b"k", value: b"v" }, |_| b"+OK\r\n".to_vec()),
            (Operation::Put { key: b"k", value: b"v" }, |_| b"-OOM command not allowed\r\n".to_vec()),
            (Operation::Append { key: b"k", value: b"v" }, |_| b":4\r\n".to_vec()),
            (Operation::IncrementField { key: b"k", field: b"f", by: -3 }, |_| b":-9223372036854775808\r\n".to_vec()),
            (Operation::GetFields { key: b"k" }, |_| b"*4\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\nb\r\n$2\r\n22\r\n".to_vec()),
            (Operation::GetMany { keys: &[b"a", b"b", b"c"] }, |_| b"*3\r\n$1\r\nA\r\n$-1\r\n$0\r\n\r\n".to_vec()),
            (Operation::GetMany { keys: &[] }, |_| b"+PONG\r\n".to_vec()),
            (Operation::CompareAndSet { key: b"k", expected, value: b"v" }, |_| b":0\r\n".to_vec()),
        ],
    );
}
