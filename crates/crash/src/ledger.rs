//! The ledger: what clients sent and when it was acknowledged, in memory that survives the process that writes it.
//!
//! It is a file without a name (`memfd`), mapped by kvtrial and by the writers' process: nothing of it is on the disk that is tested, and
//! it is gone with kvtrial. Each client has a page of its own. An entry counts once the number of sent entries includes it, one release
//! store, made before the operation is handed to the store; that it was acknowledged is one store of a time. A writer
//! killed at any instruction so leaves whole entries only.

use crate::glance::Glance;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// The effect of a write on its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteKind {
    /// Stores a value, replacing any.
    Put,
    /// Adds a part to the end of the value.
    Append,
    /// Removes the key.
    Delete,
}

impl WriteKind {
    fn code(self) -> u64 {
        match self {
            WriteKind::Put => 1,
            WriteKind::Append => 2,
            WriteKind::Delete => 3,
        }
    }

    pub(crate) fn of(code: u64) -> WriteKind {
        match code {
            1 => WriteKind::Put,
            2 => WriteKind::Append,
            _ => WriteKind::Delete,
        }
    }
}

/// A write that was sent. Its version is its place in the client's page, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentWrite {
    /// The client's key, numbered.
    pub key: u32,
    /// The effect of the write.
    pub kind: WriteKind,
    /// The time it was sent, or one shortly before, on the system's monotonic clock.
    pub sent_at_ns: u64,
    /// The time of the acknowledgement, on the system's monotonic clock; `None`: the write was in flight, or failed, and may have
    /// happened.
    pub acknowledged_at_ns: Option<u64>,
}

impl SentWrite {
    /// Returns key and kind as a number.
    pub(crate) fn what(&self) -> u64 {
        u64::from(self.key) | self.kind.code() << 32
    }
}

/// What an acknowledgement after the moment of the crash means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LateAnswer {
    /// The store still lived: it counts.
    Counts,
    /// The disk had no power any more: the write may be there or not.
    InDoubt,
}

/// Memory shared by kvtrial and the process whose clients write.
pub struct AckLedger {
    file: File,
    memory: NonNull<AtomicU64>,
    /// The number of its first client.
    first: u32,
    clients: u32,
    capacity: u32,
}

// SAFETY: the memory is only ever used as atomic numbers, and stays mapped while the ledger lives.
unsafe impl Send for AckLedger {}
// SAFETY: as above.
unsafe impl Sync for AckLedger {}

/// Numbers at the head of a page, a cache line: how many entries were sent, and how many reads were answered; in the first page also
/// [`UPKEEP`].
const HEAD: usize = 8;
/// Where it stands how often the store has begun and ended what it was told to do meanwhile: odd while it is at it.
const UPKEEP: usize = 1;
/// Where it stands how many reads were answered.
const GLANCES: usize = 2;
/// Numbers of an entry: what, when it was sent, and when it was acknowledged.
const ENTRY: usize = 3;
/// Numbers of a read, behind the entries: of which key, what it saw, when it was sent, and when it was answered.
const GLANCE: usize = 4;

impl AckLedger {
    /// Makes an empty one for this many clients with this many writes each. What is not used takes no memory.
    ///
    /// # Errors
    /// The system's.
    pub fn create(clients: u32, capacity: u32) -> io::Result<AckLedger> {
        AckLedger::create_of(0..clients, capacity)
    }

    /// Makes one for these of all clients.
    ///
    /// # Errors
    /// The system's.
    pub fn create_of(clients: Range<u32>, capacity: u32) -> io::Result<AckLedger> {
        // SAFETY: the name is a C string; the descriptor is new and nobody else's.
        let file = unsafe {
            let descriptor = libc::memfd_create(c"kvtrial-ledger".as_ptr(), libc::MFD_CLOEXEC);
            if descriptor < 0 {
                return Err(io::Error::last_os_error());
            }
            File::from_raw_fd(descriptor)
        };
        file.set_len(AckLedger::bytes(clients.end - clients.start, capacity) as u64)?;
        AckLedger::map(file, clients, capacity)
    }

