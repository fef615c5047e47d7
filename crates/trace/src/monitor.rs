//! The text of `MONITOR`, of Redis and Valkey: `1339518083.107412 [0 127.0.0.1:60866] "set" "k" "v"`. It has no replies. Commands on values,
//! also on several keys, are requests; others are left out and counted.

use crate::builder::{Name, TraceBuilder, TraceRequest, Wanted};
use crate::commands::{CommandWords, WordPart, asks};
use crate::input::TraceInput;
use crate::lives::{self, GivenLife};
use crate::monitor_trace::in_database;
use data::DataError;

const REMEDY: &str = "use what 'redis-cli monitor' writes: seconds.microseconds [database client] \"command\" \"key\" ..., times in order";

/// A line up to its words: the time and the database; and where the words begin.
fn start(line: &[u8]) -> Result<(u64, u64, usize), String> {
    let line = std::str::from_utf8(line).map_or_else(|error| &line[..error.valid_up_to()], str::as_bytes);
    let line = std::str::from_utf8(line).unwrap_or_default();
    let (time, rest) = line.split_once(" [").ok_or("it has no '[database client]' behind its time")?;
    let is_time = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let time_us = time
        .trim_start_matches('+')
        .split_once('.')
        .filter(|(seconds, micros)| is_time(seconds) && is_time(micros) && micros.len() == 6)
        .and_then(|(seconds, micros)| {
            seconds.parse::<u64>().ok()?.checked_mul(1_000_000)?.checked_add(micros.parse().ok()?)
        })
        .ok_or_else(|| format!("its time is '{time}', not seconds.microseconds"))?;
    let (inside, _) = rest.split_once("] ").ok_or("its '[database client]' does not end")?;
    let database = inside.split(' ').next().and_then(|text| text.parse().ok());
    let database = database.ok_or_else(|| format!("its database is '{inside}', no number"))?;
    Ok((time_us, database, time.len() + 2 + inside.len() + 2))
}

/// Returns whether a first line is of this format.
pub(crate) fn shows(line: &[u8]) -> bool {
    matches!(line, b"OK" | b"+OK") || start(line).is_ok()
}

/// Takes the quoted words of a line; `ends` has where each ends in `bytes`.
fn words(mut text: &[u8], bytes: &mut Vec<u8>, ends: &mut Vec<usize>) -> Result<(), &'static str> {
    bytes.clear();
    ends.clear();
    while let Some(rest) = text.strip_prefix(b"\"") {
        text = rest;
        loop {
            let (&byte, rest) = text.split_first().ok_or("a quoted word does not end: it is cut off")?;
            text = rest;
            match byte {
                b'"' => break,
                b'\\' => {
                    let (&escaped, rest) = text.split_first().ok_or("a quoted word does not end: it is cut off")?;
                    text = rest;
                    bytes.push(match escaped {
                        b'n' => b'\n',
                        b'r' => b'\r',
                        b't' => b'\t',
                        b'a' => 7,
                        b'b' => 8,
                        b'x' => {
                            let (pair, rest) = text.split_first_chunk::<2>().ok_or("\\x needs two hex digits")?;
                            text = rest;
                            let [high, low] = pair.map(|digit| char::from(digit).to_digit(16));
                            (high.zip(low).map(|(high, low)| 16 * high + low).ok_or("\\x needs two hex digits")?) as u8
                        }
                        other => other,
                    });
                }
                byte => bytes.push(byte),
            }
        }
        ends.push(bytes.len());
        text = text.trim_ascii_start();
    }
    if text.is_empty() && !ends.is_empty() { Ok(()) } else { Err("its words are not in quotes") }
}

pub(crate) fn read(input: &mut TraceInput, builder: &mut TraceBuilder) -> Result<(), DataError> {
    let (mut bytes, mut ends, mut name) = (Vec::new(), Vec::new(), Vec::new());
    while let Some(line) = input.line()? {
        if line.is_empty() || matches!(line, b"OK" | b"+OK") {
            continue;
        }
        let taken = start(line).and_then(|(time_us, database, at)| {
            words(&line[at..], &mut bytes, &mut ends)?;
            let word = |number: usize| {
                let start = number.checked_sub(1).map_or(0, |before| ends[before]);
                &bytes[start..ends[number]]
            };
            let parts = CommandWords::of(word(0));
            let said = |at: usize| matches!(parts.part(at), WordPart::Plain).then(|| word(at));
            let life = lives::given(&(0..ends.len()).map(said).collect::<Vec<_>>()).unwrap_or(GivenLife::AsBefore);
            let Some((kind, is_other)) = asks(word(0)) else {
                builder.leave_out();
                return Ok(Wanted::More);
            };
            for key in (1..ends.len()).filter(|&at| parts.part(at) == WordPart::Key) {
                let behind = (key + 1..ends.len()).take_while(|&at| parts.part(at) != WordPart::Key);
                let value = behind.into_iter().find(|&at| parts.part(at) == WordPart::Value);
                builder.trace.other_writes += u64::from(is_other);
                let wanted = builder.push(TraceRequest {
                    key: Name::Bytes(in_database(database, word(key), &mut name)),
                    kind,
                    value_bytes: value.map(|value| word(value).len() as u64),
                    time_us: Some(time_us),
                    life: life.from(time_us),
                })?;
                if wanted == Wanted::Enough {
                    return Ok(Wanted::Enough);
                }
            }
            Ok(Wanted::More)
        });
        match taken {
            Ok(Wanted::More) => {}
            Ok(Wanted::Enough) => break,
            Err(problem) => return Err(input.at_line(&problem, REMEDY)),
        }
    }
    Ok(())
}
