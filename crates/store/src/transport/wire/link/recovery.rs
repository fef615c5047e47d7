//! Giving a connection up, and opening it again while nobody waits for it.

use super::{Common, Flush, Link, LinkState, Loss, PATIENCE, Past, RETRY_FIRST, RETRY_LONGEST, RETRY_TIMEOUT, Trouble};
use crate::believed;
use crate::wire::Codec;
use crate::wire::opening::{Advance, Opening};
use crate::wire::socket::{Interest, left};
use crate::{Failure, Reply, Sink, Slot};
use std::io::{self, ErrorKind};
use std::time::{Duration, Instant};

/// The words for requests that waited for a connection too long.
const NOT_IN_TIME: &str = "no connection to the server could be opened in time";

/// The words for requests that were in flight beside an operation that was abandoned.
const GIVEN_UP: &str = "the connection was dropped: another operation on it had no reply in time";

impl<C: Codec> Link<C> {
    /// Opens the connection when the time has come, where requests wait and the connection is not up. `None`: the connection is up.
    #[cold]
    pub(super) fn not_up<F: Fn() -> C>(
        &mut self,
        common: &mut Common<F>,
        sink: &mut dyn Sink,
    ) -> io::Result<Option<Flush>> {
        if let LinkState::Down { retry_at } = self.line {
            let now = Instant::now();
            if now < retry_at {
                let given_up =
                    self.trouble.as_ref().map(|trouble| now - trouble.since).filter(|away| *away >= PATIENCE);
                let Some(away) = given_up else { return Ok(Some(Flush::Down(retry_at))) };
                let words = format!("the server has been away for {:.0} s", away.as_secs_f64());
                self.fail_unsent(Failure::NotConnected(&words), common, sink);
                return Ok(Some(Flush::Sent));
            }
            self.open_again(0, String::new(), common, sink)?;
        } else if matches!(&self.line, LinkState::Opening(opening) if opening.is_due()) {
            self.proceed(common, sink)?;
        }
        Ok(match &self.line {
            LinkState::Up(_) => None,
            LinkState::Opening(opening) => Some(Flush::Down(opening.look_at())),
            LinkState::Down { .. } => Some(Flush::Sent), // what was in flight has failed
        })
    }

    /// Opens the connection to its node, or to the first node behind it that can be reached. `tried` nodes could not be reached, the first of them
    /// for this reason. The codec is a new one, and has the requests that wait.
    #[cold]
    fn open_again<F: Fn() -> C>(
        &mut self,
        mut tried: usize,
        mut problem: String,
        common: &mut Common<F>,
        sink: &mut dyn Sink,
    ) -> io::Result<()> {
        let nodes = common.endpoints.len();
        while tried < nodes {
            if tried > 0 {
                self.node = (self.node + 1) % nodes;
            }
            let endpoint = &common.endpoints[self.node];
            match Opening::begin(endpoint, &mut self.codec, RETRY_TIMEOUT, tried) {
                Ok(opening) => {
                    if let (Some(poller), Some(socket)) = (&common.poller, opening.socket()) {
                        poller.add_opening(socket, self.number)?;
                    }
                    self.line = LinkState::Opening(Box::new(opening));
                    return self.proceed(common, sink);
                }
                Err(words) => {
                    self.note(&mut problem, &words, common);
                    tried += 1;
                }
            }
        }
        self.lose(Loss::Unreached(problem), common, sink);
        Ok(())
    }

    fn note<F>(&self, problem: &mut String, words: &str, common: &Common<F>) {
        if problem.is_empty() {
            let again = if self.past == Past::Up { " again" } else { "" };
            *problem = format!("cannot connect{again} to {}: {words}", common.endpoints[self.node]);
        }
    }

    /// Continues to open the connection, as far as that needs no waiting.
    #[cold]
    pub fn proceed<F: Fn() -> C>(&mut self, common: &mut Common<F>, sink: &mut dyn Sink) -> io::Result<()> {
        let LinkState::Opening(opening) = &mut self.line else { return Ok(()) };
        match opening.advance(&mut self.codec) {
            Ok(Advance::Open(socket)) => {
                if let Some(poller) = &common.poller {
                    // Only now: a thread may have connected it. What is there already is reported again.
                    match poller.change(&socket, self.number, Interest::Read) {
                        Err(error) if error.kind() == ErrorKind::NotFound => poller.add(&socket, self.number)?,
                        changed => changed?,
                    }
                }
                self.watched = Interest::Read;
                common.reconnected += u64::from(self.past == Past::Up);
                self.past = Past::Up;
                self.line = LinkState::Up(socket);
            }
            Ok(Advance::Watch) => {
                if let (Some(poller), Some(socket)) = (&common.poller, opening.socket()) {
                    poller.add_opening(socket, self.number)?;
                }
            }
            Ok(Advance::Waits) => {}
            Err(words) => {
                let tried = opening.tried + 1;
                let mut problem = String::new();
                self.note(&mut problem, &words, common);
                self.line = LinkState::Down { retry_at: Instant::now() };
                return self.open_again(tried, problem, common, sink);
            }
        }
        Ok(())
    }

