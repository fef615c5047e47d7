//! What was done to nodes on purpose, in sentences.

use crate::units;
use study::{Cell, FaultRecord, TrialRecord, WriteAccount};

/// Of each trial that counts: what became of its writes, where there was a fault or some failed, then a sentence for each fault. Of several
/// trials with faults only what is wrong; the rest is in [`crate::outages::lines`].
pub fn sentences<'a>(cells: &'a [&Cell]) -> impl Iterator<Item = String> + 'a {
    cells.iter().flat_map(|cell| {
        cell.counted().flat_map(move |trial| {
            let alone = cell.counted().count() == 1;
            let is_wrong = |fault: &FaultRecord| fault.at_s.is_none() || fault.problem.is_some();
            let faults = trial.faults.iter().filter(move |fault| alone || is_wrong(fault)).map(of_fault);
            let kept = trial.writes.is_some_and(|writes| writes.lost == 0) && !trial.faults.is_empty();
            let writes = of_writes(trial).filter(|_| alone || !kept);
            let all = writes.into_iter().chain(faults);
            all.map(move |said| format!("{}, trial {}: {said}", cell.store, trial.order))
        })
    })
}

fn of_writes(trial: &TrialRecord) -> Option<String> {
    let Some(writes) = trial.writes else {
        let unknown = "whether acknowledged writes were lost is not known: not everything was read back.";
        return (!trial.faults.is_empty()).then(|| unknown.into());
    };
    if trial.faults.is_empty() && writes == WriteAccount::default() {
        return None;
    }
    let age = trial.oldest_lost_s.filter(|_| writes.lost > 0).map(age).unwrap_or_default();
    let lost = match writes.lost {
        0 => "no acknowledged write was lost".into(),
        1 => format!("1 acknowledged write was lost{age}"),
        lost => format!("{lost} acknowledged writes were lost{age}"),
    };
    Some(match (writes.failed(), writes.failed_present, writes.failed_absent) {
        (0, ..) => format!("{lost}, and no write failed."),
        (1, 1, _) => format!("{lost}. The only write that failed took effect anyway, which is allowed."),
        (1, ..) => format!("{lost}. The only write that failed was never seen, which is allowed."),
        (failed, present, absent) => format!(
            "{lost}. Of {} writes that failed {} took effect anyway and {} never seen, which is allowed.",
            units::whole(failed),
            units::whole(present),
            if absent == 1 { "1 was".to_owned() } else { format!("{} were", units::whole(absent)) }
        ),
    })
}

/// How old the oldest of the lost writes was.
pub(crate) fn age(oldest_lost_s: f64) -> String {
    match oldest_lost_s {
        0.0 => " (acknowledged after the fault)".into(),
        age_s => format!(" (up to {} old at the fault)", units::duration(age_s)),
    }
}

fn of_fault(fault: &FaultRecord) -> String {
    let node = if fault.node.is_empty() { "the server" } else { &fault.node };
    let Some(at_s) = fault.at_s else {
        return format!("'{}' never happened: the trial was over before.", fault.planned);
    };
    if let Some(problem) = &fault.problem {
        return format!("'{}' could not be done at {at_s:.1} s: {problem}.", fault.planned);
    }
    let until = |words: &str| fault.until_s.map(|until_s| format!(" {words} {until_s:.1} s")).unwrap_or_default();
    let done = match fault.planned.split_whitespace().nth(2) {
        Some("kill") => format!("killed at {at_s:.1} s"),
        Some("stop") => format!("stopped at {at_s:.1} s"),
        Some("freeze") => format!("frozen from {at_s:.1} s{}", until("to")),
        Some("add") => match fault.until_s {
            Some(until_s) => format!("added at {at_s:.1} s and had its share of the keys at {until_s:.1} s"),
            None => format!("added at {at_s:.1} s and had no share of the keys when the trial ended"),
        },
        _ => format!("started again at {at_s:.1} s{}", until("and ready at")),
    };
    let takeover = fault.taken_over.as_ref().map(|it| format!(", {} took over at {:.1} s", it.by, it.at_s));
    let gap = of_darkness(fault).unwrap_or_else(|| of_gap(fault));
    let failed = fault.failed_operations;
    let operations = if failed == 1 { "operation" } else { "operations" };
    format!("{node} was {done}{}: {gap}, {failed} {operations} failed.", takeover.unwrap_or_default())
}

/// Which share of the keys had no answers, and for how long, where that was watched.
fn of_darkness(fault: &FaultRecord) -> Option<String> {
    let (longest_s, share) = (fault.longest_dark_s?, fault.dark_share?);
    Some(match longest_s {
        0.0 => "no part of the keys without answers".into(),
        _ if share > 0.995 => format!("no answers for {}", units::duration(longest_s)),
        _ => {
            format!("up to {:.0} % of the keys had no answers, some for {}", share * 100.0, units::duration(longest_s))
        }
    })
}

