//! A cluster that loses acknowledged writes when a replica takes over is found out, and one that loses none is accused of nothing but the
//! connections that broke.
#![allow(clippy::unwrap_used, missing_docs)]

use crate::common;

use common::Ran;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use testkit::cluster::{Condition, FakeNode, master, replica};
use testkit::waiting::until;

/// What the replica has when it takes over.
#[derive(Clone, Copy)]
enum Replica {
    /// All that its master acknowledged.
    Whole,
    /// What its master had 200 ms before it died.
    Late,
    /// Nothing: its master acknowledged and forwarded nothing.
    Empty,
}

/// `ycsb` on two masters; that of the first half dies in mid run, its replica takes over, and the old one, which is back at once, says that
/// the slots are still its own.
fn taken_over(replica_has: Replica) -> Ran {
    let nodes: Vec<Arc<FakeNode>> = (0..3).map(|_| FakeNode::start()).collect();
    let half = |node: usize, slots, epoch| master(&nodes[node], slots, epoch);
    let before = half(0, 0..=8191, 1) + &half(1, 8192..=16_383, 2) + &replica(&nodes[2], &nodes[0]);
    let after = half(2, 0..=8191, 3) + &half(1, 8192..=16_383, 2);
    nodes.iter().for_each(|node| node.say(&before));
    let url = format!("redis-cluster://{},{}", nodes[0].address(), nodes[1].address());
    let failing = std::thread::spawn(move || {
        // Some of its keys are looked for, loaded, and then asked for and put in turn.
        until("the run is in its middle", || nodes[0].answered() > 3000);
        // A client that asks after the death must hear of the new master, or it would go back to the old one, which acknowledges what it then
        // loses; and the new one answers nobody before it has what it is to have.
        nodes[2].become_(Condition::Frozen);
        nodes[1..].iter().for_each(|node| node.say(&after));
        nodes[0].become_(Condition::Dead);
        nodes[2].hold(match replica_has {
            Replica::Whole => nodes[0].data(),
            Replica::Late => nodes[0].data_before(Duration::from_millis(200)),
            Replica::Empty => HashMap::new(),
        });
        nodes[2].become_(Condition::Well);
        nodes[0].become_(Condition::Well);
    });
    // 300 records that half the operations put again: in 200 ms many are.
    let words = "--set workload=a --set records=300 --set value=100 --set operations=12000 --clients 4 --rate 6000";
    let ran = common::run_once("ycsb", &url, &[words]);
    failing.join().unwrap();
    ran
}

#[test]
fn a_replica_that_takes_over_with_all_that_was_acknowledged_is_not_accused() {
    let ran = taken_over(Replica::Whole);
    for kind in ["stale_value", "unexpected_miss", "wrong_value", "lost_updates"] {
        assert_eq!(ran.why(kind), None, "{}", ran.said());
    }
    assert!(ran.why("connection_lost").is_some(), "{}", ran.said());
}

#[test]
fn a_replica_that_takes_over_with_the_state_of_200_ms_ago_has_lost_updates() {
    let ran = taken_over(Replica::Late);
    let found = ["stale_value", "lost_updates"].iter().filter_map(|kind| ran.why(kind)).map(|it| it.0).sum::<u64>();
    assert!(found > 0, "{}", ran.said());
}

#[test]
fn a_master_that_acknowledges_and_forwards_nothing_has_lost_all_it_had() {
    let ran = taken_over(Replica::Empty);
    let (missing, _) = ran.why("unexpected_miss").unwrap_or_else(|| panic!("{}", ran.said()));
    assert!(missing > 50, "about half of 300 keys were the dead master's\n{}", ran.said());
}
