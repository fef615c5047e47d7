//! RESP2.

use super::dialect::{
    Action, Combination, Condition, Counter, Dialect, Missing, Parsed, Request, Response, decimal, line_end,
};
use super::{Knows, Unknown};

pub struct Resp {
    /// Where it does not know everything.
    pub knows: Option<Knows>,
}

impl Resp {
    /// What becomes of a command; `None`: it is known.
    fn unknown(&self, command: &str) -> Option<Unknown> {
        let knows = self.knows?;
        let is_known = knows.commands.iter().any(|known| known.eq_ignore_ascii_case(command));
        (!is_known).then_some(knows.others)
    }
}

/// The way an answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As a status line, where the answer is "done".
    Status,
    /// As a number, where the answer is "done" or "not done".
    Number,
    /// As a number of milliseconds, or that there is no key.
    Time,
    /// As nil, where a condition is not met.
    Nil,
    /// As the only page of a scan.
    Page,
}

impl Dialect for Resp {
    type Form = Form;

    fn parse(&self, input: &[u8]) -> Parsed<Form> {
        let Some(end) = line_end(input) else { return Parsed::Incomplete };
        let Some(count) = input[..end].strip_prefix(b"*").and_then(decimal::<usize>) else { return Parsed::Broken };
        let mut words: Vec<&[u8]> = Vec::with_capacity(count);
        let mut at = end + 2;
        for _ in 0..count {
            let Some(end) = line_end(&input[at..]) else { return Parsed::Incomplete };
            let size = input[at..at + end].strip_prefix(b"$").and_then(decimal::<usize>);
            let Some(size) = size else { return Parsed::Broken };
            at += end + 2;
            let Some(word) = input.get(at..at + size) else { return Parsed::Incomplete };
            words.push(word);
            at += size + 2;
            if at > input.len() {
                return Parsed::Incomplete;
            }
        }
        let command = String::from_utf8_lossy(words.first().copied().unwrap_or_default()).into_owned();
        let (action, form) = match self.unknown(&command) {
            None => action(&words),
            Some(Unknown::Refused) => say(format!("-ERR unknown command '{command}'\r\n").into_bytes()),
            Some(Unknown::Silence) => say(Vec::new()),
            Some(Unknown::HangsUp) => return Parsed::Broken,
        };
        Parsed::Request { request: Request { action, form }, consumed: at }
    }

    fn endless(&self, _: &Form) -> Vec<u8> {
        b"$3221225472\r\n".to_vec()
    }

    fn render(&self, form: &Form, response: &Response, out: &mut Vec<u8>) {
        match response {
            Response::Value { value, .. } => bulk(out, value),
            Response::Values(values) => {
                if *form == Form::Page {
                    out.extend_from_slice(b"*2\r\n$1\r\n0\r\n");
                }
                line(out, b'*', values.len());
                for (_, value) in values {
                    match value {
                        Some(value) => bulk(out, value),
                        None => out.extend_from_slice(b"$-1\r\n"),
                    }
                }
            }
            Response::Done if *form == Form::Number => out.extend_from_slice(b":1\r\n"),
            Response::Done => out.extend_from_slice(b"+OK\r\n"),
            Response::Missing | Response::Exists | Response::NotFound => match form {
                Form::Number => out.extend_from_slice(b":0\r\n"),
                Form::Time => out.extend_from_slice(b":-2\r\n"),
                _ => out.extend_from_slice(b"$-1\r\n"),
            },
            Response::Number(number) => line(out, b':', number),
            Response::Fields(fields) => {
                line(out, b'*', 2 * fields.len());
                for (field, count) in fields {
                    bulk(out, field);
                    bulk(out, count.to_string().as_bytes());
                }
            }
            Response::Refused(words) => {
                out.extend_from_slice(b"-ERR ");
                out.extend_from_slice(words.as_bytes());
                out.extend_from_slice(b"\r\n");
            }
            Response::Raw(bytes) => out.extend_from_slice(bytes),
        }
    }
}

fn line(out: &mut Vec<u8>, mark: u8, number: impl std::fmt::Display) {
    out.push(mark);
    out.extend_from_slice(number.to_string().as_bytes());
    out.extend_from_slice(b"\r\n");
}

fn bulk(out: &mut Vec<u8>, bytes: &[u8]) {
    line(out, b'$', bytes.len());
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
}

fn bulks(texts: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    line(&mut out, b'*', texts.len());
    texts.iter().for_each(|text| bulk(&mut out, text));
    out
}

