//! What the server was busy with besides answering, by its own latency monitor
//! (<https://redis.io/docs/latest/operate/oss_and_stack/management/optimization/latency-monitor/>): forks, writes of the append-only
//! file, evictions, and commands that took long, a table that had to grow among them.

use super::facts::{CommandReply, ask};
use super::resp::{Login, Resp};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use store::wire::Talk;
use store::{Endpoint, Happening, StoreError};

/// The duration, in milliseconds, below which events are not kept: a shorter event is no stall.
pub(crate) const THRESHOLD_MS: &str = "5";

/// Returns the events since `opened`. The monitor keeps the last 160 of each kind, with the second and the duration. A server without a monitor has
/// no events.
pub(crate) fn happened(endpoint: &Endpoint, opened: SystemTime) -> Result<Vec<Happening>, StoreError> {
    let opened_s = opened.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let mut talk = Talk::open(endpoint, Resp::new(Login::of(endpoint)))?;
    let CommandReply::Texts(latest) = ask(&mut talk, b"LATENCY", &[b"LATEST"])? else { return Ok(Vec::new()) };
    let mut happened = Vec::new();
    // Name, second, latest and longest duration of each event.
    for event in latest.chunks_exact(4) {
        let CommandReply::Texts(history) = ask(&mut talk, b"LATENCY", &[b"HISTORY", event[0].as_bytes()])? else {
            continue;
        };
        let of_event = history.chunks_exact(2).filter_map(|pair| {
            let (at_s, ms) = (pair[0].parse::<u64>().ok()?, pair[1].parse().ok()?);
            (at_s >= opened_s).then(|| Happening {
                cause: cause(&event[0]),
                start: None,
                duration: Duration::from_millis(ms),
                detail: format!("the server's latency monitor: {}", event[0]),
            })
        });
        happened.extend(of_event);
    }
    Ok(happened)
}

/// Returns one word for an event of the monitor.
fn cause(event: &str) -> &'static str {
    match event {
        "fork" => "fork",
        "eviction-cycle" | "eviction-del" => "eviction",
        "expire-cycle" | "expire-del" => "expiry",
        "active-defrag-cycle" => "compaction",
        aof if aof.starts_with("aof-") || aof.starts_with("rdb-") => "fsync",
        _ => "command",
    }
}
