//! Histories as lines of JSON, as Elle and its relatives read them: an event per line, a request or its end, in the order of time.

use crate::operation::{Deed, Encounter};
use serde_json::Value;
use std::collections::HashMap;
use std::io::{self, BufRead, Write};

/// Writes a history. Each operation is a transaction of its own (`[["w", KEY, VERSION]]`, `[["r", KEY, VERSION]]`, or both for a swap);
/// a client whose operation was not answered goes on under another number, as that operation may still be under way.
///
/// # Errors
/// The output cannot be written.
pub fn write_lines(operations: &[Encounter], out: &mut dyn Write) -> io::Result<()> {
    let mut events: Vec<(u64, bool, usize)> = Vec::with_capacity(operations.len() * 2);
    for (at, it) in operations.iter().enumerate() {
        events.push((it.sent_ns, false, at));
        events.extend(it.answered_ns.map(|answered_ns| (answered_ns, true, at)));
    }
    // What ends when another one begins was not before it.
    events.sort_unstable();
    let clients = operations.iter().map(|it| u64::from(it.client) + 1).max().unwrap_or(1);
    let mut lives: HashMap<u32, u64> = HashMap::new();
    for (index, &(time_ns, ends, at)) in events.iter().enumerate() {
        let it = &operations[at];
        let life = lives.entry(it.client).or_default();
        let process = u64::from(it.client) + clients * *life;
        let kind = if ends { "ok" } else { "invoke" };
        write!(
            out,
            "{{\"index\":{index},\"type\":\"{kind}\",\"f\":\"txn\",\"process\":{process},\"time\":{time_ns},\"value\":["
        )?;
        match it.action {
            Deed::Read(version) => read(out, it.key, if ends { version } else { 0 })?,
            Deed::Missed(_) => read(out, it.key, 0)?,
            Deed::Write(version) | Deed::Delete(version) => write!(out, "[\"w\",{},{version}]", it.key)?,
            Deed::Swap { from, to } => {
                read(out, it.key, if ends { from } else { 0 })?;
                write!(out, ",[\"w\",{},{to}]", it.key)?;
            }
        }
        writeln!(out, "]}}")?;
        *life += u64::from(it.answered_ns.is_none());
    }
    Ok(())
}

fn read(out: &mut dyn Write, key: u64, version: u64) -> io::Result<()> {
    match version {
        0 => write!(out, "[\"r\",{key},null]"),
        _ => write!(out, "[\"r\",{key},{version}]"),
    }
}

/// A line that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineError {
    /// Its number, from 1 on.
    pub line: usize,
    /// What is wrong with it.
    pub problem: String,
}

impl std::fmt::Display for LineError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}: {}", self.line, self.problem)
    }
}

impl std::error::Error for LineError {}

/// Reads a history from such lines. What ended as `fail` did not happen, and is left out; what ended as `info`, or not at all, is unknown.
///
/// # Errors
/// The first line that is not one of them.
pub fn read_lines(input: &mut dyn BufRead) -> Result<Vec<Encounter>, LineError> {
    let mut under_way: HashMap<u64, Encounter> = HashMap::new();
    let mut all = Vec::new();
    for (at, line) in input.lines().enumerate() {
        let error = |problem: String| LineError { line: at + 1, problem };
        let line = line.map_err(|io| error(io.to_string()))?;
        if line.trim().is_empty() {
            continue;
        }
        let event: Value = serde_json::from_str(&line).map_err(|json| error(json.to_string()))?;
        // Some write what they do to the servers among the operations.
        let Some(process) = event["process"].as_u64() else { continue };
        let time_ns = event["time"].as_u64().or(event["index"].as_u64()).unwrap_or(at as u64);
        let kind = event["type"].as_str().unwrap_or_default();
        let (key, action) = action(&event["value"]).map_err(error)?;
        let client = u32::try_from(process).map_err(|_| error(format!("there are no {process} clients")))?;
        match kind {
            "invoke" => {
                let it = Encounter { client, key, action, sent_ns: time_ns, answered_ns: None };
                if let Some(open) = under_way.insert(process, it) {
                    all.push(open);
                }
            }
            "ok" => {
                let begun = under_way.remove(&process).ok_or_else(|| error("ends what was not sent".into()))?;
                all.push(Encounter { action, answered_ns: Some(time_ns), ..begun });
            }
            "fail" => drop(under_way.remove(&process)),
            "info" => all.extend(under_way.remove(&process)),
            _ => return Err(error(format!("the type is invoke, ok, fail or info, not '{kind}'"))),
        }
    }
    all.extend(under_way.into_values());
    all.sort_unstable_by_key(|it| (it.sent_ns, it.client));
    Ok(all)
}

/// What a transaction of one operation did, and to which key.
fn action(value: &Value) -> Result<(u64, Deed), String> {
    let part = |at: usize| {
        let part = value.get(at)?;
        let number = match &part[2] {
            Value::Null => Some(0),
            number => number.as_u64(),
        };
        Some((part[0].as_str()?, part[1].as_u64()?, number?))
    };
    match (value.as_array().map(Vec::len), part(0), part(1)) {
        (Some(1), Some(("r", key, version)), None) => Ok((key, Deed::Read(version))),
        (Some(1), Some(("w", key, version)), None) => Ok((key, Deed::Write(version))),
        (Some(2), Some(("r", key, from)), Some(("w", same, to))) if key == same => Ok((key, Deed::Swap { from, to })),
        _ => Err(format!("the value is [[\"r\" or \"w\", KEY, VERSION]] with numbers, not {value}")),
    }
}
