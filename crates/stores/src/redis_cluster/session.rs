//! A session over the masters of a cluster: follows what they say about who serves a slot.

mod redirection;

use super::codec::{Asking, ClusterResp};
use super::slots::SlotTable;
use crate::redis::{Login, Resp};
use redirection::Redirection;
use std::io;
use std::os::fd::BorrowedFd;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use store::routed::Routed;
use store::{
    Endpoint, Executor, Failure, Heed, Operation, OperationKind, OwnedOperation, Reply, Resent, Session, SessionPlan,
    Sink, Slot, StoreError, Until, wire,
};

/// How often one operation is sent elsewhere before what the last node said is its answer: two nodes may each name the other.
const MOST_REDIRECTIONS: u8 = 16;

/// How long an operation waits that a node cannot carry out for now.
const LATER: Duration = Duration::from_millis(5);

/// After a connection was lost the nodes are asked who serves which slots, at most this often.
const ASK_EVERY: Duration = Duration::from_millis(100);

/// Opens a session on every master.
pub(super) fn session(table: &SlotTable, plan: SessionPlan, resent: Resent) -> Result<Box<dyn Session>, StoreError> {
    let asking = Asking::default();
    let masters = table.endpoints().iter();
    let sessions = masters.map(|endpoint| open(endpoint, plan, &asking)).collect::<Result<_, _>>()?;
    let slots = plan.slots() as usize;
    let mut flights = Vec::new();
    flights.resize_with(slots, Flight::default);
    Ok(Box::new(ClusterSession {
        routed: Routed::new(table.clone(), sessions, plan.slots())?,
        flights,
        redirected: Vec::with_capacity(slots),
        later: Vec::with_capacity(slots),
        plan,
        asking,
        largest_reply_bytes: u64::MAX,
        resent,
        lost: Lost::Nothing,
        asked_at: None,
    }))
}

fn open(endpoint: &Endpoint, plan: SessionPlan, asking: &Asking) -> Result<Box<dyn Session>, StoreError> {
    let (login, asking) = (Login::of(endpoint), asking.clone());
    wire::session(endpoint, plan, move || ClusterResp::new(Resp::new(login.clone()), asking.clone()))
}

/// The operation of a slot, in case it has to be sent again.
#[derive(Default)]
struct Flight {
    operation: OwnedOperation,
    redirections: u8,
}

/// Whether a connection was lost since the nodes were asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lost {
    Nothing,
    Connection,
}

struct ClusterSession {
    routed: Routed<SlotTable>,
    flights: Vec<Flight>,
    /// Operations a node did not carry out, since the poll began.
    redirected: Vec<(Slot, Redirection)>,
    /// Operations that are sent again at a time; all wait equally long, so the first is due first.
    later: Vec<(Instant, Slot)>,
    plan: SessionPlan,
    asking: Asking,
    largest_reply_bytes: u64,
    resent: Resent,
    lost: Lost,
    asked_at: Option<Instant>,
}

impl Session for ClusterSession {
    fn believe(&mut self, largest_reply_bytes: u64) {
        self.largest_reply_bytes = largest_reply_bytes;
        self.routed.believe(largest_reply_bytes);
    }

    #[inline]
    fn submit(&mut self, slot: Slot, operation: &Operation<'_>) -> Result<Option<Reply<'_>>, StoreError> {
        let flight = &mut self.flights[slot as usize];
        flight.operation.copy(operation);
        flight.redirections = 0;
        self.routed.submit(slot, operation)
    }

    fn poll(&mut self, cx: &mut Context<'_>, until: Until, sink: &mut dyn Sink) -> Poll<Result<(), StoreError>> {
        if let Err(error) = self.send_again(sink) {
            return Poll::Ready(Err(error));
        }
        let until = match (until, self.later.first()) {
            (Until::At(time), Some((due, _))) => Until::At(time.min(*due)),
            (until, _) => until,
        };
        let ClusterSession { routed, flights, redirected, lost, .. } = self;
        let polled = routed.poll(cx, until, &mut Sieve { sink, flights, redirected, lost });
        if !self.redirected.is_empty() {
            self.follow(sink);
        }
        if self.lost == Lost::Connection {
            self.ask_who_serves();
        }
        polled
    }

    fn expect(&mut self, slot: Slot, kind: OperationKind, key: &[u8]) -> Heed {
        self.routed.expect(slot, kind, key)
    }

    fn rest(&mut self, slot: Slot) {
        self.routed.rest(slot);
    }

    fn reconnected(&self) -> u64 {
        self.routed.reconnected()
    }

    fn descriptor(&mut self) -> io::Result<Option<BorrowedFd<'_>>> {
        Ok(None)
    }

    fn executor(&self) -> Executor {
        self.routed.executor()
    }
}

/// Keeps back the replies that are none: the node did not carry the operation out, and says who does, or when.
struct Sieve<'a> {
    sink: &'a mut dyn Sink,
    flights: &'a mut [Flight],
    redirected: &'a mut Vec<(Slot, Redirection)>,
    lost: &'a mut Lost,
}

