//! A plain client for everything that is not measured: reading back, questions, checks.
//!
//! It waits for its replies, owns them, and never waits longer than its timeout. Measuring goes through the engine instead.

use crate::{Operation, OwnedFailure, OwnedReply, Reply, Session, SessionPlan, Sink, Slot, Store, StoreError, Until};
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The pause between two looks whether a waiting client is to stop.
const LOOK: Duration = Duration::from_millis(50);

/// A connection (or library handle), used one call at a time.
///
/// A synchronous store answers inside its own call, which no timeout can end.
pub struct BlockingClient {
    session: Box<dyn Session>,
    pipeline: u32,
    timeout: Duration,
    stop: Option<Arc<AtomicBool>>,
    state: State,
}

/// Whether a client may be used further.
enum State {
    /// Nothing is in flight.
    Idle,
    /// An operation never got its reply: the next one on this session could belong to any operation.
    Abandoned,
}

impl BlockingClient {
    /// Opens a session of one client with up to `pipeline` operations in flight (at least 1), each of which may take `timeout`. Replies
    /// hold at most as many bytes of keys and values as the store's longest value has.
    ///
    /// The store cannot be reached or refuses.
    /// When the store cannot be reached or refuses.
    pub fn open(store: &dyn Store, pipeline: u32, timeout: Duration) -> Result<BlockingClient, StoreError> {
        let longest = store.capabilities().max_value_bytes as u64;
        BlockingClient::believing(longest, store, pipeline, timeout)
    }

    /// Opens the same session where replies hold at most this many bytes of keys and values.
    ///
    /// # Errors
    /// The store cannot be reached or refuses.
    pub fn believing(
        largest_reply_bytes: u64,
        store: &dyn Store,
        pipeline: u32,
        timeout: Duration,
    ) -> Result<BlockingClient, StoreError> {
        let pipeline = pipeline.max(1);
        let session = store.believing_session(SessionPlan { clients: 1, pipeline }, largest_reply_bytes)?;
        Ok(BlockingClient { session, pipeline, timeout, stop: None, state: State::Idle })
    }

    /// Returns the same client, which stops waiting once this flag is set: an operation without a reply then returns as if its time were over.
    pub fn until(self, stop: Option<Arc<AtomicBool>>) -> BlockingClient {
        BlockingClient { stop, ..self }
    }

    /// Carries out one operation. A failed operation returns an [`OwnedReply::Failed`]; after [`OwnedFailure::Deadline`] the client is beyond use.
    ///
    /// # Errors
    /// The session is beyond use.
    pub fn execute(&mut self, operation: &Operation<'_>) -> Result<OwnedReply, StoreError> {
        let mut replies = self.pipelined(std::slice::from_ref(operation))?;
        replies.pop().ok_or_else(|| StoreError::Session("an operation came back without a reply".into()))
    }

    /// Carries out all operations, as many in flight as the pipeline allows; the replies are in the order of the operations. When an operation has no
    /// reply in time, it and all others still without a reply come back as [`OwnedFailure::Deadline`].
    ///
    /// # Errors
    /// The session is beyond use.
    pub fn pipelined(&mut self, operations: &[Operation<'_>]) -> Result<Vec<OwnedReply>, StoreError> {
        if let State::Abandoned = self.state {
            return Err(StoreError::Session("an earlier operation had no reply; open a new session".into()));
        }
        // Until everything is answered: an error on the way leaves the client unusable.
        self.state = State::Abandoned;
        let executor = self.session.executor();
        let replies = executor.run(self.drive(operations))?;
        if !replies.contains(&OwnedReply::Failed(OwnedFailure::Deadline)) {
            self.state = State::Idle;
        }
        Ok(replies)
    }

    async fn drive(&mut self, operations: &[Operation<'_>]) -> Result<Vec<OwnedReply>, StoreError> {
        let mut inbox = Inbox::new(self.pipeline, operations.len());
        let mut next = 0;
        loop {
            while next < operations.len()
                && let Some(slot) = inbox.idle.pop()
            {
                match self.session.submit(slot, &operations[next])? {
                    Some(reply) => {
                        inbox.replies[next] = Some(reply.into());
                        inbox.idle.push(slot);
                    }
                    None => inbox.in_flight[slot as usize] = Some((next, Instant::now())),
                }
                next += 1;
            }
            let Some(oldest) = inbox.in_flight.iter().flatten().map(|(_, sent)| *sent).min() else { break };
            let deadline = oldest + self.timeout;
            let now = Instant::now();
            let is_stopped = self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed));
            if now >= deadline || is_stopped {
                break;
            }
            let until = if self.stop.is_some() { deadline.min(now + LOOK) } else { deadline };
            poll_fn(|cx| self.session.poll(cx, Until::At(until), &mut inbox)).await?;
            if let Some(slot) = inbox.unasked {
                return Err(StoreError::Session(format!("a reply nobody asked for came on slot {slot}")));
            }
        }
        Ok(inbox.replies.into_iter().map(|reply| reply.unwrap_or(OwnedReply::Failed(OwnedFailure::Deadline))).collect())
    }
}

