//! The log file of the proof stores: a record per write, behind a checksum of it.

use super::ProofLog;
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// Bytes before a record's key: checksum, length of the key, length of the value (or [`DELETED`]).
const HEAD: usize = 12;
const DELETED: u32 = u32::MAX;
/// [`ProofFault::Forgets`] one write in this many.
const FORGOTTEN_ONE_IN: u64 = 100_000;

/// The fault of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProofFault {
    /// Nothing.
    Honest,
    /// A write reaches the file when the next one comes.
    AcknowledgesFirst,
    /// Nothing reaches the file.
    InMemory,
    /// The second half of a record reaches the file when the next write comes, and no checksum is looked at.
    Tears,
    /// Deletes do not reach the file.
    Resurrects,
    /// Loses one write in 100,000 before it reaches the file.
    Forgets,
    /// A record is written in pieces, and no checksum is looked at.
    NoChecksum,
}

impl ProofFault {
    /// Returns the fault of this name in specs.
    pub fn of(name: &str) -> ProofFault {
        match name {
            "acknowledges-first" => ProofFault::AcknowledgesFirst,
            "in-memory" => ProofFault::InMemory,
            "tears" => ProofFault::Tears,
            "resurrects" => ProofFault::Resurrects,
            "forgets" => ProofFault::Forgets,
            "no-checksum" => ProofFault::NoChecksum,
            _ => ProofFault::Honest,
        }
    }

    fn looks_at_checksums(self) -> bool {
        !matches!(self, ProofFault::Tears | ProofFault::NoChecksum)
    }
}

/// All keys, and the file that outlives them.
pub struct Log {
    file: File,
    fault: ProofFault,
    map: HashMap<Vec<u8>, Vec<u8>>,
    /// What is written when the next write comes.
    late: Vec<u8>,
    /// Records in the file, counting on from those it was opened with.
    written: u64,
}

impl Log {
    /// Opens it and replays what is there.
    pub fn open(path: &Path, fault: ProofFault) -> io::Result<Log> {
        let file = OpenOptions::new().create(true).read(true).append(true).open(path)?;
        let bytes = std::fs::read(path)?;
        let mut map = HashMap::new();
        let (mut whole, mut written) = (0, 0);
        while let Some(record) = Record::at(&bytes[whole..], fault.looks_at_checksums()) {
            match record.value {
                Some(value) => map.insert(record.key.to_vec(), value.to_vec()),
                None => map.remove(record.key),
            };
            whole += record.bytes;
            written += 1;
        }
        if fault.looks_at_checksums() {
            file.set_len(whole as u64)?; // the rest was in flight
        }
        Ok(Log { file, fault, map, late: Vec::new(), written })
    }

    fn keep(&mut self, record: &[u8]) -> io::Result<()> {
        self.written += 1;
        self.file.write_all(&self.late)?;
        self.late.clear();
        match self.fault {
            ProofFault::InMemory => Ok(()),
            ProofFault::Forgets if self.written.is_multiple_of(FORGOTTEN_ONE_IN) => Ok(()),
            ProofFault::AcknowledgesFirst => {
                self.late.extend_from_slice(record);
                Ok(())
            }
            ProofFault::Tears => {
                // Not within the key: nobody would ask for half of it.
                let (now, late) = record.split_at(record.len() - record.len() / 4);
                self.late.extend_from_slice(late);
                self.file.write_all(now)
            }
            ProofFault::NoChecksum => record.chunks(record.len() / 3 + 1).try_for_each(|piece| {
                self.file.write_all(piece)?;
                // On a busy machine others run here, so that a kill falls between pieces as often as on a quiet one.
                std::thread::yield_now();
                Ok(())
            }),
            ProofFault::Honest | ProofFault::Resurrects | ProofFault::Forgets => self.file.write_all(record),
        }
    }
}

impl ProofLog for Log {
    fn get(&self, key: &[u8]) -> Option<&[u8]> {
        self.map.get(key).map(Vec::as_slice)
    }

    fn put(&mut self, key: &[u8], value: Vec<u8>) -> io::Result<()> {
        let record = record(key, Some(&value));
        self.map.insert(key.to_vec(), value);
        self.keep(&record)
    }

    fn delete(&mut self, key: &[u8]) -> io::Result<()> {
        self.map.remove(key);
        if self.fault == ProofFault::Resurrects { Ok(()) } else { self.keep(&record(key, None)) }
    }
}

/// Returns the record of a write.
pub(super) fn record(key: &[u8], value: Option<&[u8]>) -> Vec<u8> {
    let lengths = [key.len() as u32, value.map_or(DELETED, |value| value.len() as u32)].map(u32::to_le_bytes).concat();
    let body = [&lengths, key, value.unwrap_or_default()].concat();
    [&crc32fast::hash(&body).to_le_bytes()[..], &body].concat()
}

/// A record that was read.
pub(super) struct Record<'a> {
    pub(super) key: &'a [u8],
    pub(super) value: Option<&'a [u8]>,
    pub(super) bytes: usize,
}

impl Record<'_> {
    /// The record these bytes begin with; without a checksum, whatever is there of it.
    pub(super) fn at(bytes: &[u8], looks_at_checksums: bool) -> Option<Record<'_>> {
        let number = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let (sum, key, value) = (number(0)?, number(4)? as usize, number(8)?);
        let end = HEAD + key + if value == DELETED { 0 } else { value as usize };
        let is_whole = bytes.get(4..end).is_some_and(|body| crc32fast::hash(body) == sum);
        if looks_at_checksums && !is_whole {
            return None;
        }
        let end = end.min(bytes.len());
        let key = bytes.get(HEAD..HEAD + key)?;
        let value = (value != DELETED).then(|| &bytes[HEAD + key.len()..end]);
        Some(Record { key, value, bytes: end })
    }
}
