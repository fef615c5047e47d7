//! Redis Cluster whose nodes fail as a test says: who is asked then, and that nobody waits for one that does not answer.
#![allow(clippy::unwrap_used, missing_docs)]

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::{Abandoned, Endpoint, Operation, OwnedFailure, OwnedReply, Store, Until};
use study::Spec;
use testkit::cluster::{Condition, FakeNode, master, replica};
use testkit::replies::{loss, value};
use testkit::rig::connect_of;
use testkit::waiting::{soon, until};
use testkit::{Client, Inbox};

const THIRDS: [RangeInclusive<usize>; 3] = [0..=5460, 5461..=10_922, 10_923..=16_383];

/// A key of each third: by CLUSTER KEYSLOT of a Redis 7.0, `bar` is in slot 5061, `a` in 15,495 and `c` in 7365.
const KEYS: [&str; 3] = ["bar", "c", "a"];

fn store(nodes: &[Arc<FakeNode>]) -> Box<dyn Store> {
    let endpoints: Vec<Endpoint> = nodes.iter().map(|node| Endpoint::loopback(node.port())).collect();
    connect_of("redis-cluster")(&Spec::private("redis-cluster"), &endpoints).unwrap()
}

/// Three masters, and a replica of the first.
fn cluster() -> Vec<Arc<FakeNode>> {
    let nodes: Vec<Arc<FakeNode>> = (0..4).map(|_| FakeNode::start()).collect();
    let mut says: String = (0..3).map(|at| master(&nodes[at], THIRDS[at].clone(), at as u64 + 1)).collect();
    says += &replica(&nodes[3], &nodes[0]);
    nodes.iter().for_each(|node| node.say(&says));
    for (node, key) in nodes.iter().zip(KEYS) {
        node.hold([(key.into(), key.into())].into());
    }
    nodes
}

/// The fourth node takes over from the first, and the others know.
fn take_over(nodes: &[Arc<FakeNode>]) {
    let says: String = master(&nodes[3], THIRDS[0].clone(), 9)
        + &master(&nodes[1], THIRDS[1].clone(), 2)
        + &master(&nodes[2], THIRDS[2].clone(), 3);
    nodes[1..].iter().for_each(|node| node.say(&says));
}

