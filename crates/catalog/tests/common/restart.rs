//! A server killed under its client and started again in the same place.

use std::time::{Duration, Instant};
use store::{Operation, OwnedReply};
use testkit::replies::{loss, value};
use testkit::{Client, Rig};

/// What was acknowledged before the kill is there afterwards; what is asked meanwhile is answered as lost, at once; sessions that
/// were open go on without being opened again.
pub fn kill_and_come_back(spec: &str) {
    let rig = Rig::start(spec);
    let mut client = rig.client(2, 2);
    assert_eq!(client.put(b"kept", b"value"), OwnedReply::Done);
    rig.kill();
    let during = client.all(&[Operation::Get { key: b"kept" }; 4]);
    assert!(during.iter().all(|reply| loss(reply).is_some()), "{during:?}");
    let started = Instant::now();
    assert!(rig.connect().is_err() && started.elapsed() < Duration::from_secs(2), "a failing connect must fail fast");
    rig.start_again();
    let after = client.all(&[Operation::Get { key: b"kept" }; 4]);
    assert_eq!(after, vec![value("value"); 4], "the old session, the old data");
    let again = rig.connect().unwrap();
    assert_eq!(Client::of(&*again).get(b"kept"), value("value"), "a new session, the old data");
}
