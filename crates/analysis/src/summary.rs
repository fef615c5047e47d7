//! A cell's figures and verdict from its trials.

use crate::latencies::latencies;
use crate::metric::{failed_operations, of_all_trials, quantity};
use crate::{Metric, growth_facts};
use study::{Answer, Cell, Quantity, Reason, ReasonKind, Status, TrialRecord, Verdict};

/// Fills in a cell's summary from its counted trials; warm-ups never count. Call it again after every trial.
///
/// Figures are medians over trials with their interval (see `stats::median_interval` for what few trials can claim); trials that
/// completed no operation have no time to contribute. Latencies and the share that failed are of all operations of all trials together, and have the
/// interval of those of the trials. Counters are sums. The verdict holds the reasons of all counted trials, and
/// one more when trials disagree about the answer. A cell without counted trials was not run: it keeps the reason it was given, or
/// gets the plain one.
pub fn summarise(cell: &mut Cell) {
    let counted: Vec<&TrialRecord> = cell.trials.iter().filter(|trial| !trial.warmup).collect();
    if counted.is_empty() {
        return settle_unrun(cell);
    }
    let timed: Vec<&TrialRecord> = counted.iter().copied().filter(|trial| trial.operations > 0).collect();
    let over =
        |metric: Metric| quantity(&counted.iter().filter_map(|trial| metric.of_trial(trial)).collect::<Vec<_>>());

    let makespan_s = over(Metric::Makespan);
    let ops_per_s = over(Metric::OpsPerS);
    let units_per_s = over(Metric::UnitsPerS);
    let offered_per_s = quantity(&counted.iter().filter_map(|trial| trial.offered_per_s).collect::<Vec<_>>());
    let client_cpu_s = over(Metric::ClientCpu);
    let server_cpu_s = over(Metric::ServerCpu);
    let server_rss_bytes = over(Metric::ServerRss);
    let disk_bytes = over(Metric::Disk);
    let (latency_ns, p99_ns) = latencies(&timed);
    let failed_share = failed_share(&timed, &Metric::Failed.samples(cell));
    let by_phase = crate::phases::by_phase(&timed);
    let sum = |figure: fn(&TrialRecord) -> u64| counted.iter().map(|trial| figure(trial)).fold(0, u64::saturating_add);
    let (hits, misses) = (sum(|trial| trial.hits), sum(|trial| trial.misses));
    let (errors, retries) = (sum(|trial| trial.errors), sum(|trial| trial.retries));
    let resent = sum(|trial| trial.resent);
    let median = median_trial(cell);
    let growth = median.map(|trial| (trial.curve.clone(), trial.stalls.clone())).unwrap_or_default();
    let growth_facts = median.and_then(|trial| growth_facts(trial, cell.logical_bytes));
    let (answer, disagreement) = common_answer(&counted);
    let verdict =
        Verdict::of(counted.iter().flat_map(|trial| trial.verdict.reasons.iter().cloned()).chain(disagreement));

    let faulted: Vec<&TrialRecord> = counted.iter().copied().filter(|trial| !trial.faults.is_empty()).collect();
    let lost: Option<Vec<f64>> = faulted.iter().map(|trial| Some(trial.writes?.lost as f64)).collect();
    let lost_writes = quantity(&lost.unwrap_or_default());
    let faults = crate::fault_figures(cell);

    (cell.faults, cell.lost_writes) = (faults, lost_writes);
    cell.makespan_s = makespan_s;
    cell.ops_per_s = ops_per_s;
    (cell.units_per_s, cell.offered_per_s) = (units_per_s, offered_per_s);
    cell.p99_ns = p99_ns;
    cell.failed_share = failed_share;
    cell.client_cpu_s = client_cpu_s;
    cell.server_cpu_s = server_cpu_s;
    cell.server_rss_bytes = server_rss_bytes;
    cell.disk_bytes = disk_bytes;
    cell.latency_ns = latency_ns;
    cell.by_phase = by_phase;
    (cell.hits, cell.misses, cell.errors, cell.retries) = (hits, misses, errors, retries);
    cell.resent = resent;
    let rates = counted.iter().filter_map(|trial| trial.read_back).map(|back| back.records_per_s);
    cell.read_back_per_s = quantity(&rates.filter(|rate| *rate > 0.0).collect::<Vec<_>>());
    (cell.curve, cell.stalls) = growth;
    cell.growth = growth_facts;
    cell.answer = answer;
    cell.verdict = verdict;
}