fn action(words: &[&[u8]]) -> (Action, Form) {
    let command = words.first().map(|word| word.to_ascii_uppercase()).unwrap_or_default();
    let owned = |word: &[u8]| word.to_vec();
    let number = |word: &[u8]| decimal::<i64>(word).unwrap_or(0);
    match (&command[..], words.get(1..).unwrap_or_default()) {
        (b"GET", [key]) => (Action::Get { key: owned(key) }, Form::Nil),
        (b"SET", [key, value]) => put(key, value, Condition::Always, Form::Status),
        (b"SET", [key, value, option]) if option.eq_ignore_ascii_case(b"NX") => {
            put(key, value, Condition::Absent, Form::Nil)
        }
        (b"SET", [key, value, option, ttl]) if option.eq_ignore_ascii_case(b"PX") => {
            put(key, value, Condition::Until(decimal(ttl).unwrap_or(0)), Form::Status)
        }
        (b"PEXPIRE", [key, ttl]) => {
            (Action::Touch { key: owned(key), ttl_ms: decimal(ttl).unwrap_or(0) }, Form::Number)
        }
        (b"PTTL", [key]) => (Action::TimeLeft { key: owned(key) }, Form::Time),
        (b"DEL", [key]) => (Action::Delete { key: owned(key) }, Form::Number),
        (b"DEL", keys) => (Action::DeleteMany { keys: all(keys) }, Form::Number),
        (b"SADD", [key, members @ ..]) => (Action::AddMembers { key: owned(key), members: all(members) }, Form::Number),
        (b"SCARD", [_]) => combine(None, Combination::Union, &words[1..]),
        (b"SUNIONSTORE", [into, keys @ ..]) => combine(Some(*into), Combination::Union, keys),
        (b"SINTERSTORE", [into, keys @ ..]) => combine(Some(*into), Combination::Intersection, keys),
        (b"SINTERCARD", [_, keys @ ..]) => combine(None, Combination::Intersection, keys),
        (b"SSCAN", [key, ..]) => (Action::Members { key: owned(key) }, Form::Page),
        (b"APPEND", [key, value]) => {
            (Action::Append { key: owned(key), value: owned(value), missing: Missing::Creates }, Form::Number)
        }
        (b"INCRBY", [key, by]) => {
            (Action::Add { key: owned(key), by: number(by), counter: Counter::Signed }, Form::Number)
        }
        (b"HINCRBY", [key, field, by]) => {
            (Action::AddField { key: owned(key), field: owned(field), by: number(by) }, Form::Number)
        }
        (b"HGETALL", [key]) => (Action::Fields { key: owned(key) }, Form::Nil),
        (b"MGET", keys) => (Action::GetMany { keys: all(keys) }, Form::Nil),
        (b"MSET", pairs) => {
            let pairs = pairs.chunks_exact(2).map(|pair| (owned(pair[0]), owned(pair[1]))).collect();
            (Action::PutMany { pairs }, Form::Status)
        }
        // The only script clients of this server have: store if the value still is the expected one.
        (b"EVALSHA" | b"EVAL", [_, b"1", key, expected, value]) => {
            put(key, value, Condition::Value(owned(expected)), Form::Number)
        }
        (b"SCRIPT", _) => say(bulk_of(b"0000000000000000000000000000000000000000")),
        (b"DBSIZE", []) => (Action::Count, Form::Number),
        (b"PING", _) => say(b"+PONG\r\n".to_vec()),
        (b"AUTH" | b"SELECT", _) => say(b"+OK\r\n".to_vec()),
        (b"INFO", _) => say(bulk_of(b"# Server\r\nredis_version:7.0.0\r\nrun_id:lying\r\n")),
        (b"CONFIG", [_, name]) => say(match *name {
            b"appendonly" => bulks(&[name, b"no"]),
            b"appendfsync" => bulks(&[name, b"everysec"]),
            _ => bulks(&[]),
        }),
        _ => say(b"-ERR unknown command\r\n".to_vec()),
    }
}

fn all(words: &[&[u8]]) -> Vec<Vec<u8>> {
    words.iter().map(|word| word.to_vec()).collect()
}

fn combine(into: Option<&[u8]>, combination: Combination, keys: &[&[u8]]) -> (Action, Form) {
    (Action::Combine { into: into.map(<[u8]>::to_vec), combination, keys: all(keys) }, Form::Number)
}

fn bulk_of(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    bulk(&mut out, text);
    out
}

fn say(words: Vec<u8>) -> (Action, Form) {
    (Action::Say(words), Form::Status)
}

fn put(key: &[u8], value: &[u8], condition: Condition, form: Form) -> (Action, Form) {
    (Action::Put { key: key.to_vec(), value: value.to_vec(), condition }, form)
}
