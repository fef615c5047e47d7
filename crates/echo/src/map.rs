//! What the echo server keeps, and its answers.

use crate::command::RequestWords;
use hashbrown::HashMap;
use std::io::Write;
use std::time::{Duration, Instant};

const OK: &[u8] = b"+OK\r\n";
const NIL: &[u8] = b"$-1\r\n";
const WRONG_KIND: &[u8] = b"-WRONGTYPE the key holds the other kind of value\r\n";
const NO_NUMBER: &[u8] = b"-ERR value is not an integer or out of range\r\n";

/// One value.
#[derive(Debug)]
enum Value {
    /// Bytes; a counter is its decimal digits.
    Bytes(Vec<u8>),
    /// A record of counters.
    Fields(HashMap<Box<[u8]>, i64>),
}

/// Keys and their values.
#[derive(Debug, Default)]
pub struct Map {
    values: HashMap<Box<[u8]>, Value>,
    /// When the values end that have a time to live; those of most jobs have none.
    ends: HashMap<Box<[u8]>, Instant>,
}

impl Map {
    /// Carries out the request last read from `input` and writes the answer behind `out`.
    pub fn answer(&mut self, request: &RequestWords, input: &[u8], out: &mut Vec<u8>) {
        let word = |at| request.word(input, at);
        let key = word(1);
        if !self.ends.is_empty() {
            self.expire(key);
        }
        match (word(0), request.len()) {
            (b"GET", 2) => match self.values.get(key) {
                Some(Value::Bytes(value)) => bulk(out, value),
                Some(Value::Fields(_)) => out.extend_from_slice(WRONG_KIND),
                None => out.extend_from_slice(NIL),
            },
            (b"SET", 3) => {
                self.put(key, word(2));
                out.extend_from_slice(OK);
            }
            (b"SET", 4) if word(3) == b"NX" => {
                let absent = !self.values.contains_key(key);
                if absent {
                    self.put(key, word(2));
                }
                out.extend_from_slice(if absent { OK } else { NIL });
            }
            (b"SET", 5) if word(3) == b"PX" => match integer(word(4)).filter(|ms| *ms > 0) {
                Some(ms) => {
                    self.put(key, word(2));
                    self.ends.insert(key.into(), Instant::now() + Duration::from_millis(ms as u64));
                    out.extend_from_slice(OK);
                }
                None => out.extend_from_slice(b"-ERR invalid expire time\r\n"),
            },
            (b"PEXPIRE", 3) => {
                let ms = integer(word(2)).filter(|_| self.values.contains_key(key));
                if let Some(ms) = ms {
                    self.ends.insert(key.into(), Instant::now() + Duration::from_millis(ms.max(0) as u64));
                }
                number(out, i64::from(ms.is_some()));
            }
            (b"PTTL", 2) => {
                let left = self.ends.get(key).map(|end| end.saturating_duration_since(Instant::now()).as_millis());
                let lasts = if self.values.contains_key(key) { -1 } else { -2 };
                number(out, left.map_or(lasts, |ms| ms as i64));
            }
            (b"DEL", 2) => number(out, i64::from(self.values.remove(key).is_some())),
            (b"APPEND", 3) => match self.values.get_mut(key) {
                Some(Value::Bytes(value)) => {
                    value.extend_from_slice(word(2));
                    number(out, value.len() as i64);
                }
                Some(Value::Fields(_)) => out.extend_from_slice(WRONG_KIND),
                None => {
                    self.put(key, word(2));
                    number(out, word(2).len() as i64);
                }
            },
            (b"INCRBY", 3) => match self.add(key, word(2)) {
                Ok(sum) => number(out, sum),
                Err(words) => out.extend_from_slice(words),
            },
            (b"HINCRBY", 4) => match self.add_field(key, word(2), word(3)) {
                Ok(sum) => number(out, sum),
                Err(words) => out.extend_from_slice(words),
            },
            (b"HGETALL", 2) => match self.values.get(key) {
                Some(Value::Fields(fields)) => {
                    line(out, b'*', 2 * fields.len() as i64);
                    for (field, count) in fields {
                        bulk(out, field);
                        bulk(out, count.to_string().as_bytes());
                    }
                }
                Some(Value::Bytes(_)) => out.extend_from_slice(WRONG_KIND),
                None => out.extend_from_slice(b"*0\r\n"),
            },
            (b"MGET", 2..) => {
                line(out, b'*', request.len() as i64 - 1);
                for at in 1..request.len() {
                    match self.values.get(word(at)) {
                        Some(Value::Bytes(value)) => bulk(out, value),
                        _ => out.extend_from_slice(NIL),
                    }
                }
            }
            (b"MSET", words @ 3..) if words % 2 == 1 => {
                for at in (1..words).step_by(2) {
                    self.put(word(at), word(at + 1));
                }
                out.extend_from_slice(OK);
            }
            // The one script kvtrial has: store if the value still is the expected one.
            (b"EVALSHA", 6) => {
                let key = word(3);
                let same = matches!(self.values.get(key), Some(Value::Bytes(value)) if *value == word(4));
                if same {
                    self.put(key, word(5));
                }
                number(out, i64::from(same));
            }
            (b"SCRIPT", 3) => bulk(out, &[b'0'; 40]),
            (b"PING", 1) => out.extend_from_slice(b"+PONG\r\n"),
            _ => out.extend_from_slice(b"-ERR the echo server does not know this command\r\n"),
        }
    }

