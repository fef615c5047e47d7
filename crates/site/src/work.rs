//! What the work of a cell is like: the answers to the questions that the first page asks.

use study::{Cell, HostFacts};

/// What the work of a cell is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkKind {
    /// What most operations are.
    pub reads: ReadShare,
    /// How much there is, against the memory of the machine.
    pub size: WorkSize,
}

/// The share of reads among the operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReadShare {
    /// Four of five operations or more are reads.
    Reads,
    /// Neither.
    Both,
    /// Four of five operations or more are writes.
    Writes,
}

/// The size of what is stored, against the memory of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WorkSize {
    /// It is at most half of the memory.
    Fits,
    /// It is more.
    Larger,
}

/// The share from which on operations are mostly of one kind.
const MOSTLY: f64 = 0.8;

impl WorkKind {
    /// Returns what the work of a cell is like, by what its trials did.
    pub fn of(cell: &Cell, host: &HostFacts) -> WorkKind {
        let operations: u64 = cell.counted().map(|trial| trial.operations).sum();
        let share = (cell.hits + cell.misses) as f64 / operations.max(1) as f64;
        let reads = match share {
            MOSTLY.. => ReadShare::Reads,
            share if share <= 1.0 - MOSTLY => ReadShare::Writes,
            _ => ReadShare::Both,
        };
        let size = if cell.logical_bytes > host.memory_bytes / 2 { WorkSize::Larger } else { WorkSize::Fits };
        WorkKind { reads, size }
    }
}

impl ReadShare {
    /// Every share.
    pub const ALL: [ReadShare; 3] = [ReadShare::Reads, ReadShare::Both, ReadShare::Writes];

    /// Returns its word in pages and their addresses.
    pub fn word(self) -> &'static str {
        match self {
            ReadShare::Reads => "mostly reads",
            ReadShare::Both => "reads and writes",
            ReadShare::Writes => "mostly writes",
        }
    }
}

impl WorkSize {
    /// Every size.
    pub const ALL: [WorkSize; 2] = [WorkSize::Fits, WorkSize::Larger];

    /// Returns its word in pages.
    pub fn word(self) -> &'static str {
        match self {
            WorkSize::Fits => "fits in memory",
            WorkSize::Larger => "more than half of the memory",
        }
    }
}
