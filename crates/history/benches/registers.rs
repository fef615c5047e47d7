//! Operations recorded and checked per second, and the memory that takes: `cargo bench -p kvtrial-history`.

use history::{Collector, Deed, Encounter, Reel, Told, check};
use std::time::Instant;

const OPERATIONS: u64 = 1_000_000;

fn main() {
    for (keys, clients) in [(1, 8), (1_000, 64), (100_000, 64)] {
        let mut best = f64::MAX;
        for _ in 0..5 {
            let mut history = history(keys, clients);
            let begin = Instant::now();
            let found = check(&mut history).map(|it| it.contradicted_keys);
            best = best.min(begin.elapsed().as_secs_f64());
            assert_eq!(found, Ok(0));
        }
        println!("{keys} keys, {clients} clients: {:.2} M operations/s, best of 5", OPERATIONS as f64 / best / 1e6);
    }
    for operations in [1_000_000, 10_000_000] {
        recorded(operations);
    }
}

/// Records and checks that many operations on 1,000 keys, and says how long that took and how much memory was used at most meanwhile.
fn recorded(operations: u64) {
    // "5" lets the kernel forget the largest resident set so far.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    let collector = Collector::new(&std::env::temp_dir());
    let mut reel = Reel::new(&collector);
    let begin = Instant::now();
    for number in 1..=operations / 2 {
        let (key, at) = (number % 1000, number * 100);
        reel.answered(key, Told::written(0, number), at, at + 40);
        reel.answered(key, Told::read(1, number), at + 50, at + 90);
    }
    drop(reel);
    let recorded_ns = begin.elapsed().as_secs_f64() * 1e9 / operations as f64;
    let collected = collector.collected().unwrap_or_else(|error| panic!("{error}"));
    let (recording_mib, begin) = (peak_mib(), Instant::now());
    let check = collected.check().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(check.map(|it| (it.operations, it.contradicted_keys)), Ok((operations, 0)));
    println!(
        "{operations} operations: {recorded_ns:.1} ns each to keep, {recording_mib} MiB at most; checked in {:.2} s, {} MiB at most",
        begin.elapsed().as_secs_f64(),
        peak_mib()
    );
}

fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").trim().parse::<u64>().unwrap_or_default() / 1024
}

/// Half reads, half writes, each in effect at a moment between its ends, as `clients` at once would send them.
fn history(keys: u64, clients: u64) -> Vec<Encounter> {
    let mut values = vec![0; keys as usize];
    let mut dice = 88_172_645_463_325_252_u64;
    let mut below = |n: u64| {
        dice ^= dice << 13;
        dice ^= dice >> 7;
        dice ^= dice << 17;
        dice % n
    };
    let mut operation = |number: u64| {
        let (key, at) = (below(keys), 1_000_000 + number * 100);
        let value = &mut values[key as usize];
        let action = if below(2) == 0 { Deed::Read(*value) } else { Deed::Write(number + 1) };
        if let Deed::Write(version) = action {
            *value = version;
        }
        let (sent_ns, answered_ns) = (at - below(100 * clients), Some(at + below(100 * clients)));
        Encounter { client: (number % clients) as u32, key, action, sent_ns, answered_ns }
    };
    (0..OPERATIONS).map(&mut operation).collect()
}
