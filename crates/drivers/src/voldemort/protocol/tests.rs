//! The protocol without sockets: requests as the real server takes them, replies as it gives them, in pieces, lies and noise.
#![allow(clippy::unwrap_used, clippy::panic)]

use super::super::clock::{Clock, Entry};
use super::{
    Fault, Kind, OBSOLETE, Received, ask_for, ask_for_all, clocks, delete, deleted, put, read_refused, received,
    stored, values, values_of_all,
};
use ground::fuzz::{Dice, mutate};

fn clock<const N: usize>(entries: [(i32, i64); N]) -> Clock {
    let mut clock = Clock::default();
    entries.into_iter().for_each(|(node, writes)| clock.push(Entry { node, writes }));
    clock
}

/// What a function writes, without its length, which is right.
fn written(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = vec![9];
    write(&mut out);
    let frame = &out[1..];
    assert_eq!(received(frame, 1 << 20), Received::Whole);
    frame[4..].to_vec()
}

// As Voldemort 1.3.0's own classes (VProto) write them.
const GET: &[u8] = b"\x08\x00\x10\x00\x1a\x02kv\x22\x03\x0a\x01a";
const GET_VERSION: &[u8] = b"\x08\x04\x10\x00\x1a\x02kv\x22\x02\x0a\x00";
const GET_ALL: &[u8] = b"\x08\x01\x10\x00\x1a\x02kv\x2a\x07\x0a\x01a\x0a\x02bc";
const PUT: &[u8] =
    b"\x08\x02\x10\x00\x1a\x02kv\x32\x17\x0a\x01a\x12\x12\x0a\x02xy\x12\x0c\x0a\x04\x08\x00\x10\x01\x10\x80\xc8\xaf\xa0\x25";
const DELETE: &[u8] =
    b"\x08\x03\x10\x00\x1a\x02kv\x3a\x15\x0a\x01a\x12\x10\x0a\x04\x08\x00\x10\x01\x0a\x05\x08\x07\x10\xac\x02\x10\x80\x08";

#[test]
fn requests_are_those_of_the_protocol() {
    assert_eq!(written(|out| ask_for(out, Kind::Get, "kv", b"a")), GET);
    assert_eq!(written(|out| ask_for(out, Kind::GetVersion, "kv", b"")), GET_VERSION);
    assert_eq!(written(|out| ask_for_all(out, "kv", [&b"a"[..], b"bc"].into_iter())), GET_ALL);
    assert_eq!(written(|out| put(out, "kv", b"a", b"xy", &clock([(0, 1)]), 10_000_000_000)), PUT);
    assert_eq!(written(|out| delete(out, "kv", b"a", &clock([(0, 1), (7, 300)]), 1024)), DELETE);
}

#[test]
fn a_value_of_any_size_has_the_lengths_around_it_right() {
    for size in [0, 1, 100, 127, 128, 16_000, 16_383, 16_384, 2_097_151, 2_097_152] {
        let value = vec![7; size];
        let mut frame = Vec::new();
        put(&mut frame, "kv", b"key", &value, &clock([(0, 1)]), 1);
        assert_eq!(received(&frame, usize::MAX), Received::Whole, "{size}");
        // Its message is that of a reply: the same fields, found at the end of the request.
        let versioned_len = frame.len() - frame.windows(5).position(|it| it == b"\x0a\x03key").unwrap() - 5;
        let message = &frame[frame.len() - versioned_len..];
        let mut reply = message.to_vec();
        reply[0] = 0x0a;
        let found = values(&reply).unwrap();
        assert!(found.len() == 1 && found[0].value == value && found[0].clock == clock([(0, 1)]), "{size}");
    }
}

/// `found` of a value `xy` of the clock 0:1, 1:2, written at the time 5.
const VERSIONED: &[u8] = b"\x0a\x02xy\x12\x0e\x0a\x04\x08\x00\x10\x01\x0a\x04\x08\x01\x10\x02\x10\x05";

fn within(field: u8, message: &[u8]) -> Vec<u8> {
    [&[field << 3 | 2, message.len() as u8][..], message].concat()
}

