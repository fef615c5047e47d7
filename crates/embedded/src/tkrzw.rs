//! Tkrzw's file hash database, in this process: the system's shared library, loaded at run time; the option `lib=` names another
//! file.
//!
//! Durability, by Tkrzw's documentation and source. At `none` the file is updated in place (`UPDATE_IN_PLACE`, the library's
//! default); a kill in the middle of an update can lose records stored long before. At `os` what is written is added at the end of
//! the file (`UPDATE_APPENDING`) and nothing before it is touched but links, so after a kill the library restores all of it when
//! it opens the file. Each record has a checksum (`RECORD_CRC_32`): without one a record that was half written comes back torn. At
//! `commit` the file is flushed as well (`Synchronize`, hard) before a write is acknowledged. At both levels writers queue at a lock
//! of the adapter: a record that another thread had only half written would end the search for those behind it. An appending file
//! grows with every write; compaction (`Rebuild`) makes it small again.
//!
//! Append, put-if-absent, compare-and-set and put-many are calls of the library. A counter is `Process` with an addition, stored as
//! the library's own `Increment` stores it; that one cannot tell its sign of failure from the least number.

mod library;

use crate::shared::cabinet::{Cabinet, Opened, each};
use crate::shared::dylib::{Dylib, LIB};
use crate::shared::embedded::{Fault, place};
use library::{Database, Tkrzw};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use store::{
    Capabilities, Compact, Counter, Facts, Maintenance, Number, Opener, OperationKind, OperationSet, OptionInfo,
    Overflow, Store, StoreError, StoreInfo, Support, Swept,
};
use study::{Class, Durability, Spec};

const BUCKETS: Number = OptionInfo::text("num_buckets", "buckets of a new file").usual("1048583").count();

/// The stores of this adapter.
pub static STORES: &[StoreInfo] = &[StoreInfo {
    name: "tkrzw",
    family: "tkrzw",
    transport: None,
    driver: None,
    class: Class::Embedded,
    kind: "hash",
    summary: "hash table in a mapped file, after Tokyo and Kyoto Cabinet",
    durabilities: &[Durability::Os, Durability::Commit, Durability::None],
    options: &[LIB, BUCKETS.info],
    install: "apt-get install libtkrzw1",
    licence: "Apache-2.0",
    declares: |_| CAPABILITIES,
    probe: || LIBRARY.probe(|library| format!("Tkrzw {}", library.version)),
    opener: Opener::Embedded(open),
}];

static LIBRARY: Dylib<Tkrzw> = Dylib::new(&["libtkrzw.so.1", "libtkrzw.so"], Tkrzw::load);

const CAPABILITIES: Capabilities = Capabilities {
    native: OperationSet::BASIC.and(&[
        OperationKind::GetVersioned,
        OperationKind::Append,
        OperationKind::Increment,
        OperationKind::GetCounter,
        OperationKind::CompareAndSet,
        OperationKind::PutMany,
    ]),
    counter: Some(Counter { min: i64::MIN, max: i64::MAX, overflow: Overflow::Refused }),
    compaction: Support::Native,
    ..Capabilities::BASIC
};

fn open(spec: &Spec, directory: &Path) -> Result<Box<dyn Store>, StoreError> {
    let info = &STORES[0];
    let durability = info.durability(spec)?;
    let mode = match durability {
        Durability::None => "UPDATE_IN_PLACE",
        _ => "UPDATE_APPENDING,record_crc_mode=RECORD_CRC_32",
    };
    let mut parameters = format!("no_wait=true,update_mode={mode}");
    if let Some(buckets) = BUCKETS.asked::<u64>(spec)? {
        parameters += &format!(",num_buckets={buckets}");
    }
    let library = LIBRARY.of(info, spec)?;
    let path = place(directory, "tkh")?;
    let database =
        Database::open(library, &path, &parameters).map_err(|Fault(words)| StoreError::open(path.display(), words))?;
    let capabilities = Capabilities { durability, ..CAPABILITIES };
    Ok(Opened::store(File { database, durability, parameters, writers: Mutex::new(()) }, capabilities))
}

/// The open file, and whose turn it is to write.
struct File {
    database: Database,
    durability: Durability,
    /// The settings, as the call that opens the file takes them.
    parameters: String,
    writers: Mutex<()>,
}

impl File {
    /// Carries out a write as the level demands.
    fn write<T>(&self, write: impl FnOnce(&Database) -> Result<T, Fault>) -> Result<T, Fault> {
        if self.durability == Durability::None {
            return write(&self.database);
        }
        let _turn = self.writers.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = write(&self.database)?;
        if self.durability == Durability::Commit {
            self.database.sync()?;
        }
        Ok(outcome)
    }
}

impl Cabinet for File {
    fn get(&self, key: &[u8], into: &mut Vec<u8>) -> Result<bool, Fault> {
        self.database.get(key, into)
    }

    fn put(&self, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        self.write(|database| database.put(key, value))
    }

    fn append(&self, key: &[u8], more: &[u8]) -> Result<(), Fault> {
        self.write(|database| database.append(key, more))
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

    fn increment(&self, key: &[u8], by: i64, _: &mut Vec<u8>) -> Result<i64, Fault> {
        self.write(|database| database.add(key, by))
    }

    fn count(&self, stored: &[u8]) -> Result<i64, Fault> {
        Ok(i64::from_be_bytes(stored.try_into().map_err(|_| "the value is not a counter of 8 bytes")?))
    }

    fn delete_many(&self, keys: &[&[u8]]) -> Result<Swept, Fault> {
        self.write(|database| each(keys, |key| database.delete(key)))
    }

    fn put_many(&self, pairs: &[(&[u8], &[u8])]) -> Result<(), Fault> {
        self.write(|database| database.put_many(pairs))
    }

    fn records(&self) -> Result<u64, Fault> {
        self.database.records()
    }

    fn facts(&self) -> Facts {
        let flushed = match self.durability {
            Durability::Commit => "at every write (Synchronize, hard)",
            _ => "by the system",
        };
        let shown = ["class", "update_mode", "num_buckets", "offset_width", "align_pow", "record_crc_mode", "file"];
        let mut config: std::collections::BTreeMap<_, _> =
            self.database.inspect().into_iter().filter(|(name, _)| shown.contains(&name.as_str())).collect();
        config.insert("flushed".into(), flushed.into());
        let mut set_up = vec![format!("tkrzw_dbm_open(\"data.tkh\", true, \"{}\");", self.parameters)];
        if self.durability == Durability::Commit {
            set_up.push("tkrzw_dbm_synchronize(dbm, true, NULL, NULL, \"\"); // after each write".into());
        }
        Facts { product: "Tkrzw".into(), version: self.database.version().into(), config, set_up }
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
        Ok(self.database.rebuild()?)
    }
}
