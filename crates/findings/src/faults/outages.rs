//! What failing nodes cost each store, over all trials: the headline, and a line per store and fault.

use super::sentences as faults;
use crate::draw::axes::extent;
use analysis::{Metric, Replication};
use std::cmp::Reverse;
use std::collections::BTreeSet;
use study::{Cell, FaultFigures, Quantity, ReasonKind, Status, TrialRecord};
use words::{joined, units};

/// Returns `After a node was killed, nats answered all along and redis-cluster again after 0.80 s; no acknowledged write was lost.` A
/// sentence for each class, those that replicate and those that do not, as these are never compared. Empty where no fault was done.
pub fn headlines(cells: &[&Cell]) -> Vec<String> {
    let faulted: Vec<&Cell> = cells.iter().copied().filter(|cell| !cell.baseline && was_done(cell)).collect();
    // What is made to survive comes first.
    let kind = |cell: &Cell| (cell.class, Reverse(Replication::of(cell)));
    let kinds: BTreeSet<_> = faulted.iter().map(|cell| kind(cell)).collect();
    let of = |it| faulted.iter().copied().filter(|cell| kind(cell) == it).collect::<Vec<&Cell>>();
    kinds.into_iter().map(|it| headline(&of(it))).collect()
}

/// Returns whether a fault was done to it in a trial that counts.
pub fn was_done(cell: &Cell) -> bool {
    cell.faults.iter().any(|fault| fault.trials > 0)
}

fn headline(cells: &[&Cell]) -> String {
    let mut cells: Vec<(&Cell, Vec<f64>)> = cells.iter().map(|cell| (*cell, Metric::Dark.samples(cell))).collect();
    let badness = |dark: &[f64]| stats::median(dark).unwrap_or(f64::INFINITY);
    let worst = |dark: &[f64]| dark.iter().copied().fold(0.0, f64::max);
    cells.sort_by(|a, b| {
        let (one, other) = ((badness(&a.1), worst(&a.1)), (badness(&b.1), worst(&b.1)));
        stays_dark(a.0).cmp(&stays_dark(b.0)).then(one.0.total_cmp(&other.0)).then(one.1.total_cmp(&other.1))
    });
    let is_bright = |(cell, dark): &&(&Cell, Vec<f64>)| !dark.is_empty() && worst(dark) == 0.0 && !stays_dark(cell);
    let (steady, stalled): (Vec<&Cell>, Vec<&Cell>) =
        cells.iter().filter(is_bright).map(|it| it.0).partition(|cell| longest_stall_s(cell) < NOTABLE_STALL_S);
    let mut parts = Vec::new();
    if !steady.is_empty() {
        let names: Vec<&str> = steady.iter().map(|cell| cell.store.as_str()).collect();
        parts.push(format!("{} answered all along", joined(&names)));
    }
    parts.extend(stalled.iter().map(|cell| {
        let stalled = units::duration(longest_stall_s(cell));
        format!("{} answered everything but stalled for up to {stalled}", cell.store)
    }));
    for (cell, dark) in cells.iter().filter(|it| !is_bright(it)) {
        let (store, never) = (&cell.store, dark.iter().filter(|dark_s| **dark_s == 0.0).count());
        let at_worst = units::duration(worst(dark));
        parts.push(match (stays_dark(cell), dark.len(), never) {
            (true, ..) => format!("{store} did not recover"),
            (_, 0, _) => format!("of {store} it is not known"),
            // A median of 0 would hide the trial that is not.
            (_, n, 1..) => {
                format!("{store} answered all along in {never} of {n} trials, otherwise again after up to {at_worst}")
            }
            _ => {
                let again = if parts.is_empty() || !stalled.is_empty() { "answered again" } else { "again" };
                let usual = units::duration(badness(dark));
                let worst = if usual == at_worst { String::new() } else { format!(" (at worst {at_worst})") };
                format!("{store} {again} after {usual}{worst}")
            }
        });
    }
    let cells: Vec<&Cell> = cells.into_iter().map(|it| it.0).collect();
    format!("{}, {}; {}.", occasion(&cells), joined(&parts), lost(&cells))
}

/// A shorter stall is not worth a word in a headline.
const NOTABLE_STALL_S: f64 = 0.1;

/// The longest stall of its trials that ended after the first fault.
fn longest_stall_s(cell: &Cell) -> f64 {
    let of_trial = |trial: &TrialRecord| {
        let first_s = trial.faults.iter().filter_map(|fault| fault.at_s).reduce(f64::min)?;
        let after = trial.stalls.iter().filter(|stall| stall.at_s + stall.duration_s >= first_s);
        after.map(|stall| stall.duration_s).reduce(f64::max)
    };
    cell.counted().filter_map(of_trial).fold(0.0, f64::max)
}

