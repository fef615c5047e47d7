//! Cassandra, the real server: nodes that die, nodes that do not find each other. Its program is fetched, so what starts it is among the
//! longer tests; `kvtrial check` of it is in `crates/cli/tests/fetch_store.rs`.

#![cfg(feature = "cassandra")]
#![allow(clippy::unwrap_used)]

use store::{Belongings, Endpoint, Expected, Operation, OwnedReply, Store, Whereabouts};
use study::{Spec, Target};
use testkit::replies::{refusal, value};
use testkit::rig::connect_of;
use testkit::waiting::until;
use testkit::{Client, Rig};

/// A put, a get, a compare-and-set and a delete of each of these keys, as far as they come; the first reply that is none of the expected.
fn refused_of(client: &mut Client, round: &str) -> Vec<String> {
    let mut refused = Vec::new();
    for number in 0..20 {
        let key = format!("{round}{number}");
        let new = Operation::CompareAndSet { key: key.as_bytes(), expected: Expected::Absent, value: b"new" };
        let asked = [
            (new, OwnedReply::Done),
            (new, OwnedReply::Conflict),
            (Operation::Put { key: key.as_bytes(), value: b"put" }, OwnedReply::Done),
            (Operation::Get { key: key.as_bytes() }, value("put")),
            (Operation::Delete { key: key.as_bytes() }, OwnedReply::Done),
            (Operation::Get { key: key.as_bytes() }, OwnedReply::Missing),
        ];
        for (operation, expected) in asked {
            let reply = client.on_slots(&[(0, operation)]).remove(0);
            match refusal(&reply) {
                Some(words) => refused.push(words.to_owned()),
                None => assert_eq!(reply, expected, "{key}"),
            }
        }
    }
    refused
}

#[test]
#[ignore = "minutes: Java servers"]
fn of_three_replicas_one_may_die_where_a_quorum_is_asked_and_none_where_all_are() {
    let rig = Rig::start("cassandra,nodes=3");
    let facts = rig.store().facts().unwrap();
    let said = |name: &str| facts.config[name].as_str();
    assert_eq!((facts.product.as_str(), facts.version.as_str()), ("Cassandra", "5.0.5"));
    assert_eq!([said("replication"), said("consistency"), said("nodes")], ["SimpleStrategy 3", "quorum", "3"]);
    assert_eq!([said("commitlog_sync"), said("retries")], ["periodic", "none"]);
    let of_all: Spec = "cassandra,nodes=3,consistency=all".parse().unwrap();
    let of_all = connect_of("cassandra")(&of_all, &rig.endpoints()).unwrap();
    assert_eq!(of_all.facts().unwrap().config["consistency"], "all");
    let (mut quorum, mut all) = (rig.client(1, 1), Client::new(&*of_all, 1, 1));
    assert_eq!(refused_of(&mut quorum, "a"), [""; 0]);
    assert_eq!(refused_of(&mut all, "b"), [""; 0]);
    let kept = || (0..10).map(|number| format!("kept{number}"));
    kept().for_each(|key| assert_eq!(quorum.put(&key, &key), OwnedReply::Done));

    rig.kill_node("node2");
    // What it coordinated is lost once, and what waited for it; then the others know that it is dead.
    until("a quorum answers for every key", || kept().all(|key| quorum.get(&key) == value(&key)));
    until("every operation is answered by a quorum", || {
        let replies = (0..20).map(|number| quorum.put(format!("c{number}"), "v")).collect::<Vec<_>>();
        replies.iter().all(|reply| *reply == OwnedReply::Done)
    });
    assert_eq!(refused_of(&mut quorum, "d"), [""; 0]);
    until("all is refused for every key", || {
        kept().all(|key| refusal(&all.get(&key)).is_some_and(|words| words.contains("2 of 3 replicas are up")))
    });
    let put = all.put("e", "v");
    assert!(refusal(&put).is_some_and(|words| words.contains("consistency level ALL")), "{put:?}");
    assert_eq!(quorum.get("e"), OwnedReply::Missing, "what was refused is not there");

    rig.start_node_again("node2");
    until("all is answered again", || kept().all(|key| all.get(&key) == value(&key)));
    assert_eq!(refused_of(&mut all, "f"), [""; 0]);
}

