//! Kyoto Cabinet's file hash database, in this process: the system's shared library, loaded at run time; the option
//! `lib=` names another file.
//!
//! At `none`, its usual level, it changes the mapped file in place (`transactions=off`), which is how the library is mostly used. At `os`
//! (or with `transactions=auto`, `OAUTOTRAN`) what an update will overwrite is first written to a log beside the file, from which the next
//! opening restores it; with `flushed` (`OAUTOSYNC` as well) log and file are flushed. `os` is the library's promise: a kill leaves the
//! state before or after an update. It does not keep it: the log has no checksum, and a kill in the middle of writing an entry of more
//! than a page leaves one whose end is zero, with which the next opening overwrites the record. With
//! version 1.2.79, 2 of about 190 killed processes lost a record they had been told was stored; records had up to 40 KB. 1,484 kills by
//! `kvtrial crash` with 64 KiB and two clients did not show it.
//!
//! Append is `kcdbappend`, a counter is `kcdbincrint` (64 bits, wraps around), compare-and-set is `kcdbadd` where the key must be
//! absent and `kcdbcas` else. Put-many is one transaction where there are any, while other writers wait at a lock of the
//! adapter, since a transaction of the library is everybody's. The C interface has no defragmentation, so there is no compaction.

mod library;

use crate::shared::cabinet::{Cabinet, Opened, each};
use crate::shared::dylib::{Dylib, LIB};
use crate::shared::embedded::{Fault, place};
use library::{Database, KyotoCabinet, Transactions};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{PoisonError, RwLock, RwLockReadGuard};
use store::{
    Capabilities, Counter, Facts, Number, Opener, OperationKind, OperationSet, OptionInfo, Overflow, ShownAs, Store,
    StoreError, StoreInfo, Swept,
};
use study::{Class, Durability, Spec};

const TRANSACTIONS: OptionInfo = OptionInfo::one_of(
    "transactions",
    &["off", "auto", "flushed"],
    "auto: each update is one, with a log beside the file (OAUTOTRAN); flushed: both are flushed (OAUTOSYNC) [off; auto at os]",
);
const BUCKETS: Number =
    OptionInfo::text("bnum", "buckets of a new file").usual("1048576").tuned(&["1048576", "65536", "4194304"]).count();
const MAPPED: Number = OptionInfo::text("msiz", "bytes of the file that are mapped")
    .usual("64MiB")
    .tuned(&["64MiB", "8MiB", "512MiB"])
    .shown("msiz", ShownAs::Bytes)
    .size();

/// The stores of this adapter.
pub static STORES: &[StoreInfo] = &[StoreInfo {
    name: "kyotocabinet",
    family: "kyotocabinet",
    transport: None,
    driver: None,
    class: Class::Embedded,
    kind: "hash",
    summary: "hash table in a mapped file, after Tokyo Cabinet",
    durabilities: &[Durability::None, Durability::Os],
    options: &[LIB, TRANSACTIONS, BUCKETS.info, MAPPED.info],
    install: "apt-get install libkyotocabinet16v5",
    licence: "GPL-3.0-or-later",
    declares,
    probe: || LIBRARY.probe(|library| format!("Kyoto Cabinet {}", library.version)),
    opener: Opener::Embedded(open),
}];

static LIBRARY: Dylib<KyotoCabinet> = Dylib::new(&["libkyotocabinet.so.16", "libkyotocabinet.so"], KyotoCabinet::load);

const NATIVE: OperationSet = OperationSet::BASIC.and(&[
    OperationKind::GetVersioned,
    OperationKind::Append,
    OperationKind::Increment,
    OperationKind::GetCounter,
    OperationKind::CompareAndSet,
]);

fn mode(spec: &Spec) -> Transactions {
    match TRANSACTIONS.asked(spec) {
        Some("auto") => Transactions::On,
        Some("flushed") => Transactions::Flushed,
        None if spec.durability == Some(Durability::Os) => Transactions::On,
        _ => Transactions::Off,
    }
}

/// Returns the capabilities that a spec asks for. Put-many is a transaction, so it is native only where there are transactions.
fn declares(spec: &Spec) -> Capabilities {
    Capabilities {
        native: if mode(spec) == Transactions::Off { NATIVE } else { NATIVE.and(&[OperationKind::PutMany]) },
        counter: Some(Counter { min: i64::MIN, max: i64::MAX, overflow: Overflow::Wraps }),
        ..Capabilities::BASIC
    }
}

