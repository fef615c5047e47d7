//! The layer `shard` over real stores: servers, libraries and drivers.
#![allow(clippy::unwrap_used, missing_docs)]

use layers::placement::{Algorithm, Placement};
use std::collections::BTreeMap;
use store::{Endpoint, Operation, OperationKind, OwnedReply, StoreError};
use study::Spec;
use testkit::bytes::noise;
use testkit::replies::{loss, rows, value};
use testkit::rig::{connect_of, info};
use testkit::{Client, Rig};

const KEYS: usize = 300;

fn key(number: usize) -> String {
    format!("package-{number:03}")
}

fn stored(number: usize) -> Vec<u8> {
    noise(number as u64, number * 7)
}

/// What every store does alike, whatever it is spread over.
fn behaves_as_one(spec: &str) {
    let rig = Rig::start(spec);
    let mut client = rig.client(2, 8);
    for number in 0..KEYS {
        assert_eq!(client.put(key(number), stored(number)), OwnedReply::Done, "{spec}");
    }
    if info(rig.name()).transport.is_some() {
        client = Client::of(&*rig.connect().unwrap());
    }
    for number in (0..KEYS).rev() {
        assert_eq!(client.get(key(number)), value(stored(number)), "{spec}: {number}");
    }
    assert_eq!(client.delete(key(7)), OwnedReply::Done);
    assert_eq!((client.get(key(7)), client.delete(key(7))), (OwnedReply::Missing, OwnedReply::Missing), "{spec}");
    if rig.has(OperationKind::GetMany) {
        let keys: Vec<String> = [250, 3, 7, 99, 0, 42].map(key).into();
        let asked: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
        let found = [250, 3, 99, 0, 42].map(|number| (key(number), stored(number)));
        assert_eq!(client.call(Operation::GetMany { keys: &asked }), rows(found), "{spec}");
    }
    if rig.has(OperationKind::PutMany) {
        let pairs: Vec<(String, Vec<u8>)> =
            (0..40).map(|number| (format!("many-{number}"), noise(number, 20))).collect();
        let borrowed: Vec<(&[u8], &[u8])> = pairs.iter().map(|(key, value)| (key.as_bytes(), &value[..])).collect();
        assert_eq!(client.call(Operation::PutMany { pairs: &borrowed }), OwnedReply::Done, "{spec}");
        for (key, stored) in &pairs {
            assert_eq!(client.get(key), value(stored), "{spec}: {key}");
        }
    }
    if rig.has(OperationKind::Scan) {
        let found = [8, 9, 10, 11, 12].map(|number| (key(number), stored(number)));
        assert_eq!(client.scan(key(7), 5), rows(found), "{spec}");
    }
}

#[test]
fn servers_libraries_and_drivers_behave_as_one_store() {
    for spec in [
        "redis-unix,nodes=3",
        "redis,nodes=3,connections=1",
        "memcached,nodes=2,shard=ketama,connections=1",
        "sqlite,nodes=4,shard=rendezvous",
        "ram,nodes=5",
        "redis-unix,nodes=3,shard=rings",
        "sqlite,nodes=2,shard=rings,lookups=1",
    ] {
        behaves_as_one(spec);
    }
}

#[test]
fn two_rings_keep_each_value_on_one_storage_node_and_its_name_on_one_lookup_node() {
    let rig = Rig::start("redis-unix,nodes=3,shard=rings,lookups=2");
    let mut client = rig.client(1, 1);
    (0..KEYS).for_each(|number| assert_eq!(client.put(key(number), b"v"), OwnedReply::Done));
    let endpoints = rig.endpoints();
    let mut nodes: Vec<Client> = endpoints
        .iter()
        .map(|it| {
            Client::of(&*connect_of("redis-unix")(&Spec::private("redis-unix"), std::slice::from_ref(it)).unwrap())
        })
        .collect();
    let names = ["storage1", "storage2", "storage3"].map(value);
    for number in 0..KEYS {
        let found: Vec<OwnedReply> = nodes.iter_mut().map(|node| node.get(key(number))).collect();
        let (storage, lookup) = found.split_at(3);
        let with_value: Vec<usize> = (0..3).filter(|node| storage[*node] == value("v")).collect();
        let records: Vec<&OwnedReply> = lookup.iter().filter(|reply| **reply != OwnedReply::Missing).collect();
        let &[node] = &with_value[..] else { panic!("{number}: values on {with_value:?}") };
        assert_eq!(records, [&names[node]], "{number}");
    }
    assert_eq!(rig.store().holding().unwrap().keys, Some(KEYS as u64), "records are not keys");
}

#[test]
#[cfg(feature = "postgres")]
fn sessions_of_a_driver_share_the_runtime_of_their_thread() {
    behaves_as_one("postgres-unix,nodes=2,durability=none");
}

