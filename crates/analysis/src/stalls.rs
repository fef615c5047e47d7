//! Stretches of a trial in which the store, or the machine, stalled, as far as its series shows them.

use study::{SeriesPoint, Stall};

/// A rate below this share of the median rate is a stall.
const RATE_SHARE: f64 = 0.1;

/// A response shorter than this is no stall, whatever others took.
const LEAST_NS: u64 = 10_000_000;

/// A response is long when it takes this many times the median of the intervals' 99th percentiles: where every commit waits for a
/// disk, a wait for the disk is no stall.
const TIMES_P99: f64 = 50.0;

/// An interval is judged by its rate only where this many operations are usual in it: of fewer, chance alone omits some.
const LEAST_OPERATIONS: f64 = 20.0;

/// More than this many times the usual rate after a stall is a burst: of what was due in the meantime.
const BURST: f64 = 2.0;

/// A wait shorter than this share of the intervals it may touch is not seen in their rate: it varies as much by itself.
const VISIBLE_SHARE: f64 = 0.1;

/// What an interval of the series is of a stall.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// None: it was answered.
    Answered,
    /// Hardly anything was answered in it.
    Quiet,
    /// The wait ended in it; what was due may have come in a burst.
    Last,
}

/// Intervals in a row that are part of one stall.
struct Stretch<'s> {
    series: &'s [SeriesPoint],
    roles: &'s [Role],
    first: usize,
    last: usize,
}

/// Returns the stalls a trial's series shows, in order; neighbouring intervals make one.
///
/// A stall is a time in which hardly anything was answered. An interval is part of one when its rate is below a tenth of the median rate (and
/// 20 operations would have been usual), or when an answer that came in it took at least 10 ms and 50 times the median of all intervals' 99th
/// percentiles, and the others were not answered meanwhile: of the intervals that lie within its wait as a whole, the rate is below a
/// tenth; where none does, the intervals around lack at least half of what such a wait costs, if it is long enough to be seen in them. The last interval of a trial is often
/// cut short; rates are per second of its own length. `at_s` is the beginning of the first interval, `duration_s` the longest response where that was long,
/// else the intervals' length; `records` is not known and 0. A cause is not looked for: it takes evidence from outside of the series.
pub fn stalls(series: &[SeriesPoint]) -> Vec<Stall> {
    let rates: Vec<f64> = (0..series.len()).map(|at| series[at].operations as f64 / length_s(series, at)).collect();
    let p99s: Vec<f64> = series.iter().filter(|point| point.operations > 0).map(|point| point.p99_ns as f64).collect();
    let usual_rate = stats::median(&rates).unwrap_or_default();
    let long_ns = LEAST_NS.max((TIMES_P99 * stats::median(&p99s).unwrap_or_default()) as u64);
    let is_slow =
        |at: usize| usual_rate * length_s(series, at) >= LEAST_OPERATIONS && rates[at] < RATE_SHARE * usual_rate;
    let mut roles: Vec<Role> =
        (0..series.len()).map(|at| if is_slow(at) { Role::Quiet } else { Role::Answered }).collect();
    for at in (0..series.len()).filter(|at| series[*at].max_ns >= long_ns) {
        let Some(first) = first_quiet(series, at, usual_rate) else { continue };
        roles[first..at].fill(Role::Quiet);
        if !is_slow(at) {
            roles[at] = Role::Last;
        }
    }
    let mut found: Vec<Stretch<'_>> = Vec::new();
    for at in (0..series.len()).filter(|at| roles[*at] != Role::Answered) {
        match found.last_mut().filter(|stretch| stretch.last + 1 == at) {
            Some(stretch) => stretch.last = at,
            None => found.push(Stretch { series, roles: &roles, first: at, last: at }),
        }
    }
    found.iter().map(|stretch| stretch.stall(usual_rate, long_ns)).collect()
}

