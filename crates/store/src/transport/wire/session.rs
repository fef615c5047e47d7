//! A session over connections: who is polled, and how long.

use super::alarm::Alarm;
use super::link::{Common, Flush, Link};
use super::nudges::{NUDGE_EVERY, Nudges};
use super::socket::{Interest, PRECISE_BELOW, Poller, Read, left, sleep};
use super::{Codec, Replies};
use crate::believed::wire_bytes;
use crate::{Abandoned, Endpoint, Failure, Operation, Reply, Session, Sink, Slot, StoreError, Until, Wiring};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use study::HeadOfLine;

/// The number of polls with replies after which missing replies are looked for: the clock is not read for each poll.
const LOOK_EVERY: u32 = 256;

/// The number under which the alarm is watched: no connection has this number.
const ALARM: u32 = u32::MAX;

/// Opens a session: one connection per client of the plan, or as few as its clients share, each with its own codec, all connected and
/// greeted.
///
/// # Errors
/// A server cannot be reached, refuses, or does not answer within [`CONNECT_TIMEOUT`](super::CONNECT_TIMEOUT).
pub fn session<C: Codec>(
    endpoint: &Endpoint,
    wiring: impl Into<Wiring>,
    make_codec: impl Fn() -> C + 'static,
) -> Result<Box<dyn Session>, StoreError> {
    spread(std::slice::from_ref(endpoint), 0, wiring, make_codec)
}

/// Opens the same session over several nodes that are one store, any of which answers for all: connection `c` is to node `first + c`, around the end,
/// or to the next node that can be reached.
///
/// # Errors
/// As of [`session`].
pub fn spread<C: Codec>(
    endpoints: &[Endpoint],
    first: usize,
    wiring: impl Into<Wiring>,
    make_codec: impl Fn() -> C + 'static,
) -> Result<Box<dyn Session>, StoreError> {
    let wiring = wiring.into();
    let common = common(endpoints, wiring, make_codec)?;
    let links = (0..wiring.count())
        .map(|number| Link::open(number, (first + number as usize) % endpoints.len(), wiring.most_slots(), &common))
        .collect::<Result<Vec<_>, StoreError>>()?;
    wire(common, links, wiring)
}

/// Opens the same session over one node whose connections are each opened when the first operation is submitted to them: nothing is waited for.
///
/// # Errors
/// The system gives nothing to wait with.
pub fn session_later<C: Codec>(
    endpoint: &Endpoint,
    wiring: impl Into<Wiring>,
    make_codec: impl Fn() -> C + 'static,
) -> Result<Box<dyn Session>, StoreError> {
    let wiring = wiring.into();
    let common = common(std::slice::from_ref(endpoint), wiring, make_codec)?;
    let links = (0..wiring.count()).map(|number| Link::later(number, 0, wiring.most_slots(), &common)).collect();
    wire(common, links, wiring)
}

fn common<F>(endpoints: &[Endpoint], wiring: Wiring, make_codec: F) -> Result<Common<F>, StoreError> {
    let Some(endpoint) = endpoints.first() else {
        return Err(StoreError::Session("no address of a server was given".into()));
    };
    let poller = match wiring.count() {
        0 | 1 => None,
        _ => Some(Poller::new().map_err(|error| StoreError::open(endpoint, error))?),
    };
    Ok(Common::new(endpoints.to_vec(), make_codec, wiring.count() as usize, poller))
}

fn wire<C: Codec, F: Fn() -> C + 'static>(
    common: Common<F>,
    links: Vec<Link<C>>,
    wiring: Wiring,
) -> Result<Box<dyn Session>, StoreError> {
    let nudges = Nudges::for_this_thread().map_err(|error| StoreError::open(&common.endpoints[0], error))?;
    Ok(Box::new(Wire {
        unsent: Vec::with_capacity(wiring.slots() as usize),
        links,
        of_slots: wiring.of_slots(),
        head_of_line: (wiring.is_shared() && C::REPLIES == Replies::InOrder).then(HeadOfLine::default),
        polls: 0,
        common,
        _nudges: nudges,
    }))
}

struct Wire<C, F> {
    links: Vec<Link<C>>,
    /// The connection of each slot: looked up, since a division costs as much as a dozen other instructions.
    of_slots: Box<[u32]>,
    /// What replies have to wait behind, where clients share connections.
    head_of_line: Option<HeadOfLine>,
    /// Connections with requests held back. One may be listed twice.
    unsent: Vec<u32>,
    /// Polls so far, where replies have tickets.
    polls: u32,
    common: Common<F>,
    /// End the waits that have no limit.
    _nudges: Nudges,
}

impl<C: Codec, F: Fn() -> C> Session for Wire<C, F> {
    fn believe(&mut self, largest_reply_bytes: u64) {
        self.common.most_bytes = wire_bytes(largest_reply_bytes);
    }

