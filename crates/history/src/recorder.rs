//! Records what clients do: four words per operation, in memory while there are few, in a file from then on.

use crate::checker::{Check, NotChecked, check};
use crate::operation::{Deed, Encounter};
use crate::structures::{CounterSeen, counts};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Operations that a thread keeps until it hands them on: a chunk that stays in the processor's second cache.
const LANE_OPERATIONS: usize = 4096;

/// Operations in memory, over all threads: 128 MiB, half of what checking them takes. What comes then is in a file.
const MEMORY_OPERATIONS: usize = 4 << 20;

/// Operations that are checked at a time.
const CHECKED_OPERATIONS: u64 = 4 << 20;

/// An operation as it is kept: key, version with client and kind, times.
type Record = [u64; 4];

/// Bytes of an operation in the file.
const RECORD_BYTES: usize = size_of::<Record>();

/// Bits of a client's number in the second word; then come three for the kind, and the version.
const CLIENT_BITS: u32 = 21;
const VERSION_SHIFT: u32 = CLIENT_BITS + 3;

/// The kinds.
const READ: u64 = 0;
const MISSED: u64 = 1;
const WRITTEN: u64 = 2;
const DELETED: u64 = 3;
const INCREASED: u64 = 4;
const COUNTED: u64 = 5;

/// The time of an answer that never came.
const NEVER: u64 = u64::MAX;

/// Turns the times of the clock that operations are recorded by into nanoseconds.
pub type Nanoseconds = Box<dyn Fn(u64) -> u64 + Send + Sync>;

/// The operations of all threads.
pub struct Collector {
    directory: PathBuf,
    memory_operations: usize,
    nanoseconds: Nanoseconds,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    chunks: Vec<Vec<Record>>,
    in_memory: usize,
    spilled: Option<File>,
    in_file: u64,
    /// Room for the bytes of a chunk.
    bytes: Vec<u8>,
    /// Why there is no more in the file.
    problem: Option<io::Error>,
}

impl Collector {
    /// Returns a collector that writes what is too much for memory to a file in this directory, which nobody sees. Times are recorded in
    /// nanoseconds.
    pub fn new(directory: &Path) -> Collector {
        Collector {
            directory: directory.into(),
            memory_operations: MEMORY_OPERATIONS,
            nanoseconds: Box::new(|ns| ns),
            kept: Mutex::default(),
        }
    }

    /// Returns the same collector, which keeps that many operations in memory.
    pub fn with_room(self, memory_operations: usize) -> Collector {
        Collector { memory_operations, ..self }
    }

    /// Returns the same collector, for times of a clock of which this makes nanoseconds.
    pub fn timed_by(self, nanoseconds: Nanoseconds) -> Collector {
        Collector { nanoseconds, ..self }
    }

    #[cold]
    fn take(&self, chunk: &mut Vec<Record>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.in_memory + chunk.len() <= self.memory_operations {
            kept.in_memory += chunk.len();
            kept.chunks.push(std::mem::replace(chunk, Vec::with_capacity(LANE_OPERATIONS)));
            return;
        }
        if kept.problem.is_none()
            && let Err(problem) = self.spill(&mut kept, chunk)
        {
            kept.problem = Some(problem);
        }
        chunk.clear();
    }

    fn spill(&self, kept: &mut Kept, chunk: &[Record]) -> io::Result<()> {
        if kept.spilled.is_none() {
            let path = self.directory.join(format!(".history-{}", std::process::id()));
            let file = File::options().read(true).write(true).create_new(true).open(&path)?;
            // It lives as long as it is open.
            std::fs::remove_file(&path)?;
            kept.spilled = Some(file);
        }
        let Kept { spilled: Some(file), bytes, in_file, .. } = kept else { return Ok(()) };
        bytes.resize(chunk.len() * RECORD_BYTES, 0);
        for (place, word) in bytes.chunks_exact_mut(size_of::<u64>()).zip(chunk.as_flattened()) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        file.write_all(bytes)?;
        *in_file += chunk.len() as u64;
        Ok(())
    }

    /// Returns everything that was recorded, when all lanes have ended.
    ///
    /// # Errors
    /// The file could not be written.
    pub fn collected(self) -> io::Result<Collected> {
        let kept = self.kept.into_inner().unwrap_or_else(PoisonError::into_inner);
        match kept.problem {
            Some(problem) => Err(problem),
            None => Ok(Collected {
                chunks: kept.chunks,
                file: kept.spilled,
                in_file: kept.in_file,
                nanoseconds: self.nanoseconds,
            }),
        }
    }
}

/// Everything that was recorded.
pub struct Collected {
    chunks: Vec<Vec<Record>>,
    file: Option<File>,
    in_file: u64,
    nanoseconds: Nanoseconds,
}

impl Collected {
    /// Returns how many operations there are.
    pub fn operations(&self) -> u64 {
        self.in_file + self.chunks.iter().map(|it| it.len() as u64).sum::<u64>()
    }

    /// Checks all keys, some millions of operations at a time: a part of the keys in each pass over the file.
    ///
    /// # Errors
    /// The file cannot be read, or the history does not say what each operation saw.
    pub fn check(&self) -> io::Result<Result<Check, NotChecked>> {
        let passes = self.operations().div_ceil(CHECKED_OPERATIONS).max(1);
        let mut all = Check::default();
        for pass in 0..passes {
            match check(&mut self.those(|key| mixed(key) % passes == pass)?) {
                Ok(found) => all.add(found),
                Err(why) => return Ok(Err(why)),
            }
        }
        Ok(Ok(all))
    }

