//! One connection: what it has to send, what it has received of a reply, who waits for replies, and how it recovers.

mod recovery;
mod state;

use super::alarm::Alarm;
use super::buffers::Buffers;
use super::received::{End, SURPLUS, hand_over};
use super::socket::{Interest, Poller, Read, Socket, left};
use super::{Codec, Expect, Replies, talk, ticketed};
use crate::believed::wire_bytes;
use crate::{Endpoint, Operation, Sink, Slot, StoreError};
use state::{Awaited, LinkState, Loss, Past, Trouble};
pub(super) use state::{Flush, ReadOutcome};
use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::time::{Duration, Instant};

/// The longest time between two attempts to open a broken connection again. Operations that are submitted meanwhile wait for the attempt.
pub const RETRY_LONGEST: Duration = Duration::from_millis(500);

const RETRY_FIRST: Duration = Duration::from_millis(10);

/// The time for which operations wait for attempts. When a server has been away for longer, each operation fails at once, except the one for which an
/// attempt is made: otherwise a node that is gone for good would cost half a second per key.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// The time that one attempt to open a broken connection may take.
const RETRY_TIMEOUT: Duration = Duration::from_secs(1);

/// The time that a reply with a ticket may take: the usual limit of clients of such protocols. The connection is then opened again, so that a reply
/// that comes after all finds nobody.
pub const UNANSWERED: Duration = Duration::from_secs(5);

/// The number of bytes held back from which requests are sent without waiting for the poll.
const SEND_EARLY_BYTES: usize = 64 << 10;

/// The least number of bytes that one read may take.
const READ_BYTES: usize = 64 << 10;

/// The room for messages that a server must get unasked.
const ANSWER_BYTES: usize = 256;

/// The state that all connections of a session share.
pub(super) struct Common<F> {
    /// The nodes; any of them serves any connection.
    pub endpoints: Vec<Endpoint>,
    pub make_codec: F,
    pub buffers: Buffers,
    /// The memory where replies are received; only the beginning of an unfinished reply is copied out of it.
    pub scratch: Box<[u8]>,
    /// The number of replies handed to the sink since the poll began.
    pub answered: u32,
    /// The poller that watches the connections; a session of one connection has none.
    pub poller: Option<Poller>,
    /// The alarm that goes off when a connection is to be opened, where another thread waits for the poller.
    pub alarm: Option<Alarm>,
    /// The largest reply that is believed.
    pub most_bytes: usize,
    /// The number of connections that were opened again.
    pub reconnected: u64,
}

impl<F> Common<F> {
    pub fn new(endpoints: Vec<Endpoint>, make_codec: F, connections: usize, poller: Option<Poller>) -> Common<F> {
        let scratch = vec![0; READ_BYTES].into_boxed_slice();
        let (buffers, most_bytes) = (Buffers::of(connections), wire_bytes(u64::MAX));
        Common { endpoints, make_codec, buffers, scratch, answered: 0, poller, alarm: None, most_bytes, reconnected: 0 }
    }
}

/// One connection.
pub(super) struct Link<C> {
    number: u32,
    /// Which of the endpoints it is connected to, or was last.
    node: usize,
    codec: C,
    line: LinkState,
    past: Past,
    /// Requests, of which the first `sent` bytes have left.
    out: Vec<u8>,
    sent: usize,
    /// The beginning of a reply that is not yet whole.
    partial: Vec<u8>,
    /// Bytes that reply still needs, at least.
    missing: usize,
    in_flight: VecDeque<(Slot, Expect)>,
    /// What the server has to be told though nothing is asked.
    answer: Vec<u8>,
    awaited: Option<Awaited>,
    watched: Interest,
    trouble: Option<Trouble>,
    /// What the server did wrong while no operation was there to be told.
    owed: Option<&'static str>,
}

