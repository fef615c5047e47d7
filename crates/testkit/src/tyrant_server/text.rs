//! The commands of memcached as Tokyo Tyrant 1.1.41 knows them: `gets` is `get`, so no reply has a version; there is no `cas`; a counter
//! beyond 63 bits is nought again; and a client that sends a command it does not know, and nothing more, is hung up on without a word.

use super::cabinet::Cabinet;
use std::io::{BufRead, Error, ErrorKind, Read, Result, Write};
use std::sync::{Mutex, PoisonError};

/// Counters are read and written again by one connection at a time.
static COUNTING: Mutex<()> = Mutex::new(());

/// Answers one line, with the value behind it. `Ok(false)`: the command is not known.
pub fn answer(input: &mut impl BufRead, output: &mut impl Write, cabinet: &Cabinet) -> Result<bool> {
    let mut line = Vec::new();
    input.by_ref().take(8 << 10).read_until(b'\n', &mut line)?;
    let Some(line) = line.strip_suffix(b"\r\n") else {
        return Err(Error::new(ErrorKind::InvalidData, "no line"));
    };
    let words: Vec<&[u8]> = line.split(|byte| *byte == b' ').filter(|word| !word.is_empty()).collect();
    match words[..] {
        [command @ (b"set" | b"add" | b"append"), key, _flags, _expires, size, ..] => {
            let mut value = vec![0; number(size).clamp(0, 64 << 20) as usize];
            let mut end = [0; 2];
            input.read_exact(&mut value)?;
            input.read_exact(&mut end)?;
            if end != *b"\r\n" {
                return Err(Error::new(ErrorKind::InvalidData, "no CR LF behind a value"));
            }
            let stored = match command {
                b"set" => cabinet.put(key, &value),
                b"add" => cabinet.put_keep(key, &value),
                _ => cabinet.get(key).is_some() && cabinet.put_cat(key, &value),
            };
            output.write_all(if stored { b"STORED\r\n" } else { b"NOT_STORED\r\n" })?;
        }
        [b"get" | b"gets", ref keys @ ..] if !keys.is_empty() => {
            for key in keys {
                if let Some(value) = cabinet.get(key) {
                    output.write_all(b"VALUE ")?;
                    output.write_all(key)?;
                    write!(output, " 0 {}\r\n", value.len())?;
                    output.write_all(&value)?;
                    output.write_all(b"\r\n")?;
                }
            }
            output.write_all(b"END\r\n")?;
        }
        [b"delete", key, ..] => output.write_all(if cabinet.out(key) { b"DELETED\r\n" } else { b"NOT_FOUND\r\n" })?,
        [command @ (b"incr" | b"decr"), key, by, ..] => match cabinet.get(key) {
            None => output.write_all(b"NOT_FOUND\r\n")?,
            Some(_) => {
                let _alone = COUNTING.lock().unwrap_or_else(PoisonError::into_inner);
                let held = cabinet.get(key).unwrap_or_default();
                let by = number(by);
                let by = if command == b"decr" { by.wrapping_neg() } else { by };
                let sum = number(&held).wrapping_add(by).max(0);
                cabinet.put(key, sum.to_string().as_bytes());
                write!(output, "{sum}\r\n")?;
            }
        },
        [b"stats", ..] => write!(output, "STAT curr_items {}\r\nEND\r\n", cabinet.records())?,
        [b"version", ..] => output.write_all(b"VERSION 1.1.41\r\n")?,
        _ => return Ok(false),
    }
    Ok(true)
}

/// The digits at the start, as C reads them.
fn number(text: &[u8]) -> i64 {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(&text[..digits]).ok().and_then(|digits| digits.parse().ok()).unwrap_or(0)
}
