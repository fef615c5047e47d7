use super::Routed;
use crate::immediate::{Immediate, SyncStore};
use crate::{
    Executor, Expected, Failure, Operation, Reply, RowBuffer, Session, SessionPlan, Sink, Slot, StoreError, Until,
};
use std::collections::{BTreeMap, VecDeque};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// A tree of one node; knows its own number, so that a test sees who was asked.
#[derive(Default)]
pub(crate) struct Tree {
    pub(crate) pairs: BTreeMap<Vec<u8>, Vec<u8>>,
    value: Vec<u8>,
    rows: RowBuffer,
    refuses: Option<&'static str>,
}

impl SyncStore for Tree {
    fn execute(&mut self, operation: &Operation<'_>) -> Reply<'_> {
        if let Some(words) = self.refuses {
            return Reply::Failed(Failure::Refused(words));
        }
        self.rows.clear();
        match *operation {
            Operation::Get { key } => match self.pairs.get(key) {
                Some(value) => {
                    self.value.clone_from(value);
                    Reply::Value(&self.value)
                }
                None => Reply::Missing,
            },
            Operation::Put { key, value } => {
                self.pairs.insert(key.into(), value.into());
                Reply::Done
            }
            Operation::PutMany { pairs } => {
                self.pairs.extend(pairs.iter().map(|(key, value)| (key.to_vec(), value.to_vec())));
                Reply::Done
            }
            Operation::GetMany { keys } => {
                for key in keys {
                    if let Some(value) = self.pairs.get(*key) {
                        self.rows.push(key, value);
                    }
                }
                Reply::Rows(self.rows.rows())
            }
            Operation::Scan { start, limit } => {
                let found = self.pairs.range(start.to_vec()..).take(limit as usize);
                found.for_each(|(key, value)| self.rows.push(key, value));
                Reply::Rows(self.rows.rows())
            }
            Operation::Delete { key } => self.pairs.remove(key).map_or(Reply::Missing, |_| Reply::Done),
            Operation::CompareAndSet { key, expected: Expected::Absent, .. } if self.pairs.contains_key(key) => {
                Reply::Conflict
            }
            Operation::CompareAndSet { key, expected: Expected::Absent, value } => {
                self.pairs.insert(key.into(), value.into());
                Reply::Done
            }
            _ => panic!("{operation:?}"),
        }
    }
}

/// A session that answers at the next poll, not at submit.
pub(crate) struct Late {
    pub(crate) within: Box<dyn Session>,
    pub(crate) due: VecDeque<(Slot, crate::OwnedReply)>,
    pub(crate) polls: std::rc::Rc<std::cell::Cell<u32>>,
}

impl Session for Late {
    fn submit(&mut self, slot: Slot, operation: &Operation<'_>) -> Result<Option<Reply<'_>>, StoreError> {
        let reply = self.within.submit(slot, operation)?.unwrap();
        self.due.push_back((slot, reply.into()));
        Ok(None)
    }

    fn poll(&mut self, _: &mut Context<'_>, until: Until, sink: &mut dyn Sink) -> Poll<Result<(), StoreError>> {
        self.polls.set(self.polls.get() + 1);
        sink.arrived();
        if let (Until::At(time), None) = (until, self.due.front()) {
            std::thread::sleep(time.saturating_duration_since(Instant::now()));
        }
        for (slot, reply) in self.due.drain(..) {
            sink.reply(slot, &reply.as_reply());
        }
        Poll::Ready(Ok(()))
    }
}

const PLAN: SessionPlan = SessionPlan { clients: 1, pipeline: 3 };

/// The node a key names by its first byte.
fn by_first_byte(key: &[u8]) -> usize {
    usize::from(key[0] - b'0')
}

fn immediate(nodes: usize) -> Vec<Box<dyn Session>> {
    (0..nodes).map(|_| Immediate::session(PLAN, || Ok(Tree::default())).unwrap()).collect()
}

fn routed(sessions: Vec<Box<dyn Session>>) -> Box<dyn Session> {
    Routed::session(by_first_byte, sessions, PLAN.slots()).unwrap()
}

fn late(nodes: usize) -> Box<dyn Session> {
    let late = |within| Box::new(Late { within, due: VecDeque::new(), polls: Default::default() }) as Box<dyn Session>;
    routed(immediate(nodes).into_iter().map(late).collect())
}

#[derive(Default)]
pub(crate) struct Inbox(pub(crate) Vec<(Slot, String)>);

impl Sink for Inbox {
    fn arrived(&mut self) {}

    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) {
        self.0.push((slot, show(reply)));
    }
}

pub(crate) fn show(reply: &Reply<'_>) -> String {
    match reply {
        Reply::Rows(rows) => {
            let row = |(key, value)| format!("{}={}", String::from_utf8_lossy(key), String::from_utf8_lossy(value));
            rows.iter().map(row).collect::<Vec<_>>().join(" ")
        }
        Reply::Value(value) => String::from_utf8_lossy(value).into_owned(),
        Reply::Failed(Failure::Refused(words) | Failure::Protocol(words)) => (*words).to_owned(),
        other => format!("{other:?}"),
    }
}

/// Carries out one operation, polling where it takes that.
pub(crate) fn run(session: &mut dyn Session, slot: Slot, operation: &Operation<'_>) -> String {
    if let Some(reply) = session.submit(slot, operation).unwrap() {
        return show(&reply);
    }
    let mut inbox = Inbox::default();
    let deadline = Instant::now() + Duration::from_secs(5);
    while inbox.0.is_empty() {
        assert!(Instant::now() < deadline, "no reply to {operation:?}");
        let until = Until::At(Instant::now() + Duration::from_millis(10));
        let polled = session.poll(&mut Context::from_waker(Waker::noop()), until, &mut inbox);
        assert!(matches!(polled, Poll::Ready(Ok(()))));
    }
    assert_eq!(inbox.0.len(), 1, "{:?}", inbox.0);
    assert_eq!(inbox.0[0].0, slot);
    inbox.0.remove(0).1
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
    sessions.push(Immediate::session(PLAN, || Ok(Tree { refuses: Some("full"), ..Tree::default() })).unwrap());
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
    while inbox.0.len() < 3 {
        let _ = session.poll(&mut Context::from_waker(Waker::noop()), Until::Now, &mut inbox);
    }
    inbox.0.sort();
    let expected = [(0, "2z=5 0a=4"), (1, "1"), (2, "0a=4 0c=1")];
    assert_eq!(inbox.0, expected.map(|(slot, reply)| (slot, reply.to_owned())));
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
