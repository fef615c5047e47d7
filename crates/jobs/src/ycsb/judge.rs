//! Judges replies: values to the last byte, versions by the ledger.

use super::key::id_of;
use super::value::{Flaw, Values};
use super::versions::{Age, Ledger, Sight, Write};
use jobkit::{Offence, printable};
use std::ops::Range;
use store::{Reply, Rows, Slot};
use study::ReasonKind;

/// Judges the reply to a put of this key by this slot.
///
/// # Errors
/// When it failed.
#[inline]
pub fn written(ledger: &Ledger, id: u64, slot: Slot, write: Write, reply: &Reply<'_>) -> Result<(), Offence> {
    if matches!(reply, Reply::Done) {
        ledger.end_write(id, slot, write);
        return Ok(());
    }
    ledger.fail_write(id, slot, write);
    Err(Offence::failed(&ledger.names.key(id), reply))
}

/// Judges the reply to a get of this key, sent when the ledger showed `sight`.
///
/// # Errors
/// What is wrong with it.
#[inline(always)]
pub fn read(values: &Values, ledger: &Ledger, id: u64, sight: Sight, reply: &Reply<'_>) -> Result<(), Offence> {
    match reply {
        // Nearly all.
        Reply::Value(value) => match values.verify(id, value) {
            Ok(version) if sight.is_newest(version) => Ok(()),
            verified => odd(values, ledger, id, sight, verified),
        },
        _ => no_value(ledger, id, sight, reply),
    }
}

#[inline(never)]
fn odd(values: &Values, ledger: &Ledger, id: u64, sight: Sight, verified: Result<u32, Flaw>) -> Result<(), Offence> {
    match verified {
        Ok(version) => aged(ledger, id, sight, version),
        Err(flaw) => Err(flawed(values, ledger, id, flaw)),
    }
}

#[inline(never)]
fn no_value(ledger: &Ledger, id: u64, sight: Sight, reply: &Reply<'_>) -> Result<(), Offence> {
    match reply {
        Reply::Missing if !sight.exists() => Ok(()),
        Reply::Missing => {
            ledger.lose(id);
            Err(missing(ledger, id))
        }
        _ => Err(Offence::failed(&ledger.names.key(id), reply)),
    }
}

fn aged(ledger: &Ledger, id: u64, sight: Sight, version: u32) -> Result<(), Offence> {
    ledger.judge(id, sight, version).map_err(|age| {
        if let Age::Stale(_) = age {
            ledger.lose(id);
        }
        wrong_age(ledger, id, version, age)
    })
}

/// Judges the reply to a scan from key `start` on of at most `limit` keys. Ids are consecutive and so are their keys, so the rows must be
/// exactly the next ids; only the ids from `certain` on, whose insertion was not acknowledged when the scan was sent, may be left out.
/// `sights` is what was known then of the ids from `start` on.
///
/// # Errors
/// The first thing that is wrong with it.
pub fn scanned(
    values: &Values,
    ledger: &Ledger,
    start: u64,
    limit: u32,
    certain: u64,
    sights: &[Sight],
    rows: &Rows<'_>,
) -> Result<(), Offence> {
    let mut next = start;
    for (at, (row_key, value)) in rows.iter().enumerate() {
        let Some(id) = id_of(row_key) else {
            return Err(Offence::new(ReasonKind::ForeignData, row_key, "a scan answered a key that was never written"));
        };
        if id < next || at >= limit as usize {
            let seen = format!(
                "a scan from {} of {limit} keys answered it out of order or beyond its limit",
                shown(ledger, start)
            );
            return Err(Offence::new(ReasonKind::WrongReply, row_key, seen));
        }
        skipped(ledger, start, sights, next..id.min(certain))?;
        let version = values.verify(id, value).map_err(|flaw| flawed(values, ledger, id, flaw))?;
        let sight = sights.get((id - start) as usize).copied().unwrap_or_default();
        if !sight.is_newest(version) {
            aged(ledger, id, sight, version)?;
        }
        next = id + 1;
    }
    if rows.len() < limit as usize { skipped(ledger, start, sights, next..certain) } else { Ok(()) }
}

/// These keys were not in the rows of a scan from `start` on, where all must be that were there when it was sent: as `sights` says, and
/// beyond them by what is known now, which of a key in doubt may be newer.
fn skipped(ledger: &Ledger, start: u64, sights: &[Sight], mut ids: Range<u64>) -> Result<(), Offence> {
    let must_be_there = |id: u64| match sights.get((id - start) as usize) {
        Some(sight) => sight.exists(),
        None => Some(ledger.sight(id)).is_some_and(|sight| sight.exists() && !sight.is_uncertain()),
    };
    match ids.find(|&id| must_be_there(id)) {
        Some(id) => {
            ledger.lose(id);
            let seen = "missing in a scan, after its write was acknowledged";
            Err(Offence::new(ReasonKind::UnexpectedMiss, &ledger.names.key(id), seen))
        }
        None => Ok(()),
    }
}

fn shown(ledger: &Ledger, id: u64) -> String {
    printable(&ledger.names.key(id))
}

#[cold]
fn missing(ledger: &Ledger, id: u64) -> Offence {
    Offence::new(ReasonKind::UnexpectedMiss, &ledger.names.key(id), "missing, after its write was acknowledged")
}

#[cold]
fn wrong_age(ledger: &Ledger, id: u64, version: u32, age: Age) -> Offence {
    match age {
        Age::Stale(newer) => {
            let seen = format!("version {version}, after version {newer} was acknowledged or read");
            Offence::new(ReasonKind::StaleValue, &ledger.names.key(id), seen)
        }
        Age::NeverIssued(issued) => {
            let seen = format!("version {version}, of which only {issued} were issued; was the store empty?");
            Offence::new(ReasonKind::ForeignData, &ledger.names.key(id), seen)
        }
    }
}

#[cold]
fn flawed(values: &Values, ledger: &Ledger, id: u64, flaw: Flaw) -> Offence {
    let (kind, seen) = match flaw {
        Flaw::Length(bytes) => (ReasonKind::WrongValue, format!("{bytes} bytes, must be {}", values.size())),
        Flaw::Header => (ReasonKind::WrongValue, "the checksum of its first 16 bytes is wrong".into()),
        Flaw::OtherKey(other) => (ReasonKind::WrongKey, format!("the value of {}", shown(ledger, other))),
        Flaw::Payload(at) => (ReasonKind::WrongValue, format!("byte {at} is wrong")),
    };
    Offence::new(kind, &ledger.names.key(id), seen)
}
