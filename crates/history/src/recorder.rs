//! Records what clients do: a few words per operation, in memory while there are few, in a file from then on.

use crate::checker::{Check, NotChecked, check};
use crate::operation::{Deed, Encounter};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Operations that a thread keeps until it hands them on.
const LANE_OPERATIONS: usize = 8192;

/// Operations in memory, over all threads: 64 MiB or less. What comes then is in a file.
const MEMORY_OPERATIONS: usize = 1 << 20;

/// Operations that are checked at a time.
const CHECKED_OPERATIONS: u64 = 4 << 20;

/// Bytes of an operation in the file.
const RECORD_BYTES: usize = 40;

/// The versions that fit beside the kind of an operation.
const KIND_SHIFT: u32 = 32;

/// The operations of all threads.
#[derive(Debug)]
pub struct Collector {
    directory: PathBuf,
    memory_operations: usize,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    chunks: Vec<Vec<Encounter>>,
    in_memory: usize,
    spilled: Option<File>,
    in_file: u64,
    /// Why there is no more in the file.
    problem: Option<io::Error>,
}

impl Collector {
    /// Returns a collector that writes what is too much for memory to a file in this directory, which nobody sees.
    pub fn new(directory: &Path) -> Collector {
        Collector::with_room(directory, MEMORY_OPERATIONS)
    }

    /// Returns one that keeps that many operations in memory.
    pub fn with_room(directory: &Path, memory_operations: usize) -> Collector {
        Collector { directory: directory.into(), memory_operations, kept: Mutex::default() }
    }

    fn take(&self, chunk: &mut Vec<Encounter>) {
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

    fn spill(&self, kept: &mut Kept, chunk: &[Encounter]) -> io::Result<()> {
        if kept.spilled.is_none() {
            let path = self.directory.join(format!(".history-{}", std::process::id()));
            let file = File::options().read(true).write(true).create_new(true).open(&path)?;
            // It lives as long as it is open.
            std::fs::remove_file(&path)?;
            kept.spilled = Some(file);
        }
        let mut bytes = Vec::with_capacity(chunk.len() * RECORD_BYTES);
        chunk.iter().for_each(|it| bytes.extend(packed(it)));
        if let Some(file) = &mut kept.spilled {
            file.write_all(&bytes)?;
        }
        kept.in_file += chunk.len() as u64;
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
            None => Ok(Collected { chunks: kept.chunks, file: kept.spilled, in_file: kept.in_file }),
        }
    }
}

/// Everything that was recorded.
#[derive(Debug)]
pub struct Collected {
    chunks: Vec<Vec<Encounter>>,
    file: Option<File>,
    in_file: u64,
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
            let mut part = Vec::new();
            self.each(&mut |it| {
                if mixed(it.key) % passes == pass {
                    part.push(*it);
                }
                Ok(())
            })?;
            match check(&mut part) {
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
        let mut all = Vec::with_capacity(self.operations() as usize);
        self.each(&mut |it| {
            all.push(*it);
            Ok(())
        })?;
        Ok(all)
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

    fn each(&self, take: &mut dyn FnMut(&Encounter) -> io::Result<()>) -> io::Result<()> {
        for it in self.chunks.iter().flatten() {
            take(it)?;
        }
        let Some(file) = &self.file else { return Ok(()) };
        let mut file = file;
        io::Seek::rewind(&mut file)?;
        let mut input = BufReader::with_capacity(1 << 20, file);
        let mut record = [0; RECORD_BYTES];
        for _ in 0..self.in_file {
            input.read_exact(&mut record)?;
            take(&unpacked(&record))?;
        }
        Ok(())
    }
}

fn mixed(key: u64) -> u64 {
    key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20
}

/// An operation as bytes: key, kind and client, version, times. Jobs record no swaps.
fn packed(it: &Encounter) -> [u8; RECORD_BYTES] {
    let kind = u64::from(it.writes()) << KIND_SHIFT | u64::from(it.client);
    let mut bytes = [0; RECORD_BYTES];
    let words = [it.key, kind, it.version(), it.sent_ns, it.answered_ns.unwrap_or(u64::MAX)];
    for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

fn unpacked(bytes: &[u8; RECORD_BYTES]) -> Encounter {
    let mut words = [0; RECORD_BYTES / 8];
    for (word, place) in words.iter_mut().zip(bytes.chunks_exact(8)) {
        let mut eight = [0; 8];
        eight.copy_from_slice(place);
        *word = u64::from_le_bytes(eight);
    }
    let [key, kind, version, sent_ns, answered_ns] = words;
    let action = if kind >> KIND_SHIFT == 0 { Deed::Read(version) } else { Deed::Write(version) };
    let answered_ns = (answered_ns != u64::MAX).then_some(answered_ns);
    Encounter { client: kind as u32, key, action, sent_ns, answered_ns }
}

/// The operations of one thread, which hands them on from time to time.
#[derive(Debug)]
pub struct Reel<'a> {
    collector: &'a Collector,
    kept: Vec<Encounter>,
}

impl<'a> Reel<'a> {
    /// Returns an empty one.
    pub fn new(collector: &'a Collector) -> Reel<'a> {
        Reel { collector, kept: Vec::with_capacity(LANE_OPERATIONS) }
    }

    /// Keeps an operation that has ended, or of which no more will be heard.
    #[inline]
    pub fn keep(&mut self, operation: Encounter) {
        if self.kept.len() == LANE_OPERATIONS {
            self.collector.take(&mut self.kept);
        }
        self.kept.push(operation);
    }
}

impl Drop for Reel<'_> {
    fn drop(&mut self) {
        self.collector.take(&mut self.kept);
    }
}
