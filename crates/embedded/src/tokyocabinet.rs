//! Tokyo Cabinet's hash database, in this process. The library is the system's, loaded at run time; the option `lib=` names
//! another file, so that two versions can be compared.
//!
//! Durability, by Tokyo Cabinet's documentation and source. At `os` each write is a transaction of its own: what it
//! will overwrite is first written to a log beside the file, so a kill at any moment leaves the state before or after it. There is no
//! `commit`: `HDBOTSYNC` flushes log and file, but the log is then cut to nothing without a flush of that, so that a power cut may leave
//! the log of a transaction that was acknowledged, which the next opening undoes (seen: `kvtrial crash --how power`, seed 42, cuts 2, 13
//! and 14, the last acknowledged write each). At `none` writes change the mapped file in place, which is how the
//! library is mostly used; the system has them at once, but a kill in the middle of one can lose a record that was stored long
//! before (seen: one that was being moved to where it fits), and the documentation promises nothing for a file that was not
//! closed.
//!
//! Append is `tchdbputcat`, a counter is `tchdbaddint` (32 bits, wraps around), compare-and-set is `tchdbputkeep` where the key must
//! be absent and `tchdbputproc` with a comparison else: each one call, atomic by the library's record locks. Put-many is one
//! transaction, at the levels that have them. Only one transaction can be open; writers queue at a lock of the adapter, since the
//! library would poll every 10 ms. Counters share the key space of values, as they do in the library.

mod library;

use crate::shared::cabinet::{Cabinet, Opened, each};
use crate::shared::dylib::{Dylib, LIB};
use crate::shared::embedded::{Fault, place};
use library::{Database, TokyoCabinet, Transactions};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use store::{
    Capabilities, Compact, Counter, Facts, Maintenance, Number, Opener, OperationKind, OperationSet, OptionInfo,
    Overflow, Store, StoreError, StoreInfo, Support, Swept,
};
use study::{Class, Durability, Spec};

/// The buckets of a new file: half as many as the library advises for two million records.
const BUCKETS: Number = OptionInfo::text("bnum", "buckets of a new file").usual("1000000").count();

/// The stores of this adapter.
pub static STORES: &[StoreInfo] = &[StoreInfo {
    name: "tokyocabinet",
    family: "tokyocabinet",
    transport: None,
    driver: None,
    class: Class::Embedded,
    kind: "hash",
    summary: "hash table in a mapped file, of 2009",
    durabilities: &[Durability::Os, Durability::None],
    options: &[LIB, BUCKETS.info],
    install: "apt-get install libtokyocabinet9",
    licence: "LGPL-2.1-or-later",
    declares,
    probe: || LIBRARY.probe(|library| format!("Tokyo Cabinet {}", library.version)),
    opener: Opener::Embedded(open),
}];

static LIBRARY: Dylib<TokyoCabinet> =
    Dylib::new(&["libtokyocabinet.so.9", "libtokyocabinet.so.10", "libtokyocabinet.so"], TokyoCabinet::load);

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
        Durability::Os | Durability::Second | Durability::Commit => Transactions::On,
    }
}

/// Returns the capabilities that a spec asks for. Put-many is a transaction, so it is native only at the levels that have transactions.
fn declares(spec: &Spec) -> Capabilities {
    let transactions = mode(spec.durability.unwrap_or(STORES[0].durabilities[0])) != Transactions::Off;
    Capabilities {
        native: if transactions { NATIVE.and(&[OperationKind::PutMany]) } else { NATIVE },
        counter: Some(Counter { min: i32::MIN.into(), max: i32::MAX.into(), overflow: Overflow::Wraps }),
        compaction: Support::Native,
        ..Capabilities::BASIC
    }
}

fn open(spec: &Spec, directory: &Path) -> Result<Box<dyn Store>, StoreError> {
    let info = &STORES[0];
    let durability = info.durability(spec)?;
    let mode = mode(durability);
    let buckets = BUCKETS.read(spec)?;
    let library = LIBRARY.of(info, spec)?;
    let path = place(directory, "tch")?;
    let database =
        Database::open(library, &path, buckets).map_err(|Fault(words)| StoreError::open(path.display(), words))?;
    Ok(Opened::store(File { database, mode, writers: Mutex::new(()) }, Capabilities { durability, ..declares(spec) }))
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

impl Cabinet for File {
    fn get(&self, key: &[u8], into: &mut Vec<u8>) -> Result<bool, Fault> {
        self.database.get(key, into)
    }

    fn put(&self, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        self.write(|database| database.put(key, value).map(|()| true)).map(|_| ())
    }

    fn append(&self, key: &[u8], more: &[u8]) -> Result<(), Fault> {
        self.write(|database| database.append(key, more).map(|()| true)).map(|_| ())
    }

    fn delete(&self, key: &[u8]) -> Result<bool, Fault> {
        self.write(|database| database.delete(key))
    }

    fn put_absent(&self, key: &[u8], value: &[u8]) -> Result<bool, Fault> {
        self.write(|database| database.put_absent(key, value))
    }

    fn replace(&self, key: &[u8], expected: &[u8], value: &[u8]) -> Result<bool, Fault> {
        self.write(|database| database.replace(key, expected, value))
    }

    fn increment(&self, key: &[u8], by: i64, scratch: &mut Vec<u8>) -> Result<i64, Fault> {
        let by = i32::try_from(by).map_err(|_| "counters of Tokyo Cabinet have 32 bits; the step has more")?;
        let mut sum = None;
        self.write(|database| {
            sum = database.add(key, by)?;
            Ok(true)
        })?;
        match sum {
            Some(sum) => Ok(sum.into()),
            None if self.get(key, scratch)? => self.count(scratch),
            None => Err(Fault("tchdbaddint failed".into())),
        }
    }

    fn count(&self, stored: &[u8]) -> Result<i64, Fault> {
        Ok(i32::from_ne_bytes(stored.try_into().map_err(|_| "the value is not a counter of 4 bytes")?).into())
    }

    fn delete_many(&self, keys: &[&[u8]]) -> Result<Swept, Fault> {
        let mut swept = Swept::default();
        self.write(|database| {
            swept = each(keys, |key| database.delete(key))?;
            Ok(swept.there > 0)
        })?;
        Ok(swept)
    }

    fn put_many(&self, pairs: &[(&[u8], &[u8])]) -> Result<(), Fault> {
        let puts = |database: &Database| pairs.iter().try_for_each(|(key, value)| database.put(key, value));
        self.write(|database| puts(database).map(|()| true)).map(|_| ())
    }

    fn records(&self) -> Result<u64, Fault> {
        Ok(self.database.records())
    }

    fn facts(&self) -> Facts {
        let transactions = match self.mode {
            Transactions::Off => "none",
            Transactions::On => "one a write",
        };
        let database = &self.database;
        let config = [
            ("bnum", database.buckets().to_string()),
            ("options", "large".into()),
            ("transactions", transactions.into()),
        ];
        let config = config.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Facts { product: "Tokyo Cabinet".into(), version: database.version().into(), config, ..Facts::default() }
    }

    fn sync(&self) -> Result<(), Fault> {
        self.database.sync()
    }

    fn maintenance(&self) -> Maintenance<'_> {
        Maintenance { compaction: Some(self), ..Maintenance::default() }
    }
}

impl Compact for File {
    fn compact(&self, _: Duration) -> Result<(), StoreError> {
        let _turn = self.writers.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(self.database.optimize()?)
    }
}
