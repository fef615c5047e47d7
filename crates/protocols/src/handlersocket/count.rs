//! Counts rows. The protocol has no request for their number: the keys are read, some after the other.

use super::line::{Line, push_token, unescape};
use store::StoreError;
use store::wire::Talk;
use store::wire::ascii::push_u64;

/// The number of an index that no session has open.
const KEYS: u8 = b'9';

/// The number of keys per request.
const KEYS_AT_ONCE: u64 = 1000;

/// Counts the rows of both tables.
pub(super) fn rows(talk: &mut Talk, database: &str) -> Result<u64, StoreError> {
    Ok(rows_of(talk, database, "kvtrial_kv")? + rows_of(talk, database, "kvtrial_counters")?)
}

fn rows_of(talk: &mut Talk, database: &str, table: &str) -> Result<u64, StoreError> {
    let mut request = vec![b'P', b'\t', KEYS, b'\t'];
    push_token(&mut request, database.as_bytes());
    request.extend_from_slice(format!("\t{table}\tPRIMARY\tk\n").as_bytes());
    talk.ask(&request, |input| keys_of(input).map(|keys| keys.map(drop)))?;
    let (mut rows, mut last) = (0, None);
    loop {
        request.clear();
        request.extend_from_slice(&[KEYS, b'\t']);
        request.extend_from_slice(if last.is_none() { b">=" } else { b">" });
        request.extend_from_slice(b"\t1\t");
        push_token(&mut request, last.as_deref().unwrap_or_default());
        request.push(b'\t');
        push_u64(&mut request, KEYS_AT_ONCE);
        request.extend_from_slice(b"\t0\n");
        let (found, key) = talk.ask(&request, keys_of)?;
        rows += found;
        last = key;
        if found < KEYS_AT_ONCE {
            return Ok(rows);
        }
    }
}

/// Returns how many keys a line has, and the last key; nothing while the line is not whole.
fn keys_of(input: &[u8]) -> Result<Option<(u64, Option<Vec<u8>>)>, String> {
    let Some(end) = input.iter().position(|byte| *byte == b'\n') else { return Ok(None) };
    let line = Line::of(&input[..end])?;
    if !line.is_good() {
        return Err(line.words());
    }
    let (mut keys, mut last) = (0, None);
    for token in line.tokens() {
        (keys, last) = (keys + 1, Some(token));
    }
    let mut key = last.map(|_| Vec::new());
    if let (Some(key), Some(token)) = (&mut key, last) {
        unescape(key, token)?;
    }
    Ok(Some((keys, key)))
}
