//! Bugs that real clients had, built into a store on purpose: each is caught by the case that is there for it, with the reason
//! and the key that say what is wrong.

#![allow(clippy::unwrap_used)]

use kvtrial_check::{CaseStatus, CheckFinding, CheckReport, Options};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use store::immediate::{Immediate, SyncStore};
use store::{
    Capabilities, Counter, Expected, Expiry, Facts, Failure, Operation, OperationKind, OperationSet, Overflow, Reply,
    RowBuffer, Session, SessionPlan, Store, StoreError, Threading,
};
use study::ReasonKind;

/// What is wrong with the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bug {
    None,
    /// Values of more than 1,024 bytes are acknowledged and dropped (a Redis client of 2009).
    DropsLongValues,
    /// After reading a value of exactly 1,000 bytes the next read is empty (the same client).
    MisframesThousandBytes,
    /// Every value is cut at its first NUL.
    EndsAtNul,
    /// Keys differ only by their first 64 bytes.
    CutsKeys,
    /// Keys are compared without regard to case.
    FoldsCase,
    /// A missing key is answered with the value read before.
    MissIsLastHit,
    /// Deleting says that it was there, always.
    DeletesEverything,
    /// Deleting looks first and deletes then.
    DeletesInTwoSteps,
    /// A shorter value leaves the end of the longer one behind.
    LeavesTail,
    /// Compare-and-set compares nothing.
    SwapsBlindly,
    /// Reading and writing of a compare-and-set are two steps.
    SwapsInTwoSteps,
    /// Every second append is lost.
    LosesAppends,
    /// Appending to a missing key does nothing.
    AppendsOnlyToWhatIsThere,
    /// Wraps declared, saturates.
    SaturatesWhereItWraps,
    /// Reading and writing of an increment are two steps.
    CountsInTwoSteps,
    /// Scans come in the order of writing.
    ScansUnsorted,
    /// Scans leave their start out.
    ScansBehindStart,
    /// Many reads answer in the order of keys, not as asked.
    AnswersManySorted,
    /// Fields of records share one count.
    MixesFields,
    /// Another session sees nothing.
    KeepsPerSession,
    /// A read panics in the client at values of 1 MiB.
    Panics,
    /// Values over the declared limit are kept.
    TakesTooMuch,
    /// A value is gone at once, not when its time to live is over.
    ExpiresAtOnce,
    /// A time to live is taken and forgotten.
    NeverExpires,
    /// A key is said to have no time to live.
    TellsNoTime,
    /// Touching a key says that it is there, and changes nothing.
    TouchesNothing,
}

const LIMIT: usize = 2 << 20;

static CAPABILITIES: Capabilities = Capabilities {
    native: OperationSet::of(&OperationKind::ALL),
    max_key_bytes: 1000,
    max_value_bytes: LIMIT,
    value_limit_is_hard: true,
    counter: Some(Counter { min: -1000, max: 2_000_000, overflow: Overflow::Wraps }),
    expiry: Some(Expiry::IN_MS),
    ..Capabilities::BASIC
};

#[derive(Default)]
struct Data {
    values: BTreeMap<Vec<u8>, (Vec<u8>, u64)>,
    order: Vec<Vec<u8>>,
    counters: BTreeMap<Vec<u8>, i64>,
    fields: BTreeMap<Vec<u8>, BTreeMap<Vec<u8>, i64>>,
    over: BTreeMap<Vec<u8>, Instant>,
    version: u64,
    appends: u64,
}

struct Buggy {
    bug: Bug,
    data: Arc<Mutex<Data>>,
    capabilities: Capabilities,
}

struct Handle {
    bug: Bug,
    data: Arc<Mutex<Data>>,
    value: Vec<u8>,
    rows: RowBuffer,
    next_is_empty: bool,
}

impl Store for Buggy {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn session(&self, plan: SessionPlan) -> Result<Box<dyn Session>, StoreError> {
        Immediate::session(plan, || {
            let data = if self.bug == Bug::KeepsPerSession { Arc::default() } else { Arc::clone(&self.data) };
            Ok(Handle { bug: self.bug, data, value: Vec::new(), rows: RowBuffer::default(), next_is_empty: false })
        })
    }

    fn threading(&self) -> Threading {
        Threading::PerClient
    }

    fn facts(&self) -> Result<Facts, StoreError> {
        Ok(Facts { product: "buggy".into(), version: "1".into(), ..Facts::default() })
    }
}

