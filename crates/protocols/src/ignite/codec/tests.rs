//! The codec without sockets: requests and replies as the real server takes and gives them, replies in pieces, lies and noise.
#![allow(clippy::unwrap_used, clippy::panic)]

use super::{Thin, cache_id, hello};
use ground::fuzz::assault;
use store::wire::{Codec, Decoded, Expect, Head};
use store::{Endpoint, Expected, Failure, Operation, OperationKind, OwnedReply, Reply};
use study::Secret;

fn codec() -> Thin {
    Thin::new(hello(&Endpoint::loopback(1)).into(), 7)
}

/// What follows length, operation, number, cache and flags.
fn body(operation: &Operation<'_>) -> (i16, Vec<u8>) {
    let mut out = Vec::new();
    let expect = codec().encode(operation, &mut out);
    assert_eq!(expect, Expect { kind: operation.kind(), detail: 1 });
    assert_eq!(i32::from_le_bytes(out[..4].try_into().unwrap()) as usize, out.len() - 4);
    assert_eq!(out[6..14], 1i64.to_le_bytes());
    assert_eq!(out[14..19], [7, 0, 0, 0, 0]);
    (i16::from_le_bytes(out[4..6].try_into().unwrap()), out[19..].to_vec())
}

/// A reply of the server, whole.
fn said(number: i64, status: i32, rest: &[u8]) -> Vec<u8> {
    let size = (12 + rest.len()) as i32;
    [&size.to_le_bytes()[..], &number.to_le_bytes(), &status.to_le_bytes(), rest].concat()
}

fn decoded(kind: OperationKind, bytes: &[u8]) -> Result<OwnedReply, String> {
    match codec().decode(Expect { kind, detail: 1 }, bytes) {
        Decoded::Reply { reply, consumed } => {
            assert_eq!(consumed, bytes.len());
            Ok(reply.into())
        }
        Decoded::Incomplete { at_least } => Err(format!("{at_least} more")),
        Decoded::Broken(words) => Err(words.to_owned()),
    }
}

#[test]
fn a_cache_is_known_by_java_s_hash_of_its_name() {
    assert_eq!((cache_id(""), cache_id("kv"), cache_id("kvtrial")), (0, 3435, -332_485_493));
}

#[test]
fn the_handshake_names_version_and_kind_of_client_and_the_login_where_there_is_one() {
    assert_eq!(hello(&Endpoint::loopback(1)), [8, 0, 0, 0, 1, 1, 0, 2, 0, 0, 0, 2]);
    let with_login = hello(&Endpoint::loopback(1).with_login("me", Secret::new("pw")));
    assert_eq!(with_login[..4], [22, 0, 0, 0]);
    assert_eq!(with_login[12..], *b"\x09\x02\0\0\0me\x09\x02\0\0\0pw");
}

#[test]
fn requests_are_those_of_the_protocol() {
    let swap = Expected::Present { version: 0, value: b"old" };
    for (operation, op, expected) in [
        (Operation::Get { key: b"k" }, 1000, &b"\x0c\x01\0\0\0k"[..]),
        (Operation::Put { key: b"k", value: b"vw" }, 1001, b"\x0c\x01\0\0\0k\x0c\x02\0\0\0vw"),
        (Operation::Delete { key: b"" }, 1016, b"\x0c\0\0\0\0"),
        (
            Operation::CompareAndSet { key: b"k", expected: Expected::Absent, value: b"v" },
            1002,
            b"\x0c\x01\0\0\0k\x0c\x01\0\0\0v",
        ),
        (
            Operation::CompareAndSet { key: b"k", expected: swap, value: b"v" },
            1010,
            b"\x0c\x01\0\0\0k\x0c\x03\0\0\0old\x0c\x01\0\0\0v",
        ),
        (
            Operation::PutMany { pairs: &[(b"a", b"1"), (b"b", b"")] },
            1004,
            b"\x02\0\0\0\x0c\x01\0\0\0a\x0c\x01\0\0\x001\x0c\x01\0\0\0b\x0c\0\0\0\0",
        ),
    ] {
        assert_eq!(body(&operation), (op, expected.to_vec()), "{operation:?}");
    }
}