/// Of a long response that came in this interval: the first interval of those in which hardly anything else was answered either, itself where
/// its wait has none to itself; `None` where the others were answered.
fn first_quiet(series: &[SeriesPoint], at: usize, usual_rate: f64) -> Option<usize> {
    let wait_s = series[at].max_ns as f64 / 1e9;
    let waits_from_s = series[at].at_s - wait_s;
    let first = (0..at).find(|before| begin_s(series, *before) >= waits_from_s - 1e-9).unwrap_or(at);
    let operations = |from: usize, to: usize| series[from..to].iter().map(|point| point.operations).sum::<u64>() as f64;
    if first < at {
        let usual = usual_rate * (begin_s(series, at) - begin_s(series, first));
        return (usual < 1.0 || operations(first, at) < RATE_SHARE * usual).then_some(first);
    }
    let around = at.saturating_sub(1);
    let around_s = series[at].at_s - begin_s(series, around);
    let is_visible = wait_s >= VISIBLE_SHARE * around_s && usual_rate * wait_s >= 1.0;
    let lacks = usual_rate * around_s - operations(around, at + 1) >= usual_rate * wait_s / 2.0;
    (!is_visible || lacks).then_some(at)
}

impl Stretch<'_> {
    fn stall(&self, usual_rate: f64, long_ns: u64) -> Stall {
        let points = &self.series[self.first..=self.last];
        let (from_s, to_s) = (begin_s(self.series, self.first), self.series[self.last].at_s);
        let max_ns = points.iter().map(|point| point.max_ns).max().unwrap_or_default();
        let operations: u64 = points.iter().map(|point| point.operations).sum();
        let lost = usual_rate * (to_s - from_s) - operations as f64;
        Stall {
            at_s: from_s,
            duration_s: if max_ns >= long_ns { max_ns as f64 / 1e9 } else { to_s - from_s },
            lost_operations: lost.max(0.0) as u64,
            evidence: self.evidence(usual_rate, max_ns as f64 / 1e9),
            ..Stall::default()
        }
    }

    /// The rate while hardly anything was answered, and the burst after it.
    fn evidence(&self, usual_rate: f64, longest_s: f64) -> String {
        let own = self.first..=self.last;
        let quiet: Vec<usize> = own.clone().filter(|at| self.roles[*at] == Role::Quiet).collect();
        let (first, last) = match (quiet.first(), quiet.last()) {
            (Some(first), Some(last)) => (*first, *last),
            _ => (self.first, self.last),
        };
        let (from_s, to_s) = (begin_s(self.series, first), self.series[last].at_s);
        let of = |at: usize| self.series[at].operations as f64;
        let share = (first..=last).map(of).sum::<f64>() / (usual_rate * (to_s - from_s)).max(1.0);
        let burst = own
            .filter(|at| self.roles[*at] == Role::Last)
            .map(|at| of(at) / (usual_rate * length_s(self.series, at)).max(1.0))
            .fold(0.0, f64::max);
        let after =
            if burst > BURST { format!(", then a burst of {burst:.0} times the usual rate") } else { String::new() };
        let rate = match (quiet.is_empty(), share) {
            (false, 0.0) => "no answers".to_owned(),
            (true, 0.9..) => {
                return format!("longest response {longest_s:.3} s, shorter than the rate over time can show");
            }
            _ => format!("{:.0} % of the usual rate", 100.0 * share),
        };
        format!("{rate} between {} s and {} s, longest response {longest_s:.3} s{after}", tenths(from_s), tenths(to_s))
    }
}

/// Rounded to tenths: `4`, `0.3`.
fn tenths(seconds: f64) -> f64 {
    (10.0 * seconds).round() / 10.0
}

fn begin_s(series: &[SeriesPoint], at: usize) -> f64 {
    at.checked_sub(1).map_or(0.0, |before| series[before].at_s)
}

