//! An opened store, and one worker thread's handle on it.

use crate::{
    Belongings, Capabilities, KeepSets, Maintenance, Operation, OperationKind, Reduce, Reply, StoreError, Sweep, Swept,
    Whereabouts, Witness,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::os::fd::BorrowedFd;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use study::HeadOfLine;

/// A logical client of a session, with at most one operation in flight. Slots are numbered from 0 within the session.
pub type Slot = u32;

/// The number of clients of a session, and of slots per client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionPlan {
    /// The clients of this session, each with a connection (or library handle) of its own unless they [share](crate::Connections) some. Slot `s`
    /// belongs to client `s / pipeline`.
    pub clients: u32,
    /// The slots per client: the operations it may have in flight.
    pub pipeline: u32,
}

impl SessionPlan {
    /// Returns clients times pipeline.
    pub fn slots(self) -> u32 {
        self.clients * self.pipeline
    }
}

/// The longest time a poll may wait for a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// The poll returns at once, with the replies that are there.
    Now,
    /// The poll returns at the first reply, or soon after this time (bridges may wake earlier; the caller looks at the clock itself).
    At(Instant),
}

/// A receiver of the replies from a poll.
pub trait Sink {
    /// Says that bytes have just arrived; the replies that follow until the next call all arrived now. Bridges call this before each batch
    /// of replies, so that one clock read serves them all.
    fn arrived(&mut self);

    /// Takes the reply to the operation in flight on `slot`.
    fn reply(&mut self, slot: Slot, reply: &Reply<'_>);
}

/// A worker thread's handle on a store, with many operations in flight.
pub trait Session {
    /// Starts an operation on an idle slot. `Some` is the reply of a store that answers at once; `None` means in flight.
    /// Bytes may be held back until the next [`poll`](Session::poll).
    ///
    /// # Errors
    /// The whole session is beyond use; the failure of one operation is a [`Reply::Failed`].
    fn submit(&mut self, slot: Slot, operation: &Operation<'_>) -> Result<Option<Reply<'_>>, StoreError>;

    /// Sends the bytes held back, then waits for replies and hands them to `sink`. Sessions whose [`executor`](Session::executor) is `Blocking` wait
    /// inside the call and never return `Pending`; others return `Pending` after registering the waker.
    ///
    /// # Errors
    /// The whole session is beyond use.
    fn poll(&mut self, cx: &mut Context<'_>, until: Until, sink: &mut dyn Sink) -> Poll<Result<(), StoreError>>;

    /// Gives up the operation in flight on this slot, because its time is over. Its failure is handed to `sink`, its connection is given up, and
    /// everything else in flight there fails, too. Afterwards the slot is idle, and the connection is opened again, to another node where there is
    /// one.
    fn abandon(&mut self, slot: Slot, sink: &mut dyn Sink) -> Abandoned {
        let _ = (slot, sink);
        Abandoned::Never
    }

    /// Sets the largest reply that can come from now on, in bytes of keys and values. A bridge to a network fails a far larger reply as
    /// [`Protocol`](crate::Failure::Protocol) (see [`believed`](crate::believed)). Until then any length the protocol allows is accepted.
    fn believe(&mut self, largest_reply_bytes: u64) {
        let _ = largest_reply_bytes;
    }

    /// Announces an operation of this kind on this key, which will soon be started on the slot. The slot gets nothing but such keys and their
    /// operations until it may [`rest`](Session::rest).
    fn expect(&mut self, slot: Slot, kind: OperationKind, key: &[u8]) -> Heed {
        let _ = (slot, kind, key);
        Heed::Ignored
    }

    /// Ends the slot's turn.
    fn rest(&mut self, slot: Slot) {
        let _ = slot;
    }

    /// Returns the parts that the key space had when the session was opened, each with its share of the keys: the keys for which one node answers, or
    /// fails to.
    fn parts(&self) -> Vec<f64> {
        vec![1.0]
    }

    /// Returns the part that a key is in: its place among [`parts`](Session::parts).
    fn part(&self, key: &[u8]) -> u16 {
        let _ = key;
        0
    }

    /// Returns the number of connections that were opened again since the session was opened: they broke, or the server closed them while nothing was
    /// asked.
    fn reconnected(&self) -> u64 {
        0
    }

    /// Takes the count of the requests that replies had to wait behind since the last call; `None` where no clients share a connection, or a reply
    /// may overtake another.
    fn take_head_of_line(&mut self) -> Option<HeadOfLine> {
        None
    }

    /// Returns the descriptor that becomes readable when there is something to hand over, for one thread to wait for several sessions;
    /// `None` where a session waits in [`poll`](Session::poll) only, or never. A session that was asked for its descriptor expects to be
    /// polled with [`Until::Now`].
    ///
    /// # Errors
    /// The system gives no such descriptor.
    fn descriptor(&mut self) -> io::Result<Option<BorrowedFd<'_>>> {
        Ok(None)
    }

    /// Returns the loop that drives this session.
    fn executor(&self) -> Executor {
        Executor::Blocking
    }
}

/// The result of giving an operation up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Abandoned {
    /// The operation has failed.
    GivenUp,
    /// The session cannot give it up, or has nothing in flight there.
    Never,
}

/// The result of announcing a key to a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heed {
    /// Nothing: there is no use in announcing more keys.
    Ignored,
    /// The key is being fetched into the processor's cache.
    Fetched,
}

