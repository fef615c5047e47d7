//! LevelDB, in this process: the system's shared library, loaded at run time; the option `lib=` names another file.
//!
//! Durability, by LevelDB's documentation of `WriteOptions::sync`. Every write goes to the log by a `write` call, so it outlives a
//! kill of the process (`os`); with `sync` the log is flushed as well (`commit`). There is no cheaper mode, so there is no `none`.
//!
//! LevelDB has no append and no counters: they read and write under a lock of the adapter on the key, which is what a program that
//! uses LevelDB must do too. The settings are those asked for: the library cannot be asked what it has.

use crate::shared::dylib::{Dylib, LIB};
use crate::shared::embedded::{self, place};
use crate::shared::log_structured::{Api, DatabaseSettings, Tree, config};
use crate::shared::transactional::Opened;
use std::path::Path;
use store::{Capabilities, Facts, Number, Opener, OptionInfo, ShownAs, Store, StoreError, StoreInfo, Support};
use study::{Class, Durability, Spec};

const WRITE_BUFFER: Number = OptionInfo::text("write_buffer_size", "writes kept in memory before a table is written")
    .usual("4MiB")
    .tuned(&["4MiB", "16MiB", "64MiB"])
    .shown("write_buffer_size", ShownAs::Bytes)
    .size();
const BLOCK_CACHE: Number = OptionInfo::text("block_cache", "memory for blocks")
    .usual("8MiB")
    .tuned(&["8MiB", "64MiB"])
    .shown("block_cache", ShownAs::Bytes)
    .size();
const COMPRESSION: OptionInfo =
    OptionInfo::one_of("compression", &["snappy", "none"], "compression of tables").tuned(&["snappy", "none"]);

/// The stores of this adapter.
pub static STORES: &[StoreInfo] = &[StoreInfo {
    name: "leveldb",
    family: "leveldb",
    transport: None,
    driver: None,
    class: Class::Embedded,
    kind: "LSM",
    summary: "log-structured merge tree",
    durabilities: &[Durability::Os, Durability::Commit],
    options: &[LIB, WRITE_BUFFER.info, BLOCK_CACHE.info, COMPRESSION],
    install: "apt-get install libleveldb1d",
    licence: "BSD-3-Clause",
    declares: |_| CAPABILITIES,
    probe: || LIBRARY.probe(|api| format!("LevelDB {}", api.version)),
    opener: Opener::Embedded(open),
}];

static LIBRARY: Dylib<Api> = Dylib::new(&["libleveldb.so.1d", "libleveldb.so.1", "libleveldb.so"], Api::leveldb);

const CAPABILITIES: Capabilities = Capabilities { compaction: Support::Native, ..embedded::CAPABILITIES };

fn open(spec: &Spec, directory: &Path) -> Result<Box<dyn Store>, StoreError> {
    let info = &STORES[0];
    let durability = info.durability(spec)?;
    let settings = DatabaseSettings {
        write_buffer_bytes: Some(WRITE_BUFFER.read(spec)?),
        cache_bytes: Some(BLOCK_CACHE.read(spec)?),
        compression: Some(i32::from(COMPRESSION.read(spec) == "snappy")),
    };
    let library = LIBRARY.of(info, spec)?;
    let path = place(directory, "leveldb")?;
    let tree = Tree::open(library, &path, settings, durability, facts);
    Opened::store(tree, &path, Capabilities { durability, ..CAPABILITIES })
}

fn facts(tree: &Tree) -> Facts {
    let settings = tree.settings();
    let compression = if settings.compression == Some(0) { "none" } else { "snappy" };
    let bytes = |bytes: Option<u64>| bytes.unwrap_or_default().to_string();
    let config = config([
        ("write_buffer_size", bytes(settings.write_buffer_bytes)),
        ("block_cache", bytes(settings.cache_bytes)),
        ("compression", compression.into()),
    ]);
    let set_up = vec![
        format!("options.write_buffer_size = {};", bytes(settings.write_buffer_bytes)),
        format!("options.block_cache = leveldb::NewLRUCache({});", bytes(settings.cache_bytes)),
        format!(
            "options.compression = leveldb::{};",
            if compression == "none" { "kNoCompression" } else { "kSnappyCompression" }
        ),
    ];
    Facts { product: "LevelDB".into(), version: tree.version().into(), config, set_up }
}