/// Whether it gave up answering, or nobody could read back what was written.
fn stays_dark(cell: &Cell) -> bool {
    let given_up = [ReasonKind::Deadline, ReasonKind::NotSent, ReasonKind::FailedInFault, ReasonKind::ServerDied];
    cell.verdict.status == Status::Void && cell.verdict.reasons.iter().any(|reason| given_up.contains(&reason.kind))
}

/// `After a node was killed`, `Through 4 faults (kill, restart)`.
fn occasion(cells: &[&Cell]) -> String {
    let plans: Vec<&FaultFigures> = cells.first().map_or(&[][..], |cell| &cell.faults).iter().collect();
    let node = if plans.iter().all(|fault| fault.node.is_empty()) { "the server" } else { "a node" };
    match plans.as_slice() {
        [one] => match act(&one.planned) {
            "kill" => format!("After {node} was killed"),
            "stop" => format!("After {node} was stopped"),
            "freeze" => format!("While {node} was frozen"),
            "cut" => format!("While {node} was cut off from the others"),
            "clock" => format!("While {node} was {}", faults::clock(&one.planned)),
            "add" => "While a node was added".into(),
            _ => format!("While {node} was started again"),
        },
        many => {
            let acts = words::distinct(many.iter().map(|fault| act(&fault.planned)));
            match acts.as_slice() {
                ["stop", "restart"] if node == "the server" => "While the server was stopped and started again".into(),
                ["stop", "restart"] => "While each node was stopped and started again in turn".into(),
                ["kill", "restart"] => format!("After {node} was killed and started again"),
                ["freeze"] => format!("While {node} was frozen {} times", many.len()),
                ["cut"] => format!("While {node} was cut off from the others {} times", many.len()),
                ["clock"] => format!("While {node} had another time than the others {} times", many.len()),
                _ => format!("Through {} faults ({})", many.len(), acts.join(", ")),
            }
        }
    }
}

/// Returns `kill` of `at 5s kill 2`.
pub fn act(planned: &str) -> &str {
    planned.split_whitespace().nth(2).unwrap_or(planned)
}

/// Whether acknowledged writes were lost, and by whom: of all counted trials.
fn lost(cells: &[&Cell]) -> String {
    let count = |cell: &Cell| {
        let lost: Option<Vec<u64>> = cell.counted().map(|trial| Some(trial.writes?.lost)).collect();
        lost.map(|lost| lost.iter().sum::<u64>())
    };
    let trials = |cell: &Cell| match cell.counted().count() {
        1 => String::new(),
        n => format!(" in {n} trials"),
    };
    let age = |cell: &Cell| {
        let oldest_s = cell.counted().filter_map(|trial| trial.oldest_lost_s).reduce(f64::max);
        oldest_s.map(faults::age).unwrap_or_default()
    };
    let losers: Vec<String> = cells
        .iter()
        .filter_map(|cell| match count(cell)? {
            0 => None,
            1 => Some(format!("{} lost 1 acknowledged write{}{}", cell.store, trials(cell), age(cell))),
            lost => Some(format!(
                "{} lost {} acknowledged writes{}{}",
                cell.store,
                units::whole(lost),
                trials(cell),
                age(cell)
            )),
        })
        .collect();
    let unknown: Vec<&str> =
        cells.iter().filter(|cell| count(cell).is_none()).map(|cell| cell.store.as_str()).collect();
    let mut parts = if losers.is_empty() && unknown.len() < cells.len() {
        vec![format!("no acknowledged write was lost{}", if unknown.is_empty() { "" } else { " by the others" })]
    } else {
        losers
    };
    if !unknown.is_empty() {
        parts.push(format!("whether {} lost any is not known", joined(&unknown)));
    }
    joined(&parts)
}

/// More faults than these are summed up in a line for the store.
const MOST_LINES: usize = 4;

/// Returns a line for each store and fault, where there are several trials: medians with their intervals. Of many faults one for the
/// store.
pub fn lines<'a>(cells: &'a [&Cell]) -> impl Iterator<Item = String> + 'a {
    cells.iter().filter(|cell| cell.counted().count() > 1 && was_done(cell)).flat_map(|cell| {
        let done: Vec<&FaultFigures> = cell.faults.iter().filter(|fault| fault.trials > 0).collect();
        let each = |fault: &&FaultFigures| format!("{}, {}", cell.store, line(fault));
        if done.len() > MOST_LINES { vec![sums(cell, done.len())] } else { done.iter().map(each).collect() }
    })
}

