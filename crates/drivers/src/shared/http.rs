//! A small HTTP/1.1 client over `hyper`: one connection, kept open, one request at a time.

mod tickets;
mod trouble;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::body::{Body, Incoming};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue};
use hyper::http::request::Builder;
use hyper_util::rt::TokioIo;
use std::collections::VecDeque;
use std::fmt::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::Endpoint;
use store::believed::{too_large, wire_bytes};
use study::Address;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};

/// The time after which an idle connection is opened again: servers close theirs after some seconds (Node after 5), and a request that meets a
/// connection being closed would be lost.
const LONGEST_IDLE: Duration = Duration::from_secs(2);

/// The status of a request that carries no login that is known (any more).
const UNAUTHORIZED: u16 = 401;

/// The pauses that let a new ticket become known before it is used: the first at once.
const TICKET_PAUSES: [Duration; 3] = [Duration::ZERO, Duration::from_millis(50), Duration::from_millis(300)];

pub(crate) use hyper::Method;
pub(crate) use hyper::body::Bytes;
pub(crate) use hyper::header;
pub(crate) use tickets::{Desk, Tickets};
pub(crate) use trouble::HttpTrouble;

/// An answer of a server.
pub(crate) struct Answered {
    /// The status, e.g. 404.
    pub(crate) status: u16,
    /// The body, all of it.
    pub(crate) body: Bytes,
    /// The headers.
    pub(crate) headers: HeaderMap,
}

/// The way in which a request failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HttpError {
    /// No connection could be made: nothing was sent.
    #[error("{0}")]
    NotConnected(String),
    /// The connection broke between request and answer.
    #[error("{0}")]
    Lost(String),
    /// The answer is not HTTP.
    #[error("{0}")]
    Protocol(String),
    /// The path is longer than a server reads: nothing was sent.
    #[error("{0}")]
    TooLong(String),
}

/// A connection to a server; opened again by the first request that finds it closed.
pub(crate) struct Http {
    endpoint: Endpoint,
    /// The servers of the same store that are asked when this one cannot be reached.
    others: VecDeque<Endpoint>,
    /// The header with the login, as requests carry it.
    login: Option<(HeaderName, String)>,
    tickets: Option<Arc<Tickets>>,
    sender: Option<SendRequest<Full<Bytes>>>,
    used: Instant,
    /// The largest body that is believed.
    most_bytes: usize,
    /// The longest path that is sent.
    most_path_bytes: usize,
}

/// The longest path that is sent, where the server is not known to read longer ones. Servers on Node read 16 KiB of request line and headers; to more
/// they answer and hang up while the rest is still being sent, and then the answer may be lost.
const PATH_BYTES: usize = 15_000;

/// The most bytes believed until `believe` sets another limit: answers to single questions.
const ANSWER_BYTES: usize = 256 << 20;

impl Http {
    /// Sets the limit: bodies carry at most `largest_reply_bytes` bytes of keys and values.
    pub(crate) fn believe(&mut self, largest_reply_bytes: u64) {
        self.most_bytes = wire_bytes(largest_reply_bytes);
    }

    /// Returns the connection to a server that reads paths of up to `most_path_bytes` bytes.
    #[cfg(feature = "hbase")]
    pub(crate) fn with_paths_of(self, most_path_bytes: usize) -> Http {
        Http { most_path_bytes, ..self }
    }

    /// Connects. The login of the endpoint is sent with each request.
    pub(crate) async fn open(endpoint: &Endpoint) -> Result<Http, HttpError> {
        let login = endpoint.user.as_ref().map(|user| {
            let password = endpoint.password.as_ref().map(|secret| secret.reveal()).unwrap_or_default();
            (AUTHORIZATION, format!("Basic {}", BASE64.encode(format!("{user}:{password}"))))
        });
        let sender = Some(connect(endpoint).await?);
        Ok(Http { login, ..Http::new(endpoint, sender) })
    }

    /// Connects. Requests carry the latest ticket.
    pub(crate) async fn open_with(endpoint: &Endpoint, tickets: Option<Arc<Tickets>>) -> Result<Http, HttpError> {
        let sender = Some(connect(endpoint).await?);
        let login = tickets.as_ref().and_then(|tickets| tickets.carried());
        Ok(Http { login, tickets, ..Http::new(endpoint, sender) })
    }

