//! Operations that take several requests, each to a node that depends on the replies before it.

use std::sync::Arc;
use std::task::{Context, Poll};
use store::routed::{Route, Routed};
use store::{
    Abandoned, Expected, Failure, Operation, OwnedOperation, OwnedReply, Reply, Session, Sink, Slot, StoreError, Until,
};

/// The course of an operation: the requests it takes.
pub(super) trait Course: Route {
    /// What a request is for.
    type Step: Copy;

    /// Returns the first request of an operation.
    fn begin(&self, operation: &Operation<'_>) -> Begin<Self::Step>;

    /// Returns what follows on a reply. `held` is a value that is kept from one request to the next.
    fn go_on(&self, step: Self::Step, key: &[u8], held: &mut Vec<u8>, reply: &Reply<'_>) -> Next<Self::Step>;
}

/// The beginning of an operation.
pub(super) enum Begin<S> {
    /// It is one request, to the node of its key.
    Whole,
    /// With this request.
    Ask(Ask<S>),
    /// Not at all.
    Refuse(&'static str),
}

/// A request to a node.
#[derive(Clone, Copy)]
pub(super) struct Ask<S> {
    pub node: usize,
    pub request: Request,
    pub then: S,
}

/// The request a node gets, for the operation's key.
#[derive(Clone, Copy, Debug)]
pub(super) enum Request {
    /// The operation itself.
    Same,
    /// To add the value that is held, unless there is one.
    AddHeld,
    /// To put the value that is held.
    PutHeld,
    /// What is there.
    Get,
    /// To delete it.
    Delete,
}

/// The step that follows on a reply.
pub(super) enum Next<S> {
    /// Another request.
    Ask(Ask<S>),
    /// The operation is done.
    Give(Gift),
}

/// The reply the client gets.
#[derive(Clone, Copy, Debug)]
pub(super) enum Gift {
    /// The reply that came last.
    Last,
    /// The value that is held.
    Held,
    Done,
    Missing,
    Failed(Failure<'static>),
}

impl Gift {
    /// The reply that is given, where the last was this.
    fn reply<'a>(self, last: &Reply<'a>, held: &'a [u8]) -> Reply<'a> {
        match self {
            Gift::Last => *last,
            Gift::Held => Reply::Value(held),
            Gift::Done => Reply::Done,
            Gift::Missing => Reply::Missing,
            Gift::Failed(failure) => Reply::Failed(failure),
        }
    }
}

/// An operation on its way.
struct Trip<S> {
    /// What is asked next, or was asked last; `None`: the slot has no such operation.
    ask: Option<Ask<S>>,
    operation: OwnedOperation,
    held: Vec<u8>,
    last: OwnedReply,
}

impl<S> Default for Trip<S> {
    fn default() -> Trip<S> {
        Trip { ask: None, operation: OwnedOperation::default(), held: Vec::new(), last: OwnedReply::Done }
    }
}

/// A session over nodes whose operations follow a course.
pub(super) struct Stepping<C: Course> {
    routed: Routed<Arc<C>>,
    course: Arc<C>,
    trips: Vec<Trip<C::Step>>,
    /// Operations on their way: where there are none, nobody looks at a slot.
    under_way: u32,
    /// Slots whose next request is to be sent.
    due: Vec<Slot>,
}

impl<C: Course + 'static> Stepping<C> {
    /// Returns a session over these, one per node.
    ///
    /// # Errors
    /// When the system gives nothing to wait for several with.
    pub fn session(
        course: Arc<C>,
        sessions: Vec<Box<dyn Session>>,
        slots: Slot,
    ) -> Result<Box<dyn Session>, StoreError> {
        let routed = Routed::new(Arc::clone(&course), sessions, slots)?;
        let trips = (0..slots).map(|_| Trip::default()).collect();
        Ok(Box::new(Stepping { routed, course, trips, under_way: 0, due: Vec::new() }))
    }

    /// Sends a slot's requests as long as nodes answer at once; true when that was to the end.
    fn go(&mut self, slot: Slot) -> Result<bool, StoreError> {
        let Stepping { routed, course, trips, under_way, .. } = self;
        let Trip { ask, operation, held, last } = &mut trips[slot as usize];
        while let Some(Ask { node, request, then }) = *ask {
            let Some(whole) = operation.single() else { break };
            let key = whole.key().unwrap_or_default();
            let Some(reply) = routed.submit_to(node, slot, &request.of(whole, key, held))? else { return Ok(false) };
            match course.go_on(then, key, held, &reply) {
                Next::Ask(next) => *ask = Some(next),
                Next::Give(gift) => {
                    *ask = None;
                    *under_way -= 1;
                    *last = gift.reply(&reply, held).into();
                }
            }
        }
        Ok(true)
    }
}

impl<C: Course + 'static> Stepping<C> {
    /// Sends the next requests of operations that had a reply.
    fn go_on(&mut self, sink: &mut dyn Sink) -> Result<(), StoreError> {
        while let Some(slot) = self.due.pop() {
            if self.go(slot)? {
                sink.reply(slot, &self.trips[slot as usize].last.as_reply());
            }
        }
        Ok(())
    }
}

impl Request {
    fn of<'a>(self, whole: Operation<'a>, key: &'a [u8], held: &'a [u8]) -> Operation<'a> {
        match self {
            Request::Same => whole,
            Request::AddHeld => Operation::CompareAndSet { key, expected: Expected::Absent, value: held },
            Request::PutHeld => Operation::Put { key, value: held },
            Request::Get => Operation::Get { key },
            Request::Delete => Operation::Delete { key },
        }
    }
}

