//! Adapters: one file per store. Adding a store is one file and one line in this one.
//!
//! An adapter says what the store is ([`StoreInfo`]), how a private server is started (a [`store::ServerPlan`], plain data),
//! and how operations become calls or bytes. What never lives here: starting processes, timing, jobs.

use store::StoreInfo;

/// Declares the adapter modules and lists their stores.
macro_rules! adapters {
    ($($name:ident),* $(,)?) => {
        $(mod $name;)*

        /// Every store of every adapter, in the order `kvtrial stores` shows them.
        pub fn all() -> impl Iterator<Item = &'static StoreInfo> {
            [$($name::STORES),*].into_iter().flatten()
        }
    };
}

/// Names the adapters whose programs `kvtrial fetch-store` gets.
macro_rules! bundles {
    ($($name:ident),* $(,)?) => {
        /// The programs that `kvtrial fetch-store` gets.
        pub fn bundles() -> impl Iterator<Item = &'static store::Bundle> {
            [$(&$name::BUNDLE),*].into_iter()
        }
    };
}

mod settings;
mod shared;

adapters! {
    null, ram, echo,
    sqlite, lmdb, redb, fjall,
    tokyocabinet, kyotocabinet, tkrzw, berkeleydb, leveldb, rocksdb,
    redis, redis_cluster, memcached, tyrant, voldemort,
    mysql, mysql_memcached, handlersocket, postgres, mongodb, couchdb, etcd, nats, dynamodb, s3,
    hazelcast, infinispan, ignite, cassandra, hbase,
}

bundles! { couchdb, dynamodb, s3, hazelcast, infinispan, ignite, cassandra, hbase }

pub use echo::served_by as echo_served_by;
pub use settings::setting_of;

/// The store of that name.
pub fn find(name: &str) -> Option<&'static StoreInfo> {
    all().find(|info| info.name == name)
}

/// The program that `kvtrial fetch-store` gets for the store of that name.
pub fn bundle_of(name: &str) -> Option<&'static store::Bundle> {
    bundles().find(|bundle| bundle.store == name)
}