    /// Takes a value away whose time to live is over.
    fn expire(&mut self, key: &[u8]) {
        if self.ends.get(key).is_some_and(|end| *end <= Instant::now()) {
            self.ends.remove(key);
            self.values.remove(key);
        }
    }

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) {
        if !self.ends.is_empty() {
            self.ends.remove(key);
        }
        match self.values.get_mut(key) {
            // The room a much longer value had is given back.
            Some(Value::Bytes(kept)) if kept.capacity() <= 2 * value.len() + 64 => {
                kept.clear();
                kept.extend_from_slice(value);
            }
            Some(kept) => *kept = Value::Bytes(value.to_vec()),
            None => {
                self.values.insert(key.into(), Value::Bytes(value.to_vec()));
            }
        }
    }

    fn add(&mut self, key: &[u8], by: &[u8]) -> Result<i64, &'static [u8]> {
        let by = integer(by).ok_or(NO_NUMBER)?;
        let sum = match self.values.get(key) {
            None => by,
            Some(Value::Bytes(digits)) => integer(digits).and_then(|count| count.checked_add(by)).ok_or(NO_NUMBER)?,
            Some(Value::Fields(_)) => return Err(WRONG_KIND),
        };
        let mut digits = [0; 20];
        let mut left = &mut digits[..];
        // A sign and nineteen digits fit.
        let _ = write!(left, "{sum}");
        let size = 20 - left.len();
        self.put(key, &digits[..size]);
        Ok(sum)
    }

    fn add_field(&mut self, key: &[u8], field: &[u8], by: &[u8]) -> Result<i64, &'static [u8]> {
        let by = integer(by).ok_or(NO_NUMBER)?;
        if !self.values.contains_key(key) {
            self.values.insert(key.into(), Value::Fields(HashMap::new()));
        }
        let Some(Value::Fields(fields)) = self.values.get_mut(key) else { return Err(WRONG_KIND) };
        match fields.get_mut(field) {
            Some(count) => {
                *count = count.checked_add(by).ok_or(NO_NUMBER)?;
                Ok(*count)
            }
            None => {
                fields.insert(field.into(), by);
                Ok(by)
            }
        }
    }
}