    /// Opens the one another process made, by the [`path`](AckLedger::path) it gave.
    ///
    /// # Errors
    /// The system's, or that it is not as large as one of this shape.
    pub fn open(path: &Path, clients: u32, capacity: u32) -> io::Result<AckLedger> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        if file.metadata()?.len() != AckLedger::bytes(clients, capacity) as u64 {
            return Err(io::Error::other("the ledger has a different size"));
        }
        AckLedger::map(file, 0..clients, capacity)
    }

    /// Returns where another process of the same user finds it while this one lives.
    pub fn path(&self) -> PathBuf {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd()).into()
    }

    fn numbers_of_page(capacity: u32) -> usize {
        HEAD + (ENTRY + GLANCE) * capacity as usize
    }

    fn bytes(clients: u32, capacity: u32) -> usize {
        clients as usize * AckLedger::numbers_of_page(capacity) * size_of::<AtomicU64>()
    }

    fn map(file: File, range: Range<u32>, capacity: u32) -> io::Result<AckLedger> {
        let (first, clients) = (range.start, range.end - range.start);
        let bytes = AckLedger::bytes(clients, capacity);
        // SAFETY: a new mapping of an open file of at least this size, which nobody shortens.
        let memory = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let memory = NonNull::new(memory.cast()).ok_or_else(|| io::Error::other("mapped at no address"))?;
        Ok(AckLedger { file, memory, first, clients, capacity })
    }

    /// Returns the numbers of the clients that have a page.
    pub fn clients(&self) -> Range<u32> {
        self.first..self.first + self.clients
    }

    /// Returns the page of a client, by its number.
    pub fn page(&self, client: u32) -> Page<'_> {
        assert!(self.clients().contains(&client), "a ledger of clients {:?} has no client {client}", self.clients());
        let numbers = AckLedger::numbers_of_page(self.capacity);
        // SAFETY: within the mapping, as the client is one of its clients; any bytes are valid numbers, and all access is atomic.
        let numbers = unsafe {
            std::slice::from_raw_parts(self.memory.as_ptr().add((client - self.first) as usize * numbers), numbers)
        };
        Page { numbers, capacity: self.capacity }
    }

    /// Notes that the store begins, or has ended, a checkpoint or compaction it was told to make.
    pub fn turn_upkeep(&self) {
        self.page(self.first).numbers[UPKEEP].fetch_add(1, Ordering::AcqRel);
    }

    /// Returns whether the store is at what it was told to do.
    pub fn is_at_upkeep(&self) -> bool {
        self.page(self.first).numbers[UPKEEP].load(Ordering::Acquire) % 2 == 1
    }

    /// Returns the time of each acknowledgement, of all clients, in order.
    pub fn acknowledged_at_ns(&self) -> Vec<u64> {
        let of = |client| self.page(client).entries().into_iter().filter_map(|entry| entry.acknowledged_at_ns);
        let mut all: Vec<u64> = self.clients().flat_map(of).collect();
        all.sort_unstable();
        all
    }

    /// Returns whether some client had a write acknowledged, or failed.
    pub fn any_began(&self) -> bool {
        self.clients().any(|client| self.page(client).sent() > 1)
    }

    /// Returns whether every client had a write acknowledged, or failed.
    pub fn all_began(&self) -> bool {
        self.clients().all(|client| self.page(client).sent() > 1)
    }
}

impl Drop for AckLedger {
    fn drop(&mut self) {
        // SAFETY: the mapping made by `map`, of which no page outlives the ledger.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), AckLedger::bytes(self.clients, self.capacity)) };
    }
}

/// The page of one client, with the writes it sent. Only that client's thread adds to it.
#[derive(Clone, Copy)]
pub struct Page<'a> {
    numbers: &'a [AtomicU64],
    capacity: u32,
}

impl Page<'_> {
    /// Writes that were sent.
    pub fn sent(&self) -> u32 {
        (self.numbers[0].load(Ordering::Acquire) as u32).min(self.capacity())
    }

    /// Writes it has room for.
    pub fn capacity(&self) -> u32 {
        self.capacity
    }

    /// Notes that a write is about to be sent: its version; `None` when the page is full.
    #[inline]
    pub fn send(&self, key: u32, kind: WriteKind, at_ns: u64) -> Option<u32> {
        let sent = self.numbers[0].load(Ordering::Relaxed);
        if sent >= u64::from(self.capacity) {
            return None;
        }
        let at = HEAD + ENTRY * sent as usize;
        self.numbers[at].store(u64::from(key) | kind.code() << 32, Ordering::Relaxed);
        self.numbers[at + 1].store(at_ns, Ordering::Relaxed);
        self.numbers[0].store(sent + 1, Ordering::Release);
        Some(sent as u32 + 1)
    }

    /// Notes that the write of this version was acknowledged.
    #[inline]
    pub fn acknowledge(&self, version: u32, at_ns: u64) {
        if let Some(at) = self.numbers.get(HEAD + ENTRY * (version as usize - 1) + 2) {
            at.store(at_ns, Ordering::Release);
        }
    }

    /// Returns the write of a version, if it was sent.
    pub fn entry(&self, version: u32) -> Option<SentWrite> {
        if version == 0 || version > self.sent() {
            return None;
        }
        let at = HEAD + ENTRY * (version as usize - 1);
        let [what, sent_at_ns] = [0, 1].map(|number| self.numbers[at + number].load(Ordering::Relaxed));
        let when = self.numbers[at + 2].load(Ordering::Acquire);
        Some(SentWrite {
            key: what as u32,
            kind: WriteKind::of(what >> 32),
            sent_at_ns,
            acknowledged_at_ns: (when > 0).then_some(when),
        })
    }

    /// Returns all writes sent so far, in their order, as a crash at this moment leaves them.
    pub fn entries_at(&self, crash_at_ns: u64, late: LateAnswer) -> Vec<SentWrite> {
        let mut entries = self.entries();
        if late == LateAnswer::InDoubt {
            let is_late = |entry: &&mut SentWrite| entry.acknowledged_at_ns.is_some_and(|at| at > crash_at_ns);
            entries.iter_mut().filter(is_late).for_each(|entry| entry.acknowledged_at_ns = None);
        }
        entries
    }

    /// Notes what a read of this client has seen; one that finds the page full is left out.
    #[inline]
    pub fn see(&self, glance: Glance) {
        let seen = self.numbers[GLANCES].load(Ordering::Relaxed);
        let at = HEAD + ENTRY * self.capacity as usize + GLANCE * seen as usize;
        if let Some(place) = self.numbers.get(at..at + GLANCE) {
            place.iter().zip(glance.numbers()).for_each(|(place, number)| place.store(number, Ordering::Relaxed));
            self.numbers[GLANCES].store(seen + 1, Ordering::Release);
        }
    }

    /// Returns what all reads of this client have seen, in their order.
    pub fn glances(&self) -> Vec<Glance> {
        let seen = self.numbers[GLANCES].load(Ordering::Acquire) as usize;
        let all = &self.numbers[HEAD + ENTRY * self.capacity as usize..];
        let glance = |place: &[AtomicU64; GLANCE]| Glance::of(place.each_ref().map(|at| at.load(Ordering::Relaxed)));
        all.as_chunks().0.iter().take(seen).map(glance).collect()
    }

    /// Returns all writes sent so far, in their order.
    pub fn entries(&self) -> Vec<SentWrite> {
        (1..=self.sent()).filter_map(|version| self.entry(version)).collect()
    }
}

