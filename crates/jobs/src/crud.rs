//! crud: insert, select, update and delete every row, phase after phase, each row exactly once in random order (the job of 2016
//! that asked what the SQL layer costs over the same storage engine).
//!
//! Rows are shared out over the clients: client i of c owns the keys from i·rows/c on. Keys are decimal numbers. A phase begins
//! when every client has ended the one before; its rate is that of all clients on one clock. What a phase left is verified: the
//! select is the check of the insert, update and delete are read back in phases that are not timed.
//!
//! A value holds the number of its row, in ten digits (from 10^10 on in fifteen), and what says which phase wrote it: `0000000017ABCDEF` is what row 17 is
//! inserted with, `00000000171230` what it is updated to. So the value of another row is seen, and that of another phase.
//!
//! Answer: the lines `phase \t key \t value` of insert and update, and `delete \t key \t missing`, in byte order.

mod preset;
mod progress;
mod rows;
mod trial;
mod work;

use data::digest::LineDigest;
use jobkit::{Job, JobError, JobExtras, JobInfo, JobRequest, ParamInfo, Trial, TrialSetup};
use rows::{Content, DIGITS, decimal, in_byte_order};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;
use store::{Capabilities, OperationKind};

/// What stands behind a row's number in the 16 bytes it is inserted with.
const INSERTED: &[u8] = b"ABCDEF";
/// What stands behind a row's number in the 14 bytes it is updated to.
const UPDATED: &[u8] = b"1230";

/// Most rows.
const MAX_ROWS: u64 = 1_000_000_000_000_000;

/// The job as it is listed.
pub static JOB: JobInfo = JobInfo {
    name: "crud",
    summary: "insert, select, update, delete: every row once in each phase, in random order; rows verified after each",
    input: "generated: decimal keys, values of 16 bytes with the row's number in them, updated to 14",
    records: "rows",
    params: &[
        ParamInfo {
            name: "rows",
            default: "160000",
            values: "1 to 1000000000000000",
            tunable: &[],
            help: "rows over all clients; each client owns an equal share of the keys",
        },
        ParamInfo {
            name: "insert",
            default: "put",
            values: "put, add",
            tunable: &[],
            help: "put stores whatever is there; add only where there is no such key (SQL INSERT, memcached add)",
        },
    ],
    prepare,
    extras: JobExtras { presets: preset::PRESETS, size: Some("rows"), ..JobExtras::NONE },
};

/// How a row is inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Insert {
    Put,
    Add,
}

/// What a phase does with each row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum Stage {
    Insert,
    Select,
    Update,
    CheckUpdate,
    Delete,
    CheckDelete,
}

impl Stage {
    const ALL: [Stage; 6] =
        [Stage::Insert, Stage::Select, Stage::Update, Stage::CheckUpdate, Stage::Delete, Stage::CheckDelete];

    fn name(self) -> &'static str {
        match self {
            Stage::Insert => "insert",
            Stage::Select => "select",
            Stage::Update => "update",
            Stage::CheckUpdate => "check update",
            Stage::Delete => "delete",
            Stage::CheckDelete => "check delete",
        }
    }

    fn is_check(self) -> bool {
        matches!(self, Stage::CheckUpdate | Stage::CheckDelete)
    }

    /// The phase whose outcome is verified by this one.
    fn verifies(self) -> Option<Stage> {
        match self {
            Stage::Select => Some(Stage::Insert),
            Stage::CheckUpdate => Some(Stage::Update),
            Stage::CheckDelete => Some(Stage::Delete),
            Stage::Insert | Stage::Update | Stage::Delete => None,
        }
    }

    /// The phase that verifies the outcome of this one.
    fn verified_by(self) -> Option<Stage> {
        Stage::ALL.into_iter().find(|stage| stage.verifies() == Some(self))
    }

    /// What a row holds before it, behind its number.
    fn finds(self) -> Option<&'static [u8]> {
        match self {
            Stage::Insert => None,
            Stage::Update => Stage::Insert.leaves(),
            Stage::Delete => Stage::Update.leaves(),
            Stage::Select | Stage::CheckUpdate | Stage::CheckDelete => self.leaves(),
        }
    }

    /// What a row holds after it, behind its number; `None`: it is missing.
    fn leaves(self) -> Option<&'static [u8]> {
        match self {
            Stage::Insert | Stage::Select => Some(INSERTED),
            Stage::Update | Stage::CheckUpdate => Some(UPDATED),
            Stage::Delete | Stage::CheckDelete => None,
        }
    }
}

