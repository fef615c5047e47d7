//! Rate and tail against records stored, and stalls: looked at once per batch of operations, never once per operation.

use measure::{COARSE_BUCKETS as BUCKETS, CoarseCounts, add_coarse, coarse_percentile};
use measure::{Clock, Ticks};
use measure::{Histogram, Histograms};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use store::OperationKind;
use study::{CurvePoint, GetTimes, Stall};

/// Most records between two points, and points there are at least.
const MOST_RECORDS: u64 = 1_000_000;
const POINTS: u64 = 200;
/// A stall takes at least this long, and this many times as long as batches usually do.
const STALL: Duration = Duration::from_millis(10);
const UNUSUAL: u64 = 10;
/// Batches after which the usual time is known.
const KNOWN: u64 = 20;
/// Most stalls kept of one thread.
const STALLS: usize = 1000;

struct Point {
    records: u64,
    at: Ticks,
    counts: [u32; BUCKETS],
    /// The gets among them.
    gets: [u32; BUCKETS],
}

struct Gap {
    start: Ticks,
    end: Ticks,
    records: u64,
}

/// The meaning of a time between two batches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Gaps {
    /// Closed loop: the client waited for a reply.
    #[default]
    Waiting,
    /// Open loop: perhaps nothing was due.
    Paced,
}

/// One thread's view.
pub(crate) struct Growth {
    /// Records between points; 0: growth is not watched.
    step: u64,
    next: u64,
    points: Vec<Point>,
    seen: [u64; BUCKETS],
    seen_gets: [u64; BUCKETS],
    start: Ticks,
    last: Ticks,
    gaps: u64,
    gaps_are: Gaps,
    stall: Ticks,
    stalls: Vec<Gap>,
    records: u64,
}

impl Growth {
    /// Watches a thread that will store about `records` / `threads` records; `None`: does not watch.
    pub(crate) fn new(clock: &Clock, records: Option<u64>, threads: u32, gaps_are: Gaps) -> Growth {
        let step = records.map_or(0, |records| (records / POINTS).clamp(1, MOST_RECORDS).div_ceil(u64::from(threads)));
        Growth {
            step,
            next: if step == 0 { u64::MAX } else { step },
            points: Vec::new(),
            seen: [0; BUCKETS],
            seen_gets: [0; BUCKETS],
            start: 0,
            last: 0,
            gaps: 0,
            gaps_are,
            stall: clock.ticks(STALL),
            stalls: Vec::new(),
            records: 0,
        }
    }

    /// Returns whether growth is watched.
    #[inline(always)]
    pub(crate) fn watches(&self) -> bool {
        self.step > 0
    }

    /// Notes that the clock is switched on.
    pub(crate) fn begin(&mut self, now: Ticks) {
        (self.start, self.last) = (now, now);
    }

    /// Notes that a batch of operations is done, and that `records` records are stored by now.
    #[inline]
    pub(crate) fn batch(&mut self, now: Ticks, records: u64, histograms: &Histograms) {
        let gap = now.saturating_sub(self.last);
        if gap > self.stall {
            self.unusual(now, gap);
        }
        self.last = now;
        self.gaps += 1;
        self.records = records;
        if records >= self.next {
            self.point(now, histograms);
        }
    }

    #[cold]
    fn unusual(&mut self, now: Ticks, gap: Ticks) {
        let usual = (self.last - self.start) / self.gaps.max(1);
        if self.gaps_are == Gaps::Waiting && self.gaps >= KNOWN && gap > UNUSUAL * usual && self.stalls.len() < STALLS {
            self.stalls.push(Gap { start: self.last, end: now, records: self.records });
        }
    }

    #[cold]
    fn point(&mut self, now: Ticks, histograms: &Histograms) {
        let counts = since(&mut self.seen, &histograms.response);
        let gets = since(&mut self.seen_gets, &histograms.response[OperationKind::Get as usize..][..1]);
        self.points.push(Point { records: self.records, at: now, counts, gets });
        self.next = self.records + self.step;
    }