/// Mends the verdict of a cell that was read: without counted trials and figures it is not valid, whatever older builds wrote, as
/// nothing is known of it; with them it was run.
pub fn settle_unrun(cell: &mut Cell) {
    if cell.was_run() && cell.verdict.status == Status::NotRun {
        cell.verdict = Verdict::of(cell.counted().flat_map(|trial| trial.verdict.reasons.iter().cloned()));
    }
    let unjudged = cell.verdict.reasons.is_empty() && cell.verdict.status <= Status::Valid;
    if unjudged && !cell.was_run() && cell.makespan_s.is_none() {
        let example = match cell.trials.len() {
            0 => String::new(),
            warmups => format!("{warmups} uncounted"),
        };
        cell.verdict = Verdict::not_run(Reason { kind: ReasonKind::NoTrial, count: 1, example });
    }
}

/// Returns the counted trial with the median makespan, of an even number the faster of the two in the middle: it stands for its cell where
/// one trial is drawn. Trials that completed nothing are left out.
pub fn median_trial(cell: &Cell) -> Option<&TrialRecord> {
    let mut trials: Vec<&TrialRecord> = cell.counted().filter(|trial| trial.operations > 0).collect();
    trials.sort_by(|a, b| a.makespan_s.total_cmp(&b.makespan_s));
    trials.get(trials.len().checked_sub(1)? / 2).copied()
}

/// The answer most trials gave (the first such), and a reason when others gave another one. Trials without an answer have
/// failed, and their own verdict says how.
fn common_answer(counted: &[&TrialRecord]) -> (Answer, Option<Reason>) {
    let mut answered: Vec<&TrialRecord> =
        counted.iter().copied().filter(|trial| !trial.answer.digest.is_empty()).collect();
    // What failed in a fault may have taken effect or not: such answers differ from trial to trial, and nothing follows from that.
    if answered.iter().any(|trial| trial.failed_in_fault()) {
        let first = answered.first().map(|trial| trial.answer.clone());
        answered.retain(|trial| !trial.failed_in_fault());
        if answered.is_empty() {
            return (first.unwrap_or_default(), None);
        }
    }
    let given = |digest: &str| answered.iter().filter(|trial| trial.answer.digest == digest).count();
    let Some(common) = answered.iter().rev().max_by_key(|trial| given(&trial.answer.digest)) else {
        let facts = counted.first().map(|trial| trial.answer.clone());
        return (facts.unwrap_or_default(), None);
    };
    let other = answered.iter().find(|trial| trial.answer.digest != common.answer.digest);
    let disagreement = other.map(|other| Reason {
        kind: ReasonKind::WrongAnswer,
        count: (answered.len() - given(&common.answer.digest)) as u64,
        example: format!(
            "trial {} answered {}, trial {} answered {}",
            other.order, other.answer.digest, common.order, common.answer.digest
        ),
    });
    (common.answer.clone(), disagreement)
}

