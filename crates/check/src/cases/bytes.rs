//! Bytes that clients and servers have stumbled over, in keys and in values.

use super::Case;
use crate::fault::Stop;
use crate::probe::Must;
use crate::subject::Subject;
use crate::value;
use store::Operation;

/// Texts that look like a protocol, an escape, a query or a number.
const TEXTS: [&[u8]; 30] = [
    b"\r\n",
    b"\n",
    b"\r",
    b"\0",
    b"a\0b",
    b" ",
    b" leading and trailing ",
    b"%",
    b"%s%n%x",
    b"%00%0d%0a",
    b"'",
    b"\"",
    b"\\",
    b"'; DROP TABLE kv; --",
    b"`${x}$(y)",
    b"VALUE x 0 1\r\n",
    b"END\r\n",
    b"HD\r\n",
    b"EN\r\n",
    b"VA 1 s1\r\n",
    b"STORED\r\n",
    b"ERROR\r\n",
    b"SERVER_ERROR out of memory\r\n",
    b"+OK\r\n",
    b"-ERR no\r\n",
    b"$3\r\n",
    b"$-1\r\n",
    b"*1\r\n$4\r\nPING\r\n",
    b"\xC8\x10\0\0\0\x01\0\0\0\x01",
    b"-9223372036854775808",
];

const UNICODE: [&str; 6] = ["é", "日本語", "🦀", "e\u{301}", "\u{202e}right to left", "\u{feff}\u{0}\u{ffff}"];

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("all 256 byte values are kept in values", &[], every_byte_in_values),
        Case::new("all 256 byte values are kept in keys", &[], every_byte_in_keys),
        Case::new("values that look like the protocol are kept as they are", &[], texts_in_values),
        Case::new("keys that look like the protocol are kept apart", &[], texts_in_keys),
    ]
}

fn texts() -> impl Iterator<Item = &'static [u8]> {
    TEXTS.into_iter().chain(UNICODE.map(str::as_bytes))
}

fn every_byte_in_values(subject: &Subject<'_>) -> Result<(), Stop> {
    let mut probe = subject.probe()?;
    let next = subject.key("next to bytes");
    let next_value = value::of(&next, 1, 16);
    probe.put(&next, &next_value)?;
    let all: Vec<u8> = (0..=255).collect();
    let twice: Vec<u8> = (0..=255).rev().chain(0..=255).collect();
    for (name, value) in [("all bytes", &all), ("all bytes twice", &twice)] {
        let key = subject.key(name);
        probe.put(&key, value)?;
        probe.holds(&key, value)?;
        probe.holds(&next, &next_value)?;
    }
    for byte in 0..=255 {
        let key = subject.key(format!("byte {byte}"));
        let value = [byte, b'-', byte, byte];
        probe.put(&key, &value)?;
        probe.holds(&key, &value)?;
    }
    Ok(())
}

fn every_byte_in_keys(subject: &Subject<'_>) -> Result<(), Stop> {
    let keys: Vec<Vec<u8>> = (0..=255_u8).map(|byte| subject.key([b"key ", &[byte][..]].concat())).collect();
    kept_apart(subject, &keys)
}

fn texts_in_values(subject: &Subject<'_>) -> Result<(), Stop> {
    let mut probe = subject.probe()?;
    let next = subject.key("next to texts");
    let next_value = value::of(&next, 1, 16);
    probe.put(&next, &next_value)?;
    for (number, text) in texts().enumerate() {
        let key = subject.key(format!("text {number}"));
        probe.put(&key, text)?;
        probe.holds(&key, text)?;
        probe.holds(&next, &next_value)?;
    }
    Ok(())
}

fn texts_in_keys(subject: &Subject<'_>) -> Result<(), Stop> {
    let longest = subject.capabilities().max_key_bytes;
    let mut keys: Vec<Vec<u8>> = texts().map(|text| subject.key(text)).collect();
    keys.extend(texts().map(|text| subject.key([text, b"tail"].concat())));
    keys.retain(|key| key.len() <= longest);
    kept_apart(subject, &keys)
}

/// Writes all keys before reading any, so that keys taken for the same show.
fn kept_apart(subject: &Subject<'_>, keys: &[Vec<u8>]) -> Result<(), Stop> {
    let mut probe = subject.probe()?;
    let values: Vec<Vec<u8>> = keys.iter().map(|key| value::of(key, 1, 20)).collect();
    for key in keys {
        probe.misses(key)?;
    }
    for (key, value) in keys.iter().zip(&values) {
        probe.put(key, value)?;
    }
    for (key, value) in keys.iter().zip(&values) {
        probe.holds(key, value)?;
    }
    // Deleting every other one leaves the rest alone.
    for (number, key) in keys.iter().enumerate() {
        if number % 2 == 0 {
            probe.delete(key)?;
        }
    }
    for (number, (key, value)) in keys.iter().zip(&values).enumerate() {
        let must = if number % 2 == 0 { Must::Miss } else { Must::Hold(value) };
        probe.must(Operation::Get { key }, must)?;
    }
    Ok(())
}
