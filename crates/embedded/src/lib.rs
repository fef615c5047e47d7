//! Adapters of stores in the client's process: `null` and `ram`, and libraries that are linked or opened at run time. Adding one is one file
//! and one line in this one.
//!
//! An adapter says what the store is ([`store::StoreInfo`]), and how operations become calls. What never lives here: timing, jobs.

mod shared;

ground::adapters! {
    null, ram,
    sqlite, lmdb, redb, fjall,
    tokyocabinet, kyotocabinet, tkrzw, berkeleydb, leveldb, rocksdb,
    engines, plugin,
}

ground::bundles! { one: [], several: [rocksdb::VERSIONS], stores: [engines] }

pub use plugin::{PLUGIN_TEMPLATES, PluginTemplate, plugin};
