//! A script that makes the like of a trace, with its memory.

use std::fmt::Write as _;
use trace::fit::{AskedLast, LikeTrace};
use trace::{Filling, Trace};

/// Numbers in a line of the script.
const IN_A_LINE: usize = 20;

/// The words for the states of keys, in their order.
const STATES: [&str; AskedLast::ALL.len()] = ["new", "missed", "deleted", "set", "hit", "touched"];

/// What the script does, once its tables are there.
const BODY: &str = include_str!("like.lua");

/// Returns the script.
pub(super) fn text(like: &LikeTrace, trace: &Trace, name: &str) -> String {
    let mut text = format!("-- Like {}, by kvtrial fit.\n", name.replace(['\n', '\r'], " "));
    let mut all = 0.0;
    let distances = like.distances.iter().map(|range| {
        all += range.weight;
        format!("{{{}, {}, {all:.6}}}", range.from, range.until)
    });
    let distances = list(distances);
    let [shortest, longest] = trace.keys().lengths();
    _ = writeln!(text, "local requests = kv.param('requests', {}, 'requests, over all clients')", like.requests);
    _ = writeln!(text, "local keys, of_requests = {}, {}", like.keys, like.requests);
    _ = writeln!(text, "local new_keys = {:.6} -- the share of the requests that are for a new key", like.new_keys);
    _ = writeln!(
        text,
        "-- Requests between two for one key: from, to below, and the weight up to here.\nlocal distances = {distances}"
    );
    let sizes = if like.sizes.is_empty() { vec![100] } else { like.sizes.clone() };
    _ = writeln!(text, "local sizes = {}", list(sizes.iter().map(u32::to_string)));
    let seconds = like.ttls_ms.iter().map(|&ttl_ms| format!("{}", (ttl_ms as f64 / 1000.0).ceil()));
    if !like.ttls_ms.is_empty() {
        _ = writeln!(text, "local lives, mortal = {}, {:.4}", list(seconds), like.mortal);
    }
    _ = writeln!(text, "-- What is asked of a key, by what was asked of it last; the rest are gets.\nlocal mixes = {{");
    for (name, [sets, deletes, touches]) in STATES.into_iter().zip(like.shares) {
        _ = writeln!(text, "  {name} = {{ sets = {sets:.4}, deletes = {deletes:.4}, touches = {touches:.4} }},");
    }
    text += "}\n";
    _ = writeln!(text, "local fills = {} -- what a get misses is put", like.filling == Filling::OnMiss);
    // Behind 'k' and the number of the client.
    _ = writeln!(text, "local width = {}", ((shortest + longest) / 2).saturating_sub(3).clamp(1, 99));
    // What names no time to live must not: a store that lets nothing expire would be asked to.
    let body = match like.ttls_ms.is_empty() {
        true => BODY.lines().filter(|line| !line.contains("-- lives")).collect::<Vec<_>>(),
        false => BODY.lines().filter(|line| !line.contains("-- lasts")).collect(),
    };
    let body: Vec<&str> = body
        .into_iter()
        .map(|line| line.trim_end_matches("-- lives").trim_end_matches("-- lasts").trim_end())
        .collect();
    text + "\n" + &body.join("\n") + "\n"
}

/// A list in the words of Lua.
fn list(words: impl Iterator<Item = String>) -> String {
    let words: Vec<String> = words.collect();
    let lines: Vec<String> = words.chunks(IN_A_LINE).map(|line| format!("  {},", line.join(", "))).collect();
    format!("{{\n{}\n}}", lines.join("\n"))
}
