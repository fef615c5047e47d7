//! What `kvtrial crash` found: what stores still hold after a crash, against what they acknowledged.

use crate::{DiskKind, Durability, History, PowerCut, Quantity};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Upper bounds of the ages of lost writes, seconds; what is older has a place of its own behind them.
pub const LOST_AGES_S: [f64; 6] = [0.001, 0.01, 0.1, 0.5, 1.0, 2.0];

/// The means by which a crash is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CrashMeans {
    /// `kill -9` of all processes of the server, or of the one that holds an embedded engine. What the system holds survives.
    #[default]
    Kill,
    /// All processes stop where they are, keep their connections, and go on later.
    Freeze,
    /// A command of the user kills the store, and another one starts it again.
    Command,
    /// The power of the disk below the store's files is cut: what was not flushed may be gone, sector by sector.
    Power,
}

/// The share of a store's nodes that fail at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StruckNodes {
    /// One node, chosen by the seed.
    One,
    /// The fewest that are more than half, chosen by the seed.
    Majority,
    /// Every one.
    #[default]
    All,
}

impl StruckNodes {
    /// Returns how many of `nodes` nodes fail.
    pub fn of(self, nodes: usize) -> usize {
        match self {
            StruckNodes::One => nodes.min(1),
            StruckNodes::Majority => nodes / 2 + 1,
            StruckNodes::All => nodes,
        }
    }
}

/// The activity of a store at the moment of the crash, besides answering clients that write.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CrashMoment {
    /// Nothing it was told to.
    #[default]
    Write,
    /// The store writes its log into its files, by its own command, again and again.
    Checkpoint,
    /// The store rewrites its files, by its own command, again and again.
    Compaction,
    /// The store starts after a crash, and is killed a second time.
    Recovery,
    /// The store has just renamed or deleted one of its files.
    Rename,
    /// A line with this text has just come into the store's own log.
    Log(String),
}

/// What the level `second` may lose: writes that were acknowledged this long before the crash, or later.
const SECOND_S: f64 = 1.0;

/// All crashes of a study.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Crash {
    /// The means of the crashes.
    pub means: CrashMeans,
    /// The conduct of the disk whose power is cut; `None` where none is.
    pub disk: Option<DiskKind>,
    /// The share of each store's nodes that fail at once.
    pub nodes: StruckNodes,
    /// The store's activity when the crashes come.
    pub during: CrashMoment,
    /// Cuts each case is to have.
    pub cuts: u32,
    /// Clients that write.
    pub clients: u32,
    /// The longest value they write, bytes; `None` in studies of earlier versions.
    pub value_bytes: Option<u32>,
    /// The longest time from the first acknowledgements to a crash, seconds; `None` in studies of earlier versions.
    pub within_s: Option<f64>,
    /// The time for which clients continue while nodes are frozen, or while other nodes are left, seconds; `None` where all fail for good.
    pub outage_s: Option<f64>,
    /// Each level of each store, in the order they were named.
    pub cases: Vec<CrashCase>,
}

/// A level of a store.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CrashCase {
    /// The store's spec without secrets and without its level.
    pub store: String,
    /// Level of durability; `None` where it could not be had.
    pub level: Option<Durability>,
    /// The product that was really started, e.g. `Redis`.
    pub product: String,
    /// The version that the store reports.
    pub store_version: String,
    /// Effective configuration read back from the store.
    pub store_config: BTreeMap<String, String>,
    /// Whether the level's promise was kept.
    pub promise: Promise,
    /// Where nothing is wrong: the largest share of crashes in which the promise may still break, at 95 %.
    pub not_ruled_out: Option<f64>,
    /// Time to recover: the median over the cuts it started after.
    pub recovery_s: Option<Quantity>,
    /// Why cuts are missing; empty when there are all.
    pub problem: String,
    /// Every cut, in the order they were made.
    pub cuts: Vec<CrashCut>,
    /// Anything a later version adds.
    #[serde(flatten)]
    pub more: BTreeMap<String, serde_json::Value>,
}

/// The verdict of crashes on a level's promise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Promise {
    /// No cut broke the promise.
    Kept,
    /// At least one cut broke the promise.
    Broken,
    /// No cut was made, or nothing had been acknowledged.
    #[default]
    NotShown,
    /// The store has no level but `none`: it keeps nothing for a crash, and promises nothing.
    NothingToShow,
}

impl Promise {
    /// Returns the word that tables use.
    pub fn name(self) -> &'static str {
        match self {
            Promise::Kept => "kept",
            Promise::Broken => "broken",
            Promise::NotShown => "not shown",
            Promise::NothingToShow => "nothing to show",
        }
    }
}

/// A record of one crash.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CrashCut {
    /// The number of the cut, from 1.
    pub cut: u32,
    /// Seed of what was written and of the moment.
    pub seed: u64,
    /// The time from the first acknowledgements to the crash, seconds.
    pub wrote_s: f64,
    /// The time from the restart, on what was left, to the first answer, seconds; `None` when there was no answer.
    pub recovery_s: Option<f64>,
    /// The store's own words when it did not start again, or could not be read.
    pub not_started: Option<String>,
    /// The findings of the reader.
    pub found: CrashFindings,
    /// What clients saw of each other's writes, and whether one copy of the data could have answered so; `None` where there is one node. Its
    /// times are seconds from the crash; what was before it is negative.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history: Option<History>,
    /// The workers whose clients wrote, where there were several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub writers: Vec<CrashWriter>,
    /// The nodes that failed, by name; empty where there is one.
    pub nodes: Vec<String>,
    /// The time for which clients went on writing after the crash, seconds; `None` where all nodes had failed for good.
    pub outage_s: Option<f64>,
    /// The longest time without any acknowledgement in that: all of it when none came any more.
    pub dark_s: Option<f64>,
    /// Whether the crash struck during the checkpoint or compaction the store had been told to make; `None` where it had been told
    /// nothing.
    pub at_it: Option<bool>,
    /// The time of the second kill, seconds after the restart on what was left.
    pub again_s: Option<f64>,
    /// What the power cut did to the disk; `None` where there was none.
    pub power: Option<PowerCut>,
    /// Why the cut measured nothing: nothing was at stake, it was not the store that failed, or a worker was lost that had written.
    pub not_measured: Option<String>,
    /// The store's files, if it broke the promise and they were to be kept.
    pub kept: Option<KeptFiles>,
}

