//! How fast a trace is read, and how fast exact caches go through it; with their hits and the memory that all took.
//! `cargo run --release -p kvtrial-trace --example trace_rate -- FILE OBJECTS...`; without a file: web12.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use kvtrial_trace::{CacheSize, Eviction, Filling, SHIPPED, Trace, TraceOptions, hits};
use std::path::Path;

/// Seconds that this thread was on a processor: on a busy machine the time on the wall says little.
fn cpu_s() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e9
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let file = arguments.first().map_or(SHIPPED, String::as_str);
    let began = cpu_s();
    let trace = Trace::read(Path::new(file), TraceOptions { format: None, most: u64::MAX, seed: 1 }).unwrap();
    let (requests, keys) = (trace.ids().len(), trace.keys().len());
    let rate = |seconds: f64| requests as f64 / seconds / 1e6;
    let millions = rate(cpu_s() - began);
    println!("{file}: {requests} requests, {keys} keys, {}: read at {millions:.1} M/s", trace.format().name());
    for objects in arguments.iter().skip(1).map(|objects| objects.parse().unwrap()) {
        for eviction in [Eviction::Lru, Eviction::Fifo] {
            let began = cpu_s();
            let hits = hits(&trace, eviction, CacheSize::Objects(objects), Filling::OnMiss, 100);
            println!("{eviction:?} of {objects} objects: {hits} hits at {:.1} M/s", rate(cpu_s() - began));
        }
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    println!("{}", status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default());
}
