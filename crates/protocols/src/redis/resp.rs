//! RESP2, the protocol of Redis and its relatives: requests are arrays of byte strings, replies are typed by their first byte.

use super::answer;
use super::item::{Found, Item, item, short_bulk, short_number};
use store::wire::ascii::{i64_len, parse_i64, push_i64, push_line, push_three, two_digits};
use store::wire::{Codec, Decoded, Expect, KeyQueue};
use store::{Endpoint, Expected, Failure, LASTS, Operation, OperationKind, Reply, RowBuffer, TreeNode};

/// The script that stores a value only while the old value still is the expected one. Comparing values is exact, and cheaper for the server than a
/// digest.
pub(super) const SCRIPT: &str =
    "if redis.call('GET',KEYS[1])==ARGV[1] then redis.call('SET',KEYS[1],ARGV[2]) return 1 end return 0";

/// The SHA-1 of [`SCRIPT`], under which the server keeps it.
pub(super) const SCRIPT_SHA1: &str = "9727c0c3d59879d40e8841eb5f2722ce5967bd3d";

const NOT_UTF8: &str = "an error in words that are not UTF-8";

/// The data of a login.
#[derive(Clone, Default)]
pub(crate) struct Login {
    /// The arguments of AUTH, none without a password.
    auth: Vec<String>,
    /// The argument of SELECT.
    database: Option<String>,
    script: Script,
}

/// The beginning of a connection: whether it gives the server [`SCRIPT`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Script {
    /// The connection begins with it.
    #[default]
    Loaded,
    /// The server is known to have no scripts, or has not been asked yet: some hang up at a command they do not know.
    Left,
}

impl Login {
    /// Returns the login of an endpoint.
    pub fn of(endpoint: &Endpoint) -> Login {
        let password = endpoint.password.as_ref().map(|password| password.reveal().to_owned());
        let auth = password.map(|password| endpoint.user.clone().into_iter().chain([password]).collect());
        Login { auth: auth.unwrap_or_default(), database: endpoint.database.clone(), script: Script::Loaded }
    }

    /// Returns the same login, with or without the script.
    pub fn with(self, script: Script) -> Login {
        Login { script, ..self }
    }
}

/// The state of one connection.
pub(crate) struct Resp {
    login: Login,
    /// The keys of requests whose replies hold values only.
    asked: KeyQueue,
    rows: RowBuffer,
    /// The values of the answer to a command.
    nodes: Vec<TreeNode>,
    /// The number of replies to hello read so far, and the number of all.
    greeted: (u32, u32),
}

impl Resp {
    /// Makes the state of a new connection.
    pub fn new(login: Login) -> Resp {
        Resp { login, asked: KeyQueue::default(), rows: RowBuffer::default(), nodes: Vec::new(), greeted: (0, 0) }
    }
}

impl Codec for Resp {
    fn hello(&mut self, out: &mut Vec<u8>) -> u32 {
        let mut replies = 0;
        if !self.login.auth.is_empty() {
            let auth: Vec<&[u8]> = self.login.auth.iter().map(String::as_bytes).collect();
            request(out, b"AUTH", &auth);
            replies += 1;
        }
        if let Some(database) = &self.login.database {
            request(out, b"SELECT", &[database.as_bytes()]);
            replies += 1;
        }
        if self.login.script == Script::Loaded {
            request(out, b"SCRIPT", &[b"LOAD", SCRIPT.as_bytes()]);
            replies += 1;
        }
        self.greeted = (0, replies);
        replies
    }

    fn hello_reply<'a>(&'a mut self, input: &'a [u8]) -> Decoded<'a> {
        let (consumed, item) = match item(input, 0) {
            Found::Item { item, end } => (end, item),
            Found::Incomplete { at_least } => return Decoded::Incomplete { at_least },
            Found::Broken(problem) => return Decoded::Broken(problem),
        };
        self.greeted.0 += 1;
        let is_script = self.login.script == Script::Loaded && self.greeted.0 == self.greeted.1;
        let reply = match item {
            // A server that may not or cannot keep scripts says so again when a compare-and-set is asked of it.
            Item::Error(words) if is_script && !is_login(words) => Reply::Done,
            Item::Error(words) => refused(words),
            Item::Bulk(_) if is_script => Reply::Done,
            Item::Line(b"OK") if !is_script => Reply::Done,
            _ => return Decoded::Broken("an answer to AUTH, SELECT or SCRIPT LOAD"),
        };
        Decoded::Reply { reply, consumed }
    }

