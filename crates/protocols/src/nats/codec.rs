//! JetStream's key/value store as requests and replies: a put is a message to the key's subject, a get asks for the last one there.

mod replies;
#[cfg(test)]
mod tests;

use super::bucket::{Bucket, MAX_KEY_BYTES, key_len, push_key};
use super::json::{members, text};
use super::protocol::{self, Headers, Heard, Message, PING, PONG, Said, read, sizes};
use replies::{NOT_UTF8, failure, is_deleted, present, purged, unpack, wrong};
use std::sync::Arc;
use store::wire::ascii::{parse_u64, push_u64};
use store::wire::{Codec, Decoded, Expect, Head, Replies};
use store::{Expected, Failure, NOTHING_EXPIRES, Operation, OperationKind, Reply};

/// The most bytes of a message that the condition of a compare-and-set, in front of the value, takes.
pub(super) const CONDITION_BYTES: usize = 128;

/// The number of the only subscription of a connection.
const SUBSCRIPTION: u64 = 1;

/// The error when the message of a key is no longer the one that was read.
const WRONG_LAST_SEQUENCE: &[u8] = b"10071";

/// The error when there is no message of a key.
const NO_MESSAGE: &[u8] = b"10037";

const NOBODY_SERVES: &str = "503: no server serves the stream just now";
const NO_ACKNOWLEDGEMENT: Decoded<'static> = Decoded::Broken("an acknowledgement of the bucket's stream");
const NO_ENTRY: Decoded<'static> = Decoded::Broken("an entry of the bucket's stream");

/// The requests that cannot be sent to JetStream. A message to the client's own inbox goes in their place, so that each has its reply like all
/// others.
mod instead {
    pub const CONFLICT: u8 = b'c';
    pub const KEY_TOO_LONG: u8 = b'k';
    pub const VALUE_TOO_LONG: u8 = b'v';
    pub const NOT_THERE: u8 = b'n';
    pub const NOTHING_EXPIRES: u8 = b't';
}

/// The server that answers a get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reads {
    /// Any server that has a copy.
    Direct,
    /// The leader of the stream, in JSON.
    Leader,
}

/// The number of replies a request may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repliers {
    /// One server, one reply.
    One,
    /// Several servers, which are a cluster. While none of them leads, each of them says so.
    Several,
}

/// The lives of the messages of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MessageLives {
    /// Each message may have a time to live.
    Each,
    /// No message has one: it would be kept without.
    None,
}

/// The settings that all connections of a store have in common.
#[derive(Debug)]
pub(super) struct Shared {
    pub bucket: Bucket,
    pub reads: Reads,
    pub repliers: Repliers,
    pub lives: MessageLives,
    /// The longest value of a put: the bytes a message may have, less [`CONDITION_BYTES`].
    pub max_value_bytes: usize,
    /// `CONNECT` with the login.
    pub connect: Vec<u8>,
}

/// Room for values of small records, which then never have to grow it.
const VALUE_BYTES: usize = 1024;

/// The state of one connection.
pub(super) struct Nats {
    shared: Arc<Shared>,
    /// The subject of the replies, without the ticket.
    inbox: Vec<u8>,
    ticket: u32,
    /// The bytes of a value out of JSON.
    value: Vec<u8>,
}

impl Nats {
    /// Makes the state of a new connection, whose replies come to an inbox that nobody else has.
    pub fn new(shared: Arc<Shared>, inbox: Vec<u8>) -> Nats {
        Nats { shared, inbox, ticket: 0, value: Vec::with_capacity(VALUE_BYTES) }
    }

    /// Appends the inbox of this request and the sizes of header and payload: the end of a message's line.
    #[inline]
    fn end_line(&self, out: &mut Vec<u8>, header_bytes: usize, payload_bytes: usize) {
        out.push(b' ');
        out.extend_from_slice(&self.inbox);
        push_u64(out, self.ticket.into());
        sizes(out, header_bytes, payload_bytes);
    }

    fn instead(&self, out: &mut Vec<u8>, reason: u8) {
        out.extend_from_slice(b"PUB ");
        out.extend_from_slice(&self.inbox);
        push_u64(out, self.ticket.into());
        sizes(out, 0, 1);
        out.extend_from_slice(&[reason, b'\r', b'\n']);
    }

