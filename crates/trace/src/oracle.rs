//! `oracleGeneral` of libCacheSim: records of 24 bytes, little-endian: seconds, id, size, and the number of the next request of that id.

use crate::builder::{Name, TraceBuilder, TraceRequest, Wanted};
use crate::input::TraceInput;
use crate::lives::GivenLife;
use crate::trace::RequestKind;
use data::DataError;

/// The bytes of a record.
const RECORD_BYTES: usize = 24;
const REMEDY: &str =
    "use the whole file, of 24 bytes per request (time u32, id u64, size u32, next i64), with times in order";

/// The first records, as they are read.
struct Record {
    seconds: u32,
    id: u64,
    bytes: u32,
    next: i64,
}

impl Record {
    fn of(record: &[u8; RECORD_BYTES]) -> Record {
        Record {
            seconds: u32::from_le_bytes(part(record, 0)),
            id: u64::from_le_bytes(part(record, 4)),
            bytes: u32::from_le_bytes(part(record, 12)),
            next: i64::from_le_bytes(part(record, 16)),
        }
    }
}

/// Returns `N` bytes of a record, from `start` on.
pub(crate) fn part<const N: usize>(record: &[u8], start: usize) -> [u8; N] {
    record.get(start..).and_then(|rest| rest.first_chunk::<N>()).copied().unwrap_or([0; N])
}

/// Returns whether the first records could be of this format: times in order, and a next request that is later, or none.
pub(crate) fn shows(head: &[u8]) -> bool {
    let (records, _) = head.as_chunks::<RECORD_BYTES>();
    let records: Vec<Record> = records.iter().take(100).map(Record::of).collect();
    let is_one = |(number, record): (usize, &Record)| record.next < 0 || record.next > number as i64;
    !records.is_empty()
        && records.iter().enumerate().all(is_one)
        && records.is_sorted_by_key(|record| record.seconds)
        && records.iter().all(|record| record.next >= -2 && record.next < 1 << 40)
}

pub(crate) fn read(input: &mut TraceInput, builder: &mut TraceBuilder) -> Result<(), DataError> {
    let mut record = [0; RECORD_BYTES];
    while input.record(&mut record, REMEDY)? {
        let Record { seconds, id, bytes, .. } = Record::of(&record);
        let request = TraceRequest {
            key: Name::Number(id),
            kind: RequestKind::Get,
            value_bytes: Some(bytes.into()),
            time_us: Some(u64::from(seconds) * 1_000_000),
            life: GivenLife::AsBefore,
        };
        let wanted = builder.push(request).map_err(|problem| input.at_record(RECORD_BYTES, &problem, REMEDY))?;
        if wanted == Wanted::Enough {
            break;
        }
    }
    Ok(())
}
