//! What a search may turn: options of stores that change how the work is done and neither what is stored nor what a crash loses.

use std::collections::BTreeMap;
use study::Spec;

/// An option with the values worth trying.
#[derive(Clone, Copy, Debug)]
pub struct Tunable {
    /// Name of the store, also for its transports (`redis` for `redis-unix`).
    pub store: &'static str,
    /// The option.
    pub option: &'static str,
    /// Values, the store's default first.
    pub values: &'static [&'static str],
    /// The setting of [`store::Facts`] that shows the value in effect.
    pub shown_as: &'static str,
    /// How the value is shown there.
    pub shown: Shown,
}

/// How a store shows the value of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// As it was given.
    Same,
    /// As a number of bytes, where a size was given (`64MiB`, `512kB`).
    Bytes,
}

const fn row(store: &'static str, option: &'static str, values: &'static [&'static str]) -> Tunable {
    Tunable { store, option, values, shown_as: option, shown: Shown::Same }
}

/// Every tunable option.
pub static TUNABLES: &[Tunable] = &[
    row("redis", "io-threads", &["1", "2", "4"]),
    row("redis", "hz", &["10", "1", "100"]),
    row("redis", "activerehashing", &["yes", "no"]),
    row("redis", "hash-max-listpack-entries", &["128", "0", "512"]),
    Tunable { shown_as: "num_threads", ..row("memcached", "threads", &["4", "1", "2", "8"]) },
    Tunable { shown_as: "growth_factor", ..row("memcached", "growth_factor", &["1.25", "1.05", "2.00"]) },
    Tunable { shown_as: "hashpower_init", ..row("memcached", "hashpower", &["16", "20", "22"]) },
    row("sqlite", "page_size", &["4096", "1024", "8192", "16384", "32768"]),
    Tunable { shown: Shown::Bytes, ..row("sqlite", "cache_size", &["2000KiB", "16MiB", "128MiB"]) },
    Tunable { shown_as: "mmap_size", shown: Shown::Bytes, ..row("sqlite", "mmap", &["0", "1GiB"]) },
    row("sqlite", "wal_autocheckpoint", &["1000", "10000", "100"]),
    row("kyotocabinet", "bnum", &["1048576", "65536", "4194304"]),
    Tunable { shown: Shown::Bytes, ..row("kyotocabinet", "msiz", &["64MiB", "8MiB", "512MiB"]) },
    Tunable { shown: Shown::Bytes, ..row("berkeleydb", "cache_size", &["64MiB", "16MiB", "256MiB"]) },
    row("berkeleydb", "page_size", &["4096", "1024", "16384", "65536"]),
    Tunable { shown: Shown::Bytes, ..row("leveldb", "write_buffer_size", &["4MiB", "16MiB", "64MiB"]) },
    Tunable { shown: Shown::Bytes, ..row("leveldb", "block_cache", &["8MiB", "64MiB"]) },
    row("leveldb", "compression", &["snappy", "none"]),
    Tunable { shown: Shown::Bytes, ..row("rocksdb", "write_buffer_size", &["64MiB", "16MiB", "256MiB"]) },
    Tunable { shown: Shown::Bytes, ..row("rocksdb", "block_cache", &["8MiB", "64MiB"]) },
    row("rocksdb", "compression", &["snappy", "none", "lz4", "zstd"]),
    row("postgres", "shared_buffers", &["128MB", "32MB", "512MB"]),
    row("postgres", "wal_compression", &["off", "on"]),
    row("postgres", "jit", &["on", "off"]),
    row("mysql", "innodb_buffer_pool_size", &["134217728", "33554432", "536870912"]),
    row("mysql", "innodb_flush_method", &["O_DIRECT", "fsync"]),
    row("mysql", "innodb_log_file_size", &["100663296", "536870912"]),
];

/// The options of a store that a search may turn.
pub fn tunables(store: &str) -> impl Iterator<Item = &'static Tunable> {
    let family = store.split('-').next().unwrap_or(store).to_owned();
    TUNABLES.iter().filter(move |tunable| tunable.store == family)
}

/// Options of a spec that the store does not show in effect, in words: a setting that did nothing must not be measured as if it
/// did.
pub fn not_in_effect(spec: &Spec, config: &BTreeMap<String, String>) -> Vec<String> {
    let mut problems = Vec::new();
    for tunable in tunables(&spec.name) {
        let Some(asked) = spec.options.get(tunable.option) else { continue };
        match config.get(tunable.shown_as) {
            Some(shown) if tunable.shown.agrees(asked, shown) => {}
            Some(shown) => problems.push(format!("{}={asked} was asked for, the store has {shown}", tunable.option)),
            None => problems.push(format!("{}={asked} was asked for, the store does not show it", tunable.option)),
        }
    }
    problems
}

impl Shown {
    fn agrees(self, asked: &str, shown: &str) -> bool {
        match self {
            Shown::Same => asked == shown || asked.parse::<f64>().is_ok_and(|number| shown.parse() == Ok(number)),
            Shown::Bytes => store::size::bytes(asked).is_some_and(|bytes| shown.parse() == Ok(bytes)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{TUNABLES, not_in_effect, tunables};
    use study::Spec;

    #[test]
    fn every_tunable_is_an_option_of_its_store_with_values_it_has() {
        for tunable in TUNABLES {
            let info = crate::find(tunable.store).unwrap_or_else(|| panic!("no store {}", tunable.store));
            for value in tunable.values {
                let mut spec = Spec::private(tunable.store);
                spec.options.insert(tunable.option.into(), (*value).into());
                assert!(info.check_options(&spec).is_ok(), "{}={value}", tunable.option);
            }
        }
        assert!(tunables("redis-unix").any(|tunable| tunable.option == "io-threads"));
    }

    #[test]
    fn an_option_without_effect_is_named() {
        let spec: Spec = "memcached-unix,threads=2".parse().unwrap_or_else(|error| panic!("{error}"));
        let shown = |threads: &str| [("num_threads".to_owned(), threads.to_owned())].into();
        assert_eq!(not_in_effect(&spec, &shown("2")), Vec::<String>::new());
        assert_eq!(not_in_effect(&spec, &shown("4")), ["threads=2 was asked for, the store has 4"]);
        assert!(not_in_effect(&spec, &[].into())[0].contains("does not show it"));
    }
}
