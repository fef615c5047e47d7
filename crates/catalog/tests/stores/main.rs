//! Every store on the real server or library, where this machine has it. One program, so that tests that wait do so at the same time and
//! there is one to build.

#[path = "../common/mod.rs"]
mod common;

mod cassandra;
mod cluster_faults;
mod couchdb;
mod declared;
mod dynamodb;
mod etcd;
mod fates;
mod handlersocket;
mod hazelcast;
mod hbase;
mod holding;
mod ignite;
mod layers;
mod memcached;
mod mongodb;
mod mysql;
mod mysql_memcached;
mod nats;
mod nats_oracle;
mod postgres;
mod postgres_layouts;
mod redis;
mod redis_cluster;
mod redis_oracle;
mod registry;
mod required;
mod s3;
mod shard;
mod swept;
mod tls;
mod tyrant_server;
mod versitygw;
mod voldemort;
mod wire_stores;