#[test]
fn a_key_lies_where_its_placement_says_and_nowhere_else() {
    for algorithm in Algorithm::ALL {
        let rig = Rig::start(&format!("redis-unix,nodes=3,shard={}", algorithm.name()));
        let mut client = rig.client(1, 1);
        (0..KEYS).for_each(|number| assert_eq!(client.put(key(number), b"v"), OwnedReply::Done));
        let placement = Placement::new(algorithm, 3);
        let redis = |endpoint: &Endpoint| {
            connect_of("redis-unix")(&Spec::private("redis-unix"), std::slice::from_ref(endpoint))
        };
        for (node, endpoint) in rig.endpoints().iter().enumerate() {
            let mut alone = Client::of(&*redis(endpoint).unwrap());
            for number in 0..KEYS {
                let expected =
                    if placement.node(key(number).as_bytes()) == node { value("v") } else { OwnedReply::Missing };
                assert_eq!(alone.get(key(number)), expected, "{}: {number} at {node}", algorithm.name());
            }
        }
    }
}

#[test]
fn a_node_that_dies_takes_its_keys_with_it_and_the_others_answer_on() {
    let rig = Rig::start("redis-unix,nodes=3,durability=os");
    let mut client = rig.client(1, 16);
    (0..KEYS).for_each(|number| assert_eq!(client.put(key(number), b"v"), OwnedReply::Done));
    let placement = Placement::new(Algorithm::Jump, 3);
    rig.kill_node("node2");
    // What is lost waits for the next attempt to connect: half a second, after a few.
    for number in 0..20 {
        let reply = client.get(key(number));
        match placement.node(key(number).as_bytes()) {
            1 => assert!(loss(&reply).is_some(), "{number}: {reply:?}"),
            _ => assert_eq!(reply, value("v"), "{number}"),
        }
    }
    rig.start_node_again("node2");
    (0..KEYS).for_each(|number| assert_eq!(client.get(key(number)), value("v"), "{number}: the old session"));
}

#[test]
fn the_facts_name_the_layer_and_what_differs_between_nodes() {
    let rig = Rig::start("redis-unix,nodes=2,shard=maglev");
    let facts = rig.store().facts().unwrap();
    assert_eq!((facts.config["shard"].as_str(), facts.config["shard_nodes"].as_str()), ("maglev", "2"));
    let differing: BTreeMap<_, _> = facts.config.iter().filter(|(name, _)| name.starts_with("node2_")).collect();
    assert!(differing.is_empty(), "{differing:?}");
    let mut client = rig.client(1, 1);
    (0..50).for_each(|number| assert_eq!(client.put(key(number), b"v"), OwnedReply::Done));
    assert_eq!(rig.store().holding().unwrap().keys, Some(50));
}

#[test]
fn servers_of_the_users_are_spread_over_by_their_addresses() {
    let rigs = [0, 1].map(|_| Rig::start("redis-unix"));
    let sockets = rigs.each_ref().map(|rig| rig.endpoint().to_string());
    let open = |spec: &str| {
        let spec: Spec = spec.parse().unwrap();
        (layers::class_of(info(&spec.name), &spec), host::open(info(&spec.name), &spec, &std::env::temp_dir()))
    };
    let (class, opened) = open(&format!("redis-unix://{},shard=modulo", sockets.join(",")));
    assert_eq!(class, study::Class::Distributed);
    let opened = opened.unwrap();
    let mut client = Client::of(opened.store());
    (0..KEYS).for_each(|number| assert_eq!(client.put(key(number), b"v"), OwnedReply::Done));
    let each = rigs.each_ref().map(|rig| rig.store().holding().unwrap().keys.unwrap() as usize);
    assert!(each[0] > KEYS / 4 && each[1] > KEYS / 4 && each[0] + each[1] == KEYS, "{each:?}");
    assert!(opened.usage().unwrap().peak_rss_bytes > rigs[0].pid() as u64, "both servers were found on this machine");
    let problem = open(&format!("redis-unix://{}", sockets.join(","))).1.unwrap_err().to_string();
    assert!(problem.contains("2 addresses were given; add shard=jump"), "{problem}");
}

#[test]
fn what_cannot_be_spread_is_refused_with_the_remedy() {
    let problem = |spec: &str| {
        let spec: Spec = spec.parse().unwrap();
        match layers::check(info(&spec.name), &spec) {
            Err(StoreError::Unsupported { problem, .. }) => problem,
            other => panic!("{spec}: {other:?}"),
        }
    };
    assert_eq!(problem("ram,shard=jump"), "shard= needs to know over how many; add nodes=4");
    assert!(problem("ram,nodes=0").contains("a number from 1 to 256"));
    assert!(problem("ram,nodes=4,shard=md5").contains("use jump, modulo, ketama"));
    assert!(problem("redis-cluster,shard=jump").contains("it has nodes= itself and needs no shard=; leave shard= out"));
    assert!(problem("redis://127.0.0.1:1,nodes=2").contains("the URL of yours says it"));
    assert!(problem("redis://127.0.0.1:1,shard=jump").contains("name them in the URL"));
}