/// The loop that drives a worker around a session.
#[derive(Clone)]
pub enum Executor {
    /// The session waits inside `poll`.
    Blocking,
    /// The whole loop must run inside one `block_on` of this runtime (leaving and re-entering loses wake-ups).
    #[cfg(feature = "async")]
    Tokio(std::rc::Rc<tokio::runtime::Runtime>),
}

impl Executor {
    /// Runs the loop to its end on this thread.
    pub fn run<T>(&self, body: impl Future<Output = T>) -> T {
        match self {
            Executor::Blocking => {
                let mut body = std::pin::pin!(body);
                let mut cx = Context::from_waker(std::task::Waker::noop());
                loop {
                    if let Poll::Ready(output) = body.as_mut().poll(&mut cx) {
                        return output;
                    }
                }
            }
            #[cfg(feature = "async")]
            Executor::Tokio(runtime) => runtime.block_on(tokio::task::unconstrained(body)),
        }
    }
}

/// The layout of client threads for a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threading {
    /// A call may block in the library: one thread per client.
    PerClient,
    /// One thread drives many connections.
    Shared,
}

/// The product that was really opened, as the product reports itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// The product, e.g. `Redis`, `MariaDB`, `FerretDB`.
    pub product: String,
    /// The version as the store states it.
    pub version: String,
    /// The effective configuration read back from the store: the settings that matter for speed and safety.
    pub config: BTreeMap<String, String>,
    /// The same as lines of the store's own configuration, ready to copy, in the order in which they must stand; empty where it has no such form.
    pub set_up: Vec<String>,
}

/// The longest time a server may take to count its keys, if it has to read all of them: longer than anybody waits. A worker that is silent for longer
/// than its work took is ended earlier.
pub const COUNT_PATIENCE: Duration = Duration::from_secs(24 * 60 * 60);

/// The time that requests about a thousand keys may take ([`Store::sweep`]).
pub const SWEEP_PATIENCE: Duration = Duration::from_secs(60);

/// The number of keys that a store says it holds, as far as it can say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holding {
    /// The number of keys, counters and records of counters, each counted once.
    pub keys: Option<u64>,
    /// The number of keys that the store gave up to make room, since it was started.
    pub evicted: u64,
    /// The number of keys whose time was over, since the store was started.
    pub expired: u64,
}

