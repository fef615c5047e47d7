//! The format of libCacheSim: a header of 8,192 bytes with a magic number at both ends and a version, then records of a size that the version
//! says.

use crate::builder::{Name, TraceBuilder, TraceRequest, Wanted};
use crate::input::TraceInput;
use crate::lives::GivenLife;
use crate::oracle::part;
use crate::trace::RequestKind;
use data::DataError;

const HEADER_BYTES: usize = 8192;
const MAGIC: [u8; 8] = 0x1234_5678_9abc_def0_u64.to_le_bytes();
const REMEDY: &str = "use the whole file, as libCacheSim's traceConv writes it, of version 1 to 8";

/// Returns whether it begins with the magic number.
pub(crate) fn shows(head: &[u8]) -> bool {
    head.starts_with(&MAGIC)
}

/// The bytes of a record of a version.
fn record_bytes(version: u64) -> Option<usize> {
    Some(match version {
        1 => 24,
        2 => 28,
        3 => 36,
        4 => 40,
        5 => 44,
        6 => 52,
        7 => 68,
        8 => 100,
        _ => return None,
    })
}

/// What an operation's number asks for; `None`: nothing of a value. And whether a write is of another kind than a set.
fn kind(operation: u8) -> Option<(RequestKind, bool)> {
    Some(match operation {
        0 | 1 | 2 | 12 => (RequestKind::Get, false),
        3 | 13 => (RequestKind::Set, false),
        4..=8 | 10 | 11 | 14 => (RequestKind::Set, true),
        9 => (RequestKind::Delete, false),
        _ => return None,
    })
}

pub(crate) fn read(input: &mut TraceInput, builder: &mut TraceBuilder) -> Result<(), DataError> {
    let mut header = vec![0; HEADER_BYTES];
    if !input.record(&mut header, REMEDY)? || !shows(&header) || header[HEADER_BYTES - 8..] != MAGIC {
        let problem = "its header does not have the magic number 0x123456789abcdef0 at both ends";
        return Err(input.whole(problem, REMEDY));
    }
    let version = u64::from_le_bytes(part(&header, 8));
    let Some(bytes) = record_bytes(version) else {
        return Err(input.whole(&format!("it has version {version} of LCS"), REMEDY));
    };
    let mut record = vec![0; bytes];
    while input.record(&mut record, REMEDY)? {
        let (value_bytes, operation) = match version {
            1 => (u64::from(u32::from_le_bytes(part(&record, 12))), 1),
            2 => (u64::from(u32::from_le_bytes(part(&record, 12))), record[16]),
            _ => (u64::from_le_bytes(part(&record, 12)), record[20]),
        };
        let Some((kind, is_other)) = kind(operation) else {
            builder.leave_out();
            continue;
        };
        let request = TraceRequest {
            key: Name::Number(u64::from_le_bytes(part(&record, 4))),
            kind,
            value_bytes: Some(value_bytes),
            time_us: Some(u64::from(u32::from_le_bytes(part(&record, 0))) * 1_000_000),
            life: GivenLife::usual(kind),
        };
        let wanted = builder.push(request).map_err(|problem| input.at_record(bytes, &problem, REMEDY))?;
        builder.trace.other_writes += u64::from(is_other);
        if wanted == Wanted::Enough {
            break;
        }
    }
    Ok(())
}
