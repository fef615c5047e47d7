//! Whether a trial or a cell may be believed, and why not.

use crate::visible;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;

/// The four verdicts. The later one outweighs the earlier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// No counted trial was finished, so nothing is known. What a cell is until it has one.
    #[default]
    NotRun,
    /// Every answer was right.
    Valid,
    /// Every answer was right, but host or client may have distorted the time.
    Degraded,
    /// Some answer was wrong, missing or refused, or operations could not be sent. Shown, never ranked.
    Void,
}

/// Why a verdict is not `valid`. Serialised in snake case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasonKind {
    /// A value read was not what the job knows must be there.
    WrongValue,
    /// A value that belongs to another key was answered.
    WrongKey,
    /// A value older than one already acknowledged was answered.
    StaleValue,
    /// A key that must exist was answered as missing.
    UnexpectedMiss,
    /// A value with a time to live was gone before that time was over.
    ExpiredEarly,
    /// A value with a time to live was there after that time, and after what the store declares beyond it.
    ExpiredLate,
    /// A value with a time to live was there when every value was to be gone.
    NeverExpired,
    /// A key that must not exist was answered with a value.
    UnexpectedHit,
    /// A counter was answered with a wrong number.
    WrongNumber,
    /// A reply of the wrong type for its request.
    WrongReply,
    /// The store refused an operation, which did not happen (out of memory, too large, read-only, ...).
    Refused,
    /// An operation was never sent, for lack of a connection: it did not happen.
    NotConnected,
    /// The store answered that an operation may have happened: time ran out among its nodes, or it met an error within.
    Unknown,
    /// The connection broke with operations in flight.
    ConnectionLost,
    /// Bytes that are not the protocol, or a reply nobody asked for.
    Protocol,
    /// No reply within the deadline.
    Deadline,
    /// The final state misses updates that were acknowledged.
    LostUpdates,
    /// The final state holds something the job never wrote.
    ForeignData,
    /// The digest of the answer is not the known answer.
    WrongAnswer,
    /// Open loop: operations that were due were never sent, not even behind the end.
    NotSent,
    /// The server process ended during the trial.
    ServerDied,
    /// The worker process that carried out the trial, and in it any embedded store, ended before the trial did.
    WorkerDied,
    /// A worker that shared the trial with others was lost: a result of fewer is none.
    WorkerLost,
    /// What a worker said in the end is not what it told while it worked, or not what it was to do.
    WorkerDisagrees,
    /// The store could not be started, opened or connected to.
    NotStarted,
    /// A setting asked for did not take effect in the server.
    SettingNotInEffect,
    /// The store itself dropped keys the job had written: it needed room, or let them expire.
    Evicted,
    /// Writes that could not be read back after a fault that was asked for. Earlier builds: operations failed after one.
    FailedInFault,
    /// A fault that was asked for was not done: the figures are not those of it.
    FaultNotDone,
    /// The job is a script, and the script failed.
    ScriptFailed,
    /// An expectation of a script (`kv.expect`) that was not met.
    NotAsExpected,
    /// No operation was asked of the store while the clock ran.
    NothingMeasured,
    /// Degraded: the client's threads were near their limit; the client may be what was measured.
    ClientSaturated,
    /// Degraded: client threads waited for a processor.
    ClientDelayed,
    /// Degraded: the open-loop schedule was kept late by the client itself.
    ScheduleLag,
    /// Degraded: the workers that shared the trial began too far apart.
    StartSpread,
    /// Degraded: open loop, and the rate asked for was not offered: what was due waited for a free client.
    RateNotOffered,
    /// Degraded: the hypervisor took time from this machine.
    Steal,
    /// Degraded: other processes used the processor.
    OtherLoad,
    /// Degraded: processor time was withheld, by a quota or because of heat.
    Throttled,
    /// Degraded: what was written was read back far slower than it was written, so work may have been put off until the first read.
    SlowReadBack,
    /// Not run: the study ended, or was killed, before a counted trial of the cell was finished.
    NoTrial,
    /// Not run: the user interrupted the study before.
    Interrupted,
    /// Not run: the study stopped before, because another cell could not be run.
    StudyStopped,
    /// Not run: the user's store already held keys the job would overwrite.
    KeysFound,
    /// Not run: the job cannot be done on this store.
    Unsuited,
}

impl ReasonKind {
    /// Returns the verdict this reason alone leads to.
    pub fn status(self) -> Status {
        match self {
            ReasonKind::ClientSaturated
            | ReasonKind::ClientDelayed
            | ReasonKind::ScheduleLag
            | ReasonKind::StartSpread
            | ReasonKind::RateNotOffered
            | ReasonKind::Steal
            | ReasonKind::OtherLoad
            | ReasonKind::Throttled
            | ReasonKind::SlowReadBack => Status::Degraded,
            ReasonKind::NoTrial
            | ReasonKind::Interrupted
            | ReasonKind::StudyStopped
            | ReasonKind::KeysFound
            | ReasonKind::Unsuited => Status::NotRun,
            _ => Status::Void,
        }
    }

    /// Returns the snake-case word of `study.json`.
    pub fn name(self) -> String {
        match serde_json::to_value(self) {
            Ok(serde_json::Value::String(word)) => word,
            _ => String::new(),
        }
    }
}

/// A typed reason, with its count and first offender.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reason {
    /// The kind of fault.
    pub kind: ReasonKind,
    /// The number of times.
    pub count: u64,
    /// The first offending key (printable; other bytes as `\xNN`) and what was seen, or what to do about it.
    pub example: String,
}

