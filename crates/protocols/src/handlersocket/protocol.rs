//! The HandlerSocket protocol: lines of tokens behind tabs, bytes below 16 escaped.
//!
//! A request names an index opened when the connection is: columns to read or write, and what to find. It has no upsert, so a put is
//! an update and an insert in one write: the insert fails where the update has found the row. It compares no long values, so a
//! compare-and-set is an update behind a filter on the column `ver`, which each write sets to a number used once. A counter is made by
//! an insert that fails where there is one.

use super::line::{Line, find, push_token, unescape};
use store::wire::ascii::{parse_i64, parse_u64, push_i64, push_u64};
use store::wire::{Codec, Decoded, Expect, KeyQueue};
use store::{Expected, Failure, Operation, OperationKind, Reply, RowBuffer};

/// The width of the key columns: the server would cut off a longer key without a word.
pub(super) const KEY_BYTES: usize = 1536;

/// The value of `Expect::detail` for a request that is not sent, because the server would cut the key off.
const TOO_LONG: u32 = u32::MAX;

/// The server's number for a key that is there already.
const DUPLICATE: &[u8] = b"121";

/// Indexes as they are numbered, with their columns; and with their table.
const READ: u8 = b'1';
const WRITE: u8 = b'2';
const WHOLE: u8 = b'3';
const COUNTER: u8 = b'4';
pub(super) const NEW_COUNTER: u8 = b'5';
pub(super) const KEY: u8 = b'6';
const INDEXES: [(u8, &str, &str); 6] = [
    (READ, "kvtrial_kv", "k,v"),
    // With `ver` as a column to filter by.
    (WRITE, "kvtrial_kv", "v,ver\tver"),
    (WHOLE, "kvtrial_kv", "k,v,ver"),
    (COUNTER, "kvtrial_counters", "n"),
    (NEW_COUNTER, "kvtrial_counters", "k,n"),
    (KEY, "kvtrial_kv", "k"),
];

/// The login and database that a connection begins with.
#[derive(Clone)]
pub(super) struct Greeting {
    /// The server's `handlersocket_plain_secret_wr`.
    pub(super) secret: Option<String>,
    /// The database of the tables.
    pub(super) database: String,
}

/// The state of one connection.
pub(super) struct HandlerSocket {
    greeting: Greeting,
    /// The next number for `ver`.
    version: u64,
    /// The keys of reads in flight.
    asked: KeyQueue,
    /// The ends of the lines of the oldest reply found so far, and the place up to which they were looked for.
    ends: Vec<usize>,
    looked: usize,
    /// Whether the oldest reply was given out.
    answered: bool,
    key: Vec<u8>,
    value: Vec<u8>,
    rows: RowBuffer,
    words: String,
}

impl HandlerSocket {
    /// Makes the state of a new connection; `first_version` must differ from that of every other connection.
    pub(super) fn new(greeting: Greeting, first_version: u64) -> HandlerSocket {
        HandlerSocket {
            greeting,
            version: first_version,
            asked: KeyQueue::default(),
            ends: Vec::new(),
            looked: 0,
            answered: false,
            key: Vec::new(),
            value: Vec::new(),
            rows: RowBuffer::default(),
            words: String::new(),
        }
    }

    /// Writes the update and the insert of a pair.
    fn put(&mut self, out: &mut Vec<u8>, key: &[u8], value: &[u8]) {
        find(out, WRITE, b"=", key);
        out.extend_from_slice(b"\t1\t0\tU\t");
        push_token(out, value);
        self.push_version(out);
        out.push(b'\n');
        self.insert(out, key, value);
    }

    fn insert(&mut self, out: &mut Vec<u8>, key: &[u8], value: &[u8]) {
        out.extend_from_slice(&[WHOLE, b'\t', b'+', b'\t', b'3', b'\t']);
        push_token(out, key);
        out.push(b'\t');
        push_token(out, value);
        self.push_version(out);
        out.push(b'\n');
    }

    fn push_version(&mut self, out: &mut Vec<u8>) {
        self.version += 1;
        out.push(b'\t');
        push_u64(out, self.version);
    }

    /// Returns whether `count` lines are there; their ends are then in `ends`.
    fn has_lines(&mut self, count: usize, input: &[u8]) -> bool {
        if std::mem::take(&mut self.answered) {
            self.ends.clear();
            self.looked = 0;
        }
        while self.ends.len() < count {
            match input[self.looked..].iter().position(|byte| *byte == b'\n') {
                Some(at) => {
                    self.looked += at + 1;
                    self.ends.push(self.looked - 1);
                }
                None => {
                    self.looked = input.len();
                    return false;
                }
            }
        }
        true
    }

