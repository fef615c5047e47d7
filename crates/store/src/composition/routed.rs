//! A session over several nodes: each operation goes to the node its key belongs to.
//!
//! Each node has a session of its own, with the clients and slots of the whole, so an operation keeps its slot whatever node it goes
//! to, and a client has one connection per node. What asks for many keys at once is split by node and its replies are joined.
//!
//! Sessions that wait in their own `poll` are waited for together, by what they [offer to be watched](Session::descriptor). A wait for
//! one node only is that node's own, so a single client pays nothing for the nodes it is not waiting for.

mod joined;

use crate::wire::{PRECISE_BELOW, Poller};
use crate::{Abandoned, Executor, Heed, Operation, OperationKind, Reply, Session, Sink, Slot, StoreError, Until};
use joined::Splits;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use study::HeadOfLine;

/// The time for which nodes are waited for together before each is asked again: a node whose connection is down has nothing to watch.
const ASK_AGAIN: Duration = Duration::from_millis(20);

/// The rule for which node has a key.
pub trait Route {
    /// Returns the node of a key: less than the number of sessions. The function must not allocate or lock: it is called once per key.
    fn node(&self, key: &[u8]) -> usize;
}

impl<R: Route> Route for Arc<R> {
    #[inline]
    fn node(&self, key: &[u8]) -> usize {
        (**self).node(key)
    }
}

impl<F: Fn(&[u8]) -> usize> Route for F {
    fn node(&self, key: &[u8]) -> usize {
        self(key)
    }
}

/// One node's session.
struct Node {
    session: Box<dyn Session>,
    /// The number of operations, or parts of some, that wait for the node's replies.
    in_flight: u32,
    /// Whether something was submitted since the session was last polled.
    held_back: bool,
}

impl Node {
    fn new(session: Box<dyn Session>) -> Node {
        Node { session, in_flight: 0, held_back: false }
    }

    #[inline]
    fn submit(&mut self, slot: Slot, operation: &Operation<'_>) -> Result<Option<Reply<'_>>, StoreError> {
        let reply = self.session.submit(slot, operation)?;
        if reply.is_none() {
            self.in_flight += 1;
            self.held_back = true;
        }
        Ok(reply)
    }
}

/// A session over the sessions of several nodes.
pub struct Routed<R> {
    route: R,
    nodes: Vec<Node>,
    splits: Splits,
    watch: Option<Poller>,
}

impl<R: Route + 'static> Routed<R> {
    /// Makes a session over these sessions, one per node, in the order in which the route numbers them. All were opened with the same plan.
    ///
    /// # Errors
    /// The system gives nothing to wait for several sessions with.
    pub fn session(route: R, sessions: Vec<Box<dyn Session>>, slots: Slot) -> Result<Box<dyn Session>, StoreError> {
        Ok(Box::new(Routed::new(route, sessions, slots)?))
    }

    /// Makes the same session, for a caller that wants to change the route, or to add nodes.
    ///
    /// # Errors
    /// As of [`session`](Routed::session).
    pub fn new(route: R, sessions: Vec<Box<dyn Session>>, slots: Slot) -> Result<Routed<R>, StoreError> {
        let mut nodes: Vec<Node> = sessions.into_iter().map(Node::new).collect();
        let watch = watch(&mut nodes).map_err(failed)?;
        let splits = Splits::new(slots as usize, nodes.len());
        Ok(Routed { route, nodes, splits, watch })
    }

    /// Returns the route of keys.
    pub fn route(&mut self) -> &mut R {
        &mut self.route
    }

    /// Adds a node, and returns its number. No operation on several keys may be in flight.
    ///
    /// # Errors
    /// The system cannot wait for one more session.
    pub fn add(&mut self, session: Box<dyn Session>) -> Result<usize, StoreError> {
        let number = self.nodes.len();
        let mut node = Node::new(session);
        let descriptor = node.session.descriptor().map_err(failed)?;
        match (&self.watch, descriptor) {
            (Some(watch), Some(descriptor)) => watch.add_instance(descriptor, number as u32).map_err(failed)?,
            _ => self.watch = None,
        }
        self.nodes.push(node);
        self.splits.add_node();
        Ok(number)
    }

    /// Fails the operations in flight on a node, and gives the node's connections up.
    pub fn abandon_all(&mut self, number: usize, slots: std::ops::Range<Slot>, sink: &mut dyn Sink) {
        for slot in slots {
            if self.nodes[number].in_flight == 0 {
                return;
            }
            self.abandon_on(number, slot, sink);
        }
    }

