//! The codec without sockets: requests read by a parser that shares nothing with it, replies fed byte by byte, and noise.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::{KEY_BYTES, Meta, token_text};
use proptest::prelude::{any, prop, proptest};
use store::wire::{Codec, Decoded, Expect};
use store::{Expected, Failure, Operation, OperationKind, Reply};

/// A request as the protocol's description has it.
#[derive(Debug, PartialEq)]
struct Request {
    command: String,
    key: Vec<u8>,
    value: Option<Vec<u8>>,
    /// Flags but for the key's encoding and the token.
    flags: Vec<String>,
    token: String,
}

fn requests(mut input: &[u8]) -> Vec<Request> {
    let mut found = Vec::new();
    while !input.is_empty() {
        let end = input.windows(2).position(|pair| pair == b"\r\n").unwrap();
        let words: Vec<&[u8]> = input[..end].split(|&byte| byte == b' ').collect();
        input = &input[end + 2..];
        let command = String::from_utf8(words[0].to_vec()).unwrap();
        let mut flags: Vec<String> =
            words.iter().skip(2).map(|word| String::from_utf8(word.to_vec()).unwrap()).collect();
        let mut value = None;
        if command == "ms" {
            let size: usize = flags.remove(0).parse().unwrap();
            value = Some(input[..size].to_vec());
            input = input[size..].strip_prefix(b"\r\n").unwrap();
        }
        let encoded = flags.iter().position(|flag| flag == "b").map(|at| flags.remove(at)).is_some();
        let key = words.get(1).copied().unwrap_or_default();
        let key = if encoded { from_base64(key) } else { key.to_vec() };
        let token = flags
            .iter()
            .position(|flag| flag.starts_with('O'))
            .map_or(String::new(), |at| flags.remove(at)[1..].into());
        found.push(Request { command, key, value, flags, token });
    }
    found
}

fn from_base64(text: &[u8]) -> Vec<u8> {
    assert!(text.len() <= 250 && text.len().is_multiple_of(4), "{}", text.len());
    let digit = |&byte: &u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let bits: Vec<u8> =
        text.iter().filter_map(digit).flat_map(|six| (0..6).rev().map(move |place| six >> place & 1)).collect();
    bits.chunks_exact(8).map(|byte| byte.iter().fold(0, |number, bit| number << 1 | bit)).collect()
}

fn request(command: &str, key: &[u8], value: Option<&[u8]>, flags: &[&str], token: u32) -> Request {
    let token = String::from_utf8(token_text(token).to_vec()).unwrap();
    let flags = flags.iter().map(|flag| flag.to_string()).collect();
    Request { command: command.into(), key: key.into(), value: value.map(Into::into), flags, token }
}

