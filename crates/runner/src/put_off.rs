//! Whether work was put off until the first read: a store may accept writes at once and carry them out only when they are read.
//!
//! The time of reading back, from its begin to its end, is held against that of the timed phases, which is where the work belongs. Like is
//! compared with like: a store reads back slowly only if it is far below its timed rate in operations, in records and in bytes per second
//! alike. A batch carries many records by one operation, a value that grew many appends; each alone would accuse honest stores.

use study::{ReadBackFigures, Reason, ReasonKind};

/// How many times slower reading back may be.
const SLOWER: f64 = 8.0;
/// Shorter times of reading back say nothing, nor do shorter waits.
const NEEDED_S: f64 = 0.25;
/// A single read that took so large a part of the time of all timed work put that work off, however fast the others were.
const WAIT_SHARE: f64 = 0.5;

/// The work of the timed phases.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimedWork {
    pub(crate) operations: u64,
    pub(crate) records: u64,
    /// Key and value bytes written, value bytes read.
    pub(crate) bytes: u64,
    pub(crate) elapsed_s: f64,
}

/// Returns the reason to doubt the timed rate, where there is one.
pub(crate) fn doubt(timed: TimedWork, back: ReadBackFigures) -> Option<Reason> {
    if timed.elapsed_s <= 0.0 || back.elapsed_s < NEEDED_S {
        return None;
    }
    let longest_s = back.longest_ns as f64 / 1e9;
    let waited = longest_s >= NEEDED_S && longest_s >= WAIT_SHARE * timed.elapsed_s;
    let slower = slower(timed, back);
    if !waited && slower < SLOWER {
        return None;
    }
    let rates = format!(
        "{:.0} records per second were read back, {:.0} per second in the timed phases",
        back.records_per_s,
        timed.records as f64 / timed.elapsed_s
    );
    let example = if waited {
        format!("{rates}; one read took {longest_s:.2} s, all timed work {:.2} s", timed.elapsed_s)
    } else {
        rates
    };
    Some(Reason { kind: ReasonKind::SlowReadBack, count: 1, example })
}

/// How many times slower reading back was, in the measure that speaks best for the store.
fn slower(timed: TimedWork, back: ReadBackFigures) -> f64 {
    let of = |timed_count: u64, back_count: u64| match (timed_count, back_count) {
        (0, _) | (_, 0) => f64::INFINITY, // this measure is not known: the others decide
        (timed_count, back_count) => {
            (timed_count as f64 / timed.elapsed_s) / (back_count as f64 / back.elapsed_s.max(f64::MIN_POSITIVE))
        }
    };
    let all =
        [of(timed.operations, back.operations), of(timed.records, back.records), of(timed.bytes, back.bytes_read)];
    let least = all.into_iter().fold(f64::INFINITY, f64::min);
    if least.is_finite() { least } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::{TimedWork, doubt};
    use study::ReadBackFigures;

    const TIMED: TimedWork = TimedWork { operations: 100_000, records: 100_000, bytes: 10_000_000, elapsed_s: 1.0 };

    fn back(operations: u64, records: u64, bytes_read: u64, elapsed_s: f64, longest_s: f64) -> ReadBackFigures {
        let records_per_s = records as f64 / elapsed_s;
        ReadBackFigures {
            operations,
            records,
            bytes_read,
            elapsed_s,
            records_per_s,
            longest_ns: (longest_s * 1e9) as u64,
        }
    }

    #[test]
    fn reading_back_as_fast_as_writing_or_a_few_times_slower_is_no_reason_to_doubt() {
        for elapsed_s in [0.5, 1.0, 5.0] {
            assert_eq!(doubt(TIMED, back(100_000, 100_000, 9_000_000, elapsed_s, 0.01)), None);
        }
    }

    #[test]
    fn reading_back_far_slower_in_every_measure_is_named_with_both_rates() {
        let found = doubt(TIMED, back(100_000, 100_000, 9_000_000, 20.0, 0.01)).map(|reason| reason.example);
        let words = "5000 records per second were read back, 100000 per second in the timed phases";
        assert_eq!(found.as_deref(), Some(words));
        // The figures of a counter have no bytes: records decide.
        assert!(doubt(TIMED, back(100_000, 100_000, 0, 20.0, 0.01)).is_some());
    }

    #[test]
    fn fewer_operations_that_carry_more_and_batches_read_one_by_one_are_like_what_was_written() {
        // A thousand values that grew by a hundred appends each; as many bytes in the same time.
        assert_eq!(doubt(TIMED, back(1_000, 1_000, 9_000_000, 1.0, 0.01)), None);
        // Batches of a thousand, read back one by one at a hundredth of the rate.
        let batches = TimedWork { operations: 100, ..TIMED };
        assert_eq!(doubt(batches, back(100_000, 100_000, 9_000_000, 20.0, 0.01)), None);
    }

    #[test]
    fn one_read_that_waits_for_the_work_of_all_writes_is_named_though_the_others_are_fast() {
        let found = doubt(TIMED, back(100_000, 100_000, 9_000_000, 2.5, 2.0)).map(|reason| reason.example);
        assert!(found.is_some_and(|words| words.ends_with("one read took 2.00 s, all timed work 1.00 s")));
    }

    #[test]
    fn a_short_time_of_reading_back_says_nothing() {
        let short = TimedWork { elapsed_s: 0.001, ..TIMED };
        assert_eq!(doubt(short, back(100_000, 100_000, 9_000_000, 0.2, 0.19)), None);
    }
}
