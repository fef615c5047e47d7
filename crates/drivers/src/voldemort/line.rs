//! A slot's connection to one server: a request, then its reply.

use super::protocol::{HELLO, LENGTH_BYTES, Received, WELCOME, received};
use std::io;
use std::time::Duration;
use store::Endpoint;
use store::believed::{too_large, wire_bytes};
use store::wire::CONNECT_TIMEOUT;
use study::Address;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// The most bytes believed until `believe` sets another limit: answers to single questions.
const ANSWER_BYTES: usize = 64 << 20;

/// The way in which a request failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LineTrouble {
    /// No connection: nothing was sent.
    NotConnected(String),
    /// The connection broke, or the answer did not come in time.
    Lost(String),
    /// The bytes are not the protocol.
    Protocol(String),
}

/// The words for a server that has closed the connection.
const CLOSED: &str = "the server closed the connection";

pub(super) struct Line {
    endpoint: Endpoint,
    stream: Option<TcpStream>,
    /// Whether a request was begun whose reply has not been read: if that request was given up, the connection is of no use.
    waiting: bool,
    received: Vec<u8>,
    most_bytes: usize,
}

impl Line {
    /// Makes a connection that its first request opens.
    pub(super) fn to(endpoint: &Endpoint) -> Line {
        Line {
            endpoint: endpoint.clone(),
            stream: None,
            waiting: false,
            received: Vec::new(),
            most_bytes: ANSWER_BYTES,
        }
    }

    /// Sets the limit: replies carry at most this number of bytes of keys and values.
    pub(super) fn believe(&mut self, largest_reply_bytes: u64) {
        self.most_bytes = wire_bytes(largest_reply_bytes);
    }

    /// Connects, unless it is connected.
    pub(super) async fn open(&mut self) -> Result<(), LineTrouble> {
        if std::mem::take(&mut self.waiting) {
            self.stream = None;
        }
        if self.stream.as_ref().is_some_and(is_closed) {
            self.stream = None;
        }
        if self.stream.is_none() {
            let opened = timeout(CONNECT_TIMEOUT, connect(&self.endpoint)).await;
            let opened = opened.unwrap_or_else(|_| Err(LineTrouble::NotConnected(unanswered(CONNECT_TIMEOUT))));
            self.stream = Some(opened?);
        }
        Ok(())
    }

    /// Sends a request, over a new connection where there is none that can be used.
    pub(super) async fn send(&mut self, request: &[u8]) -> Result<(), LineTrouble> {
        self.open().await?;
        let Some(stream) = &mut self.stream else { return Err(LineTrouble::NotConnected(CLOSED.into())) };
        self.waiting = true;
        let sent = stream.write_all(request).await;
        sent.map_err(|error| self.lost(error))
    }

    /// Reads the reply to the request that was sent; [`Line::body`] returns the reply.
    pub(super) async fn receive(&mut self) -> Result<(), LineTrouble> {
        self.received.clear();
        let Some(stream) = &mut self.stream else { return Err(LineTrouble::Lost(CLOSED.into())) };
        loop {
            let missing = match received(&self.received, self.most_bytes) {
                Received::Whole => {
                    self.waiting = false;
                    return Ok(());
                }
                Received::Part(missing) => missing,
                Received::TooLarge(announced) => {
                    let words = too_large(announced, self.most_bytes);
                    return Err(self.broken(words));
                }
                Received::More => return Err(self.broken("it says more than it was asked".into())),
            };
            // Grows with what is there: a length may be a lie.
            self.received.reserve(missing.min(64 << 10));
            match stream.read_buf(&mut self.received).await {
                Ok(0) => return Err(self.lost(io::ErrorKind::UnexpectedEof.into())),
                Ok(_) => {}
                Err(error) => return Err(self.lost(error)),
            }
        }
    }

    /// Returns the reply that was read last, without its length.
    pub(super) fn body(&self) -> &[u8] {
        self.received.get(LENGTH_BYTES..).unwrap_or_default()
    }

    /// Gives the connection up, because the reply did not come in time: the connection is of no use any more.
    #[cold]
    pub(super) fn give_up(&mut self, patience: Duration) -> LineTrouble {
        self.stream = None;
        LineTrouble::Lost(unanswered(patience))
    }

    #[cold]
    fn lost(&mut self, error: io::Error) -> LineTrouble {
        self.stream = None;
        match error.kind() {
            io::ErrorKind::UnexpectedEof => LineTrouble::Lost(CLOSED.into()),
            _ => LineTrouble::Lost(error.to_string()),
        }
    }

    #[cold]
    fn broken(&mut self, words: String) -> LineTrouble {
        self.stream = None;
        LineTrouble::Protocol(words)
    }
}

fn unanswered(patience: Duration) -> String {
    format!("no answer within {} s", patience.as_secs_f32())
}

/// Returns whether the server has closed a connection without requests in flight, as far as is known yet.
fn is_closed(stream: &TcpStream) -> bool {
    !matches!(stream.try_read(&mut [0]), Err(error) if error.kind() == io::ErrorKind::WouldBlock)
}

async fn connect(endpoint: &Endpoint) -> Result<TcpStream, LineTrouble> {
    let away = |error: io::Error| LineTrouble::NotConnected(error.to_string());
    let Address::Tcp { host, port } = &endpoint.address else {
        return Err(LineTrouble::NotConnected("Voldemort listens on no unix socket".into()));
    };
    let mut stream = TcpStream::connect((host.as_str(), port.unwrap_or(super::USUAL_PORT))).await.map_err(away)?;
    stream.set_nodelay(true).map_err(away)?;
    stream.write_all(HELLO).await.map_err(away)?;
    let mut welcome = [0; WELCOME.len()];
    stream.read_exact(&mut welcome).await.map_err(away)?;
    match &welcome[..] == WELCOME {
        true => Ok(stream),
        false => Err(LineTrouble::Protocol("it does not answer pb0 with ok: this is no Voldemort".into())),
    }
}
