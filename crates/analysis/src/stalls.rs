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

/// Intervals in a row that are part of one stall.
struct Stretch {
    from_s: f64,
    to_s: f64,
    operations: u64,
    max_ns: u64,
}

/// The stalls a trial's series shows, in order; neighbouring intervals make one.
///
/// An interval is part of a stall when its rate is below a tenth of the median rate (and 20 operations would have been usual), or when its largest response time is at least
/// 10 ms and 50 times the median of all intervals' 99th percentiles. The last interval of a trial is often cut short; rates are per
/// second of its own length. `at_s` is the beginning of the first interval, `duration_s` the longest response where that was long,
/// else the intervals' length; `records` is not known and 0. A cause is not looked for: it takes evidence from outside of the series.
pub fn stalls(series: &[SeriesPoint]) -> Vec<Stall> {
    let rates: Vec<f64> = (0..series.len()).map(|at| series[at].operations as f64 / length_s(series, at)).collect();
    let p99s: Vec<f64> = series.iter().filter(|point| point.operations > 0).map(|point| point.p99_ns as f64).collect();
    let usual_rate = stats::median(&rates).unwrap_or_default();
    let long_ns = LEAST_NS.max((TIMES_P99 * stats::median(&p99s).unwrap_or_default()) as u64);
    let mut found: Vec<Stretch> = Vec::new();
    for (at, point) in series.iter().enumerate() {
        let usual = usual_rate * length_s(series, at);
        let slow = usual >= LEAST_OPERATIONS && rates[at] < RATE_SHARE * usual_rate;
        if !slow && point.max_ns < long_ns {
            continue;
        }
        let from_s = point.at_s - length_s(series, at);
        match found.last_mut().filter(|stretch| stretch.to_s >= from_s - 1e-9) {
            Some(stretch) => {
                stretch.to_s = point.at_s;
                stretch.operations += point.operations;
                stretch.max_ns = stretch.max_ns.max(point.max_ns);
            }
            None => {
                found.push(Stretch { from_s, to_s: point.at_s, operations: point.operations, max_ns: point.max_ns })
            }
        }
    }
    found.iter().map(|stretch| stretch.stall(usual_rate, long_ns)).collect()
}

impl Stretch {
    fn stall(&self, usual_rate: f64, long_ns: u64) -> Stall {
        let length_s = self.to_s - self.from_s;
        let longest_s = self.max_ns as f64 / 1e9;
        let usual = usual_rate * length_s;
        Stall {
            at_s: self.from_s,
            duration_s: if self.max_ns >= long_ns { longest_s } else { length_s },
            lost_operations: (usual - self.operations as f64).max(0.0) as u64,
            evidence: format!(
                "{:.0} % of the usual rate between {} s and {} s, longest response {longest_s:.3} s",
                100.0 * self.operations as f64 / usual.max(1.0),
                tenths(self.from_s),
                tenths(self.to_s)
            ),
            ..Stall::default()
        }
    }
}

/// Rounded to tenths: `4`, `0.3`.
fn tenths(seconds: f64) -> f64 {
    (10.0 * seconds).round() / 10.0
}

fn length_s(series: &[SeriesPoint], at: usize) -> f64 {
    let start_s = at.checked_sub(1).map_or(0.0, |before| series[before].at_s);
    (series[at].at_s - start_s).max(f64::MIN_POSITIVE)
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
        assert_eq!(stall.evidence, "22 % of the usual rate between 4 s and 6 s, longest response 1.500 s");
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
