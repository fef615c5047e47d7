//! Events the append generator makes per second on one processor: `cargo run --release -p kvtrial-data --example append_rate`.

use kvtrial_data::append::{Event, Generator};
use std::hint::black_box;
use std::time::Instant;

fn main() {
    for keys in [1_000_000, 10_000_000, 78_000_000] {
        let generator = Generator::new(keys, 42);
        let mut block = [Event::default(); 1024];
        let blocks = generator.events().min(30_000_000) / 1024;
        let start = Instant::now();
        for number in 0..blocks {
            generator.fill(number * 1024, &mut block);
            black_box(&block);
        }
        let seconds = start.elapsed().as_secs_f64();
        println!("{keys} keys: {:.1} M events/s", (blocks * 1024) as f64 / seconds / 1e6);
    }
}
