//! What a reason says, and what to do about it in this very case: by the words of the store, the job, and what else was seen.

use crate::advice::{advice, once};
use crate::units;
use std::borrow::Cow;
use study::{Cell, Reason, ReasonKind};

/// `operations refused, 7 times`, `an operation was refused`; of what ended a study, which is no count of anything, what it is.
pub fn meaning(reason: &Reason) -> Cow<'static, str> {
    match reason.count {
        0 | 1 => once(reason.kind).into(),
        _ if is_uncounted(reason.kind) => advice(reason.kind).0.into(),
        count => format!("{}, {} times", advice(reason.kind).0, units::whole(count)).into(),
    }
}

/// Whether a reason is that of a study that ended.
fn is_uncounted(kind: ReasonKind) -> bool {
    matches!(kind, ReasonKind::NoTrial | ReasonKind::Interrupted | ReasonKind::StudyStopped)
}

/// What to do about a reason in the verdict of this cell.
pub fn remedy(cell: &Cell, reason: &Reason) -> &'static str {
    by_words(reason).or_else(|| by_case(cell, reason)).unwrap_or(advice(reason.kind).1)
}

/// Kinds whose example is in the words of the store or the system.
const IN_WORDS: [ReasonKind; 6] = [
    ReasonKind::Refused,
    ReasonKind::NotStarted,
    ReasonKind::NotConnected,
    ReasonKind::ConnectionLost,
    ReasonKind::Unknown,
    ReasonKind::WrongReply,
];

/// Words of stores and of the system, and what they ask for; the first that fits.
const ASKED_FOR: [(&[&str], &str); 14] = [
    (
        &["NOAUTH", "no password supplied", "user name is empty", "equires authentication"],
        "log in: write the login into the URL, as in redis://user:***@host; kvtrial asks for the password",
    ),
    (
        &["WRONGPASS", "nvalid password", "authentication failed", "Authentication failed", "Access denied for user"],
        "correct user and password in the URL; a / or % in them is written %2F or %25",
    ),
    (
        &["NOPERM", "ermission denied", "Unauthorized", "not authorized", "command denied to user"],
        "the user of the URL may not do this: let the owner of the server grant it, or name another user",
    ),
    (
        &["DB index"],
        "correct the number of the database behind the / of the URL: the server has those from 0 to 'databases' - 1",
    ),
    (&["Unknown database", "NonexistentDatabase"], "create the database, or correct its name behind the / of the URL"),
    (&["WRONGTYPE"], "the keys hold data of another type: give it an empty database, or --overwrite to delete them"),
    (
        &["OOM", "out of memory storing"],
        "the store is at its memory limit: raise it (maxmemory=, memory=), or make the job smaller",
    ),
    (&["READONLY", "read only replica", "read-only transaction"], "this is a replica: name the server it follows"),
    (&["too large", "exceeds the maximum"], "raise the store's limit on values, or make the values smaller"),
    (
        &["SUN_LEN", "path must be shorter", "107 bytes"],
        "the path of a unix socket may have 107 bytes: pass a shorter --base DIR",
    ),
    (&["oo many open files", "os error 24"], "too many files are open: raise the limit (ulimit -n)"),
    (
        &["max number of clients", "oo many connections", "too many clients"],
        "the server takes no more connections: raise its limit, or use fewer --clients",
    ),
    (&["File too large", "os error 27"], "a limit on the size of files is in force: raise it (ulimit -f)"),
    (&["annot allocate memory", "os error 12"], "this machine has no memory left: free some, or make the job smaller"),
];

fn by_words(reason: &Reason) -> Option<&'static str> {
    let says = |words: &[&str]| words.iter().any(|words| reason.example.contains(words));
    let known = IN_WORDS.contains(&reason.kind);
    ASKED_FOR.iter().find(|(words, _)| known && says(words)).map(|(_, remedy)| *remedy)
}

fn by_case(cell: &Cell, reason: &Reason) -> Option<&'static str> {
    let is_users = cell.store.contains("://");
    let was_faulted = cell.trials.iter().any(|trial| !trial.faults.is_empty());
    match reason.kind {
        ReasonKind::UnexpectedMiss if was_faulted => {
            Some("the store did not keep it through the fault you asked for: a higher durability= or more replicas may")
        }
        ReasonKind::UnexpectedMiss if saw_outage(cell) => {
            Some("the store was restarted without its data: look who restarted it, and choose a higher durability=")
        }
        ReasonKind::LostUpdates if was_faulted => Some("a higher durability= or more replicas may keep them"),
        ReasonKind::LostUpdates if cell.job == "fans" => Some(
            "the store dropped writes, or clients overwrote each other's work: set policy=cas, policy=lock or policy=partition",
        ),
        ReasonKind::LostUpdates if saw_outage(cell) => Some(
            "the store was restarted without some of its data: look who restarted it, and choose a higher durability=",
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
    fn the_remedy_fits_the_words_of_the_store() {
        for (example, words) in [
            ("key user1: NOAUTH Authentication required.", "asks for the password"),
            ("redis://h: WRONGPASS invalid username-password pair or user is disabled.", "correct user and password"),
            ("key k: NOPERM this user has no permissions to run the 'set' command", "grant it"),
            ("redis://h/99: ERR DB index is out of range", "number of the database"),
            ("key k: WRONGTYPE Operation against a key holding the wrong kind of value", "another type"),
            ("key k: OOM command not allowed when used memory > 'maxmemory'.", "maxmemory="),
            ("Too many open files (os error 24)", "ulimit -n"),
            ("path must be shorter than SUN_LEN", "--base"),
        ] {
            let kind = if example.starts_with("key") { ReasonKind::Refused } else { ReasonKind::NotStarted };
            let said = remedy(&Cell::default(), &reason(kind, 1, example));
            assert!(said.contains(words), "{example}: {said}");
        }
        // What was read is not what a store says.
        assert!(remedy(&Cell::default(), &reason(ReasonKind::WrongValue, 1, "NOAUTH")).contains("kvtrial check"));
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
