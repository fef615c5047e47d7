//! RocksDB, in this process: the system's shared library, loaded at run time; the option `lib=` names another file.
//!
//! Durability, by RocksDB's documentation of `WriteOptions`. Every write goes to the log by a `write` call, so it outlives a kill of
//! the process (`os`); with `sync` the log is flushed as well (`commit`); with `disableWAL` there is no log, and a kill loses what
//! was not yet written as a table (`none`).
//!
//! Append is a merge operator: RocksDB notes the piece without reading the value, and puts the pieces together when it reads or
//! compacts. Counters read and write under a lock of the adapter on the key, since a merge does not say what came of it. The
//! settings are read back from the `OPTIONS` file that RocksDB writes when it opens a database.
//!
//! Debian's build has RocksDB's tools in it, whose command line flags (gflags) can be in a process only once: two such builds
//! need two studies. Builds without gflags can be beside any other.

use crate::shared::dylib::{Dylib, LIB};
use crate::shared::embedded::{self, place};
use crate::shared::log_structured::{Api, DatabaseSettings, Tree, config};
use crate::shared::transactional::Opened;
use std::path::Path;
use store::{
    Bundle, Capabilities, Facts, Home, MadeOf, Number, Opener, OptionInfo, PackedPart, ShownAs, Store, StoreError,
    StoreInfo, Support, Versions,
};
use study::{Class, Durability, Spec};

const WRITE_BUFFER: Number = OptionInfo::text("write_buffer_size", "writes kept in memory before a table is written")
    .usual("64MiB")
    .tuned(&["64MiB", "16MiB", "256MiB"])
    .shown("write_buffer_size", ShownAs::Bytes)
    .size();
const BLOCK_CACHE: Number = OptionInfo::text("block_cache", "memory for blocks")
    .usual("8MiB")
    .tuned(&["8MiB", "64MiB"])
    .shown("block_cache", ShownAs::Bytes)
    .size();
const COMPRESSION: OptionInfo =
    OptionInfo::one_of("compression", &["snappy", "none", "lz4", "zstd"], "compression of tables")
        .tuned(&["snappy", "none", "lz4", "zstd"]);

const INSTALL: &str = "apt-get install librocksdb7.8, or kvtrial fetch-store rocksdb (RocksDB 11.1.2)";

/// The libraries that `kvtrial fetch-store rocksdb` gets: RocksDB's builds for Java, which have the functions for C, too.
pub(crate) const VERSIONS: Versions = Versions(&[
    build(
        "11.1.2",
        "org/rocksdb/rocksdbjni/11.1.2/rocksdbjni-11.1.2.jar 87231174 \
         d2851e044959af829fe486757c15174f570d7f06ee6eab2cb1be2ac0cc7e168f",
    ),
    build(
        "10.10.1",
        "org/rocksdb/rocksdbjni/10.10.1.1/rocksdbjni-10.10.1.1-linux64.jar 28964644 \
         3948e3537f413c697200ff2c316d8c614454685ad347625057479997d8757585",
    ),
]);

/// Returns the build of one version, in its jar.
const fn build(version: &'static str, archive: &'static str) -> Bundle {
    let part = PackedPart::File("librocksdbjni-linux64.so");
    let made_of = MadeOf::Packed { home: Home::Maven, archive, part, program: "librocksdb.so" };
    Bundle { store: "rocksdb", product: "RocksDB", version, licence: "GPL-2.0 OR Apache-2.0", made_of }
}

/// The stores of this adapter.
pub static STORES: &[StoreInfo] = &[StoreInfo {
    name: "rocksdb",
    family: "rocksdb",
    transport: None,
    driver: None,
    class: Class::Embedded,
    kind: "LSM",
    summary: "log-structured merge tree, from LevelDB",
    durabilities: &[Durability::Os, Durability::Commit, Durability::None],
    options: &[LIB, VERSIONS.option(), WRITE_BUFFER.info, BLOCK_CACHE.info, COMPRESSION],
    install: INSTALL,
    licence: "GPL-2.0 OR Apache-2.0",
    declares: |_| CAPABILITIES,
    probe: || LIBRARY.probe(|api| format!("RocksDB {}", api.version)),
    opener: Opener::Embedded(open),
}];

static LIBRARY: Dylib<Api> =
    Dylib::new_alone_with("libgflags.so", &["librocksdb.so.7.8", "librocksdb.so"], Api::rocksdb).or_fetched(VERSIONS);

const CAPABILITIES: Capabilities = Capabilities { compaction: Support::Native, ..embedded::CAPABILITIES };

/// Compressions by the library's numbers: how the option names them, and how the `OPTIONS` file does.
const COMPRESSIONS: [(i32, &str, &str); 4] = [
    (1, "snappy", "kSnappyCompression"),
    (0, "none", "kNoCompression"),
    (4, "lz4", "kLZ4Compression"),
    (7, "zstd", "kZSTD"),
];

fn open(spec: &Spec, directory: &Path) -> Result<Box<dyn Store>, StoreError> {
    let info = &STORES[0];
    let durability = info.durability(spec)?;
    let named = COMPRESSION.read(spec);
    let settings = DatabaseSettings {
        write_buffer_bytes: Some(WRITE_BUFFER.read(spec)?),
        cache_bytes: Some(BLOCK_CACHE.read(spec)?),
        compression: COMPRESSIONS.iter().find(|(_, name, _)| *name == named).map(|(number, ..)| *number),
    };
    let library = LIBRARY.of(info, spec)?;
    let path = place(directory, "rocksdb")?;
    let tree = Tree::open(library, &path, settings, durability, facts);
    Opened::store(tree, &path, Capabilities { durability, ..CAPABILITIES })
}

fn facts(tree: &Tree) -> Facts {
    let options = newest_options(tree.path()).unwrap_or_default();
    let read = |name: &str| {
        let lines = options.lines().filter_map(|line| line.trim().split_once('='));
        lines.into_iter().find(|(known, _)| *known == name).map_or("unknown", |(_, value)| value).to_owned()
    };
    let kept = read("compression");
    let compression =
        COMPRESSIONS.iter().find(|(.., known)| *known == kept).map_or(kept.clone(), |(_, name, _)| (*name).into());
    let cache = tree.property("rocksdb.block-cache-capacity");
    let set_up = vec![
        format!("options.write_buffer_size = {};", read("write_buffer_size")),
        format!("options.compression = rocksdb::{kept};"),
        format!("options.max_background_jobs = {};", read("max_background_jobs")),
        format!("options.max_open_files = {};", read("max_open_files")),
        format!("table_options.block_cache = rocksdb::NewLRUCache({cache});"),
        "options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table_options));".into(),
    ];
    let version = match read("rocksdb_version") {
        unknown if unknown == "unknown" => tree.version().to_owned(),
        version => version,
    };
    let config = config([
        ("write_buffer_size", read("write_buffer_size")),
        ("block_cache", cache),
        ("compression", compression),
        ("max_background_jobs", read("max_background_jobs")),
        ("max_open_files", read("max_open_files")),
        ("merge_operator", read("merge_operator")),
    ]);
    Facts { product: "RocksDB".into(), version, config, set_up }
}

/// Returns the text of the `OPTIONS` file with the highest number.
fn newest_options(directory: &Path) -> Option<String> {
    let entries = std::fs::read_dir(directory).ok()?.flatten();
    let named = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("OPTIONS-"));
    std::fs::read_to_string(named.max_by_key(|entry| entry.file_name())?.path()).ok()
}
