//! What a client makes of nodes that answer, are silent, or were overtaken: nodes of this test, which keep values in memory.
#![allow(clippy::unwrap_used, clippy::panic)]

use super::super::clock::{Clock, Entry};
use super::super::cluster::Cluster;
use super::super::layout::Layout;
use super::super::metadata::{Copies, Member, cluster_xml, stores_xml};
use super::super::protocol::node::{Mood, TestNode};
use super::{SlotClient, only};
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::asynchronous::Async;
use store::{Endpoint, Operation, OwnedFailure, OwnedReply, Resent, SessionPlan};
use testkit::Client;
use testkit::replies::{rows, value};

/// A client, and the nodes it speaks to.
struct Bench {
    nodes: Vec<TestNode>,
    client: Client,
    resent: Resent,
}

impl Bench {
    /// As many nodes as there are copies.
    fn of(replication: usize, required: usize) -> Bench {
        Bench::requiring(replication, required, required)
    }

    fn requiring(replication: usize, required_reads: usize, required_writes: usize) -> Bench {
        let nodes: Vec<TestNode> = (0..replication).map(|id| TestNode::start(id as i32)).collect();
        let member = |(id, node): (usize, &TestNode)| Member {
            id: id as i32,
            host: "127.0.0.1".into(),
            port: node.port,
            partitions: vec![id],
        };
        let members: Vec<Member> = nodes.iter().enumerate().map(member).collect();
        let copies = Copies { replication, required_reads, required_writes };
        let layout = Layout::of(&cluster_xml(&members), &stores_xml("kv", copies), "kv").unwrap();
        let cluster = Arc::new(Cluster::new("kv", layout, &Endpoint::loopback(nodes[0].port)));
        let resent = Resent::default();
        let plan = SessionPlan { clients: 1, pipeline: 1 };
        let session =
            Async::session(plan, async |_| Ok(SlotClient::open(cluster.clone(), resent.clone()).await.unwrap()));
        Bench { nodes, client: Client::over(session.unwrap()), resent }
    }

    fn ask(&mut self, operation: Operation<'_>) -> OwnedReply {
        self.client.call(operation)
    }

    fn put(&mut self, value: &str) -> OwnedReply {
        self.ask(Operation::Put { key: KEY, value: value.as_bytes() })
    }

    fn get(&mut self) -> OwnedReply {
        self.ask(Operation::Get { key: KEY })
    }

    /// The nodes in the order in which they are asked for the key.
    fn in_order(&self) -> Vec<TestNode> {
        let ring: Vec<Vec<usize>> = (0..self.nodes.len()).map(|id| vec![id]).collect();
        let ring = super::super::ring::Ring::of(&ring, self.nodes.len()).unwrap();
        ring.holders(KEY).into_iter().map(|node| self.nodes[node].clone()).collect()
    }

    /// Puts a version where only some nodes have it.
    fn plant(node: &TestNode, clock: &[(i32, i64)], value: &str) {
        let mut version = Clock::default();
        clock.iter().for_each(|(node, writes)| version.push(Entry { node: *node, writes: *writes }));
        node.state().pairs.entry(KEY.to_vec()).or_default().push((version, value.as_bytes().to_vec()));
    }
}

const KEY: &[u8] = b"key";

#[test]
fn a_put_asks_for_the_version_and_stores_the_next_one() {
    let mut bench = Bench::of(1, 1);
    assert_eq!((bench.put("one"), bench.put("two"), bench.get()), (OwnedReply::Done, OwnedReply::Done, value("two")));
    let node = bench.nodes[0].clone();
    assert_eq!(node.state().asked, [4, 2, 4, 2, 0]);
    assert_eq!(node.state().pairs[KEY][0].0.entries(), [Entry { node: 0, writes: 2 }]);
    assert_eq!(bench.resent.count(), 0);
}

#[test]
fn a_put_that_was_overtaken_is_sent_again() {
    let mut bench = Bench::of(1, 1);
    bench.nodes[0].state().mood = Mood::Overtaken;
    assert_eq!((bench.put("mine"), bench.get()), (OwnedReply::Done, value("mine")));
    assert_eq!((bench.resent.count(), bench.nodes[0].state().asked.clone()), (1, vec![4, 2, 4, 2, 0]));
}