    #[inline]
    fn submit(&mut self, slot: Slot, operation: &Operation<'_>) -> Result<Option<Reply<'_>>, StoreError> {
        let number = self.of_slots[slot as usize];
        let link = &mut self.links[number as usize];
        if let Some(words) = link.take_owed() {
            return Ok(Some(Reply::Failed(Failure::Protocol(words))));
        }
        if link.is_sent() {
            self.unsent.push(number);
        }
        if let Some(head_of_line) = &mut self.head_of_line {
            head_of_line.add(link.waiting());
        }
        link.push(slot, operation, &mut self.common.buffers);
        Ok(None)
    }

    fn poll(&mut self, _: &mut Context<'_>, until: Until, sink: &mut dyn Sink) -> Poll<Result<(), StoreError>> {
        self.common.answered = 0;
        let polled =
            if self.common.poller.is_none() { self.poll_one(until, sink) } else { self.poll_many(until, sink) };
        if C::REPLIES == Replies::ByTicket {
            self.polls = self.polls.wrapping_add(1);
            let waited = self.common.answered == 0 && until != Until::Now;
            if waited || self.polls.is_multiple_of(LOOK_EVERY) {
                let now = Instant::now();
                self.links.iter_mut().for_each(|link| link.look_at_oldest(now, &mut self.common, sink));
            }
        }
        Poll::Ready(polled.map_err(|error| StoreError::Session(format!("waiting for replies: {error}"))))
    }

    fn abandon(&mut self, slot: Slot, sink: &mut dyn Sink) -> Abandoned {
        let number = self.of_slots.get(slot as usize).copied();
        let link = number.and_then(|number| self.links.get_mut(number as usize));
        match link.is_some_and(|link| link.abandon(slot, &mut self.common, sink)) {
            true => Abandoned::GivenUp,
            false => Abandoned::Never,
        }
    }

    fn reconnected(&self) -> u64 {
        self.common.reconnected
    }

    fn take_head_of_line(&mut self) -> Option<HeadOfLine> {
        self.head_of_line.as_mut().map(std::mem::take)
    }

    fn descriptor(&mut self) -> io::Result<Option<BorrowedFd<'_>>> {
        if self.common.poller.is_none() {
            let poller = Poller::new()?;
            self.links.iter().try_for_each(|link| link.watch_with(&poller))?;
            self.common.poller = Some(poller);
        }
        if let (None, Some(poller)) = (&self.common.alarm, &self.common.poller) {
            let alarm = Alarm::new()?;
            poller.add_instance(alarm.as_fd(), ALARM)?;
            self.common.alarm = Some(alarm);
        }
        Ok(self.common.poller.as_ref().map(AsFd::as_fd))
    }
}

impl<C: Codec, F: Fn() -> C> Wire<C, F> {
    /// Polls the only connection, and reads it blocking, so that a batch takes two system calls.
    fn poll_one(&mut self, until: Until, sink: &mut dyn Sink) -> io::Result<()> {
        let common = &mut self.common;
        let Some(link) = self.links.first_mut() else {
            return sleep(limit(until, None));
        };
        let flush = link.flush(common, sink)?;
        if common.answered > 0 {
            return Ok(());
        }
        if flush == Flush::Sent {
            self.unsent.clear();
        }
        match (until, flush) {
            (Until::Now, Flush::Down(_)) => {}
            (Until::At(time), Flush::Down(retry_at)) => {
                link.wait_for_opening(time.min(retry_at))?;
                link.proceed(common, sink)?;
                link.flush(common, sink)?;
            }
            (Until::Now, _) => {
                link.read(Read::Now, common, sink);
            }
            (Until::At(time), Flush::Blocked) => {
                if link.wait(Interest::ReadOrWrite, time)? {
                    link.read(Read::Now, common, sink);
                }
            }
            (Until::At(time), Flush::Sent) => {
                if link.waiting() > 0 && left(time) >= PRECISE_BELOW {
                    link.read(Read::Blocking, common, sink);
                } else if link.wait(Interest::Read, time)? {
                    link.read(Read::Now, common, sink);
                }
            }
        }
        Ok(())
    }

    fn poll_many(&mut self, until: Until, sink: &mut dyn Sink) -> io::Result<()> {
        let Wire { links, unsent, common, .. } = self;
        let mut retry_at = None;
        let mut kept = 0;
        for at in 0..unsent.len() {
            let number = unsent[at];
            if let Flush::Down(time) = links[number as usize].flush(common, sink)? {
                retry_at = Some(retry_at.map_or(time, |earliest: Instant| earliest.min(time)));
                unsent[kept] = number;
                kept += 1;
            }
        }
        unsent.truncate(kept);
        if let Some(alarm) = &mut common.alarm {
            alarm.set(retry_at)?;
        }
        if common.answered > 0 {
            return Ok(());
        }
        let Some(poller) = &mut common.poller else { return Ok(()) };
        let found = poller.wait(Some(limit(until, retry_at)).filter(|limit| *limit < PRECISE_BELOW))?;
        for index in 0..found {
            let Some(ready) = common.poller.as_ref().map(|poller| poller.ready(index)) else { break };
            let Some(link) = links.get_mut(ready.number as usize) else { continue }; // the alarm: see above
            if link.is_opening() {
                link.proceed(common, sink)?;
            }
            if ready.writable {
                link.flush(common, sink)?;
            }
            if ready.readable {
                link.drain(ready.ended, common, sink);
            }
        }
        Ok(())
    }
}

/// Returns how long to wait: until the caller's time, or until a connection is opened again if that is earlier.
fn limit(until: Until, retry_at: Option<Instant>) -> Duration {
    let Until::At(time) = until else { return Duration::ZERO };
    left(retry_at.map_or(time, |retry_at| retry_at.min(time)))
}

const _: () = assert!(NUDGE_EVERY.as_nanos() < PRECISE_BELOW.as_nanos());
