//! Faults that were asked for and not done: the figures of such a trial are not those of what was asked.

use study::{FaultRecord, Reason, ReasonKind, Verdict};

/// Returns why a trial shows nothing of a fault, in words. That the trial was over before it is no news where something else ended the
/// trial.
pub(crate) fn undone(faults: &[FaultRecord], verdict: &Verdict) -> Option<Reason> {
    let why = |fault: &FaultRecord| match (&fault.problem, fault.at_s) {
        (Some(problem), _) => Some(format!("'{}': {problem}", fault.planned)),
        (None, None) if verdict.is_ranked() => Some(format!("'{}': the trial was over before", fault.planned)),
        _ => None,
    };
    let all: Vec<String> = faults.iter().filter_map(why).collect();
    let example = all.first()?.clone();
    Some(Reason { kind: ReasonKind::FaultNotDone, count: all.len() as u64, example })
}

#[cfg(test)]
mod tests {
    use super::undone;
    use study::{FaultRecord, Reason, ReasonKind, Verdict};

    #[test]
    fn what_was_asked_for_and_not_done_is_a_reason_unless_something_else_ended_the_trial() {
        let fault = |planned: &str, at_s, problem: Option<&str>| FaultRecord {
            planned: planned.into(),
            at_s,
            problem: problem.map(str::to_owned),
            ..FaultRecord::default()
        };
        let good = Verdict::of([]);
        assert_eq!(undone(&[fault("at 1s kill 1", Some(1.0), None)], &good), None);
        let faults =
            [fault("at 2s restart 1", Some(2.0), Some("redis: the server runs")), fault("at 9s kill 1", None, None)];
        let found = undone(&faults, &good).unwrap_or_else(|| panic!("nothing found"));
        assert_eq!((found.kind, found.count), (ReasonKind::FaultNotDone, 2));
        assert_eq!(found.example, "'at 2s restart 1': redis: the server runs");
        let ended = Verdict::of([Reason { kind: ReasonKind::Deadline, count: 1, example: String::new() }]);
        assert_eq!(undone(&faults[1..], &ended), None);
        assert_eq!(undone(&faults, &ended).map(|found| found.count), Some(1));
    }
}
