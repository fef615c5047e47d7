//! Counters, records of counters, and what happens at their bounds.

use super::{CLIENTS, Case};
use crate::fault::Stop;
use crate::probe::{Must, Probe};
use crate::subject::Subject;
use std::collections::BTreeMap;
use store::{Counter, Operation, OperationKind, Overflow, OwnedFailure, OwnedReply};
use study::ReasonKind;

const INCREMENT: &[OperationKind] = &[OperationKind::Increment];
const READ: &[OperationKind] = &[OperationKind::Increment, OperationKind::GetCounter];
const FIELDS: &[OperationKind] = &[OperationKind::IncrementField, OperationKind::GetFields];

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("a counter starts at its first increment and adds up", INCREMENT, adds_up),
        Case::new("a counter is read as it was left, a missing one is missing", READ, is_read),
        Case::new("a counter does at its upper bound what is declared", READ, upper_bound),
        Case::new("a counter does at its lower bound what is declared", READ, lower_bound),
        Case::new("16 clients increment one counter and every number is returned once", INCREMENT, together),
        Case::new("a record of counters keeps its fields apart", FIELDS, fields),
        Case::new("16 clients increment the fields of one record exactly", FIELDS, fields_together),
    ]
}

fn range(subject: &Subject<'_>) -> Result<Counter, Stop> {
    subject.capabilities().counter.ok_or_else(|| Stop::Skipped("the store declares no range of its counters".into()))
}

fn increment(key: &[u8], by: i64) -> Operation<'_> {
    Operation::Increment { key, by }
}

fn adds_up(subject: &Subject<'_>) -> Result<(), Stop> {
    let range = range(subject)?;
    let mut probe = subject.probe()?;
    let key = subject.key("counter");
    let mut count = 0;
    for by in [1, 1, 10, 0, 1000, -11, 65_536, -1] {
        count += by;
        probe.must(increment(&key, by), Must::Count(count))?;
    }
    let other = subject.key("another counter");
    probe.must(increment(&other, 7), Must::Count(7))?;
    probe.must(increment(&key, 1), Must::Count(count + 1))?;
    if range.min < 0 {
        let below = subject.key("counter below zero");
        probe.must(increment(&below, -3), Must::Count(-3))?;
        probe.must(increment(&below, 1), Must::Count(-2))?;
        probe.must(increment(&below, 4), Must::Count(2))?;
    }
    Ok(())
}

fn is_read(subject: &Subject<'_>) -> Result<(), Stop> {
    let mut probe = subject.probe()?;
    let key = subject.key("counter to read");
    probe.must(Operation::GetCounter { key: &key }, Must::Miss)?;
    for (by, count) in [(0, 0), (5, 5), (1_000_000, 1_000_005)] {
        probe.must(increment(&key, by), Must::Count(count))?;
        probe.must(Operation::GetCounter { key: &key }, Must::Count(count))?;
    }
    Ok(())
}

fn upper_bound(subject: &Subject<'_>) -> Result<(), Stop> {
    let Counter { min, max, overflow } = range(subject)?;
    let mut probe = subject.probe()?;
    let key = subject.key("counter at its upper bound");
    probe.must(increment(&key, max - 1), Must::Count(max - 1))?;
    probe.must(increment(&key, 1), Must::Count(max))?;
    probe.must(Operation::GetCounter { key: &key }, Must::Count(max))?;
    if max == i64::MAX && min == 0 && overflow == Overflow::Refused {
        return beyond_what_replies_show(subject, &mut probe, &key);
    }
    beyond(&mut probe, &key, 1, max, min, overflow)
}

