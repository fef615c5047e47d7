//! A session over the masters of a cluster: follows what they say about who serves a slot.

mod census;
mod redirection;

use super::codec::{Asking, ClusterResp, Wait};
use super::slots::SlotTable;
use crate::redis::{Login, Resp};
use census::{Census, Said};
use redirection::Redirection;
use std::io;
use std::os::fd::BorrowedFd;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use store::routed::{Route, Routed};
use store::{
    Abandoned, Endpoint, Failure, Operation, OwnedOperation, Reply, Resent, Session, Sink, Slot, StoreError, Until,
    Wiring, wire,
};

/// The number of times one operation is sent elsewhere before the last node's answer counts: two nodes may each name the other.
const MOST_REDIRECTIONS: u8 = 16;

/// The pause before an operation is sent again that a node cannot carry out for now.
const LATER: Duration = Duration::from_millis(5);

/// Opens a session on every master. `nodes` are all known nodes, replicas among them: a replica may take over.
pub(super) fn session(
    table: &SlotTable,
    nodes: &[Endpoint],
    wiring: Wiring,
    resent: Resent,
    wait: Wait,
) -> Result<Box<dyn Session>, StoreError> {
    let asking = Asking::default();
    let masters = table.endpoints().iter();
    let open = |endpoint| wire::session(endpoint, wiring, codec(endpoint, &asking, wait));
    let sessions = masters.map(open).collect::<Result<_, _>>()?;
    let mut others: Vec<Endpoint> = nodes.to_vec();
    others.retain(|node| table.find(node).is_none());
    let slots = wiring.slots() as usize;
    let mut flights = Vec::new();
    flights.resize_with(slots, Flight::default);
    Ok(Box::new(ClusterSession {
        routed: Routed::new(table.clone(), sessions, wiring.slots())?,
        at_first: table.clone(),
        flights,
        redirected: Vec::with_capacity(slots),
        later: Vec::with_capacity(slots),
        wiring,
        asking,
        wait,
        largest_reply_bytes: u64::MAX,
        resent,
        others,
        lost: Vec::new(),
        census: Census::new(),
    }))
}

/// Returns a function that makes the codecs of connections to a node.
fn codec(endpoint: &Endpoint, asking: &Asking, wait: Wait) -> impl Fn() -> ClusterResp + 'static {
    let (login, asking) = (Login::of(endpoint), asking.clone());
    move || ClusterResp::new(Resp::new(login.clone()), asking.clone(), wait)
}

/// The operation of a slot, in case it has to be sent again.
#[derive(Default)]
struct Flight {
    operation: OwnedOperation,
    redirections: u8,
}

struct ClusterSession {
    routed: Routed<SlotTable>,
    /// The masters and their slots when the session was opened.
    at_first: SlotTable,
    flights: Vec<Flight>,
    /// The operations that a node did not carry out, since the poll began.
    redirected: Vec<(Slot, Redirection)>,
    /// Operations that are sent again at a time; all wait equally long, so the first is due first.
    later: Vec<(Instant, Slot)>,
    wiring: Wiring,
    asking: Asking,
    wait: Wait,
    largest_reply_bytes: u64,
    resent: Resent,
    /// Nodes that served no slot when the session was opened.
    others: Vec<Endpoint>,
    /// Masters whose connections were lost, or given up, and that have not been heard of since. While there are some, all nodes are asked who
    /// serves which slots.
    lost: Vec<usize>,
    census: Census,
}

#[deny(clippy::missing_trait_methods)]
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
        let ClusterSession { routed, flights, redirected, .. } = self;
        let mut failed = Vec::new();
        let polled = routed.poll(cx, until, &mut Sieve { sink, flights, redirected, failed: &mut failed });
        if !failed.is_empty() {
            self.have_lost(&failed);
        }
        if !self.redirected.is_empty() {
            self.follow(sink);
        }
        if !self.lost.is_empty() || self.census.is_open() {
            self.look_who_serves(sink);
        }
        polled
    }

    fn abandon(&mut self, slot: Slot, sink: &mut dyn Sink) -> Abandoned {
        if let Some(place) = self.later.iter().position(|(_, waiting)| *waiting == slot) {
            self.later.remove(place);
            sink.arrived();
            sink.reply(slot, &Reply::Failed(Failure::Deadline));
            return Abandoned::GivenUp;
        }
        let ClusterSession { routed, flights, redirected, .. } = self;
        let mut failed = Vec::new();
        let abandoned = routed.abandon(slot, &mut Sieve { sink, flights, redirected, failed: &mut failed });
        self.have_lost(&failed);
        self.ask_who_serves();
        self.look_who_serves(sink);
        abandoned
    }

    fn parts(&self) -> Vec<f64> {
        self.at_first.shares()
    }

    fn part(&self, key: &[u8]) -> u16 {
        self.at_first.node(key) as u16
    }

    fn descriptor(&mut self) -> io::Result<Option<BorrowedFd<'_>>> {
        Ok(None)
    }

    store::pass_on!(routed: expect, rest, reconnected, take_head_of_line, executor);
}

/// A filter that keeps back replies of nodes that did not carry the operation out, but say which node does, or when.
struct Sieve<'a> {
    sink: &'a mut dyn Sink,
    flights: &'a mut [Flight],
    redirected: &'a mut Vec<(Slot, Redirection)>,
    /// Slots whose connections were lost.
    failed: &'a mut Vec<Slot>,
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
        if let Failure::ConnectionLost(_) | Failure::NotConnected(_) | Failure::Deadline = failure {
            self.failed.push(slot);
        }
        let flight = &mut self.flights[slot as usize];
        match failure {
            Failure::Refused(words) if flight.redirections < MOST_REDIRECTIONS || Redirection::is_later(words) => {
                if let Some(redirection) = Redirection::read(words) {
                    flight.redirections += u8::from(!Redirection::is_later(words));
                    self.redirected.push((slot, redirection));
                    return;
                }
            }
            _ => {}
        }
        self.sink.reply(slot, &Reply::Failed(failure));
    }
}

