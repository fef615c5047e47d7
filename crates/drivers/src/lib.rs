//! Adapters of servers by an asynchronous driver or over HTTP. Adding one is one file and one line in this one.
//!
//! An adapter says what the store is ([`store::StoreInfo`]), how a private server is started (a [`store::ServerPlan`], plain data), and how
//! operations become calls of a driver. What never lives here: starting processes, timing, jobs.

mod shared;

ground::adapters! {
    voldemort,
    mysql, postgres, mongodb, couchdb, etcd, dynamodb, s3, cassandra, hbase,
}

ground::bundles! { one: [couchdb, dynamodb, s3, cassandra, hbase], several: [mysql::VERSIONS, postgres::VERSIONS, etcd::VERSIONS] }