/// Status and reasons together. Before anything was seen it is `not_run`; of what was seen and found right: [`Verdict::of`] nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The worst status of all reasons.
    pub status: Status,
    /// Sorted by kind, one entry per kind.
    pub reasons: Vec<Reason>,
}

/// Bytes of words that are kept of an error, and of what is said of the rest: servers and scripts say more than that only by mistake.
const KEPT_BYTES: usize = 4_000;
const SUFFIX_BYTES: usize = 64;

/// Returns the beginning of a text that is longer than anyone reads, with its length.
pub fn cut(text: &str) -> Cow<'_, str> {
    if text.len() <= KEPT_BYTES + SUFFIX_BYTES {
        return Cow::Borrowed(text);
    }
    let end = (0..=KEPT_BYTES).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    Cow::Owned(format!("{} ... (cut: {} bytes in all)", &text[..end], text.len()))
}

impl Reason {
    /// The same with every character of its example to be seen, and no more of them than people read: it is often in the words of a server,
    /// or a script.
    fn seen(self) -> Reason {
        let seen = visible(&self.example);
        match (&seen, cut(&seen)) {
            (Cow::Borrowed(_), Cow::Borrowed(_)) => self,
            (_, short) => Reason { example: short.into_owned(), ..self },
        }
    }
}

impl Verdict {
    /// Makes the verdict these reasons lead to, valid when there are none; reasons of one kind are merged, the first example stays.
    pub fn of(reasons: impl IntoIterator<Item = Reason>) -> Verdict {
        let mut verdict = Verdict::default();
        for reason in reasons {
            verdict.add(reason);
        }
        if verdict.reasons.is_empty() {
            verdict.status = Status::Valid;
        }
        verdict
    }

    /// Returns the verdict on what never ran, whatever kept it from running.
    pub fn not_run(why: Reason) -> Verdict {
        Verdict { status: Status::NotRun, reasons: vec![why.seen()] }
    }

    /// Adds one reason.
    pub fn add(&mut self, reason: Reason) {
        let reason = reason.seen();
        self.status = self.status.max(reason.kind.status());
        match self.reasons.binary_search_by_key(&reason.kind, |known| known.kind) {
            Ok(at) => self.reasons[at].count = self.reasons[at].count.saturating_add(reason.count),
            Err(at) => self.reasons.insert(at, reason),
        }
    }

    /// Returns whether the numbers may be ranked.
    pub fn is_ranked(&self) -> bool {
        matches!(self.status, Status::Valid | Status::Degraded)
    }
}

impl Status {
    /// All statuses.
    pub const ALL: [Status; 4] = [Status::NotRun, Status::Valid, Status::Degraded, Status::Void];

    /// Returns the word of `study.json` and other files for programs.
    pub fn name(self) -> &'static str {
        match self {
            Status::NotRun => "not_run",
            Status::Valid => "valid",
            Status::Degraded => "degraded",
            Status::Void => "void",
        }
    }
}

/// For people: `not run`.
impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Status::NotRun => "not run",
            other => other.name(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Reason, ReasonKind, Status, Verdict, cut};

    fn reason(kind: ReasonKind, count: u64, example: &str) -> Reason {
        Reason { kind, count, example: example.into() }
    }

    #[test]
    fn the_worst_reason_decides_and_reasons_of_one_kind_are_counted_together() {
        let verdict = Verdict::of([
            reason(ReasonKind::Steal, 1, "3 % steal"),
            reason(ReasonKind::WrongValue, 2, "key a"),
            reason(ReasonKind::WrongValue, 5, "key b"),
        ]);
        assert_eq!(verdict.status, Status::Void);
        assert_eq!(verdict.reasons.len(), 2);
        assert_eq!((verdict.reasons[0].count, verdict.reasons[0].example.as_str()), (7, "key a"));
    }

    #[test]
    fn what_nobody_judged_is_not_run_and_what_was_found_right_is_valid() {
        assert_eq!((Verdict::default().status, Verdict::of([]).status), (Status::NotRun, Status::Valid));
        let stopped = Verdict::of([reason(ReasonKind::Interrupted, 1, "")]);
        let refused = Verdict::not_run(reason(ReasonKind::NotStarted, 1, "no binary"));
        for verdict in [Verdict::default(), stopped, refused] {
            assert_eq!(verdict.status, Status::NotRun);
            assert!(!verdict.is_ranked(), "{verdict:?}");
        }
        for status in Status::ALL {
            assert_eq!(serde_json::to_value(status).ok(), Some(status.name().into()));
        }
    }

    #[test]
    fn ten_megabytes_of_an_error_are_cut_at_a_character() {
        let verdict = Verdict::of([reason(ReasonKind::ScriptFailed, 1, &"ä\n".repeat(3_500_000))]);
        let example = &verdict.reasons[0].example;
        assert!(example.len() <= 4_064 && example.ends_with(" bytes in all)"), "{}", example.len());
        assert_eq!(&cut(example), example, "what was cut once stays as it is");
    }

    #[test]
    fn a_noisy_host_degrades_but_does_not_void() {
        let verdict = Verdict::of([reason(ReasonKind::OtherLoad, 1, "")]);
        assert_eq!(verdict.status, Status::Degraded);
        assert!(verdict.is_ranked());
    }
}
