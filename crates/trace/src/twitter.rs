//! Twitter's cache traces: `timestamp,key,key size,value size,client,operation,TTL`, seconds. A key may hold commas, so the last five fields
//! are taken from the right.

use crate::builder::{Name, TraceBuilder, TraceRequest, Wanted};
use crate::input::TraceInput;
use crate::lives::GivenLife;
use crate::trace::RequestKind;
use data::DataError;

const REMEDY: &str =
    "write timestamp,key,key size,value size,client,operation,TTL per line, times in order and in seconds";

/// A line, taken apart.
struct Row<'a> {
    seconds: u64,
    key: &'a [u8],
    value_bytes: u64,
    operation: &'a [u8],
    ttl_s: u64,
}

/// Returns a number in decimal.
pub(crate) fn number(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text.trim_ascii()).ok()?.parse().ok()
}

fn row(line: &[u8]) -> Result<Row<'_>, String> {
    let mut fields = line.rsplitn(6, |&byte| byte == b',');
    let [ttl, operation, _client, value_bytes, key_bytes] = [(); 5].map(|()| fields.next().unwrap_or_default());
    let first = fields.next().unwrap_or_default();
    let Some(comma) = first.iter().position(|&byte| byte == b',') else {
        return Err("it has fewer than seven fields".into());
    };
    let (seconds, key) = (&first[..comma], &first[comma + 1..]);
    let asked = |name: &str, text: &[u8]| {
        number(text).ok_or_else(|| format!("the {name} is '{}', no number", String::from_utf8_lossy(text)))
    };
    let ttl_s = asked("TTL", ttl)?;
    asked("key size", key_bytes)?;
    Ok(Row {
        seconds: asked("timestamp", seconds)?,
        key,
        value_bytes: asked("value size", value_bytes)?,
        operation,
        ttl_s,
    })
}

/// What an operation asks for, and whether a write is of another kind than a set.
pub(crate) fn kind(operation: &[u8]) -> Option<(RequestKind, bool)> {
    Some(match operation.trim_ascii().to_ascii_lowercase().as_slice() {
        b"get" | b"gets" | b"get_lease" => (RequestKind::Get, false),
        b"set" | b"set_lease" => (RequestKind::Set, false),
        b"add" | b"replace" | b"cas" | b"append" | b"prepend" | b"incr" | b"decr" => (RequestKind::Set, true),
        b"delete" => (RequestKind::Delete, false),
        _ => return None,
    })
}

/// Returns whether a first line is of this format.
pub(crate) fn shows(line: &[u8]) -> bool {
    row(line).is_ok_and(|row| kind(row.operation).is_some())
}

pub(crate) fn read(input: &mut TraceInput, builder: &mut TraceBuilder) -> Result<(), DataError> {
    while let Some(line) = input.line()? {
        if line.is_empty() {
            continue;
        }
        let taken = row(line).and_then(|row| {
            let Some((kind, is_other)) = kind(row.operation) else {
                return Err(format!("'{}' is no operation", String::from_utf8_lossy(row.operation)));
            };
            builder.trace.other_writes += u64::from(is_other);
            let (value_bytes, time_us) = (Some(row.value_bytes), row.seconds.checked_mul(1_000_000));
            let life = match (kind, row.ttl_s) {
                (RequestKind::Set, ttl_s @ 1..) => GivenLife::For { ms: ttl_s.saturating_mul(1000) },
                (RequestKind::Set, 0) if is_other => GivenLife::AsBefore,
                _ => GivenLife::usual(kind),
            };
            builder.push(TraceRequest { key: Name::Bytes(row.key), kind, value_bytes, time_us, life })
        });
        match taken {
            Ok(Wanted::More) => {}
            Ok(Wanted::Enough) => break,
            Err(problem) => return Err(input.at_line(&problem, REMEDY)),
        }
    }
    Ok(())
}
