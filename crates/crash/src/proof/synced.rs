//! The log of the proof stores of power cuts: a file with room for more, as databases have it, forced to the disk before a write is acknowledged;
//! or not quite.

use super::ProofLog;
use super::log::{Record, record};
use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The room that is made at a time. Within it a write changes nothing but its own bytes.
const ROOM_BYTES: u64 = 4 << 20;

/// The fault of a log on a disk whose power is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncFault {
    /// Nothing.
    Honest,
    /// Nothing is ever forced to the disk.
    NeverSyncs,
    /// Each write is a file of its own, forced to the disk and then renamed; the directory is not.
    NoDirectorySync,
    /// A record reaches the disk in pieces, and no checksum is looked at.
    NoChecksum,
    /// A write is forced to the disk when the next one comes.
    AcknowledgesFirst,
}

impl SyncFault {
    /// Returns the fault of this name in specs.
    pub fn of(name: &str) -> SyncFault {
        match name {
            "never-syncs" => SyncFault::NeverSyncs,
            "no-directory-sync" => SyncFault::NoDirectorySync,
            "no-checksum" => SyncFault::NoChecksum,
            "acknowledges-first" => SyncFault::AcknowledgesFirst,
            _ => SyncFault::Honest,
        }
    }

    fn looks_at_checksums(self) -> bool {
        self != SyncFault::NoChecksum
    }
}

/// All keys, and the files that outlive them.
pub struct SyncedLog {
    directory: PathBuf,
    file: File,
    fault: SyncFault,
    map: HashMap<Vec<u8>, Vec<u8>>,
    /// Where the next record goes, and where the room ends.
    end: u64,
    room: u64,
    /// Files of a write each.
    pieces: u64,
    is_late: bool,
}

impl SyncedLog {
    /// Opens it and replays what is there.
    pub fn open(directory: &Path, fault: SyncFault) -> io::Result<SyncedLog> {
        let path = directory.join("log");
        let file = OpenOptions::new().create(true).read(true).write(true).truncate(false).open(path)?;
        let bytes = fs::read(directory.join("log"))?;
        let mut log = SyncedLog {
            directory: directory.to_owned(),
            file,
            fault,
            map: HashMap::new(),
            end: 0,
            room: bytes.len() as u64,
            pieces: 0,
            is_late: false,
        };
        log.end = log.replay(&bytes) as u64;
        while let Ok(bytes) = fs::read(log.piece("")) {
            log.replay(&bytes);
            log.pieces += 1;
        }
        // What was in flight must not be taken for a record that follows a later one.
        let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last as u64 + 1);
        if used > log.end {
            log.file.write_all_at(&vec![0; (used - log.end) as usize], log.end)?;
        }
        log.make_room(1)?;
        log.file.sync_all()?;
        File::open(directory)?.sync_all()?;
        Ok(log)
    }

    /// Takes the records these bytes begin with; returns their length.
    fn replay(&mut self, bytes: &[u8]) -> usize {
        let mut whole = 0;
        while let Some(record) = Record::at(&bytes[whole..], self.fault.looks_at_checksums()) {
            if record.key.is_empty() {
                break;
            }
            match record.value {
                Some(value) => self.map.insert(record.key.to_vec(), value.to_vec()),
                None => self.map.remove(record.key),
            };
            whole += record.bytes;
        }
        whole
    }

    fn piece(&self, suffix: &str) -> PathBuf {
        self.directory.join(format!("piece-{}{suffix}", self.pieces))
    }

    /// Makes room for this number of further bytes, of zeros.
    fn make_room(&mut self, bytes: u64) -> io::Result<()> {
        while self.end + bytes > self.room {
            self.file.write_all_at(&vec![0; ROOM_BYTES as usize], self.room)?;
            self.room += ROOM_BYTES;
            if self.fault != SyncFault::NeverSyncs {
                self.file.sync_all()?;
            }
        }
        Ok(())
    }

    fn keep(&mut self, record: &[u8]) -> io::Result<()> {
        if self.fault == SyncFault::NoDirectorySync {
            let (new, named) = (self.piece(".new"), self.piece(""));
            fs::write(&new, record)?;
            File::open(&new)?.sync_all()?;
            self.pieces += 1;
            return fs::rename(new, named);
        }
        if std::mem::take(&mut self.is_late) {
            self.file.sync_data()?;
        }
        self.make_room(record.len() as u64)?;
        if self.fault == SyncFault::NoChecksum {
            let half = record.len() / 2;
            self.file.write_all_at(&record[..half], self.end)?;
            self.file.sync_data()?;
        }
        self.file.write_all_at(record, self.end)?;
        self.end += record.len() as u64;
        match self.fault {
            SyncFault::NeverSyncs => Ok(()),
            SyncFault::AcknowledgesFirst => {
                self.is_late = true;
                Ok(())
            }
            SyncFault::Honest | SyncFault::NoChecksum | SyncFault::NoDirectorySync => self.file.sync_data(),
        }
    }
}

impl ProofLog for SyncedLog {
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
        self.keep(&record(key, None))
    }
}