/// The longest time without any answer, as the series shows.
fn of_gap(fault: &FaultRecord) -> String {
    match (fault.longest_gap_s, fault.resolution_s) {
        (Some(gap_s), Some(resolution_s)) if gap_s > resolution_s => {
            format!("no answers for {}", units::duration(gap_s))
        }
        (_, Some(resolution_s)) => format!("no gap longer than {} in the answers", units::duration(resolution_s)),
        (_, None) => "whether answers paused is not known".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::{of_fault, sentences};
    use study::{Cell, FaultRecord, TrialRecord, WriteAccount};

    #[test]
    fn what_became_of_the_writes_is_said_first_and_only_what_was_acknowledged_is_called_lost() {
        let fault = FaultRecord { planned: "at 5s kill 2".into(), node: "node2".into(), ..FaultRecord::default() };
        let mut trial = TrialRecord { order: 1, faults: vec![fault], ..TrialRecord::default() };
        let said = |trial: &TrialRecord| {
            let cell = Cell { store: "redis".into(), trials: vec![trial.clone()], ..Cell::default() };
            sentences(&[&cell]).collect::<Vec<_>>()
        };
        assert!(said(&trial)[0].contains("is not known"), "{:?}", said(&trial));
        trial.writes = Some(WriteAccount { lost: 0, failed_absent: 11, failed_present: 3 });
        assert_eq!(
            said(&trial)[0],
            "redis, trial 1: no acknowledged write was lost. Of 14 writes that failed 3 took effect anyway and 11 were never seen, which is \
             allowed."
        );
        assert!(said(&trial)[1].contains("'at 5s kill 2'"));
        trial.writes = Some(WriteAccount { lost: 4, ..WriteAccount::default() });
        assert_eq!(said(&trial)[0], "redis, trial 1: 4 acknowledged writes were lost, and no write failed.");
        trial.oldest_lost_s = Some(0.25);
        let said_of_age =
            "redis, trial 1: 4 acknowledged writes were lost (up to 250 ms old at the fault), and no write failed.";
        assert_eq!(said(&trial)[0], said_of_age);
        trial.faults.clear();
        trial.writes = Some(WriteAccount::default());
        assert_eq!(said(&trial), [""; 0]);
    }

    #[test]
    fn a_fault_is_said_in_one_sentence() {
        let killed = FaultRecord {
            planned: "at 5s kill 2".into(),
            node: "node2".into(),
            planned_at_s: 5.0,
            at_s: Some(5.01),
            longest_gap_s: Some(1.2),
            resolution_s: Some(0.1),
            failed_operations: 214,
            ..FaultRecord::default()
        };
        assert_eq!(of_fault(&killed), "node2 was killed at 5.0 s: no answers for 1.20 s, 214 operations failed.");
        let again = FaultRecord {
            planned: "at 5s restart 2".into(),
            until_s: Some(5.9),
            longest_gap_s: Some(0.1),
            ..killed.clone()
        };
        let said = "node2 was started again at 5.0 s and ready at 5.9 s: no gap longer than 100 ms in the answers, 214 operations failed.";
        assert_eq!(of_fault(&again), said);
        let frozen = FaultRecord {
            planned: "at 5s freeze 2 for 3s".into(),
            until_s: Some(8.0),
            failed_operations: 1,
            ..killed.clone()
        };
        assert_eq!(
            of_fault(&frozen),
            "node2 was frozen from 5.0 s to 8.0 s: no answers for 1.20 s, 1 operation failed."
        );
        let third = FaultRecord { longest_dark_s: Some(0.5), dark_share: Some(0.3334), ..killed.clone() };
        assert_eq!(
            of_fault(&third),
            "node2 was killed at 5.0 s: up to 33 % of the keys had no answers, some for 500 ms, 214 operations failed."
        );
        let all = FaultRecord { dark_share: Some(1.0), ..third.clone() };
        assert_eq!(of_fault(&all), "node2 was killed at 5.0 s: no answers for 500 ms, 214 operations failed.");
        let none =
            FaultRecord { longest_dark_s: Some(0.0), dark_share: Some(0.0), failed_operations: 0, ..killed.clone() };
        assert_eq!(
            of_fault(&none),
            "node2 was killed at 5.0 s: no part of the keys without answers, 0 operations failed."
        );
        let added = FaultRecord {
            planned: "at 5s add".into(),
            node: "node4".into(),
            until_s: Some(7.1),
            longest_gap_s: Some(0.05),
            failed_operations: 0,
            ..killed.clone()
        };
        let said = "node4 was added at 5.0 s and had its share of the keys at 7.1 s: no gap longer than 100 ms in the answers, 0 operations failed.";
        assert_eq!(of_fault(&added), said);
        let never = FaultRecord { at_s: None, ..killed };
        assert_eq!(of_fault(&never), "'at 5s kill 2' never happened: the trial was over before.");
    }
}
