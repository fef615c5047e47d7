//! Several sessions as one: who is asked, and how parts of one operation are joined.
#![allow(clippy::unwrap_used, missing_docs)]

use kvtrial_store::immediate::{Immediate, SyncStore};
use kvtrial_store::routed::Routed;
use kvtrial_store::{Executor, Operation, Reply, RowBuffer, Session, SessionPlan, Until};
use std::task::{Context, Waker};
use testkit::Inbox;
use testkit::trees::{LateSession, TestTree, run, show};

const PLAN: SessionPlan = SessionPlan { clients: 1, pipeline: 3 };

/// The node a key names by its first byte.
fn by_first_byte(key: &[u8]) -> usize {
    usize::from(key[0] - b'0')
}

fn immediate(nodes: usize) -> Vec<Box<dyn Session>> {
    (0..nodes).map(|_| Immediate::session(PLAN, || Ok(TestTree::default())).unwrap()).collect()
}

fn routed(sessions: Vec<Box<dyn Session>>) -> Box<dyn Session> {
    Routed::session(by_first_byte, sessions, PLAN.slots()).unwrap()
}

fn late(nodes: usize) -> Box<dyn Session> {
    routed(immediate(nodes).into_iter().map(LateSession::around).collect())
}

fn fill(session: &mut dyn Session) {
    let pairs: Vec<(&[u8], &[u8])> = vec![(b"0c", b"1"), (b"1a", b"2"), (b"2b", b"3"), (b"0a", b"4"), (b"2z", b"5")];
    assert_eq!(run(session, 1, &Operation::PutMany { pairs: &pairs }), "Done");
}

fn both() -> [Box<dyn Session>; 2] {
    [routed(immediate(3)), late(3)]
}

#[test]
fn an_operation_goes_to_the_node_of_its_key() {
    for mut session in both() {
        assert_eq!(run(&mut *session, 0, &Operation::Put { key: b"1k", value: b"v" }), "Done");
        assert_eq!(run(&mut *session, 2, &Operation::Get { key: b"1k" }), "v");
        assert_eq!(run(&mut *session, 0, &Operation::Get { key: b"2k" }), "Missing");
        assert_eq!(session.executor().run(async { 7 }), 7);
        assert!(matches!(session.executor(), Executor::Blocking));
    }
}

#[test]
fn rows_of_several_nodes_come_in_the_order_asked_without_those_that_are_absent() {
    for mut session in both() {
        fill(&mut *session);
        let keys: Vec<&[u8]> = vec![b"2z", b"0a", b"1x", b"1a", b"0c", b"2z"];
        assert_eq!(run(&mut *session, 2, &Operation::GetMany { keys: &keys }), "2z=5 0a=4 1a=2 0c=1 2z=5");
        assert_eq!(run(&mut *session, 2, &Operation::GetMany { keys: &[b"1x"] }), "");
        assert_eq!(run(&mut *session, 2, &Operation::GetMany { keys: &[] }), "");
        assert_eq!(run(&mut *session, 2, &Operation::PutMany { pairs: &[] }), "Done");
    }
}

#[test]
fn a_scan_takes_the_smallest_keys_of_all_nodes() {
    for mut session in both() {
        fill(&mut *session);
        assert_eq!(run(&mut *session, 0, &Operation::Scan { start: b"0b", limit: 3 }), "0c=1 1a=2 2b=3");
        assert_eq!(run(&mut *session, 0, &Operation::Scan { start: b"", limit: 99 }), "0a=4 0c=1 1a=2 2b=3 2z=5");
        assert_eq!(run(&mut *session, 0, &Operation::Scan { start: b"3", limit: 3 }), "");
    }
}

#[test]
fn a_part_that_fails_fails_the_whole_and_the_slot_can_be_used_again() {
    let mut sessions = immediate(2);
    sessions.push(Immediate::session(PLAN, || Ok(TestTree::refusing("full"))).unwrap());
    let mut session = routed(sessions);
    assert_eq!(run(&mut *session, 0, &Operation::PutMany { pairs: &[(b"0a", b"1"), (b"2a", b"1")] }), "full");
    assert_eq!(run(&mut *session, 0, &Operation::PutMany { pairs: &[(b"0a", b"1"), (b"1a", b"1")] }), "Done");
    assert_eq!(run(&mut *session, 0, &Operation::GetMany { keys: &[b"1a", b"0a"] }), "1a=1 0a=1");
}

#[test]
fn parts_of_one_slot_do_not_mix_with_operations_of_others() {
    let mut session = late(3);
    fill(&mut *session);
    let keys: Vec<&[u8]> = vec![b"2z", b"0a"];
    assert!(session.submit(0, &Operation::GetMany { keys: &keys }).unwrap().is_none());
    assert!(session.submit(1, &Operation::Get { key: b"0c" }).unwrap().is_none());
    assert!(session.submit(2, &Operation::Scan { start: b"", limit: 2 }).unwrap().is_none());
    let mut inbox = Inbox::default();
    while inbox.replies.len() < 3 {
        let _ = session.poll(&mut Context::from_waker(Waker::noop()), Until::Now, &mut inbox);
    }
    let mut found: Vec<_> = inbox.replies.iter().map(|(slot, reply)| (*slot, show(&reply.as_reply()))).collect();
    found.sort();
    let expected = [(0, "2z=5 0a=4"), (1, "1"), (2, "0a=4 0c=1")];
    assert_eq!(found, expected.map(|(slot, reply)| (slot, reply.to_owned())));
}

#[test]
fn rows_nobody_asked_for_are_not_hidden() {
    struct Liar(RowBuffer);
    impl SyncStore for Liar {
        fn execute(&mut self, _: &Operation<'_>) -> Reply<'_> {
            self.0.clear();
            self.0.push(b"0x", b"lie");
            Reply::Rows(self.0.rows())
        }
    }
    let liar = || Immediate::session(PLAN, || Ok(Liar(RowBuffer::default()))).unwrap();
    let mut session = routed(vec![liar(), liar()]);
    assert_eq!(run(&mut *session, 0, &Operation::GetMany { keys: &[b"0a", b"1a"] }), "0x=lie 0x=lie");
    assert!(run(&mut *session, 0, &Operation::PutMany { pairs: &[(b"0a", b""), (b"1a", b"")] }).contains("another"));
}
