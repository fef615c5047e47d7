//! A session with all its slots, called from a test.

use crate::replies::Inbox;
use crate::waiting::PATIENCE;
use std::future::poll_fn;
use std::task::{Context, Poll, Waker};
use std::time::Instant;
use store::{Operation, OwnedReply, Session, SessionPlan, Slot, Store, Until};

/// A session that is asked and waited for. What a test does not expect panics.
pub struct Client {
    /// The session, for tests that submit and poll themselves.
    pub session: Box<dyn Session>,
}

impl Client {
    /// Opens a session of a store.
    pub fn new(store: &dyn Store, clients: u32, pipeline: u32) -> Client {
        Client::over(ready(store.session(SessionPlan { clients, pipeline })))
    }

    /// Opens a session with one slot.
    pub fn of(store: &dyn Store) -> Client {
        Client::new(store, 1, 1)
    }

    /// This session.
    pub fn over(session: Box<dyn Session>) -> Client {
        Client { session }
    }

    /// Carries out one operation on slot 0.
    pub fn call(&mut self, operation: Operation<'_>) -> OwnedReply {
        self.all(&[operation]).remove(0)
    }

    /// Carries out operation `i` on slot `i`, all at once; replies come in the same order.
    pub fn all(&mut self, operations: &[Operation<'_>]) -> Vec<OwnedReply> {
        let operations: Vec<_> = (0..).zip(operations.iter().copied()).collect();
        self.on_slots(&operations)
    }

    /// Operations on slots of their own, all at once; replies in the same order.
    pub fn on_slots(&mut self, operations: &[(Slot, Operation<'_>)]) -> Vec<OwnedReply> {
        let session = &mut self.session;
        let mut replies: Vec<Option<OwnedReply>> = vec![None; operations.len()];
        let limit = Instant::now() + PATIENCE;
        session.executor().run(async {
            for (reply, (slot, operation)) in replies.iter_mut().zip(operations) {
                *reply = ready(session.submit(*slot, operation)).map(OwnedReply::from);
            }
            while let Some(open) = replies.iter().position(Option::is_none) {
                assert!(Instant::now() < limit, "no reply to {:?} in {PATIENCE:?}", operations[open].1.kind());
                let mut inbox = Inbox::default();
                ready(poll_fn(|cx| session.poll(cx, Until::At(limit), &mut inbox)).await);
                for (slot, reply) in inbox.replies {
                    let asked = operations.iter().position(|(other, _)| *other == slot);
                    let Some(asked) = asked else { panic!("nothing was asked on slot {slot}") };
                    assert_eq!(replies[asked].replace(reply), None, "slot {slot} was answered twice");
                }
            }
        });
        replies.into_iter().flatten().collect()
    }

    /// Polls a session that waits inside its poll, once.
    pub fn poll(&mut self, until: Until) -> Inbox {
        let mut inbox = Inbox::default();
        match self.session.poll(&mut Context::from_waker(Waker::noop()), until, &mut inbox) {
            Poll::Ready(polled) => ready(polled),
            Poll::Pending => panic!("this session does not wait inside its poll"),
        }
        inbox
    }

    /// Does a get.
    pub fn get(&mut self, key: impl AsRef<[u8]>) -> OwnedReply {
        self.call(Operation::Get { key: key.as_ref() })
    }

    /// Does a put.
    pub fn put(&mut self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> OwnedReply {
        self.call(Operation::Put { key: key.as_ref(), value: value.as_ref() })
    }

    /// Does a delete.
    pub fn delete(&mut self, key: impl AsRef<[u8]>) -> OwnedReply {
        self.call(Operation::Delete { key: key.as_ref() })
    }

    /// Does an append.
    pub fn append(&mut self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> OwnedReply {
        self.call(Operation::Append { key: key.as_ref(), value: value.as_ref() })
    }

    /// Does an increment.
    pub fn increment(&mut self, key: impl AsRef<[u8]>, by: i64) -> OwnedReply {
        self.call(Operation::Increment { key: key.as_ref(), by })
    }

    /// Does a scan.
    pub fn scan(&mut self, start: impl AsRef<[u8]>, limit: u32) -> OwnedReply {
        self.call(Operation::Scan { start: start.as_ref(), limit })
    }
}

fn ready<T>(result: Result<T, store::StoreError>) -> T {
    result.unwrap_or_else(|error| panic!("{error}"))
}
