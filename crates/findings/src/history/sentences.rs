//! What is said of a history.

use super::Origin;
use study::{FaultRecord, History, HistoryAct, HistoryFlaw, HistoryOperation};
use words::units;

/// What came of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HistoryVerdict {
    Linearizable,
    Contradicted,
    NotChecked,
}

pub(super) fn outcome(history: &History) -> HistoryVerdict {
    match (history.problem.is_empty(), history.contradicted_keys) {
        (_, 1..) => HistoryVerdict::Contradicted,
        (true, _) => HistoryVerdict::Linearizable,
        (false, _) => HistoryVerdict::NotChecked,
    }
}

/// Says what a store's clients saw, in a sentence.
pub(crate) fn sentence(name: &str, faults: &[FaultRecord], history: &History) -> String {
    let of = format!(
        "{} operations on {} keys{}",
        units::whole(history.operations),
        units::whole(history.keys),
        match history.unknown {
            0 => String::new(),
            unknown => format!(", {} of them without an answer", units::whole(unknown)),
        }
    );
    match outcome(history) {
        HistoryVerdict::NotChecked => format!("{name}: the history was not checked: {}.", history.problem),
        HistoryVerdict::Linearizable => format!("{name}: linearizable, in {of}."),
        HistoryVerdict::Contradicted => {
            let broken = broken(history);
            let faults = during(faults, history);
            format!(
                "{name}: {broken}{faults}. Not linearizable: {} of {} keys contradict themselves, in {of}.",
                units::whole(history.contradicted_keys),
                units::whole(history.keys)
            )
        }
    }
}

/// The weaker guarantees that were broken, the plainest first.
fn broken(history: &History) -> String {
    let count = |n: u64, one: &str, many: &str| match n {
        0 => None,
        1 => Some(format!("1 {one}")),
        n => Some(format!("{} {many}", units::whole(n))),
    };
    let oldest = history.oldest_stale_s.map(|age_s| format!(", at most {} old", units::duration(age_s)));
    let stale = count(history.stale_reads, "stale read", "stale reads").map(|it| it + &oldest.unwrap_or_default());
    let back = count(history.backward_reads, "read went back in time", "reads went back in time");
    let own = count(
        history.own_writes_missed,
        "read missed its client's own write",
        "reads missed their client's own writes",
    );
    let all: Vec<String> = [stale, back, own].into_iter().flatten().collect();
    match (&all[..], history.flaw) {
        ([], Some(HistoryFlaw::NeverWritten)) => "a version was read that nobody had written".into(),
        ([], Some(HistoryFlaw::BeforeItsWrite)) => "a version was read before it was written".into(),
        ([], _) => "clients saw versions in orders that exclude each other".into(),
        _ => all.join("; "),
    }
}

/// The faults that were on, or had been shortly before, at the time of the smallest contradiction.
fn during(faults: &[FaultRecord], history: &History) -> String {
    let Some((from_s, to_s)) = span_s(&history.smallest) else { return String::new() };
    let is_on = |fault: &&FaultRecord| {
        fault.at_s.is_some_and(|at_s| at_s <= to_s) && fault.until_s.is_none_or(|until_s| until_s >= from_s)
    };
    let on: Vec<String> = faults.iter().filter(is_on).map(fault_name).collect();
    if on.is_empty() {
        String::new()
    } else {
        format!(", the smallest contradiction at the time of '{}'", on.join("', '"))
    }
}

/// Names a fault and its node: `at 5s freeze 2 for 3s (node2)`.
pub(super) fn fault_name(fault: &FaultRecord) -> String {
    match &fault.node[..] {
        "" => fault.planned.clone(),
        node => format!("{} ({node})", fault.planned),
    }
}

/// Returns the time from the first to the last moment of these operations.
pub(super) fn span_s(operations: &[HistoryOperation]) -> Option<(f64, f64)> {
    let from_s = operations.iter().map(|it| it.sent_s).reduce(f64::min)?;
    let to_s = operations.iter().map(|it| it.answered_s.unwrap_or(it.sent_s)).reduce(f64::max)?;
    Some((from_s, to_s))
}