fn lower_bound(subject: &Subject<'_>) -> Result<(), Stop> {
    let Counter { min, max, overflow } = range(subject)?;
    let mut probe = subject.probe()?;
    let key = subject.key("counter at its lower bound");
    if min < 0 {
        probe.must(increment(&key, min), Must::Count(min))?;
        probe.must(Operation::GetCounter { key: &key }, Must::Count(min))?;
        return beyond(&mut probe, &key, -1, min, max, overflow);
    }
    // `overflow` speaks of the upper bound only: an unsigned counter may also stay at zero.
    probe.must(increment(&key, 5), Must::Count(5))?;
    let stays_in_range = |reply: &OwnedReply| match reply {
        OwnedReply::Number(number) => (min..=max).contains(number),
        OwnedReply::Failed(OwnedFailure::Refused(_)) => true,
        _ => false,
    };
    let reply = probe.attempt(&increment(&key, -7))?;
    if !stays_in_range(&reply) {
        let seen = format!("5 less 7 gave {:?}, outside {min} to {max}", reply.as_reply());
        return Err(Stop::wrong(ReasonKind::WrongNumber, &key, seen));
    }
    let left = if let OwnedReply::Number(number) = reply { number } else { 5 };
    probe.must(Operation::GetCounter { key: &key }, Must::Count(left))
}

/// An unsigned counter of 64 bits goes on where no reply can follow it: the step over the bound is refused and may nevertheless
/// have been made. Whether it comes back is the server's luck (memcached 1.6.18 searches such a number for a minus sign beyond
/// its end, and at times finds one), but the session and other counters must not suffer.
fn beyond_what_replies_show(subject: &Subject<'_>, probe: &mut Probe<'_>, key: &[u8]) -> Result<(), Stop> {
    let over = probe.attempt(&increment(key, 1))?;
    let back = probe.attempt(&increment(key, -1))?;
    match (&over, &back) {
        (OwnedReply::Failed(OwnedFailure::Refused(_)), OwnedReply::Failed(OwnedFailure::Refused(_))) => {}
        (OwnedReply::Failed(OwnedFailure::Refused(_)), OwnedReply::Number(count)) if *count >= i64::MAX - 1 => {}
        _ => {
            let (over, back) = (over.as_reply(), back.as_reply());
            let seen = format!("{} and 1 more gave {over:?}, then 1 less gave {back:?}", i64::MAX);
            return Err(Stop::wrong(ReasonKind::WrongNumber, key, seen));
        }
    }
    let other = subject.key("counter next to the one at its bound");
    probe.must(increment(&other, 3), Must::Count(3))
}

/// One step over the bound the counter stands at, and one back.
fn beyond(
    probe: &mut Probe<'_>,
    key: &[u8],
    step: i64,
    bound: i64,
    other: i64,
    overflow: Overflow,
) -> Result<(), Stop> {
    let after = match overflow {
        Overflow::Wraps => other,
        Overflow::Refused | Overflow::Saturates => bound,
        // Whatever becomes of this counter: those that come after are on the same connection.
        Overflow::Undefined => return probe.attempt(&increment(key, step)).map(drop),
    };
    let reply = probe.attempt(&increment(key, step))?;
    match (overflow, &reply) {
        (Overflow::Refused, OwnedReply::Failed(OwnedFailure::Refused(_))) => {}
        (Overflow::Wraps | Overflow::Saturates, OwnedReply::Number(number)) if *number == after => {}
        _ => {
            let seen = format!("{bound} and {step} more: declared {overflow:?}, got {:?}", reply.as_reply());
            return Err(Stop::wrong(ReasonKind::WrongNumber, key, seen));
        }
    }
    probe.must(Operation::GetCounter { key }, Must::Count(after))?;
    match overflow {
        Overflow::Wraps => probe.must(increment(key, -step), Must::Count(bound)),
        _ => probe.must(increment(key, -step), Must::Count(bound - step)),
    }
}

const ROUNDS: usize = 100;

fn together(subject: &Subject<'_>) -> Result<(), Stop> {
    let key = subject.key("counter of all");
    let numbers = subject.clients(CLIENTS, |_, _| {
        let mut probe = subject.probe()?;
        (0..ROUNDS).map(|_| probe.increment(&key, 1)).collect::<Result<Vec<i64>, Stop>>()
    })?;
    let mut numbers = numbers.concat();
    numbers.sort_unstable();
    for (expected, got) in (1..).zip(&numbers) {
        if *got < expected {
            let lost = (CLIENTS * ROUNDS) as i64 - numbers.last().copied().unwrap_or(0);
            let seen = format!("{got} was the answer to two increments; {lost} of {} are lost", CLIENTS * ROUNDS);
            return Err(Stop::wrong(ReasonKind::LostUpdates, &key, seen));
        }
        if *got > expected {
            let seen = format!("no increment was answered with {expected}; {got} came instead");
            return Err(Stop::wrong(ReasonKind::WrongNumber, &key, seen));
        }
    }
    Ok(())
}

