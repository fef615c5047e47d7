//! What follows from a trace alone, for a store that keeps everything: hits, what is left at the end, and the answer.

use super::values::Sizes;
use super::{Loading, Times};
use data::digest::of_lines;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use trace::{Filling, RequestKind, Trace};

/// What is known before any store runs.
pub struct Truth {
    /// Gets that find a value.
    pub hits: u64,
    /// Gets that find none and put one.
    pub fills: u64,
    /// The most bytes of keys and values that are there at any time.
    pub most_bytes: u64,
    /// The bytes of the shortest and of the longest key.
    pub key_lengths: [usize; 2],
}

impl Truth {
    /// Goes through a trace.
    pub fn of(trace: &Trace, sizes: &Sizes, filling: Filling, loading: Loading, times: Times) -> Truth {
        let keys = trace.keys();
        let key_lengths = keys.lengths();
        let mut truth = Truth { hits: 0, fills: 0, most_bytes: 0, key_lengths };
        let requests = trace.ids().len() as u32;
        // The bytes of each value, and one, where there is one.
        let mut held = vec![0_u32; keys.len()];
        let mut bytes = 0_u64;
        if loading == Loading::First {
            for (id, held) in (0_u32..).zip(&mut held) {
                *held = sizes.bytes(trace, requests + id) as u32 + 1;
                bytes += u64::from(*held - 1);
            }
            truth.most_bytes = bytes;
        }
        // When each value is over, in the time of the trace; 0: never.
        let mut overs_us = vec![0_u64; if times == Times::Kept { keys.len() } else { 0 }];
        for (request, &id) in (0_u32..).zip(trace.ids()) {
            if let Some(over_us) = overs_us.get_mut(id as usize) {
                pass(trace, request as usize, over_us, &mut held[id as usize], &mut bytes);
            }
            let held = &mut held[id as usize];
            let now = match trace.kind(request as usize) {
                RequestKind::Touch => continue,
                RequestKind::Get if *held > 0 => {
                    truth.hits += 1;
                    continue;
                }
                RequestKind::Get if filling == Filling::Never => continue,
                RequestKind::Get => {
                    truth.fills += 1;
                    sizes.bytes(trace, request) as u32 + 1
                }
                RequestKind::Set => sizes.bytes(trace, request) as u32 + 1,
                RequestKind::Delete => 0,
            };
            bytes = bytes + u64::from(now.saturating_sub(1)) - u64::from(held.saturating_sub(1));
            *held = now;
            truth.most_bytes = truth.most_bytes.max(bytes);
        }
        truth.most_bytes += keys.len() as u64 * key_lengths[1] as u64;
        truth
    }
}

/// Lets what is over by the time of a request go, and notes the time to live that the request gives.
fn pass(trace: &Trace, request: usize, over_us: &mut u64, held: &mut u32, bytes: &mut u64) {
    let (now_us, ttl_ms) = (trace.time_us(request).unwrap_or(0), trace.ttl_ms(request));
    if *over_us > 0 && *over_us <= now_us {
        *bytes -= u64::from(held.saturating_sub(1));
        (*held, *over_us) = (0, 0);
    }
    let over = ttl_ms.map(|ttl_ms| now_us.saturating_add(ttl_ms.saturating_mul(1000)).max(1));
    match (trace.kind(request), over) {
        (RequestKind::Set | RequestKind::Touch, over) => *over_us = over.unwrap_or(0),
        (RequestKind::Get, Some(over)) => *over_us = over,
        (RequestKind::Get | RequestKind::Delete, _) => {}
    }
}

/// What became of a key that was answered wrong.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct WrongKey {
    /// Requests that were not answered right.
    pub requests: u32,
    /// Whether what was read back was not right.
    pub at_the_end: bool,
}

/// Returns the digest of the answer: each key, and how many of its requests were answered right.
pub fn digest(trace: &Trace, wrong: &BTreeMap<u32, WrongKey>) -> String {
    let mut counts = vec![0_u32; trace.keys().len()];
    trace.ids().iter().for_each(|&id| counts[id as usize] += 1);
    let line = |(id, &count): (u32, &u32)| {
        let mut line = trace.keys().key(id);
        let WrongKey { requests, at_the_end } = wrong.get(&id).copied().unwrap_or_default();
        line.extend_from_slice(format!("\t{}", count.saturating_sub(requests)).as_bytes());
        line.extend_from_slice(if at_the_end { b"\twrong at the end" } else { b"" });
        line
    };
    of_lines((0..).zip(&counts).map(line).collect())
}
