//! Ignite, the real servers: one of three that dies, and one that is full. Its program is fetched, so these are among the longer tests;
//! `kvtrial check` of it is in `crates/cli/tests/fetch_store.rs`.
#![allow(clippy::unwrap_used)]

use store::OwnedReply;
use testkit::Rig;
use testkit::replies::{loss, refusal, value};
use testkit::waiting::until;

#[test]
#[ignore = "minutes: Java servers"]
fn of_three_servers_one_may_die_and_nothing_acknowledged_is_lost() {
    let rig = Rig::start("ignite,nodes=3");
    let facts = rig.store().facts().unwrap();
    assert_eq!((facts.product.as_str(), facts.version.as_str()), ("Ignite", "2.17.0"));
    assert_eq!((facts.config["nodes"].as_str(), facts.config["backups"].as_str()), ("3", "1"));
    let mut client = rig.client(3, 1);
    let keys: Vec<String> = (0..300).map(|number| format!("key{number}")).collect();
    for key in &keys {
        assert_eq!(client.put(key, key), OwnedReply::Done);
    }
    assert_eq!(rig.store().holding().unwrap().keys, Some(300), "copies are not counted");
    let mut all_are_right = || {
        keys.iter().all(|key| {
            let reply = client.get(key);
            let nobody_answered = loss(&reply).or(refusal(&reply)).is_some();
            assert!(nobody_answered || reply == value(key), "{key}: {reply:?}");
            !nobody_answered
        })
    };
    assert!(all_are_right());
    rig.kill_node("node2");
    until("the others answer for every key", &mut all_are_right);
    rig.start_node_again("node2");
    until("every key is answered with all three", &mut all_are_right);
    assert_eq!(rig.store().holding().unwrap().keys, Some(300));
}

#[test]
#[ignore = "minutes: Java servers"]
fn a_server_whose_memory_is_full_ends_itself_and_acknowledges_nothing_more() {
    let rig = Rig::start("ignite,memory=64");
    let mut client = rig.client(1, 1);
    let large = vec![7; 1 << 20];
    let stored = (0..100).take_while(|number| client.put(format!("large{number}"), &large) == OwnedReply::Done).count();
    assert!((20..70).contains(&stored), "{stored} MiB in 64");
    // It ends itself, and whatever is asked then fails.
    until("it has ended", || loss(&client.get("large0")).is_some_and(|words| words.contains("refused")));
}
