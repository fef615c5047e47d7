//! The live view, to look at: `cargo run -p kvtrial-terminal --example progress`.

use std::thread::sleep;
use std::time::Duration;
use study::{Reason, ReasonKind, TrialRecord, Verdict};
use terminal::{Colour, Moment, ProgressView};

fn main() {
    let mut progress = ProgressView::new(Colour::Always);
    let stores = ["null", "redis-unix", "postgres,layout=hstore,durability=commit", "null", "redis-unix"];
    progress.plan(stores);
    for (order, store) in (1..).zip(stores) {
        let step = Duration::from_millis(30 * u64::from(order));
        for phase in ["load", "run", "read back"] {
            progress.trial_started(order, stores.len() as u32, store, phase);
            for done in 0..=20 {
                let errors = if store == "redis-unix" { done / 10 } else { 0 };
                let p99_ns = (done > 10).then_some(123_000);
                progress.update(&Moment {
                    each: None,
                    operations: done * 500,
                    share: Some(done as f64 / 20.0),
                    errors,
                    p99_ns,
                    elapsed: step * done as u32,
                });
                sleep(step);
            }
        }
        let mut trial =
            TrialRecord { makespan_s: 0.98, ops_per_s: 98_064.0, verdict: Verdict::of([]), ..TrialRecord::default() };
        trial.latency_ns.response.p99 = 123_000;
        if store == "redis-unix" {
            trial.verdict = Verdict::of([Reason { kind: ReasonKind::Refused, count: 2, example: String::new() }]);
        }
        progress.trial_finished(&trial);
    }
    progress.finish();
}