    /// Closes the books.
    pub(crate) fn finish(&mut self, now: Ticks, records: u64, histograms: &Histograms) {
        if self.watches() && records > self.points.last().map_or(0, |point| point.records) {
            self.records = records;
            self.point(now, histograms);
        }
    }

    /// Returns what was seen, apart from this process's clock: times count from `begin`, when the phase began.
    pub(crate) fn seen(self, clock: &Clock, begin: Ticks) -> Grown {
        let after = |at: Ticks| clock.ns(at.saturating_sub(begin));
        let coarse = |counts: &[u32]| CoarseCounts(counts.iter().map(|count| u64::from(*count)).collect());
        let point = |point: Point| GrownPoint {
            records: point.records,
            at_ns: after(point.at),
            counts: coarse(&point.counts),
            gets: coarse(&point.gets),
        };
        let gap = |gap: Gap| Pause { start_ns: after(gap.start), end_ns: after(gap.end), records: gap.records };
        Grown {
            start_ns: after(self.start),
            gaps_are: self.gaps_are,
            points: self.points.into_iter().map(point).collect(),
            pauses: self.stalls.into_iter().map(gap).collect(),
        }
    }
}

/// What was counted since the last time: `seen` has what was counted by then.
fn since(seen: &mut [u64; BUCKETS], histograms: &[Histogram]) -> [u32; BUCKETS] {
    let mut total = [0; BUCKETS];
    histograms.iter().for_each(|histogram| add_coarse(histogram, &mut total));
    let mut counts = [0; BUCKETS];
    for ((count, total), seen) in counts.iter_mut().zip(&total).zip(seen) {
        *count = (total - *seen) as u32;
        *seen = *total;
    }
    counts
}

/// Percentiles of the gets, where there were other operations too.
fn get_times(gets: &CoarseCounts, all: &CoarseCounts) -> Option<GetTimes> {
    let at = |percent| coarse_percentile(gets.0.iter().copied(), percent);
    let times = GetTimes { p50_ns: at(50)?, p99_ns: at(99)?, max_ns: at(100)? };
    (gets != all).then_some(times)
}

/// The growth that one thread saw; the records of all threads make up the curve.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grown {
    /// The start of the thread, since the phase began.
    start_ns: u64,
    gaps_are: Gaps,
    points: Vec<GrownPoint>,
    pauses: Vec<Pause>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct GrownPoint {
    records: u64,
    at_ns: u64,
    counts: CoarseCounts,
    gets: CoarseCounts,
}

/// A time without any reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Pause {
    start_ns: u64,
    end_ns: u64,
    records: u64,
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

impl Grown {
    /// Returns all threads' points as one curve: about as many points as one thread has. Between two points of its own a thread has stored
    /// as many records as if it stored them at an even rate.
    pub(crate) fn curve(all: &[Grown]) -> Vec<CurvePoint> {
        let Some(start_ns) = all.iter().map(|grown| grown.start_ns).min() else { return Vec::new() };
        let mut reached: Vec<&GrownPoint> = all.iter().flat_map(|grown| &grown.points).collect();
        reached.sort_unstable_by_key(|point| point.at_ns);
        let (mut curve, mut before) = (Vec::new(), (0, 0.0));
        let (mut counts, mut gets) = (CoarseCounts::default(), CoarseCounts::default());
        for (number, point) in reached.iter().enumerate() {
            counts.add(&point.counts);
            gets.add(&point.gets);
            if (number + 1) % all.len() > 0 && number + 1 < reached.len() {
                continue;
            }
            let records = all.iter().map(|grown| grown.records_by(point.at_ns)).sum();
            let at_s = seconds(point.at_ns.saturating_sub(start_ns));
            let elapsed_s = at_s - before.1;
            if records > before.0 && elapsed_s > 0.0 {
                let p99_ns = coarse_percentile(counts.0.iter().copied(), 99).unwrap_or(0);
                let ops_per_s = (records - before.0) as f64 / elapsed_s;
                let gets = get_times(&std::mem::take(&mut gets), &std::mem::take(&mut counts));
                curve.push(CurvePoint { records, at_s, ops_per_s, p99_ns, gets, ..CurvePoint::default() });
                before = (records, at_s);
            }
        }
        curve
    }

