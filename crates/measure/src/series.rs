//! Rate, errors and tail over time, in constant memory.

use crate::clock::{Clock, Ticks};
use crate::coarse::{COARSE_BUCKETS as BUCKETS, CoarseCounts, add_coarse, coarse_percentile};
use crate::histograms::Histograms;
use crate::live::Live;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use study::SeriesPoint;

/// Most points kept; when they are full, neighbours are merged and the interval doubles.
const POINTS: usize = 600;
/// Length of the first intervals: a trial of a few seconds has a curve too.
const FIRST_INTERVAL: Duration = Duration::from_millis(100);

#[derive(Clone)]
struct Interval {
    counts: [u32; BUCKETS],
    operations: u64,
    errors: u64,
    max_ns: u64,
}

const EMPTY: Interval = Interval { counts: [0; BUCKETS], operations: 0, errors: 0, max_ns: 0 };

impl Interval {
    fn add(&mut self, other: &Interval) {
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.operations += other.operations;
        self.errors += other.errors;
        self.max_ns = self.max_ns.max(other.max_ns);
    }
}

/// A thread's time series: ten points per second in the first minute, then fewer and wider ones.
#[derive(Clone)]
pub struct Series {
    intervals: Vec<Interval>,
    current: Interval,
    /// Counts of the histograms at the last look.
    seen: [u64; BUCKETS],
    start: Ticks,
    current_end: Ticks,
    interval: u64,
}

impl Series {
    /// Makes an empty series that begins at `start`.
    pub fn new(clock: &Clock, start: Ticks) -> Series {
        let interval = clock.ticks(FIRST_INTERVAL);
        Series {
            intervals: Vec::with_capacity(POINTS),
            current: EMPTY,
            seen: [0; BUCKETS],
            start,
            current_end: start + interval,
            interval,
        }
    }

    /// Counts operations without their latency.
    #[inline(always)]
    pub fn count(&mut self, operations: u64) {
        self.current.operations += operations;
    }

    /// Counts one failed operation.
    #[cold]
    pub fn error(&mut self) {
        self.current.errors += 1;
    }

    /// Notes a latency seen at `now`, before it is recorded in the histograms.
    #[inline(always)]
    pub fn note(&mut self, now: Ticks, ns: u64, histograms: &Histograms, live: &Live) {
        self.pass(now, histograms, live);
        self.current.max_ns = self.current.max_ns.max(ns);
    }

    /// Moves on to `now`: whatever is counted next belongs to the interval of this time, whether or not there is a latency.
    #[inline(always)]
    pub fn pass(&mut self, now: Ticks, histograms: &Histograms, live: &Live) {
        if now >= self.current_end {
            self.roll(now, histograms, live);
        }
    }

    #[cold]
    fn roll(&mut self, now: Ticks, histograms: &Histograms, live: &Live) {
        self.take_counts(histograms, live);
        while now >= self.current_end {
            self.push();
            self.current_end += self.interval;
        }
    }

    /// Adds what the histograms have gained since the last look to the current interval.
    pub fn take_counts(&mut self, histograms: &Histograms, live: &Live) {
        let mut total = [0; BUCKETS];
        histograms.response.iter().for_each(|histogram| add_coarse(histogram, &mut total));
        for (bucket, total) in total.into_iter().enumerate() {
            let gained = total - std::mem::replace(&mut self.seen[bucket], total);
            self.current.counts[bucket] += gained as u32;
            live.add_latencies(bucket, gained);
        }
    }

    fn push(&mut self) {
        if self.intervals.len() == POINTS {
            for at in 0..POINTS / 2 {
                let (left, right) = self.intervals.split_at_mut(2 * at + 1);
                left[2 * at].add(&right[0]);
                self.intervals.swap(at, 2 * at);
            }
            self.intervals.truncate(POINTS / 2);
            self.interval *= 2;
            // The interval under way goes on as the first half of a wide one; `roll` adds its width.
            self.current_end = self.start + self.intervals.len() as u64 * self.interval;
            return;
        }
        self.intervals.push(std::mem::replace(&mut self.current, EMPTY));
    }

    /// Returns the points seen, apart from this process's clock.
    pub fn seen(self, clock: &Clock) -> Timeline {
        let part = |part: Interval| Part {
            counts: CoarseCounts(part.counts.iter().map(|count| u64::from(*count)).collect()),
            operations: part.operations,
            errors: part.errors,
            max_ns: part.max_ns,
        };
        let mut parts: Vec<Part> = self.intervals.into_iter().chain([self.current]).map(part).collect();
        while parts.last().is_some_and(Part::is_empty) {
            parts.pop();
        }
        // Threads, and machines, agree on the width: a clock's own is off by its error of calibration.
        const MS_NS: u64 = 1_000_000;
        Timeline { interval_ns: (clock.ns(self.interval) + MS_NS / 2) / MS_NS * MS_NS, parts }
    }
}

/// Rate, errors and tail over the time of a phase; those of threads and machines can be merged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeline {
    interval_ns: u64,
    parts: Vec<Part>,
}

/// An interval of a timeline.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Part {
    counts: CoarseCounts,
    operations: u64,
    errors: u64,
    max_ns: u64,
}

impl Part {
    fn is_empty(&self) -> bool {
        self.operations == 0 && self.errors == 0 && self.max_ns == 0
    }

