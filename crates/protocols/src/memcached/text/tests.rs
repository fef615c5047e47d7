//! The codec without sockets: exact bytes, replies fed byte by byte, and noise.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::{KEY_BYTES, KeyText, Text};
use proptest::prelude::{any, prop, proptest};
use store::wire::{Codec, Decoded, Expect};
use store::{Expected, Operation, OperationKind, Reply};

fn encoded(operation: &Operation<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    assert_eq!(Text::default().encode(operation, &mut out).kind, operation.kind());
    out
}

#[test]
fn requests_are_the_lines_of_the_protocol() {
    let present = Expected::Present { version: 77, value: b"not sent" };
    let cases: &[(Operation<'_>, &[u8])] = &[
        (Operation::Get { key: b"k" }, b"get k\r\n"),
        (Operation::GetVersioned { key: b"k" }, b"gets k\r\n"),
        (Operation::GetCounter { key: b"a b" }, b"get ~YSBi\r\n"),
        (Operation::Put { key: b"k", value: b"v\r\nw" }, b"set k 0 0 4\r\nv\r\nw\r\n"),
        (Operation::Delete { key: b"@@table" }, b"delete ~QEB0YWJsZQ==\r\n"),
        (Operation::Append { key: b"k", value: b"v" }, b"add k 0 0 0\r\n\r\nappend k 0 0 1\r\nv\r\n"),
        (Operation::Increment { key: b"k", by: 5 }, b"add k 0 0 1\r\n0\r\nincr k 5\r\n"),
        (Operation::Increment { key: b"k", by: i64::MIN }, b"add k 0 0 1\r\n0\r\ndecr k 9223372036854775808\r\n"),
        (Operation::CompareAndSet { key: b"k", expected: Expected::Absent, value: b"v" }, b"add k 0 0 1\r\nv\r\n"),
        (Operation::CompareAndSet { key: b"k", expected: present, value: b"v" }, b"cas k 0 0 1 77\r\nv\r\n"),
        (
            Operation::GetMany { keys: &[b"1", b"2", b"3", b"4", b"5", b"6", b"7", b"~"] },
            b"get 1 2 3 4 5 6 7\r\nget ~fg==\r\n",
        ),
        (Operation::GetMany { keys: &[] }, b"version\r\n"),
        (Operation::PutTtl { key: b"k", value: b"v", ttl_ms: 2000 }, b"set k 0 2 1\r\nv\r\n"),
        (Operation::Touch { key: b"a b", ttl_ms: 1500 }, b"touch ~YSBi 2\r\n"),
        (Operation::PutMany { pairs: &[(b"a", b"1"), (b"b", b"")] }, b"set a 0 0 1\r\n1\r\nset b 0 0 0\r\n\r\n"),
    ];
    for (operation, bytes) in cases {
        assert_eq!(encoded(operation).escape_ascii().to_string(), bytes.escape_ascii().to_string());
    }
}

#[test]
fn a_server_that_reads_keys_as_addresses_sees_neither_percent_nor_plus_and_its_keys_are_read_back() {
    for (key, written, elsewhere) in [
        (&b"g++"[..], "~Zysr", "g++"),
        (b"%41", "~JTQx", "%41"),
        (b"libc6", "libc6", "libc6"),
        // The `+` of base64 is one, too.
        (b"\xfb\xef\xbe", "~----", "~++++"),
    ] {
        let operation = Operation::GetMany { keys: &[key] };
        assert_eq!(encoded(&operation), format!("get {elsewhere}\r\n").as_bytes());
        let (mut codec, mut out) = (Text::new(KeyText::Address), Vec::new());
        let expect = codec.encode(&operation, &mut out);
        assert_eq!(out, format!("get {written}\r\n").as_bytes());
        let answer = format!("VALUE {written} 0 1\r\nv\r\nEND\r\n");
        let Decoded::Reply { reply: Reply::Rows(rows), .. } = codec.decode(expect, answer.as_bytes()) else { panic!() };
        assert_eq!(rows.iter().collect::<Vec<_>>(), [(key, &b"v"[..])]);
    }
}

#[test]
fn a_key_no_server_takes_is_refused_in_its_turn_and_its_value_never_sent() {
    for key in [&b""[..], &[b'k'; 251], &[0; KEY_BYTES + 1]] {
        for operation in [
            Operation::Put { key, value: b"delete k" },
            Operation::Append { key, value: b"delete k" },
            Operation::GetMany { keys: &[b"a", key] },
            Operation::PutMany { pairs: &[(b"a", b"1"), (key, b"2")] },
        ] {
            assert_eq!(encoded(&operation), b"version\r\n");
            assert!(decoded(&operation, b"VERSION 1.6.18\r\n").contains("Refused(\"the key is empty"));
        }
    }
    assert!(encoded(&Operation::Get { key: &[b'k'; 250] }).len() == 256);
    assert!(encoded(&Operation::Get { key: &[0; KEY_BYTES] }).len() <= 256);
}

/// What comes of bytes that answer a request; of each shorter part nothing may come yet.
fn decoded(operation: &Operation<'_>, input: &[u8]) -> String {
    let mut codec = Text::default();
    let expect = codec.encode(operation, &mut Vec::new());
    for end in 0..input.len() {
        match codec.decode(expect, &input[..end]) {
            Decoded::Incomplete { at_least } => assert!((1..=input.len() - end).contains(&at_least), "at {end}"),
            other => panic!("cut at {end}: {other:?}"),
        }
    }
    let more = [input, b"END\r\n"].concat();
    let text = format!("{:?}", codec.decode(expect, &more));
    assert!(text.ends_with(&format!("consumed: {} }}", input.len())), "{text}");
    text
}

#[test]
fn replies_fed_one_byte_at_a_time_are_incomplete_until_they_are_whole() {
    let get = Operation::Get { key: b"k" };
    let put = Operation::Put { key: b"k", value: b"v" };
    let append = Operation::Append { key: b"k", value: b"v" };
    let add = Operation::Increment { key: b"k", by: 1 };
    let delete = Operation::Delete { key: b"k" };
    let swap = Operation::CompareAndSet { key: b"k", expected: Expected::Absent, value: b"v" };
    let many = Operation::GetMany { keys: &[b"1", b"2", b"3", b"4", b"5", b"6", b"7", b"\0"] };
    let puts = Operation::PutMany { pairs: &[(b"a", b"1"), (b"b", b"2")] };
    let cases: &[(&Operation<'_>, &[u8], &str)] = &[
        (&get, b"VALUE k 0 5\r\na\r\nbc\r\nEND\r\n", "Value([97, 13, 10, 98, 99])"),
        (&get, b"VALUE k 0 0\r\n\r\nEND\r\n", "Value([])"),
        (&get, b"END\r\n", "Missing"),
        (&get, b"SERVER_ERROR out of memory\r\n", "Refused(\"SERVER_ERROR out of memory\")"),
        (
            &Operation::GetVersioned { key: b"k" },
            b"VALUE k 32 1 18446744073709551615\r\nx\r\nEND\r\n",
            "18446744073709551615",
        ),
        (&Operation::GetCounter { key: b"k" }, b"VALUE k 0 3\r\n7  \r\nEND\r\n", "Number(7)"),
        (&put, b"STORED\r\n", "Done"),
        (&put, b"NOT_STORED\r\n", "Refused"),
        (&Operation::PutTtl { key: b"k", value: b"v", ttl_ms: 1000 }, b"STORED\r\n", "Done"),
        (&Operation::Touch { key: b"k", ttl_ms: 1000 }, b"TOUCHED\r\n", "Done"),
        (&Operation::Touch { key: b"k", ttl_ms: 1000 }, b"NOT_FOUND\r\n", "Missing"),
        (&delete, b"DELETED\r\n", "Done"),
        (&delete, b"NOT_FOUND\r\n", "Missing"),
        (&append, b"STORED\r\nSTORED\r\n", "Done"),
        (&append, b"NOT_STORED\r\nSTORED\r\n", "Done"),
        (&append, b"NOT_STORED\r\nSERVER_ERROR object too large for cache\r\n", "Refused"),
        (&add, b"NOT_STORED\r\n107\r\n", "Number(107)"),
        (&add, b"STORED\r\n9223372036854775808\r\n", "Refused"),
        (&swap, b"NOT_STORED\r\n", "Conflict"),
        (&swap, b"EXISTS\r\n", "Conflict"),
        (&many, b"VALUE 2 0 1\r\nb\r\nVALUE 4 0 5\r\nEND\r\n\r\nEND\r\nVALUE ~AA== 0 1\r\nz\r\nEND\r\n", "Rows"),
        (&many, b"END\r\nCLIENT_ERROR no\r\n", "Refused(\"CLIENT_ERROR no\")"),
        (&Operation::GetMany { keys: &[] }, b"VERSION 1.2.0\r\n", "Rows"),
        (&puts, b"STORED\r\nSTORED\r\n", "Done"),
        (&puts, b"SERVER_ERROR full\r\nSTORED\r\n", "Unknown(\"SERVER_ERROR full\")"),
        (&Operation::PutMany { pairs: &[] }, b"VERSION 1.2.0\r\n", "Done"),
    ];
    for (operation, whole, words) in cases {
        let text = decoded(operation, whole);
        assert!(text.contains(words), "{}: {text}", whole.escape_ascii());
    }
}

#[test]
fn rows_of_a_get_many_carry_the_keys_asked() {
    let mut codec = Text::default();
    let expect = codec.encode(&Operation::GetMany { keys: &[b"a", b"\xff\0", b"~", b"c"] }, &mut Vec::new());
    let input = b"VALUE a 0 1\r\n1\r\nVALUE ~/wA= 0 1\r\n2\r\nVALUE ~fg== 0 1\r\n3\r\nEND\r\n";
    let Decoded::Reply { reply: Reply::Rows(rows), .. } = codec.decode(expect, input) else { panic!() };
    let rows: Vec<_> = rows.iter().collect();
    assert_eq!(rows, [(&b"a"[..], &b"1"[..]), (b"\xff\0", b"2"), (b"~", b"3")]);
}

#[test]
fn a_reply_to_another_request_or_of_another_kind_is_not_taken_for_an_answer() {
    let get = Operation::Get { key: b"k" };
    let cases: &[(Operation<'_>, &[u8])] = &[
        (get, b"VALUE other 0 1\r\nx\r\nEND\r\n"),
        (get, b"VALUE k 0 1\r\nxy\r\nEND\r\n"),
        (get, b"VALUE k 0 x\r\n"),
        (get, b"VALUE k 0 9999999999\r\n"),
        (get, b"VALUE k 0 1 2 3\r\nx\r\nEND\r\n"),
        (get, b"VALUE k 0 1\r\nx\r\nSTORED\r\n"),
        (get, b"STORED\r\n"),
        (get, b"$1\r\nx\r\n"),
        (get, b"HD\r\n"),
        (Operation::GetVersioned { key: b"k" }, b"VALUE k 0 1\r\nx\r\nEND\r\n"),
        (Operation::GetCounter { key: b"k" }, b"VALUE k 0 1\r\nx\r\nEND\r\n"),
        (Operation::Put { key: b"k", value: b"" }, b"END\r\n"),
        (Operation::Delete { key: b"k" }, b"STORED\r\n"),
        (Operation::Append { key: b"k", value: b"" }, b"END\r\nSTORED\r\n"),
        (Operation::Increment { key: b"k", by: 1 }, b"STORED\r\nSTORED\r\n"),
        (Operation::GetMany { keys: &[b"a", b"b"] }, b"VALUE b 0 1\r\n2\r\nVALUE a 0 1\r\n1\r\nEND\r\n"),
        (Operation::GetMany { keys: &[b"a"] }, b"VALUE c 0 1\r\n2\r\nEND\r\n"),
        (Operation::PutMany { pairs: &[(b"a", b"")] }, b"END\r\n"),
    ];
    for (operation, input) in cases {
        let mut codec = Text::default();
        let expect = codec.encode(operation, &mut Vec::new());
        let text = format!("{:?}", codec.decode(expect, input));
        assert!(text.starts_with("Broken"), "{}: {text}", input.escape_ascii());
    }
}

proptest! {
    #[test]
    fn no_bytes_make_the_decoder_panic_or_take_more_than_there_is(
        words in prop::collection::vec(prop::sample::select(
            vec!["VALUE a 0 1", "VALUE ~AA== 0 0 5", "END", "STORED", "NOT_STORED", "12", "\r\n", "\r\n", "x", "ERROR"]), 0..12),
        noise in any::<Vec<u8>>(), detail in 0..4u32,
    ) {
        for input in [words.concat().as_bytes(), &noise] {
            for kind in OperationKind::ALL {
                let mut codec = Text::default();
                codec.encode(&Operation::GetMany { keys: &[b"a", b"\0"] }, &mut Vec::new());
                if let Decoded::Reply { consumed, .. } = codec.decode(Expect { kind, detail }, input) {
                    assert!((1..=input.len()).contains(&consumed));
                }
            }
        }
    }

    #[test]
    fn a_value_of_any_bytes_under_any_key_is_found_whole_whatever_follows_it(
        key in prop::collection::vec(any::<u8>(), 1..=KEY_BYTES), value in any::<Vec<u8>>(), tail in any::<Vec<u8>>(),
    ) {
        let mut codec = Text::default();
        let mut asked = Vec::new();
        let expect = codec.encode(&Operation::Get { key: &key }, &mut asked);
        let written = asked.strip_prefix(b"get ").unwrap().strip_suffix(b"\r\n").unwrap();
        assert!(written.len() <= 250 && written.iter().all(|byte| (b'!'..=b'~').contains(byte)));
        let mut input = [b"VALUE ", written, format!(" 0 {}\r\n", value.len()).as_bytes(), &value, b"\r\nEND\r\n"].concat();
        let whole = input.len();
        input.extend_from_slice(&tail);
        assert_eq!(codec.decode(expect, &input), Decoded::Reply { reply: Reply::Value(&value), consumed: whole });
    }
}

#[test]
fn mutated_replies_split_anywhere_never_panic_never_stand_still_and_are_read_alike() {
    let expected = Expected::Present { version: 7, value: b"" };
    ground::fuzz::assault(
        Text::default,
        &[
            (Operation::Get { key: b"k" }, |_| b"VALUE k 0 5\r\nhello\r\nEND\r\n".to_vec()),
            (Operation::Get { key: b"k" }, |_| b"END\r\n".to_vec()),
            (Operation::GetVersioned { key: b"k" }, |_| b"VALUE k 0 2 77\r\nhi\r\nEND\r\n".to_vec()),
            (Operation::GetCounter { key: b"k" }, |_| b"VALUE k 0 3\r\n17 \r\nEND\r\n".to_vec()),
            (Operation::Put { key: b"k", value: b"v" }, |_| b"STORED\r\n".to_vec()),
            (Operation::Put { key: b"k", value: b"v" }, |_| b"SERVER_ERROR out of memory\r\n".to_vec()),
            (Operation::Delete { key: b"k" }, |_| b"NOT_FOUND\r\n".to_vec()),
            (Operation::Increment { key: b"k", by: 1 }, |_| b"NOT_STORED\r\n17\r\n".to_vec()),
            (Operation::Append { key: b"k", value: b"v" }, |_| b"STORED\r\nSTORED\r\n".to_vec()),
            (Operation::CompareAndSet { key: b"k", expected, value: b"v" }, |_| b"EXISTS\r\n".to_vec()),
            (Operation::GetMany { keys: &[b"a", b"\0", b"c"] }, |_| {
                b"VALUE a 0 1\r\nA\r\nVALUE ~AA== 0 0\r\n\r\nEND\r\n".to_vec()
            }),
            (Operation::GetMany { keys: &[] }, |_| b"VERSION 1.4\r\n".to_vec()),
            (Operation::PutMany { pairs: &[(b"a", b"1"), (b"b", b"2")] }, |_| b"STORED\r\nNOT_STORED\r\n".to_vec()),
            (Operation::Get { key: b"" }, |_| b"VERSION 1.4\r\n".to_vec()),
        ],
    );
}
