//! Operations checked per second: `cargo bench -p kvtrial-history`.

use history::{Deed, Encounter, check};
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
