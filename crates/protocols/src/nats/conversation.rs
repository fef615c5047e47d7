//! A conversation with a server outside sessions: login, then one request at a time, in JSON.

use super::protocol::{self, Heard, Login, Message, PING, Said, read};
use serde_json::Value;
use std::io::Read;
use std::time::{Duration, Instant};
use store::wire::{CONNECT_TIMEOUT, Codec, Decoded, Expect, Talk};
use store::{Endpoint, Operation, StoreError};

/// The time a server may take to let us in: a server that is starting is asked again.
const HELLO_TIMEOUT: Duration = Duration::from_secs(2);

/// Where no JetStream answers.
const NOBODY: &str =
    "JetStream does not answer: it is not enabled (start the server with -js), or has no leader just now";

/// Waits for the server to speak first, and says nothing.
struct Silent;

impl Codec for Silent {
    fn encode(&mut self, operation: &Operation<'_>, _: &mut Vec<u8>) -> Expect {
        Expect { kind: operation.kind(), detail: 0 }
    }

    fn decode<'a>(&'a mut self, _: Expect, _: &'a [u8]) -> Decoded<'a> {
        Decoded::Broken("nothing is asked here")
    }
}

/// A conversation outside sessions: one request at a time, in JSON.
pub(super) struct Conversation {
    talk: Talk,
    pub(super) endpoint: Endpoint,
    inbox: String,
    /// The facts that the server reported.
    pub(super) info: Value,
}

impl Conversation {
    pub(super) fn open(endpoint: &Endpoint) -> Result<Conversation, StoreError> {
        let until = Instant::now() + HELLO_TIMEOUT;
        let mut talk = Talk::open_until(until, endpoint, Silent)?;
        let info = talk.ask_until(until, &[], |input| match read(input) {
            Heard::Whole(Said::Info(info), _) => {
                serde_json::from_slice::<Value>(info).map(Some).map_err(|error| format!("this is no NATS: {error}"))
            }
            Heard::Incomplete(_) => Ok(None),
            _ => Err("this is no NATS: it does not say who it is".into()),
        })?;
        let inbox = format!("{}talk", Inboxes::new(endpoint)?.of(0));
        let mut hello = hello(endpoint)?;
        protocol::subscribe(&mut hello, inbox.as_bytes(), 1);
        hello.extend_from_slice(PING);
        talk.ask_until(until, &hello, |input| {
            first(input, |said| match said {
                Said::Pong => Some(Ok(())),
                Said::Wrong(words) => Some(Err(String::from_utf8_lossy(words).into_owned())),
                _ => None,
            })
        })?;
        Ok(Conversation { talk, endpoint: endpoint.clone(), inbox, info })
    }

    /// Returns the answer to a request; `Err` says why there is none.
    pub(super) fn ask(&mut self, subject: &str, request: &Value) -> Result<JetStreamAnswer, StoreError> {
        self.ask_within(CONNECT_TIMEOUT, subject, request)
    }

    pub(super) fn ask_within(
        &mut self,
        patience: Duration,
        subject: &str,
        request: &Value,
    ) -> Result<JetStreamAnswer, StoreError> {
        let mut out = Vec::new();
        let body = if request.is_null() { String::new() } else { request.to_string() };
        protocol::publish(&mut out, subject.as_bytes(), self.inbox.as_bytes(), b"", body.as_bytes());
        let answer = self.talk.ask_until(Instant::now() + patience, &out, |input| {
            first(input, |said| match said {
                Said::Message(message) => Some(answer(message)),
                Said::Wrong(words) => Some(Err(String::from_utf8_lossy(words).into_owned())),
                _ => None,
            })
        })?;
        match &answer["error"] {
            Value::Null => Ok(JetStreamAnswer::Told(answer)),
            error => {
                let words = error["description"].as_str().unwrap_or("an error without words").to_owned();
                Ok(JetStreamAnswer::Refused { number: error["err_code"].as_u64().unwrap_or(0), words })
            }
        }
    }

    pub(super) fn told(&mut self, subject: &str, request: &Value) -> Result<Value, StoreError> {
        match self.ask(subject, request)? {
            JetStreamAnswer::Told(answer) => Ok(answer),
            JetStreamAnswer::Refused { words, .. } => Err(StoreError::open(&self.endpoint, words)),
        }
    }
}

/// The answer of JetStream.
pub(super) enum JetStreamAnswer {
    Told(Value),
    Refused { number: u64, words: String },
}

fn answer(message: Message<'_>) -> Result<Value, String> {
    if message.headers.is_some_and(|headers| headers.status() == Some(503)) {
        return Err(NOBODY.into());
    }
    serde_json::from_slice(message.payload).map_err(|error| format!("this is no answer of JetStream: {error}"))
}

/// Returns the first statement of the server that `take` can use.
fn first<T>(
    mut input: &[u8],
    mut take: impl FnMut(Said<'_>) -> Option<Result<T, String>>,
) -> Result<Option<T>, String> {
    loop {
        match read(input) {
            Heard::Whole(said, bytes) => match take(said) {
                Some(taken) => return taken.map(Some),
                None => input = &input[bytes..],
            },
            Heard::Incomplete(_) => return Ok(None),
            Heard::Broken(problem) => return Err(format!("this is not the protocol of NATS: {problem}")),
        }
    }
}

/// Returns `CONNECT` with the login of an endpoint.
pub(super) fn hello(endpoint: &Endpoint) -> Result<Vec<u8>, StoreError> {
    let login = match (&endpoint.user, &endpoint.password) {
        (None, None) => Login::None,
        (None, Some(token)) => Login::Token(token.reveal()),
        (Some(user), Some(password)) => Login::User(user, password.reveal()),
        (Some(_), None) => {
            return Err(StoreError::open(
                endpoint,
                "a user without a password; write nats://USER:PASSWORD@HOST, or a token, which is then not shown, as \
                 nats://:TOKEN@HOST",
            ));
        }
    };
    let mut out = Vec::new();
    protocol::connect(&mut out, &login);
    Ok(out)
}

/// The inboxes that nobody else has: the inboxes of this process begin with a random number.
#[derive(Debug)]
pub(super) struct Inboxes(u64);

impl Inboxes {
    pub(super) fn new(endpoint: &Endpoint) -> Result<Inboxes, StoreError> {
        let mut bytes = [0; 8];
        let drawn = std::fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
        drawn.map_err(|error| StoreError::open(endpoint, format!("no random bytes: {error}")))?;
        Ok(Inboxes(u64::from_ne_bytes(bytes)))
    }

    /// Returns the inbox of this number.
    pub(super) fn of(&self, number: usize) -> String {
        format!("_INBOX.{:016x}{number:x}.", self.0)
    }
}