    fn new(endpoint: &Endpoint, sender: Option<SendRequest<Full<Bytes>>>) -> Http {
        Http {
            endpoint: endpoint.clone(),
            others: VecDeque::new(),
            login: None,
            tickets: None,
            sender,
            used: Instant::now(),
            most_bytes: ANSWER_BYTES,
            most_path_bytes: PATH_BYTES,
        }
    }

    /// Connects. Requests carry only the login that is in their headers.
    #[cfg(feature = "aws")]
    pub(crate) async fn open_bare(endpoint: &Endpoint) -> Result<Http, HttpError> {
        Ok(Http::new(endpoint, Some(connect(endpoint).await?)))
    }

    /// Connects to the first of these servers of one store that can be reached, and to another when the connected one is gone.
    pub(crate) async fn open_any(
        endpoints: impl IntoIterator<Item = Endpoint>,
        tickets: Option<Arc<Tickets>>,
    ) -> Result<Http, HttpError> {
        let mut others: VecDeque<Endpoint> = endpoints.into_iter().collect();
        let Some(endpoint) = others.pop_front() else {
            return Err(HttpError::NotConnected("no address was given".into()));
        };
        let login = tickets.as_ref().and_then(|tickets| tickets.carried());
        let mut http = Http { others, login, tickets, ..Http::new(&endpoint, None) };
        http.sender = Some(http.connect().await?);
        Ok(http)
    }

    /// Gives the connection up, because a request was dropped: the next request goes to another server, where there is one.
    #[cfg(feature = "etcd")]
    pub(crate) fn give_up(&mut self) {
        self.sender = None;
        if let Some(other) = self.others.pop_front() {
            self.others.push_back(std::mem::replace(&mut self.endpoint, other));
        }
    }

    /// Connects to the server, or to the first of the others that can be reached.
    async fn connect(&mut self) -> Result<SendRequest<Full<Bytes>>, HttpError> {
        let mut connected = connect(&self.endpoint).await;
        for _ in 0..self.others.len() {
            if connected.is_err()
                && let Some(other) = self.others.pop_front()
            {
                self.others.push_back(std::mem::replace(&mut self.endpoint, other));
                connected = connect(&self.endpoint).await;
            }
        }
        connected
    }

    /// Wraps a connection that is open already.
    #[cfg(test)]
    pub(crate) async fn over(endpoint: &Endpoint, stream: UnixStream) -> Result<Http, HttpError> {
        Ok(Http::new(endpoint, Some(speak(stream).await?)))
    }

    /// Returns the connection, if the server has not closed it meanwhile.
    async fn still_open(&mut self) -> Option<SendRequest<Full<Bytes>>> {
        let mut sender = self.sender.take().filter(|_| self.used.elapsed() < LONGEST_IDLE)?;
        sender.ready().await.ok().map(|()| sender)
    }

    /// Returns the whole body, unless the body announces, or turns out to have, more bytes than are believed.
    async fn body(&self, mut body: Incoming) -> Result<Bytes, HttpError> {
        let announced = body.size_hint().lower();
        if announced > self.most_bytes as u64 {
            return Err(HttpError::Protocol(too_large(announced, self.most_bytes)));
        }
        // Into one piece at once: a body of chunks of a byte would take many times its size in pieces.
        let mut whole = Vec::new();
        while let Some(frame) = body.frame().await {
            let Ok(part) = frame.map_err(failed)?.into_data() else { continue };
            let bytes = whole.len() + part.len();
            if bytes > self.most_bytes {
                return Err(HttpError::Protocol(too_large(bytes, self.most_bytes)));
            }
            whole.extend_from_slice(&part);
        }
        Ok(whole.into())
    }

    /// Sends a request and reads the whole answer. Sends it again with a new ticket where the old one is not known any more, and once more after each
    /// of some pauses: while members of a cluster elect a leader, one of them may not know yet what another has given.
    pub(crate) async fn ask(&mut self, method: Method, path: &str, json: Vec<u8>) -> Result<Answered, HttpError> {
        let Some(tickets) = self.tickets.clone() else { return self.ask_once(method, path, json).await };
        // Asking for a ticket may have been given up in its middle: a request without one would be refused from then on.
        if self.login.is_none() {
            self.login = tickets.carried();
        }
        let json = Bytes::from(json);
        let mut answered = self.ask_once(method.clone(), path, json.clone()).await?;
        for pause in TICKET_PAUSES {
            if answered.status != UNAUTHORIZED || self.take_ticket(&tickets).await?.is_some() {
                break;
            }
            tokio::time::sleep(pause).await;
            answered = self.ask_once(method.clone(), path, json.clone()).await?;
        }
        Ok(answered)
    }

