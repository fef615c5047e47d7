//! A script whose clients several processes drive: what they tell each other between phases, and what each has found.
//!
//! Each keeps what its own clients wrote. Before the next phase it tells the others, who from then on know it as their own: so a phase may read what
//! any client wrote in one before. Within a phase a client uses keys that no other writes, or the script is refused.

use crate::clash::Clash;
use crate::entry::{Claim, Fingerprinted};
use jobkit::JobError;
use serde::{Deserialize, Serialize};
use study::{Reason, WriteAccount};

/// What one process tells of a phase that is over.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct ToldPhase {
    /// Who tells.
    pub(crate) share: u32,
    /// Why the script failed there, if it did.
    pub(crate) failure: Option<Reason>,
    pub(crate) writes: Vec<ToldWrite>,
}

/// A key that was written in a phase, and what it holds since.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ToldWrite {
    pub(crate) key: KeyName,
    /// The code of the writer's claim.
    pub(crate) by: u64,
    pub(crate) holds: Fingerprinted,
    pub(crate) bytes: u64,
    /// A write of it failed.
    pub(crate) is_doubtful: bool,
}

/// A key, as text where it is some.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum KeyName {
    Text(String),
    Bytes(Vec<u8>),
}

impl KeyName {
    pub(crate) fn of(key: &[u8]) -> KeyName {
        std::str::from_utf8(key).map_or_else(|_| KeyName::Bytes(key.into()), |text| KeyName::Text(text.into()))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            KeyName::Text(text) => text.as_bytes(),
            KeyName::Bytes(bytes) => bytes,
        }
    }
}

impl ToldWrite {
    /// Returns who wrote it.
    pub(crate) fn writer(&self) -> Result<Claim, JobError> {
        Claim::of(self.by).ok_or_else(|| JobError("a worker tells of a write without a writer".into()))
    }
}

/// What one process has found, or all of them together.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ScriptPart {
    pub(crate) failure: Option<Reason>,
    /// Lines of the answer.
    pub(crate) said: Vec<Vec<u8>>,
    pub(crate) units: u64,
    pub(crate) operations: u64,
    pub(crate) commands: u64,
    pub(crate) kept: KeptPart,
}

/// What is left in the store by the clients of one process, or of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeptPart {
    pub(crate) keys: u64,
    /// The keys again; `None`: not all is known.
    pub(crate) left: Option<u64>,
    pub(crate) bytes: u64,
    pub(crate) account: WriteAccount,
}

impl KeptPart {
    pub(crate) const NOTHING: KeptPart = KeptPart {
        keys: 0,
        left: Some(0),
        bytes: 0,
        account: WriteAccount { lost: 0, failed_absent: 0, failed_present: 0 },
    };

    pub(crate) fn and(self, other: KeptPart) -> KeptPart {
        let (mine, theirs) = (self.account, other.account);
        KeptPart {
            keys: self.keys + other.keys,
            left: self.left.zip(other.left).map(|(mine, theirs)| mine + theirs),
            bytes: self.bytes + other.bytes,
            account: WriteAccount {
                lost: mine.lost + theirs.lost,
                failed_absent: mine.failed_absent + theirs.failed_absent,
                failed_present: mine.failed_present + theirs.failed_present,
            },
        }
    }
}

/// Verbs whose replies only the process judges that has seen all clients, and what they are.
const OF_ONE_PROCESS: [(&str, &str); 7] = [
    ("scan", "scans"),
    ("range", "scans"),
    ("increment", "counters"),
    ("get_counter", "counters"),
    ("increment_field", "records of counters"),
    ("get_fields", "records of counters"),
    ("append", "values that are appended to"),
];

/// Returns which of its verbs keeps a script from being shared, and what it is about.
pub(crate) fn of_one_process(uses: impl Fn(&str) -> bool) -> Option<(&'static str, &'static str)> {
    OF_ONE_PROCESS.into_iter().find(|(verb, _)| uses(verb))
}

/// A key that one client writes and another uses in the same phase.
#[derive(Debug)]
pub(crate) struct Crossing {
    pub(crate) key: Box<[u8]>,
    pub(crate) phase: &'static str,
}

impl Crossing {
    /// Says so, with the remedy.
    pub(crate) fn explain(&self, script: &str) -> JobError {
        JobError(format!(
            "{script}: in phase {} one client writes key {}, which another uses: only one process can judge that. Let each client use keys of its own \
             there (if client:owns(key) then ...), or read them in a later phase; or run it without --workers",
            self.phase,
            jobkit::printable(&self.key)
        ))
    }
}

/// Notes what another process tells of its writes; the first that cannot be is a clash.
pub(crate) fn take_over(
    writes: &[ToldWrite],
    mut hear: impl FnMut(&ToldWrite, Claim) -> Result<(), Clash>,
) -> Result<Option<(&[u8], Claim, Clash)>, JobError> {
    for write in writes {
        let writer = write.writer()?;
        if let Err(clash) = hear(write, writer) {
            return Ok(Some((write.key.bytes(), writer, clash)));
        }
    }
    Ok(None)
}
