//! Adapters of servers whose protocol is spoken here, byte by byte. Adding one is one file and one line in this one.
//!
//! An adapter says what the store is ([`store::StoreInfo`]), how a private server is started (a [`store::ServerPlan`], plain data), and how
//! operations become bytes. What never lives here: starting processes, timing, jobs.

ground::adapters! {
    echo,
    redis, redis_cluster, memcached, tyrant, mysql_memcached, handlersocket, nats,
    hazelcast, infinispan, ignite,
}

ground::bundles! { one: [hazelcast, infinispan, ignite], several: [redis::versions::REDIS, redis::versions::VALKEY, nats::VERSIONS] }

pub use echo::served_by as echo_served_by;
