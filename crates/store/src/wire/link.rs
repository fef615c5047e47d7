//! One connection: what it has to send, what it has received of a reply, who waits for replies, and how it recovers.

use super::buffers::Buffers;
use super::received::{End, SURPLUS, hand_over};
use super::socket::{Interest, Poller, Read, Socket, left};
use super::{Codec, Expect, talk};
use crate::believed::{self, wire_bytes};
use crate::{Endpoint, Failure, Operation, Reply, Sink, Slot};
use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::time::{Duration, Instant};

/// The longest time between two attempts to open a broken connection again. Operations submitted meanwhile wait for the attempt.
pub const RETRY_LONGEST: Duration = Duration::from_millis(500);

const RETRY_FIRST: Duration = Duration::from_millis(10);

/// How long one attempt to open a broken connection may take.
const RETRY_TIMEOUT: Duration = Duration::from_secs(1);

/// Requests are sent without waiting for the poll when this much is held back.
const SEND_EARLY_BYTES: usize = 64 << 10;

/// What one read may take at least.
const READ_BYTES: usize = 64 << 10;

/// What all connections of a session share.
pub(super) struct Common<F> {
    pub endpoint: Endpoint,
    pub make_codec: F,
    pub buffers: Buffers,
    /// Where replies are received; only the beginning of an unfinished one is copied out of it.
    pub scratch: Box<[u8]>,
    /// Replies handed to the sink since the poll began.
    pub answered: u32,
    /// Watches the connections; a session of one has none.
    pub poller: Option<Poller>,
    /// A reply that takes more is not believed.
    pub most_bytes: usize,
    /// Connections that were opened again.
    pub reconnected: u64,
}

impl<F> Common<F> {
    pub fn new(endpoint: Endpoint, make_codec: F, connections: usize, poller: Option<Poller>) -> Common<F> {
        let scratch = vec![0; READ_BYTES].into_boxed_slice();
        let (buffers, most_bytes) = (Buffers::of(connections), wire_bytes(u64::MAX));
        Common { endpoint, make_codec, buffers, scratch, answered: 0, poller, most_bytes, reconnected: 0 }
    }
}

/// How far a flush came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flush {
    /// Nothing is left to send.
    Sent,
    /// The kernel takes no more for now.
    Blocked,
    /// The connection is down; it will be opened again at this time.
    Down(Instant),
}

/// What a read found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Received {
    /// Nothing, or the connection is down.
    Nothing,
    /// Less than there was room for: all there was.
    Part,
    /// As much as there was room for: there may be more.
    Filled,
}

enum Line {
    Up(Socket),
    Down { retry_at: Instant },
}

/// Why a connection is lost.
enum Loss {
    Lost(String),
    Protocol(&'static str),
    /// A reply that takes at least this many bytes.
    TooLarge(usize),
}

/// One connection.
pub(super) struct Link<C> {
    number: u32,
    codec: C,
    line: Line,
    /// Requests, of which the first `sent` bytes have left.
    out: Vec<u8>,
    sent: usize,
    /// The beginning of a reply that is not yet whole.
    partial: Vec<u8>,
    /// Bytes that reply still needs, at least.
    missing: usize,
    in_flight: VecDeque<(Slot, Expect)>,
    watched: Interest,
    backoff: Duration,
    /// What the server did wrong while no operation was there to be told.
    owed: Option<&'static str>,
}

impl<C: Codec> Link<C> {
    /// Opens connection `number`, for `pipeline` operations in flight.
    pub fn open<F: Fn() -> C>(number: u32, pipeline: u32, common: &Common<F>) -> Result<Link<C>, String> {
        let mut codec = (common.make_codec)();
        let socket = talk::open(&common.endpoint, &mut codec, super::CONNECT_TIMEOUT)?;
        if let Some(poller) = &common.poller {
            poller.add(&socket, number).map_err(|error| error.to_string())?;
        }
        Ok(Link {
            number,
            codec,
            line: Line::Up(socket),
            out: Vec::new(),
            sent: 0,
            partial: Vec::new(),
            missing: 0,
            in_flight: VecDeque::with_capacity(pipeline as usize),
            watched: Interest::Read,
            backoff: Duration::ZERO,
            owed: None,
        })
    }

    /// Whether replies are outstanding.
    pub fn is_waiting(&self) -> bool {
        !self.in_flight.is_empty()
    }

    /// Whether nothing is held back.
    #[inline]
    pub fn is_sent(&self) -> bool {
        self.out.is_empty()
    }

    /// What the next operation has to be told instead of being carried out.
    #[inline]
    pub fn take_owed(&mut self) -> Option<&'static str> {
        if self.owed.is_none() { None } else { self.owed.take() }
    }

