//! The common start: how far apart workers start that each get a time of their own clock.

use super::ticks::WORKERS;
use data::wyrand::WyRand;
use std::fmt::Write;
use std::time::{Duration, Instant};

/// Round trips by which a worker's clock is compared with the coordinator's.
const ROUND_TRIPS: u32 = 20;

/// Studies that are simulated for each line.
const STUDIES: u32 = 400;

/// How far away workers are.
struct Distance {
    name: &'static str,
    /// Half of the fastest round trip, ns.
    least_ns: f64,
    /// Mean of what a queue adds in each direction, ns.
    queue_ns: f64,
    /// How far the two directions differ when there is no queue, as a share of the round trip.
    lopsided: f64,
}

/// One rack, one zone, and regions that are an ocean apart. The last has routes that differ in the two directions.
const DISTANCES: [Distance; 3] = [
    Distance { name: "one rack (0.1 ms)", least_ns: 50e3, queue_ns: 20e3, lopsided: 0.0 },
    Distance { name: "one zone (1 ms)", least_ns: 500e3, queue_ns: 200e3, lopsided: 0.02 },
    Distance { name: "regions (100 ms)", least_ns: 50e6, queue_ns: 2e6, lopsided: 0.05 },
];

/// Measures by how much a thread is late that sleeps until 200 µs before a moment and watches the clock from then on.
pub fn lateness_ns() -> Vec<f64> {
    let once = || {
        let due = Instant::now() + Duration::from_millis(2);
        std::thread::sleep(Duration::from_micros(1800));
        while Instant::now() < due {
            std::hint::spin_loop();
        }
        due.elapsed().as_nanos() as f64
    };
    let mut all: Vec<f64> = std::iter::repeat_with(once).take(500).collect();
    all.sort_by(f64::total_cmp);
    all
}

/// Returns how far apart the first and the last start.
pub fn table(late: &[f64]) -> String {
    let at = |share: f64| Duration::from_nanos(late[((late.len() - 1) as f64 * share) as usize] as u64);
    let mut out = format!(
        "A thread that waits for a moment is late by {:.1?} (median), {:.1?} (p99), {:.1?} at most.\n\n\
         | workers | how far away | first to last start, median | p99 | shortest trial of which that is 1 % |\n|---|---|---|---|---|\n",
        at(0.5),
        at(0.99),
        at(1.0)
    );
    for distance in &DISTANCES {
        for workers in WORKERS {
            let mut spreads: Vec<f64> = (0..STUDIES).map(|study| spread_ns(distance, workers, study, late)).collect();
            spreads.sort_by(f64::total_cmp);
            let (median, p99) = (spreads[spreads.len() / 2], spreads[spreads.len() * 99 / 100]);
            _ = writeln!(
                out,
                "| {workers} | {} | {:.3} ms | {:.3} ms | {:.3} s |",
                distance.name,
                median / 1e6,
                p99 / 1e6,
                p99 / 1e9 * 100.0
            );
        }
    }
    out
}

/// The time from the first to the last start of one study.
fn spread_ns(distance: &Distance, workers: u64, study: u32, late: &[f64]) -> f64 {
    let mut random = WyRand::new(u64::from(study), workers);
    let mut starts = (0..workers).map(|_| {
        let error = offset_error_ns(distance, &mut random);
        error + late[random.below(late.len() as u64) as usize]
    });
    let first = starts.next().unwrap_or(0.0);
    let (low, high) = starts.fold((first, first), |(low, high), start| (low.min(start), high.max(start)));
    high - low
}

/// The error of a clock's offset: half the difference between the two directions of the fastest of some round trips.
fn offset_error_ns(distance: &Distance, random: &mut WyRand) -> f64 {
    let mut queue = || -((random.below(1 << 52) + 1) as f64 / (1u64 << 52) as f64).ln() * distance.queue_ns;
    let trips = (0..ROUND_TRIPS).map(|_| (queue(), queue()));
    let fastest = trips.min_by(|one, other| (one.0 + one.1).total_cmp(&(other.0 + other.1))).unwrap_or((0.0, 0.0));
    let direction = if random.below(2) == 0 { -1.0 } else { 1.0 };
    // Nobody can tell a lopsided route by round trips.
    (fastest.0 - fastest.1) / 2.0 + direction * distance.lopsided * distance.least_ns
}