proptest! {
    #[test]
    fn every_request_is_read_back_by_an_independent_parser(
        key in prop::collection::vec(any::<u8>(), 1..=KEY_BYTES), value in prop::collection::vec(any::<u8>(), 0..1200),
        plain in "[a-zA-Z0-9:_-]{1,250}", by in any::<i64>(), version in any::<u64>(),
    ) {
        for k in [&key[..], plain.as_bytes()] {
            let v = &value[..];
            let expected = Expected::Present { version, value: b"not sent" };
            let add = format!("J{}", by.max(0));
            let step = format!("D{}", by.unsigned_abs());
            let mode = if by < 0 { "MD" } else { "MI" };
            let at = format!("C{version}");
            let mut codec = Meta::new();
            let mut out = Vec::new();
            let keys = [k, b"other"];
            let operations = [
                Operation::Get { key: k },
                Operation::GetVersioned { key: k },
                Operation::Put { key: k, value: v },
                Operation::Delete { key: k },
                Operation::Append { key: k, value: v },
                Operation::Increment { key: k, by },
                Operation::CompareAndSet { key: k, expected: Expected::Absent, value: v },
                Operation::CompareAndSet { key: k, expected, value: v },
                Operation::GetMany { keys: &keys },
                Operation::PutTtl { key: k, value: v, ttl_ms: 30 * 86_400_000 },
                Operation::Touch { key: k, ttl_ms: 1000 },
                Operation::TimeLeft { key: k },
            ];
            for operation in operations {
                assert_eq!(codec.encode(&operation, &mut out).kind, operation.kind());
            }
            let mut end = request("mn", b"", None, &[], 0);
            end.token = String::new();
            assert_eq!(requests(&out), [
                request("mg", k, None, &["v"], 0),
                request("mg", k, None, &["v", "c"], 1),
                request("ms", k, Some(v), &[], 2),
                request("md", k, None, &[], 3),
                request("ms", k, Some(b""), &["ME"], 4),
                request("ms", k, Some(v), &["MA"], 5),
                request("ma", k, None, &[mode, "N0", &add, &step, "v"], 6),
                request("ms", k, Some(v), &["ME"], 7),
                request("ms", k, Some(v), &[&at], 8),
                request("mg", k, None, &["v", "q"], 9),
                request("mg", b"other", None, &["v", "q"], 10),
                end,
                request("ms", k, Some(v), &["T2592000"], 11),
                request("mg", k, None, &["T0000001"], 12),
                request("mg", k, None, &["t"], 13),
            ]);
        }
    }

    #[test]
    fn no_bytes_make_the_decoder_panic_or_take_more_than_there_is(
        input in prop::collection::vec(prop::sample::select(b"VAENHDNSMNO 01ERROR\r\n\r\nc".to_vec()), 0..60), noise in any::<Vec<u8>>(), detail in 0..4u32,
    ) {
        for input in [&input[..], &noise] {
            for kind in OperationKind::ALL {
                let mut codec = Meta::new();
                codec.encode(&Operation::GetMany { keys: &[b"a", b"b"] }, &mut Vec::new());
                if let Decoded::Reply { consumed, .. } = codec.decode(Expect { kind, detail }, input) {
                    assert!((1..=input.len()).contains(&consumed));
                }
            }
        }
    }

    #[test]
    fn a_value_of_any_bytes_is_found_whole_whatever_follows_it(value in any::<Vec<u8>>(), tail in any::<Vec<u8>>(), detail in any::<u32>()) {
        let mut input = format!("VA {} O{}\r\n", value.len(), std::str::from_utf8(&token_text(detail)).unwrap()).into_bytes();
        input.extend_from_slice(&value);
        input.extend_from_slice(b"\r\n");
        let whole = input.len();
        input.extend_from_slice(&tail);
        let expect = Expect { kind: OperationKind::Get, detail };
        assert_eq!(Meta::new().decode(expect, &input), Decoded::Reply { reply: Reply::Value(&value), consumed: whole });
    }
}

fn decoded(kind: OperationKind, input: &[u8]) -> String {
    let mut codec = Meta::new();
    codec.encode(&Operation::GetMany { keys: &[b"a", b"b", b"c"] }, &mut Vec::new());
    format!("{:?}", codec.decode(Expect { kind, detail: 0 }, input))
}