impl Data {
    fn put(&mut self, key: &[u8], value: Vec<u8>) {
        self.over.remove(key);
        self.version += 1;
        if self.values.insert(key.to_vec(), (value, self.version)).is_none() {
            self.order.push(key.to_vec());
        }
    }
}

impl Handle {
    fn key(&self, key: &[u8]) -> Vec<u8> {
        match self.bug {
            Bug::CutsKeys => key[..key.len().min(64)].to_vec(),
            Bug::FoldsCase => key.to_ascii_lowercase(),
            _ => key.to_vec(),
        }
    }

    fn kept(&self, old: Option<&[u8]>, value: &[u8]) -> Vec<u8> {
        match (self.bug, old) {
            (Bug::EndsAtNul, _) => value.split(|byte| *byte == 0).next().unwrap_or_default().to_vec(),
            (Bug::LeavesTail, Some(old)) if old.len() > value.len() => [value, &old[value.len()..]].concat(),
            _ => value.to_vec(),
        }
    }

    fn read(&mut self, key: &[u8]) -> Option<u64> {
        let mut data = self.data.lock().unwrap();
        let key = self.key(key);
        if data.over.get(&key).is_some_and(|over| *over <= Instant::now()) {
            data.values.remove(&key);
        }
        let found = data.values.get(&key).cloned();
        drop(data);
        match found {
            Some((value, version)) => {
                assert!(self.bug != Bug::Panics || value.len() != 1 << 20, "not prepared for {} bytes", value.len());
                let misframed = self.bug == Bug::MisframesThousandBytes && value.len() == 1000;
                self.value = if self.next_is_empty { Vec::new() } else { value };
                self.next_is_empty = misframed;
                Some(version)
            }
            None if self.bug == Bug::MissIsLastHit && !self.value.is_empty() => Some(0),
            None => None,
        }
    }
}

