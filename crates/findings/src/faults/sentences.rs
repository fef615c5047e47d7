//! What was done to nodes on purpose, in sentences.

use study::{Cell, FaultRecord, TrialRecord, WriteAccount};
use words::units;

/// Returns sentences for each trial that counts: the fate of its writes, where there was a fault or some failed, then the effects of the
/// faults: a sentence for each with an effect, one for all without. Of several trials with faults only what is wrong; the rest is in
/// [`super::outages::lines`].
pub fn sentences<'a>(cells: &'a [&Cell]) -> impl Iterator<Item = String> + 'a {
    cells.iter().flat_map(|cell| {
        cell.counted().flat_map(move |trial| {
            let alone = cell.counted().count() == 1;
            let kept = trial.writes.is_some_and(|writes| writes.lost == 0) && !trial.faults.is_empty();
            let writes = of_writes(trial).filter(|_| alone || !kept);
            let done = if alone { of_done(trial) } else { Vec::new() };
            let all = writes.into_iter().chain(done).chain(of_wrong(trial));
            all.map(move |said| format!("{}, trial {}: {said}", cell.store, trial.order))
        })
    })
}

/// More faults than these have no sentence of their own.
const MOST: usize = 4;

/// What each fault did that did something; the worst of many. Then those that did nothing.
fn of_done(trial: &TrialRecord) -> Vec<String> {
    let done = trial.faults.iter().filter(|fault| fault.at_s.is_some() && fault.problem.is_none());
    let (mut telling, idle): (Vec<&FaultRecord>, Vec<&FaultRecord>) = done.partition(|fault| tells(fault));
    let mut more = None;
    if telling.len() > MOST {
        let cost = |fault: &FaultRecord| (lasted_s(fault), fault.failed_operations as f64);
        let mut by_cost = telling.clone();
        by_cost.sort_by(|a, b| cost(b).0.total_cmp(&cost(a).0).then(cost(b).1.total_cmp(&cost(a).1)));
        let rest = by_cost.split_off(MOST);
        let longest_s = rest.iter().map(|fault| lasted_s(fault)).fold(0.0, f64::max);
        let failed = rest.iter().map(|fault| fault.failed_operations).sum();
        let lasted = if longest_s > 0.0 {
            format!("no answers for {} at most, ", units::duration(longest_s))
        } else {
            String::new()
        };
        more = Some(format!("{} more faults did less: {lasted}{}.", rest.len(), failures(failed)));
        telling.retain(|fault| by_cost.iter().any(|worst| std::ptr::eq(*worst, *fault)));
    }
    let mut said: Vec<String> = telling.into_iter().map(of_fault).chain(more).collect();
    match idle.as_slice() {
        [] => {}
        [one] => said.push(of_fault(one)),
        many => said.push(no_effect(many)),
    }
    said
}

/// Whether a fault did more than happen.
fn tells(fault: &FaultRecord) -> bool {
    let is_unfinished = fault.until_s.is_none()
        && matches!(super::outages::act(&fault.planned), "restart" | "freeze" | "cut" | "clock");
    let is_added = super::outages::act(&fault.planned) == "add";
    lasted_s(fault) > 0.0 || fault.failed_operations > 0 || fault.taken_over.is_some() || is_unfinished || is_added
}

/// How long there were no answers, as far as that was seen.
fn lasted_s(fault: &FaultRecord) -> f64 {
    let gap_s = fault.longest_gap_s.zip(fault.resolution_s).filter(|(gap_s, resolution_s)| gap_s > resolution_s);
    fault.longest_dark_s.or(gap_s.map(|(gap_s, _)| gap_s)).unwrap_or_default()
}

/// `no effect of 4 faults on answers (node2, node3; each ready within 400 ms).`
fn no_effect(faults: &[&FaultRecord]) -> String {
    let names = words::distinct(faults.iter().map(|fault| node(fault)));
    let restarts = faults.iter().filter(|fault| super::outages::act(&fault.planned) == "restart");
    let longest_s = restarts.filter_map(|fault| Some(fault.until_s? - fault.at_s?)).reduce(f64::max);
    let ready = longest_s.map(|s| format!("; ready again within {}", units::duration(s))).unwrap_or_default();
    format!(
        "{} faults had no effect on the answers, and no operation failed: {}{ready}.",
        faults.len(),
        names.join(", ")
    )
}

/// What never happened, in one sentence, and what could not be done.
fn of_wrong(trial: &TrialRecord) -> Vec<String> {
    let never: Vec<String> =
        trial.faults.iter().filter(|fault| fault.at_s.is_none()).map(|fault| format!("'{}'", fault.planned)).collect();
    let never = match never.as_slice() {
        [] => None,
        [some @ .., last] if never.len() <= MOST && !some.is_empty() => Some(format!("{} and {last}", some.join(", "))),
        [one] => Some(one.clone()),
        many => Some(format!("{} and {} more", many[..MOST - 1].join(", "), many.len() + 1 - MOST)),
    };
    let failed = trial.faults.iter().filter(|fault| fault.at_s.is_some() && fault.problem.is_some()).map(of_fault);
    never.map(|never| format!("{never} never happened: the trial was over before.")).into_iter().chain(failed).collect()
}

fn node(fault: &FaultRecord) -> &str {
    if fault.node.is_empty() { "the server" } else { &fault.node }
}