    #[inline(always)]
    fn encode(&mut self, operation: &Operation<'_>, out: &mut Vec<u8>) -> Expect {
        // What most workloads mostly send, without the call the many others are worth.
        if let Operation::Get { key } = *operation {
            get(out, key);
            return Expect { kind: OperationKind::Get, detail: 0 };
        }
        self.encode_any(operation, out)
    }

    #[inline(always)]
    fn decode<'a>(&'a mut self, expect: Expect, input: &'a [u8]) -> Decoded<'a> {
        if expect.kind == OperationKind::Get
            && let Some((value, consumed)) = short_bulk(input)
        {
            return Decoded::Reply { reply: Reply::Value(value), consumed };
        }
        if matches!(expect.kind, OperationKind::Append | OperationKind::Increment)
            && let Some((number, consumed)) = short_number(input)
        {
            return Decoded::Reply { reply: Reply::Number(number), consumed };
        }
        if expect.kind == OperationKind::Command {
            return answer::decode(&mut self.nodes, input);
        }
        self.decode_any(expect, input)
    }
}

impl Resp {
    fn encode_any(&mut self, operation: &Operation<'_>, out: &mut Vec<u8>) -> Expect {
        let mut detail = 0;
        match *operation {
            Operation::Get { key } | Operation::GetVersioned { key } | Operation::GetCounter { key } => get(out, key),
            Operation::Put { key, value } => {
                out.extend_from_slice(b"*3\r\n$3\r\nSET\r\n");
                bulk(out, key);
                bulk(out, value);
            }
            Operation::Delete { key } => request(out, b"DEL", &[key]),
            Operation::Append { key, value } => {
                out.extend_from_slice(b"*3\r\n$6\r\nAPPEND\r\n");
                bulk(out, key);
                bulk(out, value);
            }
            Operation::Increment { key, by } => {
                out.extend_from_slice(b"*3\r\n$6\r\nINCRBY\r\n");
                bulk(out, key);
                number(out, by);
            }
            Operation::IncrementField { key, field, by } => {
                out.extend_from_slice(b"*4\r\n$7\r\nHINCRBY\r\n");
                bulk(out, key);
                bulk(out, field);
                number(out, by);
            }
            Operation::GetFields { key } => request(out, b"HGETALL", &[key]),
            Operation::CompareAndSet { key, expected: Expected::Absent, value } => {
                request(out, b"SET", &[key, value, b"NX"])
            }
            Operation::CompareAndSet { key, expected: Expected::Present { value: expected, .. }, value } => {
                detail = 1;
                request(out, b"EVALSHA", &[SCRIPT_SHA1.as_bytes(), b"1", key, expected, value]);
            }
            Operation::GetMany { keys } => {
                detail = keys.len() as u32;
                self.asked.push(keys);
                if keys.is_empty() {
                    nothing(out);
                } else {
                    request(out, b"MGET", keys);
                }
            }
            Operation::PutMany { pairs } => {
                detail = pairs.len() as u32;
                if pairs.is_empty() {
                    nothing(out);
                } else {
                    array(out, 1 + 2 * pairs.len());
                    bulk(out, b"MSET");
                    for (key, value) in pairs {
                        bulk(out, key);
                        bulk(out, value);
                    }
                }
            }
            Operation::PutTtl { key, value, ttl_ms } => {
                out.extend_from_slice(b"*5\r\n$3\r\nSET\r\n");
                bulk(out, key);
                bulk(out, value);
                out.extend_from_slice(b"$2\r\nPX\r\n");
                number(out, ttl_ms as i64);
            }
            Operation::Touch { key, ttl_ms } => {
                out.extend_from_slice(b"*3\r\n$7\r\nPEXPIRE\r\n");
                bulk(out, key);
                number(out, ttl_ms as i64);
            }
            Operation::TimeLeft { key } => request(out, b"PTTL", &[key]),
            Operation::Command { words, .. } => {
                array(out, words.len());
                words.iter().for_each(|word| bulk(out, word));
            }
            // Not native, so never asked; asked nevertheless, the server refuses.
            Operation::Scan { .. } | Operation::Sql { .. } => request(out, b"RANGE", &[]),
        }
        Expect { kind: operation.kind(), detail }
    }

