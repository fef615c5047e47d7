//! Is this store, with this client, correct?
//!
//! [`run`] puts a store through cases that have broken real clients: values of every awkward length followed by the read of
//! another key, bytes that look like the protocol, deep pipelines, many clients at once, counters at their bounds, races. It uses
//! nothing but the [`store::Store`] interface, so it checks store, adapter and transport together. Only operations the store has
//! itself are checked. A store that does not answer ends the check; it never hangs.
//!
//! What never lives here: a particular store, a measurement, printing.

mod barrier;
mod cases;
mod fault;
mod probe;
mod report;
mod subject;
mod value;
mod written;

pub use report::{CaseResult, CaseStatus, CheckFinding, CheckReport, is_failed, is_passed, is_skipped};

use cases::Case;
use fault::{Stop, guarded};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use store::{Keeps, OperationKind, Store};
use subject::Subject;

/// The beginning of every key a check writes (but the empty key, which is used only where it does not exist). All of them are deleted at
/// the end, unless the store has stopped answering.
pub const KEY_PREFIX: &str = "kvtrial-check:";

/// The options of a check.
#[derive(Clone, Debug)]
pub struct Options {
    /// The longest time one operation may take; a store that takes longer counts as frozen, and the check ends.
    pub timeout: Duration,
    /// The longest value sent, bytes. A store with a higher limit is not tried at its limit.
    pub largest_value_bytes: usize,
    /// How long a session is left idle before it is used again.
    pub idle: Duration,
    /// Makes the keys and values of this check its own. By default taken from the clock, so that neither a check of the same
    /// server at the same time nor the keys an interrupted one left behind disturb it.
    pub seed: u64,
    /// Ends the check when it is set: the case under way and those behind it are skipped, and its keys are deleted.
    pub stop: Option<Arc<AtomicBool>>,
}

impl Default for Options {
    fn default() -> Options {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Options {
            timeout: Duration::from_secs(5),
            largest_value_bytes: 64 << 20,
            idle: Duration::from_secs(1),
            seed: now.as_nanos() as u64 ^ u64::from(std::process::id()).rotate_left(32),
            stop: None,
        }
    }
}

impl Options {
    /// Returns the beginning of all keys of a check with these options.
    pub fn key_prefix(&self) -> String {
        let tag = value::hash(&self.seed.to_le_bytes()) & 0xFF_FFFF;
        format!("{KEY_PREFIX}{tag:06x}:")
    }
}

/// Returns the names of all cases, in the order they are tried.
pub fn names() -> Vec<String> {
    cases::all().into_iter().map(|case| case.name).collect()
}

/// Checks a store. `observer` sees each case as it ends.
pub fn run(store: &dyn Store, options: &Options, observer: &mut dyn FnMut(&CaseResult)) -> CheckReport {
    let subject = Subject::new(store, options);
    let native = store.capabilities().native;
    let mut report = CheckReport {
        not_native: OperationKind::ALL
            .iter()
            .filter(|kind| !native.has(**kind))
            .map(|kind| kind.name().into())
            .collect(),
        key_prefix: subject.prefix().into(),
        ..CheckReport::default()
    };
    let mut given_up = None;
    for case in cases::all() {
        let (start, before) = (Instant::now(), subject.operations.load(Ordering::Relaxed));
        let status = match &given_up {
            Some(why) => CaseStatus::Skipped { why: String::clone(why) },
            None => try_case(&case, &subject, &mut given_up),
        };
        let operations = subject.operations.load(Ordering::Relaxed) - before;
        let result = CaseResult { name: case.name, status, operations, elapsed_s: start.elapsed().as_secs_f64() };
        observer(&result);
        report.cases.push(result);
    }
    if subject.is_stopped() {
        // Nobody waits for what the store says to it.
        let _ = cases::delete_keys(&subject);
    }
    report.operations = subject.operations.load(Ordering::Relaxed);
    report
}

fn try_case(case: &Case, subject: &Subject<'_>, given_up: &mut Option<String>) -> CaseStatus {
    let capabilities = subject.capabilities();
    if capabilities.keeps == Keeps::Nothing {
        return CaseStatus::Skipped { why: "this store keeps nothing, so no answer of it can be checked".into() };
    }
    let why_not = |kind: &OperationKind| match subject.store.lacks(*kind) {
        Some(words) => format!("{} (asked for it, the server says: {words})", kind.name()),
        None => kind.name().into(),
    };
    let missing: Vec<String> = case.needs.iter().filter(|kind| !capabilities.has(**kind)).map(why_not).collect();
    if !missing.is_empty() {
        return CaseStatus::Skipped { why: format!("not native: {}", missing.join(", ")) };
    }
    let outcome = guarded(|| (case.run)(subject));
    if subject.is_stopped() {
        *given_up = Some("the check was interrupted".into());
        return CaseStatus::Skipped { why: "the check was interrupted".into() };
    }
    match outcome {
        Ok(()) => CaseStatus::Passed,
        Err(Stop::Skipped(why)) => CaseStatus::Skipped { why },
        Err(Stop::Failed(reason)) => {
            if fault::is_final(reason.kind) {
                *given_up = Some("the check ended when the store stopped answering".into());
            }
            CaseStatus::Failed { reason }
        }
    }
}