    fn abandon_on(&mut self, number: usize, slot: Slot, sink: &mut dyn Sink) -> Abandoned {
        let Routed { nodes, splits, .. } = self;
        let node = &mut nodes[number];
        if node.in_flight == 0 {
            return Abandoned::Never;
        }
        let mut tap = Tap { sink, splits, in_flight: &mut node.in_flight, node: number, handed_over: 0 };
        node.session.abandon(slot, &mut tap)
    }

    /// Submits an operation on one key to a node of the caller's choice.
    ///
    /// # Errors
    /// Those of the node's session.
    pub fn submit_to(
        &mut self,
        node: usize,
        slot: Slot,
        operation: &Operation<'_>,
    ) -> Result<Option<Reply<'_>>, StoreError> {
        self.nodes[node].submit(slot, operation)
    }
}

/// Watches all nodes, where every one can be.
fn watch(nodes: &mut [Node]) -> io::Result<Option<Poller>> {
    let watch = Poller::new()?;
    for (number, node) in nodes.iter_mut().enumerate() {
        match node.session.descriptor()? {
            Some(descriptor) => watch.add_instance(descriptor, number as u32)?,
            None => return Ok(None),
        }
    }
    Ok(Some(watch))
}

fn failed(error: io::Error) -> StoreError {
    StoreError::Session(format!("waiting for several nodes: {error}"))
}

#[deny(clippy::missing_trait_methods)]
impl<R: Route + 'static> Session for Routed<R> {
    fn believe(&mut self, largest_reply_bytes: u64) {
        self.nodes.iter_mut().for_each(|node| node.session.believe(largest_reply_bytes));
    }

    #[inline]
    fn submit(&mut self, slot: Slot, operation: &Operation<'_>) -> Result<Option<Reply<'_>>, StoreError> {
        match operation.key() {
            Some(key) => self.nodes[self.route.node(key)].submit(slot, operation),
            None => self.submit_parts(slot, operation),
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>, until: Until, sink: &mut dyn Sink) -> Poll<Result<(), StoreError>> {
        let mut waiting = self.nodes.iter().enumerate().filter(|(_, node)| node.in_flight > 0);
        match (waiting.next(), waiting.next()) {
            (None, _) => self.nodes[0].session.poll(cx, until, sink),
            (Some((only, _)), None) => self.poll_node(only, cx, until, sink).1,
            _ => match self.nodes[0].session.executor() {
                Executor::Blocking => Poll::Ready(self.poll_together(cx, until, sink)),
                #[cfg(feature = "async")]
                Executor::Tokio(_) => self.poll_each(cx, until, sink),
            },
        }
    }

    /// Gives up the operation of a slot. Its node is not known, so each node is asked that has something in flight.
    fn abandon(&mut self, slot: Slot, sink: &mut dyn Sink) -> Abandoned {
        let mut abandoned = Abandoned::Never;
        for number in 0..self.nodes.len() {
            if self.abandon_on(number, slot, sink) == Abandoned::GivenUp {
                abandoned = Abandoned::GivenUp;
            }
        }
        abandoned
    }

    fn expect(&mut self, slot: Slot, kind: OperationKind, key: &[u8]) -> Heed {
        let node = self.route.node(key);
        self.nodes[node].session.expect(slot, kind, key)
    }

    fn rest(&mut self, slot: Slot) {
        self.nodes.iter_mut().for_each(|node| node.session.rest(slot));
    }

    /// Returns as many parts as there are nodes, with equal shares, which is close to the truth.
    fn parts(&self) -> Vec<f64> {
        vec![1.0 / self.nodes.len() as f64; self.nodes.len()]
    }

    fn part(&self, key: &[u8]) -> u16 {
        self.route.node(key) as u16
    }

    fn reconnected(&self) -> u64 {
        self.nodes.iter().map(|node| node.session.reconnected()).sum()
    }

    fn take_head_of_line(&mut self) -> Option<HeadOfLine> {
        let each = self.nodes.iter_mut().filter_map(|node| node.session.take_head_of_line());
        each.reduce(HeadOfLine::and)
    }

    /// There is none: nodes are waited for together, and asked again where a connection has nothing to watch.
    fn descriptor(&mut self) -> io::Result<Option<BorrowedFd<'_>>> {
        Ok(None)
    }

    fn executor(&self) -> Executor {
        self.nodes[0].session.executor()
    }
}