    #[inline]
    fn put(&self, out: &mut Vec<u8>, key: &[u8], value: &[u8]) {
        out.extend_from_slice(&self.shared.bucket.put);
        push_key(out, key);
        self.end_line(out, 0, value.len());
        out.extend_from_slice(value);
        out.extend_from_slice(b"\r\n");
    }

    /// Writes a put on the condition that the last message of the key has this sequence; 0: that there is none.
    fn compare_and_set(&self, out: &mut Vec<u8>, key: &[u8], sequence: u64, value: &[u8]) {
        self.put_with(out, key, b"NATS/1.0\r\nNats-Expected-Last-Subject-Sequence: ", sequence, value);
    }

    /// Writes a put whose message is gone after these seconds.
    fn put_ttl(&self, out: &mut Vec<u8>, key: &[u8], ttl_ms: u64, value: &[u8]) {
        self.put_with(out, key, b"NATS/1.0\r\nNats-TTL: ", ttl_ms.div_ceil(1000), value);
    }

    /// Writes a put with one header, whose value is a number.
    fn put_with(&self, out: &mut Vec<u8>, key: &[u8], begin: &[u8], number: u64, value: &[u8]) {
        const END: &[u8] = b"\r\n\r\n";
        let digits = number.checked_ilog10().unwrap_or(0) as usize + 1;
        out.extend_from_slice(&self.shared.bucket.put_with_headers);
        push_key(out, key);
        self.end_line(out, begin.len() + digits + END.len(), value.len());
        out.extend_from_slice(begin);
        push_u64(out, number);
        out.extend_from_slice(END);
        out.extend_from_slice(value);
        out.extend_from_slice(b"\r\n");
    }

    fn get(&self, out: &mut Vec<u8>, key: &[u8]) {
        match self.shared.reads {
            Reads::Direct => {
                out.extend_from_slice(&self.shared.bucket.get);
                push_key(out, key);
                self.end_line(out, 0, 0);
                out.extend_from_slice(b"\r\n");
            }
            Reads::Leader => self.about_subject(out, &self.shared.bucket.get_from_leader, b"last_by_subj", key),
        }
    }