fn open(spec: &Spec, directory: &Path) -> Result<Box<dyn Store>, StoreError> {
    let info = &STORES[0];
    let durability = info.durability(spec)?;
    let mode = mode(spec);
    if (durability, mode) == (Durability::Os, Transactions::Off) {
        return Err(StoreError::Unsupported {
            store: info.name.into(),
            problem: "durability=os rests on its transactions; leave transactions=off out".into(),
        });
    }
    let (buckets, mapped_bytes): (u64, u64) = (BUCKETS.read(spec)?, MAPPED.read(spec)?);
    let parameters = format!("#bnum={buckets}#msiz={mapped_bytes}");
    let library = LIBRARY.of(info, spec)?;
    let path = place(directory, "kch")?;
    if path.as_os_str().as_bytes().contains(&b'#') {
        return Err(StoreError::open(
            path.display(),
            "Kyoto Cabinet takes no path with '#' in it; use another directory",
        ));
    }
    let name = [path.as_os_str().as_bytes(), parameters.as_bytes()].concat();
    let database =
        Database::open(library, &name, mode).map_err(|Fault(words)| StoreError::open(path.display(), words))?;
    Ok(Opened::store(
        File { database, mode, parameters, writers: RwLock::new(()) },
        Capabilities { durability, ..declares(spec) },
    ))
}

/// The open file, and who writes to it: single writes side by side, or one transaction of many.
struct File {
    database: Database,
    mode: Transactions,
    /// The settings, as they stand behind the path.
    parameters: String,
    writers: RwLock<()>,
}

impl File {
    fn beside_others(&self) -> RwLockReadGuard<'_, ()> {
        self.writers.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Cabinet for File {
    fn get(&self, key: &[u8], into: &mut Vec<u8>) -> Result<bool, Fault> {
        self.database.get(key, into)
    }

    fn put(&self, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        let _beside = self.beside_others();
        self.database.put(key, value)
    }

    fn append(&self, key: &[u8], more: &[u8]) -> Result<(), Fault> {
        let _beside = self.beside_others();
        self.database.append(key, more)
    }

    fn delete(&self, key: &[u8]) -> Result<bool, Fault> {
        let _beside = self.beside_others();
        self.database.delete(key)
    }

    fn put_absent(&self, key: &[u8], value: &[u8]) -> Result<bool, Fault> {
        let _beside = self.beside_others();
        self.database.put_absent(key, value)
    }

    fn replace(&self, key: &[u8], expected: &[u8], value: &[u8]) -> Result<bool, Fault> {
        let _beside = self.beside_others();
        self.database.replace(key, expected, value)
    }

    fn increment(&self, key: &[u8], by: i64, scratch: &mut Vec<u8>) -> Result<i64, Fault> {
        let sum = {
            let _beside = self.beside_others();
            self.database.add(key, by)
        };
        if let Some(sum) = sum {
            return Ok(sum);
        }
        match self.get(key, scratch)? && self.count(scratch)? == i64::MIN {
            true => Ok(i64::MIN),
            false => Err(Fault("kcdbincrint failed".into())),
        }
    }

    fn count(&self, stored: &[u8]) -> Result<i64, Fault> {
        Ok(i64::from_be_bytes(stored.try_into().map_err(|_| "the value is not a counter of 8 bytes")?))
    }

    fn delete_many(&self, keys: &[&[u8]]) -> Result<Swept, Fault> {
        let delete = || each(keys, |key| self.database.delete(key));
        if self.mode == Transactions::Off {
            let _beside = self.beside_others();
            return delete();
        }
        let _alone = self.writers.write().unwrap_or_else(PoisonError::into_inner);
        self.database.transaction(self.mode == Transactions::Flushed, delete)
    }

    fn put_many(&self, pairs: &[(&[u8], &[u8])]) -> Result<(), Fault> {
        let _alone = self.writers.write().unwrap_or_else(PoisonError::into_inner);
        self.database.transaction(self.mode == Transactions::Flushed, || {
            pairs.iter().try_for_each(|(key, value)| self.database.put(key, value))
        })
    }

    fn records(&self) -> Result<u64, Fault> {
        self.database.records()
    }

    fn facts(&self) -> Facts {
        let transactions = match self.mode {
            Transactions::Off => "off",
            Transactions::On => "one per update (OAUTOTRAN)",
            Transactions::Flushed => "one per update, flushed (OAUTOTRAN, OAUTOSYNC)",
        };
        let status = self.database.status();
        let shown = ["bnum", "msiz", "apow", "fpow", "opts", "dfunit"];
        let mut config: std::collections::BTreeMap<_, _> =
            status.into_iter().filter(|(name, _)| shown.contains(&name.as_str())).collect();
        config.insert("transactions".into(), transactions.into());
        let mode = match self.mode {
            Transactions::Off => "",
            Transactions::On => " | KCOAUTOTRAN",
            Transactions::Flushed => " | KCOAUTOTRAN | KCOAUTOSYNC",
        };
        let set_up = vec![format!("kcdbopen(db, \"data.kch{}\", KCOWRITER | KCOCREATE{mode});", self.parameters)];
        Facts { product: "Kyoto Cabinet".into(), version: self.database.version().into(), config, set_up }
    }

    fn sync(&self) -> Result<(), Fault> {
        self.database.sync()
    }
}