    fn add(&mut self, other: &Part) {
        self.counts.add(&other.counts);
        self.operations += other.operations;
        self.errors += other.errors;
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    fn p99_ns(&self) -> u64 {
        coarse_percentile(self.counts.0.iter().copied(), 99).map_or(0, |p99_ns| p99_ns.min(self.max_ns))
    }
}

impl Timeline {
    /// Adds another's, of the same time. The wider intervals of the two are kept.
    pub fn merge(&mut self, other: Timeline) {
        let interval_ns = self.interval_ns.max(other.interval_ns).max(1);
        let mut merged: Vec<Part> = Vec::new();
        for one in [std::mem::take(self), other] {
            for (at, part) in one.parts.iter().enumerate() {
                let index = (at as u64 * one.interval_ns / interval_ns) as usize;
                if merged.len() <= index {
                    merged.resize_with(index + 1, Part::default);
                }
                merged[index].add(part);
            }
        }
        *self = Timeline { interval_ns, parts: merged };
    }

    /// Returns the 99th percentile of response time over the intervals of these timelines, each with its begin, that end within a time;
    /// `None` where no reply came.
    pub fn p99_ns<'a>(
        timelines: impl IntoIterator<Item = (&'a Timeline, Duration)>,
        within: std::ops::Range<Duration>,
    ) -> Option<u64> {
        let mut all = Part::default();
        for (timeline, begin) in timelines {
            let end = |at: usize| begin + Duration::from_nanos((at as u64 + 1) * timeline.interval_ns);
            let inside =
                timeline.parts.iter().enumerate().filter(|(at, _)| end(*at) > within.start && end(*at) <= within.end);
            inside.for_each(|(_, part)| all.add(part));
        }
        Some(all.p99_ns()).filter(|&p99_ns| p99_ns > 0)
    }

    /// Returns the points of `study.json`; the last one ends with the phase.
    pub fn points(&self, elapsed: Duration) -> Vec<SeriesPoint> {
        let (end_s, width_s) = (elapsed.as_secs_f64(), self.interval_ns as f64 / 1e9);
        let last = self.parts.iter().rposition(|part| part.operations > 0 || part.errors > 0);
        let shown = last.map_or(0, |last| last + 1);
        let point = |(at, part): (usize, &Part)| SeriesPoint {
            at_s: ((at + 1) as f64 * width_s).min(end_s),
            operations: part.operations,
            errors: part.errors,
            p99_ns: part.p99_ns(),
            max_ns: part.max_ns,
        };
        self.parts[..shown].iter().enumerate().map(point).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{POINTS, Series, Timeline};
    use crate::clock::Clock;
    use crate::histograms::Histograms;
    use crate::live::Live;
    use std::time::Duration;

    fn run_for(seconds: u64, per_second: u64) -> Vec<study::SeriesPoint> {
        let clock = Clock::get();
        let second = clock.ticks(Duration::from_secs(1));
        let mut series = Series::new(&clock, 1_000);
        let (mut histograms, live) = (Histograms::default(), Live::default());
        for at in 0..seconds {
            for part in 0..per_second {
                let ns = 1_000 * (at + 1);
                series.note(1_000 + at * second + part * second / per_second + 10, ns, &histograms, &live);
                histograms.response[0].record(ns);
                series.count(1);
            }
        }
        series.take_counts(&histograms, &live);
        series.seen(&clock).points(Duration::from_secs(seconds))
    }

    #[test]
    fn a_trial_of_three_seconds_has_thirty_points_each_with_its_own_tail() {
        let points = run_for(3, 100);
        assert_eq!(points.len(), 30);
        assert!(points.iter().all(|point| point.operations == 10));
        assert!(points.windows(2).all(|pair| (pair[1].at_s - pair[0].at_s - 0.1).abs() < 1e-6), "{points:?}");
        assert!((points[25].p99_ns as f64 / 3_000.0 - 1.0).abs() < 0.07, "{:?}", points[25]);
    }

    #[test]
    fn the_tail_of_a_time_is_that_of_its_operations_and_not_a_mean_of_tails() {
        let clock = Clock::get();
        let mut series = Series::new(&clock, 0);
        let (mut histograms, live) = (Histograms::default(), Live::default());
        // In each tenth of a second one operation of 1 ms among 100 of 1 µs, but 50 of 1 s in the fifth.
        for tenth in 0..10u64 {
            let slow: &[u64] = if tenth == 4 { &[1_000_000_000; 50] } else { &[1_000_000] };
            for ns in [1_000; 100].iter().chain(slow) {
                series.note(clock.ticks(Duration::from_millis(tenth * 100 + 50)), *ns, &histograms, &live);
                histograms.response[0].record(*ns);
                series.count(1);
            }
        }
        series.take_counts(&histograms, &live);
        let timeline = series.seen(&clock);
        let ms = Duration::from_millis;
        let p99_ns = |from, to| Timeline::p99_ns([(&timeline, Duration::ZERO)], ms(from)..ms(to)).unwrap() as f64;
        assert!((p99_ns(0, 400) / 1e3 - 1.0).abs() < 0.07, "4 of 404 are slower: {}", p99_ns(0, 400));
        assert!((p99_ns(0, 1000) / 1e9 - 1.0).abs() < 0.07, "50 of 1059 are slow: {}", p99_ns(0, 1000));
        let later = Timeline::p99_ns([(&timeline, ms(5000))], ms(5400)..ms(5500)).unwrap() as f64;
        assert!((later / 1e9 - 1.0).abs() < 0.07, "{later}");
        assert_eq!(Timeline::p99_ns([(&timeline, ms(5000))], ms(0)..ms(5000)), None);
    }

    #[test]
    fn a_long_run_keeps_every_operation_in_constant_memory() {
        let points = run_for(1_000, 10);
        assert!((POINTS / 2..=POINTS).contains(&points.len()), "{}", points.len());
        assert_eq!(points.iter().map(|point| point.operations).sum::<u64>(), 10_000);
        assert!((points[points.len() - 1].at_s - 1_000.0).abs() < 4.1, "{:?}", points.last());
    }
}
