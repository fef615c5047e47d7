//! What the growth of a store comes to: a few figures of its curve.

use study::{CurvePoint, GrowthFacts, TrialRecord};

/// A stretch reads from disk when it reads at least a page per this many records.
const RECORDS_PER_PAGE: u64 = 100;
const PAGE_BYTES: u64 = 4096;
/// Fewer points say nothing about tenths.
const LEAST_POINTS: usize = 20;

/// Returns the figures of a trial whose growth was watched and whose curve has at least 20 points; `logical_bytes` are those the job
/// leaves.
pub fn growth_facts(trial: &TrialRecord, logical_bytes: u64) -> Option<GrowthFacts> {
    // What a later phase does may be paced, and says nothing of how fast the store can be.
    let first_s = trial.phases.iter().find(|phase| phase.timed).map_or(f64::INFINITY, |phase| phase.elapsed_s);
    let free = &trial.curve[..trial.curve.partition_point(|point| point.at_s <= first_s)];
    let (end, last) = (free.last().filter(|_| free.len() >= LEAST_POINTS)?, trial.curve.last()?);
    let tenth = end.records as f64 / 10.0;
    let last_tenth_s = end.at_s - time_of(free, end.records as f64 - tenth);
    let per_byte = |bytes: Option<u64>, of: u64| bytes.filter(|_| of > 0).map(|bytes| bytes as f64 / of as f64);
    Some(GrowthFacts {
        records: last.records,
        first_tenth_per_s: tenth / time_of(free, tenth).max(1e-9),
        last_tenth_per_s: tenth / last_tenth_s.max(1e-9),
        longest_stall_s: trial.stalls.iter().map(|stall| stall.duration_s).fold(0.0, f64::max),
        below_half_share: below_half(free),
        left_memory_at_records: left_memory(&trial.curve),
        disk_bytes_per_byte: per_byte(trial.disk_bytes, logical_bytes),
        written_bytes_per_byte: per_byte(last.written_bytes, trial.bytes_written),
    })
}

/// Seconds after which that many records were stored: between two points as if at an even rate.
fn time_of(curve: &[CurvePoint], records: f64) -> f64 {
    let after = curve.partition_point(|point| (point.records as f64) < records).min(curve.len() - 1);
    let before = if after == 0 { CurvePoint::default() } else { curve[after - 1] };
    let share = (records - before.records as f64) / (curve[after].records - before.records).max(1) as f64;
    before.at_s + share * (curve[after].at_s - before.at_s)
}

/// Share of the time in stretches whose rate is below half of the median.
fn below_half(curve: &[CurvePoint]) -> f64 {
    let rates: Vec<f64> = curve.iter().map(|point| point.ops_per_s).collect();
    let half = stats::median(&rates).unwrap_or_default() / 2.0;
    let mut before_s = 0.0;
    let (mut below_s, mut all_s) = (0.0, 0.0);
    for point in curve {
        let took_s = point.at_s - before_s;
        before_s = point.at_s;
        all_s += took_s;
        below_s += if point.ops_per_s < half { took_s } else { 0.0 };
    }
    if all_s > 0.0 { below_s / all_s } else { 0.0 }
}

/// Records stored at the end of the first stretch that read from disk, where all that followed did so on the whole.
fn left_memory(curve: &[CurvePoint]) -> Option<u64> {
    let last = curve.last()?;
    let reads = |from: &CurvePoint, to: &CurvePoint| {
        let bytes = to.read_bytes.unwrap_or_default().saturating_sub(from.read_bytes.unwrap_or_default());
        bytes >= PAGE_BYTES && bytes / PAGE_BYTES * RECORDS_PER_PAGE >= to.records - from.records
    };
    let found = curve.windows(2).find(|pair| reads(&pair[0], &pair[1]) && reads(&pair[0], last))?;
    Some(found[1].records)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::growth_facts;
    use study::{CurvePoint, PhaseRecord, Stall, TrialRecord};

    /// 100 stretches of 1,000 records; each takes as long, and reads as many bytes, as `each` says of its number.
    fn trial(each: impl Fn(u64) -> (f64, u64)) -> TrialRecord {
        let (mut at_s, mut read_bytes) = (0.0, 0);
        let point = |number: u64| {
            let (took_s, read) = each(number);
            at_s += took_s;
            read_bytes += read;
            CurvePoint {
                records: (number + 1) * 1000,
                at_s,
                ops_per_s: 1000.0 / took_s,
                written_bytes: Some((number + 1) * 2_000_000),
                read_bytes: Some(read_bytes),
                ..CurvePoint::default()
            }
        };
        let curve: Vec<CurvePoint> = (0..100).map(point).collect();
        let run = PhaseRecord { timed: true, elapsed_s: at_s, ..PhaseRecord::default() };
        TrialRecord {
            curve,
            phases: vec![run],
            bytes_written: 100_000_000,
            disk_bytes: Some(150_000_000),
            ..TrialRecord::default()
        }
    }

    #[test]
    fn a_rate_that_sinks_is_seen_in_its_first_and_last_tenth_and_in_how_long_it_was_below_half() {
        let sinking = trial(|number| (if number < 80 { 0.1 } else { 1.0 }, 0));
        let facts = growth_facts(&sinking, 75_000_000).unwrap();
        assert_eq!(facts.records, 100_000);
        assert!((facts.first_tenth_per_s / 10_000.0 - 1.0).abs() < 1e-6, "{facts:?}");
        assert!((facts.last_tenth_per_s / 1000.0 - 1.0).abs() < 1e-6, "{facts:?}");
        assert!((facts.below_half_share - 20.0 / 28.0).abs() < 1e-6, "{facts:?}");
        assert_eq!((facts.disk_bytes_per_byte, facts.written_bytes_per_byte), (Some(2.0), Some(2.0)));
        assert_eq!((facts.longest_stall_s, facts.left_memory_at_records), (0.0, None));
    }

    #[test]
    fn data_have_left_memory_where_reading_from_disk_begins_and_goes_on() {
        let at = |each: &dyn Fn(u64) -> u64| {
            growth_facts(&trial(|number| (0.1, each(number))), 1).unwrap().left_memory_at_records
        };
        assert_eq!(at(&|number| if number < 60 { 0 } else { 1 << 20 }), Some(61_000));
        assert_eq!(at(&|number| if number == 5 { 1 << 20 } else { 0 }), None, "once, when a file was opened");
        assert_eq!(at(&|number| if number < 60 { 0 } else { 4096 }), None, "hardly anything");
    }

    #[test]
    fn what_a_paced_phase_does_is_not_taken_for_the_rate_of_the_store() {
        let mut paced = trial(|number| (if number < 50 { 0.1 } else { 10.0 }, 0));
        paced.phases[0].elapsed_s = 5.01;
        paced.stalls = [0.2, 0.7].map(|duration_s| Stall { duration_s, ..Stall::default() }).into();
        let facts = growth_facts(&paced, 1).unwrap();
        assert!((facts.last_tenth_per_s / 10_000.0 - 1.0).abs() < 1e-6, "{facts:?}");
        assert_eq!((facts.below_half_share, facts.longest_stall_s, facts.records), (0.0, 0.7, 100_000));
    }

    #[test]
    fn too_few_points_say_nothing() {
        let mut short = trial(|_| (0.1, 0));
        short.curve.truncate(19);
        assert_eq!(growth_facts(&short, 1), None);
    }
}
