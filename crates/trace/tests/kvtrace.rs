//! Recordings: what is written is read, to the last whole block whatever happened, and damage is named.
#![allow(clippy::unwrap_used)]

use kvtrial_trace::kvtrace::{
    KvtraceReader, KvtraceWriter, Recorded, RecordedKeys, RecordedReply, RecordedValues, RecordedWord, RecordingEnd,
    RecordingHead, ReplyShape,
};
use kvtrial_trace::{RequestKind, Trace, TraceOptions};
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

const HEAD: RecordingHead =
    RecordingHead { keys: RecordedKeys::Hashed, values: RecordedValues::Kept, began_us: 1_700_000_000_000_000 };

const SET: [RecordedWord<'_>; 3] =
    [RecordedWord::Plain(b"SET"), RecordedWord::Key(b"user:1"), RecordedWord::Value(b"\0\xff value")];
const REPLY: RecordedReply = RecordedReply { took_us: 77, shape: ReplyShape::Missing, bytes: 5, digest: u64::MAX };

fn records() -> Vec<(u64, u32, Recorded<'static>)> {
    let sized = RecordedWord::Sized { bytes: 1 << 40, packs_to_percent: 31 };
    vec![
        (5, 1, Recorded::Opened),
        (5, 1, Recorded::Command(SET.to_vec())),
        (90, 1, Recorded::Reply(REPLY)),
        (1_000_000, u32::MAX, Recorded::Command(vec![RecordedWord::Plain(b"SET"), RecordedWord::Key(b""), sized])),
        (1_000_001, 2, Recorded::Command(vec![RecordedWord::Plain(b"get"), RecordedWord::Key(b"user:1")])),
        (1_000_002, 2, Recorded::Command(vec![])),
        (u64::MAX / 2, 2, Recorded::NotUnderstood(u64::MAX)),
        (u64::MAX / 2, 2, Recorded::Closed),
    ]
}

/// A recording with a block per record.
fn written(ends: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = KvtraceWriter::begin(&mut bytes, HEAD).unwrap();
    for (time_us, connection, recorded) in records() {
        writer.push(time_us, connection, &recorded).unwrap();
        writer.flush().unwrap();
    }
    if ends {
        assert_eq!(writer.end().unwrap(), records().len() as u64);
    }
    bytes
}

/// What is read: the times and connections, the records as text, the end.
fn read(bytes: &[u8]) -> Result<(Vec<(u64, u32, String)>, RecordingEnd), data::DataError> {
    let mut reader = KvtraceReader::of_bytes("app.kvtrace", bytes.to_vec().leak())?;
    assert_eq!(reader.head(), HEAD);
    let mut seen = Vec::new();
    while reader.block(|time_us, connection, recorded| {
        seen.push((time_us, connection, format!("{recorded:?}")));
        Ok(())
    })? {}
    Ok((seen, reader.end().unwrap()))
}

fn expected() -> Vec<(u64, u32, String)> {
    records()
        .into_iter()
        .map(|(time_us, connection, recorded)| (time_us, connection, format!("{recorded:?}")))
        .collect()
}

#[test]
fn what_was_written_is_read_and_its_commands_on_values_are_requests() {
    assert_eq!(read(&written(true)).unwrap(), (expected(), RecordingEnd::Closed));
    let options = TraceOptions { format: None, most: u64::MAX, seed: 1 };
    let trace = Trace::of_bytes("x", written(true).leak(), options).unwrap();
    let seen: Vec<_> = (0..3)
        .map(|at| (trace.keys().key(trace.ids()[at]), trace.kind(at), trace.value_bytes(at), trace.time_us(at)))
        .collect();
    assert_eq!(
        seen,
        [
            (b"user:1".to_vec(), RequestKind::Set, Some(8), Some(0)),
            (b"".to_vec(), RequestKind::Set, Some(u32::MAX), Some(999_995)),
            (b"user:1".to_vec(), RequestKind::Get, None, Some(999_996)),
        ]
    );
    assert!(!trace.is_cut_off() && Trace::of_bytes("x", written(false).leak(), options).unwrap().is_cut_off());
}

#[test]
fn a_key_of_another_database_is_another_key_and_commands_on_other_things_are_left_out() {
    let mut bytes = Vec::new();
    let mut writer = KvtraceWriter::begin(&mut bytes, HEAD).unwrap();
    let plain =
        |words: &[&'static str]| words.iter().map(|word| RecordedWord::Plain(word.as_bytes())).collect::<Vec<_>>();
    let get = [RecordedWord::Plain(b"GET"), RecordedWord::Key(b"k")].to_vec();
    for (connection, words) in
        [(1, get.clone()), (2, plain(&["select", "3"])), (2, get.clone()), (1, get), (1, plain(&["PING"]))]
    {
        writer.push(0, connection, &Recorded::Command(words)).unwrap();
    }
    writer.end().unwrap();
    let trace = Trace::of_bytes("x", bytes.leak(), TraceOptions { format: None, most: u64::MAX, seed: 1 }).unwrap();
    let keys: Vec<Vec<u8>> = trace.ids().iter().map(|&id| trace.keys().key(id)).collect();
    assert_eq!((keys, trace.left_out()), ([&b"k"[..], b"db3:k", b"k"].map(Vec::from).into(), 2));
}

#[test]
fn a_file_that_ends_anywhere_is_read_to_its_last_whole_block() {
    let whole = written(true);
    let mut seen = 0;
    for end in 32..whole.len() {
        let (records, how) = read(&whole[..end]).unwrap();
        assert!(records.len() >= seen && records == expected()[..records.len()], "{end}");
        assert!(matches!(how, RecordingEnd::CutOff { .. }), "{end}");
        seen = records.len();
    }
    assert_eq!(seen, records().len());
    let none = read(&whole[..31]).unwrap_err().to_string();
    assert!(none.contains("it is cut off: of the record of 32 bytes at byte 0 there are 31"), "{none}");
}

#[test]
fn damage_within_a_file_is_named_with_its_byte() {
    let whole = written(true);
    for at in 0..whole.len() {
        for bit in [1, 0x80] {
            let mut bytes = whole.clone();
            bytes[at] ^= bit;
            match read(&bytes) {
                // A length that became longer looks as if the rest were missing, the bytes without a meaning have none.
                Ok((records, how)) => {
                    let is_like = records == expected()[..records.len()] || (16..24).contains(&at);
                    assert!(is_like || matches!(how, RecordingEnd::CutOff { .. }), "{at}: {records:?}");
                }
                Err(error) => assert!(error.to_string().contains("; use the whole file"), "{error}"),
            }
        }
    }
    let mut bytes = whole.clone();
    bytes[32 + 24 + 1] ^= 1;
    let error = read(&bytes).unwrap_err().to_string();
    assert!(error.contains("the block at byte 32 is damaged: its checksum is another"), "{error}");
    let mut other = whole.clone();
    other[8] = 9;
    let error = read(&other).unwrap_err().to_string();
    assert!(error.contains("it has version 9 of the format, this kvtrial reads version 1"), "{error}");
    let missing = [&whole[..32], &whole[whole.len() - 24..]].concat();
    assert!(read(&missing).unwrap_err().to_string().contains("it has 0 records, its end says 8"));
}

/// Bytes that another thread can look at while they are written.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn many_records_make_blocks_by_themselves_and_pack() {
    let shared = Shared::default();
    let mut writer = KvtraceWriter::begin(shared.clone(), HEAD).unwrap();
    for number in 0..50_000_u64 {
        writer.push(number * 10, 1, &Recorded::Command(SET.to_vec())).unwrap();
    }
    let so_far = shared.0.lock().unwrap().clone();
    let (records, end) = read(&so_far).unwrap();
    assert!(records.len() > 40_000 && end == RecordingEnd::CutOff { left_over: 0 }, "{}", records.len());
    assert!(so_far.len() < 50_000 * 10, "{} bytes", so_far.len());
    writer.end().unwrap();
    assert_eq!(read(&shared.0.lock().unwrap()).unwrap().0.len(), 50_000);
}

#[test]
fn times_to_live_are_those_of_the_words_in_redis_and_in_memcached() {
    let mut bytes = Vec::new();
    let mut writer = KvtraceWriter::begin(&mut bytes, HEAD).unwrap();
    // In the words of a recording: `<` before a key, `'` before a value. Each a second after the one before it, from 1,700,000,000 s on.
    let lines = [
        ("SET <k 'v EX 10", RequestKind::Set, Some(10_000)),
        ("INCR <k", RequestKind::Set, Some(9_000)),
        ("SET <k 'v KEEPTTL", RequestKind::Set, Some(8_000)),
        ("GETEX <k EXAT 1700000063", RequestKind::Get, Some(60_000)),
        ("GET <k", RequestKind::Get, None),
        ("PERSIST <k", RequestKind::Touch, None),
        ("SET <k 'v KEEPTTL", RequestKind::Set, None),
        ("EXPIRE <k 86400", RequestKind::Touch, Some(86_400_000)),
        ("EXPIRE <k 0", RequestKind::Delete, None),
        ("set <k 0 1700000069 5 'v", RequestKind::Set, Some(60_000)),
        ("touch <k 7", RequestKind::Touch, Some(7_000)),
        ("gat 5 <k", RequestKind::Get, Some(5_000)),
        ("ms <k 5 T30 'v", RequestKind::Set, Some(30_000)),
        ("append <k 0 0 5 'v", RequestKind::Set, Some(29_000)),
        ("set <k 0 -1 5 'v", RequestKind::Delete, None),
    ];
    for ((line, ..), second) in lines.iter().zip(0..) {
        let word = |text: &'static str| match text.as_bytes() {
            [b'<', key @ ..] => RecordedWord::Key(key),
            [b'\'', value @ ..] => RecordedWord::Value(value),
            plain => RecordedWord::Plain(plain),
        };
        writer.push(second * 1_000_000, 1, &Recorded::Command(line.split(' ').map(word).collect())).unwrap();
    }
    writer.end().unwrap();
    let trace = Trace::of_bytes("x", bytes.leak(), TraceOptions { format: None, most: u64::MAX, seed: 1 }).unwrap();
    for (at, (line, kind, ttl_ms)) in lines.into_iter().enumerate() {
        assert_eq!((trace.kind(at), trace.ttl_ms(at)), (kind, ttl_ms), "{line}");
    }
    assert_eq!((trace.left_out(), trace.has_ttls()), (0, true));
}
