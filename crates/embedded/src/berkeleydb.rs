//! Berkeley DB's transactional data store, in this process: the system's shared library, loaded at run time; the option `lib=` names
//! another file of the same version.
//!
//! Durability, by Berkeley DB's documentation of its flags. Without flags the log is written and flushed at every commit
//! (`commit`). With `DB_TXN_WRITE_NOSYNC` it is written, not flushed: it outlives a kill of the process (`os`). With `DB_TXN_NOSYNC`
//! it stays in the process until its buffer is full (`none`). Opening recovers from the log. The environment is private to this
//! process (`DB_PRIVATE`).
//!
//! Each operation is one transaction. Transactions lock pages, so two may wait for each other: the library then ends one of them,
//! and the adapter does that one again and counts it. Append is a partial put behind the end of the value. Counters read and
//! write in one transaction. A checkpoint is made after every 64 MiB of log, as the library leaves to its user, and logs that are
//! not needed any more are removed.
//!
//! `method=hash` takes a fill factor: records per page. By default it is the documentation's formula, (page - 32) / (record + 8), where
//! a record is `record=` bytes of key and value: 84 for 40 bytes on pages of 4096. `ffactor=` sets it by hand; 508 is what comes out
//! when the records are forgotten.

mod environment;
mod library;

use crate::shared::dylib::{Dylib, LIB};
use crate::shared::embedded::{self, place};
use crate::shared::transactional::Opened;
use environment::{DatabaseSettings, Environment};
use library::BerkeleyDb;
use std::path::Path;
use store::{
    Capabilities, Number, Opener, OperationKind, OperationSet, OptionInfo, ShownAs, Store, StoreError, StoreInfo,
    Support,
};
use study::{Class, Durability, Spec};

const METHOD: OptionInfo = OptionInfo::one_of("method", &["btree", "hash"], "how values are laid out");
const CACHE_SIZE: Number = OptionInfo::text("cache_size", "memory for pages")
    .usual("64MiB")
    .tuned(&["64MiB", "16MiB", "256MiB"])
    .shown("cache_size", ShownAs::Bytes)
    .size();
const PAGE_SIZE: Number = OptionInfo::text("page_size", "bytes of a page, a power of two")
    .usual("4096")
    .tuned(&["4096", "1024", "16384", "65536"])
    .size();
const RECORD: Number =
    OptionInfo::text("record", "mean bytes of key and value, for the fill factor of a hash").usual("40").count();
const FILL_FACTOR: Number =
    OptionInfo::text("ffactor", "fill factor of a hash").otherwise("(page_size - 32) / (record + 8)").count();

/// The stores of this adapter.
pub static STORES: &[StoreInfo] = &[StoreInfo {
    name: "berkeleydb",
    family: "berkeleydb",
    transport: None,
    driver: None,
    class: Class::Embedded,
    kind: "B+tree",
    summary: "B+ tree or hash table with transactions",
    durabilities: &[Durability::Os, Durability::Commit, Durability::None],
    options: &[LIB, METHOD, CACHE_SIZE.info, PAGE_SIZE.info, RECORD.info, FILL_FACTOR.info],
    install: "apt-get install libdb5.3",
    licence: "Sleepycat",
    declares,
    probe: || LIBRARY.probe(|library| format!("Berkeley DB {}", library.version)),
    opener: Opener::Embedded(open),
}];

static LIBRARY: Dylib<BerkeleyDb> = Dylib::new(&["libdb-5.3.so"], BerkeleyDb::load);

fn is_hash(spec: &Spec) -> bool {
    METHOD.read(spec) == "hash"
}

/// Returns the capabilities that a spec asks for: a hash has no order of keys.
fn declares(spec: &Spec) -> Capabilities {
    let unordered: &[OperationKind] = if is_hash(spec) { &[OperationKind::Scan] } else { &[] };
    Capabilities {
        native: OperationSet::LASTING.without(unordered),
        compaction: Support::Native,
        checkpoint: Support::Native,
        ..embedded::CAPABILITIES
    }
}

/// Returns the number of records per page of a hash, by the documentation's formula.
fn fill_factor(page_bytes: u64, record_bytes: u64) -> u64 {
    (page_bytes.saturating_sub(32) / (record_bytes + 8)).max(1)
}

fn open(spec: &Spec, directory: &Path) -> Result<Box<dyn Store>, StoreError> {
    let info = &STORES[0];
    let durability = info.durability(spec)?;
    let unsupported = |problem| StoreError::Unsupported { store: info.name.into(), problem };
    let page_bytes: u64 = PAGE_SIZE.read(spec)?;
    if !(512..=65_536).contains(&page_bytes) || !page_bytes.is_power_of_two() {
        return Err(unsupported(format!("page_size={page_bytes} is not possible; use a power of two, 512 to 65536")));
    }
    let by_hand: Option<u64> = FILL_FACTOR.asked(spec)?;
    let by_formula = fill_factor(page_bytes, RECORD.read(spec)?);
    if !is_hash(spec) && (by_hand.is_some() || RECORD.info.asked(spec).is_some()) {
        return Err(unsupported("ffactor= and record= are of a hash; add method=hash".into()));
    }
    let settings = DatabaseSettings {
        hash_fill_factor: is_hash(spec).then(|| u32::try_from(by_hand.unwrap_or(by_formula)).unwrap_or(u32::MAX)),
        page_bytes: page_bytes as u32,
        cache_bytes: CACHE_SIZE.read(spec)?,
        durability,
    };
    let library = LIBRARY.of(info, spec)?;
    let path = place(directory, "bdb")?;
    std::fs::create_dir_all(&path).map_err(|source| StoreError::Io { path: path.clone(), source })?;
    let environment = Environment::open(library, &path, settings);
    Opened::store(environment, &path, Capabilities { durability, ..declares(spec) })
}

#[cfg(test)]
mod tests {
    use super::fill_factor;

    #[test]
    fn the_formula_gives_84_where_forgetting_the_records_gave_508() {
        assert_eq!(fill_factor(4096, 8 + 32), 84);
        assert_eq!(fill_factor(4096, 0), 508);
        assert_eq!(fill_factor(512, 100_000), 1);
    }
}