impl Sink for Sieve<'_> {
    fn arrived(&mut self) {
        self.sink.arrived();
    }

    #[inline]
    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) {
        match reply {
            Reply::Failed(failure) => self.failed(slot, *failure),
            _ => self.sink.reply(slot, reply),
        }
    }
}

impl Sieve<'_> {
    #[cold]
    fn failed(&mut self, slot: Slot, failure: Failure<'_>) {
        if let Failure::ConnectionLost(_) = failure {
            *self.lost = Lost::Connection;
        }
        let flight = &mut self.flights[slot as usize];
        match failure {
            Failure::Refused(words) if flight.redirections < MOST_REDIRECTIONS || Redirection::is_later(words) => {
                if let Some(redirection) = Redirection::read(words) {
                    flight.redirections += u8::from(redirection != Redirection::Later);
                    self.redirected.push((slot, redirection));
                    return;
                }
            }
            _ => {}
        }
        self.sink.reply(slot, &Reply::Failed(failure));
    }
}

impl ClusterSession {
    /// Sends what was redirected to where it belongs.
    #[cold]
    fn follow(&mut self, sink: &mut dyn Sink) {
        let mut redirected = std::mem::take(&mut self.redirected);
        for (slot, redirection) in redirected.drain(..) {
            self.resent.add();
            let sent = match redirection {
                Redirection::Moved { hash_slot, address } => self.master(&address).and_then(|master| {
                    self.routed.route().assign(hash_slot, master);
                    self.send(master, slot, sink)
                }),
                Redirection::Ask { address } => self.master(&address).and_then(|master| {
                    self.asking.set(true);
                    let sent = self.send(master, slot, sink);
                    self.asking.set(false);
                    sent
                }),
                Redirection::Later => {
                    self.later.push((Instant::now() + LATER, slot));
                    Ok(())
                }
            };
            if let Err(error) = sent {
                // The node that was named is not to be had.
                sink.arrived();
                sink.reply(slot, &Reply::Failed(Failure::ConnectionLost(&error.to_string())));
                self.lost = Lost::Connection;
            }
        }
        self.redirected = redirected;
    }

    /// Sends again what is due.
    fn send_again(&mut self, sink: &mut dyn Sink) -> Result<(), StoreError> {
        if self.later.is_empty() {
            return Ok(());
        }
        let now = Instant::now();
        let due = self.later.iter().take_while(|(time, _)| *time <= now).count();
        for index in 0..due {
            let slot = self.later[index].1;
            let Some(operation) = self.flights[slot as usize].operation.single() else { continue };
            if let Some(reply) = self.routed.submit(slot, &operation)? {
                sink.arrived();
                sink.reply(slot, &reply);
            }
        }
        self.later.drain(..due);
        Ok(())
    }

    /// Sends the operation of a slot to a master.
    fn send(&mut self, master: usize, slot: Slot, sink: &mut dyn Sink) -> Result<(), StoreError> {
        let Some(operation) = self.flights[slot as usize].operation.single() else { return Ok(()) };
        if let Some(reply) = self.routed.submit_to(master, slot, &operation)? {
            sink.arrived();
            sink.reply(slot, &reply);
        }
        Ok(())
    }

    /// The number of the master at an address, which is connected to if that is new.
    fn master(&mut self, address: &str) -> Result<usize, StoreError> {
        let from = self.routed.route().endpoints()[0].clone();
        let unreadable =
            || StoreError::Session(format!("a node names '{}', which is no address", study::visible(address)));
        let endpoint = super::slots::located(address, &from).ok_or_else(unreadable)?;
        self.master_at(endpoint)
    }

    fn master_at(&mut self, endpoint: Endpoint) -> Result<usize, StoreError> {
        if let Some(known) = self.routed.route().find(&endpoint) {
            return Ok(known);
        }
        let mut session = open(&endpoint, self.plan, &self.asking)?;
        session.believe(self.largest_reply_bytes);
        self.routed.route().add(endpoint);
        self.routed.add(session)
    }

    /// Asks the nodes, one after the other, who serves which slots now. Who does not know, or is not to be had, changes nothing.
    #[cold]
    fn ask_who_serves(&mut self) {
        let now = Instant::now();
        if self.asked_at.is_some_and(|asked| now < asked + ASK_EVERY) {
            return;
        }
        self.asked_at = Some(now);
        let endpoints = self.routed.route().endpoints().to_vec();
        let tables = endpoints.iter().map(|endpoint| super::slots(std::slice::from_ref(endpoint), now + ASK_EVERY));
        let Some(table) = tables.flatten().next() else { return };
        self.lost = Lost::Nothing;
        for (hash_slot, endpoint) in table.assignments() {
            if let Ok(master) = self.master_at(endpoint.clone()) {
                self.routed.route().assign(hash_slot, master);
            }
        }
    }
}
