//! SQLite, through the `rusqlite` crate, which compiles SQLite in. Plain SQL, prepared once per client; write-ahead log.
//!
//! Durability, by SQLite's documentation of `PRAGMA synchronous`. With a write-ahead log, `FULL` flushes the log at every
//! commit: nothing acknowledged is lost (`commit`). `NORMAL` and `OFF` write the log without flushing it: "if the application
//! crashes, the data will be safe", so both are `os`. They differ in a crash of the system: `NORMAL` flushes at checkpoints and
//! keeps the file consistent, `OFF` never flushes and may leave it corrupt. `os` uses `OFF`, since no embedded store flushes at
//! that level; the option `synchronous=normal` asks for the other. Without the log SQLite would lose data with the process
//! only by leaving corrupt files, so there is no `none`.
//!
//! Values lie in an ordinary table with their key as its primary key. Without row ids it would be a tenth faster with values of
//! 64 bytes and several times slower from 1,000 bytes on, where SQLite's documentation advises against them.
//!
//! Increments and appends are upserts, compare-and-set is an update with the old value in its condition: one statement each,
//! and one transaction each. SQLite has one writer at a time and would poll for its turn; the clients of one process queue at
//! a lock of the adapter instead, so SQLITE_BUSY can only come from other processes, and is waited for up to 60 s.

use crate::shared::embedded;
use ground::{built, driver};
use store::{
    BUILT_IN, Capabilities, Number, Opener, OperationKind, OperationSet, OptionInfo, ShownAs, StoreInfo, Support,
};
use study::{Class, Durability};

const SYNCHRONOUS: OptionInfo = OptionInfo::one_of(
    "synchronous",
    &["off", "normal"],
    "at durability=os: normal also keeps the file consistent over a crash of the system",
);
const PAGE_SIZE: Number = OptionInfo::one_of(
    "page_size",
    &["4096", "512", "1024", "2048", "8192", "16384", "32768", "65536"],
    "bytes of a page of a new file",
)
.tuned(&["4096", "1024", "8192", "16384", "32768"])
.whole();
const CACHE_SIZE: Number = OptionInfo::text("cache_size", "memory for pages, of each client, e.g. 64MiB")
    .usual("2000KiB")
    .tuned(&["2000KiB", "16MiB", "128MiB"])
    .shown("cache_size", ShownAs::Bytes)
    .size();
const MAPPED: Number = OptionInfo::text("mmap", "how much of the file is read through memory, e.g. 1GiB")
    .usual("0")
    .tuned(&["0", "1GiB"])
    .shown("mmap_size", ShownAs::Bytes)
    .size();
const CHECKPOINT: Number = OptionInfo::text("wal_autocheckpoint", "pages of the log that are folded into the file")
    .usual("1000")
    .tuned(&["1000", "10000", "100"])
    .whole();

/// The stores of this adapter.
pub static STORES: &[StoreInfo] = &[StoreInfo {
    name: "sqlite",
    family: "sqlite",
    transport: None,
    driver: driver!("sqlite"),
    class: Class::Embedded,
    kind: "SQL",
    summary: "SQL in a file: B-tree with a write-ahead log",
    durabilities: &[Durability::Os, Durability::Commit],
    options: &[SYNCHRONOUS, PAGE_SIZE.info, CACHE_SIZE.info, MAPPED.info, CHECKPOINT.info],
    install: BUILT_IN,
    licence: "public domain",
    declares: |_| CAPABILITIES,
    probe: built!("sqlite", probe engine::probe),
    opener: Opener::Embedded(built!("sqlite", engine::open)),
}];

/// The capabilities of SQLite. It takes a billion bytes per row; this leaves room for the key.
const CAPABILITIES: Capabilities = Capabilities {
    native: OperationSet::LASTING.and(&[OperationKind::Sql]),
    max_value_bytes: 900 << 20,
    compaction: Support::Native,
    checkpoint: Support::Native,
    reduction: Support::Native,
    ..embedded::CAPABILITIES
};

#[cfg(feature = "sqlite")]
mod engine;
#[cfg(feature = "sqlite")]
mod sql;
#[cfg(feature = "sqlite")]
mod whole;