    async fn ask_once(&mut self, method: Method, path: &str, json: impl Into<Bytes>) -> Result<Answered, HttpError> {
        self.ask_in("application/json", method, path, json).await
    }

    /// Sends a request with a body of this type, reads the whole answer, and expects the same type there.
    pub(crate) async fn ask_in(
        &mut self,
        kind: &'static str,
        method: Method,
        path: &str,
        body: impl Into<Bytes>,
    ) -> Result<Answered, HttpError> {
        let mut request = self
            .begin(method, path)?
            .header(HOST, self.endpoint.to_string().replace('/', "-"))
            .header(ACCEPT, kind)
            .header(CONTENT_TYPE, kind);
        if let Some((name, login)) = &self.login {
            request = request.header(name, login);
        }
        self.exchange(request.body(Full::new(body.into())).map_err(not_made)?).await
    }

    /// Sends a request with these headers, and no others, and reads the whole answer.
    pub(crate) async fn send(
        &mut self,
        method: Method,
        path: &str,
        headers: impl IntoIterator<Item = (HeaderName, HeaderValue)>,
        body: Bytes,
    ) -> Result<Answered, HttpError> {
        let mut request = self.begin(method, path)?.body(Full::new(body)).map_err(not_made)?;
        request.headers_mut().extend(headers);
        self.exchange(request).await
    }

    /// Begins a request, unless the server would not read so long a path.
    fn begin(&self, method: Method, path: &str) -> Result<Builder, HttpError> {
        if path.len() > self.most_path_bytes {
            let (bytes, most) = (path.len(), self.most_path_bytes);
            return Err(HttpError::TooLong(format!("a path of {bytes} bytes: no more than {most} are sent")));
        }
        Ok(Request::builder().method(method).uri(path))
    }

    async fn exchange(&mut self, request: Request<Full<Bytes>>) -> Result<Answered, HttpError> {
        let mut sender = match self.still_open().await {
            Some(sender) => sender,
            None => self.connect().await?,
        };
        let answer = sender.send_request(request).await.map_err(failed)?;
        let (head, body) = answer.into_parts();
        let body = self.body(body).await?;
        self.sender = Some(sender);
        self.used = Instant::now();
        Ok(Answered { status: head.status.as_u16(), body, headers: head.headers })
    }
}

/// Returns text as part of a path or a query: everything but letters, digits and `-._~` as `%XX`.
pub(crate) fn in_url(text: impl AsRef<[u8]>) -> String {
    let bytes = text.as_ref();
    bytes.iter().fold(String::with_capacity(bytes.len()), |mut url, byte| {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => url.push(*byte as char),
            // Writing to a string cannot fail.
            _ => drop(write!(url, "%{byte:02X}")),
        }
        url
    })
}

fn not_made(error: hyper::http::Error) -> HttpError {
    HttpError::Protocol(format!("a request that cannot be made: {error}"))
}

fn failed(error: hyper::Error) -> HttpError {
    let words = match std::error::Error::source(&error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    };
    if error.is_parse() { HttpError::Protocol(words) } else { HttpError::Lost(words) }
}

async fn connect(endpoint: &Endpoint) -> Result<SendRequest<Full<Bytes>>, HttpError> {
    let away = |error: std::io::Error| HttpError::NotConnected(error.to_string());
    match &endpoint.address {
        Address::Tcp { host, port } => {
            let stream = TcpStream::connect((host.as_str(), port.unwrap_or(80))).await.map_err(away)?;
            stream.set_nodelay(true).map_err(away)?;
            #[cfg(feature = "tls")]
            if let Some(trust) = &endpoint.tls {
                return speak(super::tls::over(stream, host, trust).await.map_err(HttpError::NotConnected)?).await;
            }
            speak(stream).await
        }
        Address::Unix(path) => speak(UnixStream::connect(path).await.map_err(away)?).await,
    }
}

async fn speak(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
) -> Result<SendRequest<Full<Bytes>>, HttpError> {
    let (sender, connection) =
        handshake(TokioIo::new(stream)).await.map_err(|error| HttpError::NotConnected(error.to_string()))?;
    // Not bound to the budget of one poll: a wake-up put off by it would be lost when the loop is left.
    tokio::spawn(tokio::task::unconstrained(async {
        // Its error is that of the request in flight.
        let _ = connection.await;
    }));
    Ok(sender)
}

#[cfg(test)]
mod tests;
