//! Values with a time to live: there before its end, gone behind it.

use super::Case;
use crate::fault::Stop;
use crate::probe::{Must, Probe};
use crate::subject::Subject;
use crate::value;
use std::time::{Duration, Instant};
use store::{Expiry, LASTS, Operation, OperationKind, OwnedReply};
use study::ReasonKind;

/// The shortest time to live that is tried.
const LEAST_MS: u64 = 500;

/// The longest wait for a value to be gone: a store that collects later is not waited for.
const MOST_WAIT_MS: u64 = 10_000;

pub fn cases() -> Vec<Case> {
    vec![Case::new(
        "a value with a time to live is there before its end and gone behind it, touched or put again it lasts longer",
        &[OperationKind::PutTtl],
        expires,
    )]
}

fn expires(subject: &Subject<'_>) -> Result<(), Stop> {
    let Some(expiry) = subject.capabilities().expiry else {
        return Err(Stop::Skipped("the store declares no exactness of its expiry".into()));
    };
    // A store without a touch is not asked for one.
    let can_touch = subject.capabilities().has(OperationKind::Touch);
    let ttl_ms = (LEAST_MS + expiry.early_ms).max(expiry.least_ms).next_multiple_of(expiry.grain_ms);
    let wait_ms = ttl_ms + expiry.late_ms;
    if wait_ms > MOST_WAIT_MS {
        return Err(Stop::Skipped(format!("the store may take {} s to let a value go", wait_ms / 1000)));
    }
    let long_ms = (10 * wait_ms).next_multiple_of(expiry.grain_ms);
    let mut probe = subject.probe()?;
    let names = ["expires", "expires, put again", "lasts", "expires, touched", "stays, touched"];
    let pairs = names.map(|name| {
        let key = subject.key(name);
        let value = value::of(&key, 1, 100.min(subject.longest_value_bytes()));
        (key, value)
    });
    let can_tell = subject.capabilities().has(OperationKind::TimeLeft);
    let [gone, again, lasts, touched, ends] = &pairs;
    let asked = if can_touch { &pairs[..] } else { &pairs[..3] };
    let sent = Instant::now();
    for (key, value) in [gone, again] {
        probe.must(Operation::PutTtl { key, value, ttl_ms }, Must::BeDone)?;
    }
    probe.must(Operation::PutTtl { key: &lasts.0, value: &lasts.1, ttl_ms: long_ms }, Must::BeDone)?;
    if can_touch {
        probe.must(Operation::PutTtl { key: &touched.0, value: &touched.1, ttl_ms }, Must::BeDone)?;
        probe.put(&ends.0, &ends.1)?;
        probe.must(Operation::Touch { key: &ends.0, ttl_ms }, Must::BeDone)?;
    }
    let replies: Vec<_> = asked.iter().map(|(key, _)| probe.ask(&Operation::Get { key })).collect();
    // On a machine that paused meanwhile nothing is known.
    if sent.elapsed() < Duration::from_millis(ttl_ms - expiry.early_ms) {
        for ((key, value), reply) in asked.iter().zip(replies) {
            if reply?.as_reply() != store::Reply::Value(value) {
                let seen = format!("no longer there, or another value, before its {ttl_ms} ms were over");
                return Err(Stop::wrong(ReasonKind::ExpiredEarly, key, seen));
            }
        }
        probe.put(&again.0, &again.1)?;
        if can_tell {
            probe.must(Operation::TimeLeft { key: &again.0 }, Must::Count(LASTS))?;
        }
        if can_touch {
            probe.must(Operation::Touch { key: &touched.0, ttl_ms: long_ms }, Must::BeDone)?;
        }
    }
    if can_touch {
        let none = subject.key("never there");
        probe.must(Operation::Touch { key: &none, ttl_ms }, Must::Miss)?;
    }
    if can_tell {
        probe.must(Operation::TimeLeft { key: &subject.key("never there") }, Must::Miss)?;
    }
    let was_kept = sent.elapsed() < Duration::from_millis(ttl_ms - expiry.early_ms);
    std::thread::sleep(Duration::from_millis(wait_ms + 1));
    for (key, _) in asked.iter().filter(|pair| [gone, ends].contains(pair)) {
        if probe.ask(&Operation::Get { key })? != OwnedReply::Missing {
            let seen = format!("still there {} ms after its {ttl_ms} ms", expiry.late_ms);
            return Err(Stop::wrong(ReasonKind::ExpiredLate, key, seen));
        }
    }
    if can_tell {
        tells(&mut probe, &lasts.0, long_ms, sent, expiry)?;
    }
    let kept = if was_kept { asked } else { &[] };
    kept.iter()
        .filter(|pair| [again, lasts, touched].contains(pair))
        .try_for_each(|(key, value)| probe.holds(key, value))
}

/// Looks whether the store says what is left of a time to live that began after that moment.
fn tells(probe: &mut Probe<'_>, key: &[u8], ttl_ms: u64, sent: Instant, expiry: Expiry) -> Result<(), Stop> {
    let left = match probe.ask(&Operation::TimeLeft { key })? {
        OwnedReply::Number(left_ms) => left_ms,
        _ => return Err(Stop::wrong(ReasonKind::UnexpectedMiss, key, "it is not there when its time is asked for")),
    };
    let over_ms = sent.elapsed().as_millis() as u64;
    let least_ms = ttl_ms.saturating_sub(over_ms + expiry.early_ms + expiry.grain_ms);
    let most_ms = ttl_ms + expiry.late_ms + expiry.grain_ms;
    match u64::try_from(left) {
        Ok(left_ms) if (least_ms..=most_ms).contains(&left_ms) => Ok(()),
        Ok(left_ms) => {
            let seen = format!("it says {left_ms} ms are left, and {least_ms} to {most_ms} are");
            Err(Stop::wrong(ReasonKind::WrongNumber, key, seen))
        }
        Err(_) => {
            let seen = format!("it says that it has no time to live, and {least_ms} to {most_ms} ms are left");
            Err(Stop::wrong(ReasonKind::WrongNumber, key, seen))
        }
    }
}
