//! A tree in memory for each node of a store that is several, sessions that answer late, and replies in a word.

use crate::replies::Inbox;
use crate::waiting::PATIENCE;
use std::collections::{BTreeMap, VecDeque};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};
use store::immediate::SyncStore;
use store::{Expected, Failure, Operation, OwnedReply, Reply, RowBuffer, Session, Sink, Slot, StoreError, Until};

/// A tree in memory, of one node.
#[derive(Debug, Default)]
pub struct TestTree {
    /// What it holds.
    pub pairs: BTreeMap<Vec<u8>, Vec<u8>>,
    value: Vec<u8>,
    rows: RowBuffer,
    refuses: Option<&'static str>,
}

impl TestTree {
    /// Makes a tree that refuses everything, in these words.
    pub fn refusing(words: &'static str) -> TestTree {
        TestTree { refuses: Some(words), ..TestTree::default() }
    }
}

impl SyncStore for TestTree {
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
pub struct LateSession {
    within: Box<dyn Session>,
    due: VecDeque<(Slot, OwnedReply)>,
}

impl LateSession {
    /// Wraps a session that answers at once.
    pub fn around(within: Box<dyn Session>) -> Box<dyn Session> {
        Box::new(LateSession { within, due: VecDeque::new() })
    }
}

impl Session for LateSession {
    fn submit(&mut self, slot: Slot, operation: &Operation<'_>) -> Result<Option<Reply<'_>>, StoreError> {
        let reply = self.within.submit(slot, operation)?;
        let Some(reply) = reply else { panic!("the session within answers at once") };
        self.due.push_back((slot, reply.into()));
        Ok(None)
    }

    fn poll(&mut self, _: &mut Context<'_>, until: Until, sink: &mut dyn Sink) -> Poll<Result<(), StoreError>> {
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

/// Returns a reply in a word.
pub fn show(reply: &Reply<'_>) -> String {
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

/// Carries out one operation, polling where it takes that, and shows its reply.
pub fn run(session: &mut dyn Session, slot: Slot, operation: &Operation<'_>) -> String {
    match session.submit(slot, operation) {
        Ok(Some(reply)) => return show(&reply),
        Ok(None) => {}
        Err(error) => panic!("{operation:?}: {error}"),
    }
    let mut inbox = Inbox::default();
    let deadline = Instant::now() + PATIENCE;
    while inbox.replies.is_empty() {
        assert!(Instant::now() < deadline, "no reply to {operation:?}");
        let until = Until::At(Instant::now() + Duration::from_millis(10));
        let polled = session.poll(&mut Context::from_waker(Waker::noop()), until, &mut inbox);
        assert!(matches!(polled, Poll::Ready(Ok(()))));
    }
    let [(answered, reply)] = &inbox.replies[..] else { panic!("{:?}", inbox.replies) };
    assert_eq!(*answered, slot);
    show(&reply.as_reply())
}