/// An opened store, shared by all threads of a trial.
pub trait Store: Send + Sync {
    /// Returns the operations the store does natively, and its limits.
    fn capabilities(&self) -> &Capabilities;

    /// Returns why an operation that stores of this kind have is not among the capabilities, in the store's words; `None` where the operation is
    /// there, or where no store of the kind has it.
    fn lacks(&self, kind: OperationKind) -> Option<&str> {
        let _ = kind;
        None
    }

    /// Opens one thread's handle; called on that thread, before the clock starts.
    ///
    /// # Errors
    /// The store cannot be reached or refuses.
    fn session(&self, plan: SessionPlan) -> Result<Box<dyn Session>, StoreError>;

    /// Opens the same handle, and calls [`believe`](Session::believe) at once: some drivers take their bound when they connect, and never again.
    ///
    /// # Errors
    /// The store cannot be reached or refuses.
    fn believing_session(&self, plan: SessionPlan, largest_reply_bytes: u64) -> Result<Box<dyn Session>, StoreError> {
        let mut session = self.session(plan)?;
        session.believe(largest_reply_bytes);
        Ok(session)
    }

    /// Returns how threads are laid out over clients.
    fn threading(&self) -> Threading;

    /// Reads product, version and effective configuration from the store.
    ///
    /// # Errors
    /// The store cannot be reached or refuses.
    fn facts(&self) -> Result<Facts, StoreError>;

    /// Returns the number of requests that the adapter has sent again without being asked since the store was opened (see [`Resent`](crate::Resent)).
    /// They took time, and no job saw them.
    fn resent(&self) -> u64 {
        0
    }

    /// Returns what the adapter has made in the server.
    fn belongings(&self) -> Belongings<'_> {
        Belongings::Left(Vec::new())
    }

    /// Looks for these keys, or deletes the keys that are there, in a few requests: values, counters and records of counters. `None`: the store has
    /// no such requests, and keys are asked for one by one, many in flight.
    ///
    /// # Errors
    /// The store cannot be reached or refuses.
    fn sweep(&self, sweep: Sweep, keys: &[&[u8]]) -> Result<Option<Swept>, StoreError> {
        let _ = (sweep, keys);
        Ok(None)
    }

    /// Returns the number of keys that the store says it holds: called at the end of a trial of a private store, outside the clock.
    ///
    /// # Errors
    /// The store cannot be reached, or refuses.
    fn holding(&self) -> Result<Holding, StoreError> {
        Ok(Holding::default())
    }

    /// Returns the number of commands that the server has carried out for anybody since it was started; `None`: it does not count them, or one
    /// operation may be less than one of them.
    ///
    /// # Errors
    /// The store cannot be reached, or refuses.
    fn commands_done(&self) -> Result<Option<u64>, StoreError> {
        Ok(None)
    }

    /// Returns who knows which node has a key.
    fn whereabouts(&self) -> Whereabouts<'_> {
        Whereabouts::Unsaid("it does not say which node has a key")
    }

    /// Makes everything acknowledged as durable as the level demands; counted inside the makespan.
    ///
    /// # Errors
    /// The store refuses.
    fn flush(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Returns the store's own account of what it does besides answering; `None`: it keeps none.
    fn witness(&self) -> Option<&dyn Witness> {
        None
    }

    /// Returns the work that the store does on its files when told to: the same as its [`Capabilities::compaction`] and
    /// [`Capabilities::checkpoint`] say before it is opened.
    fn maintenance(&self) -> Maintenance<'_> {
        Maintenance::default()
    }

    /// Returns the store's counts and sums over JSON documents: there where [`Capabilities::reduction`] says so before it is opened.
    fn reduces(&self) -> Option<&dyn Reduce> {
        None
    }

    /// Returns the store's own sets of ids: there where [`Capabilities::sets`] says so before it is opened.
    fn sets(&self) -> Option<&dyn KeepSets> {
        None
    }
}
