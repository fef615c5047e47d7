//! Questions and answers outside the measured path: opening a connection, and what an adapter asks of a server.

use super::socket::{Interest, Socket, left};
use super::{CONNECT_TIMEOUT, Codec, Decoded};
use crate::believed;
use crate::{Endpoint, Failure, Reply, StoreError};
use std::io::ErrorKind;
use std::time::{Duration, Instant};

/// The most bytes of an answer outside the measured path: settings and statistics take kilobytes.
const ANSWER_BYTES: usize = 16 << 20;

/// A blocking conversation with a server, one question at a time.
pub struct Talk {
    socket: Socket,
    endpoint: String,
}

impl Talk {
    /// Connects and says the codec's hello.
    ///
    /// # Errors
    /// A server cannot be reached, refuses, or does not answer within [`CONNECT_TIMEOUT`].
    pub fn open<C: Codec>(endpoint: &Endpoint, codec: C) -> Result<Talk, StoreError> {
        Talk::open_until(Instant::now() + CONNECT_TIMEOUT, endpoint, codec)
    }

    /// Opens the same conversation with a server that has to answer until that time.
    ///
    /// # Errors
    /// The server cannot be reached, refuses, or does not answer in time.
    pub fn open_until<C: Codec>(until: Instant, endpoint: &Endpoint, mut codec: C) -> Result<Talk, StoreError> {
        let socket = open(endpoint, &mut codec, left(until)).map_err(|problem| StoreError::open(endpoint, problem))?;
        Ok(Talk { socket, endpoint: endpoint.to_string() })
    }

    /// Sends a request and reads until `answer` makes something of the bytes received so far: `None` asks for more bytes.
    ///
    /// # Errors
    /// The problem that `answer` names, or any failure of the connection.
    pub fn ask<T>(
        &mut self,
        request: &[u8],
        answer: impl FnMut(&[u8]) -> Result<Option<T>, String>,
    ) -> Result<T, StoreError> {
        self.ask_until(Instant::now() + CONNECT_TIMEOUT, request, answer)
    }

    /// Asks the same of a server that has to answer until that time.
    ///
    /// # Errors
    /// As of [`Talk::ask`].
    pub fn ask_until<T>(
        &mut self,
        deadline: Instant,
        request: &[u8],
        mut answer: impl FnMut(&[u8]) -> Result<Option<T>, String>,
    ) -> Result<T, StoreError> {
        let mut input = Vec::new();
        let mut ask = || {
            send(&self.socket, request, deadline)?;
            loop {
                if let Some(answer) = answer(&input)? {
                    return Ok(answer);
                }
                receive(&self.socket, &mut input, 1, deadline)?;
            }
        };
        ask().map_err(|problem: String| StoreError::asking(&self.endpoint, problem))
    }
}

/// Connects and says hello.
pub(super) fn open<C: Codec>(endpoint: &Endpoint, codec: &mut C, timeout: Duration) -> Result<Socket, String> {
    let deadline = Instant::now() + timeout;
    let socket = Socket::connect(endpoint, timeout).map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    let replies = codec.hello(&mut bytes);
    send(&socket, &bytes, deadline)?;
    bytes.clear();
    for _ in 0..replies {
        loop {
            match codec.hello_reply(&bytes) {
                Decoded::Reply { reply: Reply::Failed(failure), .. } => return Err(words(failure)),
                Decoded::Reply { consumed, .. } => {
                    bytes.drain(..consumed);
                    break;
                }
                Decoded::Broken(problem) => return Err(format!("this is not the protocol expected: {problem}")),
                Decoded::Incomplete { at_least } => receive(&socket, &mut bytes, at_least, deadline)?,
            }
        }
    }
    if bytes.is_empty() { Ok(socket) } else { Err("the server sent more than it was asked for".into()) }
}

/// Returns the words of a refusal of the greeting.
pub(super) fn words(failure: Failure<'_>) -> String {
    failure.words().to_owned()
}

fn send(socket: &Socket, mut bytes: &[u8], deadline: Instant) -> Result<(), String> {
    while !bytes.is_empty() {
        match socket.send(bytes) {
            Ok(sent) => bytes = &bytes[sent..],
            Err(error) if error.kind() == ErrorKind::WouldBlock => wait(socket, Interest::ReadOrWrite, deadline)?,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok(())
}

fn receive(socket: &Socket, into: &mut Vec<u8>, at_least: usize, deadline: Instant) -> Result<(), String> {
    let needed = into.len().saturating_add(at_least);
    if needed > ANSWER_BYTES {
        return Err(believed::too_large(needed, ANSWER_BYTES));
    }
    into.reserve(at_least.clamp(4 << 10, 1 << 20));
    loop {
        wait(socket, Interest::Read, deadline)?;
        match socket.receive_more(into, super::socket::Read::Now) {
            Ok(0) => return Err("the server closed the connection".into()),
            Ok(_) => return Ok(()),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(error) => return Err(error.to_string()),
        }
    }
}

fn wait(socket: &Socket, interest: Interest, deadline: Instant) -> Result<(), String> {
    let limit = left(deadline);
    if limit.is_zero() {
        return Err("the server was reached but did not answer in time".into());
    }
    socket.wait(interest, limit).map(|_| ()).map_err(|error| error.to_string())
}