    /// Records stored by then.
    fn records_by(&self, at_ns: u64) -> u64 {
        let after = self.points.partition_point(|point| point.at_ns < at_ns);
        let (from, from_ns) = after
            .checked_sub(1)
            .map_or((0, self.start_ns), |last| (self.points[last].records, self.points[last].at_ns));
        let Some(next) = self.points.get(after) else { return from };
        let share = at_ns.saturating_sub(from_ns) as f64 / next.at_ns.saturating_sub(from_ns).max(1) as f64;
        from + ((next.records - from) as f64 * share) as u64
    }

    /// Returns whether stalls were looked for: not in an open loop.
    pub(crate) fn looks_for_stalls(all: &[Grown]) -> bool {
        all.iter().all(|grown| grown.gaps_are == Gaps::Waiting)
    }

    /// Returns all threads' stalls in order of time. Stalls of several threads that overlap are one.
    pub(crate) fn stalls(all: &[Grown]) -> Vec<Stall> {
        let Some(start_ns) = all.iter().map(|grown| grown.start_ns).min() else { return Vec::new() };
        let mut found: Vec<Stall> = Vec::new();
        let mut pauses: Vec<(&Grown, &Pause)> =
            all.iter().flat_map(|grown| grown.pauses.iter().map(move |pause| (grown, pause))).collect();
        pauses.sort_unstable_by_key(|(_, pause)| pause.start_ns);
        for (grown, pause) in pauses {
            let at_s = seconds(pause.start_ns.saturating_sub(start_ns));
            let duration_s = seconds(pause.end_ns.saturating_sub(pause.start_ns));
            let rate = pause.records as f64 / seconds(pause.start_ns.saturating_sub(grown.start_ns)).max(1e-9);
            let lost_operations = (rate * duration_s) as u64;
            match found.last_mut().filter(|last| at_s < last.at_s + last.duration_s) {
                Some(last) => {
                    last.duration_s = last.duration_s.max(at_s + duration_s - last.at_s);
                    last.lost_operations += lost_operations;
                }
                None => {
                    let records = all.iter().map(|other| other.records_at(pause.start_ns)).sum();
                    found.push(Stall { at_s, records, duration_s, lost_operations, ..Stall::default() });
                }
            }
        }
        found
    }

    /// Records stored at a time, as far as the points say.
    fn records_at(&self, at_ns: u64) -> u64 {
        let own = self.pauses.iter().find(|pause| pause.start_ns == at_ns).map(|pause| pause.records);
        let before = self.points.partition_point(|point| point.at_ns <= at_ns);
        own.unwrap_or_else(|| if before == 0 { 0 } else { self.points[before - 1].records })
    }
}

#[cfg(test)]
mod tests {
    use super::{Gaps, Grown, GrownPoint, Growth};
    use measure::Histograms;
    use measure::{Clock, CoarseCounts};
    use std::time::Duration;

    /// Batches of 100 records a millisecond, with one of 500 ms in the middle.
    fn grown(clock: &Clock, records: u64, threads: u32) -> Grown {
        let ms = clock.ticks(Duration::from_millis(1));
        let (mut growth, mut histograms) =
            (Growth::new(clock, Some(records), threads, Gaps::Waiting), Histograms::default());
        growth.begin(1000);
        let (mut now, own) = (1000, records / u64::from(threads));
        for stored in (100..=own).step_by(100) {
            now += if stored == own / 2 { 500 * ms } else { ms };
            histograms.response[0].record_many(if stored <= own / 2 { 10_000 } else { 80_000 }, 100);
            growth.batch(now, stored, &histograms);
        }
        growth.finish(now, own, &histograms);
        growth.seen(clock, 1000)
    }