    fn decode_any<'a>(&'a mut self, expect: Expect, input: &'a [u8]) -> Decoded<'a> {
        let (end, item) = match item(input, 0) {
            Found::Item { item, end } => (end, item),
            Found::Incomplete { at_least } => return Decoded::Incomplete { at_least },
            Found::Broken(problem) => return Decoded::Broken(problem),
        };
        let reply = match (expect.kind, item) {
            (OperationKind::Get, Item::Bulk(value)) => Reply::Value(value),
            (OperationKind::GetVersioned, Item::Bulk(value)) => Reply::Versioned { value, version: 0 },
            (OperationKind::Get | OperationKind::GetVersioned | OperationKind::GetCounter, Item::Nil) => Reply::Missing,
            (
                OperationKind::Put | OperationKind::PutMany | OperationKind::PutTtl | OperationKind::CompareAndSet,
                Item::Line(b"OK"),
            ) => Reply::Done,
            (OperationKind::Delete | OperationKind::Touch, Item::Number(0)) => Reply::Missing,
            (OperationKind::Delete | OperationKind::Touch, Item::Number(1)) => Reply::Done,
            (OperationKind::TimeLeft, Item::Number(-2)) => Reply::Missing,
            (OperationKind::TimeLeft, Item::Number(left_ms @ LASTS..)) => Reply::Number(left_ms),
            (OperationKind::Append, Item::Number(length @ 0..)) => Reply::Number(length),
            (OperationKind::Increment | OperationKind::IncrementField, Item::Number(number)) => Reply::Number(number),
            (OperationKind::GetCounter, Item::Bulk(digits)) => match parse_i64(digits) {
                Some(number) => Reply::Number(number),
                None => return Decoded::Broken("a counter in decimal"),
            },
            (OperationKind::CompareAndSet, Item::Nil) if expect.detail == 0 => Reply::Conflict,
            (OperationKind::CompareAndSet, Item::Number(0)) if expect.detail == 1 => Reply::Conflict,
            (OperationKind::CompareAndSet, Item::Number(1)) if expect.detail == 1 => Reply::Done,
            // What was sent for nothing does nothing, whether the server knows it or not.
            (OperationKind::PutMany, Item::Line(_) | Item::Error(_)) if expect.detail == 0 => Reply::Done,
            (OperationKind::GetMany, Item::Line(_) | Item::Error(_)) if expect.detail == 0 => {
                self.asked.pop();
                self.rows.clear();
                Reply::Rows(self.rows.rows())
            }
            (OperationKind::GetMany, Item::Array(items)) if items == expect.detail as usize => {
                return self.values(items, input, end);
            }
            (OperationKind::GetFields, Item::Array(items)) if items % 2 == 0 => return self.fields(items, input, end),
            (_, Item::Error(words)) => {
                if expect.kind == OperationKind::GetMany {
                    self.asked.pop();
                }
                refused(words)
            }
            _ => return Decoded::Broken("a reply of the type this command has"),
        };
        Decoded::Reply { reply, consumed: end }
    }

    /// Reads the values of MGET, in the order of the keys.
    fn values<'a>(&'a mut self, count: usize, input: &'a [u8], start: usize) -> Decoded<'a> {
        let consumed = match bulks(input, start, count) {
            Ok(end) => end,
            Err(other) => return other,
        };
        self.rows.clear();
        let mut at = start;
        for key in self.asked.front() {
            let Found::Item { item, end } = item(input, at) else { break };
            if let Item::Bulk(value) = item {
                self.rows.push(key, value);
            }
            at = end;
        }
        self.asked.pop();
        Decoded::Reply { reply: Reply::Rows(self.rows.rows()), consumed }
    }

