//! What a trial at a rate says of that rate.

use crate::bound::Bound;
use crate::rate::{Course, RateSeen};
use std::time::Duration;
use study::{RatePoint, ReasonKind, Status, TrialRecord};

/// Fewest operations of a trial that say anything.
const LEAST_OPERATIONS: u64 = 10;
/// How much less than a rate may be due in a trial: a share of it, and standard deviations of random arrivals. Where the trial ends with
/// its last reply and not at a time, that reply makes it longer.
const LESS_BY_TIME: f64 = 0.01;
const LESS_BY_OPERATIONS: f64 = 0.05;
const DEVIATIONS: f64 = 4.0;
/// The client was at its limit, or had no processor: a bound that was broken then was not broken by the store. How late it was by itself is
/// measured against the bound.
const OF_THE_CLIENT: [ReasonKind; 2] = [ReasonKind::ClientSaturated, ReasonKind::ClientDelayed];

/// Units per second, where units are due and not operations.
pub(super) fn units_per_s(record: &TrialRecord) -> Option<f64> {
    analysis::Metric::UnitsPerS.of_trial(record)
}

/// Returns the rate a trial reached, counted as it was offered: in units of several operations, or in operations.
pub(super) fn rate_of(record: &TrialRecord) -> f64 {
    units_per_s(record).unwrap_or(record.ops_per_s)
}

/// Returns whether anything but too high a rate is wrong with a trial.
pub(super) fn is_fault(record: &TrialRecord) -> bool {
    // At a low rate of random arrivals a short trial may have none.
    let by_load = [ReasonKind::NotSent, ReasonKind::Deadline, ReasonKind::NothingMeasured];
    let mut reasons = record.verdict.reasons.iter();
    reasons.any(|reason| reason.kind.status() == Status::Void && !by_load.contains(&reason.kind))
}

/// Returns whether as much was due as the rate asks for. A job that deals its work unevenly, or has too little of it, offers less; then
/// its response times say nothing of the rate.
fn was_offered(record: &TrialRecord, ops_per_s: f64, duration: Option<Duration>) -> bool {
    let timed = record.phases.iter().filter(|phase| phase.timed).count().max(1);
    let over_s = record.makespan_s;
    let (over_s, less) = match duration {
        Some(duration) => (over_s.min(duration.as_secs_f64() * timed as f64), LESS_BY_TIME),
        None => (over_s, LESS_BY_OPERATIONS),
    };
    let due = match units_per_s(record) {
        // The last unit of each client may not have been counted.
        Some(units) => units * record.makespan_s + f64::from(record.client_threads.max(1)),
        None => record.operations as f64,
    };
    let asked = ops_per_s * over_s;
    due + record.not_sent as f64 >= asked * (1.0 - less) - DEVIATIONS * asked.sqrt() - 1.0
}

pub(super) fn judge(record: &TrialRecord, bound: Bound, ops_per_s: f64, duration: Option<Duration>) -> RateSeen {
    let latency = &record.latency_ns;
    // What rests on a few operations says nothing, and must not pass for a bound that is kept.
    let enough = latency.response.n >= LEAST_OPERATIONS;
    let figure_ns = if enough { bound.figure(&latency.response) } else { f64::MAX };
    let kept_up = record.not_sent == 0 && record.verdict.is_ranked();
    let is_broken = !kept_up || figure_ns >= bound.limit_ns;
    // The client is to blame when without its own lateness the bound might have been kept.
    let late = enough && bound.figure(&latency.client_lag) > bound.limit_ns.min(figure_ns) / 2.0;
    let saturated = record.verdict.reasons.iter().any(|reason| OF_THE_CLIENT.contains(&reason.kind));
    let course = match kept_up {
        _ if is_broken && (late || saturated) => Course::ClientLate,
        false => Course::Behind,
        true if !is_broken && !was_offered(record, ops_per_s, duration) => Course::NotOffered,
        true => Course::KeptUp,
    };
    RateSeen { figure_ns, course }
}