/// What is in flight on each slot, and the replies so far.
struct Inbox {
    idle: Vec<Slot>,
    in_flight: Vec<Option<(usize, Instant)>>,
    replies: Vec<Option<OwnedReply>>,
    unasked: Option<Slot>,
}

impl Inbox {
    fn new(slots: u32, operations: usize) -> Inbox {
        Inbox {
            idle: (0..slots).rev().collect(),
            in_flight: vec![None; slots as usize],
            replies: vec![None; operations],
            unasked: None,
        }
    }
}

impl Sink for Inbox {
    fn arrived(&mut self) {}

    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) {
        match self.in_flight.get_mut(slot as usize).and_then(Option::take) {
            Some((operation, _)) => {
                self.replies[operation] = Some((*reply).into());
                self.idle.push(slot);
            }
            None => self.unasked = Some(slot),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::BlockingClient;
    use crate::{
        Capabilities, Facts, Operation, OwnedFailure, OwnedReply, Reply, Session, SessionPlan, Sink, Slot, Store,
        StoreError, Threading, Until,
    };
    use std::collections::VecDeque;
    use std::task::{Context, Poll};
    use std::time::{Duration, Instant};

    /// Answers a get with its key, newest first, one per poll; never answers the key `never`; answers `twice` twice.
    struct Echo(Capabilities);

    struct EchoSession {
        waiting: VecDeque<(Slot, Vec<u8>)>,
        most_in_flight: usize,
    }

    impl Store for Echo {
        fn capabilities(&self) -> &Capabilities {
            &self.0
        }

        fn session(&self, _: SessionPlan) -> Result<Box<dyn Session>, StoreError> {
            Ok(Box::new(EchoSession { waiting: VecDeque::new(), most_in_flight: 0 }))
        }

        fn threading(&self) -> Threading {
            Threading::Shared
        }

        fn facts(&self) -> Result<Facts, StoreError> {
            Ok(Facts::default())
        }
    }

    impl Session for EchoSession {
        fn submit(&mut self, slot: Slot, operation: &Operation<'_>) -> Result<Option<Reply<'_>>, StoreError> {
            let Operation::Get { key } = operation else { return Ok(Some(Reply::Done)) };
            if *key == b"depth" {
                return Ok(Some(Reply::Number(self.most_in_flight as i64)));
            }
            assert!(self.waiting.iter().all(|(busy, _)| *busy != slot), "slot {slot} is busy");
            self.waiting.push_back((slot, key.to_vec()));
            self.most_in_flight = self.most_in_flight.max(self.waiting.len());
            Ok(None)
        }

        fn poll(&mut self, _: &mut Context<'_>, until: Until, sink: &mut dyn Sink) -> Poll<Result<(), StoreError>> {
            sink.arrived();
            match self.waiting.iter().rposition(|(_, key)| key != b"never") {
                Some(at) => {
                    let (slot, key) = self.waiting.remove(at).unwrap();
                    sink.reply(slot, &Reply::Value(&key));
                    if key == b"twice" {
                        sink.reply(slot, &Reply::Value(&key));
                    }
                }
                None => {
                    if let Until::At(time) = until {
                        std::thread::sleep(time.saturating_duration_since(Instant::now()));
                    }
                }
            }
            Poll::Ready(Ok(()))
        }
    }

    fn client(pipeline: u32, timeout_ms: u64) -> BlockingClient {
        BlockingClient::open(&Echo(Capabilities::BASIC), pipeline, Duration::from_millis(timeout_ms)).unwrap()
    }

    fn value(key: &[u8]) -> OwnedReply {
        OwnedReply::Value(key.to_vec())
    }

    #[test]
    fn pipelined_replies_are_in_the_order_of_the_operations_though_they_arrived_in_another() {
        let keys: Vec<Vec<u8>> = (0..50).map(|n| format!("key{n}").into_bytes()).collect();
        let mut client = client(4, 5_000);
        let operations: Vec<_> = keys.iter().map(|key| Operation::Get { key }).collect();
        let replies = client.pipelined(&operations).unwrap();
        assert_eq!(replies, keys.iter().map(|key| value(key)).collect::<Vec<_>>());
        assert_eq!(client.execute(&Operation::Get { key: b"depth" }).unwrap(), OwnedReply::Number(4));
        assert_eq!(client.execute(&Operation::Delete { key: b"x" }).unwrap(), OwnedReply::Done);
    }

    #[test]
    fn an_operation_without_reply_ends_at_its_deadline_and_the_client_refuses_further_use() {
        let mut client = client(2, 60);
        let start = Instant::now();
        let replies = client.pipelined(&[Operation::Get { key: b"a" }, Operation::Get { key: b"never" }]).unwrap();
        assert_eq!(replies, [value(b"a"), OwnedReply::Failed(OwnedFailure::Deadline)]);
        assert!((60..3_000).contains(&(start.elapsed().as_millis() as u64)), "{:?}", start.elapsed());
        assert!(client.execute(&Operation::Get { key: b"a" }).is_err());
    }

    #[test]
    fn a_reply_nobody_asked_for_is_an_error() {
        let mut client = client(2, 5_000);
        let error = client.execute(&Operation::Get { key: b"twice" }).unwrap_err();
        assert!(error.to_string().contains("nobody asked"), "{error}");
    }
}
