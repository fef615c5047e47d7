//! Voldemort, the real servers, where one that was built is on PATH or named by `KVTRIAL_VOLDEMORT`.
#![cfg(feature = "voldemort")]
#![allow(clippy::unwrap_used)]

use crate::common;
use crate::suite;

use std::sync::OnceLock;
use store::{Operation, OwnedReply};
use study::Spec;
use testkit::Rig;
use testkit::replies::{doubt, loss, refusal, value};
use testkit::waiting::until;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

fn rig() -> &'static Rig {
    static RIG: OnceLock<Rig> = OnceLock::new();
    Rig::shared("voldemort", &RIG)
}

suite! {
    ignored "Voldemort comes in no package":
    all_bytes_come_back_from_keys_and_values,
    values_of_every_size_come_back_whole,
    an_overwrite_leaves_nothing_of_the_old_value,
    what_was_never_stored_is_missing,
    many_keys_come_in_the_order_asked,
    sixteen_slots_may_create_the_same_key,
    a_refused_value_leaves_the_connection_usable,
    the_store_says_what_it_is,
}

#[test]
#[ignore = "Voldemort comes in no package"]
fn every_level_starts_and_is_read_back() {
    common::levels(&["voldemort"], &["none", "os"]);
}

#[test]
#[ignore = "Voldemort comes in no package"]
fn a_killed_server_is_lost_and_found_again_when_it_is_back() {
    common::restart::kill_and_come_back("voldemort,durability=os");
}

#[test]
#[ignore = "Voldemort comes in no package"]
fn a_private_server_answers_nobody_who_comes_from_elsewhere() {
    // The server listens on all addresses; what counts is where a connection comes from.
    let port = rig().port();
    let answer = |from: &str| {
        let from = format!("{from}:0").parse().unwrap();
        store::asynchronous::runtime().unwrap().block_on(async {
            let socket = tokio::net::TcpSocket::new_v4().unwrap();
            socket.bind(from).unwrap();
            let mut stream = socket.connect(([127, 0, 0, 1], port).into()).await.unwrap();
            let mut said = Vec::new();
            if stream.write_all(b"pb0").await.is_ok() {
                let _ = (&mut stream).take(2).read_to_end(&mut said).await;
            }
            said
        })
    };
    assert_eq!(answer("127.0.0.1"), b"ok");
    assert_eq!(answer("127.0.0.2"), b"", "another address of this machine is no friend");
}

#[test]
#[ignore = "Voldemort comes in no package"]
fn puts_that_meet_are_sent_again_until_each_is_stored() {
    let rig = Rig::start("voldemort");
    let mut client = rig.client(16, 1);
    for round in 0..20_u8 {
        let value = [round];
        let puts: Vec<(u32, Operation<'_>)> =
            (0..16).map(|slot| (slot, Operation::Put { key: b"met", value: &value })).collect();
        assert!(client.on_slots(&puts).iter().all(|reply| *reply == OwnedReply::Done));
    }
    assert_eq!(client.get("met"), OwnedReply::Value(vec![19]));
    assert!(rig.store().resent() > 0, "sixteen clients never met");
}

#[test]
#[ignore = "Voldemort comes in no package"]
fn a_store_of_the_users_is_found_by_its_name_and_options_are_refused_there() {
    let spec: Spec = format!("voldemort://127.0.0.1:{}/kvtrial", rig().port()).parse().unwrap();
    let open = host::open(testkit::rig::info("voldemort"), &spec, &std::env::temp_dir()).unwrap();
    let facts = open.store().facts().unwrap();
    assert_eq!((facts.version.as_str(), facts.config["persistence"].as_str()), ("not told", "bdb"));
    let refused = |url: String| {
        let spec: Spec = url.parse().unwrap();
        host::open(testkit::rig::info("voldemort"), &spec, &std::env::temp_dir()).map(drop).unwrap_err().to_string()
    };
    let other = refused(format!("voldemort://127.0.0.1:{}/other", rig().port()));
    assert!(other.contains("it has no store 'other', but kvtrial"), "{other}");
    let option = refused(format!("{spec},nodes=3"));
    assert!(option.contains("nodes= is for a private store"), "{option}");
}

#[test]
#[ignore = "Voldemort comes in no package"]
fn of_three_nodes_one_may_die_and_nothing_acknowledged_is_lost() {
    let rig = Rig::start("voldemort,nodes=3,durability=os");
    let facts = rig.store().facts().unwrap();
    let fact = |name: &str| facts.config[name].clone();
    assert_eq!(["replication-factor", "required-reads", "required-writes"].map(fact), ["3", "2", "2"]);
    let mut client = rig.client(3, 1);
    let keys: Vec<String> = (0..300).map(|number| format!("key{number}")).collect();
    for key in &keys {
        assert_eq!(client.put(key, key), OwnedReply::Done);
    }
    let mut all_are = |expected: &dyn Fn(&str) -> OwnedReply| {
        keys.iter().all(|key| {
            let reply = client.get(key);
            let nobody_answered = loss(&reply).or(refusal(&reply)).or(doubt(&reply)).is_some();
            assert!(nobody_answered || reply == expected(key), "{key}: {reply:?}");
            !nobody_answered
        })
    };
    assert!(all_are(&|key| value(key)));
    rig.kill_node("node2");
    until("the others answer for every key", || all_are(&|key| value(key)));
    let mut writer = rig.client(3, 1);
    for key in &keys {
        until("two of three have it", || writer.put(key, "later") == OwnedReply::Done);
    }
    rig.start_node_again("node2");
    // It has none of the later versions: a read takes the latest of two nodes' answers.
    for _ in 0..3 {
        assert!(all_are(&|_| value("later")));
    }
}

#[test]
#[ignore = "Voldemort comes in no package"]
fn a_key_is_on_the_nodes_that_the_servers_themselves_expect() {
    // A server refuses keys that are not its own, so that every answer proves the ring.
    let rig = Rig::start("voldemort,nodes=4,replication=2,required-writes=2");
    let mut client = rig.client(4, 1);
    for number in 0..500 {
        let key = format!("ring{number}");
        assert_eq!(client.put(&key, &key), OwnedReply::Done, "{key}");
        assert_eq!(client.get(&key), value(&key), "{key}");
    }
    let keys: Vec<String> = (0..500).map(|number| format!("ring{number}")).collect();
    let keys: Vec<&[u8]> = keys.iter().map(|key| key.as_bytes()).collect();
    let expected = testkit::replies::rows(keys.iter().map(|key| (*key, *key)));
    assert!(client.call(Operation::GetMany { keys: &keys }) == expected);
}