/// Hands a reply over that was there at once.
fn hand_over(sink: &mut dyn Sink, slot: Slot, reply: &Reply<'_>) {
    sink.arrived();
    sink.reply(slot, reply);
}

impl ClusterSession {
    /// Sends redirected operations to the nodes they belong to.
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
                Redirection::Later | Redirection::Down => {
                    if redirection == Redirection::Down {
                        self.ask_who_serves();
                    }
                    self.later.push((Instant::now() + LATER, slot));
                    Ok(())
                }
            };
            if let Err(error) = sent {
                // The node that was named is not to be had.
                sink.arrived();
                sink.reply(slot, &Reply::Failed(Failure::NotConnected(&error.to_string())));
            }
        }
        self.redirected = redirected;
    }

    /// Sends operations again whose time has come.
    fn send_again(&mut self, sink: &mut dyn Sink) -> Result<(), StoreError> {
        if self.later.is_empty() {
            return Ok(());
        }
        let now = Instant::now();
        let due = self.later.iter().take_while(|(time, _)| *time <= now).count();
        for index in 0..due {
            let slot = self.later[index].1;
            let ClusterSession { routed, flights, .. } = self;
            let sent = flights[slot as usize].operation.with_single(|operation| {
                routed.submit(slot, operation).map(|reply| reply.iter().for_each(|reply| hand_over(sink, slot, reply)))
            });
            sent.unwrap_or(Ok(()))?;
        }
        self.later.drain(..due);
        Ok(())
    }

    /// Sends the operation of a slot to a master.
    fn send(&mut self, master: usize, slot: Slot, sink: &mut dyn Sink) -> Result<(), StoreError> {
        let ClusterSession { routed, flights, .. } = self;
        let sent = flights[slot as usize].operation.with_single(|operation| {
            let replied = routed.submit_to(master, slot, operation);
            replied.map(|reply| reply.iter().for_each(|reply| hand_over(sink, slot, reply)))
        });
        sent.unwrap_or(Ok(()))
    }

    /// Returns the number of the master at an address, and connects to the master if it is new.
    fn master(&mut self, address: &str) -> Result<usize, StoreError> {
        let from = self.routed.route().endpoints()[0].clone();
        let unreadable =
            || StoreError::Session(format!("a node names '{}', which is no address", study::visible(address)));
        let endpoint = super::slots::located(address, &from).ok_or_else(unreadable)?;
        self.master_at(&endpoint)
    }

    fn master_at(&mut self, endpoint: &Endpoint) -> Result<usize, StoreError> {
        if let Some(known) = self.routed.route().find(endpoint) {
            return Ok(known);
        }
        let mut session = wire::session_later(endpoint, self.wiring, codec(endpoint, &self.asking, self.wait))?;
        session.believe(self.largest_reply_bytes);
        self.routed.route().add(endpoint.clone());
        self.routed.add(session)
    }

    /// Notes that the connections of these slots' operations were lost.
    #[cold]
    fn have_lost(&mut self, slots: &[Slot]) {
        for slot in slots {
            let ClusterSession { routed, flights, .. } = self;
            let master =
                flights[*slot as usize].operation.with_single(|operation| Some(routed.route().node(operation.key()?)));
            let Some(master) = master.flatten() else { continue };
            if !self.lost.contains(&master) {
                self.lost.push(master);
            }
        }
    }

    /// Asks all nodes which masters serve which slots now. Nobody waits for the answers.
    #[cold]
    fn ask_who_serves(&mut self) {
        let ClusterSession { routed, census, others, .. } = self;
        census.ask(routed.route().endpoints().iter().chain(others.iter()));
    }

    /// Asks while a master is lost, and follows a node that knows a later change than this session. Every answer is heard out: a master that
    /// is back may answer first, and be the last to know that another took over.
    #[cold]
    fn look_who_serves(&mut self, sink: &mut dyn Sink) {
        if !self.lost.is_empty() {
            self.ask_who_serves();
        }
        while let Some(Said { from, table }) = self.census.next() {
            let Some(table) = table else { continue };
            let known = self.routed.route().epoch();
            if table.epoch() > known {
                self.go_by(&table);
            }
            // Who answers is there; its connections are opened again as they are needed.
            let heard = self.routed.route().find(&from);
            self.lost.retain(|lost| Some(*lost) != heard);
        }
        self.leave(sink);
    }

    /// Takes over which masters serve which slots.
    fn go_by(&mut self, table: &SlotTable) {
        for (hash_slot, endpoint) in table.assignments() {
            if let Ok(master) = self.master_at(endpoint) {
                self.routed.route().assign(hash_slot, master);
            }
        }
        self.routed.route().set_epoch(table.epoch());
    }

    /// Fails the operations that were sent to a lost master that serves nothing any more.
    fn leave(&mut self, sink: &mut dyn Sink) {
        let lost = std::mem::take(&mut self.lost);
        for master in lost {
            if self.routed.route().serves(master) {
                self.lost.push(master);
                continue;
            }
            let ClusterSession { routed, flights, redirected, wiring, .. } = self;
            let mut failed = Vec::new();
            let slots = 0..wiring.slots();
            routed.abandon_all(master, slots, &mut Sieve { sink, flights, redirected, failed: &mut failed });
        }
    }
}
