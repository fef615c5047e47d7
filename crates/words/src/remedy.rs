//! What a reason says, and what to do about it in this very case: by the words of the store, the job, and what else was seen.

use crate::advice::{advice, once};
use crate::units;
use std::borrow::Cow;
use study::{Cell, Reason, ReasonKind, remedy_of_refusal};

/// Returns `operations refused, 7 times`, `an operation was refused`; of what ended a study, which is no count of anything, what it is.
pub fn meaning(reason: &Reason) -> Cow<'static, str> {
    match reason.count {
        0 | 1 => once(reason.kind).into(),
        _ if is_uncounted(reason.kind) => advice(reason.kind).0.into(),
        count => format!("{}, {} times", advice(reason.kind).0, units::whole(count)).into(),
    }
}

/// Returns the name of a cell, or what else is said of it, with the first reason of its verdict beside it: `redis (refused)`.
pub fn with_reason(said: String, cell: &Cell) -> String {
    match cell.verdict.reasons.first() {
        Some(reason) => format!("{said} ({})", reason.kind.name().replace('_', " ")),
        None => said,
    }
}

/// Whether a reason is that of a study that ended.
fn is_uncounted(kind: ReasonKind) -> bool {
    matches!(kind, ReasonKind::NoTrial | ReasonKind::Interrupted | ReasonKind::StudyStopped)
}

/// Returns what to do about a reason in the verdict of this cell.
pub fn remedy(cell: &Cell, reason: &Reason) -> &'static str {
    by_words(reason).or_else(|| by_case(cell, reason)).unwrap_or(advice(reason.kind).1)
}

/// Kinds whose example is in the words of the store or the system.
const IN_WORDS: [ReasonKind; 5] = [
    ReasonKind::Refused,
    ReasonKind::NotConnected,
    ReasonKind::ConnectionLost,
    ReasonKind::Unknown,
    ReasonKind::WrongReply,
];

fn by_words(reason: &Reason) -> Option<&'static str> {
    IN_WORDS.contains(&reason.kind).then(|| remedy_of_refusal(&reason.example)).flatten()
}

fn by_case(cell: &Cell, reason: &Reason) -> Option<&'static str> {
    let is_users = cell.store.contains("://");
    let was_faulted = cell.trials.iter().any(|trial| !trial.faults.is_empty());
    match reason.kind {
        ReasonKind::UnexpectedMiss if was_faulted => {
            Some("the store did not keep it through the fault you asked for: a higher durability= or more replicas may")
        }
        ReasonKind::UnexpectedMiss if saw_outage(cell) => {
            Some("the store was restarted without its data: find out who restarted it, and choose a higher durability=")
        }
        ReasonKind::LostUpdates if was_faulted => Some("a higher durability= or more replicas may keep them"),
        ReasonKind::LostUpdates if cell.job == "fans" => Some(
            "the store dropped writes, or clients overwrote each other's work: set policy=cas, policy=lock or policy=partition",
        ),
        ReasonKind::LostUpdates if saw_outage(cell) => Some(
            "the store was restarted without some of its data: find out who restarted it, and choose a higher durability=",
        ),
        ReasonKind::LostUpdates => {
            Some("the store dropped writes it had acknowledged: run `kvtrial check` on this store, and read its log")
        }
        ReasonKind::NotStarted if is_users => {
            Some("start that server or correct the URL, then resume: the same command with --resume")
        }
        ReasonKind::NotStarted if !reason.example.contains("not found; install it") => {
            Some("do what is said there, then resume: the same command with --resume")
        }
        _ => None,
    }
}

/// Whether the store was away for a time.
fn saw_outage(cell: &Cell) -> bool {
    let lost = [ReasonKind::ConnectionLost, ReasonKind::NotConnected, ReasonKind::ServerDied];
    cell.verdict.reasons.iter().any(|reason| lost.contains(&reason.kind))
}

#[cfg(test)]
mod tests {
    use super::{meaning, remedy};
    use study::{Cell, Reason, ReasonKind, Verdict};

    fn reason(kind: ReasonKind, count: u64, example: &str) -> Reason {
        Reason { kind, count, example: example.into() }
    }

    #[test]
    fn what_happened_once_is_said_in_the_singular_and_the_rest_is_counted() {
        let said = |kind, count| meaning(&reason(kind, count, "")).into_owned();
        assert_eq!(said(ReasonKind::Refused, 1), "an operation was refused");
        assert_eq!(said(ReasonKind::Refused, 12_345), "operations refused, 12,345 times");
        assert_eq!(said(ReasonKind::ServerDied, 1), "server died");
        assert_eq!(said(ReasonKind::Interrupted, 3), "interrupted before it ran");
    }

    #[test]
    fn the_remedy_fits_the_words_of_the_store_and_of_nobody_else() {
        let said = |kind| remedy(&Cell::default(), &reason(kind, 1, "key user1: OOM command not allowed"));
        assert!(said(ReasonKind::Refused).contains("maxmemory="));
        assert!(said(ReasonKind::WrongValue).contains("kvtrial check"));
    }

    #[test]
    fn the_remedy_fits_the_job_and_what_else_was_seen() {
        let cell = |job: &str, reasons: &[Reason]| Cell {
            job: job.into(),
            store: "redis://h".into(),
            verdict: Verdict::of(reasons.to_vec()),
            ..Cell::default()
        };
        let lost = reason(ReasonKind::LostUpdates, 3, "user1");
        assert!(remedy(&cell("fans", &[]), &lost).contains("policy=cas"));
        assert!(!remedy(&cell("ycsb", &[]), &lost).contains("policy="));
        let missed = reason(ReasonKind::UnexpectedMiss, 3, "user1");
        let outage = reason(ReasonKind::ConnectionLost, 1, "reset");
        assert!(
            remedy(&cell("ycsb", std::slice::from_ref(&outage)), &missed).contains("was restarted without its data")
        );
        assert!(remedy(&cell("ycsb", &[]), &missed).contains("evicts"));
        let closed = reason(ReasonKind::NotStarted, 1, "redis://h: Connection refused");
        assert!(remedy(&cell("ycsb", &[]), &closed).contains("start that server"));
    }
}