#[deny(clippy::missing_trait_methods)]
impl<C: Course + 'static> Session for Stepping<C> {
    #[inline]
    fn submit(&mut self, slot: Slot, operation: &Operation<'_>) -> Result<Option<Reply<'_>>, StoreError> {
        let first = match self.course.begin(operation) {
            Begin::Whole => return self.routed.submit(slot, operation),
            Begin::Refuse(words) => return Ok(Some(Reply::Failed(Failure::Refused(words)))),
            Begin::Ask(first) => first,
        };
        let trip = &mut self.trips[slot as usize];
        trip.ask = Some(first);
        trip.operation.copy(operation);
        self.under_way += 1;
        Ok(if self.go(slot)? { Some(self.trips[slot as usize].last.as_reply()) } else { None })
    }

    fn poll(&mut self, cx: &mut Context<'_>, until: Until, sink: &mut dyn Sink) -> Poll<Result<(), StoreError>> {
        if self.under_way == 0 {
            return self.routed.poll(cx, until, sink);
        }
        let Stepping { routed, course, trips, under_way, due } = self;
        let polled = routed.poll(cx, until, &mut Guide { sink, course: &**course, trips, under_way, due });
        if self.due.is_empty() || matches!(polled, Poll::Ready(Err(_))) {
            return polled;
        }
        // What was just submitted is sent by the next poll: nobody may wait for it before.
        Poll::Ready(self.go_on(sink))
    }

    fn abandon(&mut self, slot: Slot, sink: &mut dyn Sink) -> Abandoned {
        let Stepping { routed, course, trips, under_way, due } = self;
        let abandoned = routed.abandon(slot, &mut Guide { sink, course: &**course, trips, under_way, due });
        if let Err(error) = self.go_on(sink) {
            sink.reply(slot, &Reply::Failed(Failure::ConnectionLost(&error.to_string())));
        }
        abandoned
    }

    store::pass_on!(routed: believe, expect, rest, parts, part, reconnected, take_head_of_line, descriptor, executor);
}

/// Between the nodes' replies and the client: keeps back what is not the end of an operation.
struct Guide<'a, C: Course> {
    sink: &'a mut dyn Sink,
    course: &'a C,
    trips: &'a mut [Trip<C::Step>],
    under_way: &'a mut u32,
    due: &'a mut Vec<Slot>,
}

impl<C: Course> Sink for Guide<'_, C> {
    fn arrived(&mut self) {
        self.sink.arrived();
    }

    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) {
        let Trip { ask, operation, held, .. } = &mut self.trips[slot as usize];
        let Some(Ask { then, .. }) = *ask else { return self.sink.reply(slot, reply) };
        let single = operation.single();
        let key = single.as_ref().and_then(Operation::key).unwrap_or_default();
        match self.course.go_on(then, key, held, reply) {
            Next::Ask(next) => {
                *ask = Some(next);
                self.due.push(slot);
            }
            Next::Give(gift) => {
                *ask = None;
                *self.under_way -= 1;
                self.sink.reply(slot, &gift.reply(reply, held));
            }
        }
    }
}