#[test]
fn replies_are_read_as_the_server_gives_them() {
    let two = within(1, VERSIONED).repeat(2);
    let found = values(&two).unwrap();
    assert!(found.len() == 2 && found[1].value == b"xy" && found[1].clock == clock([(0, 1), (1, 2)]));
    assert_eq!(values(b"").unwrap(), []);
    assert_eq!(clocks(&within(1, &VERSIONED[6..])).unwrap(), [clock([(0, 1), (1, 2)])]);
    assert_eq!(clocks(b"").unwrap(), []);
    let keyed = [within(1, b"k"), within(2, VERSIONED), within(2, VERSIONED)].concat();
    let all = [within(1, &keyed), within(1, &[within(1, b"l"), within(2, VERSIONED)].concat())].concat();
    let found = values_of_all(&all).unwrap();
    assert_eq!(found.iter().map(|(key, _)| *key).collect::<Vec<_>>(), [b"k", b"k", b"l"]);
    assert_eq!((stored(b""), deleted(b"\x08\x01"), deleted(b"\x08\x00")), (Ok(()), Ok(true), Ok(false)));
}

#[test]
fn what_the_server_refuses_has_its_number_and_its_words() {
    let error = b"\x08\x04\x12\x02no";
    let said = Fault::Said { code: OBSOLETE, words: "no".into() };
    assert_eq!(stored(&within(1, error)), Err(Fault::Said { code: OBSOLETE, words: "no".into() }));
    assert_eq!(values(&within(2, error)), Err(Fault::Said { code: OBSOLETE, words: "no".into() }));
    assert_eq!(deleted(&[b"\x08\x00", &within(2, error)[..]].concat()), Err(said));
    assert!(read_refused(&within(2, error)).is_err() && read_refused(&within(1, VERSIONED)).is_ok());
}

#[test]
fn what_is_not_the_protocol_is_broken() {
    for broken in [&b"\x0a"[..], b"\x0a\x05xy", b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", b"\x0b"] {
        assert!(matches!(values(broken), Err(Fault::Broken(_))), "{broken:?}");
    }
    assert!(matches!(values(&within(1, b"\x0a\x02xy")), Err(Fault::Broken("a value and its version"))));
    assert!(matches!(deleted(b""), Err(Fault::Broken(_))));
    let twice = within(1, b"\x0a\x04\x08\x01\x10\x01\x0a\x04\x08\x01\x10\x01");
    assert!(matches!(clocks(&twice), Err(Fault::Broken("a clock in the order of its nodes"))));
    // Fields of later versions are passed over, whatever their type.
    assert_eq!(deleted(b"\x59eight of\x5dfour\x62\x01x\x78\x01\x08\x01"), Ok(true));
}

#[test]
fn a_reply_is_whole_only_with_its_last_byte_however_it_comes() {
    let frame = [&(VERSIONED.len() as u32).to_be_bytes()[..], VERSIONED].concat();
    for end in 0..frame.len() {
        let Received::Part(missing) = received(&frame[..end], 100) else { panic!("{end}") };
        assert!(missing > 0 && end + missing <= frame.len(), "{end}");
    }
    assert_eq!(received(&frame, 100), Received::Whole);
    assert_eq!(received(&[&frame[..], b"x"].concat(), 100), Received::More);
    assert_eq!(received(&[0; 4], 100), Received::Whole);
    assert_eq!(received(&[0, 0, 0, 101], 100), Received::TooLarge(101));
    assert_eq!(received(&[255; 4], 100), Received::TooLarge(u32::MAX));
}

#[test]
fn no_noise_makes_a_reader_panic_or_find_more_bytes_than_there_are() {
    let keyed = [within(1, b"k"), within(2, VERSIONED)].concat();
    let good = [within(1, VERSIONED), within(1, &keyed), within(2, b"\x08\x04\x12\x02no"), b"\x08\x01".to_vec()];
    let (mut found, mut refused) = (0, 0);
    for seed in 0..40_000 {
        let mut dice = Dice::of(seed);
        let mut body: Vec<u8> = (0..dice.below(3)).flat_map(|_| good[dice.below(good.len())].clone()).collect();
        mutate(&mut body, &mut dice);
        match values(&body) {
            Ok(values) => {
                found += values.len();
                assert!(values.iter().map(|it| it.value.len()).sum::<usize>() <= body.len());
            }
            Err(_) => refused += 1,
        }
        let _ = (clocks(&body), stored(&body), deleted(&body), read_refused(&body));
        let keys: usize = values_of_all(&body).iter().flatten().map(|(_, versioned)| versioned.value.len()).sum();
        assert!(keys <= body.len());
    }
    assert!(found > 1000 && refused > 1000, "{found} values, {refused} refusals");
}