fn failures(failed: u64) -> String {
    match failed {
        0 => "no operation failed".into(),
        n => words::counted(n, "operation") + " failed",
    }
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
        lost => format!("{} acknowledged writes were lost{age}", units::whole(lost)),
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

/// Returns how old the oldest of the lost writes was.
pub(crate) fn age(oldest_lost_s: f64) -> String {
    match oldest_lost_s {
        0.0 => " (acknowledged after the fault)".into(),
        age_s => format!(" (up to {} old at the fault)", units::duration(age_s)),
    }
}

fn of_fault(fault: &FaultRecord) -> String {
    let node = node(fault);
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
        Some("cut") => format!("cut off from the others from {at_s:.1} s{}", until("to")),
        Some("clock") => format!("{} from {at_s:.1} s{}", clock(&fault.planned), until("to")),
        Some("add") => match fault.until_s {
            Some(until_s) => format!("added at {at_s:.1} s and had its share of the keys at {until_s:.1} s"),
            None => format!("added at {at_s:.1} s and had no share of the keys when the trial ended"),
        },
        _ => format!("started again at {at_s:.1} s{}", until("and ready at")),
    };
    let takeover = fault.taken_over.as_ref().map(|it| format!(", {} took over at {:.1} s", it.by, it.at_s));
    let gap = of_darkness(fault).unwrap_or_else(|| of_gap(fault));
    let failed = failures(fault.failed_operations);
    format!("{node} was {done}{}: {gap}, {failed}.", takeover.unwrap_or_default())
}

/// Returns `30s ahead` of `at 5s clock 2 by 30s for 3s`, `30s behind` of one by -30s.
pub(crate) fn apart(planned: &str) -> String {
    let by = planned.split_whitespace().skip_while(|word| *word != "by").nth(1).unwrap_or_default();
    match by.strip_prefix('-') {
        Some(by) => format!("{by} behind"),
        None => format!("{by} ahead"),
    }
}

/// Returns `30s ahead of the time of the others`.
pub(super) fn clock(planned: &str) -> String {
    let apart = apart(planned);
    let than = if apart.ends_with("ahead") { " of" } else { "" };
    format!("{apart}{than} the time of the others")
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
    fn faults_that_did_nothing_share_a_sentence_and_those_that_did_something_have_their_own() {
        let fault = |act: &str, node: &str, at_s: f64, dark_s: f64| FaultRecord {
            planned: format!("at {at_s}s {act} {}", &node[4..]),
            node: node.into(),
            at_s: Some(at_s),
            until_s: (act == "restart").then_some(at_s + 0.4),
            longest_dark_s: Some(dark_s),
            dark_share: Some(dark_s.min(1.0)),
            failed_operations: if dark_s > 0.0 { 7 } else { 0 },
            ..FaultRecord::default()
        };
        let mut faults: Vec<FaultRecord> = (0..26)
            .map(|at| {
                let (act, node) = (["stop", "restart"][at % 2], ["node1", "node2", "node3"][at / 2 % 3]);
                fault(act, node, at as f64, if at == 6 { 1.2 } else { 0.0 })
            })
            .collect();
        faults.push(FaultRecord { planned: "at 99s kill 1".into(), node: "node1".into(), ..FaultRecord::default() });
        let said = |faults: &[FaultRecord]| {
            let trial = TrialRecord { order: 1, faults: faults.to_vec(), ..TrialRecord::default() };
            let cell = Cell { store: "etcd".into(), trials: vec![trial], ..Cell::default() };
            sentences(&[&cell]).skip(1).collect::<Vec<_>>()
        };
        let all = said(&faults);
        assert_eq!(all.len(), 3, "{all:?}");
        assert!(all[0].contains("node1 was stopped at 6.0 s: no answers for 1.20 s, 7 operations failed."), "{all:?}");
        assert_eq!(
            all[1],
            "etcd, trial 1: 25 faults had no effect on the answers, and no operation failed: node1, node2, node3; ready \
             again within 400 ms."
        );
        assert!(all[2].contains("'at 99s kill 1' never happened"), "{all:?}");
        for at in (0..26).step_by(2) {
            faults[at].longest_dark_s = Some(0.1 + at as f64 / 100.0);
            faults[at].failed_operations = 1_000;
        }
        let all = said(&faults);
        assert_eq!(all.len(), 4 + 1 + 1 + 1, "{all:?}");
        assert!(all[3].contains("at 24.0 s: up to") || all[3].contains("24.0 s"), "{all:?}");
        assert!(
            all[4].contains("9 more faults did less: no answers for 260 ms at most, 9,000 operations failed."),
            "{all:?}"
        );
    }

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
        let cut = FaultRecord { planned: "at 5s cut 2 for 3s".into(), ..frozen };
        assert_eq!(
            of_fault(&cut),
            "node2 was cut off from the others from 5.0 s to 8.0 s: no answers for 1.20 s, 1 operation failed."
        );
        for (by, apart) in [("30s", "30s ahead of"), ("-1.5s", "1.5s behind")] {
            let clock = FaultRecord { planned: format!("at 5s clock 2 by {by} for 3s"), ..cut.clone() };
            assert_eq!(
                of_fault(&clock),
                format!(
                    "node2 was {apart} the time of the others from 5.0 s to 8.0 s: no answers for 1.20 s, 1 operation failed."
                )
            );
        }
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
            "node2 was killed at 5.0 s: no part of the keys without answers, no operation failed."
        );
        let added = FaultRecord {
            planned: "at 5s add".into(),
            node: "node4".into(),
            until_s: Some(7.1),
            longest_gap_s: Some(0.05),
            failed_operations: 0,
            ..killed.clone()
        };
        let said = "node4 was added at 5.0 s and had its share of the keys at 7.1 s: no gap longer than 100 ms in the answers, no operation failed.";
        assert_eq!(of_fault(&added), said);
        let never = FaultRecord { at_s: None, ..killed };
        assert_eq!(of_fault(&never), "'at 5s kill 2' never happened: the trial was over before.");
    }
}