impl SyncStore for Handle {
    fn execute(&mut self, operation: &Operation<'_>) -> Reply<'_> {
        let shared = Arc::clone(&self.data);
        match *operation {
            Operation::Get { key } => match self.read(key) {
                Some(_) => Reply::Value(&self.value),
                None => Reply::Missing,
            },
            Operation::GetVersioned { key } => match self.read(key) {
                Some(version) => Reply::Versioned { value: &self.value, version },
                None => Reply::Missing,
            },
            Operation::Put { key, value } => {
                if key.len() > 1000 || (value.len() > LIMIT && self.bug != Bug::TakesTooMuch) {
                    return Reply::Failed(Failure::Refused("too long"));
                }
                if self.bug == Bug::DropsLongValues && value.len() > 1024 {
                    return Reply::Done;
                }
                let key = self.key(key);
                let mut data = shared.lock().unwrap();
                let kept = self.kept(data.values.get(&key).map(|(old, _)| &old[..]), value);
                data.put(&key, kept);
                Reply::Done
            }
            Operation::PutTtl { key, value, ttl_ms } => {
                let key = self.key(key);
                let mut data = shared.lock().unwrap();
                data.put(&key, value.to_vec());
                let ttl_ms = if self.bug == Bug::ExpiresAtOnce { 0 } else { ttl_ms };
                if self.bug != Bug::NeverExpires {
                    data.over.insert(key, Instant::now() + Duration::from_millis(ttl_ms));
                }
                Reply::Done
            }
            Operation::Command { .. } | Operation::Sql { .. } => Reply::Missing,
            Operation::TimeLeft { key } => {
                if self.read(key).is_none() {
                    return Reply::Missing;
                }
                let over = shared.lock().unwrap().over.get(&self.key(key)).copied();
                let left = over.filter(|_| self.bug != Bug::TellsNoTime);
                Reply::Number(
                    left.map_or(store::LASTS, |over| over.saturating_duration_since(Instant::now()).as_millis() as i64),
                )
            }
            Operation::Touch { key, ttl_ms } => {
                if self.bug == Bug::TouchesNothing {
                    return Reply::Done;
                }
                if self.read(key).is_none() {
                    return Reply::Missing;
                }
                let over = Instant::now() + Duration::from_millis(ttl_ms);
                shared.lock().unwrap().over.insert(self.key(key), over);
                Reply::Done
            }
            Operation::Delete { key } => {
                let key = self.key(key);
                let mut data = shared.lock().unwrap();
                if self.bug == Bug::DeletesInTwoSteps && data.values.contains_key(&key) {
                    drop(data);
                    std::thread::yield_now();
                    data = shared.lock().unwrap();
                    data.order.retain(|known| *known != key);
                    data.values.remove(&key);
                    return Reply::Done;
                }
                data.order.retain(|known| *known != key);
                let there = data.values.remove(&key).is_some() || data.counters.remove(&key).is_some();
                let there = there || data.fields.remove(&key).is_some();
                if there || self.bug == Bug::DeletesEverything { Reply::Done } else { Reply::Missing }
            }
            Operation::Append { key, value } => {
                let key = self.key(key);
                let mut data = shared.lock().unwrap();
                data.appends += 1;
                let old = data.values.get(&key).map(|(old, _)| old.clone());
                if (old.is_none() && self.bug == Bug::AppendsOnlyToWhatIsThere)
                    || (self.bug == Bug::LosesAppends && data.appends.is_multiple_of(2))
                {
                    return Reply::Done;
                }
                data.put(&key, [old.unwrap_or_default(), value.to_vec()].concat());
                Reply::Done
            }
            Operation::Increment { key, by } => {
                let Counter { min, max, .. } = CAPABILITIES.counter.unwrap();
                let mut data = shared.lock().unwrap();
                let mut count = data.counters.get(key).copied().unwrap_or(0);
                if self.bug == Bug::CountsInTwoSteps {
                    drop(data);
                    std::thread::yield_now();
                    data = shared.lock().unwrap();
                }
                count += by;
                let range = max - min + 1;
                count = match (count < min, count > max, self.bug) {
                    (true, _, Bug::SaturatesWhereItWraps) => min,
                    (_, true, Bug::SaturatesWhereItWraps) => max,
                    (true, _, _) => count + range,
                    (_, true, _) => count - range,
                    _ => count,
                };
                data.counters.insert(key.to_vec(), count);
                Reply::Number(count)
            }
            Operation::GetCounter { key } => match shared.lock().unwrap().counters.get(key) {
                Some(count) => Reply::Number(*count),
                None => Reply::Missing,
            },
            Operation::IncrementField { key, field, by } => {
                let field = if self.bug == Bug::MixesFields { b"" } else { field };
                let mut data = shared.lock().unwrap();
                let count = data.fields.entry(key.to_vec()).or_default().entry(field.to_vec()).or_default();
                *count += by;
                Reply::Number(*count)
            }
            Operation::GetFields { key } => {
                self.rows.clear();
                for (field, count) in shared.lock().unwrap().fields.get(key).into_iter().flatten() {
                    self.rows.push(field, count.to_string().as_bytes());
                }
                Reply::Rows(self.rows.rows())
            }
            Operation::CompareAndSet { key, expected, value } => {
                let key = self.key(key);
                let mut data = shared.lock().unwrap();
                let met = match (data.values.get(&key), expected) {
                    _ if self.bug == Bug::SwapsBlindly => true,
                    (None, Expected::Absent) => true,
                    (Some((_, version)), Expected::Present { version: expected, .. }) => *version == expected,
                    _ => false,
                };
                if !met {
                    return Reply::Conflict;
                }
                if self.bug == Bug::SwapsInTwoSteps {
                    drop(data);
                    std::thread::sleep(Duration::from_micros(200));
                    data = shared.lock().unwrap();
                }
                data.put(&key, value.to_vec());
                Reply::Done
            }
            Operation::GetMany { keys } => {
                let mut keys: Vec<Vec<u8>> = keys.iter().map(|key| self.key(key)).collect();
                if self.bug == Bug::AnswersManySorted {
                    keys.sort();
                }
                self.rows.clear();
                let data = shared.lock().unwrap();
                for key in keys {
                    if let Some((value, _)) = data.values.get(&key) {
                        self.rows.push(&key, value);
                    }
                }
                Reply::Rows(self.rows.rows())
            }
            Operation::PutMany { pairs } => {
                let mut data = shared.lock().unwrap();
                pairs.iter().for_each(|(key, value)| data.put(&self.key(key), value.to_vec()));
                Reply::Done
            }
            Operation::Scan { start, limit } => {
                let data = shared.lock().unwrap();
                let mut keys = data.order.clone();
                if self.bug != Bug::ScansUnsorted {
                    keys.sort();
                }
                let from = |key: &&Vec<u8>| match self.bug {
                    Bug::ScansBehindStart => &key[..] > start,
                    _ => &key[..] >= start,
                };
                self.rows.clear();
                for key in keys.iter().filter(from).take(limit as usize) {
                    self.rows.push(key, &data.values[key].0);
                }
                Reply::Rows(self.rows.rows())
            }
        }
    }
}

fn check(bug: Bug) -> CheckReport {
    let mut capabilities = CAPABILITIES.clone();
    if matches!(bug, Bug::CutsKeys | Bug::FoldsCase) {
        // Their scans would speak of keys nobody wrote, which is not what is to be shown here.
        capabilities.native = OperationSet::BASIC;
    }
    let store = Buggy { bug, data: Arc::default(), capabilities };
    let options = Options { idle: Duration::ZERO, seed: 7, ..Options::default() };
    kvtrial_check::run(&store, &options, &mut |_| {})
}

/// Demands that the first failure of the check is this one.
fn assert_caught(bug: Bug, case_start: &str, kind: ReasonKind, key_part: &str, seen: &str) {
    let report = check(bug);
    let Some((case, reason)) = report.failures().next() else { panic!("{bug:?} went unnoticed\n{report}") };
    assert!(case.starts_with(case_start), "{bug:?} was caught by '{case}', not by '{case_start}...': {reason:?}");
    assert_eq!(reason.kind, kind, "{bug:?}: {reason:?}");
    assert!(reason.example.contains(key_part) && reason.example.contains(seen), "{bug:?}: {reason:?}");
}

#[test]
fn the_same_store_without_a_bug_is_correct() {
    let report = check(Bug::None);
    assert_eq!(report.finding(), CheckFinding::Correct, "{report}");
    assert!(report.not_native.is_empty());
    let skipped = report.cases.iter().filter(|case| !matches!(case.status, CaseStatus::Passed)).count();
    assert_eq!(skipped, 0, "{report}");
}

#[test]
fn values_over_1024_bytes_dropped_by_the_client_are_caught() {
    let case = "values of 1,023 to 1,025 bytes";
    assert_caught(Bug::DropsLongValues, case, ReasonKind::UnexpectedMiss, ":length 1025: ", "expected 1025 bytes");
}

#[test]
fn a_value_of_1000_bytes_that_empties_the_next_answer_is_caught_at_the_next_key() {
    let case = "values of 999 to 1,001 bytes";
    assert_caught(Bug::MisframesThousandBytes, case, ReasonKind::WrongValue, ":next to 999: ", "got 0 bytes");
}

#[test]
fn values_cut_at_a_nul_are_caught() {
    let report = check(Bug::EndsAtNul);
    let (case, reason) =
        report.failures().find(|(case, _)| case.starts_with("all 256 byte values are kept in values")).unwrap();
    assert_eq!(reason.kind, ReasonKind::WrongValue, "{case}: {reason:?}");
    assert!(reason.example.contains("got 0 bytes"), "{reason:?}");
}

#[test]
fn keys_taken_for_the_same_are_caught() {
    let case = "keys of the longest length";
    assert_caught(Bug::CutsKeys, case, ReasonKind::WrongKey, ":long ", "expected a miss");
    assert_caught(Bug::FoldsCase, "all 256 byte values are kept in keys", ReasonKind::WrongKey, ":key A: ", ":key a");
}

#[test]
fn a_miss_answered_with_the_last_hit_is_caught() {
    let case = "values of 1 byte";
    assert_caught(Bug::MissIsLastHit, case, ReasonKind::UnexpectedHit, ":absent next to 1: ", "expected a miss");
    let case = "values of 9 to 11 bytes";
    let report = check(Bug::MissIsLastHit);
    assert!(report.failures().any(|(name, reason)| name.starts_with(case) && reason.kind == ReasonKind::WrongKey));
}

#[test]
fn deleting_what_is_not_there_and_leaving_what_was_longer_are_caught() {
    let case = "a deleted key is gone";
    assert_caught(Bug::DeletesEverything, case, ReasonKind::UnexpectedHit, ":deleted: ", "a key that did not exist");
    let case = "a value replaced by a shorter";
    assert_caught(Bug::LeavesTail, case, ReasonKind::WrongValue, ":replaced: ", "expected 10 bytes");
}

#[test]
fn compare_and_set_that_does_not_compare_or_not_at_once_is_caught() {
    let case = "compare-and-set stores when nothing";
    assert_caught(Bug::SwapsBlindly, case, ReasonKind::LostUpdates, ":swapped: ", "must be Conflict");
    let case = "of 16 clients that create one key";
    assert_caught(Bug::SwapsInTwoSteps, case, ReasonKind::LostUpdates, ":created in round ", "of 16 clients won");
    let report = check(Bug::SwapsInTwoSteps);
    let counting = report.failures().find(|(case, _)| case.starts_with("16 clients count")).unwrap().1;
    assert_eq!(counting.kind, ReasonKind::LostUpdates, "{counting:?}");
}

#[test]
fn a_delete_that_several_clients_hear_of_is_caught() {
    let case = "of 16 clients that delete one key";
    assert_caught(Bug::DeletesInTwoSteps, case, ReasonKind::WrongReply, ":deleted in round ", "of 16 clients heard");
}

#[test]
fn a_time_to_live_that_is_not_kept_is_caught() {
    let case = "a value with a time to live";
    assert_caught(Bug::ExpiresAtOnce, case, ReasonKind::ExpiredEarly, ":expires: ", "before its 510 ms");
    assert_caught(Bug::NeverExpires, case, ReasonKind::ExpiredLate, ":expires: ", "still there");
    assert_caught(Bug::TellsNoTime, case, ReasonKind::WrongNumber, ":lasts: ", "has no time to live");
    assert_caught(Bug::TouchesNothing, case, ReasonKind::UnexpectedHit, ":never there: ", "did not exist");
}

#[test]
fn lost_appends_are_caught() {
    let case = "appending creates a missing key";
    assert_caught(Bug::LosesAppends, case, ReasonKind::StaleValue, ":appended to: ", "an earlier value");
    assert_caught(Bug::AppendsOnlyToWhatIsThere, case, ReasonKind::UnexpectedMiss, ":appended to nothing: ", "a miss");
    let report = check(Bug::LosesAppends);
    let together = report.failures().find(|(case, _)| case.starts_with("16 clients append")).unwrap().1;
    assert!(matches!(together.kind, ReasonKind::LostUpdates | ReasonKind::WrongValue), "{together:?}");
}

#[test]
fn counters_that_do_other_than_declared_or_lose_increments_are_caught() {
    let case = "a counter does at its upper bound";
    assert_caught(Bug::SaturatesWhereItWraps, case, ReasonKind::WrongNumber, "upper bound: ", "declared Wraps");
    let report = check(Bug::SaturatesWhereItWraps);
    assert!(report.failures().any(|(case, _)| case.starts_with("a counter does at its lower bound")), "{report}");
    let case = "16 clients increment one counter";
    assert_caught(Bug::CountsInTwoSteps, case, ReasonKind::LostUpdates, ":counter of all: ", "are lost");
    let case = "a record of counters keeps";
    assert_caught(Bug::MixesFields, case, ReasonKind::WrongNumber, ":record", "expected ");
}

#[test]
fn scans_and_many_reads_in_the_wrong_order_are_caught() {
    let case = "a scan answers keys in byte order";
    let report = check(Bug::ScansUnsorted);
    let (found, reason) = report.failures().next().unwrap();
    assert!(found.starts_with(case), "{found}");
    assert!(reason.example.contains(":scan/") && reason.example.contains("in its place"), "{reason:?}");
    assert_caught(Bug::ScansBehindStart, case, ReasonKind::UnexpectedMiss, ":scan/: ", "in its place");
    let case = "get_many answers those present";
    assert_caught(Bug::AnswersManySorted, case, ReasonKind::WrongKey, ":one of many ", "in its place");
}

#[test]
fn sessions_that_do_not_share_what_is_written_are_caught() {
    let report = check(Bug::KeepsPerSession);
    for case in ["a new session reads everything", "16 clients with the same keys"] {
        assert!(report.failures().any(|(name, _)| name.starts_with(case)), "{case}\n{report}");
    }
}

#[test]
fn a_client_that_panics_fails_the_case_and_the_check_goes_on() {
    let report = check(Bug::Panics);
    let (case, reason) = report.failures().next().unwrap();
    assert!(case.starts_with("values of 1 MiB"), "{case}");
    assert!(reason.example.contains("the client panicked: not prepared for 1048576 bytes"), "{reason:?}");
    assert_eq!(report.failures().count(), 1, "{report}");
}

#[test]
fn a_limit_that_is_declared_and_not_kept_is_caught() {
    let case = "a value over the limit is refused";
    assert_caught(Bug::TakesTooMuch, case, ReasonKind::WrongReply, ":too long a value: ", "were to be refused");
}