/// The share of all operations that failed; `None` where trials of earlier builds do not say it.
fn failed_share(timed: &[&TrialRecord], samples: &[f64]) -> Option<Quantity> {
    let failed: Option<f64> = timed.iter().map(|trial| Some(failed_operations(trial)? as f64)).sum();
    let asked: f64 = timed.iter().map(|trial| trial.operations as f64).sum();
    of_all_trials(failed? / asked.max(1.0), samples)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::summarise;
    use study::{
        Answer, Cell, FailedCounts, FaultRecord, Latencies, LatencySummary, Reason, ReasonKind, Status, TrialRecord,
        Verdict,
    };

    fn trial(order: u32, makespan_s: f64, digest: &str) -> TrialRecord {
        let response = LatencySummary { n: 100, mean: 50.0, p99: u64::from(order) * 1000, ..LatencySummary::default() };
        TrialRecord {
            order,
            makespan_s,
            operations: 1000,
            ops_per_s: 1000.0 / makespan_s,
            hits: 10,
            latency_ns: Latencies { response, ..Latencies::default() },
            answer: Answer { digest: digest.into(), ..Answer::default() },
            ..TrialRecord::default()
        }
    }

    #[test]
    fn warm_ups_never_count() {
        let warmup = TrialRecord { warmup: true, hits: 99, ..trial(1, 50.0, "other") };
        let mut cell = Cell { trials: vec![warmup, trial(2, 2.0, "a"), trial(3, 4.0, "a")], ..Cell::default() };
        summarise(&mut cell);
        let makespan = cell.makespan_s.unwrap();
        assert_eq!((makespan.low, makespan.value, makespan.high, makespan.n), (2.0, 3.0, 4.0, 2));
        assert_eq!((cell.hits, cell.verdict.status), (20, Status::Valid));
        assert_eq!(cell.p99_ns.unwrap().value, 2500.0);
        assert_eq!((cell.latency_ns.response.n, cell.latency_ns.response.p99), (200, 2500));
    }

    #[test]
    fn one_trial_gives_a_value_without_an_interval() {
        let mut cell = Cell { trials: vec![trial(1, 2.0, "a")], ..Cell::default() };
        summarise(&mut cell);
        let makespan = cell.makespan_s.unwrap();
        assert_eq!((makespan.value, makespan.low, makespan.level, makespan.n), (2.0, 2.0, 0.0, 1));
    }

    #[test]
    fn trials_that_answer_differently_void_the_cell() {
        let trials = vec![trial(1, 2.0, "a"), trial(2, 2.0, "b"), trial(3, 2.0, "b")];
        let mut cell = Cell { trials, ..Cell::default() };
        summarise(&mut cell);
        assert_eq!(cell.verdict.status, Status::Void);
        assert_eq!((cell.verdict.reasons[0].kind, cell.verdict.reasons[0].count), (ReasonKind::WrongAnswer, 1));
        assert_eq!(cell.verdict.reasons[0].example, "trial 1 answered a, trial 2 answered b");
        assert_eq!(cell.answer.digest, "b");
    }

    #[test]
    fn trials_in_which_operations_failed_in_a_fault_may_answer_differently_and_the_others_may_not() {
        let faulted = |order, digest, unknown| TrialRecord {
            faults: vec![FaultRecord::default()],
            failed: FailedCounts { unknown, ..FailedCounts::default() },
            ..trial(order, 2.0, digest)
        };
        let mut cell = Cell { trials: vec![faulted(1, "a", 3), faulted(2, "b", 1)], ..Cell::default() };
        summarise(&mut cell);
        assert_eq!((cell.verdict.status, cell.answer.digest.as_str()), (Status::Valid, "a"));
        cell.trials.extend([faulted(3, "c", 0), faulted(4, "c", 0)]);
        summarise(&mut cell);
        assert_eq!((cell.verdict.status, cell.answer.digest.as_str()), (Status::Valid, "c"));
        cell.trials.push(faulted(5, "d", 0));
        summarise(&mut cell);
        assert_eq!(cell.verdict.reasons[0].kind, ReasonKind::WrongAnswer);
    }

    #[test]
    fn reasons_of_all_trials_are_counted_together() {
        let mut trials = vec![trial(1, 2.0, "a"), trial(2, 2.0, "a")];
        for trial in &mut trials {
            trial.verdict = Verdict::of([Reason { kind: ReasonKind::Refused, count: 3, example: "k".into() }]);
        }
        let mut cell = Cell { trials, ..Cell::default() };
        summarise(&mut cell);
        assert_eq!((cell.verdict.status, cell.verdict.reasons[0].count), (Status::Void, 6));
    }

    #[test]
    fn a_store_that_never_started_has_no_figures_but_keeps_its_reason() {
        let reason = Reason { kind: ReasonKind::NotStarted, count: 1, example: "no binary".into() };
        let failed = TrialRecord { order: 1, verdict: Verdict::of([reason.clone()]), ..TrialRecord::default() };
        let mut cell = Cell { trials: vec![failed], ..Cell::default() };
        summarise(&mut cell);
        assert_eq!((cell.makespan_s, cell.ops_per_s), (None, None));
        assert_eq!(cell.verdict.reasons, std::slice::from_ref(&reason));
        let mut untried = Cell { verdict: Verdict::not_run(reason.clone()), ..Cell::default() };
        summarise(&mut untried);
        assert_eq!(untried.verdict.reasons, [reason]);
    }

    #[test]
    fn a_cell_without_a_counted_trial_is_not_run_and_never_valid() {
        let warmup = TrialRecord { warmup: true, ..trial(1, 2.0, "a") };
        // As earlier builds wrote it: valid, without reasons.
        let old = Cell { verdict: Verdict::of([]), ..Cell::default() };
        for (mut cell, example) in
            [(Cell::default(), ""), (old, ""), (Cell { trials: vec![warmup], ..Cell::default() }, "1 uncounted")]
        {
            summarise(&mut cell);
            assert_eq!(cell.verdict.status, Status::NotRun);
            assert_eq!(
                (cell.verdict.reasons[0].kind, &*cell.verdict.reasons[0].example),
                (ReasonKind::NoTrial, example)
            );
            cell.trials.push(trial(2, 2.0, "a"));
            summarise(&mut cell);
            assert_eq!(cell.verdict, Verdict::of([]));
        }
    }
}
