//! The bridge for tokio drivers: one current-thread runtime per thread, one long-lived future per slot.
//!
//! An adapter implements [`AsyncClient`]: one handle per slot, one `async fn` for an operation. The handles of a client may share one connection
//! where the driver pipelines (`Rc` inside), or have one each where the protocol does not. A client that reads, replaces and deletes one record at a
//! time implements [`AsyncRecords`], whose functions return what they found.
//!
//! ```
//! use kvtrial_store::asynchronous::{BufferedReply, Async, AsyncClient, ReplyBuffer};
//! use kvtrial_store::Operation;
//!
//! struct Echo;
//!
//! impl AsyncClient for Echo {
//!     async fn execute(&mut self, operation: &Operation<'_>, out: &mut ReplyBuffer) -> BufferedReply {
//!         match operation {
//!             Operation::Get { key } => out.value(key),
//!             _ => BufferedReply::Done,
//!         }
//!     }
//! }
//!
//! let plan = kvtrial_store::SessionPlan { clients: 1, pipeline: 4 };
//! let session = Async::session(plan, async |_slot| Ok(Echo));
//! assert!(session.is_ok());
//! ```
//!
//! The cost of the bridge per operation: one copy of its bytes into the slot's own buffer and one copy of the answer out of the driver; no box, no
//! spawned task, no allocation once the buffers are warm.
//!
//! Two properties of tokio shape it. Many futures polled inside one `block_on` exhaust the cooperative budget, so the loop runs
//! `unconstrained`; and wakers deferred by `yield_now` are forgotten when `block_on` returns, so the whole worker loop must run
//! inside one ([`Executor::run`]).

mod brief;
mod records;
mod reply;
mod timer;
mod wake;

pub use brief::{brief, runtime};
pub use records::{AsyncRecords, IntoReply};
pub use reply::{BufferedReply, ReplyBuffer};

use crate::{
    Abandoned, Executor, Failure, Operation, OwnedOperation, Reply, Session, SessionPlan, Sink, Slot, StoreError, Until,
};
use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use timer::Timer;
use tokio::runtime::Runtime;
use wake::Woken;

/// Writes the functions that are alike in every [`Store`](crate::Store) behind a driver, where one thread drives all connections:
/// `of_driver!(capabilities)`, by the name of the field, or `of_driver!(capabilities, resent)` where requests are sent again
/// ([`Resent`](crate::Resent)).
#[macro_export]
macro_rules! of_driver {
    ($capabilities:ident $(, $resent:ident)?) => {
        fn capabilities(&self) -> &$crate::Capabilities {
            &self.$capabilities
        }

        fn threading(&self) -> $crate::Threading {
            $crate::Threading::Shared
        }

        $(fn resent(&self) -> u64 {
            self.$resent.count()
        })?
    };
}

/// The number of polls with replies in a row after which the driver's sockets get a turn before anything else.
const POLLS_WITHOUT_TURN: u32 = 64;

/// One slot's handle on a driver. It lives in the session's own thread; nothing needs to be `Send`.
#[allow(async_fn_in_trait)] // a session never leaves its thread
pub trait AsyncClient: 'static {
    /// Carries out one operation. Values that are read go into `out`, which also makes the answer: `out.value(..)`, `out.refused(..)`.
    ///
    /// A connection that broke is answered as [`ReplyBuffer::connection_lost`] and opened again by a later call.
    async fn execute(&mut self, operation: &Operation<'_>, out: &mut ReplyBuffer) -> BufferedReply;

    /// Drops the operation under way, because its time is over: the connection's next reply belongs to nobody. The next operation goes over another
    /// connection, to another node where there is one. A driver that matches replies itself has nothing to do here.
    fn give_up(&mut self) {}

    /// Bounds replies, see [`Session::believe`]: for drivers that let the size of an answer be bounded.
    fn believe(&mut self, largest_reply_bytes: u64) {
        let _ = largest_reply_bytes;
    }
}

/// A request on its way to a slot's future, and its answer on the way back: one allocation per slot, moved to and fro.
struct Exchange {
    request: OwnedOperation,
    reply: ReplyBuffer,
    answer: BufferedReply,
}

/// Where a slot's future and the session hand each other the exchange.
#[derive(Default)]
struct Desk {
    inbox: Cell<Option<Box<Exchange>>>,
    outbox: Cell<Option<Box<Exchange>>>,
    /// The length that the client is to believe before its next request.
    believed: Cell<Option<u64>>,
    /// The operation under way is to be dropped.
    abandoned: Cell<bool>,
}

/// A slot: its future, polled with its own waker, and the exchange while no operation is in flight.
struct Seat<F> {
    future: Pin<Box<F>>,
    waker: Waker,
    desk: Rc<Desk>,
    idle: Option<Box<Exchange>>,
}

impl<F: Future<Output = ()>> Seat<F> {
    /// Polls the future, and returns whether an answer came out of it.
    fn advance(&mut self) -> bool {
        // The future never ends: it loops over its inbox.
        let _ = self.future.as_mut().poll(&mut Context::from_waker(&self.waker));
        self.idle = self.desk.outbox.take();
        self.idle.is_some()
    }

    fn reply(&self) -> Option<Reply<'_>> {
        self.idle.as_ref().map(|exchange| exchange.reply.reply(exchange.answer))
    }
}

/// A session over async handles, one per slot.
pub struct Async<F> {
    seats: Vec<Seat<F>>,
    woken: Woken,
    timer: Timer,
    polls_without_turn: u32,
    turned: bool,
    // Last: handles and timer are dropped before the runtime they live on.
    runtime: Rc<Runtime>,
}