impl<C: Codec> Link<C> {
    /// Opens connection `number` to this node or a node behind it, for this many `slots`.
    pub fn open<F: Fn() -> C>(number: u32, node: usize, slots: u32, common: &Common<F>) -> Result<Link<C>, StoreError> {
        let (node, codec, socket) = open_any(node, common, super::CONNECT_TIMEOUT)
            .map_err(|(node, problem)| StoreError::open(&common.endpoints[node], problem))?;
        if let Some(poller) = &common.poller {
            poller.add(&socket, number).map_err(|error| StoreError::open(&common.endpoints[node], error))?;
        }
        Ok(Link { past: Past::Up, ..Link::with(number, node, slots, codec, LinkState::Up(socket)) })
    }

    /// Returns a connection that is opened when the first operation is submitted to it.
    pub fn later<F: Fn() -> C>(number: u32, node: usize, slots: u32, common: &Common<F>) -> Link<C> {
        Link::with(number, node, slots, (common.make_codec)(), LinkState::Down { retry_at: Instant::now() })
    }

    fn with(number: u32, node: usize, slots: u32, codec: C, line: LinkState) -> Link<C> {
        Link {
            number,
            node,
            codec,
            line,
            past: Past::Nothing,
            out: Vec::new(),
            sent: 0,
            partial: Vec::new(),
            missing: 0,
            in_flight: VecDeque::with_capacity(slots as usize),
            // Room for many a pong, so that none allocates.
            answer: Vec::with_capacity(if C::REPLIES == Replies::ByTicket { ANSWER_BYTES } else { 0 }),
            awaited: None,
            watched: Interest::Read,
            trouble: None,
            owed: None,
        }
    }

    /// Registers the connection with the poller that watches several.
    pub fn watch_with(&self, poller: &Poller) -> io::Result<()> {
        match &self.line {
            LinkState::Up(socket) => poller.add(socket, self.number),
            LinkState::Opening(opening) => {
                opening.socket().map_or(Ok(()), |socket| poller.add_opening(socket, self.number))
            }
            LinkState::Down { .. } => Ok(()),
        }
    }

    /// Returns whether the connection is being opened.
    #[inline]
    pub fn is_opening(&self) -> bool {
        matches!(self.line, LinkState::Opening(_))
    }

    /// Returns the number of replies outstanding.
    #[inline]
    pub fn waiting(&self) -> usize {
        self.in_flight.len()
    }

    /// Returns whether nothing is held back.
    #[inline]
    pub fn is_sent(&self) -> bool {
        self.out.is_empty()
    }