    /// Writes a request into the buffer; sends when that has grown large.
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
        let Line::Up(socket) = &self.line else { return };
        if let Ok(sent) = socket.send(&self.out[self.sent..]) {
            self.sent += sent;
            if self.sent == self.out.len() {
                self.sent = 0;
                buffers.take_back(&mut self.out);
            }
        }
    }

    /// Sends what is held back; opens the connection again when it is down and the time has come.
    ///
    /// # Errors
    /// Only of the epoll instance.
    #[inline]
    pub fn flush<F: Fn() -> C>(&mut self, common: &mut Common<F>, sink: &mut dyn Sink) -> io::Result<Flush> {
        if self.out.is_empty() {
            return Ok(Flush::Sent);
        }
        if let Line::Down { retry_at } = self.line {
            if Instant::now() < retry_at {
                return Ok(Flush::Down(retry_at));
            }
            self.reopen(common, sink)?;
        }
        let Line::Up(socket) = &self.line else { return Ok(Flush::Sent) };
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
                if let Line::Up(_) = self.line {
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
            if let (Some(poller), Line::Up(socket)) = (&common.poller, &self.line) {
                poller.change(socket, self.number, interest)?;
            }
        }
        Ok(())
    }

    #[cold]
    fn reopen<F: Fn() -> C>(&mut self, common: &mut Common<F>, sink: &mut dyn Sink) -> io::Result<()> {
        match talk::open(&common.endpoint, &mut self.codec, RETRY_TIMEOUT) {
            Ok(socket) => {
                if let Some(poller) = &common.poller {
                    poller.add(&socket, self.number)?;
                }
                self.watched = Interest::Read;
                self.line = Line::Up(socket);
                common.reconnected += 1;
            }
            Err(problem) => self.lose(Loss::Lost(format!("cannot connect again: {problem}")), common, sink),
        }
        Ok(())
    }

    /// Takes all that is there, as edge-triggered reports ask for: until a read is not filled, or to the end of a connection that has
    /// `ended`.
    #[inline]
    pub fn drain<F: Fn() -> C>(&mut self, ended: bool, common: &mut Common<F>, sink: &mut dyn Sink) {
        loop {
            match self.read(Read::Now, common, sink) {
                Received::Filled => {}
                Received::Part if ended => {}
                Received::Part | Received::Nothing => return,
            }
        }
    }

    /// Takes the replies that are there, or waits for some.
    #[inline]
    pub fn read<F: Fn() -> C>(&mut self, read: Read, common: &mut Common<F>, sink: &mut dyn Sink) -> Received {
        let Line::Up(socket) = &self.line else { return Received::Nothing };
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
                return if received == room { Received::Filled } else { Received::Part };
            }
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => {}
                _ => self.lose(Loss::Lost(error.to_string()), common, sink),
            },
        }
        Received::Nothing
    }

    /// Hands over the replies among the bytes received, and keeps the beginning of the next.
    #[inline]
    fn take<F: Fn() -> C>(&mut self, received: usize, common: &mut Common<F>, sink: &mut dyn Sink) {
        let fresh = self.partial.is_empty();
        let input = if fresh { &common.scratch[..received] } else { &self.partial[..] };
        let waiting = self.in_flight.len();
        let (consumed, end) = hand_over(&mut self.codec, &mut self.in_flight, input, sink);
        let answered = waiting - self.in_flight.len();
        let begun = input.len() - consumed;
        common.answered += answered as u32;
        if answered > 0 {
            self.backoff = Duration::ZERO;
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
    }

    /// Waits precisely for this connection alone. Returns whether to read.
    pub fn wait(&self, interest: Interest, until: Instant) -> io::Result<bool> {
        match &self.line {
            Line::Up(socket) => socket.wait(interest, left(until)),
            Line::Down { .. } => super::socket::sleep(left(until)).map(|()| false),
        }
    }

    /// Closes the connection, fails what was in flight, and sets the time of the next attempt.
    #[cold]
    fn lose<F: Fn() -> C>(&mut self, loss: Loss, common: &mut Common<F>, sink: &mut dyn Sink) {
        self.line = Line::Down { retry_at: Instant::now() + self.backoff };
        self.backoff = (self.backoff * 2).clamp(RETRY_FIRST, RETRY_LONGEST);
        self.codec = (common.make_codec)();
        self.sent = 0;
        common.buffers.take_back(&mut self.out);
        common.buffers.take_back(&mut self.partial);
        let too_large;
        let failure = match &loss {
            Loss::Lost(words) => Failure::ConnectionLost(words),
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
        sink.arrived();
        for (slot, _) in self.in_flight.drain(..) {
            common.answered += 1;
            sink.reply(slot, &Reply::Failed(failure));
        }
    }
}