#[test]
fn replies_are_read_as_the_server_gives_them() {
    use OperationKind::{CompareAndSet, Delete, Get, GetVersioned, Put};
    let value = OwnedReply::from(Reply::Value(b"v"));
    assert_eq!(decoded(Get, &said(1, 0, b"\x0c\x01\0\0\0v")), Ok(value));
    assert_eq!(decoded(Get, &said(1, 0, b"e")), Ok(OwnedReply::Missing));
    let versioned = OwnedReply::from(Reply::Versioned { value: b"", version: 0 });
    assert_eq!(decoded(GetVersioned, &said(1, 0, b"\x0c\0\0\0\0")), Ok(versioned));
    assert_eq!(decoded(Put, &said(1, 0, b"")), Ok(OwnedReply::Done));
    assert_eq!(decoded(Delete, &said(1, 0, b"\x01")), Ok(OwnedReply::Done));
    assert_eq!(decoded(Delete, &said(1, 0, b"\0")), Ok(OwnedReply::Missing));
    assert_eq!(decoded(CompareAndSet, &said(1, 0, b"\x01")), Ok(OwnedReply::Done));
    assert_eq!(decoded(CompareAndSet, &said(1, 0, b"\0")), Ok(OwnedReply::Conflict));
    let refused = OwnedReply::from(Reply::Failed(Failure::Refused("Cache does not exist")));
    assert_eq!(decoded(Put, &said(1, 1000, b"\x09\x14\0\0\0Cache does not exist")), Ok(refused));
    // An exception among the nodes leaves open how far a write came.
    let open = OwnedReply::from(Reply::Failed(Failure::Unknown("partial")));
    for kind in [Put, Delete, CompareAndSet] {
        assert_eq!(decoded(kind, &said(1, 1, b"\x09\x07\0\0\0partial")), Ok(open.clone()));
    }
    let not_read = OwnedReply::from(Reply::Failed(Failure::Refused("partial")));
    assert_eq!(decoded(Get, &said(1, 1, b"\x09\x07\0\0\0partial")), Ok(not_read));
}

#[test]
fn lies_are_no_replies() {
    use OperationKind::{Delete, Get, Put};
    for (kind, bytes) in [
        (Get, said(2, 0, b"e")),
        (Get, said(1, 0, b"")),
        (Get, said(1, 0, b"\x0c\x02\0\0\0v")),
        (Get, said(1, 0, b"\x0c\xff\xff\xff\xffv")),
        (Get, said(1, 0, b"\x09\x01\0\0\0v")),
        (Get, said(1, 0, b"ee")),
        (Put, said(1, 0, b"\x01")),
        (Delete, said(1, 0, b"\x02")),
        (Put, said(1, 1, b"no text")),
        (Put, vec![4, 0, 0, 0, 1, 0, 0, 0]),
        (Put, vec![0xff; 16]),
    ] {
        let read = decoded(kind, &bytes);
        assert!(read.as_ref().is_err_and(|words| !words.ends_with("more")), "{bytes:?}: {read:?}");
    }
    assert!(matches!(codec().head(&said(-1, 0, b""), &mut Vec::new()), Head::Broken(_)));
    assert!(matches!(codec().head(&said(1 << 32, 0, b""), &mut Vec::new()), Head::Broken(_)));
}

#[test]
fn a_handshake_that_is_refused_is_refused_in_the_server_s_words() {
    let words = b"\x09\x0b\0\0\0Unsupported";
    let mut refusal = vec![(7 + words.len()) as u8, 0, 0, 0, 0, 1, 0, 7, 0, 0, 0];
    refusal.extend_from_slice(words);
    for end in 0..refusal.len() {
        assert!(matches!(codec().hello_reply(&refusal[..end]), Decoded::Incomplete { .. }), "{end}");
    }
    let mut codec = codec();
    let Decoded::Reply { reply, consumed } = codec.hello_reply(&refusal) else { panic!("no reply") };
    assert_eq!((reply, consumed), (Reply::Failed(Failure::Refused("Unsupported")), refusal.len()));
    assert!(matches!(codec.hello_reply(&[1, 0, 0, 0, 1]), Decoded::Reply { reply: Reply::Done, consumed: 5 }));
    assert!(matches!(codec.hello_reply(b"HTTP/1.1 400 Bad Request"), Decoded::Incomplete { .. }));
    assert!(matches!(codec.hello_reply(&[1, 0, 0, 0, 5]), Decoded::Broken(_)));
}

#[test]
fn no_stream_of_bytes_breaks_it() {
    assault(
        codec,
        &[
            (Operation::Get { key: b"k" }, |expect| said(expect.detail.into(), 0, b"\x0c\x05\0\0\0value")),
            (Operation::Get { key: b"k" }, |expect| said(expect.detail.into(), 0, b"e")),
            (Operation::GetVersioned { key: b"k" }, |expect| said(expect.detail.into(), 0, b"\x0c\0\0\0\0")),
            (Operation::Put { key: b"k", value: b"v" }, |expect| said(expect.detail.into(), 0, b"")),
            (Operation::Delete { key: b"k" }, |expect| said(expect.detail.into(), 0, b"\x01")),
            (Operation::Put { key: b"k", value: b"v" }, |expect| {
                said(expect.detail.into(), 1, b"\x09\x06\0\0\0It hur")
            }),
        ],
    );
}
