//! Operations into lines.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io::{self, Write};

use serde_json::{Value, json};

use crate::act::{Act, ActEnd, ActKind, SwapAnswer};

/// Writes operations, which come by the time they were sent, as JSON lines. Memory holds only those that are open.
pub fn write_lines<'a>(operations: impl IntoIterator<Item = &'a Act>, out: &mut impl Write) -> io::Result<()> {
    let mut open = Open { completions: BinaryHeap::new(), processes: HashMap::new(), of: HashMap::new(), next: 0 };
    for (at, operation) in operations.into_iter().enumerate() {
        open.complete(out, operation.sent_ns)?;
        let process = open.process(operation.client);
        line(out, "invoke", process, operation, operation.sent_ns)?;
        let (ends, word) = match operation.end {
            ActEnd::Answered(at) => (at, "ok"),
            ActEnd::Refused(at) => (at, "fail"),
            // A process whose operation was never answered is not used again.
            ActEnd::Unknown => (u64::MAX, "info"),
        };
        open.completions.push(Reverse((ends, at)));
        open.of.insert(at, (process, word, operation));
    }
    open.complete(out, u64::MAX)?;
    open.rest(out)
}

/// The operations that are open at one moment.
struct Open<'a> {
    completions: BinaryHeap<Reverse<(u64, usize)>>,
    of: HashMap<usize, (u64, &'static str, &'a Act)>,
    /// Processes of each client without an open operation.
    processes: HashMap<u32, Vec<u64>>,
    /// How many processes there are beyond one per client.
    next: u64,
}

/// Numbers of further processes of a client start here.
const FURTHER: u64 = 1 << 32;

impl Open<'_> {
    /// Returns a process of a client that has no open operation.
    fn process(&mut self, client: u32) -> u64 {
        let free = self.processes.entry(client).or_insert_with(|| vec![u64::from(client)]);
        free.pop().unwrap_or_else(|| {
            self.next += 1;
            FURTHER + self.next
        })
    }

    /// Writes the completions before a time: at equal times operations are sent first.
    fn complete(&mut self, out: &mut impl Write, until: u64) -> io::Result<()> {
        while let Some(Reverse((ends, at))) = self.completions.peek().copied() {
            if ends >= until {
                break;
            }
            self.completions.pop();
            let Some((process, word, operation)) = self.of.remove(&at) else { continue };
            line(out, word, process, operation, ends)?;
            self.processes.entry(operation.client).or_default().push(process);
        }
        Ok(())
    }

    /// Writes what is still open at the end.
    fn rest(&mut self, out: &mut impl Write) -> io::Result<()> {
        while let Some(Reverse((_, at))) = self.completions.pop() {
            if let Some((process, word, operation)) = self.of.remove(&at) {
                line(out, word, process, operation, operation.sent_ns)?;
            }
        }
        Ok(())
    }
}

/// Writes one line.
fn line(out: &mut impl Write, word: &str, process: u64, operation: &Act, time: u64) -> io::Result<()> {
    let (f, value) = value(operation, word == "invoke");
    let mut object = json!({ "type": word, "process": process, "f": f, "value": value, "time": time });
    if process >= FURTHER {
        object["client"] = json!(operation.client);
    }
    serde_json::to_writer(&mut *out, &object)?;
    out.write_all(b"\n")
}

/// Returns what is asked, and what was answered unless it is only being asked.
fn value(operation: &Act, asked: bool) -> (&'static str, Value) {
    let key = operation.key;
    let known = !asked && operation.is_answered();
    let answer = |it: Value| if known { it } else { Value::Null };
    match &operation.kind {
        ActKind::Put(version) => ("txn", json!([["w", key, version]])),
        ActKind::Get(version) => ("txn", json!([["r", key, answer(json!(version))]])),
        ActKind::Append(element) => ("txn", json!([["append", key, element]])),
        ActKind::List(elements) => ("txn", json!([["r", key, answer(json!(elements))]])),
        ActKind::Delete => ("delete", json!([key])),
        ActKind::CompareAndSet { expected, new, swap } => {
            let mut value = vec![json!(key), json!([expected, new])];
            if known {
                value.push(json!(*swap == SwapAnswer::Done));
            }
            ("cas", Value::Array(value))
        }
        ActKind::Add { by, now } => ("add", json!([key, by, answer(json!(now))])),
        ActKind::Sum(sum) => ("sum", json!([key, answer(json!(sum))])),
    }
}