/// Returns the rates that were tried, in order.
pub(super) fn points(tried: &[(f64, TrialRecord)], bound: Bound, duration: Option<Duration>) -> Vec<RatePoint> {
    let mut rates: Vec<f64> = tried.iter().map(|(rate, _)| *rate).collect();
    rates.sort_by(f64::total_cmp);
    rates.dedup();
    let point = |rate: f64| {
        let here: Vec<&TrialRecord> = tried.iter().filter(|(at, _)| *at == rate).map(|(_, record)| record).collect();
        let median = |figure: &dyn Fn(&TrialRecord) -> f64| {
            stats::median(&here.iter().map(|record| figure(record)).collect::<Vec<_>>()).unwrap_or_default()
        };
        let seen: Vec<RateSeen> = here.iter().map(|record| judge(record, bound, rate, duration)).collect();
        let times = |course: Course| seen.iter().filter(|one| one.course == course).count() as u32;
        RatePoint {
            offered_ops_per_s: rate,
            achieved_ops_per_s: median(&rate_of),
            p50_ns: median(&|record| record.latency_ns.response.p50 as f64),
            p99_ns: median(&|record| record.latency_ns.response.p99 as f64),
            p99_9_ns: median(&|record| record.latency_ns.response.p99_9 as f64),
            n: here.len() as u32,
            within: seen.iter().filter(|one| one.is_within(bound.limit_ns)).count() as u32,
            client_late: times(Course::ClientLate),
            not_offered: times(Course::NotOffered),
        }
    };
    rates.into_iter().map(point).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{Bound, Course, judge};
    use std::time::Duration;
    use study::{Latencies, LatencySummary, Reason, ReasonKind, TrialRecord, Verdict};

    const STEP: Duration = Duration::from_secs(5);

    fn bound() -> Bound {
        "p99<2ms".parse().unwrap()
    }

    fn summary(p99: u64) -> LatencySummary {
        LatencySummary { n: 5_000, p99, ..LatencySummary::default() }
    }

    /// Five seconds in which this many operations were answered, 99 of 100 of them within 1 ms.
    fn trial(operations: u64) -> TrialRecord {
        TrialRecord {
            makespan_s: 5.001,
            operations,
            latency_ns: Latencies { response: summary(1_000_000), ..Latencies::default() },
            verdict: Verdict::of([]),
            ..TrialRecord::default()
        }
    }

    #[test]
    fn a_trial_in_which_less_was_due_than_its_rate_asks_for_says_nothing_of_that_rate() {
        for (operations, course) in
            [(5_000, Course::KeptUp), (4_800, Course::KeptUp), (4_500, Course::NotOffered), (338, Course::NotOffered)]
        {
            assert_eq!(judge(&trial(operations), bound(), 1_000.0, Some(STEP)).course, course, "{operations}");
        }
        let unsent = TrialRecord { not_sent: 200, ..trial(4_800) };
        assert_eq!(judge(&unsent, bound(), 1_000.0, Some(STEP)).course, Course::Behind);
        // A trial by operations: 500 of them take half a second at 1,000 per second.
        let short = TrialRecord { makespan_s: 0.5, ..trial(500) };
        assert_eq!(judge(&short, bound(), 1_000.0, None).course, Course::KeptUp);
        assert_eq!(judge(&short, bound(), 10_000.0, None).course, Course::NotOffered);
    }

    #[test]
    fn a_step_at_which_the_client_was_saturated_is_not_held_against_the_store() {
        let reason = |kind| Verdict::of([Reason { kind, count: 1, example: String::new() }]);
        let broken = Latencies { response: summary(9_000_000), ..Latencies::default() };
        for kind in [ReasonKind::ClientSaturated, ReasonKind::ClientDelayed] {
            let slow = TrialRecord { latency_ns: broken.clone(), verdict: reason(kind), ..trial(5_000) };
            assert_eq!(judge(&slow, bound(), 1_000.0, Some(STEP)).course, Course::ClientLate);
            let kept = TrialRecord { verdict: reason(kind), ..trial(5_000) };
            assert_eq!(
                judge(&kept, bound(), 1_000.0, Some(STEP)).course,
                Course::KeptUp,
                "the bound was kept all the same"
            );
        }
        let noisy = TrialRecord { latency_ns: broken, verdict: reason(ReasonKind::OtherLoad), ..trial(5_000) };
        assert_eq!(judge(&noisy, bound(), 1_000.0, Some(STEP)).course, Course::KeptUp);
    }
}
