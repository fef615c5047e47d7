//! Lines into operations.

use std::collections::HashMap;
use std::fmt;
use std::io::BufRead;

use serde_json::Value;

use crate::act::{Act, ActEnd, ActKind, SwapAnswer};

/// A line that is no part of a history, with what to do about it.
#[derive(Debug)]
pub struct LineError {
    /// The line, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub wrong: String,
}

impl fmt::Display for LineError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "line {}: {}", self.line, self.wrong)
    }
}

impl std::error::Error for LineError {}

/// An operation without its answer.
struct Invocation {
    client: u32,
    sent_ns: u64,
    line: u64,
}

/// Reads a history, line by line, and hands over each operation once it is complete; those never completed come last.
///
/// Operations of no client (faults have words for processes) are skipped.
pub fn read_lines(input: impl BufRead, mut take: impl FnMut(Act)) -> Result<(), LineError> {
    let mut open: HashMap<u64, (Invocation, Value)> = HashMap::new();
    for (line, text) in (1..).zip(input.lines()) {
        let fail = |wrong: String| LineError { line, wrong };
        let text = text.map_err(|error| fail(error.to_string()))?;
        if text.trim().is_empty() {
            continue;
        }
        let object: Value = serde_json::from_str(&text).map_err(|error| fail(format!("this is no JSON: {error}")))?;
        let Some(process) = object["process"].as_u64() else { continue };
        let time = object["time"].as_u64();
        let time = || time.ok_or_else(|| fail("\"time\" must be a number of nanoseconds.".to_owned()));
        match object["type"].as_str() {
            Some("invoke") => {
                let client = object["client"].as_u64().unwrap_or(process) as u32;
                let invocation = Invocation { client, sent_ns: time()?, line };
                if let Some((before, _)) = open.insert(process, (invocation, object)) {
                    let wrong = format!("process {process} has an operation open since line {}.", before.line);
                    return Err(fail(format!("{wrong} Give each open operation a process of its own.")));
                }
            }
            Some(word @ ("ok" | "fail" | "info")) => {
                let Some((invocation, asked)) = open.remove(&process) else {
                    return Err(fail(format!("process {process} has no operation open.")));
                };
                let end = match word {
                    "ok" => ActEnd::Answered(time()?),
                    "fail" => ActEnd::Refused(time()?),
                    _ => ActEnd::Unknown,
                };
                let said = if word == "ok" { &object } else { &asked };
                take(operation(said, &invocation, end).map_err(fail)?);
            }
            other => {
                let other = other.unwrap_or("missing");
                return Err(fail(format!("\"type\" is {other}. It must be invoke, ok, fail or info.")));
            }
        }
    }
    let mut rest: Vec<(Invocation, Value)> = open.into_values().collect();
    rest.sort_unstable_by_key(|it| it.0.line);
    for (invocation, asked) in rest {
        let line = invocation.line;
        take(operation(&asked, &invocation, ActEnd::Unknown).map_err(|wrong| LineError { line, wrong })?);
    }
    Ok(())
}

/// Returns the operation that a line speaks of.
fn operation(said: &Value, invocation: &Invocation, end: ActEnd) -> Result<Act, String> {
    let f = said["f"].as_str().unwrap_or("txn");
    let value = match (f, said["value"].as_array().map(Vec::as_slice)) {
        ("txn", Some([step])) => step.as_array().map(Vec::as_slice).unwrap_or_default(),
        ("txn", Some(_)) => return Err("a transaction of more than one step cannot be judged here.".to_owned()),
        (_, Some(value)) => value,
        (_, None) => return Err("\"value\" must be a list.".to_owned()),
    };
    let (key, kind) = kind(f, value).ok_or_else(|| format!("{} of {f} is not understood.", said["value"]))?;
    Ok(Act { key, client: invocation.client, kind, sent_ns: invocation.sent_ns, end })
}

/// Returns the key and what was asked and answered.
fn kind(f: &str, value: &[Value]) -> Option<(u64, ActKind)> {
    Some(match (f, value) {
        ("txn", [step, key, it]) => {
            let kind = match (step.as_str()?, it) {
                ("w", it) => ActKind::Put(it.as_u64()?),
                ("append", it) => ActKind::Append(it.as_u64()?),
                ("r", Value::Array(elements)) => {
                    ActKind::List(elements.iter().map(Value::as_u64).collect::<Option<_>>()?)
                }
                ("r", it) => ActKind::Get(optional(it)?),
                _ => return None,
            };
            (key.as_u64()?, kind)
        }
        ("delete", [key]) => (key.as_u64()?, ActKind::Delete),
        ("cas", [key, pair, done @ ..]) => {
            let [expected, new] = pair.as_array()?.as_slice() else { return None };
            let declined = done.first().and_then(Value::as_bool) == Some(false);
            let swap = if declined { SwapAnswer::Declined } else { SwapAnswer::Done };
            (key.as_u64()?, ActKind::CompareAndSet { expected: optional(expected)?, new: new.as_u64()?, swap })
        }
        ("add", [key, by, now]) => (key.as_u64()?, ActKind::Add { by: by.as_i64()?, now: now.as_i64() }),
        ("sum", [key, sum]) => (key.as_u64()?, ActKind::Sum(if sum.is_null() { 0 } else { sum.as_i64()? })),
        _ => return None,
    })
}

/// Returns a version or that there is none.
fn optional(it: &Value) -> Option<Option<u64>> {
    if it.is_null() { Some(None) } else { it.as_u64().map(Some) }
}
