//! A connection that is being opened again, while nothing waits for it.
//!
//! The kernel connects and the greeting goes to and fro like requests do, whenever the session is polled. A name that has to be looked up,
//! and a handshake of TLS, would each keep the session's thread from the other connections: a thread of its own does that.

use super::socket::{Begun, Interest, Socket, left};
use super::{Codec, Decoded, talk};
use crate::believed;
use crate::{Endpoint, Reply};
use std::io::ErrorKind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::{Duration, Instant};

/// The most bytes of a greeting.
const GREETING_BYTES: usize = 1 << 20;

/// The most threads that connect at the same time; further attempts try again in a moment.
const MOST_THREADS: usize = 64;

/// The pause between two questions whether a thread has connected.
const ASK_THREAD_EVERY: Duration = Duration::from_millis(1);

const STACK_BYTES: usize = 256 << 10;

static THREADS: AtomicUsize = AtomicUsize::new(0);

/// An attempt at one node.
pub(super) struct Opening {
    stage: Stage,
    /// The number of nodes that were tried before this one.
    pub tried: usize,
    until: Instant,
    /// The greeting, of which the first `sent` bytes have left.
    hello: Vec<u8>,
    sent: usize,
    /// The number of replies to the greeting that have not come.
    replies: u32,
    input: Vec<u8>,
}

enum Stage {
    Thread(Receiver<Result<Socket, String>>),
    Connecting(Socket),
    Greeting(Socket),
    /// Handed over.
    Over,
}

/// The progress of an attempt.
pub(super) enum Advance {
    /// The connection is open and greeted.
    Open(Socket),
    /// There is a socket now, which has to be watched.
    Watch,
    /// Nothing more can be done for now.
    Waits,
}

impl Opening {
    /// Begins an attempt that may take this long. `tried` nodes were tried before.
    pub fn begin<C: Codec>(
        endpoint: &Endpoint,
        codec: &mut C,
        timeout: Duration,
        tried: usize,
    ) -> Result<Opening, String> {
        let mut hello = Vec::new();
        let replies = codec.hello(&mut hello);
        let stage = match Socket::start(endpoint).map_err(|error| error.to_string())? {
            Begun::Connected(socket) => Stage::Greeting(socket),
            Begun::Connecting(socket) => Stage::Connecting(socket),
            Begun::WouldWait => Stage::Thread(on_thread(endpoint.clone(), timeout)?),
        };
        Ok(Opening { stage, tried, until: Instant::now() + timeout, hello, sent: 0, replies, input: Vec::new() })
    }

    /// Returns the socket, where there is one.
    pub fn socket(&self) -> Option<&Socket> {
        match &self.stage {
            Stage::Connecting(socket) | Stage::Greeting(socket) => Some(socket),
            Stage::Thread(_) | Stage::Over => None,
        }
    }

    /// Returns whether the attempt is to be looked at now, though no socket has reported anything: a thread that connects does not wake anybody.
    pub fn is_due(&self) -> bool {
        matches!(self.stage, Stage::Thread(_)) || self.until <= Instant::now()
    }

    /// Returns when the attempt is to be looked at, if nothing happens before.
    pub fn look_at(&self) -> Instant {
        match self.stage {
            Stage::Thread(_) => self.until.min(Instant::now() + ASK_THREAD_EVERY),
            _ => self.until,
        }
    }

    /// Waits until there is something to do, or until that time.
    pub fn wait(&self, until: Instant) -> std::io::Result<()> {
        let limit = left(until.min(self.look_at()));
        match self.socket() {
            Some(socket) if self.sent < self.hello.len() => socket.wait(Interest::ReadOrWrite, limit).map(drop),
            Some(socket) => socket.wait(Interest::Read, limit).map(drop),
            None => super::socket::sleep(limit),
        }
    }

    /// Continues as far as possible without waiting.
    pub fn advance<C: Codec>(&mut self, codec: &mut C) -> Result<Advance, String> {
        let mut found = false;
        loop {
            match std::mem::replace(&mut self.stage, Stage::Over) {
                Stage::Thread(answer) => match answer.try_recv() {
                    Ok(connected) => {
                        self.stage = Stage::Greeting(connected?);
                        found = true;
                    }
                    Err(TryRecvError::Empty) => {
                        self.stage = Stage::Thread(answer);
                        break;
                    }
                    Err(TryRecvError::Disconnected) => return Err("the thread that connects is gone".into()),
                },
                Stage::Connecting(socket) => {
                    let connected = socket.finish().map_err(|error| error.to_string())?;
                    self.stage = if connected { Stage::Greeting(socket) } else { Stage::Connecting(socket) };
                    if !connected {
                        break;
                    }
                }
                Stage::Greeting(socket) => {
                    if self.greet(&socket, codec)? {
                        return Ok(Advance::Open(socket));
                    }
                    self.stage = Stage::Greeting(socket);
                    break;
                }
                Stage::Over => return Err("the attempt is over".into()),
            }
        }
        if left(self.until).is_zero() {
            return Err(match self.stage {
                Stage::Greeting(_) => "the server was reached but did not answer in time".into(),
                _ => "connection timed out".into(),
            });
        }
        Ok(if found { Advance::Watch } else { Advance::Waits })
    }

    /// Sends what is left of the greeting and reads the replies that are there; true when it is over.
    fn greet<C: Codec>(&mut self, socket: &Socket, codec: &mut C) -> Result<bool, String> {
        while self.sent < self.hello.len() {
            match socket.send(&self.hello[self.sent..]) {
                Ok(sent) => self.sent += sent,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        while self.replies > 0 {
            match codec.hello_reply(&self.input) {
                Decoded::Reply { reply: Reply::Failed(failure), .. } => return Err(talk::words(failure)),
                Decoded::Reply { consumed, .. } => {
                    self.input.drain(..consumed);
                    self.replies -= 1;
                }
                Decoded::Broken(problem) => return Err(format!("this is not the protocol expected: {problem}")),
                Decoded::Incomplete { at_least } => {
                    let needed = self.input.len().saturating_add(at_least);
                    if needed > GREETING_BYTES {
                        return Err(believed::too_large(needed, GREETING_BYTES));
                    }
                    self.input.reserve(at_least.max(4 << 10));
                    match socket.receive_more(&mut self.input, super::socket::Read::Now) {
                        Ok(0) => return Err("the server closed the connection".into()),
                        Ok(_) => {}
                        Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                        Err(error) if error.kind() == ErrorKind::Interrupted => {}
                        Err(error) => return Err(error.to_string()),
                    }
                }
            }
        }
        if self.input.is_empty() { Ok(true) } else { Err("the server sent more than it was asked for".into()) }
    }
}

/// Connects on a thread of its own.
fn on_thread(endpoint: Endpoint, timeout: Duration) -> Result<Receiver<Result<Socket, String>>, String> {
    struct Place;
    impl Drop for Place {
        fn drop(&mut self) {
            THREADS.fetch_sub(1, Ordering::Relaxed);
        }
    }
    let taken = THREADS.fetch_add(1, Ordering::Relaxed);
    let place = Place;
    if taken >= MOST_THREADS {
        return Err("many connections are being opened at the moment".into());
    }
    let (sender, receiver) = channel();
    let connect = move || {
        let _place = place;
        let connected = Socket::connect(&endpoint, timeout).map_err(|error| error.to_string());
        let _ = sender.send(connected); // nobody may wait for it any more
    };
    let thread = std::thread::Builder::new().name("connects".into()).stack_size(STACK_BYTES);
    thread.spawn(connect).map_err(|error| format!("a thread that connects could not be started: {error}"))?;
    Ok(receiver)
}