impl<R: Route> Routed<R> {
    /// Submits an operation on several keys, or none: a part for each node concerned.
    #[cold]
    fn submit_parts(&mut self, slot: Slot, operation: &Operation<'_>) -> Result<Option<Reply<'_>>, StoreError> {
        // A command without a key is for any node.
        if let Operation::Command { .. } = operation {
            return self.nodes[0].submit(slot, operation);
        }
        let Routed { route, nodes, splits, .. } = self;
        splits.submit(
            slot,
            operation,
            |key| route.node(key),
            |node, part, absorb| {
                if let Some(reply) = nodes[node].submit(slot, part)? {
                    absorb(&reply);
                }
                Ok(())
            },
        )
    }

    /// Polls one node, and says how many replies arrived.
    fn poll_node(
        &mut self,
        number: usize,
        cx: &mut Context<'_>,
        until: Until,
        sink: &mut dyn Sink,
    ) -> (u32, Poll<Result<(), StoreError>>) {
        let node = &mut self.nodes[number];
        node.held_back = false;
        let mut tap =
            Tap { sink, splits: &mut self.splits, in_flight: &mut node.in_flight, node: number, handed_over: 0 };
        let polled = node.session.poll(cx, until, &mut tap);
        (tap.handed_over, polled)
    }

    /// Sessions that would each wait inside their own call: none waits until all have sent what they hold back.
    fn poll_together(&mut self, cx: &mut Context<'_>, until: Until, sink: &mut dyn Sink) -> Result<(), StoreError> {
        let mut handed_over = 0;
        for number in 0..self.nodes.len() {
            if self.nodes[number].held_back {
                handed_over += self.poll_now(number, cx, sink)?;
            }
        }
        if handed_over > 0 {
            return Ok(());
        }
        let limit = match until {
            Until::Now => Duration::ZERO,
            Until::At(time) => time.saturating_duration_since(std::time::Instant::now()),
        };
        let Some(watch) = &mut self.watch else { return self.poll_all_now(cx, sink) };
        // What takes long is ended by the sessions' own nudges, which come as often.
        let found = watch.wait(Some(limit).filter(|limit| *limit < PRECISE_BELOW)).map_err(failed)?;
        if found == 0 && limit >= ASK_AGAIN {
            return self.poll_all_now(cx, sink);
        }
        for index in 0..found {
            if let Some(number) = self.watch.as_ref().map(|watch| watch.ready(index).number) {
                self.poll_now(number as usize, cx, sink)?;
            }
        }
        Ok(())
    }

    fn poll_all_now(&mut self, cx: &mut Context<'_>, sink: &mut dyn Sink) -> Result<(), StoreError> {
        for number in 0..self.nodes.len() {
            if self.nodes[number].in_flight > 0 {
                self.poll_now(number, cx, sink)?;
            }
        }
        Ok(())
    }

    fn poll_now(&mut self, number: usize, cx: &mut Context<'_>, sink: &mut dyn Sink) -> Result<u32, StoreError> {
        match self.poll_node(number, cx, Until::Now, sink) {
            (handed_over, Poll::Ready(polled)) => polled.map(|()| handed_over),
            (handed_over, Poll::Pending) => Ok(handed_over),
        }
    }

    /// Sessions that one runtime drives: each registers its waker.
    #[cfg(feature = "async")]
    fn poll_each(&mut self, cx: &mut Context<'_>, until: Until, sink: &mut dyn Sink) -> Poll<Result<(), StoreError>> {
        let mut polled = Poll::Pending;
        for number in 0..self.nodes.len() {
            if self.nodes[number].in_flight > 0 {
                match self.poll_node(number, cx, until, sink).1 {
                    Poll::Ready(Ok(())) => polled = Poll::Ready(Ok(())),
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                    Poll::Pending => {}
                }
            }
        }
        polled
    }
}

/// Between a node's session and the sink of the whole: keeps parts back until all are there.
struct Tap<'a> {
    sink: &'a mut dyn Sink,
    splits: &'a mut Splits,
    in_flight: &'a mut u32,
    node: usize,
    handed_over: u32,
}

impl Sink for Tap<'_> {
    fn arrived(&mut self) {
        self.sink.arrived();
    }

    #[inline]
    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) {
        *self.in_flight = self.in_flight.saturating_sub(1);
        if self.splits.is_whole(slot) {
            self.handed_over += 1;
            self.sink.reply(slot, reply);
        } else if let Some(whole) = self.splits.absorb(slot, self.node, reply) {
            self.handed_over += 1;
            self.sink.reply(slot, &whole);
        }
    }
}