#[test]
fn eight_clients_go_on_at_their_nodes_while_four_wait_for_one_that_is_frozen() {
    let nodes = cluster();
    let store = store(&nodes);
    let mut client = Client::new(&*store, 12, 1);
    let slot_key = |slot: u32| KEYS[slot as usize % 3].as_bytes();
    let all: Vec<(u32, Operation<'_>)> = (0..12).map(|slot| (slot, Operation::Get { key: slot_key(slot) })).collect();
    client.on_slots(&all).iter().zip(&all).for_each(|(reply, (slot, _))| assert_eq!(*reply, value(slot_key(*slot))));
    nodes[0].become_(Condition::Frozen);
    // Each client of a healthy node has a get due every 20 ms, and those of the frozen one give up after 300 ms: what was not sent in its
    // 20 ms, because this thread waited for something else, is lost.
    let (every, patience, length) = (Duration::from_millis(20), Duration::from_millis(300), Duration::from_secs(4));
    let begin = Instant::now();
    let (mut answered, mut failed) = (0u32, 0u32);
    let mut sent: Vec<Option<Instant>> = vec![None; 12];
    let mut next = [begin; 12];
    while begin.elapsed() < length {
        let now = Instant::now();
        for slot in 0..12u32 {
            let at = slot as usize;
            if sent[at].is_none() && now >= next[at] {
                assert!(client.session.submit(slot, &Operation::Get { key: slot_key(slot) }).unwrap().is_none());
                sent[at] = Some(now);
                next[at] += every * (1 + (now.duration_since(next[at]).as_nanos() / every.as_nanos()) as u32);
            }
        }
        let mut replies = client.poll(Until::At(now + Duration::from_millis(5))).replies;
        for slot in (0..12u32).filter(|slot| slot % 3 == 0) {
            if sent[slot as usize].is_some_and(|sent| sent.elapsed() > patience) {
                let mut inbox = Inbox::default();
                let abandoned = client.session.abandon(slot, &mut inbox);
                replies.extend(inbox.replies);
                let had_failed = !replies.iter().any(|(of, _)| *of == slot);
                assert!(abandoned == Abandoned::GivenUp || !had_failed, "slot {slot} is still in flight");
            }
        }
        for (slot, reply) in replies {
            sent[slot as usize] = None;
            match (slot % 3, reply) {
                (
                    0,
                    OwnedReply::Failed(
                        OwnedFailure::Deadline | OwnedFailure::ConnectionLost(_) | OwnedFailure::NotConnected(_),
                    ),
                ) => failed += 1,
                (1 | 2, reply) if reply == value(slot_key(slot)) => answered += 1,
                (_, reply) => panic!("slot {slot}: {reply:?}"),
            }
        }
    }
    let due = 8 * (length.as_millis() / every.as_millis()) as u32;
    assert!(answered * 100 >= due * 95, "{answered} of {due} gets of healthy nodes were answered");
    assert!(failed >= 4 * 3, "those of the frozen node were given up {failed} times");
}

#[test]
fn a_frozen_master_whose_replica_took_over_is_left_and_not_gone_back_to_when_it_answers_again() {
    let nodes = cluster();
    let store = store(&nodes);
    let mut client = Client::new(&*store, 1, 1);
    assert_eq!(client.get("bar"), value("bar"));
    nodes[0].become_(Condition::Frozen);
    nodes[3].hold([(b"bar".to_vec(), b"taken over".to_vec())].into());
    assert!(client.session.submit(0, &Operation::Get { key: b"bar" }).unwrap().is_none());
    assert!(client.poll(Until::At(Instant::now() + Duration::from_millis(50))).replies.is_empty());
    let mut inbox = Inbox::default();
    assert_eq!(client.session.abandon(0, &mut inbox), Abandoned::GivenUp);
    assert_eq!(inbox.replies, [(0, OwnedReply::Failed(OwnedFailure::Deadline))]);
    // One that has no answer yet waits no longer than it takes to hear of the takeover.
    assert!(client.session.submit(0, &Operation::Get { key: b"bar" }).unwrap().is_none());
    take_over(&nodes);
    let reply = soon("the session hears of the takeover", || {
        client.poll(Until::At(Instant::now() + Duration::from_millis(20))).replies.pop()
    });
    if reply.1 != value("taken over") {
        assert!(matches!(reply.1, OwnedReply::Failed(_)), "{reply:?}");
        until("the replica is asked", || client.get("bar") == value("taken over"));
    }
    // The old master still says that the slots are its own, and answers for them.
    nodes[0].become_(Condition::Well);
    let ask = |client: &mut Client| {
        assert_eq!(client.get("bar"), value("taken over"));
        client.poll(Until::At(Instant::now() + Duration::from_millis(10)));
    };
    // What was sent to it while it was frozen it answers first, to nobody.
    (0..20).for_each(|_| ask(&mut client));
    let before = nodes[0].answered();
    (0..50).for_each(|_| ask(&mut client));
    assert_eq!(nodes[0].answered(), before, "a node was asked for slots it no longer owns");
}

#[test]
fn a_master_that_is_back_at_once_and_answers_first_is_not_followed_when_another_took_over() {
    let nodes = cluster();
    let store = store(&nodes);
    let mut client = Client::new(&*store, 1, 1);
    assert_eq!(client.get("bar"), value("bar"));
    nodes[3].hold([(b"bar".to_vec(), b"taken over".to_vec())].into());
    take_over(&nodes);
    nodes[1..].iter().for_each(|node| node.become_(Condition::Frozen));
    nodes[0].become_(Condition::Dead);
    assert!(client.session.submit(0, &Operation::Get { key: b"bar" }).unwrap().is_none());
    let lost = soon("the connection is lost", || client.poll(Until::Now).replies.pop());
    assert!(loss(&lost.1).is_some(), "{lost:?}");
    nodes[0].become_(Condition::Well);
    // The others answer when the old master has long been heard, within the second for which they are listened to.
    let heard = Instant::now();
    while heard.elapsed() < Duration::from_millis(500) {
        client.poll(Until::At(Instant::now() + Duration::from_millis(10)));
    }
    nodes[1..].iter().for_each(|node| node.become_(Condition::Well));
    assert_eq!(client.get("bar"), value("taken over"));
}

#[test]
fn a_cluster_with_a_dead_or_frozen_master_is_connected_to_when_its_replica_has_taken_over() {
    for condition in [Condition::Dead, Condition::Frozen] {
        let nodes = cluster();
        nodes[0].become_(condition);
        nodes[3].hold([(b"bar".to_vec(), b"taken over".to_vec())].into());
        let late = nodes.clone();
        let takeover = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(700)); // the time a takeover takes is the subject
            take_over(&late);
        });
        let store = store(&nodes);
        assert!(takeover.is_finished(), "{condition:?}: it was connected to before all slots were served");
        assert_eq!(Client::of(&*store).get("bar"), value("taken over"), "{condition:?}");
    }
}

#[test]
fn a_session_is_opened_though_a_master_died_after_the_store_was_connected_to() {
    let nodes = cluster();
    let store = store(&nodes);
    nodes[0].become_(Condition::Dead);
    nodes[3].hold([(b"bar".to_vec(), b"taken over".to_vec())].into());
    take_over(&nodes);
    assert_eq!(Client::of(&*store).get("bar"), value("taken over"));
}

#[test]
fn a_node_that_is_named_and_cannot_be_had_fails_its_operation_and_holds_up_no_other() {
    let nodes = cluster();
    let store = store(&nodes);
    let mut client = Client::new(&*store, 2, 1);
    nodes[0].become_(Condition::Dead);
    assert!(client.session.submit(0, &Operation::Get { key: b"bar" }).unwrap().is_none());
    let lost = soon("the connection is lost", || client.poll(Until::Now).replies.pop());
    assert!(loss(&lost.1).is_some(), "{lost:?}");
    assert!(client.session.submit(0, &Operation::Get { key: b"bar" }).unwrap().is_none());
    assert!(client.session.submit(1, &Operation::Get { key: b"a" }).unwrap().is_none());
    let reply = soon("the healthy node answers", || {
        client
            .poll(Until::At(Instant::now() + Duration::from_millis(20)))
            .replies
            .into_iter()
            .find(|(slot, _)| *slot == 1)
    });
    assert_eq!(reply.1, value("a"));
}