#[test]
#[ignore = "minutes: Java servers"]
fn a_node_that_joins_takes_its_share_and_the_ring_says_which_keys_those_are() {
    let rig = Rig::start("cassandra,nodes=3,replication=1,consistency=one");
    let mut client = rig.client(1, 1);
    let keys = || (0..200).map(|number| format!("key{number}"));
    keys().for_each(|key| assert_eq!(client.put(&key, &key), OwnedReply::Done));
    let places = |store: &dyn Store| {
        let Whereabouts::Cluster(cluster) = store.whereabouts() else { panic!("it says nothing") };
        let keepers = cluster.keepers().unwrap();
        keys().map(|key| keepers.keeper(key.as_bytes())).collect::<Vec<usize>>()
    };
    let before = places(rig.store());
    let four = [rig.endpoints(), vec![rig.add_node()]].concat();
    let joined = connect_of("cassandra")(&"cassandra,nodes=3,replication=1".parse().unwrap(), &four).unwrap();
    let after = places(&*joined);
    let moved = before.iter().zip(&after).filter(|(before, after)| before != after);
    assert!(
        (10..120).contains(&moved.clone().count()) && moved.clone().all(|(_, after)| *after == 3),
        "{before:?} {after:?}"
    );
    let mut client = Client::new(&*joined, 1, 1);
    keys().for_each(|key| assert_eq!(client.get(&key), value(&key), "it is at its new node"));
}

#[test]
#[ignore = "minutes: Java servers"]
fn nodes_that_have_not_found_each_other_are_no_cluster() {
    let (one, other) = (Rig::start("cassandra"), Rig::start("cassandra"));
    let both = [one.endpoint().clone(), other.endpoint().clone()];
    let refused = connect_of("cassandra")(&Spec::private("cassandra"), &both).map(|_| ()).unwrap_err().to_string();
    assert!(refused.contains("1 of 2 nodes have found each other"), "{refused}");
}

#[test]
#[ignore = "a minute: a Java server"]
fn a_node_without_enough_heap_dies_at_its_start_and_that_is_said() {
    // Java ends with status 3 when it has no memory.
    let spec: Spec = "cassandra,heap=64,nodes=3".parse().unwrap();
    let info = kvtrial_catalog::find("cassandra").unwrap();
    let Err(error) = host::open(info, &spec, &std::env::temp_dir()) else { panic!("64 MiB are enough") };
    let words = error.to_string();
    assert!(words.contains("cassandra did not start: node") && words.contains("ended with status 3"), "{words}");
}

#[test]
#[ignore = "a minute: a Java server"]
fn a_cluster_of_the_user_s_is_worked_in_the_keyspace_that_is_named_and_left_as_it_was() {
    let rig = Rig::start("cassandra,durability=commit");
    assert_eq!(rig.store().facts().unwrap().config["commitlog_sync"], "batch");
    let open = |text: String| {
        let spec: Spec = text.parse().unwrap();
        let Target::Server(authority) = &spec.target else { panic!("{spec}") };
        connect_of("cassandra")(&spec, &Endpoint::of(authority, 9042))
    };
    let missing = open(format!("cassandra://127.0.0.1:{}/nowhere", rig.port())).map(|_| ()).unwrap_err().to_string();
    assert!(missing.to_lowercase().contains("keyspace") && missing.contains("nowhere"), "{missing}");
    let store = open(format!("cassandra://127.0.0.1:{}/kvtrial", rig.port())).unwrap();
    assert_eq!(store.capabilities().durability, study::Durability::Commit, "as the server has it");
    assert_eq!(Client::new(&*store, 1, 1).put("k", "v"), OwnedReply::Done);
    let Belongings::Own(tables) = store.belongings() else { panic!("it has no table of its own") };
    assert_eq!((tables.rows().unwrap(), tables.names()), (1, vec!["table kvtrial.kvtrial_kv".to_owned()]));
    tables.clear().unwrap();
    assert_eq!(tables.rows().unwrap(), 0);
    tables.unmake().unwrap();
    assert!(tables.rows().is_err(), "the table is gone");
    let other = open(format!("cassandra://127.0.0.1:{}/kvtrial,durability=none", rig.port())).map(|_| ()).unwrap_err();
    assert!(other.to_string().contains("durability=commit"), "{other}");
}

#[test]
fn a_cluster_of_the_user_s_has_a_keyspace_and_no_options_of_a_private_one() {
    for (text, words) in [
        ("cassandra://127.0.0.1:1", "cassandra://HOST:PORT/KEYSPACE"),
        ("cassandra://127.0.0.1:1/mine,replication=2", "replication= is for a private cluster"),
        ("cassandra://127.0.0.1:1/mine,nodes=3", "nodes= is for a private cluster"),
    ] {
        let spec: Spec = text.parse().unwrap();
        let Target::Server(authority) = &spec.target else { panic!("{spec}") };
        let refused = connect_of("cassandra")(&spec, &Endpoint::of(authority, 9042)).map(|_| ()).unwrap_err();
        assert!(refused.to_string().contains(words), "{text}: {refused}");
    }
}