#[test]
fn replies_fed_one_byte_at_a_time_are_incomplete_until_they_are_whole() {
    use OperationKind::{
        Append, CompareAndSet, Delete, Get, GetCounter, GetMany, GetVersioned, Increment, Put, PutTtl, TimeLeft, Touch,
    };
    let cases: &[(OperationKind, &[u8], &str)] = &[
        (Get, b"VA 5 OAAAA\r\na\r\nbc\r\n", "Value"),
        (Get, b"VA 0 OAAAA\r\n\r\n", "Value([])"),
        (Get, b"EN OAAAA\r\n", "Missing"),
        (Get, b"CLIENT_ERROR bad command line format\r\n", "Refused(\"CLIENT_ERROR bad command line format\")"),
        (GetVersioned, b"VA 2 c18446744073709551615 OAAAA\r\nxy\r\n", "version: 18446744073709551615"),
        (Put, b"HD OAAAA\r\n", "Done"),
        (Put, b"SERVER_ERROR out of memory storing object\r\n", "Refused"),
        (Delete, b"HD OAAAA\r\n", "Done"),
        (Delete, b"NF OAAAA\r\n", "Missing"),
        (Append, b"HD OAAAA\r\nHD OAAAB\r\n", "Done"),
        (Append, b"NS OAAAA\r\nHD OAAAB\r\n", "Done"),
        (Append, b"NS OAAAA\r\nSERVER_ERROR object too large for cache\r\n", "Refused"),
        (Append, b"CLIENT_ERROR no\r\nCLIENT_ERROR no\r\n", "Refused"),
        (Increment, b"VA 3 OAAAA\r\n107\r\n", "Number(107)"),
        (GetCounter, b"VA 3 OAAAA\r\n7  \r\n", "Number(7)"),
        (GetCounter, b"VA 20 OAAAA\r\n18446744073709551615\r\n", "Refused"),
        (CompareAndSet, b"EX OAAAA\r\n", "Conflict"),
        (CompareAndSet, b"NF OAAAA\r\n", "Conflict"),
        (CompareAndSet, b"NS OAAAA\r\n", "Conflict"),
        (GetMany, b"VA 1 OAAAA\r\n1\r\nVA 4 OAAAC\r\nMN\r\n\r\nMN\r\n", "Rows"),
        (GetMany, b"MN\r\n", "Rows"),
        (PutTtl, b"HD OAAAA\r\n", "Done"),
        (Touch, b"HD OAAAA\r\n", "Done"),
        (Touch, b"EN OAAAA\r\n", "Missing"),
        (TimeLeft, b"HD t59 OAAAA\r\n", "Number(59000)"),
        (TimeLeft, b"HD t-1 OAAAA\r\n", "Number(-1)"),
        (TimeLeft, b"EN OAAAA\r\n", "Missing"),
        (GetMany, b"VA 1 OAAAA\r\n1\r\nCLIENT_ERROR no\r\nMN\r\n", "Refused(\"CLIENT_ERROR no\")"),
    ];
    for (kind, whole, words) in cases {
        for end in 0..whole.len() {
            let text = decoded(*kind, &whole[..end]);
            assert!(text.starts_with("Incomplete"), "{kind:?} cut at {end}: {text}");
        }
        let text = decoded(*kind, whole);
        assert!(text.contains(words) && text.contains(&format!("consumed: {}", whole.len())), "{kind:?}: {text}");
    }
}

#[test]
fn rows_of_get_many_are_named_by_the_keys_asked_without_the_missing() {
    let mut codec = Meta::new();
    let mut out = Vec::new();
    let first = codec.encode(&Operation::GetMany { keys: &[b"a", b"bb", b"ccc"] }, &mut out);
    let second = codec.encode(&Operation::GetMany { keys: &[b"d"] }, &mut out);
    let rows = |decoded: Decoded<'_>| match decoded {
        Decoded::Reply { reply: Reply::Rows(rows), .. } => {
            rows.iter().map(|(key, value)| [key, value].concat()).collect::<Vec<_>>()
        }
        other => panic!("{other:?}"),
    };
    let input = b"VA 1 OAAAA\r\n1\r\nVA 1 OAAAC\r\n3\r\nMN\r\n";
    assert_eq!(rows(codec.decode(first, input)), [b"a1".to_vec(), b"ccc3".to_vec()]);
    assert_eq!(rows(codec.decode(second, b"VA 1 OAAAD\r\n4\r\nMN\r\n")), [b"d4".to_vec()]);
}

