//! The requests of a recording: its commands on values, as a trace.

use super::reader::{KvtraceReader, RecordingEnd, next_block};
use super::{MAGIC, Recorded, RecordedWord};
use crate::builder::{Name, TraceBuilder, TraceRequest, Wanted};
use crate::commands::asks;
use crate::input::TraceInput;
use crate::lives::{self, GivenLife};
use crate::monitor_trace::in_database;
use crate::trace::RequestKind;
use data::DataError;
use std::collections::BTreeMap;

/// Returns whether it begins as a recording does.
pub(crate) fn shows(head: &[u8]) -> bool {
    head.starts_with(MAGIC)
}

pub(crate) fn read(input: &mut TraceInput, builder: &mut TraceBuilder) -> Result<(), DataError> {
    let began_us = KvtraceReader::head_of(input)?.began_us;
    let (mut packed, mut block, mut records, mut end) = (Vec::new(), Vec::new(), 0, None);
    let mut wanted = Wanted::More;
    let mut databases = Databases::default();
    while wanted == Wanted::More
        && next_block(input, &mut packed, &mut block, &mut records, &mut end, |time_us, connection, recorded| {
            if let Recorded::Command(words) = recorded
                && wanted == Wanted::More
            {
                let at = At {
                    time_us,
                    unix_us: began_us.saturating_add(time_us),
                    database: databases.of(connection, &words),
                };
                wanted = command(&words, at, builder)?;
            }
            Ok(())
        })?
    {}
    builder.trace.is_cut_off = matches!(end, Some(RecordingEnd::CutOff { .. }));
    Ok(())
}

/// The database that each connection has selected.
#[derive(Default)]
struct Databases(BTreeMap<u32, u64>);

impl Databases {
    /// Returns the database that a command is about, and notes which one it selects.
    fn of(&mut self, connection: u32, words: &[RecordedWord<'_>]) -> u64 {
        if let [RecordedWord::Plain(name), RecordedWord::Plain(number)] = words
            && name.eq_ignore_ascii_case(b"SELECT")
            && let Some(number) = std::str::from_utf8(number).ok().and_then(|text| text.parse().ok())
        {
            self.0.insert(connection, number);
        }
        self.0.get(&connection).copied().unwrap_or(0)
    }
}

/// When a command was made, and where.
#[derive(Clone, Copy)]
struct At {
    time_us: u64,
    unix_us: u64,
    database: u64,
}

/// What a command asks of values: memcached's touch has a time to live, that of Redis none.
fn asked(name: &[u8], words: &[RecordedWord<'_>]) -> Option<(RequestKind, bool)> {
    match words {
        [_, RecordedWord::Key(_), RecordedWord::Plain(_), ..] if name.eq_ignore_ascii_case(b"TOUCH") => {
            Some((RequestKind::Touch, false))
        }
        _ => asks(name),
    }
}

/// Takes the requests of a command: one per key, with the value behind it, if there is one.
fn command(
    words: &[RecordedWord<'_>],
    At { time_us, unix_us, database }: At,
    builder: &mut TraceBuilder,
) -> Result<Wanted, String> {
    let mut name_in_database = Vec::new();
    let Some(RecordedWord::Plain(name)) = words.first() else { return Ok(Wanted::More) };
    let Some((kind, is_other)) = asked(name, words) else {
        builder.leave_out();
        return Ok(Wanted::More);
    };
    let said = words.iter().map(|word| match *word {
        RecordedWord::Plain(word) => Some(word),
        RecordedWord::Key(_) | RecordedWord::Value(_) | RecordedWord::Sized { .. } => None,
    });
    let life = lives::given(&said.collect::<Vec<_>>()).unwrap_or(GivenLife::AsBefore).from(unix_us);
    for (at, word) in words.iter().enumerate() {
        let RecordedWord::Key(key) = *word else { continue };
        let until = words[at + 1..].iter().position(|word| matches!(word, RecordedWord::Key(_)));
        let behind = &words[at + 1..until.map_or(words.len(), |until| at + 1 + until)];
        let value_bytes = behind.iter().find_map(|word| match word {
            RecordedWord::Value(value) => Some(value.len() as u64),
            RecordedWord::Sized { bytes, .. } => Some(*bytes),
            RecordedWord::Plain(_) | RecordedWord::Key(_) => None,
        });
        builder.trace.other_writes += u64::from(is_other);
        let request = TraceRequest {
            key: Name::Bytes(in_database(database, key, &mut name_in_database)),
            kind,
            value_bytes,
            time_us: Some(time_us),
            life,
        };
        if builder.push(request)? == Wanted::Enough {
            return Ok(Wanted::Enough);
        }
    }
    Ok(Wanted::More)
}