    #[test]
    fn a_curve_has_a_point_every_half_percent_and_its_last_one_at_the_end() {
        let clock = Clock::get();
        for threads in [1, 2] {
            let all: Vec<Grown> = (0..threads).map(|_| grown(&clock, 200_000, threads)).collect();
            let curve = Grown::curve(&all);
            assert_eq!((curve.len(), curve.last().map(|point| point.records)), (200, Some(200_000)));
            let rate = curve[10].ops_per_s / (100_000.0 * f64::from(threads));
            assert!((0.99..1.01).contains(&rate), "{:?}", curve[10]);
            let tail = |point: usize| curve[point].p99_ns as f64;
            assert!((tail(10) / 10_000.0 - 1.0).abs() < 0.07 && (tail(150) / 80_000.0 - 1.0).abs() < 0.07);
        }
    }

    #[test]
    fn a_gap_is_no_stall_where_perhaps_nothing_was_due() {
        let clock = Clock::get();
        let seen = |gaps_are| {
            let mut growth = Growth::new(&clock, Some(1000), 1, gaps_are);
            growth.begin(0);
            let ms = clock.ticks(Duration::from_millis(1));
            (1..=50).for_each(|batch| growth.batch(batch * ms, batch, &Histograms::default()));
            growth.batch(550 * ms, 51, &Histograms::default());
            [growth.seen(&clock, 0)]
        };
        assert_eq!(Grown::stalls(&seen(Gaps::Waiting)).len(), 1);
        assert_eq!(Grown::stalls(&seen(Gaps::Paced)), []);
        assert!(Grown::looks_for_stalls(&seen(Gaps::Waiting)) && !Grown::looks_for_stalls(&seen(Gaps::Paced)));
    }

    #[test]
    fn threads_that_take_turns_make_one_even_curve() {
        let turn = |first: u64| {
            let point = |step: u64| GrownPoint {
                records: step * 10,
                at_ns: (first + step) * 1_000_000,
                counts: CoarseCounts::default(),
                gets: CoarseCounts::default(),
            };
            Grown { start_ns: first * 1_000_000, points: (1..=100).map(point).collect(), ..Grown::default() }
        };
        let curve = Grown::curve(&[turn(0), turn(100)]);
        assert_eq!(curve.last().map(|point| (point.records, point.at_s)), Some((2000, 0.2)));
        assert!(curve.iter().all(|point| (point.ops_per_s / 10_000.0 - 1.0).abs() < 0.01), "{curve:?}");
        assert_eq!(curve.len(), 100);
    }

    #[test]
    fn a_stall_is_found_once_with_its_length_and_what_it_cost() {
        let clock = Clock::get();
        for threads in [1, 2] {
            let all: Vec<Grown> = (0..threads).map(|_| grown(&clock, 200_000, threads)).collect();
            let stalls = Grown::stalls(&all);
            assert_eq!(stalls.len(), 1, "{stalls:?}");
            let stall = &stalls[0];
            assert!((stall.duration_s - 0.5).abs() < 0.001, "{stall:?}");
            assert!((stall.lost_operations as f64 / (50_000.0 * f64::from(threads)) - 1.0).abs() < 0.02, "{stall:?}");
            assert!((stall.records as f64 / 100_000.0 - 1.0).abs() < 0.02, "{stall:?}");
        }
    }

    #[test]
    fn batches_that_always_take_long_are_no_stalls_and_what_is_not_watched_has_no_curve() {
        let clock = Clock::get();
        let mut growth = Growth::new(&clock, Some(1000), 1, Gaps::Waiting);
        growth.begin(0);
        for batch in 1..=50 {
            growth.batch(batch * clock.ticks(Duration::from_millis(30)), batch, &Histograms::default());
        }
        assert!(Grown::stalls(&[growth.seen(&clock, 0)]).is_empty());
        assert!(!Growth::new(&clock, None, 1, Gaps::Waiting).watches());
    }
}
