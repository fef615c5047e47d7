//! What a store says of itself before it is opened is what it is once it is open.
//!
//! Every store that can be had on this machine is opened, privately. One that is not here is left out, unless all are required.

#![allow(clippy::unwrap_used)]

use kvtrial_catalog as catalog;
use store::{Availability, Bundle, Capabilities, OperationKind, StoreInfo};
use study::{Durability, Spec};

fn opened(info: &'static StoreInfo, spec: &Spec) -> Capabilities {
    let open = host::open(info, spec, &std::env::temp_dir()).unwrap_or_else(|error| panic!("{spec}: {error}"));
    let capabilities = Capabilities::given(open.store());
    open.close().unwrap();
    capabilities
}

#[test]
fn every_store_is_once_open_what_it_declared_before() {
    let mut compared = Vec::new();
    // A Java server takes from 10 s to start: they are compared in a test of their own.
    let is_apart = |bundle: &Bundle| bundle.is_java() || bundle.is_engine();
    for info in catalog::all().filter(|info| !catalog::bundle_of(info.name).is_some_and(is_apart)) {
        if !matches!(info.probe(), Availability::Found(_)) {
            testkit::absent::left_out(info.name, info.install);
            continue;
        }
        let spec = Spec::private(info.name);
        assert_eq!(layers::declared(info, &spec), opened(info, &spec), "{spec}");
        compared.push(info.name);
    }
    for name in ["null", "ram"] {
        assert!(compared.contains(&name), "{name} was not compared");
    }
}

#[test]
#[ignore = "minutes: Java servers"]
fn every_java_store_of_one_server_or_three_is_once_open_what_it_declared_before() {
    for bundle in catalog::bundles().filter(|bundle| bundle.is_java()) {
        let info = catalog::find(bundle.store).unwrap();
        if !matches!(info.probe(), Availability::Found(_)) {
            testkit::absent::left_out(info.name, info.install);
            continue;
        }
        for nodes in info.options.iter().find(|option| option.name == "nodes").map_or(&["1"][..], |it| it.values) {
            let mut spec = Spec::private(info.name);
            if *nodes != "1" {
                spec.options.insert("nodes".into(), (*nodes).into());
            }
            assert_eq!(layers::declared(info, &spec), opened(info, &spec), "{spec}");
        }
    }
}

#[test]
#[ignore = "minutes: engines that Go and Rust build"]
fn every_engine_that_go_or_rust_builds_is_once_open_what_it_declared_before() {
    for bundle in catalog::bundles().filter(|bundle| bundle.is_engine()) {
        let info = catalog::find(bundle.store).unwrap();
        for &level in info.durabilities {
            let spec = Spec { durability: Some(level), ..Spec::private(info.name) };
            assert_eq!(layers::declared(info, &spec), opened(info, &spec), "{spec}");
        }
    }
}

#[test]
fn of_the_servers_on_a_port_only_those_that_cannot_ask_for_a_password_ask_for_none() {
    // Cassandra could, and is not told to.
    let cannot = [
        "cassandra",
        "dynamodb",
        "echo",
        "hazelcast",
        "hbase",
        "ignite",
        "memcached",
        "mysql-memcached",
        "s3",
        "tyrant",
        "voldemort",
    ];
    // A real mongod is started without accounts.
    let can =
        |info: &&store::StoreInfo| matches!(info.probe(), Availability::Found(found) if !found.starts_with("MongoDB"));
    let found = catalog::all().filter(can);
    let open: Vec<&str> = found.filter(|info| info.is_open_to_all()).map(|info| info.name).collect();
    assert!(open.contains(&"memcached"), "{open:?}");
    assert!(open.iter().all(|name| cannot.contains(name)), "{open:?} are open to all, but only {cannot:?} cannot ask");
}

#[test]
fn options_and_levels_that_move_a_limit_are_declared_as_well() {
    for text in [
        "memcached,item=8m",
        "memcached-unix,item=512k",
        "tokyocabinet,durability=none",
        "sqlite,durability=commit",
        "sqlite,cache=64MiB",
        "sqlite,nodes=2,shard=rings",
        "ram,way=roaring",
        "ram,way=roaring,durability=none,cache=64MiB",
        "redis-unix,way=elements",
        "redis-unix,nodes=2",
        "postgres-unix,way=elements",
        "postgres-unix,layout=jsonb",
    ] {
        let spec: Spec = text.parse().unwrap();
        let info = catalog::find(&spec.name).unwrap();
        if matches!(info.probe(), Availability::NotBuilt(_)) {
            continue;
        }
        let declared = layers::declared(info, &spec);
        assert_ne!(declared, layers::declared(info, &Spec::private(info.name)), "{text} changes nothing");
        assert_eq!(declared, opened(info, &spec), "{text}");
    }
}

#[test]
fn every_store_declares_what_makes_sense_also_when_it_is_not_in_the_build() {
    for info in catalog::all() {
        let declared = layers::declared(info, &Spec::private(info.name));
        for kind in [OperationKind::Get, OperationKind::Put, OperationKind::Delete] {
            assert!(declared.has(kind), "{} has no {}", info.name, kind.name());
        }
        assert!(declared.min_key_bytes < declared.max_key_bytes, "{}", info.name);
        assert!(declared.max_value_bytes >= 400_000, "{}", info.name);
        assert_eq!(declared.has(OperationKind::Increment), declared.counter.is_some(), "{}", info.name);
        assert_eq!(declared.durability, info.durabilities[0], "{}", info.name);
        for &level in info.durabilities {
            let spec = Spec { durability: Some(level), ..Spec::private(info.name) };
            assert_eq!(layers::declared(info, &spec).durability, level, "{spec}");
        }
    }
    assert!(catalog::find("sqlite").unwrap().durabilities.contains(&Durability::Commit));
}
