//! Stretches of a trial in which the store, or the machine, stood still.

use study::{SeriesPoint, Stall, StallSign};

/// A rate below this share of the median rate is a stall.
const RATE_SHARE: f64 = 0.1;

/// A response shorter than this is no stall, whatever others took.
const LEAST_NS: u64 = 10_000_000;

/// A response is long when it takes so many times the median of the intervals' 99th percentiles: where every commit waits for a
/// disk, a wait for the disk is no stall.
const TIMES_P99: u64 = 50;

/// The stalls a trial's series shows, in order; neighbouring intervals make one.
///
/// An interval is part of a stall when its rate is below a tenth of the median rate, or when its largest response time is at least
/// 10 ms and 50 times the median of all intervals' 99th percentiles. The last interval of a trial is often cut short; rates are per
/// second of its own length. A cause is not looked for: it takes evidence from outside of the series.
pub fn stalls(series: &[SeriesPoint]) -> Vec<Stall> {
    let rate = |at: usize| series[at].operations as f64 / length_s(series, at);
    let rates: Vec<f64> = (0..series.len()).map(rate).collect();
    let p99s: Vec<f64> = series.iter().filter(|point| point.operations > 0).map(|point| point.p99_ns as f64).collect();
    let slow_rate = RATE_SHARE * stats::median(&rates).unwrap_or_default();
    let long_ns = LEAST_NS.max((TIMES_P99 as f64 * stats::median(&p99s).unwrap_or_default()) as u64);
    let mut found: Vec<Stall> = Vec::new();
    let mut open = false;
    for (at, point) in series.iter().enumerate() {
        let (slow, long) = (rates[at] < slow_rate, point.max_ns >= long_ns);
        if !slow && !long {
            open = false;
            continue;
        }
        let length_s = length_s(series, at);
        let sign = if slow { StallSign::RateDrop } else { StallSign::LongResponse };
        match found.last_mut().filter(|_| open) {
            Some(stall) => {
                let before_s = stall.to_s - stall.from_s;
                stall.ops_per_s = (stall.ops_per_s * before_s + rates[at] * length_s) / (before_s + length_s);
                stall.to_s = point.at_s;
                stall.max_ns = stall.max_ns.max(point.max_ns);
                stall.sign = stall.sign.max(sign);
            }
            None => found.push(Stall {
                sign,
                from_s: point.at_s - length_s,
                to_s: point.at_s,
                ops_per_s: rates[at],
                max_ns: point.max_ns,
                ..Stall::default()
            }),
        }
        open = true;
    }
    for stall in &mut found {
        let longest_s = stall.max_ns as f64 / 1e9;
        stall.duration_s = if stall.max_ns >= long_ns { longest_s } else { stall.to_s - stall.from_s };
    }
    found
}

fn length_s(series: &[SeriesPoint], at: usize) -> f64 {
    let start_s = at.checked_sub(1).map_or(0.0, |before| series[before].at_s);
    (series[at].at_s - start_s).max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::stalls;
    use study::{SeriesPoint, StallSign};

    /// A point a second: operations, p99 and largest response in microseconds.
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
        assert_eq!((stall.from_s, stall.to_s, stall.sign), (4.0, 6.0, StallSign::RateDrop));
        assert_eq!((stall.duration_s, stall.max_ns, stall.ops_per_s), (1.5, 1_500_000_000, 11_000.0));
    }

    #[test]
    fn a_single_long_answer_is_a_stall_although_the_rate_hardly_shows_it() {
        let mut points = [(1_000_000, 2, 300); 8];
        points[2].2 = 60_000;
        points[6].2 = 9_000;
        let found = stalls(&series(&points));
        assert_eq!(found.iter().map(|stall| (stall.to_s, stall.duration_s)).collect::<Vec<_>>(), [(3.0, 0.06)]);
        assert_eq!(found[0].sign, StallSign::LongResponse);
    }

    #[test]
    fn a_store_that_always_waits_for_its_disk_does_not_stall_by_waiting() {
        assert!(stalls(&series(&[(100, 12_000, 40_000); 10])).is_empty());
        assert!(stalls(&[]).is_empty());
    }

    #[test]
    fn a_steady_rate_and_a_short_last_interval_are_no_stall() {
        let mut steady = series(&[(50_000, 100, 900); 5]);
        steady.push(SeriesPoint { at_s: 5.1, operations: 5_000, p99_ns: 100_000, max_ns: 300_000, errors: 0 });
        assert!(stalls(&steady).is_empty());
    }
}
