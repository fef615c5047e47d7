//! How many operations are judged per second: `cargo bench -p kvtrial-history --bench figures`.
#![allow(clippy::unwrap_used)]

use std::time::Instant;

use history::{Act, ActEnd, ActKind, Bounds, History, Spill, SwapAnswer};

/// Operations of each history.
const OPERATIONS: u64 = 1_000_000;

fn main() {
    // First, so that the peak of memory is its own.
    spilled();
    for (keys, clients) in [(1, 8), (1_000, 8), (100_000, 64)] {
        figure(&format!("registers, {keys} keys, {clients} clients"), made(keys, clients, register));
    }
    figure("compare-and-set, 1000 keys, 8 clients", made(1_000, 8, swap));
    figure("counters, 1000 keys, 8 clients", made(1_000, 8, counter));
    figure("deletions, 1000 keys, 8 clients", made(1_000, 8, deletion));
    figure("compare-and-set, 1 key, 8 clients", made(1, 8, swap));
    figure("counters, 1 key, 8 clients", made(1, 8, counter));
    figure("deletions, 1 key, 8 clients", made(1, 8, deletion));
    let mut stale = made(1, 8, register);
    let last = stale.len() - 1;
    stale[last].kind = ActKind::Get(Some(2));
    let begun = Instant::now();
    let findings = History::new(stale).judge(&Bounds::default());
    let smallest = findings.smallest.unwrap().operations.len();
    println!(
        "a stale read at the end of {OPERATIONS}: shown with {smallest} operations after {:.2} s",
        begun.elapsed().as_secs_f64()
    );
}

/// Prints the rate at which a history is judged.
fn figure(name: &str, operations: Vec<Act>) {
    let mut history = History::new(operations);
    let begun = Instant::now();
    let findings = history.judge(&Bounds::default());
    let seconds = begun.elapsed().as_secs_f64();
    assert_eq!(findings.linearizable, findings.keys, "{name}: {:?}", findings.smallest.map(|it| it.reason));
    println!("{name}: {:.2} M operations per second", findings.operations as f64 / seconds / 1e6);
}

/// Prints the rate by way of files, and the most memory that took.
fn spilled() {
    let place = tempfile::tempdir().unwrap();
    let begun = Instant::now();
    let mut spill = Spill::below(place.path(), 64).unwrap();
    for operation in making(1_000, 8, register) {
        spill.push(&operation).unwrap();
    }
    let findings = spill.judge(&Bounds::default()).unwrap();
    let rate = findings.operations as f64 / begun.elapsed().as_secs_f64() / 1e6;
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap().trim();
    println!("registers by way of 64 files, 1000 keys: {rate:.2} M operations per second, memory at most {peak}");
}

/// Returns a history in which each client has one operation open at any time; they happen in the order they were sent.
fn made(keys: u64, clients: u64, ask: fn(u64, &mut Option<u64>) -> ActKind) -> Vec<Act> {
    making(keys, clients, ask).collect()
}

/// Makes that history, one operation after the other.
fn making(keys: u64, clients: u64, ask: fn(u64, &mut Option<u64>) -> ActKind) -> impl Iterator<Item = Act> {
    let mut held = vec![None; keys as usize];
    (0..OPERATIONS).map(move |at| {
        let key = at.wrapping_mul(0x9E37_79B9_7F4A_7C15) % keys;
        let kind = ask(at, &mut held[key as usize]);
        let end = ActEnd::Answered(at * 100 + 100 * (clients - 1) + at % 97);
        Act { key, client: (at % clients) as u32, kind, sent_ns: at * 100, end }
    })
}

fn register(at: u64, held: &mut Option<u64>) -> ActKind {
    if at.is_multiple_of(2) {
        *held = Some(at);
        ActKind::Put(at)
    } else {
        ActKind::Get(*held)
    }
}

fn swap(at: u64, held: &mut Option<u64>) -> ActKind {
    if at.is_multiple_of(2) {
        let expected = held.replace(at);
        ActKind::CompareAndSet { expected, new: at, swap: SwapAnswer::Done }
    } else {
        ActKind::Get(*held)
    }
}

fn deletion(at: u64, held: &mut Option<u64>) -> ActKind {
    match at % 6 {
        0 | 3 => {
            *held = Some(at);
            ActKind::Put(at)
        }
        1 => {
            *held = None;
            ActKind::Delete
        }
        _ => ActKind::Get(*held),
    }
}

fn counter(at: u64, held: &mut Option<u64>) -> ActKind {
    if at.is_multiple_of(2) {
        *held = Some(held.unwrap_or(0) + 1);
        ActKind::Add { by: 1, now: None }
    } else {
        ActKind::Sum(held.unwrap_or(0) as i64)
    }
}
