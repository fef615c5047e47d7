//! `MONITOR TRACE`, as proposed for Valkey: `ts_us,seq,db,cmd,key,READ|WRITE,hit,type`. A key may hold commas, so the last three fields are taken
//! from the right.

use crate::builder::{Name, TraceBuilder, TraceRequest, Wanted};
use crate::commands::asks;
use crate::input::TraceInput;
use crate::lives::GivenLife;
use crate::trace::RequestKind;
use crate::twitter::number;
use data::DataError;

const REMEDY: &str = "write ts_us,seq,db,cmd,key,READ or WRITE,hit,type per line, times in order";

/// A line, taken apart.
struct Line<'a> {
    time_us: u64,
    database: u64,
    command: &'a [u8],
    key: &'a [u8],
    writes: bool,
}

fn taken_apart(line: &[u8]) -> Result<Line<'_>, String> {
    let mut right = line.rsplitn(4, |&byte| byte == b',');
    let [_kind, _hit, access] = [(); 3].map(|()| right.next().unwrap_or_default());
    let mut left = right.next().unwrap_or_default().splitn(5, |&byte| byte == b',');
    let [time, sequence, database, command] = [(); 4].map(|()| left.next().unwrap_or_default());
    let Some(key) = left.next() else { return Err("it has fewer than eight fields".into()) };
    let asked = |name: &str, text: &[u8]| {
        number(text).ok_or_else(|| format!("the {name} is '{}', no number", String::from_utf8_lossy(text)))
    };
    asked("seq", sequence)?;
    let writes = match access {
        b"READ" => false,
        b"WRITE" => true,
        other => return Err(format!("'{}' is neither READ nor WRITE", String::from_utf8_lossy(other))),
    };
    Ok(Line { time_us: asked("ts_us", time)?, database: asked("db", database)?, command, key, writes })
}

/// Returns whether a first line is of this format.
pub(crate) fn shows(line: &[u8]) -> bool {
    is_header(line) || taken_apart(line).is_ok()
}

fn is_header(line: &[u8]) -> bool {
    line.starts_with(b"ts_us,seq,db,cmd,key")
}

pub(crate) fn read(input: &mut TraceInput, builder: &mut TraceBuilder) -> Result<(), DataError> {
    let mut name = Vec::new();
    while let Some(line) = input.line()? {
        if line.is_empty() || is_header(line) {
            continue;
        }
        let taken = taken_apart(line).and_then(|line| {
            // How long it is to live, it does not say.
            let asked = asks(line.command).filter(|(kind, _)| *kind != RequestKind::Touch);
            let Some((kind, is_other)) = asked else {
                builder.leave_out();
                return Ok(Wanted::More);
            };
            builder.trace.other_writes += u64::from(is_other && line.writes);
            let key = in_database(line.database, line.key, &mut name);
            let (time_us, life) = (Some(line.time_us), GivenLife::usual(kind));
            builder.push(TraceRequest { kind, time_us, life, ..TraceRequest::get(Name::Bytes(key)) })
        });
        match taken {
            Ok(Wanted::More) => {}
            Ok(Wanted::Enough) => break,
            Err(problem) => return Err(input.at_line(&problem, REMEDY)),
        }
    }
    Ok(())
}

/// Returns a key as it is in database 0; of another one with its number before it, as it is another key.
pub(crate) fn in_database<'a>(database: u64, key: &'a [u8], name: &'a mut Vec<u8>) -> &'a [u8] {
    if database == 0 {
        return key;
    }
    name.clear();
    name.extend_from_slice(format!("db{database}:").as_bytes());
    name.extend_from_slice(key);
    name
}