/// Names that a document store or a query might take for something else.
const NAMES: [&[u8]; 14] = [
    b"a",
    b"b",
    b"a.b",
    b"$inc",
    b"_id",
    b"a b",
    b"'",
    b"%",
    b"\r\n",
    b"1",
    b"-",
    b"\xE6\x97\xA5",
    b"a\0b",
    b"__proto__",
];

fn fields(subject: &Subject<'_>) -> Result<(), Stop> {
    let mut probe = subject.probe()?;
    let (key, other) = (subject.key("record"), subject.key("another record"));
    let mut model: BTreeMap<Vec<u8>, i64> = BTreeMap::new();
    read_fields(&mut probe, &key, &model)?;
    probe.must(Operation::IncrementField { key: &other, field: b"a", by: 77 }, Must::Count(77))?;
    let many: Vec<Vec<u8>> = (0..100).map(|number| format!("field {number}").into_bytes()).collect();
    let names = NAMES.iter().map(|name| name.to_vec()).chain(many);
    for (number, field) in names.enumerate() {
        for by in [number as i64 + 1, 10] {
            let count = model.entry(field.clone()).or_default();
            *count += by;
            probe.must(Operation::IncrementField { key: &key, field: &field, by }, Must::Count(*count))?;
        }
        if number < NAMES.len() {
            read_fields(&mut probe, &key, &model)?;
        }
    }
    read_fields(&mut probe, &key, &model)?;
    read_fields(&mut probe, &other, &BTreeMap::from([(b"a".to_vec(), 77)]))
}

/// Reads a record and compares it with the model; the order of fields is the store's own affair.
fn read_fields(probe: &mut Probe<'_>, key: &[u8], model: &BTreeMap<Vec<u8>, i64>) -> Result<(), Stop> {
    let rows = match probe.ask(&Operation::GetFields { key })? {
        OwnedReply::Rows(rows) => rows,
        other => return Err(jobkit::Offence::failed(key, &other.as_reply()).into()),
    };
    let mut got: Vec<(&[u8], &[u8])> = rows.rows().iter().collect();
    got.sort_unstable();
    let field = |name: &[u8]| jobkit::printable(name);
    for (name, count) in model {
        let wrong = |seen: String| Stop::wrong(ReasonKind::WrongNumber, key, format!("field {}: {seen}", field(name)));
        match got.iter().filter(|(found, _)| found == name).map(|(_, text)| *text).collect::<Vec<_>>()[..] {
            [text] if text == count.to_string().as_bytes() => {}
            [text] => return Err(wrong(format!("expected {count}, got {}", jobkit::printable(text)))),
            [] => return Err(wrong(format!("expected {count}, got no such field"))),
            _ => return Err(wrong("came more than once".into())),
        }
    }
    match got.iter().find(|(name, _)| !model.contains_key(*name)) {
        Some((name, _)) => {
            Err(Stop::wrong(ReasonKind::UnexpectedHit, key, format!("field {} was never written", field(name))))
        }
        None => Ok(()),
    }
}

fn fields_together(subject: &Subject<'_>) -> Result<(), Stop> {
    let key = subject.key("record of all");
    subject.clients(CLIENTS, |client, _| {
        let mut probe = subject.probe()?;
        let own = format!("of {client}").into_bytes();
        (1..=20).try_for_each(|round| {
            probe.must(Operation::IncrementField { key: &key, field: &own, by: 2 }, Must::Count(2 * round))?;
            probe.ask(&Operation::IncrementField { key: &key, field: b"of all", by: 1 }).map(drop)
        })
    })?;
    let mut model: BTreeMap<Vec<u8>, i64> =
        (0..CLIENTS).map(|client| (format!("of {client}").into_bytes(), 40)).collect();
    model.insert(b"of all".to_vec(), 20 * CLIENTS as i64);
    read_fields(&mut subject.probe()?, &key, &model)
}
