//! What the series and the dark times show between a fault and the next.

use analysis::TOGETHER_S;
use study::{DarkTime, FaultRecord, SeriesPoint};

/// Returns, of the parts of the key space that were dark from a moment to another: the longest time one was, and the largest share of the
/// keys that was at the same time. A time belongs to the window it begins in, as what is about to fail may have an operation in flight
/// already.
pub(super) fn darkest(dark: &[DarkTime], from_s: f64, until_s: f64) -> (f64, f64) {
    let begins = |it: &&DarkTime| (from_s - TOGETHER_S..until_s).contains(&it.from_s) && it.until_s > from_s;
    let dark: Vec<&DarkTime> = dark.iter().filter(begins).collect();
    let longest_s = dark.iter().map(|it| it.until_s - it.from_s).fold(0.0, f64::max);
    let at = |time: f64| dark.iter().filter(|it| it.from_s <= time && time < it.until_s).map(|it| it.share).sum();
    (longest_s, dark.iter().map(|it| at(it.from_s)).fold(0.0, f64::max).min(1.0))
}

/// Returns whether operations failed before the first fault: then it is not to blame for what failed. Timed phases that were over before
/// it took `over_s`: the series leaves out the untimed ones between them, so that after the first of them it lags behind the clock of
/// faults.
pub(crate) fn failed_before(series: &[SeriesPoint], faults: &[FaultRecord], over_s: f64) -> bool {
    let first_s = faults.iter().filter_map(|fault| fault.at_s).fold(f64::INFINITY, f64::min);
    let first_s = if over_s > 0.0 { first_s.min(over_s) } else { first_s };
    series.iter().take_while(|point| point.at_s <= first_s).any(|point| point.errors > 0)
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Window {
    pub(super) gap_s: f64,
    pub(super) resolution_s: f64,
    pub(super) failed: u64,
}

/// Returns what the series shows from a moment to another. An interval belongs to the window it ends in; where no interval has a good
/// reply, none came. The series ends with the last reply, the window may end later.
pub(super) fn window(series: &[SeriesPoint], from_s: f64, to_s: f64) -> Window {
    let (mut begin_s, mut good_s) = (0.0, from_s);
    let mut seen = Window { gap_s: 0.0, resolution_s: 0.0, failed: 0 };
    for point in series {
        let overlaps = point.at_s > from_s && begin_s < to_s;
        if overlaps {
            seen.resolution_s = seen.resolution_s.max(point.at_s - begin_s);
        }
        if overlaps && point.operations > point.errors {
            seen.gap_s = seen.gap_s.max(begin_s - good_s);
            good_s = point.at_s;
        }
        if point.at_s > from_s && point.at_s <= to_s {
            seen.failed += point.errors;
        }
        begin_s = point.at_s;
    }
    seen.gap_s = seen.gap_s.max(to_s - good_s);
    seen
}

#[cfg(test)]
mod tests {
    use super::{darkest, failed_before, window};
    use study::{DarkTime, FaultRecord, SeriesPoint};

    #[test]
    fn the_gap_after_a_fault_is_the_longest_time_without_a_good_reply() {
        let point = |at_s, operations, errors| SeriesPoint { at_s, operations, errors, ..SeriesPoint::default() };
        let series = [point(1.0, 5, 1), point(2.0, 5, 0), point(3.0, 4, 4), point(4.0, 0, 0), point(5.0, 5, 2)];
        let seen = window(&series, 1.5, 5.0);
        assert_eq!((seen.gap_s, seen.resolution_s, seen.failed), (2.0, 1.0, 6));
        // Nothing came after: the end of the phase ends the gap.
        assert_eq!(window(&series[..2], 1.5, 9.0).gap_s, 7.0);
        // What failed before it is not counted.
        assert_eq!(window(&series, 5.0, 5.0).failed, 0);
    }

    #[test]
    fn what_failed_before_the_first_fault_is_not_its_doing() {
        let point = |at_s, errors| SeriesPoint { at_s, operations: 5, errors, ..SeriesPoint::default() };
        let fault = |at_s| FaultRecord { at_s, ..FaultRecord::default() };
        let series = [point(1.0, 0), point(2.0, 0), point(3.0, 4)];
        assert!(!failed_before(&series, &[fault(Some(7.0)), fault(Some(2.5))], 0.0));
        assert!(failed_before(&series, &[fault(Some(3.5)), fault(None)], 0.0));
        // The second phase began at 2.5 s, by the clock of the series.
        assert!(!failed_before(&series, &[fault(Some(3.5))], 2.5));
    }

    #[test]
    fn the_share_that_was_dark_is_that_of_parts_that_were_at_the_same_time() {
        let dark = |part, share, from_s, until_s| DarkTime { part, share, from_s, until_s };
        let all = [dark(0, 0.25, 1.0, 2.0), dark(1, 0.5, 1.5, 1.75), dark(2, 0.25, 3.0, 4.5), dark(0, 0.25, 9.0, 9.5)];
        assert_eq!(darkest(&all, 1.05, 5.0), (1.5, 0.75));
        assert_eq!(darkest(&all, 2.5, 5.0), (1.5, 0.25));
        assert_eq!(darkest(&all, 5.0, 8.0), (0.0, 0.0));
    }
}
