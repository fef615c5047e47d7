//! The codec alone: exact bytes, every split of the stream, and what no server may say.

#![allow(clippy::unwrap_used)]

use super::{Endian, MAX_KEYS, NO_WORDS, TOO_MANY, TOO_WIDE, Tyrant, statistics};
use proptest::prelude::{any, proptest};
use store::wire::{Codec, Decoded};
use store::{Failure, Operation, Reply};

fn encoded(operation: &Operation<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    Tyrant::new(Endian::Little).encode(operation, &mut out);
    out
}

/// What `seen` says of the reply to an operation, the bytes coming one at a time; every strict prefix must be incomplete, and
/// must not ask for more bytes than there are.
fn decoded<T>(operation: &Operation<'_>, input: &[u8], seen: impl Fn(&Reply<'_>) -> T) -> T {
    let mut codec = Tyrant::new(Endian::Little);
    let expect = codec.encode(operation, &mut Vec::new());
    for end in 0..input.len() {
        match codec.decode(expect, &input[..end]) {
            Decoded::Incomplete { at_least } => assert!((1..=input.len() - end).contains(&at_least), "at {end}"),
            other => panic!("at {end} of {}: {other:?}", input.len()),
        }
    }
    let with_more = [input, b"\0next reply"].concat();
    match codec.decode(expect, &with_more) {
        Decoded::Reply { reply, consumed } => {
            assert_eq!(consumed, input.len());
            seen(&reply)
        }
        other => panic!("{other:?}"),
    }
}

fn broken(operation: &Operation<'_>, input: &[u8]) {
    let mut codec = Tyrant::new(Endian::Little);
    let expect = codec.encode(operation, &mut Vec::new());
    let decoded = codec.decode(expect, input);
    assert!(matches!(decoded, Decoded::Broken(_)), "{decoded:?}");
}

const GET: Operation<'_> = Operation::Get { key: b"k" };
const COUNT: Operation<'_> = Operation::GetCounter { key: b"k" };
const ADD: Operation<'_> = Operation::Increment { key: b"k", by: 1 };
const MANY: Operation<'_> = Operation::GetMany { keys: &[b"a", b"b", b"cc"] };

#[test]
fn requests_are_the_bytes_of_the_protocol() {
    assert_eq!(encoded(&GET), b"\xc8\x30\0\0\0\x01k");
    assert_eq!(encoded(&Operation::Put { key: b"key", value: b"va" }), b"\xc8\x10\0\0\0\x03\0\0\0\x02keyva");
    assert_eq!(encoded(&Operation::Append { key: b"", value: b"v" }), b"\xc8\x12\0\0\0\0\0\0\0\x01v");
    assert_eq!(encoded(&Operation::Delete { key: b"k" }), b"\xc8\x20\0\0\0\x01k");
    assert_eq!(encoded(&Operation::Increment { key: b"k", by: -2 }), b"\xc8\x60\0\0\0\x01\xff\xff\xff\xfek");
    assert_eq!(encoded(&MANY), b"\xc8\x31\0\0\0\x03\0\0\0\x01a\0\0\0\x01b\0\0\0\x02cc");
}

#[test]
fn replies_split_at_any_byte_decode_alike() {
    decoded(&GET, b"\0\0\0\0\x05hello", |reply| assert_eq!(*reply, Reply::Value(b"hello")));
    decoded(&GET, b"\0\0\0\0\0", |reply| assert_eq!(*reply, Reply::Value(b"")));
    decoded(&GET, b"\x01", |reply| assert_eq!(*reply, Reply::Missing));
    decoded(&Operation::Put { key: b"k", value: b"v" }, b"\0", |reply| assert_eq!(*reply, Reply::Done));
    decoded(&Operation::Put { key: b"k", value: b"v" }, b"\x01", |reply| {
        assert_eq!(*reply, Reply::Failed(Failure::Refused(NO_WORDS)));
    });
    decoded(&Operation::Delete { key: b"k" }, b"\0", |reply| assert_eq!(*reply, Reply::Done));
    decoded(&Operation::Delete { key: b"k" }, b"\x01", |reply| assert_eq!(*reply, Reply::Missing));
    decoded(&ADD, b"\0\xff\xff\xff\xfd", |reply| assert_eq!(*reply, Reply::Number(-3)));
    decoded(&ADD, b"\x01", |reply| assert_eq!(*reply, Reply::Number(i32::MIN.into())));
    decoded(&COUNT, b"\0\0\0\0\x04\x07\x01\0\0", |reply| assert_eq!(*reply, Reply::Number(263)));
    decoded(&COUNT, b"\0\0\0\0\x03abc", |reply| assert!(matches!(reply, Reply::Failed(_)), "{reply:?}"));
    decoded(&MANY, b"\0\0\0\0\x02\0\0\0\x01\0\0\0\x02aAA\0\0\0\x02\0\0\0\0cc", |reply| {
        let Reply::Rows(rows) = reply else { panic!("{reply:?}") };
        assert_eq!(rows.iter().collect::<Vec<_>>(), [(&b"a"[..], &b"AA"[..]), (b"cc", b"")]);
    });
}

