//! HBase, the real servers: one that is killed and started again, and what a table has to be. Its program is fetched, so these are among
//! the longer tests; `kvtrial check` of it is in `crates/cli/tests/fetch_store.rs`.
#![allow(clippy::unwrap_used, clippy::panic)]

use store::{Expected, Operation, OwnedReply};
use study::Durability;
use testkit::Rig;
use testkit::replies::{doubt, loss, refusal, value};
use testkit::waiting::until;

#[test]
#[ignore = "minutes: Java servers"]
fn a_server_that_was_killed_and_started_again_has_every_row_that_was_acknowledged() {
    let rig = Rig::start("hbase");
    let facts = rig.store().facts().unwrap();
    assert_eq!((facts.product.as_str(), facts.version.as_str()), ("HBase", "2.6.1"));
    let mut client = rig.client(1, 1);
    let keys: Vec<String> = (0..300).map(|number| format!("key{number}")).collect();
    for key in &keys {
        assert_eq!(client.put(key, key), OwnedReply::Done);
    }
    assert_eq!(rig.store().holding().unwrap().keys, Some(300));
    rig.kill_node("server");
    rig.start_node_again("server");
    until("every row is there again", || {
        keys.iter().all(|key| {
            let reply = client.get(key);
            let nobody_answered = loss(&reply).or(refusal(&reply)).or(doubt(&reply)).is_some();
            assert!(nobody_answered || reply == value(key), "{key}: {reply:?}");
            !nobody_answered
        })
    });
}

#[test]
#[ignore = "minutes: Java servers"]
fn what_is_put_is_there_and_what_is_deleted_is_not_at_either_level_and_keys_may_hold_any_byte() {
    for durability in [Durability::Os, Durability::None] {
        let rig = Rig::start(&format!("hbase,durability={durability}"));
        assert_eq!(rig.store().capabilities().durability, durability);
        puts_and_deletes(&rig);
    }
}

#[test]
#[ignore = "minutes: Java servers"]
fn an_empty_value_is_not_an_absent_one_to_any_condition() {
    let rig = Rig::start("hbase");
    let (mut one, mut other) = (rig.client(1, 1), rig.client(1, 1));
    let swap = |expected, value| Operation::CompareAndSet { key: b"k", expected, value };
    assert_eq!(one.call(swap(Expected::Absent, b"")), OwnedReply::Done);
    assert_eq!(other.call(swap(Expected::Absent, b"")), OwnedReply::Conflict, "it is there, and empty");
    let OwnedReply::Versioned { value: held, version } = one.call(Operation::GetVersioned { key: b"k" }) else {
        panic!("not there")
    };
    assert_eq!(held, b"");
    let empty = Expected::Present { version, value: b"" };
    assert_eq!(other.delete("k"), OwnedReply::Done);
    assert_eq!(one.call(swap(empty, b"late")), OwnedReply::Conflict, "it is gone");
    assert_eq!(one.get("k"), OwnedReply::Missing);
    // What is appended to nothing, and to an empty value, is all there is; and it can be swapped.
    assert_eq!(one.call(Operation::Append { key: b"k", value: b"" }), OwnedReply::Done);
    assert_eq!(one.get("k"), value(""));
    assert_eq!(one.call(Operation::Append { key: b"k", value: b"end" }), OwnedReply::Done);
    let OwnedReply::Versioned { value: held, version } = one.call(Operation::GetVersioned { key: b"k" }) else {
        panic!("not there")
    };
    assert_eq!(held, b"end");
    assert_eq!(one.call(swap(Expected::Present { version, value: b"end" }, b"new")), OwnedReply::Done);
    let pairs = one.call(Operation::GetMany { keys: &[b"k"] });
    assert_eq!(pairs, testkit::replies::rows([("k", "new")]));
}

fn puts_and_deletes(rig: &Rig) {
    let mut client = rig.client(1, 1);
    for round in 0..300 {
        assert_eq!(client.put("again", format!("{round}")), OwnedReply::Done);
        assert_eq!(client.get("again"), value(format!("{round}")), "round {round}");
        assert_eq!(client.delete("again"), OwnedReply::Done);
        assert_eq!(client.get("again"), OwnedReply::Missing);
    }
    for byte in 0..=255u8 {
        let key = [b'k', byte, b'/', byte];
        assert_eq!(client.put(key, [byte]), OwnedReply::Done);
        assert_eq!(client.get(key), value([byte]));
    }
    assert_eq!(rig.store().holding().unwrap().keys, Some(256));
}