    /// Takes the error that the next operation must get instead of being carried out.
    #[inline]
    pub fn take_owed(&mut self) -> Option<&'static str> {
        if self.owed.is_none() { None } else { self.owed.take() }
    }

    /// Writes a request into the buffer, and sends the buffer when it has grown large.
    #[inline(always)]
    pub fn push(&mut self, slot: Slot, operation: &Operation<'_>, buffers: &mut Buffers) {
        if self.is_sent() {
            buffers.lend(&mut self.out);
        }
        let expect = self.codec.encode(operation, &mut self.out);
        self.in_flight.push_back((slot, expect));
        if self.out.len() - self.sent >= SEND_EARLY_BYTES {
            self.send_early(buffers);
        }
    }

    /// Sends what the kernel takes; errors are left to the flush, which meets them again.
    #[cold]
    fn send_early(&mut self, buffers: &mut Buffers) {
        let LinkState::Up(socket) = &self.line else { return };
        if let Ok(sent) = socket.send(&self.out[self.sent..]) {
            self.sent += sent;
            if self.sent == self.out.len() {
                self.sent = 0;
                buffers.take_back(&mut self.out);
            }
        }
    }

    /// Sends the bytes held back; opens the connection again when it is down and the time has come.
    ///
    /// # Errors
    /// The error of the epoll instance.
    #[inline]
    pub fn flush<F: Fn() -> C>(&mut self, common: &mut Common<F>, sink: &mut dyn Sink) -> io::Result<Flush> {
        if self.out.is_empty() {
            return Ok(Flush::Sent);
        }
        if !matches!(self.line, LinkState::Up(_))
            && let Some(flush) = self.not_up(common, sink)?
        {
            return Ok(flush);
        }
        let LinkState::Up(socket) = &self.line else { return Ok(Flush::Sent) };
        match socket.send(&self.out[self.sent..]) {
            Ok(sent) if self.sent + sent == self.out.len() => {
                self.sent = 0;
                common.buffers.take_back(&mut self.out);
                self.watch(Interest::Read, common)?;
                Ok(Flush::Sent)
            }
            Ok(sent) => {
                self.sent += sent;
                self.watch(Interest::ReadOrWrite, common)?;
                Ok(Flush::Blocked)
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                self.watch(Interest::ReadOrWrite, common)?;
                Ok(Flush::Blocked)
            }
            Err(error) => {
                // What the server said before it hung up may still be there, and may say why.
                self.read(Read::Now, common, sink);
                if let LinkState::Up(_) = self.line {
                    self.lose(Loss::Lost(error.to_string()), common, sink);
                }
                Ok(Flush::Sent)
            }
        }
    }

    #[inline]
    fn watch<F>(&mut self, interest: Interest, common: &Common<F>) -> io::Result<()> {
        if self.watched != interest {
            self.watched = interest;
            if let (Some(poller), LinkState::Up(socket)) = (&common.poller, &self.line) {
                poller.change(socket, self.number, interest)?;
            }
        }
        Ok(())
    }

    /// Takes all bytes that are there, as edge-triggered reports demand: until a read is not filled, or to the end of a connection that has `ended`.
    #[inline]
    pub fn drain<F: Fn() -> C>(&mut self, ended: bool, common: &mut Common<F>, sink: &mut dyn Sink) {
        loop {
            match self.read(Read::Now, common, sink) {
                ReadOutcome::Filled => {}
                ReadOutcome::Part if ended => {}
                ReadOutcome::Part | ReadOutcome::Nothing => return,
            }
        }
    }

    /// Takes the replies that are there, or waits for some.
    #[inline]
    pub fn read<F: Fn() -> C>(&mut self, read: Read, common: &mut Common<F>, sink: &mut dyn Sink) -> ReadOutcome {
        let LinkState::Up(socket) = &self.line else { return ReadOutcome::Nothing };
        let (received, room) = if self.partial.is_empty() {
            (socket.receive(&mut common.scratch, read), common.scratch.len())
        } else {
            // The hint comes from the server, so it is believed only as far as the server has sent bytes.
            let believed = self.partial.len().max(READ_BYTES);
            self.partial.reserve(self.missing.clamp(READ_BYTES, believed));
            let room = self.partial.capacity() - self.partial.len();
            (socket.receive_more(&mut self.partial, read), room)
        };
        match received {
            Ok(0) => self.lose(Loss::Lost("the server closed the connection".into()), common, sink),
            Ok(received) => {
                sink.arrived();
                self.take(received, common, sink);
                return if received == room { ReadOutcome::Filled } else { ReadOutcome::Part };
            }
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => {}
                _ => self.lose(Loss::Lost(error.to_string()), common, sink),
            },
        }
        ReadOutcome::Nothing
    }

    /// Hands over the replies among the bytes received, and keeps the beginning of the next.
    #[inline]
    fn take<F: Fn() -> C>(&mut self, received: usize, common: &mut Common<F>, sink: &mut dyn Sink) {
        let fresh = self.partial.is_empty();
        let input = if fresh { &common.scratch[..received] } else { &self.partial[..] };
        let waiting = self.in_flight.len();
        let (consumed, end) = match C::REPLIES {
            Replies::InOrder => hand_over(&mut self.codec, &mut self.in_flight, input, sink),
            Replies::ByTicket => {
                ticketed::hand_over(&mut self.codec, &mut self.in_flight, input, &mut self.answer, sink)
            }
        };
        let answered = waiting - self.in_flight.len();
        let begun = input.len() - consumed;
        common.answered += answered as u32;
        if answered > 0 {
            self.trouble = None;
        }
        match end {
            End::Whole if fresh => {}
            End::Whole => common.buffers.take_back(&mut self.partial),
            End::Partial { at_least } if begun.saturating_add(at_least) > common.most_bytes => {
                self.lose(Loss::TooLarge(begun.saturating_add(at_least)), common, sink);
            }
            End::Partial { at_least } => {
                self.missing = at_least;
                if fresh {
                    common.buffers.lend(&mut self.partial);
                    self.partial.extend_from_slice(&common.scratch[consumed..received]);
                } else if consumed > 0 {
                    self.partial.drain(..consumed);
                }
            }
            End::Broken(problem) => self.lose(Loss::Protocol(problem), common, sink),
            End::Surplus => {
                self.lose(Loss::Protocol(SURPLUS), common, sink);
                if answered > 0 {
                    self.owed = None; // the last reply has been told
                }
            }
        }
        if C::REPLIES == Replies::ByTicket && !self.answer.is_empty() {
            self.send_answer(common, sink);
        }
    }

    /// Sends what the server has to be told, behind the requests that are held back if there are some.
    #[cold]
    fn send_answer<F: Fn() -> C>(&mut self, common: &mut Common<F>, sink: &mut dyn Sink) {
        if !self.out.is_empty() {
            self.out.append(&mut self.answer);
        } else if let LinkState::Up(socket) = &self.line {
            let sent = socket.send(&self.answer);
            if !matches!(sent, Ok(sent) if sent == self.answer.len()) {
                self.lose(Loss::Lost("the server does not take the answer to its question".into()), common, sink);
            }
            self.answer.clear();
        }
    }

    /// Gives the connection up when the oldest request has waited too long.
    #[cold]
    pub fn look_at_oldest<F: Fn() -> C>(&mut self, now: Instant, common: &mut Common<F>, sink: &mut dyn Sink) {
        let oldest = self.in_flight.front().map(|(_, expect)| expect.detail);
        match (oldest, &self.awaited) {
            (Some(ticket), Some(awaited)) if awaited.ticket == ticket => {
                if now.saturating_duration_since(awaited.since) >= UNANSWERED {
                    let words = format!("no reply within {} s", UNANSWERED.as_secs());
                    self.lose(Loss::Lost(words), common, sink);
                }
            }
            (Some(ticket), _) => self.awaited = Some(Awaited { ticket, since: now }),
            (None, _) => self.awaited = None,
        }
    }

    /// Waits precisely for this connection alone. Returns whether to read.
    pub fn wait(&self, interest: Interest, until: Instant) -> io::Result<bool> {
        match &self.line {
            LinkState::Up(socket) => socket.wait(interest, left(until)),
            LinkState::Opening(_) | LinkState::Down { .. } => super::socket::sleep(left(until)).map(|()| false),
        }
    }
}

/// Connects to this node, or to the first node behind it that can be reached; otherwise says why this node cannot be reached.
fn open_any<C: Codec, F: Fn() -> C>(
    first: usize,
    common: &Common<F>,
    timeout: Duration,
) -> Result<(usize, C, Socket), (usize, String)> {
    let nodes = common.endpoints.len();
    let mut problem = None;
    for node in (0..nodes).map(|step| (first + step) % nodes) {
        let mut codec = (common.make_codec)();
        match talk::open(&common.endpoints[node], &mut codec, timeout) {
            Ok(socket) => return Ok((node, codec, socket)),
            Err(words) => problem = problem.or(Some((node, words))),
        }
    }
    Err(problem.unwrap_or((0, "no address was given".into())))
}