/// Rows that were not as they must be after a phase.
type Wrong = BTreeSet<(Stage, u64)>;

struct Crud {
    rows: u64,
    insert: Insert,
    digest: OnceLock<String>,
}

/// Digest of what every row was after each phase.
fn digest_of(rows: u64, wrong: &Wrong) -> String {
    let mut digest = LineDigest::default();
    // In byte order of their names.
    for stage in [Stage::Delete, Stage::Insert, Stage::Update] {
        in_byte_order(rows, |row| {
            let key = decimal(row);
            let mut value = Content::default();
            let left = match stage.leaves() {
                _ if wrong.contains(&(stage, row)) => b"otherwise",
                Some(mark) => value.write(&key, mark),
                None => b"missing",
            };
            digest.line(&[stage.name().as_bytes(), key.as_bytes(), left]);
        });
    }
    digest.finish()
}

fn prepare(request: &JobRequest) -> Result<Box<dyn Job>, JobError> {
    let param = |name: &str| request.params.get(name).map_or("", String::as_str);
    if let Some(data) = &request.data {
        return Err(JobError(format!("--data {data}: crud generates its rows; use --set rows=")));
    }
    let rows = match param("rows").parse() {
        Ok(rows @ 1..=MAX_ROWS) => rows,
        _ => return Err(JobError(format!("rows={} is not possible; use 1 to {MAX_ROWS}", param("rows")))),
    };
    let insert = match param("insert") {
        "put" => Insert::Put,
        "add" => Insert::Add,
        other => return Err(JobError(format!("insert={other} is not possible; use put or add"))),
    };
    Ok(Box::new(Crud { rows, insert, digest: OnceLock::new() }))
}

impl Job for Crud {
    fn input(&self) -> BTreeMap<String, serde_json::Value> {
        BTreeMap::from([("name".into(), "generated rows".into()), ("rows".into(), self.rows.into())])
    }

    fn suits(&self, store: &Capabilities) -> Result<Vec<&'static str>, JobError> {
        let longest = decimal(self.rows - 1).as_bytes().len();
        if store.min_key_bytes > 1 || store.max_key_bytes < longest {
            return Err(JobError(format!(
                "keys have 1 to {longest} bytes, this store takes {} to {}; use another store",
                store.min_key_bytes, store.max_key_bytes
            )));
        }
        let emulated = self.insert == Insert::Add && !store.has(OperationKind::CompareAndSet);
        Ok(if emulated { vec!["add by put"] } else { Vec::new() })
    }

    fn trial(&self, setup: &TrialSetup) -> Box<dyn Trial + '_> {
        Box::new(trial::CrudTrial::new(self, setup))
    }

    /// A row belongs to one slot.
    fn shareable(&self, _: &TrialSetup) -> Result<(), JobError> {
        Ok(())
    }

    fn known_digest(&self) -> Option<String> {
        Some(self.digest.get_or_init(|| digest_of(self.rows, &Wrong::new())).clone())
    }

    /// What is there after the insert; at the end nothing is.
    fn logical_bytes(&self) -> u64 {
        let longest = decimal(self.rows - 1).as_bytes().len();
        self.rows.saturating_mul((longest + DIGITS + INSERTED.len()) as u64)
    }

    /// The order of a phase.
    fn books_bytes(&self) -> u64 {
        self.rows.saturating_mul(size_of::<u64>() as u64)
    }
}