/// Names a key. In crashes each client has keys of its own: the upper half of the number is the client's.
pub(super) fn key_name(key: u64, origin: Origin) -> String {
    match origin {
        Origin::FirstPhase => format!("key {key}"),
        Origin::Crash { .. } => format!("key {} of client {}", key as u32, key >> 32),
    }
}

/// Names what an operation did: `wrote version 7`, `read version 6`, `found nothing`.
pub(super) fn act(it: &HistoryOperation) -> String {
    match (it.act, it.version) {
        (HistoryAct::Write, version) => format!("wrote version {version}"),
        (HistoryAct::Delete, version) => format!("deleted it (version {version})"),
        (HistoryAct::Increase, number) => format!("increased it to {number}"),
        (HistoryAct::Read, 0) | (HistoryAct::Miss, _) => "found nothing".into(),
        (HistoryAct::Read, version) => format!("read version {version}"),
    }
}

/// What there is to say of its end.
pub(super) fn ending(it: &HistoryOperation) -> &'static str {
    if it.answered_s.is_none() { ", never answered" } else { "" }
}

/// A read that saw what was there before a write that had been acknowledged.
pub(super) struct Overlooked<'a> {
    pub(super) read: &'a HistoryOperation,
    pub(super) write: &'a HistoryOperation,
    pub(super) behind_s: f64,
}

impl Overlooked<'_> {
    /// Says what it saw too late: `6.33 s out of date`.
    pub(super) fn late(&self) -> String {
        format!("{} out of date", units::duration(self.behind_s))
    }
}

/// Returns the read of the smallest contradiction that overlooked a write, where it is that plain.
pub(super) fn overlooked(history: &History) -> Option<Overlooked<'_>> {
    let read =
        history.smallest.last().filter(|it| !it.act.writes() && history.flaw == Some(HistoryFlaw::OutOfOrder))?;
    let write = history.smallest.iter().rfind(|it| it.version != read.version && it.act.writes())?;
    let behind_s = read.sent_s - write.answered_s?;
    (behind_s > 0.0).then_some(Overlooked { read, write, behind_s })
}

/// Tells the smallest contradiction, an operation per sentence, on a clock that begins with it.
pub(super) fn steps(history: &History, origin: Origin) -> impl Iterator<Item = String> {
    let first_s = span_s(&history.smallest).map_or(0.0, |it| it.0);
    let head = history.smallest.first().map(|it| {
        format!(
            "The smallest contradiction, on {}, begins {}. Leave out any of its operations, and there is none:",
            key_name(it.key, origin),
            origin.began(first_s)
        )
    });
    let step = move |it: &HistoryOperation| {
        let sent = units::duration(it.sent_s - first_s);
        let answered = match it.answered_s {
            Some(at_s) => format!("answered at +{}", units::duration(at_s - first_s)),
            None => "never answered".into(),
        };
        format!("{} {}: sent at +{sent}, {answered}.", origin.client(it.client), act(it))
    };
    head.into_iter().chain(history.smallest.iter().map(step).collect::<Vec<_>>()).chain(why(history))
}

impl Origin {
    fn began(self, first_s: f64) -> String {
        let time = units::duration(first_s.abs());
        match (self, first_s < 0.0) {
            (Origin::FirstPhase, true) => format!("{time} before the first timed phase"),
            (Origin::FirstPhase, false) => format!("{time} into the timed phases"),
            (Origin::Crash { .. }, true) => format!("{time} before the crash"),
            (Origin::Crash { .. }, false) => format!("{time} after the crash"),
        }
    }
}

/// Why these operations exclude each other.
fn why(history: &History) -> Option<String> {
    let last = history.smallest.last()?;
    Some(match (history.flaw?, overlooked(history)) {
        (HistoryFlaw::NeverWritten, _) => format!("No client has written version {} of this key.", last.version),
        (HistoryFlaw::BeforeItsWrite, _) => "The read was over before the write was sent.".into(),
        (HistoryFlaw::OutOfOrder, Some(it)) => format!(
            "Version {} was acknowledged {} before the last read was sent, which should have seen it or a later one.",
            it.write.version,
            units::duration(it.behind_s)
        ),
        (HistoryFlaw::OutOfOrder, None) => {
            "In whatever order the writes took effect, one of the reads is wrong.".into()
        }
    })
}