    /// Writes a request whose message is the subject of a key under this name.
    fn about_subject(&self, out: &mut Vec<u8>, request: &[u8], name: &[u8], key: &[u8]) {
        let subject = &self.shared.bucket.subject;
        out.extend_from_slice(request);
        self.end_line(out, 0, br#"{"":""}"#.len() + name.len() + subject.len() + key_len(key));
        out.extend_from_slice(br#"{""#);
        out.extend_from_slice(name);
        out.extend_from_slice(br#"":""#);
        out.extend_from_slice(subject);
        push_key(out, key);
        out.extend_from_slice(b"\"}\r\n");
    }

    /// Returns the ticket of a message; `None` when the message is not for the inbox.
    fn ticket_of(&self, message: &Message<'_>) -> Option<u32> {
        let digits = message.subject.strip_prefix(&self.inbox[..])?;
        let ticket = parse_u64(digits).and_then(|number| u32::try_from(number).ok());
        ticket.filter(|_| message.subscription == SUBSCRIPTION)
    }

    /// Reads the message that is the reply to a request.
    fn reply<'a>(&'a mut self, kind: OperationKind, message: Message<'a>, consumed: usize) -> Decoded<'a> {
        let whole = |reply| Decoded::Reply { reply, consumed };
        let refused = |words| whole(Reply::Failed(Failure::Refused(words)));
        match (message.headers.and_then(Headers::status), message.headers, message.payload) {
            (Some(503), ..) => return whole(Reply::Failed(Failure::NotConnected(NOBODY_SERVES))),
            (_, None, [instead::CONFLICT]) => return whole(Reply::Conflict),
            (_, None, [instead::KEY_TOO_LONG]) => return refused("a key over 1024 bytes"),
            (_, None, [instead::VALUE_TOO_LONG]) => {
                return refused("a value longer than the server's max_payload allows; it would close the connection");
            }
            (_, None, [instead::NOTHING_EXPIRES]) => return refused(NOTHING_EXPIRES),
            (_, None, [instead::NOT_THERE]) => return refused("NATS has no such operation"),
            _ => {}
        }
        match kind {
            OperationKind::Get | OperationKind::GetVersioned => match self.shared.reads {
                Reads::Direct => self.entry(kind, message, consumed),
                Reads::Leader => self.entry_in_json(kind, message.payload, consumed),
            },
            OperationKind::Delete => purged(message.payload, consumed),
            _ => self.acknowledged(kind, message.payload, consumed),
        }
    }

    /// Reads the acknowledgement of a message that was stored: `{"stream":"KV_b","seq":2}`.
    fn acknowledged<'a>(&self, kind: OperationKind, payload: &'a [u8], consumed: usize) -> Decoded<'a> {
        let Some([error, stream, sequence]) = members(payload, ["error", "stream", "seq"]) else {
            return NO_ACKNOWLEDGEMENT;
        };
        if let Some(error) = error {
            return match failure(error) {
                Some((WRONG_LAST_SEQUENCE, _)) if kind == OperationKind::CompareAndSet => {
                    Decoded::Reply { reply: Reply::Conflict, consumed }
                }
                Some((_, failure)) => Decoded::Reply { reply: Reply::Failed(failure), consumed },
                None => NO_ACKNOWLEDGEMENT,
            };
        }
        let is_ours = stream.and_then(text) == Some(self.shared.bucket.stream.as_bytes());
        match sequence.and_then(parse_u64) {
            Some(1..) if is_ours => Decoded::Reply { reply: Reply::Done, consumed },
            _ => NO_ACKNOWLEDGEMENT,
        }
    }

    /// Reads the answer of a server that has a copy: the message itself, or a status.
    fn entry<'a>(&self, kind: OperationKind, message: Message<'a>, consumed: usize) -> Decoded<'a> {
        let Some(headers) = message.headers else { return NO_ENTRY };
        match headers.status() {
            None => {}
            Some(404) => return Decoded::Reply { reply: Reply::Missing, consumed },
            Some(_) => {
                let words = "a status that is neither 404 nor 503";
                return Decoded::Reply { reply: Reply::Failed(Failure::Refused(words)), consumed };
            }
        }
        let version = match (headers.get(b"Nats-Stream"), headers.get(b"Nats-Sequence").and_then(parse_u64)) {
            (Some(stream), Some(version @ 1..)) if stream == self.shared.bucket.stream.as_bytes() => version,
            _ => return NO_ENTRY,
        };
        Decoded::Reply { reply: present(kind, is_deleted(headers), message.payload, version), consumed }
    }

    /// Reads the answer of the leader: the message in JSON, its bytes and its headers in base64.
    fn entry_in_json<'a>(&'a mut self, kind: OperationKind, payload: &'a [u8], consumed: usize) -> Decoded<'a> {
        let Some([error, message]) = members(payload, ["error", "message"]) else { return NO_ENTRY };
        if let Some(error) = error {
            return match failure(error) {
                Some((NO_MESSAGE, _)) => Decoded::Reply { reply: Reply::Missing, consumed },
                Some((_, failure)) => Decoded::Reply { reply: Reply::Failed(failure), consumed },
                None => NO_ENTRY,
            };
        }
        let found = message.and_then(|message| members(message, ["subject", "seq", "hdrs", "data"]));
        let Some([Some(subject), Some(version), headers, data]) = found else { return NO_ENTRY };
        let is_ours = text(subject).is_some_and(|subject| subject.starts_with(&self.shared.bucket.subject));
        let Some(version @ 1..) = parse_u64(version).filter(|_| is_ours) else { return NO_ENTRY };
        if !unpack(&mut self.value, headers) {
            return NO_ENTRY;
        }
        let deleted = headers.is_some() && Headers::of(&self.value).is_some_and(is_deleted);
        if !unpack(&mut self.value, data) {
            return NO_ENTRY;
        }
        Decoded::Reply { reply: present(kind, deleted, &self.value, version), consumed }
    }
}

impl Codec for Nats {
    const REPLIES: Replies = Replies::ByTicket;

    fn hello(&mut self, out: &mut Vec<u8>) -> u32 {
        out.extend_from_slice(&self.shared.connect);
        let mut inbox = self.inbox.clone();
        inbox.push(b'*');
        protocol::subscribe(out, &inbox, SUBSCRIPTION);
        out.extend_from_slice(PING);
        1
    }