/// Returns the system's monotonic clock, the same in all processes.
#[inline]
pub fn now_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it only writes into `now`.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{AckLedger, SentWrite, WriteKind};
    use crate::glance::{Glance, Glanced};

    #[test]
    fn a_writer_that_is_killed_leaves_whole_entries() {
        let ledger = AckLedger::create(1, 1 << 20).unwrap();
        // SAFETY: the child only writes into shared memory until it is killed; it takes no lock and allocates nothing.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let page = ledger.page(0);
            for version in 1.. {
                if page.send(version * 3, WriteKind::Append, u64::from(version)).is_none() {
                    break;
                }
                page.acknowledge(version, u64::from(version) << 40 | u64::from(version));
            }
            loop {
                std::hint::spin_loop();
            }
        }
        while ledger.page(0).sent() < 1000 {
            std::hint::spin_loop();
        }
        // SAFETY: the child is ours and not yet waited for.
        unsafe {
            libc::kill(child, libc::SIGKILL);
            libc::waitpid(child, std::ptr::null_mut(), 0);
        }
        let entries = ledger.page(0).entries();
        for (at, entry) in entries.iter().enumerate() {
            let version = at as u32 + 1;
            let whole = Some(u64::from(version) << 40 | u64::from(version));
            assert_eq!((entry.key, entry.kind, entry.sent_at_ns), (version * 3, WriteKind::Append, u64::from(version)));
            let is_last = version as usize == entries.len();
            assert!(entry.acknowledged_at_ns == whole || is_last && entry.acknowledged_at_ns.is_none(), "{entry:?}");
        }
    }

    #[test]
    fn another_mapping_sees_what_was_sent_and_a_full_page_takes_no_more() {
        let ledger = AckLedger::create(2, 2).unwrap();
        let other = AckLedger::open(&ledger.path(), 2, 2).unwrap();
        let page = ledger.page(1);
        assert_eq!(page.send(7, WriteKind::Put, 90), Some(1));
        page.acknowledge(1, 99);
        assert_eq!(page.send(7, WriteKind::Delete, 100), Some(2));
        assert_eq!(page.send(8, WriteKind::Put, 101), None);
        let entry = |kind, sent_at_ns, acknowledged_at_ns| SentWrite { key: 7, kind, sent_at_ns, acknowledged_at_ns };
        let (put, delete) = (entry(WriteKind::Put, 90, Some(99)), entry(WriteKind::Delete, 100, None));
        assert_eq!(other.page(1).entries(), [put, delete]);
        let glances = [Glanced::Version(1), Glanced::Nothing, Glanced::Foreign].map(|seen| Glance {
            client: 1,
            key: 7,
            seen,
            sent_at_ns: 3,
            answered_at_ns: 5,
        });
        glances[..2].iter().for_each(|glance| page.see(*glance));
        assert_eq!(other.page(1).glances(), glances[..2]);
        page.see(glances[2]);
        assert_eq!(other.page(1).glances().len(), 2, "it is full");
        assert_eq!((other.page(1).sent(), other.page(0).glances()), (2, vec![]));
        assert_eq!(other.page(0).sent(), 0);
        assert!(AckLedger::open(&ledger.path(), 3, 2).is_err());
    }
}