impl Async<()> {
    /// Takes the runtime of the thread and opens one handle per slot of the plan, in the order of slots.
    ///
    /// # Errors
    /// The first error of `open`, or when the system gives no runtime.
    pub fn session<A: AsyncClient>(
        plan: SessionPlan,
        mut open: impl AsyncFnMut(Slot) -> Result<A, StoreError>,
    ) -> Result<Box<dyn Session>, StoreError> {
        let runtime = brief::shared_runtime()?;
        let clients = runtime.block_on(async {
            let mut clients = Vec::with_capacity(plan.slots() as usize);
            for slot in 0..plan.slots() {
                clients.push(open(slot).await?);
            }
            Ok::<_, StoreError>(clients)
        })?;
        let timer = runtime.block_on(async { Timer::new() })?;
        let (woken, wakers) = wake::bitset(clients.len());
        let seats = clients.into_iter().zip(wakers).map(|(client, waker)| {
            let desk = Rc::new(Desk::default());
            let exchange = Exchange {
                request: OwnedOperation::default(),
                reply: ReplyBuffer::default(),
                answer: BufferedReply::Done,
            };
            Seat { future: Box::pin(serve(client, desk.clone())), waker, desk, idle: Some(Box::new(exchange)) }
        });
        let seats = seats.collect();
        Ok(Box::new(Async { seats, woken, timer, polls_without_turn: 0, turned: false, runtime }))
    }
}

/// Serves a slot: takes a request, carries it out, hands back the answer.
async fn serve<A: AsyncClient>(mut client: A, desk: Rc<Desk>) {
    loop {
        // No waker is kept: `submit` fills the inbox and polls at once.
        let mut exchange = poll_fn(|_| desk.inbox.take().map_or(Poll::Pending, Poll::Ready)).await;
        let Exchange { request, reply, answer } = &mut *exchange;
        reply.clear();
        if let Some(bytes) = desk.believed.take() {
            client.believe(bytes);
        }
        let carried_out = {
            let mut carried_out = pin!(request.with(async |operation| client.execute(operation, reply).await));
            let ended = |cx: &mut Context<'_>| match desk.abandoned.take() {
                true => Poll::Ready(None),
                false => carried_out.as_mut().poll(cx).map(Some),
            };
            poll_fn(ended).await
        };
        *answer = carried_out.unwrap_or_else(|| {
            client.give_up();
            BufferedReply::Done // nobody looks at it
        });
        desk.outbox.set(Some(exchange));
    }
}

impl<F: Future<Output = ()>> Session for Async<F> {
    fn believe(&mut self, largest_reply_bytes: u64) {
        self.seats.iter().for_each(|seat| seat.desk.believed.set(Some(largest_reply_bytes)));
    }

    fn submit(&mut self, slot: Slot, operation: &Operation<'_>) -> Result<Option<Reply<'_>>, StoreError> {
        let seat = &mut self.seats[slot as usize];
        let Some(mut exchange) = seat.idle.take() else {
            return Err(StoreError::Session(format!("slot {slot} still has an operation in flight")));
        };
        exchange.request.copy(operation);
        seat.desk.inbox.set(Some(exchange));
        let _context = self.runtime.enter();
        seat.advance();
        Ok(seat.reply())
    }

    fn poll(&mut self, cx: &mut Context<'_>, until: Until, sink: &mut dyn Sink) -> Poll<Result<(), StoreError>> {
        if self.polls_without_turn >= POLLS_WITHOUT_TURN {
            self.polls_without_turn = 0;
            return defer(cx);
        }
        self.woken.listen(cx.waker());
        let mut replies = 0;
        {
            let _context = self.runtime.enter();
            let seats = &mut self.seats;
            self.woken.drain(|slot| {
                let Some(seat) = seats.get_mut(slot) else { return self.timer.fired() };
                if seat.idle.is_none() && seat.advance() {
                    if replies == 0 {
                        sink.arrived();
                    }
                    replies += 1;
                    if let Some(reply) = seat.reply() {
                        sink.reply(slot as Slot, &reply);
                    }
                }
            });
        }
        if replies > 0 {
            self.polls_without_turn += 1;
            self.turned = false;
            return Poll::Ready(Ok(()));
        }
        match until {
            Until::Now if self.turned => {
                self.turned = false;
                Poll::Ready(Ok(()))
            }
            Until::Now => {
                // The sockets are read only while the loop is pending: one turn, then the answer.
                self.turned = true;
                self.polls_without_turn = 0;
                defer(cx)
            }
            Until::At(time) => {
                self.polls_without_turn = 0;
                if self.timer.poll(time, self.woken.timer_waker())? { Poll::Ready(Ok(())) } else { Poll::Pending }
            }
        }
    }

    fn abandon(&mut self, slot: Slot, sink: &mut dyn Sink) -> Abandoned {
        let Some(seat) = self.seats.get_mut(slot as usize).filter(|seat| seat.idle.is_none()) else {
            return Abandoned::Never;
        };
        seat.desk.abandoned.set(true);
        let _context = self.runtime.enter();
        if !seat.advance() {
            return Abandoned::Never;
        }
        sink.arrived();
        sink.reply(slot, &Reply::Failed(Failure::Deadline));
        Abandoned::GivenUp
    }

    fn executor(&self) -> Executor {
        Executor::Tokio(self.runtime.clone())
    }
}

impl<F> Drop for Async<F> {
    fn drop(&mut self) {
        // Drivers say goodbye with spawned tasks, which need a runtime around them.
        let _context = self.runtime.enter();
        self.seats.clear();
    }
}

/// Lets the runtime look at its sockets without sleeping, then polls again.
fn defer<T>(cx: &mut Context<'_>) -> Poll<T> {
    let _ = pin!(tokio::task::yield_now()).poll(cx);
    Poll::Pending
}

#[cfg(test)]
mod tests;
