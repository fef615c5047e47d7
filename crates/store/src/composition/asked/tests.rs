#![allow(clippy::unwrap_used)]

use super::asked;
use crate::immediate::{Immediate, SyncStore};
use crate::{
    Capabilities, Counter, Expected, Facts, Failure, Operation, OperationKind, OperationSet, Overflow, Reply,
    RowBuffer, Session, SessionPlan, Store, StoreError, Threading,
};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// What a counter does beyond its end.
type Count = fn(i64, i64) -> Option<i64>;

/// A store that refuses some operations and counts in its own way, and what it holds.
#[derive(Clone)]
struct Odd {
    refused: &'static [OperationKind],
    count: Count,
    /// Counters are in a place of their own, and not deleted.
    apart: bool,
    values: Arc<Mutex<BTreeMap<Vec<u8>, Vec<u8>>>>,
    counters: Arc<Mutex<BTreeMap<Vec<u8>, i64>>>,
}

impl Odd {
    fn new(refused: &'static [OperationKind], count: Count) -> Odd {
        Odd { refused, count, apart: false, values: Arc::default(), counters: Arc::default() }
    }

    fn is_empty(&self) -> bool {
        self.values.lock().unwrap().is_empty() && self.counters.lock().unwrap().is_empty()
    }
}

const DECLARED: Capabilities = Capabilities {
    native: OperationSet::of(&OperationKind::ALL),
    counter: Some(Counter { min: i64::MIN, max: i64::MAX, overflow: Overflow::Refused }),
    ..Capabilities::BASIC
};

impl Store for Odd {
    fn capabilities(&self) -> &Capabilities {
        &DECLARED
    }

    fn session(&self, plan: SessionPlan) -> Result<Box<dyn Session>, StoreError> {
        Immediate::session(plan, || Ok(Handle { odd: self.clone(), rows: RowBuffer::default(), value: Vec::new() }))
    }

    fn threading(&self) -> Threading {
        Threading::PerClient
    }

    fn facts(&self) -> Result<Facts, StoreError> {
        Ok(Facts::default())
    }
}

struct Handle {
    odd: Odd,
    rows: RowBuffer,
    value: Vec<u8>,
}