    fn answer<'a>(&'a mut self, expect: Expect, input: &'a [u8]) -> Result<Reply<'a>, &'static str> {
        let start = if self.ends.len() > 1 { self.ends[self.ends.len() - 2] + 1 } else { 0 };
        let last = Line::of(&input[start..self.ends.last().copied().unwrap_or(0)])?;
        match expect.kind {
            _ if expect.detail == TOO_LONG => {
                Ok(refused("the key is longer than its column: the server would cut it off"))
            }
            OperationKind::Put | OperationKind::PutMany => self.put_reply(input),
            OperationKind::GetMany | OperationKind::Scan => self.rows_reply(expect, &last),
            OperationKind::CompareAndSet if last.failed_with(DUPLICATE) => Ok(Reply::Conflict),
            _ if !last.is_good() => Ok(self.refusal(&last)),
            OperationKind::Delete => Ok(if last.count()? == 0 { Reply::Missing } else { Reply::Done }),
            // An insert is answered without a number, an update with that of the rows changed.
            OperationKind::CompareAndSet => match last.tokens().next() {
                Some(b"0") => Ok(Reply::Conflict),
                Some(b"1") | None => Ok(Reply::Done),
                _ => Err("0 or 1 rows changed"),
            },
            OperationKind::Increment => {
                let before = last.tokens().next().and_then(parse_i64).ok_or("a counter as it was before")?;
                let by = self.asked.front().next().and_then(parse_i64).ok_or("an increment asked for")?;
                self.asked.pop();
                Ok(Reply::Number(before.wrapping_add(by)))
            }
            kind => self.read_reply(kind, last),
        }
    }

    /// Reads the row of a key: key, value and version, or key and counter.
    fn read_reply<'a>(&'a mut self, kind: OperationKind, line: Line<'a>) -> Result<Reply<'a>, &'static str> {
        let mut tokens = line.tokens();
        let Some(key) = tokens.next() else {
            self.asked.pop();
            return Ok(Reply::Missing);
        };
        self.value.clear();
        unescape(&mut self.value, key)?;
        if self.asked.front().next() != Some(&self.value[..]) {
            return Err("the key asked for");
        }
        self.asked.pop();
        let value = tokens.next().ok_or("a value after the key")?;
        if kind == OperationKind::GetCounter {
            return parse_i64(value).map(Reply::Number).ok_or("a counter in decimal");
        }
        self.value.clear();
        unescape(&mut self.value, value)?;
        match kind {
            OperationKind::Get => Ok(Reply::Value(&self.value)),
            OperationKind::GetVersioned => {
                let version = tokens.next().and_then(parse_u64).ok_or("a version after the value")?;
                Ok(Reply::Versioned { value: &self.value, version })
            }
            _ => Err("the reply to a request of this protocol"),
        }
    }

    fn rows_reply<'a>(&'a mut self, expect: Expect, line: &Line<'_>) -> Result<Reply<'a>, &'static str> {
        if !line.is_good() {
            if expect.kind == OperationKind::GetMany {
                self.asked.pop();
            }
            return Ok(self.refusal(line));
        }
        self.rows.clear();
        {
            let mut keys = self.asked.front();
            let mut tokens = line.tokens();
            // Of none asked for, whatever was found instead is left out.
            while let (1.., Some(found)) = (expect.detail, tokens.next()) {
                self.key.clear();
                self.value.clear();
                unescape(&mut self.key, found)?;
                unescape(&mut self.value, tokens.next().ok_or("a value after each key")?)?;
                if expect.kind == OperationKind::GetMany && !keys.any(|asked| asked == self.key) {
                    return Err("rows of the keys asked for, in their order");
                }
                self.rows.push(&self.key, &self.value);
            }
        }
        if expect.kind == OperationKind::GetMany {
            self.asked.pop();
        }
        Ok(Reply::Rows(self.rows.rows()))
    }

    /// Reads the replies to put: for each pair the update's line and the insert's. One of the two stored it, or another client's insert came between
    /// and is then the later one.
    fn put_reply(&mut self, input: &[u8]) -> Result<Reply<'_>, &'static str> {
        let mut start = 0;
        for (number, end) in self.ends.chunks_exact(2).flatten().enumerate() {
            let line = Line::of(&input[start..*end])?;
            start = end + 1;
            let is_insert = number % 2 == 1;
            if !(line.is_good() || is_insert && line.failed_with(DUPLICATE)) {
                let words = line.words();
                self.words = words;
                return Ok(refused(&self.words));
            }
        }
        Ok(Reply::Done)
    }

    #[cold]
    fn refusal(&mut self, line: &Line<'_>) -> Reply<'_> {
        self.words = line.words();
        refused(&self.words)
    }
}

impl Codec for HandlerSocket {
    fn hello(&mut self, out: &mut Vec<u8>) -> u32 {
        let mut replies = INDEXES.len() as u32;
        if let Some(secret) = &self.greeting.secret {
            out.extend_from_slice(b"A\t1\t");
            push_token(out, secret.as_bytes());
            out.push(b'\n');
            replies += 1;
        }
        for (number, table, columns) in INDEXES {
            out.extend_from_slice(&[b'P', b'\t', number, b'\t']);
            push_token(out, self.greeting.database.as_bytes());
            out.extend_from_slice(format!("\t{table}\tPRIMARY\t{columns}\n").as_bytes());
        }
        replies
    }

