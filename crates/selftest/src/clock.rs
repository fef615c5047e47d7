//! The clock of latencies against the system's, and against itself on another processor.

use crate::test::{Scope, Test};
use measure::Clock;
use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use study::Tolerance;

pub(crate) fn tests() -> [Test; 3] {
    [
        Test {
            name: "clock_rate",
            claim: "the clock of latencies runs as fast as the system's, within a thousandth",
            unit: "ppm",
            bound: Tolerance::at_most(1000.0),
            scope: Scope::Quick,
            attempts: 3,
            measure: Box::new(|scope, _| Ok(rate_error_ppm(if scope == Scope::Full { 500 } else { 60 }))),
        },
        Test {
            name: "clock_order",
            claim: "what one thread did before another is not later by the clock, in 20,000 hand-overs, by more than the processor reorders",
            unit: "ns at most",
            bound: Tolerance::at_most(500.0),
            scope: Scope::Quick,
            attempts: 1,
            measure: Box::new(|_, stop| Ok(largest_reversal_ns(20_000, stop) as f64)),
        },
        Test {
            name: "clock_cost",
            claim: "reading the clock takes less than 200 ns",
            unit: "ns",
            bound: Tolerance::at_most(200.0),
            scope: Scope::Quick,
            attempts: 3,
            measure: Box::new(|_, _| Ok(cost_ns())),
        },
    ]
}

fn rate_error_ppm(pause_ms: u64) -> f64 {
    let clock = Clock::get();
    let (instant, ticks) = (Instant::now(), clock.now());
    std::thread::sleep(Duration::from_millis(pause_ms));
    let (elapsed, measured) = (instant.elapsed(), clock.ns(clock.now() - ticks));
    1e6 * (measured as f64 / elapsed.as_nanos() as f64 - 1.0).abs()
}

/// Two threads hand the time back and forth; each should find it past. A processor may read its counter before an earlier load is
/// done, so tens of nanoseconds are nobody's fault; counters that are not in step show thousands. Ends early, with what was
/// seen, after a second.
fn largest_reversal_ns(hand_overs: u64, stop: &AtomicBool) -> u64 {
    let clock = Clock::get();
    let (turn, time, wrong) = (AtomicU64::new(0), AtomicU64::new(clock.now()), AtomicU64::new(0));
    let end = Instant::now() + Duration::from_secs(1);
    std::thread::scope(|scope| {
        for parity in 0..2 {
            let (turn, time, wrong) = (&turn, &time, &wrong);
            scope.spawn(move || {
                for mine in (parity..hand_overs).step_by(2) {
                    let mut waited = 0u32;
                    while turn.load(Ordering::Acquire) != mine {
                        waited += 1;
                        if waited.is_multiple_of(256) {
                            if stop.load(Ordering::Relaxed) || Instant::now() > end {
                                return;
                            }
                            std::thread::yield_now(); // the other may need this processor
                        }
                        spin_loop();
                    }
                    let now = clock.now();
                    wrong.fetch_max(time.load(Ordering::Relaxed).saturating_sub(now), Ordering::Relaxed);
                    time.store(now, Ordering::Relaxed);
                    turn.store(mine + 1, Ordering::Release);
                }
            });
        }
    });
    clock.ns(wrong.into_inner())
}

fn cost_ns() -> f64 {
    const READS: u64 = 200_000;
    let clock = Clock::get();
    let start = Instant::now();
    (0..READS).for_each(|_| {
        black_box(clock.now());
    });
    start.elapsed().as_nanos() as f64 / READS as f64
}
