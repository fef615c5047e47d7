//! The progress line, to look at: `cargo run -p kvtrial-report --example progress`.

use report::Progress;
use std::thread::sleep;
use std::time::Duration;
use study::TrialRecord;

fn main() {
    let mut progress = Progress::new();
    let stores = ["null", "redis-unix", "postgres,layout=hstore,durability=commit", "null", "redis-unix"];
    progress.plan(stores);
    for (order, store) in (1..).zip(stores) {
        for phase in ["load", "run", "read back"] {
            progress.trial_started(order, stores.len() as u32, store, phase);
            for done in 0..=10 {
                progress.update(done, 10, 50_812.0 * done as f64);
                sleep(Duration::from_millis(20 * u64::from(order)));
            }
        }
        progress.trial_finished(&TrialRecord::default());
    }
    progress.finish();
}