/// `etcd, 6 faults in each of 3 trials: some keys had no answers for up to 128 ms (124 ms to 506 ms) at a time, ...`
fn sums(cell: &Cell, faults: usize) -> String {
    let mut parts = Vec::new();
    if let (Some(longest), Some(keys)) = (Metric::Dark.of_cell(cell), Metric::DarkKeys.of_cell(cell)) {
        parts.push(match longest.high {
            0.0 => ALL_ANSWERED.into(),
            _ => format!(
                "some keys had no answers for up to {} at a time, in all as much as all keys for {}",
                spread(&longest, time),
                spread(&keys, time)
            ),
        });
    }
    let failed: Vec<f64> = cell
        .counted()
        .map(|trial| trial.faults.iter().map(|fault| fault.failed_operations).sum::<u64>() as f64)
        .collect();
    let (least, most) = extent(failed);
    parts.push(match (most, least < most) {
        (0.0, _) => "no operation failed".into(),
        (_, true) => format!("{} to {} operations failed per trial", whole(least), whole(most)),
        (1.0, _) => "1 operation failed in each trial".into(),
        _ => format!("{} operations failed in each trial", whole(most)),
    });
    // Clients that all wait for one node leave the others unasked, so parts that are not dark say nothing of how much was answered.
    let after = cell.faults.iter().filter_map(|fault| fault.after_per_s).map(|rate| rate.value).reduce(f64::min);
    if let (Some(before), Some(least)) = (cell.faults.first().and_then(|fault| fault.before_per_s), after) {
        let (before, least) = (units::count(before.value), units::count(least));
        parts.push(format!("{before} good answers per second before the first fault and {least} after the worst"));
    }
    let trials = cell.counted().count();
    format!(
        "{}, {faults} faults in each of {trials} trials: {}; the figures of each fault are on the page.",
        cell.store,
        parts.join("; ")
    )
}

/// What is said where no part of the keys was without answers.
const ALL_ANSWERED: &str = "no part of the keys was without answers";

/// `node1 (at 3s kill 1): no answers for 805 ms (795 ms to 816 ms); 12 operations failed; p99 1.20 ms before and 8.00 ms after, ...`
fn line(fault: &FaultFigures) -> String {
    let node = if fault.node.is_empty() { "the server" } else { &fault.node };
    let mut parts: Vec<String> = Vec::new();
    if let Some(dark) = fault.longest_dark_s {
        // One server has all keys; where all nodes had no answers it is the same time.
        let of_some = fault.dark_key_s.filter(|keys| !fault.node.is_empty() && time(keys.value) != time(dark.value));
        parts.push(match of_some {
            _ if dark.value == 0.0 && dark.high == 0.0 => ALL_ANSWERED.into(),
            Some(keys) => format!(
                "some keys had no answers for {}, as much as all keys for {}",
                spread(&dark, time),
                time(keys.value)
            ),
            None => format!("no answers for {}", spread(&dark, time)),
        });
    }
    if let Some(failed) = fault.failed_operations {
        parts.push(match failed.high {
            0.0 => "no operation failed".into(),
            _ => match spread(&failed, whole).as_str() {
                "1" => "1 operation failed".into(),
                several => format!("{several} operations failed"),
            },
        });
    }
    if let (Some(before), Some(after)) = (fault.p99_before_ns, fault.p99_after_ns) {
        let of = |it: Quantity| time(it.value * 1e-9);
        parts.push(format!("p99 {} before and {} after", of(before), of(after)));
    }
    if let (Some(before), Some(after)) = (fault.before_per_s, fault.after_per_s) {
        parts.push(format!(
            "{} good answers per second before and {} after",
            units::count(before.value),
            units::count(after.value)
        ));
    }
    match (fault.back_s, fault.not_back) {
        (Some(back), _) if back.high == 0.0 => parts.push("the rate did not fall".into()),
        (Some(back), 0) => parts.push(format!("the rate was back after {}", spread(&back, time))),
        (_, 0) => {}
        (_, n) => parts.push(format!("the rate was not back in {n} of {} trials", fault.trials)),
    }
    if let Some(taken_over) = fault.taken_over_s {
        parts.push(format!("another node took over after {}", spread(&taken_over, time)));
    }
    if let Some(done) = fault.done_s.filter(|_| !matches!(act(&fault.planned), "freeze" | "cut" | "clock")) {
        let what = if act(&fault.planned) == "add" { "it had its share of the keys" } else { "it was ready" };
        parts.push(format!("{what} after {}", spread(&done, time)));
    }
    if let Some(caught_up) = fault.caught_up_s {
        parts.push(format!("caught up after {}", spread(&caught_up, time)));
    }
    let trials = words::counted(u64::from(fault.trials), "trial");
    format!("{node} ({}, {trials}): {}.", fault.planned, parts.join("; "))
}

/// `805 ms (795 ms to 816 ms)`.
fn spread(figure: &Quantity, show: impl Fn(f64) -> String) -> String {
    let (low, high) = (show(figure.low), show(figure.high));
    match low != high {
        true => format!("{} ({low} to {high})", show(figure.value)),
        false => show(figure.value),
    }
}

/// A count, to the last one.
fn whole(n: f64) -> String {
    units::whole(n.round() as u64)
}

/// A time; nought has no unit to choose.
fn time(seconds: f64) -> String {
    if seconds == 0.0 { "0 s".into() } else { units::duration(seconds) }
}

#[cfg(test)]
mod tests;