fn integer(digits: &[u8]) -> Option<i64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[inline]
fn line(out: &mut Vec<u8>, sign: u8, number: i64) {
    out.push(sign);
    let size = number.unsigned_abs();
    if number < 0 {
        out.push(b'-');
    }
    let mut digits = [0; 20];
    let (mut at, mut left) = (digits.len(), size);
    loop {
        at -= 1;
        digits[at] = b'0' + (left % 10) as u8;
        left /= 10;
        if left == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
    out.extend_from_slice(b"\r\n");
}

fn number(out: &mut Vec<u8>, number: i64) {
    line(out, b':', number);
}

#[inline]
fn bulk(out: &mut Vec<u8>, bytes: &[u8]) {
    out.reserve(bytes.len() + 24);
    line(out, b'$', bytes.len() as i64);
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::Map;
    use crate::command::{Parsed, RequestWords};

    fn ask(map: &mut Map, words: &[&str]) -> String {
        let mut input = format!("*{}\r\n", words.len());
        words.iter().for_each(|word| input += &format!("${}\r\n{word}\r\n", word.len()));
        let (mut request, mut out) = (RequestWords::default(), Vec::new());
        assert_eq!(request.parse(input.as_bytes()), Parsed::RequestWords(input.len()));
        map.answer(&request, input.as_bytes(), &mut out);
        String::from_utf8(out).unwrap_or_default()
    }

    #[test]
    fn values_are_kept_appended_swapped_and_deleted() {
        let mut map = Map::default();
        assert_eq!(ask(&mut map, &["GET", "k"]), "$-1\r\n");
        assert_eq!(ask(&mut map, &["SET", "k", "abc"]), "+OK\r\n");
        assert_eq!(ask(&mut map, &["APPEND", "k", "de"]), ":5\r\n");
        assert_eq!(ask(&mut map, &["SET", "k", "x", "NX"]), "$-1\r\n");
        assert_eq!(ask(&mut map, &["EVALSHA", "s", "1", "k", "other", "x"]), ":0\r\n");
        assert_eq!(ask(&mut map, &["EVALSHA", "s", "1", "k", "abcde", "x"]), ":1\r\n");
        assert_eq!(ask(&mut map, &["MSET", "a", "1", "b", ""]), "+OK\r\n");
        assert_eq!(ask(&mut map, &["MGET", "k", "b", "c"]), "*3\r\n$1\r\nx\r\n$0\r\n\r\n$-1\r\n");
        assert_eq!(ask(&mut map, &["DEL", "k"]) + &ask(&mut map, &["DEL", "k"]), ":1\r\n:0\r\n");
    }

    #[test]
    fn a_value_is_gone_when_its_time_to_live_is_over_and_a_put_ends_that() {
        let mut map = Map::default();
        assert_eq!(ask(&mut map, &["SET", "k", "v", "PX", "1"]), "+OK\r\n");
        assert_eq!(ask(&mut map, &["SET", "long", "v", "PX", "60000"]), "+OK\r\n");
        assert_eq!(
            ask(&mut map, &["SET", "put", "v", "PX", "1"]) + &ask(&mut map, &["SET", "put", "w"]),
            "+OK\r\n+OK\r\n"
        );
        std::thread::sleep(std::time::Duration::from_millis(3));
        let gets = ["k", "long", "put"].map(|key| ask(&mut map, &["GET", key]));
        assert_eq!(gets, ["$-1\r\n", "$1\r\nv\r\n", "$1\r\nw\r\n"]);
        assert_eq!(ask(&mut map, &["PEXPIRE", "long", "0"]) + &ask(&mut map, &["GET", "long"]), ":1\r\n$-1\r\n");
        assert_eq!(ask(&mut map, &["PEXPIRE", "none", "5"]), ":0\r\n");
        ask(&mut map, &["SET", "timed", "v", "PX", "3600000"]);
        let left: u64 = ask(&mut map, &["PTTL", "timed"]).trim_start_matches(':').trim_end().parse().unwrap_or(0);
        assert!((3_500_000..=3_600_000).contains(&left), "{left}");
        ask(&mut map, &["SET", "timed", "v"]);
        assert_eq!(ask(&mut map, &["PTTL", "timed"]) + &ask(&mut map, &["PTTL", "none"]), ":-1\r\n:-2\r\n");
        assert!(ask(&mut map, &["SET", "k", "v", "PX", "0"]).starts_with("-ERR invalid expire"));
    }

    #[test]
    fn counters_count_and_refuse_what_no_64_bits_hold() {
        let mut map = Map::default();
        assert_eq!(ask(&mut map, &["INCRBY", "n", "9223372036854775806"]), ":9223372036854775806\r\n");
        assert_eq!(ask(&mut map, &["INCRBY", "n", "1"]), ":9223372036854775807\r\n");
        assert!(ask(&mut map, &["INCRBY", "n", "1"]).starts_with("-ERR"));
        assert_eq!(ask(&mut map, &["GET", "n"]), "$19\r\n9223372036854775807\r\n");
        assert_eq!(ask(&mut map, &["HINCRBY", "h", "f", "-3"]), ":-3\r\n");
        assert_eq!(ask(&mut map, &["HGETALL", "h"]), "*2\r\n$1\r\nf\r\n$2\r\n-3\r\n");
        assert!(ask(&mut map, &["GET", "h"]).starts_with("-WRONGTYPE"));
        assert!(ask(&mut map, &["FLUSHALL"]).starts_with("-ERR"));
    }
}
