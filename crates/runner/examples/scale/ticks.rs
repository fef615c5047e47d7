//! Ticks: what workers say each second, how many bytes that takes, and what it costs to add them up.

use data::wyrand::WyRand;
use measure::{Counts, Histograms};
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// The workers that the tables speak of.
pub const WORKERS: [u64; 5] = [3, 10, 100, 1_000, 10_000];

/// The share of a processor that a coordinator may use.
const SHARE: f64 = 0.05;

/// Workers of one region, or machines of one rack, whose ticks are added up on the way.
const FAN_IN: u64 = 100;

/// The figures of one worker's second, as it is sent.
#[derive(Serialize, Deserialize)]
struct Second {
    counts: Counts,
    histograms: Histograms,
}

/// What a tick takes.
pub struct Tick {
    pub bytes: usize,
    pub encode: Duration,
    pub decode_and_add: Duration,
    /// Adding one worker's histograms to others, when they are decoded.
    pub add: Duration,
}

/// Measures ticks of a worker with 100,000 gets and puts per second, whose latencies spread over three orders of magnitude.
pub fn measure() -> Tick {
    let second = second(100_000);
    let sent = serde_json::to_vec(&second).unwrap_or_default();
    let mut sum = Histograms::default();
    let encode = shortest(|| _ = black_box(serde_json::to_vec(&second)));
    let add = shortest(|| sum.merge(black_box(&second.histograms)));
    let decode_and_add = shortest(|| {
        if let Ok(heard) = serde_json::from_slice::<Second>(black_box(&sent)) {
            sum.merge(&heard.histograms);
        }
    });
    Tick { bytes: sent.len(), encode, decode_and_add, add }
}

fn second(operations: u64) -> Second {
    let mut random = WyRand::new(42, 0);
    let mut second = Second { counts: Counts::default(), histograms: Histograms::default() };
    second.counts.operations = operations;
    for _ in 0..operations {
        // The sum of four even numbers is close to a bell; its power is what latencies look like, from some 10 µs to some 10 ms.
        let bell: f64 = (0..4).map(|_| random.below(1_000_000) as f64 / 1e6).sum::<f64>() / 4.0;
        let ns = 10f64.powf(4.0 + 3.0 * bell) as u64;
        second.histograms.service.record(ns);
        second.histograms.response[random.below(2) as usize].record(ns);
    }
    second
}

/// The shortest of some calls: anything else on the machine only adds.
fn shortest(mut call: impl FnMut()) -> Duration {
    let mut once = || {
        let start = Instant::now();
        call();
        start.elapsed()
    };
    std::iter::repeat_with(&mut once).take(51).min().unwrap_or_default()
}

/// Returns what a coordinator hears and does per second, by the number of workers.
pub fn table(tick: &Tick) -> String {
    let mut out = format!(
        "A tick has {} bytes, takes the worker {:.1?} to write and the coordinator {:.1?} to read and add.\n\n\
         | workers | bytes per second | processor of the coordinator |\n|---|---|---|\n",
        tick.bytes, tick.encode, tick.decode_and_add
    );
    for workers in WORKERS {
        let bytes = tick.bytes as f64 * workers as f64;
        let share = tick.decode_and_add.as_secs_f64() * workers as f64;
        _ = writeln!(out, "| {workers} | {} | {:.2} % |", size(bytes), share * 100.0);
    }
    let most = (SHARE / tick.decode_and_add.as_secs_f64()) as u64;
    _ = writeln!(out, "\nWith {:.0} % of a processor one coordinator hears {most} workers.", SHARE * 100.0);
    out
}

/// Returns what it takes to add up the histograms of all at the end of a trial: by one, and by a tree.
pub fn merging(tick: &Tick) -> String {
    let mut out =
        String::from("| workers | by one coordinator | by a tree of 100 per knot | levels |\n|---|---|---|---|\n");
    for workers in WORKERS {
        let flat = tick.decode_and_add * workers as u32;
        let (mut left, mut levels, mut tree) = (workers, 0, Duration::ZERO);
        while left > 1 {
            // All knots of a level work at the same time; each passes one sum on.
            tree += tick.decode_and_add * left.min(FAN_IN) as u32 + tick.encode;
            left = left.div_ceil(FAN_IN);
            levels += 1;
        }
        _ = writeln!(out, "| {workers} | {flat:.1?} | {tree:.1?} | {levels} |");
    }
    _ = writeln!(out, "\nThe adding itself takes {:.1?} per worker; the rest is reading what was sent.", tick.add);
    out
}

/// Bytes, as people say them.
fn size(bytes: f64) -> String {
    match bytes {
        1e6.. => format!("{:.1} MB", bytes / 1e6),
        _ => format!("{:.1} kB", bytes / 1e3),
    }
}