#[test]
fn a_reply_to_another_request_or_of_another_kind_is_not_taken_for_an_answer() {
    use OperationKind::{Append, Delete, Get, GetCounter, GetMany, GetVersioned, Increment, Put};
    let cases: &[(OperationKind, &[u8])] = &[
        (Get, b"VA 1 OAAAB\r\nx\r\n"),
        (Get, b"VA 1\r\nx\r\n"),
        (Get, b"EN OAAAB\r\n"),
        (Get, b"EN\r\n"),
        (Get, b"HD OAAAA\r\n"),
        (Get, b"VA 1 OAAAA\r\nxy\r\n"),
        (Get, b"VA x OAAAA\r\n"),
        (Get, b"VA 9999999999 OAAAA\r\n"),
        (Get, b"VA 1  OAAAA\r\nx\r\n"),
        (Get, b"VALUE k 0 1\r\nx\r\nEND\r\n"),
        (Get, b"$1\r\nx\r\n"),
        (Get, b"-ERR unknown command\r\n"),
        (GetVersioned, b"VA 1 OAAAA\r\nx\r\n"),
        (Put, b"STORED\r\n"),
        (Put, b"HD OAAAAA\r\n"),
        (Put, b"EN OAAAA\r\n"),
        (Delete, b"EX OAAAA\r\n"),
        (Append, b"HD OAAAB\r\nHD OAAAB\r\n"),
        (Append, b"NS OAAAA\r\nHD OAAAA\r\n"),
        (Increment, b"VA 3 OAAAA\r\nten\r\n"),
        (GetCounter, b"VA 0 OAAAA\r\n\r\n"),
        (GetMany, b"VA 1 OAAAB\r\n2\r\nVA 1 OAAAA\r\n1\r\nMN\r\n"),
        (GetMany, b"VA 1 OAAAA\r\n1\r\nVA 1 OAAAA\r\n1\r\nMN\r\n"),
        (GetMany, b"VA 1 OAAAD\r\n4\r\nMN\r\n"),
        (GetMany, b"HD OAAAA\r\nMN\r\n"),
    ];
    for (kind, input) in cases {
        let text = decoded(*kind, input);
        assert!(text.starts_with("Broken"), "{kind:?} {}: {text}", input.escape_ascii());
    }
}

#[test]
fn an_append_that_is_not_stored_is_a_refusal() {
    let expect = Expect { kind: OperationKind::Append, detail: 0 };
    let mut codec = Meta::new();
    let Decoded::Reply { reply, .. } = codec.decode(expect, b"HD OAAAA\r\nNS OAAAB\r\n") else { panic!() };
    assert!(matches!(reply, Reply::Failed(Failure::Refused(words)) if words.contains("not stored")));
}

#[test]
fn mutated_replies_split_anywhere_never_panic_never_stand_still_and_are_read_alike() {
    fn token(token: u32) -> String {
        String::from_utf8(token_text(token).to_vec()).unwrap()
    }
    let keys: &'static [&'static [u8]] = &[b"a", b"b", b"c"];
    ground::fuzz::assault(
        Meta::new,
        &[
            (Operation::Get { key: b"k" }, |expect| {
                format!("VA 5 O{}\r\nhello\r\n", token(expect.detail)).into_bytes()
            }),
            (Operation::Get { key: b"k" }, |_| b"EN\r\n".to_vec()),
            (Operation::GetVersioned { key: b"k" }, |expect| {
                format!("VA 2 c77 O{}\r\nhi\r\n", token(expect.detail)).into_bytes()
            }),
            (Operation::Put { key: b"k", value: b"v" }, |expect| {
                format!("HD O{}\r\n", token(expect.detail)).into_bytes()
            }),
            (Operation::Put { key: b"k", value: b"v" }, |_| b"SERVER_ERROR out of memory\r\n".to_vec()),
            (Operation::Delete { key: b"k" }, |expect| format!("NF O{}\r\n", token(expect.detail)).into_bytes()),
            (Operation::Increment { key: b"k", by: 1 }, |expect| {
                format!("VA 2 O{}\r\n17\r\n", token(expect.detail)).into_bytes()
            }),
            (Operation::Append { key: b"k", value: b"v" }, |expect| {
                format!("NS O{}\r\nHD O{}\r\n", token(expect.detail), token(expect.detail + 1)).into_bytes()
            }),
            (Operation::GetMany { keys }, |expect| {
                format!("VA 1 O{}\r\nA\r\nVA 0 O{}\r\n\r\nMN\r\n", token(expect.detail), token(expect.detail + 2))
                    .into_bytes()
            }),
            (Operation::PutMany { pairs: &[(b"a", b"1"), (b"b", b"2")] }, |_| b"MN\r\n".to_vec()),
        ],
    );
}
