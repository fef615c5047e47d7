//! Meta's traces of its key/value cache: CSV whose columns differ by release, so they go by the header. A row is `op_count` requests.

use crate::builder::{Name, TraceBuilder, TraceRequest, Wanted};
use crate::input::TraceInput;
use crate::lives::GivenLife;
use crate::twitter::{kind, number};
use data::DataError;

const REMEDY: &str = "use the file with its header line, which names at least the columns key and op; times in order";

/// The places of the columns.
struct Columns {
    key: usize,
    operation: usize,
    time: Option<usize>,
    count: Option<usize>,
    bytes: Option<usize>,
    all: usize,
}

fn columns(header: &[u8]) -> Option<Columns> {
    let names: Vec<&[u8]> = header.split(|&byte| byte == b',').map(<[u8]>::trim_ascii).collect();
    let place = |name: &[u8]| names.iter().position(|other| *other == name);
    Some(Columns {
        key: place(b"key")?,
        operation: place(b"op")?,
        time: place(b"op_time"),
        count: place(b"op_count"),
        bytes: place(b"size"),
        all: names.len(),
    })
}

/// Returns whether a first line is the header.
pub(crate) fn shows(line: &[u8]) -> bool {
    columns(line).is_some_and(|columns| columns.all > 2)
}

pub(crate) fn read(input: &mut TraceInput, builder: &mut TraceBuilder) -> Result<(), DataError> {
    let columns = input.line()?.and_then(columns);
    let Some(columns) = columns else { return Err(input.at_line("it is no header", REMEDY)) };
    while let Some(line) = input.line()? {
        if line.is_empty() {
            continue;
        }
        match requests(line, &columns, builder) {
            Ok(Wanted::More) => {}
            Ok(Wanted::Enough) => break,
            Err(problem) => return Err(input.at_line(&problem, REMEDY)),
        }
    }
    Ok(())
}

/// Takes the requests of a row.
fn requests(line: &[u8], columns: &Columns, builder: &mut TraceBuilder) -> Result<Wanted, String> {
    // A key that holds commas makes more fields than there are columns: they are its.
    let commas = line.iter().filter(|&&byte| byte == b',').count();
    let Some(more) = (commas + 1).checked_sub(columns.all) else {
        return Err(format!("it has {} fields, the header {}", commas + 1, columns.all));
    };
    let field = |place: usize| -> &[u8] {
        let first = if place > columns.key { place + more } else { place };
        let last = if place == columns.key { first + more } else { first };
        let ends = || line.iter().enumerate().filter(|(_, byte)| **byte == b',').map(|(at, _)| at);
        let start = first.checked_sub(1).and_then(|before| ends().nth(before)).map_or(0, |at| at + 1);
        &line[start..ends().nth(last).unwrap_or(line.len())]
    };
    let asked = |name: &str, place: Option<usize>| {
        place.map(|place| {
            let text = field(place);
            number(text).ok_or_else(|| format!("the {name} is '{}', no number", String::from_utf8_lossy(text)))
        })
    };
    let operation = field(columns.operation);
    let Some((kind, is_other)) = kind(operation) else {
        return Err(format!("'{}' is no operation", String::from_utf8_lossy(operation)));
    };
    let count = asked("op_count", columns.count).transpose()?.unwrap_or(1);
    let value_bytes = asked("size", columns.bytes).transpose()?;
    let seconds = asked("op_time", columns.time).transpose()?;
    let time_us = seconds.and_then(|seconds| seconds.checked_mul(1_000_000));
    for _ in 0..count {
        builder.trace.other_writes += u64::from(is_other);
        if builder.push(TraceRequest {
            key: Name::Bytes(field(columns.key)),
            kind,
            value_bytes,
            time_us,
            life: GivenLife::usual(kind),
        })? == Wanted::Enough
        {
            return Ok(Wanted::Enough);
        }
    }
    Ok(Wanted::More)
}
