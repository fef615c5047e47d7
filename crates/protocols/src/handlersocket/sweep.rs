//! Many keys at once, each in both tables.

use super::line::{Line, find};
use super::protocol::{KEY, NEW_COUNTER};
use store::{Sweep, Swept};

/// Writes requests for each key in both tables: the key may belong to a value, a counter, or both. No key is longer than its column.
pub(super) fn push_sweep(out: &mut Vec<u8>, sweep: Sweep, keys: &[&[u8]]) {
    let end: &[u8] = if sweep == Sweep::Look { b"\n" } else { b"\t1\t0\tD\n" };
    for key in keys {
        for index in [KEY, NEW_COUNTER] {
            find(out, index, b"=", key);
            out.extend_from_slice(end);
        }
    }
}

/// Reads the answers to these requests; `None`: some are still missing.
pub(super) fn swept(sweep: Sweep, keys: usize, input: &[u8]) -> Result<Option<Swept>, String> {
    if input.iter().filter(|byte| **byte == b'\n').count() < 2 * keys {
        return Ok(None);
    }
    let mut swept = Swept::default();
    let mut lines = input.split(|byte| *byte == b'\n');
    for place in 0..keys {
        let mut is_there = false;
        for text in lines.by_ref().take(2) {
            let line = Line::of(text).map_err(str::to_owned)?;
            if !line.is_good() {
                return Err(line.words());
            }
            is_there |= match sweep {
                Sweep::Look => line.tokens().next().is_some(),
                Sweep::Delete => line.count()? > 0,
            };
        }
        if is_there {
            swept.count(place);
        }
    }
    Ok(Some(swept))
}
