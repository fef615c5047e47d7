//! Stores with a known fault, and one without: what the instrument is proved against. All are one log file in the store's directory,
//! replayed when it is opened. They are no stores for users, and in no registry.

mod log;
mod synced;

use log::{Log, ProofFault};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use store::immediate::{Immediate, SyncStore};
use store::{
    Availability, BUILT_IN, Capabilities, Facts, Failure, Opener, Operation, OperationKind, OptionInfo, Reply, Session,
    SessionPlan, Store, StoreError, StoreInfo, Threading,
};
use study::{Class, Durability, Spec};
use synced::{SyncFault, SyncedLog};

/// The name of the store in specs: `crash-proof,fault=forgets`.
pub const NAME: &str = "crash-proof";

/// The name of the store that forces its writes to the disk: `power-proof,fault=never-syncs`.
pub const POWER_NAME: &str = "power-proof";

/// The faults of that store, which a kill does not show.
pub const POWER_FAULTS: [(&str, Shows); 4] = [
    ("never-syncs", Shows::Lost),
    ("no-directory-sync", Shows::Lost),
    ("no-checksum", Shows::Torn),
    ("acknowledges-first", Shows::Lost),
];

/// The faults a proof store may have, each with what shows it.
pub const FAULTS: [(&str, Shows); 6] = [
    ("acknowledges-first", Shows::Lost),
    ("in-memory", Shows::Lost),
    ("tears", Shows::Torn),
    ("resurrects", Shows::Resurrected),
    ("forgets", Shows::Lost),
    ("no-checksum", Shows::Torn),
];

/// The kind of finding that a fault must show up as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shows {
    /// Acknowledged writes are gone.
    Lost,
    /// A value is not whole.
    Torn,
    /// A deleted key is back.
    Resurrected,
}

impl Shows {
    /// Returns whether these findings show it.
    pub fn is_in(self, found: &study::CrashFindings) -> bool {
        match self {
            Shows::Lost => found.lost > 0,
            Shows::Torn => found.torn > 0,
            Shows::Resurrected => found.resurrected > 0,
        }
    }
}

/// Returns the proof store of that name, if there is one.
pub fn find(name: &str) -> Option<&'static StoreInfo> {
    match name {
        NAME => Some(&PLAIN_PROOF),
        POWER_NAME => Some(&POWER_PROOF),
        _ => None,
    }
}

const FAULT: OptionInfo = OptionInfo::one_of(
    "fault",
    &["none", "acknowledges-first", "in-memory", "tears", "resurrects", "forgets", "no-checksum"],
    "what it does wrong",
);

const PROOF: StoreInfo = StoreInfo {
    name: NAME,
    family: NAME,
    transport: None,
    driver: None,
    class: Class::Embedded,
    kind: "log",
    summary: "a log file that keeps, or breaks, its promise in a known way",
    durabilities: &[Durability::Os],
    options: &[FAULT],
    install: BUILT_IN,
    licence: "MIT OR Apache-2.0",
    declares: |_| CAPABILITIES,
    probe: || Availability::Found(concat!("crash-proof ", env!("CARGO_PKG_VERSION")).into()),
    opener: Opener::Embedded(open),
};

static PLAIN_PROOF: StoreInfo = PROOF;

const SYNC_FAULT: OptionInfo = OptionInfo::one_of(
    "fault",
    &["none", "never-syncs", "no-directory-sync", "no-checksum", "acknowledges-first"],
    "what it does wrong",
);

static POWER_PROOF: StoreInfo = StoreInfo {
    name: POWER_NAME,
    family: POWER_NAME,
    summary: "a log file that keeps, or breaks, its promise of a power cut in a known way",
    durabilities: &[Durability::Commit],
    options: &[SYNC_FAULT],
    declares: |_| POWER_CAPABILITIES,
    opener: Opener::Embedded(open_synced),
    ..PROOF
};

const POWER_CAPABILITIES: Capabilities = Capabilities { durability: Durability::Commit, ..CAPABILITIES };

fn open_synced(spec: &Spec, directory: &Path) -> Result<Box<dyn Store>, StoreError> {
    let log = SyncedLog::open(directory, SyncFault::of(SYNC_FAULT.read(spec)))
        .map_err(|source| StoreError::Io { path: directory.to_owned(), source })?;
    Ok(Box::new(ProofStore { log: Arc::new(Mutex::new(log)), capabilities: &POWER_CAPABILITIES }))
}

const CAPABILITIES: Capabilities = Capabilities {
    native: Capabilities::BASIC.native.and(&[OperationKind::Append]),
    durability: Durability::Os,
    ..Capabilities::BASIC
};

fn open(spec: &Spec, directory: &Path) -> Result<Box<dyn Store>, StoreError> {
    let fault = ProofFault::of(FAULT.read(spec));
    let path = directory.join("log");
    let log = Log::open(&path, fault).map_err(|source| StoreError::Io { path, source })?;
    Ok(Box::new(ProofStore { log: Arc::new(Mutex::new(log)), capabilities: &CAPABILITIES }))
}

/// The keys of a proof store, and what outlives them.
trait ProofLog: Send {
    fn get(&self, key: &[u8]) -> Option<&[u8]>;
    fn put(&mut self, key: &[u8], value: Vec<u8>) -> io::Result<()>;
    fn delete(&mut self, key: &[u8]) -> io::Result<()>;
}

struct ProofStore {
    log: Arc<Mutex<dyn ProofLog>>,
    capabilities: &'static Capabilities,
}

impl Store for ProofStore {
    fn capabilities(&self) -> &Capabilities {
        self.capabilities
    }

    fn session(&self, plan: SessionPlan) -> Result<Box<dyn Session>, StoreError> {
        Immediate::session(plan, || {
            Ok(ProofHandle { log: Arc::clone(&self.log), value: Vec::new(), words: String::new() })
        })
    }

    fn threading(&self) -> Threading {
        Threading::PerClient
    }

    fn facts(&self) -> Result<Facts, StoreError> {
        Ok(Facts {
            product: NAME.into(),
            version: env!("CARGO_PKG_VERSION").into(),
            config: BTreeMap::new(),
            ..Facts::default()
        })
    }
}

struct ProofHandle {
    log: Arc<Mutex<dyn ProofLog>>,
    value: Vec<u8>,
    words: String,
}

impl SyncStore for ProofHandle {
    fn execute(&mut self, operation: &Operation<'_>) -> Reply<'_> {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let done = match operation {
            Operation::Get { key } => {
                return match log.get(key) {
                    None => Reply::Missing,
                    Some(value) => {
                        self.value.clear();
                        self.value.extend_from_slice(value);
                        Reply::Value(&self.value)
                    }
                };
            }
            Operation::Put { key, value } => log.put(key, value.to_vec()),
            Operation::Append { key, value } => {
                let whole = [log.get(key).unwrap_or_default(), value].concat();
                log.put(key, whole)
            }
            Operation::Delete { key } => log.delete(key),
            _ => return Reply::Failed(Failure::Refused("it has no such operation")),
        };
        match done {
            Ok(()) => Reply::Done,
            Err(error) => {
                self.words = error.to_string();
                Reply::Failed(Failure::Unknown(&self.words))
            }
        }
    }
}