fn length_s(series: &[SeriesPoint], at: usize) -> f64 {
    (series[at].at_s - begin_s(series, at)).max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::stalls;
    use study::SeriesPoint;

    /// One point per second: operations, p99 and largest response in microseconds.
    fn series(points: &[(u64, u64, u64)]) -> Vec<SeriesPoint> {
        let point = |(at, &(operations, p99_us, max_us)): (usize, &(u64, u64, u64))| SeriesPoint {
            at_s: at as f64 + 1.0,
            operations,
            errors: 0,
            p99_ns: p99_us * 1000,
            max_ns: max_us * 1000,
        };
        points.iter().enumerate().map(point).collect()
    }

    #[test]
    fn a_frozen_store_is_one_stall_with_its_length() {
        let mut points = [(50_000, 100, 900); 10];
        points[4] = (2_000, 100, 400);
        points[5] = (20_000, 120, 1_500_000);
        let found = stalls(&series(&points));
        assert_eq!(found.len(), 1, "{found:?}");
        let stall = &found[0];
        assert_eq!((stall.at_s, stall.duration_s, stall.lost_operations), (4.0, 1.5, 78_000));
        assert_eq!(stall.evidence, "4 % of the usual rate between 4 s and 5 s, longest response 1.500 s");
        assert_eq!(stall.cause, None);
    }

    #[test]
    fn a_single_long_answer_is_a_stall_although_the_rate_hardly_shows_it() {
        let mut points = [(1_000_000, 2, 300); 8];
        points[2].2 = 60_000;
        points[6].2 = 9_000;
        let found = stalls(&series(&points));
        assert_eq!(found.iter().map(|stall| (stall.at_s, stall.duration_s)).collect::<Vec<_>>(), [(2.0, 0.06)]);
    }

    /// Intervals of a tenth of a second at 50 operations per second, as an open loop asks.
    fn paced(change: impl Fn(usize) -> Option<(u64, u64)>) -> Vec<SeriesPoint> {
        let point = |at: usize| {
            let (operations, max_ms) = change(at).unwrap_or((5, 2));
            SeriesPoint {
                at_s: (at + 1) as f64 / 10.0,
                operations,
                errors: 0,
                p99_ns: 900_000,
                max_ns: max_ms * 1_000_000,
            }
        };
        (0..60).map(point).collect()
    }

    #[test]
    fn a_burst_after_a_stall_is_named_as_that_and_the_stall_is_the_time_before_it() {
        // Nothing from 2 s to 3.1 s, then all that was due at once, and a tail of the backlog.
        let series = paced(|at| match at {
            20..=30 => Some((0, 0)),
            31 => Some((60, 1_100)),
            32 => Some((6, 1_000)),
            _ => None,
        });
        let found = stalls(&series);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!((found[0].at_s - 2.1).abs() < 0.11 && (found[0].duration_s - 1.1).abs() < 1e-9, "{found:?}");
        let evidence = &found[0].evidence;
        assert!(evidence.starts_with("no answers between 2.1 s and 3.1 s"), "{evidence}");
        assert!(evidence.ends_with("then a burst of 12 times the usual rate"), "{evidence}");
    }

    #[test]
    fn a_long_answer_while_the_others_were_answered_is_no_stall() {
        assert!(stalls(&paced(|at| (at == 30).then_some((5, 1_100)))).is_empty());
        // Too short to have an interval to itself, but long enough to be seen in the rate, which did not fall.
        let mut steady = [(50_000, 100, 900); 10];
        steady[4] = (52_500, 100, 700_000);
        assert!(stalls(&series(&steady)).is_empty(), "{:?}", stalls(&series(&steady)));
        steady[4].0 = 15_000;
        assert_eq!(stalls(&series(&steady)).len(), 1);
    }

    #[test]
    fn a_store_that_always_waits_for_its_disk_does_not_stall_by_waiting() {
        assert!(stalls(&series(&[(100, 12_000, 40_000); 10])).is_empty());
        assert!(stalls(&[]).is_empty());
    }

    #[test]
    fn short_intervals_with_few_operations_each_do_not_stall_by_chance() {
        let at = |(at, operations): (usize, u64)| SeriesPoint {
            at_s: (at + 1) as f64 / 10.0,
            operations,
            p99_ns: 900_000,
            max_ns: 1_000_000,
            ..SeriesPoint::default()
        };
        let rare = [3, 1, 0, 4, 0, 2, 3, 0, 3, 2].into_iter().enumerate().map(at);
        assert!(stalls(&rare.collect::<Vec<_>>()).is_empty());
        let many = [300, 310, 0, 290, 305].into_iter().enumerate().map(at);
        let found = stalls(&many.collect::<Vec<_>>());
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].evidence.contains("between 0.2 s and 0.3 s"), "{found:?}");
    }

    #[test]
    fn a_steady_rate_and_a_short_last_interval_are_no_stall() {
        let mut steady = series(&[(50_000, 100, 900); 5]);
        steady.push(SeriesPoint { at_s: 5.1, operations: 5_000, p99_ns: 100_000, max_ns: 300_000, errors: 0 });
        assert!(stalls(&steady).is_empty());
    }
}