    /// Returns all operations.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn all(&self) -> io::Result<Vec<Encounter>> {
        self.those(|_| true)
    }

    /// Writes all as lines of JSON.
    ///
    /// # Errors
    /// A file cannot be read or written.
    pub fn write_lines(&self, path: &Path) -> io::Result<()> {
        let mut out = BufWriter::new(File::create(path)?);
        crate::lines::write_lines(&self.all()?, &mut out)?;
        out.flush()
    }

    /// The operations of some keys.
    fn those(&self, are_wanted: impl Fn(u64) -> bool) -> io::Result<Vec<Encounter>> {
        let (mut all, mut counted) = (Vec::new(), Vec::new());
        all.reserve(self.operations().min(CHECKED_OPERATIONS) as usize);
        self.each(&mut |record| {
            if are_wanted(record[0]) {
                let operation = self.read(record);
                match (record[1] >> CLIENT_BITS & 7, record[1] >> VERSION_SHIFT) {
                    (INCREASED, number) => counted.push((operation, CounterSeen::Increased(number))),
                    (COUNTED, number) => counted.push((operation, CounterSeen::Read(number))),
                    _ => all.push(operation),
                }
            }
        })?;
        all.extend(counts(&counted));
        Ok(all)
    }

    fn each(&self, take: &mut dyn FnMut(&Record)) -> io::Result<()> {
        self.chunks.iter().flatten().for_each(&mut *take);
        let Some(file) = &self.file else { return Ok(()) };
        let mut file = file;
        io::Seek::rewind(&mut file)?;
        let mut input = BufReader::with_capacity(1 << 20, file);
        let mut bytes = [0; RECORD_BYTES];
        for _ in 0..self.in_file {
            input.read_exact(&mut bytes)?;
            let mut record = Record::default();
            for (word, place) in record.iter_mut().zip(bytes.as_chunks().0) {
                *word = u64::from_le_bytes(*place);
            }
            take(&record);
        }
        Ok(())
    }

    fn read(&self, &[key, what, sent, answered]: &Record) -> Encounter {
        let version = what >> VERSION_SHIFT;
        Encounter {
            client: (what & ((1 << CLIENT_BITS) - 1)) as u32,
            key,
            action: match what >> CLIENT_BITS & 7 {
                WRITTEN => Deed::Write(version),
                DELETED => Deed::Delete(version),
                MISSED => Deed::Missed(version),
                _ => Deed::Read(version),
            },
            sent_ns: (self.nanoseconds)(sent),
            answered_ns: (answered != NEVER).then(|| (self.nanoseconds)(answered)),
        }
    }
}

fn mixed(key: u64) -> u64 {
    key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20
}

/// What a client did or saw. Clients are below 2^21, versions and counts below 2^40.
#[derive(Clone, Copy, Debug)]
pub struct Told(u64);

impl Told {
    #[inline]
    fn of(kind: u64, client: u32, version: u64) -> Told {
        Told(version << VERSION_SHIFT | kind << CLIENT_BITS | u64::from(client) & ((1 << CLIENT_BITS) - 1))
    }

    /// It read this version.
    #[inline]
    pub fn read(client: u32, version: u64) -> Told {
        Told::of(READ, client, version)
    }

    /// It read, and found nothing.
    #[inline]
    pub fn missed(client: u32) -> Told {
        Told::of(MISSED, client, 0)
    }

    /// It wrote this version.
    #[inline]
    pub fn written(client: u32, version: u64) -> Told {
        Told::of(WRITTEN, client, version)
    }

    /// It deleted the key, as the version of this number.
    #[inline]
    pub fn deleted(client: u32, version: u64) -> Told {
        Told::of(DELETED, client, version)
    }

    /// It increased a counter by one, which gave this number; any where there was no answer.
    #[inline]
    pub fn increased(client: u32, number: u64) -> Told {
        Told::of(INCREASED, client, number)
    }

    /// It read this number of a counter.
    #[inline]
    pub fn counted(client: u32, number: u64) -> Told {
        Told::of(COUNTED, client, number)
    }
}

/// The operations of one thread, which hands them on from time to time.
pub struct Reel<'a> {
    collector: &'a Collector,
    kept: Vec<Record>,
}

impl<'a> Reel<'a> {
    /// Returns an empty one.
    pub fn new(collector: &'a Collector) -> Reel<'a> {
        Reel { collector, kept: Vec::with_capacity(LANE_OPERATIONS) }
    }

    /// Keeps an operation on a key that was sent and answered at these times of the collector's clock.
    #[inline]
    pub fn answered(&mut self, key: u64, said: Told, sent: u64, answered: u64) {
        if self.kept.len() == LANE_OPERATIONS {
            self.collector.take(&mut self.kept);
        }
        self.kept.push([key, said.0, sent, answered]);
    }

    /// Keeps one of which no more will be heard.
    pub fn unanswered(&mut self, key: u64, said: Told, sent: u64) {
        self.answered(key, said, sent, NEVER);
    }
}

impl Drop for Reel<'_> {
    fn drop(&mut self) {
        self.collector.take(&mut self.kept);
    }
}