    fn hello_reply<'a>(&'a mut self, input: &'a [u8]) -> Decoded<'a> {
        let mut at = 0;
        loop {
            match read(&input[at..]) {
                Heard::Whole(Said::Pong, bytes) => {
                    return Decoded::Reply { reply: Reply::Done, consumed: at + bytes };
                }
                Heard::Whole(Said::Wrong(words), bytes) => {
                    let words = std::str::from_utf8(words).unwrap_or(NOT_UTF8);
                    return Decoded::Reply { reply: Reply::Failed(Failure::Refused(words)), consumed: at + bytes };
                }
                Heard::Whole(Said::Message(_), _) => return Decoded::Broken("the answer to PING"),
                Heard::Whole(_, bytes) => at += bytes,
                Heard::Incomplete(at_least) => return Decoded::Incomplete { at_least },
                Heard::Broken(problem) => return Decoded::Broken(problem),
            }
        }
    }

    fn head(&mut self, input: &[u8], answer: &mut Vec<u8>) -> Head {
        match read(input) {
            Heard::Whole(Said::Message(message), bytes) => match self.ticket_of(&message) {
                Some(ticket) => Head::Reply { ticket, bytes },
                None => Head::Broken("a message to the inbox of the connection"),
            },
            Heard::Whole(Said::Wrong(_), bytes) => Head::Oldest { bytes },
            Heard::Whole(said, bytes) => {
                if said == Said::Ping {
                    answer.extend_from_slice(PONG);
                }
                Head::Aside { bytes }
            }
            Heard::Incomplete(at_least) => Head::Incomplete { at_least },
            Heard::Broken(problem) => Head::Broken(problem),
        }
    }

    fn may_repeat(&self, ticket: u32) -> bool {
        let was_sent = self.ticket.wrapping_sub(ticket) < u32::MAX / 2;
        self.shared.repliers == Repliers::Several && was_sent
    }

    #[inline]
    fn encode(&mut self, operation: &Operation<'_>, out: &mut Vec<u8>) -> Expect {
        self.ticket = self.ticket.wrapping_add(1);
        let longest = self.shared.max_value_bytes;
        match *operation {
            _ if operation.key().is_some_and(|key| key.len() > MAX_KEY_BYTES) => {
                self.instead(out, instead::KEY_TOO_LONG);
            }
            Operation::Put { value, .. } | Operation::PutTtl { value, .. } | Operation::CompareAndSet { value, .. }
                if value.len() > longest =>
            {
                self.instead(out, instead::VALUE_TOO_LONG);
            }
            Operation::PutTtl { .. } if self.shared.lives == MessageLives::None => {
                self.instead(out, instead::NOTHING_EXPIRES);
            }
            Operation::PutTtl { key, value, ttl_ms } => self.put_ttl(out, key, ttl_ms, value),
            Operation::Get { key } | Operation::GetVersioned { key } => self.get(out, key),
            Operation::Put { key, value } => self.put(out, key, value),
            Operation::Delete { key } => {
                self.about_subject(out, &self.shared.bucket.purge, b"filter", key);
            }
            // No message has this sequence, and to the server it would mean that there must be none.
            Operation::CompareAndSet { expected: Expected::Present { version: 0, .. }, .. } => {
                self.instead(out, instead::CONFLICT);
            }
            Operation::CompareAndSet { key, expected: Expected::Absent, value } => {
                self.compare_and_set(out, key, 0, value);
            }
            Operation::CompareAndSet { key, expected: Expected::Present { version, .. }, value } => {
                self.compare_and_set(out, key, version, value);
            }
            _ => self.instead(out, instead::NOT_THERE),
        }
        Expect { kind: operation.kind(), detail: self.ticket }
    }

    fn decode<'a>(&'a mut self, expect: Expect, input: &'a [u8]) -> Decoded<'a> {
        match read(input) {
            Heard::Whole(Said::Message(message), consumed) if self.ticket_of(&message) == Some(expect.detail) => {
                self.reply(expect.kind, message, consumed)
            }
            Heard::Whole(Said::Wrong(words), consumed) => Decoded::Reply { reply: wrong(words), consumed },
            Heard::Whole(..) => Decoded::Broken("a message to the inbox of the request"),
            Heard::Incomplete(at_least) => Decoded::Incomplete { at_least },
            Heard::Broken(problem) => Decoded::Broken(problem),
        }
    }
}
