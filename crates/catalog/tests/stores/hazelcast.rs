//! Hazelcast and Infinispan, the real servers: the first of three dies, to which every client was connected once. Their programs are
//! fetched, so these are among the longer tests; `kvtrial check` of them is in `crates/cli/tests/fetch_store.rs`.
#![allow(clippy::unwrap_used)]

use store::OwnedReply;
use testkit::Rig;
use testkit::replies::{doubt, loss, refusal, value};
use testkit::waiting::until;

fn goes_on_without_the_first(spec: &str) {
    let rig = Rig::start(spec);
    let mut client = rig.client(3, 1);
    let keys: Vec<String> = (0..300).map(|number| format!("key{number}")).collect();
    for key in &keys {
        assert_eq!(client.put(key, key), OwnedReply::Done);
    }
    let mut all_are_right = || {
        keys.iter().all(|key| {
            let reply = client.get(key);
            let nobody_answered = loss(&reply).or(refusal(&reply)).or(doubt(&reply)).is_some();
            assert!(nobody_answered || reply == value(key), "{key}: {reply:?}");
            !nobody_answered
        })
    };
    assert!(all_are_right());
    rig.kill_node("node1");
    until("the others answer for every key", &mut all_are_right);
    // A client that comes then begins with a server that is gone, or with another.
    let mut late = rig.client(3, 1);
    until("writes are answered", || late.put("late", "1") == OwnedReply::Done);
    assert_eq!(late.get("late"), value("1"));
}

#[test]
#[ignore = "a minute: Java servers"]
fn hazelcast_goes_on_when_the_first_of_three_members_dies() {
    goes_on_without_the_first("hazelcast,nodes=3");
}

#[test]
#[ignore = "a minute: Java servers"]
fn infinispan_goes_on_when_the_first_of_three_servers_dies() {
    goes_on_without_the_first("infinispan,nodes=3");
}