    /// Reads the fields and counts of HGETALL.
    fn fields<'a>(&'a mut self, items: usize, input: &'a [u8], start: usize) -> Decoded<'a> {
        let consumed = match bulks(input, start, items) {
            Ok(end) => end,
            Err(other) => return other,
        };
        self.rows.clear();
        let mut at = start;
        for _ in 0..items / 2 {
            let Found::Item { item: Item::Bulk(field), end } = item(input, at) else { break };
            let Found::Item { item: Item::Bulk(count), end } = item(input, end) else { break };
            self.rows.push(field, count);
            at = end;
        }
        Decoded::Reply { reply: Reply::Rows(self.rows.rows()), consumed }
    }
}

/// Returns the end of `count` strings (or nils) that start at `start`.
fn bulks<'a>(input: &'a [u8], start: usize, count: usize) -> Result<usize, Decoded<'a>> {
    let mut at = start;
    for found in 0..count {
        match item(input, at) {
            Found::Item { item: Item::Bulk(_) | Item::Nil, end } => at = end,
            Found::Item { .. } => return Err(Decoded::Broken("an array of strings")),
            // Each further item takes five bytes or more.
            Found::Incomplete { at_least } => {
                return Err(Decoded::Incomplete { at_least: at_least.saturating_add(5 * (count - found - 1)) });
            }
            Found::Broken(problem) => return Err(Decoded::Broken(problem)),
        }
    }
    Ok(at)
}

pub(super) fn refused(words: &[u8]) -> Reply<'_> {
    let words = std::str::from_utf8(words).unwrap_or(NOT_UTF8);
    // An exception among Infinispan's servers, which leaves open how far a write came.
    let thrown = ["ISPN", "Exception", "suspected"].iter().any(|word| words.contains(word));
    Reply::Failed(if thrown { Failure::Unknown(words) } else { Failure::said(words) })
}

/// Returns whether an error means that nothing will work without logging in, or at all.
pub(super) fn is_login(words: &[u8]) -> bool {
    [&b"NOAUTH"[..], b"WRONGPASS", b"ERR max number of clients", b"LOADING", b"DENIED"]
        .iter()
        .any(|start| words.starts_with(start))
}

/// Writes a request of a command and its arguments.
#[inline]
pub(super) fn request(out: &mut Vec<u8>, command: &[u8], args: &[&[u8]]) {
    out.reserve(command.len() + 32 + args.iter().map(|arg| arg.len() + 24).sum::<usize>());
    array(out, 1 + args.len());
    bulk(out, command);
    for arg in args {
        bulk(out, arg);
    }
}

#[inline]
fn array(out: &mut Vec<u8>, items: usize) {
    push_line(out, b'*', items as u64);
}

/// Writes a GET, the most frequent request: its head with a length of two digits is one store.
#[inline(always)]
fn get(out: &mut Vec<u8>, key: &[u8]) {
    if (10..100).contains(&key.len()) {
        let mut head = *b"*2\r\n$3\r\nGET\r\n$00\r\n";
        [head[14], head[15]] = two_digits(key.len());
        push_three(out, &head, key, b"\r\n");
    } else {
        out.extend_from_slice(b"*2\r\n$3\r\nGET\r\n");
        bulk(out, key);
    }
}

#[inline(always)]
fn bulk(out: &mut Vec<u8>, bytes: &[u8]) {
    let digit = |number: usize| b'0' + number as u8;
    // Keys and small values: a head of known size, and one check for room.
    match bytes.len() {
        size @ 0..10 => push_three(out, &[b'$', digit(size), b'\r', b'\n'], bytes, b"\r\n"),
        size @ 10..100 => {
            let [tens, ones] = two_digits(size);
            push_three(out, &[b'$', tens, ones, b'\r', b'\n'], bytes, b"\r\n");
        }
        _ => long_bulk(out, bytes),
    }
}

fn long_bulk(out: &mut Vec<u8>, bytes: &[u8]) {
    out.reserve(bytes.len() + 32);
    push_line(out, b'$', bytes.len() as u64);
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
}

#[inline]
fn number(out: &mut Vec<u8>, number: i64) {
    push_line(out, b'$', i64_len(number) as u64);
    push_i64(out, number);
    out.extend_from_slice(b"\r\n");
}

/// Writes a request that does nothing: MGET and MSET of nothing are errors to the server.
fn nothing(out: &mut Vec<u8>) {
    request(out, b"PING", &[]);
}

#[cfg(test)]
mod tests;