#[test]
fn counters_are_read_in_the_byte_order_of_the_server() {
    let mut codec = Tyrant::new(Endian::Big);
    let expect = codec.encode(&COUNT, &mut Vec::new());
    let decoded = codec.decode(expect, b"\0\0\0\0\x04\0\0\x01\x07");
    assert_eq!(decoded, Decoded::Reply { reply: Reply::Number(263), consumed: 9 });
}

#[test]
fn what_the_server_cannot_take_is_refused_in_its_turn() {
    let question = b"\xc8\x80";
    let answer = b"\0\0\0\0\0\0\0\0\x09";
    let wide = Operation::Increment { key: b"k", by: 1 << 31 };
    assert_eq!(encoded(&wide), question);
    decoded(&wide, answer, |reply| assert_eq!(*reply, Reply::Failed(Failure::Refused(TOO_WIDE))));
    let keys = vec![&b"k"[..]; MAX_KEYS + 1];
    let many = Operation::GetMany { keys: &keys };
    assert_eq!(encoded(&many), question);
    decoded(&many, answer, |reply| assert_eq!(*reply, Reply::Failed(Failure::Refused(TOO_MANY))));
    decoded(&Operation::GetMany { keys: &[] }, answer, |reply| {
        assert!(matches!(reply, Reply::Rows(rows) if rows.is_empty()), "{reply:?}");
    });
}

#[test]
fn what_no_server_may_say_is_broken() {
    broken(&GET, b"HTTP/1.1 400");
    broken(&GET, b"\0\xff\xff\xff\xff");
    broken(&MANY, b"\0\0\0\0\x04");
    broken(&MANY, b"\0\0\0\0\x01\xff\0\0\0\0\0\0\x01");
    broken(&ADD, b"\x02");
}

#[test]
fn statistics_are_read_whole_or_not_at_all() {
    assert_eq!(statistics(b"").unwrap(), None);
    assert_eq!(statistics(b"\0\0\0\0\x03a\t").unwrap(), None);
    assert_eq!(statistics(b"\0\0\0\0\x03a\tb").unwrap().unwrap(), "a\tb");
    assert!(statistics(b"\x01").is_err() && statistics(b"+OK\r\n").is_err());
    assert!(statistics(b"\0\0\0\0\x03a\tbmore").is_err());
}

proptest! {
    #[test]
    fn no_bytes_make_the_codec_panic_or_take_more_than_there_is(input: Vec<u8>, which in 0usize..4, status: bool) {
        let input = if status { [&[0], &input[..]].concat() } else { input };
        let mut codec = Tyrant::new(Endian::Little);
        let expect = codec.encode(&[GET, COUNT, ADD, MANY][which], &mut Vec::new());
        match codec.decode(expect, &input) {
            Decoded::Reply { consumed, .. } => assert!((1..=input.len()).contains(&consumed)),
            Decoded::Incomplete { at_least } => assert!(at_least >= 1),
            Decoded::Broken(words) => assert!(!words.is_empty()),
        }
    }

    #[test]
    fn values_of_any_bytes_come_back(value: Vec<u8>, more in any::<Vec<u8>>()) {
        let reply = [&[0][..], &(value.len() as u32).to_be_bytes(), &value, &more].concat();
        let mut codec = Tyrant::new(Endian::Little);
        let expect = codec.encode(&GET, &mut Vec::new());
        let consumed = 5 + value.len();
        assert_eq!(codec.decode(expect, &reply), Decoded::Reply { reply: Reply::Value(&value), consumed });
    }
}

#[test]
fn mutated_replies_split_anywhere_never_panic_never_stand_still_and_are_read_alike() {
    ground::fuzz::assault(
        || Tyrant::new(Endian::Little),
        &[
            (Operation::Get { key: b"k" }, |_| b"\0\0\0\0\x05hello".to_vec()),
            (Operation::Get { key: b"k" }, |_| b"\x01".to_vec()),
            (Operation::GetCounter { key: b"k" }, |_| b"\0\0\0\0\x04\x11\0\0\0".to_vec()),
            (Operation::Put { key: b"k", value: b"v" }, |_| b"\0".to_vec()),
            (Operation::Increment { key: b"k", by: 1 }, |_| b"\0\0\0\0\x11".to_vec()),
            (Operation::GetMany { keys: &[b"a", b"b"] }, |_| {
                b"\0\0\0\0\x02\0\0\0\x01\0\0\0\x01aA\0\0\0\x01\0\0\0\0b".to_vec()
            }),
            (Operation::GetMany { keys: &[] }, |_| b"\0\0\0\0\0\0\0\0\x07".to_vec()),
            (Operation::PutMany { pairs: &[(b"a", b"1"), (b"b", b"2")] }, |_| b"\0\0\0\0\0".to_vec()),
        ],
    );
}