/// A worker whose clients wrote until a crash.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CrashWriter {
    /// Its name.
    pub name: String,
    /// The number of its first client.
    pub first_client: u32,
    /// Its clients.
    pub clients: u32,
    /// The most by which times of its clock may be wrong, seconds. They are taken for the latest that they may be.
    pub clock_error_s: f64,
}

/// The files of a store that broke its promise, left to the user.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptFiles {
    /// The directory of the files.
    pub directory: String,
    /// How to open them: the commands that start the server, one per line, or the spec of an embedded store.
    pub open: String,
}

/// The findings after a crash.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CrashFindings {
    /// Writes that were acknowledged.
    pub acknowledged: u64,
    /// Writes that were in flight, or failed: they may be there or not.
    pub in_doubt: u64,
    /// Acknowledged writes of which nothing is there.
    pub lost: u64,
    /// The ages of the lost writes at the crash: how many are younger than each of 0.001, 0.01, 0.1, 0.5, 1 and 2 s (and not younger than
    /// the one before), and older.
    pub lost_ages: Vec<u64>,
    /// The age of the oldest, seconds.
    pub oldest_lost_s: Option<f64>,
    /// Values whose checksum or length is wrong.
    pub torn: u64,
    /// Keys that are back after an acknowledged delete.
    pub resurrected: u64,
    /// Values that were never written to their key.
    pub invented: u64,
    /// Lost writes of which a later write of the same client is there.
    pub holes: u64,
    /// Each client's writes.
    pub clients: Vec<ClientSurvival>,
    /// Some of what was wrong, in words.
    pub examples: Vec<String>,
}

/// The fate of one client's writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClientSurvival {
    /// Writes that were acknowledged.
    pub acknowledged: u64,
    /// Acknowledged writes of which nothing is there.
    pub lost: u64,
}

impl CrashFindings {
    /// Adds what was found after another crash.
    pub fn add(&mut self, other: &CrashFindings) {
        self.acknowledged += other.acknowledged;
        self.in_doubt += other.in_doubt;
        self.lost += other.lost;
        self.torn += other.torn;
        self.resurrected += other.resurrected;
        self.invented += other.invented;
        self.holes += other.holes;
        self.oldest_lost_s = match (self.oldest_lost_s, other.oldest_lost_s) {
            (Some(one), Some(another)) => Some(one.max(another)),
            (one, another) => one.or(another),
        };
        self.lost_ages.resize(self.lost_ages.len().max(other.lost_ages.len()), 0);
        self.lost_ages.iter_mut().zip(&other.lost_ages).for_each(|(sum, more)| *sum += more);
        self.clients.resize(self.clients.len().max(other.clients.len()), ClientSurvival::default());
        for (sum, more) in self.clients.iter_mut().zip(&other.clients) {
            sum.acknowledged += more.acknowledged;
            sum.lost += more.lost;
        }
        self.examples.extend_from_slice(&other.examples);
    }
}

impl CrashCut {
    /// Returns whether the findings break the promise of a level. After a crash no level may hold what was never written. `none` may have
    /// lost anything; `second` what was acknowledged in the last second; `os` and `commit` nothing; and all levels but `none` must open
    /// again. In a power cut `os` promises no more than `none`. A cut that measured nothing breaks nothing.
    pub fn breaks(&self, level: Durability) -> bool {
        let found = &self.found;
        let level = if self.promises(level) { level } else { Durability::None };
        let is_loss = match level {
            Durability::None => false,
            Durability::Second => found.oldest_lost_s.is_some_and(|age_s| age_s > SECOND_S),
            Durability::Os | Durability::Commit => found.lost + found.resurrected > 0,
        };
        let is_stuck = level != Durability::None && self.not_started.is_some();
        self.not_measured.is_none() && (found.torn + found.invented > 0 || is_loss || is_stuck)
    }

    /// Returns whether a level promises anything of such a cut.
    pub fn promises(&self, level: Durability) -> bool {
        level != Durability::None && (level != Durability::Os || self.power.is_none())
    }
}

impl CrashCase {
    /// Returns the name that `kvtrial crash` takes: `redis-unix,durability=os`.
    pub fn name(&self) -> String {
        self.level.map_or_else(|| self.store.clone(), |level| format!("{},durability={level}", self.store))
    }

    /// Returns the findings of all cuts together.
    pub fn found(&self) -> CrashFindings {
        self.cuts.iter().fold(CrashFindings::default(), |mut sum, cut| {
            sum.add(&cut.found);
            sum
        })
    }

    /// Returns whether its level promises anything of such cuts.
    pub fn promises(&self) -> bool {
        let level = self.level.unwrap_or(Durability::None);
        level != Durability::None && self.cuts.iter().all(|cut| cut.promises(level))
    }

    /// Cuts at which something was at stake.
    pub fn measured(&self) -> usize {
        self.cuts.iter().filter(|cut| cut.not_measured.is_none()).count()
    }

    /// Cuts after which it did not start again.
    pub fn not_started(&self) -> usize {
        self.cuts.iter().filter(|cut| cut.not_started.is_some()).count()
    }
}