    /// Gives the connection up because of the operation on a slot, whose time is over; returns false when the slot has none in flight.
    #[cold]
    pub fn abandon<F: Fn() -> C>(&mut self, slot: Slot, common: &mut Common<F>, sink: &mut dyn Sink) -> bool {
        let Some(place) = self.in_flight.iter().position(|(of, _)| *of == slot) else { return false };
        self.in_flight.remove(place);
        common.answered += 1;
        sink.arrived();
        // While the connection is not up, nothing has left.
        let (failure, loss) = match self.line {
            LinkState::Up(_) => (Failure::Deadline, Loss::Lost(GIVEN_UP.into())),
            _ => (Failure::NotConnected(NOT_IN_TIME), Loss::Unreached(NOT_IN_TIME.into())),
        };
        sink.reply(slot, &Reply::Failed(failure));
        match self.line {
            // The next attempt stays when it is: operations with less time than is left until then would put it off for ever.
            LinkState::Down { .. } => self.fail_unsent(Failure::NotConnected(NOT_IN_TIME), common, sink),
            LinkState::Up(_) | LinkState::Opening(_) => self.lose(loss, common, sink),
        }
        // Another node may answer: where there is none, this one is asked again.
        self.node = (self.node + 1) % common.endpoints.len();
        true
    }

    /// Waits until there is something to do about a connection that is not up, or until that time.
    pub fn wait_for_opening(&self, until: Instant) -> io::Result<()> {
        match &self.line {
            LinkState::Opening(opening) => opening.wait(until),
            _ => crate::wire::socket::sleep(left(until)),
        }
    }

    /// Closes the connection, fails the operations in flight, and sets the time of the next attempt.
    #[cold]
    pub(super) fn lose<F: Fn() -> C>(&mut self, loss: Loss, common: &mut Common<F>, sink: &mut dyn Sink) {
        let now = Instant::now();
        let trouble = self.trouble.get_or_insert(Trouble { since: now, backoff: Duration::ZERO });
        self.line = LinkState::Down { retry_at: now + trouble.backoff };
        trouble.backoff = (trouble.backoff * 2).clamp(RETRY_FIRST, RETRY_LONGEST);
        self.codec = (common.make_codec)();
        self.sent = 0;
        self.answer.clear();
        self.awaited = None;
        common.buffers.take_back(&mut self.out);
        common.buffers.take_back(&mut self.partial);
        let too_large;
        let failure = match &loss {
            Loss::Lost(words) => Failure::ConnectionLost(words),
            Loss::Unreached(words) => Failure::NotConnected(words),
            Loss::Protocol(words) => Failure::Protocol(words),
            Loss::TooLarge(bytes) => {
                too_large = believed::too_large(bytes, common.most_bytes);
                Failure::Protocol(&too_large)
            }
        };
        if self.in_flight.is_empty() {
            if let Loss::Protocol(words) = loss {
                self.owed = Some(words);
            }
            return;
        }
        self.fail(failure, common, sink);
    }

    /// Fails the requests that wait for a connection that is not up: nothing of them has left.
    #[cold]
    fn fail_unsent<F: Fn() -> C>(&mut self, failure: Failure<'_>, common: &mut Common<F>, sink: &mut dyn Sink) {
        self.codec = (common.make_codec)();
        common.buffers.take_back(&mut self.out);
        self.fail(failure, common, sink);
    }

    /// Fails the operations in flight.
    #[cold]
    pub(super) fn fail<F>(&mut self, failure: Failure<'_>, common: &mut Common<F>, sink: &mut dyn Sink) {
        sink.arrived();
        for (slot, _) in self.in_flight.drain(..) {
            common.answered += 1;
            sink.reply(slot, &Reply::Failed(failure));
        }
    }
}
