//! Power cuts: the disk, and what a cut left of what was written.

use serde::{Deserialize, Serialize};

/// The conduct of a disk whose power is cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DiskKind {
    /// What was flushed is durable; of later writes any sectors may be there.
    #[default]
    Honest,
    /// A flush is acknowledged and not carried out: an older state may be left.
    Lies,
    /// The file system is shut down at once: what it had not handed to the disk is gone, and no sector is torn.
    Halts,
    /// As an honest disk; and a write that was under way damages durable sectors beside it.
    Tears,
    /// None: file calls are recorded, and what is durable is derived from the syncs among them.
    Recorded,
}

impl DiskKind {
    /// Returns the word that options use.
    pub fn name(self) -> &'static str {
        match self {
            DiskKind::Honest => "honest",
            DiskKind::Lies => "lies",
            DiskKind::Halts => "halts",
            DiskKind::Tears => "tears",
            DiskKind::Recorded => "recorded",
        }
    }
}

/// The part of the unflushed sectors that a cut left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeptSectors {
    /// None of them.
    #[default]
    Nothing,
    /// Every one.
    All,
    /// Some, chosen by the seed.
    Some,
}

/// A record of what a power cut did to the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PowerCut {
    /// The conduct of the disk.
    pub disk: DiskKind,
    /// The part of the unflushed sectors that is left.
    pub kept: KeptSectors,
    /// Sectors of 512 bytes that were written and not durable.
    pub unflushed_sectors: u64,
    /// Those of them that are left.
    pub kept_sectors: u64,
    /// Durable sectors that a torn write damaged.
    pub damaged_sectors: u64,
    /// Sectors written since the disk was mounted.
    pub written_sectors: u64,
    /// Flushes since then.
    pub flushes: u64,
}
