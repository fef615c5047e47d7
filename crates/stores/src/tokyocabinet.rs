//! Tokyo Cabinet's hash database, in this process. The library is the system's, loaded at run time; the option `lib=` names
//! another file, so that two versions can be compared.
//!
//! Durability, by Tokyo Cabinet's documentation and source. At `os` and `commit` each write is a transaction of its own: what it
//! will overwrite is first written to a log beside the file, so a kill at any moment leaves the state before or after it. At
//! `commit` (`HDBOTSYNC`) log and file are flushed as well. At `none` writes change the mapped file in place, which is how the
//! library is mostly used; the system has them at once, but a kill in the middle of one can lose a record that was stored long
//! before (seen: one that was being moved to where it fits), and the documentation promises nothing for a file that was not
//! closed.
//!
//! Append is `tchdbputcat`, a counter is `tchdbaddint` (32 bits, wraps around), compare-and-set is `tchdbputkeep` where the key must
//! be absent and `tchdbputproc` with a comparison else: each one call, atomic by the library's record locks. Put-many is one
//! transaction, at the levels that have them. Only one transaction can be open; writers queue at a lock of the adapter, since the
//! library would poll every 10 ms. Counters share the key space of values, as they do in the library.

mod library;

use crate::embedded::{Buffers, Fault, Outcome, place};
use library::{Database, TokyoCabinet, Transactions, WANTED};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use store::immediate::{Immediate, SyncStore};
use store::{
    Capabilities, Class, Counter, Expected, Facts, Opener, Operation, OperationKind, OperationSet, OptionInfo, Overflow,
    Probe, Reply, Session, SessionPlan, Store, StoreError, StoreInfo, Support, Threading,
};
use study::{Durability, Spec};

/// Buckets of a new file: half as many as the library advises for two million records.
const BUCKETS: i64 = 1_000_000;

/// The stores of this adapter.
pub static STORES: &[StoreInfo] = &[StoreInfo {
    name: "tokyocabinet",
    class: Class::Embedded,
    summary: "hash table in a mapped file, of 2009",
    durabilities: &[Durability::Os, Durability::Commit, Durability::None],
    options: &[
        OptionInfo { name: "lib", values: &[], help: "path of the shared library [the system's libtokyocabinet.so.9]" },
        OptionInfo { name: "bnum", values: &[], help: "buckets of a new file [1000000]" },
    ],
    install: "apt-get install libtokyocabinet9",
    licence: "LGPL-2.1-or-later",
    declares,
    probe,
    opener: Opener::Embedded(open),
}];

const NATIVE: OperationSet = OperationSet::BASIC.and(&[
    OperationKind::GetVersioned,
    OperationKind::Append,
    OperationKind::Increment,
    OperationKind::GetCounter,
    OperationKind::CompareAndSet,
]);

fn mode(durability: Durability) -> Transactions {
    match durability {
        Durability::None => Transactions::Off,
        Durability::Commit => Transactions::Flushed,
        Durability::Os | Durability::Second => Transactions::On,
    }
}

/// Put-many is a transaction, so it is native only at the levels that have them.
fn declares(spec: &Spec) -> Capabilities {
    let transactions = mode(spec.durability.unwrap_or(STORES[0].durabilities[0])) != Transactions::Off;
    Capabilities {
        native: if transactions { NATIVE.and(&[OperationKind::PutMany]) } else { NATIVE },
        counter: Some(Counter { min: i32::MIN.into(), max: i32::MAX.into(), overflow: Overflow::Wraps }),
        compaction: Support::Native,
        ..Capabilities::BASIC
    }
}

fn probe() -> Probe {
    match TokyoCabinet::load(None) {
        Ok(library) => Probe::Found(format!("Tokyo Cabinet {}", library.version())),
        Err(_) => Probe::NotFound(WANTED.into()),
    }
}

fn open(spec: &Spec, directory: &Path) -> Result<Box<dyn Store>, StoreError> {
    let info = &STORES[0];
    let durability = info.durability(spec)?;
    let mode = mode(durability);
    let buckets = match spec.options.get("bnum").map(|text| (text, text.parse::<i64>())) {
        None => BUCKETS,
        Some((_, Ok(buckets @ 1..))) => buckets,
        Some((text, _)) => {
            let problem = format!("bnum={text} is not a number of buckets; use 1 or more, e.g. bnum={BUCKETS}");
            return Err(StoreError::Unsupported { store: info.name.into(), problem });
        }
    };
    let named = spec.options.get("lib").map(String::as_str);
    let library = TokyoCabinet::load(named).map_err(|problem| match named {
        Some(path) => StoreError::open(format!("lib={path}"), problem),
        None => StoreError::NotFound { store: info.name.into(), what: WANTED.into(), install: info.install.into() },
    })?;
    let path = place(directory, "tch")?;
    let database = Database::open(library, &path, buckets, mode)
        .map_err(|Fault(words)| StoreError::open(path.display(), words))?;
    let capabilities = Capabilities { durability, ..declares(spec) };
    let file = File { database, mode, writers: Mutex::new(()) };
    Ok(Box::new(Cabinet { file: Arc::new(file), capabilities }))
}

struct Cabinet {
    file: Arc<File>,
    capabilities: Capabilities,
}