#[test]
fn a_read_takes_the_latest_version_that_the_required_nodes_have() {
    let mut bench = Bench::of(3, 2);
    let order = bench.in_order();
    Bench::plant(&order[0], &[(0, 1)], "old");
    Bench::plant(&order[1], &[(0, 2)], "new");
    assert_eq!(bench.get(), value("new"));
    assert_eq!(order[2].state().asked, [0; 0], "two are enough");
}

#[test]
fn siblings_are_refused_to_a_reader_and_covered_by_the_next_put() {
    let mut bench = Bench::of(3, 2);
    let order = bench.in_order();
    Bench::plant(&order[0], &[(0, 2)], "one");
    Bench::plant(&order[1], &[(0, 1), (1, 1)], "other");
    let OwnedReply::Failed(OwnedFailure::Refused(words)) = bench.get() else { panic!() };
    assert!(
        words.starts_with("2 versions of the key were written without knowing of each other (siblings)"),
        "{words}"
    );
    assert_eq!((bench.put("both"), bench.get()), (OwnedReply::Done, value("both")));
    assert!(only(Vec::new()).unwrap().is_none());
}

#[test]
fn a_silent_node_is_waited_for_once_and_then_left_alone_while_the_others_suffice() {
    let mut bench = Bench::of(3, 2);
    let order = bench.in_order();
    order[2].state().mood = Mood::Silent;
    assert_eq!(bench.put("one"), OwnedReply::Done);
    let asked = order[2].state().asked.len();
    assert_eq!(asked, 1);
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(300) {
        assert_eq!((bench.put("two"), bench.get()), (OwnedReply::Done, value("two")));
    }
    assert_eq!(order[2].state().asked.len(), asked, "nobody asked it again");
}

#[test]
fn a_read_of_too_few_nodes_fails_and_a_put_that_cannot_read_the_version_writes_nothing() {
    let mut bench = Bench::of(3, 2);
    let order = bench.in_order();
    (order[1].state().mood, order[2].state().mood) = (Mood::Silent, Mood::Silent);
    let OwnedReply::Failed(failure) = bench.get() else { panic!() };
    assert!(
        failure.as_failure().words().contains("1 of the 2 nodes that are required: no answer within 0.5 s"),
        "{failure:?}"
    );
    order[0].state().asked.clear();
    let OwnedReply::Failed(OwnedFailure::NotConnected(words)) = bench.put("v") else { panic!() };
    assert_eq!(order[0].state().asked, [4], "its version is not known, so nothing is written");
    assert!(words.starts_with("1 of the 2 nodes"), "{words}");
}

#[test]
fn a_write_that_too_few_nodes_have_is_unknown() {
    let mut bench = Bench::requiring(3, 1, 3);
    let order = bench.in_order();
    order[2].state().mood = Mood::Silent;
    let OwnedReply::Failed(OwnedFailure::ConnectionLost(words)) = bench.put("v") else { panic!() };
    assert!(words.starts_with("2 of the 3 nodes that are required: no answer within 0.5 s"), "{words}");
    assert_eq!(bench.get(), value("v"));
}

#[test]
fn several_keys_come_in_the_order_asked_from_the_nodes_that_have_them() {
    let mut bench = Bench::of(2, 1);
    for key in [&b"a"[..], b"b", b"c"] {
        assert_eq!(bench.ask(Operation::Put { key, value: key }), OwnedReply::Done);
    }
    let reply = bench.ask(Operation::GetMany { keys: &[b"c", b"none", b"a", b"c"] });
    assert_eq!(reply, rows([("c", "c"), ("a", "a"), ("c", "c")]));
    bench.in_order()[0].state().mood = Mood::Silent;
    let reply = bench.ask(Operation::GetMany { keys: &[b"a", b"b"] });
    assert_eq!(reply, rows([("a", "a"), ("b", "b")]), "the other node has all of them");
}

#[test]
fn a_delete_says_whether_there_was_something_and_leaves_nothing() {
    let mut bench = Bench::of(3, 2);
    let delete = Operation::Delete { key: KEY };
    assert_eq!((bench.ask(delete), bench.put("one")), (OwnedReply::Missing, OwnedReply::Done));
    assert_eq!(
        (bench.ask(delete), bench.ask(delete), bench.get()),
        (OwnedReply::Done, OwnedReply::Missing, OwnedReply::Missing)
    );
}