    fn hello_reply<'a>(&'a mut self, input: &'a [u8]) -> Decoded<'a> {
        let Some(end) = input.iter().position(|byte| *byte == b'\n') else {
            return Decoded::Incomplete { at_least: 1 };
        };
        match Line::of(&input[..end]) {
            Ok(line) if line.is_good() => Decoded::Reply { reply: Reply::Done, consumed: end + 1 },
            Ok(line) => {
                self.words = format!(
                    "{}; the tables kvtrial_kv (k, v, ver) and kvtrial_counters (k, n) must be in the database {}, and the \
                     password must be the server's handlersocket_plain_secret_wr",
                    line.words(),
                    self.greeting.database
                );
                Decoded::Reply { reply: refused(&self.words), consumed: end + 1 }
            }
            Err(problem) => Decoded::Broken(problem),
        }
    }

    fn encode(&mut self, operation: &Operation<'_>, out: &mut Vec<u8>) -> Expect {
        let kind = operation.kind();
        if operation.keys().any(|key| key.len() > KEY_BYTES) {
            out.extend_from_slice(b"1\t=\t1\t\n");
            return Expect { kind, detail: TOO_LONG };
        }
        let mut detail = 1;
        match *operation {
            Operation::Get { key } | Operation::GetVersioned { key } | Operation::GetCounter { key } => {
                let index = match kind {
                    OperationKind::Get => READ,
                    OperationKind::GetVersioned => WHOLE,
                    _ => NEW_COUNTER,
                };
                self.asked.push(&[key]);
                find(out, index, b"=", key);
                out.push(b'\n');
            }
            Operation::Put { key, value } => self.put(out, key, value),
            Operation::PutMany { pairs } => {
                pairs.iter().for_each(|(key, value)| self.put(out, key, value));
                detail = pairs.len() as u32;
                if pairs.is_empty() {
                    out.extend_from_slice(b"1\t=\t1\t\n");
                }
            }
            Operation::Delete { key } => {
                find(out, WRITE, b"=", key);
                out.extend_from_slice(b"\t1\t0\tD\n");
            }
            Operation::CompareAndSet { key, expected: Expected::Absent, value } => self.insert(out, key, value),
            Operation::CompareAndSet { key, expected: Expected::Present { version, .. }, value } => {
                find(out, WRITE, b"=", key);
                out.extend_from_slice(b"\t1\t0\tF\t=\t0\t");
                push_u64(out, version);
                out.extend_from_slice(b"\tU\t");
                push_token(out, value);
                self.push_version(out);
                out.push(b'\n');
            }
            Operation::Increment { key, by } => {
                out.extend_from_slice(&[NEW_COUNTER, b'\t', b'+', b'\t', b'2', b'\t']);
                push_token(out, key);
                out.extend_from_slice(b"\t0\n");
                find(out, COUNTER, b"=", key);
                out.extend_from_slice(b"\t1\t0\t+?\t");
                let start = out.len();
                push_i64(out, by);
                self.asked.push(&[&out[start..]]);
                out.push(b'\n');
            }
            Operation::GetMany { keys } => {
                detail = keys.len() as u32;
                self.asked.push(keys);
                find(out, READ, b"=", b"");
                if !keys.is_empty() {
                    out.push(b'\t');
                    push_u64(out, keys.len() as u64);
                    out.extend_from_slice(b"\t0\t@\t0\t");
                    push_u64(out, keys.len() as u64);
                    for key in keys {
                        out.push(b'\t');
                        push_token(out, key);
                    }
                }
                out.push(b'\n');
            }
            Operation::Scan { start, limit } => {
                detail = limit;
                find(out, READ, b">=", start);
                out.push(b'\t');
                push_u64(out, limit.into());
                out.extend_from_slice(b"\t0\n");
            }
            // Not native, so never asked; asked nevertheless, the server refuses.
            Operation::Append { .. }
            | Operation::IncrementField { .. }
            | Operation::GetFields { .. }
            | Operation::PutTtl { .. }
            | Operation::Touch { .. }
            | Operation::TimeLeft { .. }
            | Operation::Command { .. }
            | Operation::Sql { .. } => {
                out.extend_from_slice(b"9\t?\n");
            }
        }
        Expect { kind, detail }
    }

    fn decode<'a>(&'a mut self, expect: Expect, input: &'a [u8]) -> Decoded<'a> {
        let lines = match expect.kind {
            _ if expect.detail == TOO_LONG => 1,
            OperationKind::PutMany => (2 * expect.detail as usize).max(1),
            OperationKind::Put | OperationKind::Increment => 2,
            _ => 1,
        };
        if !self.has_lines(lines, input) {
            return Decoded::Incomplete { at_least: lines - self.ends.len() };
        }
        let consumed = self.looked;
        self.answered = true;
        match self.answer(expect, input) {
            Ok(reply) => Decoded::Reply { reply, consumed },
            Err(problem) => Decoded::Broken(problem),
        }
    }
}

fn refused(words: &str) -> Reply<'_> {
    Reply::Failed(Failure::Refused(words))
}

#[cfg(test)]
mod tests;