impl SyncStore for Handle {
    fn execute(&mut self, operation: &Operation<'_>) -> Reply<'_> {
        if self.odd.refused.contains(&operation.kind()) {
            return Reply::Failed(Failure::Refused("unknown command"));
        }
        let (mut values, mut counters) = (self.odd.values.lock().unwrap(), self.odd.counters.lock().unwrap());
        match *operation {
            Operation::Get { key } | Operation::GetVersioned { key } => match values.get(key) {
                Some(value) => {
                    self.value.clone_from(value);
                    Reply::Versioned { value: &self.value, version: 1 }
                }
                None => Reply::Missing,
            },
            Operation::Command { .. } | Operation::Sql { .. } => Reply::Missing,
            Operation::TimeLeft { key } => match values.contains_key(key) {
                true => Reply::Number(crate::LASTS),
                false => Reply::Missing,
            },
            Operation::Touch { key, .. } => match values.contains_key(key) {
                true => Reply::Done,
                false => Reply::Missing,
            },
            Operation::Put { key, value } | Operation::PutTtl { key, value, .. } | Operation::Append { key, value } => {
                values.insert(key.to_vec(), value.to_vec());
                Reply::Done
            }
            Operation::CompareAndSet { key, expected: Expected::Absent, value } => {
                values.insert(key.to_vec(), value.to_vec());
                Reply::Done
            }
            Operation::CompareAndSet { .. } => Reply::Conflict,
            Operation::Delete { key } => {
                let was = values.remove(key).is_some() | (!self.odd.apart && counters.remove(key).is_some());
                if was { Reply::Done } else { Reply::Missing }
            }
            Operation::Increment { key, by } | Operation::IncrementField { key, by, .. } => {
                let counter = counters.entry(key.to_vec()).or_default();
                match (self.odd.count)(*counter, by) {
                    Some(sum) => {
                        *counter = sum;
                        Reply::Number(sum)
                    }
                    None => Reply::Failed(Failure::Refused("too large")),
                }
            }
            Operation::PutMany { pairs } => {
                values.extend(pairs.iter().map(|(key, value)| (key.to_vec(), value.to_vec())));
                Reply::Done
            }
            Operation::GetCounter { key } if self.odd.apart || !values.contains_key(key) => Reply::Missing,
            Operation::GetCounter { .. } => Reply::Failed(Failure::Refused("no counter")),
            Operation::GetMany { .. } | Operation::Scan { .. } | Operation::GetFields { .. } => {
                self.rows.clear();
                Reply::Rows(self.rows.rows())
            }
        }
    }
}

fn in_32_bits(sum: i64) -> i64 {
    i64::from(sum as i32)
}

#[test]
fn a_store_that_has_all_it_declares_keeps_it_and_nothing_is_left_in_it() {
    let odd = Odd::new(&[], i64::checked_add);
    let store = asked(Box::new(odd.clone()), "odd").unwrap();
    assert_eq!(*store.capabilities(), DECLARED);
    assert!(store.facts().unwrap().config.is_empty());
    assert!(odd.is_empty());
}

#[test]
fn what_is_refused_is_taken_out_with_what_is_of_no_use_without_it_and_said_in_the_servers_words() {
    let odd =
        Odd::new(&[OperationKind::CompareAndSet, OperationKind::GetFields, OperationKind::Scan], i64::checked_add);
    let store = asked(Box::new(odd.clone()), "odd").unwrap();
    let gone: Vec<_> = OperationKind::ALL
        .into_iter()
        .filter(|kind| !store.capabilities().has(*kind))
        .map(OperationKind::name)
        .collect();
    assert_eq!(gone, ["get_versioned", "increment_field", "get_fields", "compare_and_set", "scan"]);
    assert_eq!(store.lacks(OperationKind::GetVersioned), Some("unknown command"));
    assert_eq!(store.lacks(OperationKind::Append), None);
    let facts = store.facts().unwrap();
    assert!(facts.config["lacks"].contains("scan (unknown command)"), "{facts:?}");
    assert!(odd.is_empty());
}

#[test]
fn counters_are_declared_as_far_as_they_go_and_with_what_they_do_beyond() {
    let counter = |min, max, overflow| Some(Counter { min, max, overflow });
    let (wide, narrow) = ((i64::MIN, i64::MAX), (i64::MIN, i64::from(i32::MAX)));
    let cases: [(Count, Option<Counter>); 6] = [
        (i64::checked_add, counter(wide.0, wide.1, Overflow::Refused)),
        (|held, by| Some(held.wrapping_add(by)), counter(wide.0, wide.1, Overflow::Wraps)),
        (|held, by| Some(held.saturating_add(by)), counter(wide.0, wide.1, Overflow::Saturates)),
        (|held, by| Some(held.wrapping_add(by).max(0)), counter(0, wide.1, Overflow::Undefined)),
        (|held, by| Some(in_32_bits(held + in_32_bits(by))), counter(narrow.0, narrow.1, Overflow::Undefined)),
        (|held, by| Some((held + by % 100) % 100), None),
    ];
    for (number, (count, expected)) in cases.into_iter().enumerate() {
        let odd = Odd::new(&[], count);
        let store = asked(Box::new(odd.clone()), "odd").unwrap();
        assert_eq!(store.capabilities().counter, expected, "case {number}");
        assert_eq!(store.capabilities().has(OperationKind::Increment), expected.is_some(), "case {number}");
        assert!(odd.is_empty(), "case {number}");
    }
}

#[test]
fn counters_that_answer_less_than_the_truth_are_not_taken_for_absent_and_it_is_said_what_was_asked_answered_and_expected()
 {
    let odd = Odd::new(&[], |held, by| Some(held + (by - 1).max(0)));
    let store = asked(Box::new(odd.clone()), "odd").unwrap();
    assert_eq!(*store.capabilities(), DECLARED);
    assert_eq!(store.lacks(OperationKind::Increment), None);
    let facts = store.facts().unwrap();
    assert_eq!(facts.config["answers wrongly"], "a counter incremented by 5 answered 4, must be 5");
    assert!(!facts.config.contains_key("lacks") && odd.is_empty(), "{facts:?}");
}

#[test]
fn counters_that_no_delete_would_take_away_are_not_tried() {
    let odd = Odd { apart: true, ..Odd::new(&[], |_, _| None) };
    let store = asked(Box::new(odd.clone()), "odd").unwrap();
    assert_eq!(*store.capabilities(), DECLARED);
    assert!(odd.is_empty());
}

#[test]
fn without_get_put_or_delete_it_is_no_store_and_says_which_is_missing() {
    for kind in [OperationKind::Get, OperationKind::Put, OperationKind::Delete] {
        let refused: &'static [OperationKind] = Box::leak(Box::new([kind]));
        let error = asked(Box::new(Odd::new(refused, i64::checked_add)), "odd").err().unwrap().to_string();
        assert_eq!(
            error,
            format!("odd: every store needs {}, and this server does not have it: unknown command", kind.name())
        );
    }
}