impl Store for Cabinet {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn session(&self, plan: SessionPlan) -> Result<Box<dyn Session>, StoreError> {
        Immediate::session(plan, || Ok(Handle { file: Arc::clone(&self.file), buffers: Buffers::default() }))
    }

    fn threading(&self) -> Threading {
        Threading::PerClient
    }

    fn facts(&self) -> Result<Facts, StoreError> {
        let transactions = match self.file.mode {
            Transactions::Off => "none",
            Transactions::On => "one a write",
            Transactions::Flushed => "one a write, flushed (HDBOTSYNC)",
        };
        let database = &self.file.database;
        let config = [
            ("bnum", database.buckets().to_string()),
            ("options", "large".into()),
            ("transactions", transactions.into()),
        ];
        let config = config.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Ok(Facts { product: "Tokyo Cabinet".into(), version: database.version().into(), config })
    }

    fn compact(&self, _: Duration) -> Result<(), StoreError> {
        let _turn = self.file.writers.lock().unwrap_or_else(PoisonError::into_inner);
        self.file.database.optimize().map_err(|Fault(words)| StoreError::Session(format!("tokyocabinet: {words}")))
    }

    fn flush(&self) -> Result<(), StoreError> {
        match self.capabilities.durability {
            Durability::Commit => {
                self.file.database.sync().map_err(|Fault(words)| StoreError::Session(format!("tokyocabinet: {words}")))
            }
            _ => Ok(()),
        }
    }
}

/// The open file, and whose turn it is to have a transaction.
struct File {
    database: Database,
    mode: Transactions,
    writers: Mutex<()>,
}

impl File {
    /// Carries out a write as the level demands. `false` says that nothing was written.
    fn write(&self, write: impl FnOnce(&Database) -> Result<bool, Fault>) -> Result<bool, Fault> {
        if self.mode == Transactions::Off {
            return write(&self.database);
        }
        let _turn = self.writers.lock().unwrap_or_else(PoisonError::into_inner);
        self.database.begin()?;
        let outcome = write(&self.database);
        match outcome {
            Ok(true) => self.database.commit()?,
            Ok(false) | Err(_) => self.database.abort()?,
        }
        outcome
    }
}

struct Handle {
    file: Arc<File>,
    buffers: Buffers,
}

impl Handle {
    fn read(&mut self, key: &[u8]) -> Result<bool, Fault> {
        self.file.database.get(key, &mut self.buffers.value)
    }

    fn counter(&mut self, key: &[u8]) -> Result<Reply<'static>, Fault> {
        if !self.read(key)? {
            return Ok(Reply::Missing);
        }
        let stored = self.buffers.value[..].try_into().map_err(|_| "the value is not a counter of 4 bytes")?;
        Ok(Reply::Number(i32::from_ne_bytes(stored).into()))
    }

    fn increment(&mut self, key: &[u8], by: i64) -> Result<Reply<'static>, Fault> {
        let by = i32::try_from(by).map_err(|_| "counters of Tokyo Cabinet have 32 bits; the step has more")?;
        let mut sum = None;
        self.file.write(|database| {
            sum = database.add(key, by)?;
            Ok(true)
        })?;
        match sum {
            Some(sum) => Ok(Reply::Number(sum.into())),
            None => match self.counter(key)? {
                least @ Reply::Number(_) => Ok(least),
                _ => Err(Fault("tchdbaddint failed".into())),
            },
        }
    }

    fn carry_out(&mut self, operation: &Operation<'_>) -> Result<Outcome, Fault> {
        let done_or = |done, otherwise| if done { Reply::Done } else { otherwise };
        let reply = match *operation {
            Operation::Get { key } if self.read(key)? => return Ok(Outcome::Value),
            Operation::GetVersioned { key } if self.read(key)? => return Ok(Outcome::Versioned),
            Operation::Get { .. } | Operation::GetVersioned { .. } => Reply::Missing,
            Operation::Put { key, value } => {
                self.file.write(|database| database.put(key, value).map(|()| true))?;
                Reply::Done
            }
            Operation::Append { key, value } => {
                self.file.write(|database| database.append(key, value).map(|()| true))?;
                Reply::Done
            }
            Operation::Delete { key } => done_or(self.file.write(|database| database.delete(key))?, Reply::Missing),
            Operation::Increment { key, by } => self.increment(key, by)?,
            Operation::GetCounter { key } => self.counter(key)?,
            Operation::CompareAndSet { key, expected: Expected::Absent, value } => {
                done_or(self.file.write(|database| database.put_absent(key, value))?, Reply::Conflict)
            }
            Operation::CompareAndSet { key, expected: Expected::Present { value: seen, .. }, value } => {
                done_or(self.file.write(|database| database.replace(key, seen, value))?, Reply::Conflict)
            }
            Operation::PutMany { pairs } => {
                self.file.write(|database| {
                    pairs.iter().try_for_each(|(key, value)| database.put(key, value)).map(|()| true)
                })?;
                Reply::Done
            }
            Operation::IncrementField { .. }
            | Operation::GetFields { .. }
            | Operation::GetMany { .. }
            | Operation::Scan { .. } => return Err(Fault("Tokyo Cabinet's hash database has no such operation".into())),
        };
        Ok(Outcome::Own(reply))
    }
}

impl SyncStore for Handle {
    fn execute(&mut self, operation: &Operation<'_>) -> Reply<'_> {
        let outcome = self.carry_out(operation);
        self.buffers.reply(outcome)
    }
}
