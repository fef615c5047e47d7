//! What becomes of a reply: it is checked, and handed to the client.

mod left;

use crate::ask;
use crate::clash::{Clash, Counting};
use crate::coroutine::Coroutine;
use crate::counters::CountSince;
use crate::crowd::Swapped;
use crate::entry::{Claim, Since};
use crate::fates::Fates;
use crate::mortal::{Absence, Glimpse, Lives};
use crate::plausibility::Plausibility;
use crate::read_back::shown;
use crate::standing::ThreadBooks;
use jobkit::Offence;
use jobs::expires;
use left::time_left;
use store::{Reply, RowBuffer, Rows};
use study::ReasonKind;

/// Checks a reply and hands it to the client.
#[expect(clippy::too_many_arguments)] // what is known of one operation
pub(crate) fn answer(
    books: &mut ThreadBooks<'_>,
    co: &mut Coroutine,
    claim: Claim,
    asked: u8,
    since: Since,
    sum: CountSince,
    moment: Glimpse,
    reply: &Reply<'_>,
    kept: &mut Vec<u8>,
) -> Result<(), Offence> {
    let stands_in = books.ledger.stands_in();
    let key = co.bytes(2);
    if asked == ask::DELETE && matches!(reply, Reply::Done | Reply::Missing) && books.deleted_count(key) {
        co.clear();
        co.give_truth(stands_in || *reply == Reply::Done);
        return Ok(());
    }
    let ledger = &mut books.ledger;
    match (asked, reply) {
        (ask::GET | ask::GET_VERSIONED, Reply::Value(_) | Reply::Versioned { .. } | Reply::Missing) => {
            let (value, version) = match reply {
                Reply::Value(value) => (Some(*value), 0),
                Reply::Versioned { value, version } => (Some(*value), *version),
                _ => (None, 0),
            };
            let seen = ledger.look(claim, key, since, value);
            let judged = match &books.lives {
                None => sighted(books.fates, seen, co, value),
                Some(lives) => living(lives.all, books.fates, seen, co, moment, value),
            };
            let value = if stands_in { ledger.value(key, kept).then_some(kept.as_slice()) } else { value };
            co.clear();
            match value {
                Some(value) => co.give(value),
                None => co.give_nil(),
            }
            if asked == ask::GET_VERSIONED {
                co.give(&version.to_le_bytes());
            }
            judged
        }
        (ask::PUT | ask::PUT_TTL, Reply::Done) => {
            ledger.wrote(claim, key, Some(co.bytes(3)));
            if let Some(lives) = &mut books.lives {
                lives.ends(key, moment, (asked == ask::PUT_TTL).then(|| co.number(4) as u64));
            }
            co.clear();
            Ok(())
        }
        (ask::TOUCH, Reply::Done | Reply::Missing) => {
            let mut judged = Ok(());
            let there = *reply == Reply::Done || (stands_in && ledger.value(key, kept));
            if let Some(lives) = &mut books.lives {
                match there {
                    true => lives.ends(key, moment, Some(co.number(3) as u64)),
                    false => {
                        lives.withdraws(key);
                        let seen = ledger.look(claim, key, since, None);
                        judged = living(lives.all, books.fates, seen, co, moment.as_reader(), None);
                    }
                }
            }
            co.clear();
            co.give_truth(there);
            judged
        }
        (ask::TIME_LEFT, Reply::Number(_) | Reply::Missing) => {
            let (left, judged) = time_left(books, co, claim, since, moment, reply);
            co.clear();
            match left {
                Some(left_ms) => co.give_number(left_ms as f64 / 1000.0),
                None => co.give_nil(),
            }
            judged
        }
        (ask::DELETE, Reply::Done | Reply::Missing) => {
            let gone = *reply == Reply::Missing;
            if let Some(lives) = &mut books.lives {
                lives.ends(key, moment, None);
            }
            let judged = match (gone, &books.lives) {
                (true, None) => sighted(books.fates, ledger.look(claim, key, since, None), co, None),
                (true, Some(lives)) => {
                    let seen = ledger.look(claim, key, since, None);
                    living(lives.all, books.fates, seen, co, moment.as_reader(), None)
                }
                (false, _) => Ok(()),
            };
            let there = if stands_in { ledger.value(key, kept) } else { !gone };
            if there {
                ledger.wrote(claim, key, None);
            } else {
                ledger.missed(claim, key);
            }
            co.clear();
            co.give_truth(there);
            judged
        }
        (ask::APPEND, Reply::Done | Reply::Number(_)) => {
            ledger.appended(claim, key, co.bytes(3));
            if let Some(lives) = &mut books.lives {
                // What was there had a time to live, or its time was over, and nobody knows which.
                lives.doubts(key);
                ledger.unsure(claim, key);
            }
            co.clear();
            Ok(())
        }
        (ask::INCREMENT | ask::INCREMENT_FIELD, Reply::Number(number)) => {
            let (counters, field, step) = match asked {
                ask::INCREMENT => (&mut books.counters, &b""[..], co.number(3) as i64),
                _ => (&mut books.records, co.bytes(3), co.number(4) as i64),
            };
            let seen = if stands_in { sum.sum().wrapping_add(step) } else { *number };
            let due = counters.ends(key, field, step, sum, seen);
            let judged = counted(due, co, seen);
            co.clear();
            co.give_number(seen as f64);
            judged
        }
        (ask::GET_COUNTER, Reply::Number(_) | Reply::Missing) => {
            let seen = match reply {
                Reply::Number(number) => Some(*number),
                _ => None,
            };
            let seen = if stands_in { Some(sum.sum()) } else { seen };
            let judged = counted(books.counters.look(key, b"", sum, seen), co, seen.unwrap_or(0));
            co.clear();
            match seen {
                Some(number) => co.give_number(number as f64),
                None => co.give_nil(),
            }
            judged
        }
        (ask::CAS, Reply::Done | Reply::Conflict) => {
            let mut judged = Ok(());
            match reply {
                Reply::Done => {
                    let before = (!co.is_nil(5)).then(|| co.bytes(5));
                    judged = swapped(books.fates, ledger.swapped(key, before, since), co, before);
                    ledger.wrote(claim, key, Some(co.bytes(3)));
                }
                _ => ledger.refused(claim, key),
            }
            if let Some(lives) = &mut books.lives {
                match reply {
                    Reply::Done => lives.ends(key, moment, None),
                    _ => lives.withdraws(key),
                }
            }
            co.clear();
            co.give_truth(*reply == Reply::Done);
            judged
        }
        (ask::PUT_MANY, Reply::Done) => {
            let mut keys: Vec<&[u8]> = Vec::new();
            co.list(2, |key| keys.push(key));
            let mut next = keys.iter();
            co.list(3, |value| next.next().into_iter().for_each(|key| ledger.wrote(claim, key, Some(value))));
            if let Some(lives) = &mut books.lives {
                keys.iter().for_each(|key| lives.ends(key, moment, None));
            }
            co.clear();
            Ok(())
        }
        (ask::GET_MANY | ask::SCAN | ask::GET_FIELDS, Reply::Rows(_) | Reply::Missing) if stands_in => {
            let stood_in = stand_in(books, co, asked);
            give_rows(co, &stood_in.rows());
            Ok(())
        }
        (ask::GET_MANY | ask::SCAN | ask::GET_FIELDS, Reply::Rows(rows)) => {
            let judged = rows_right(books, co, claim, asked, since, rows);
            give_rows(co, rows);
            judged
        }
        (ask::GET_FIELDS, Reply::Missing) => {
            co.clear();
            co.give_list(0);
            co.give_list(0);
            Ok(())
        }
        (ask::SCAN | ask::GET_MANY, Reply::Missing) => {
            co.clear();
            co.give_list(0);
            co.give_list(0);
            Ok(())
        }
        (ask::COMMAND | ask::SQL, Reply::Tree(tree)) => {
            co.clear();
            co.give_tree(*tree);
            Ok(())
        }
        (ask::COMMAND | ask::SQL, Reply::Missing) => {
            co.clear();
            co.give_nil();
            Ok(())
        }
        (_, other) => {
            let offence = Offence::failed(key, other);
            co.clear();
            co.give_nil();
            Err(offence)
        }
    }
}

/// Checks what was seen of a key that may have a time to live.
fn living(
    lives: &Lives,
    fates: &Fates,
    seen: Plausibility,
    co: &Coroutine,
    moment: Glimpse,
    value: Option<&[u8]>,
) -> Result<(), Offence> {
    let key = co.bytes(2);
    match (seen, value) {
        (Plausibility::Missing, _) => match lives.absent(key, moment) {
            Absence::Right => Ok(()),
            Absence::NoTime => sighted(fates, seen, co, value),
            Absence::Early(ns) => {
                fates.lose(key);
                let words = format!("gone {} before its time to live was over{}", expires::shown(ns), place(co));
                Err(Offence::new(ReasonKind::ExpiredEarly, key, words))
            }
        },
        (Plausibility::Right, Some(_)) => match lives.late_ns(key, moment) {
            None => Ok(()),
            Some(ns) => {
                let words = format!("still there {} after its time to live{}", expires::shown(ns), place(co));
                Err(Offence::new(ReasonKind::ExpiredLate, key, words))
            }
        },
        _ => sighted(fates, seen, co, value),
    }
}

/// Checks the rows of a batch, a scan or a record.
fn rows_right(
    books: &mut ThreadBooks<'_>,
    co: &Coroutine,
    claim: Claim,
    asked: u8,
    since: Since,
    rows: &Rows<'_>,
) -> Result<(), Offence> {
    if asked == ask::GET_FIELDS || books.ledger.stands_in() {
        return Ok(()); // records are compared at the end
    }
    let (start, limit) = (co.bytes(2), co.number(3));
    let mut before: Option<&[u8]> = None;
    for (key, value) in rows.iter() {
        sighted_at(books.fates, books.ledger.look(claim, key, since, Some(value)), co, key, Some(value))?;
        let wrong = asked == ask::SCAN && (key < start || before.is_some_and(|before| key <= before));
        if wrong {
            return Err(Offence::new(
                ReasonKind::WrongKey,
                key,
                format!("it is not where it belongs in a scan from {}", jobkit::printable(start)),
            ));
        }
        before = Some(key);
    }
    if asked == ask::SCAN
        && let Some(key) = books.ledger.left_out(claim, start, limit as usize, rows)
    {
        books.fates.lose(&key);
        let words = format!("a scan from {} leaves it out{}", jobkit::printable(start), place(co));
        return Err(Offence::new(ReasonKind::UnexpectedMiss, &key, words));
    }
    if asked == ask::SCAN && rows.len() as f64 > limit {
        return Err(Offence::new(ReasonKind::WrongReply, start, format!("{} rows for a limit of {limit}", rows.len())));
    }
    Ok(())
}

/// The rows a store would have that keeps what it is given.
fn stand_in(books: &mut ThreadBooks<'_>, co: &Coroutine, asked: u8) -> RowBuffer {
    let mut rows = RowBuffer::default();
    let mut value = Vec::new();
    let key = co.bytes(2);
    match asked {
        ask::GET_MANY => co.list(2, |key| {
            if books.ledger.value(key, &mut value) {
                rows.push(key, &value);
            }
        }),
        ask::SCAN => books.ledger.scan(key, co.number(3) as usize, &mut rows),
        _ => {
            for field in books.records.all().fields(key) {
                rows.push(&field, books.records.sum(key, &field).to_string().as_bytes());
            }
        }
    }
    rows
}

/// Hands over rows as two lists, of keys and of values.
fn give_rows(co: &mut Coroutine, rows: &Rows<'_>) {
    co.clear();
    co.give_list(rows.len());
    for (index, (key, _)) in rows.iter().enumerate() {
        co.put_in_list(index + 1, key);
    }
    co.give_list(rows.len());
    for (index, (_, value)) in rows.iter().enumerate() {
        co.put_in_list(index + 1, value);
    }
}

fn sighted(fates: &Fates, sighting: Plausibility, co: &Coroutine, value: Option<&[u8]>) -> Result<(), Offence> {
    match sighting {
        Plausibility::Right => Ok(()),
        _ => sighted_at(fates, sighting, co, co.bytes(2), value),
    }
}

fn sighted_at(
    fates: &Fates,
    sighting: Plausibility,
    co: &Coroutine,
    key: &[u8],
    value: Option<&[u8]>,
) -> Result<(), Offence> {
    if sighting.is_loss() {
        fates.lose(key);
    }
    let (kind, due) = match sighting {
        Plausibility::Right => return Ok(()),
        Plausibility::Missing => (ReasonKind::UnexpectedMiss, "a value was written and not deleted"),
        Plausibility::Unexpected => (ReasonKind::UnexpectedHit, "it was deleted"),
        Plausibility::Stale => (ReasonKind::StaleValue, "that is older than a write that was acknowledged"),
        Plausibility::Wrong => (ReasonKind::WrongValue, "that is not what was written"),
        Plausibility::Foreign => (ReasonKind::ForeignData, "nobody wrote it"),
        Plausibility::OtherKind(kind) => {
            let words = Clash::OtherKind(kind).explain(key, 0, Counting::ByStore);
            return Err(Offence::new(ReasonKind::ScriptFailed, key, format!("{words}{}", place(co))));
        }
    };
    Err(Offence::new(kind, key, format!("it holds {}; {due}{}", shown(value), place(co))))
}

/// Whether a compare-and-set that was acknowledged may have replaced what it did.
fn swapped(fates: &Fates, swapped: Swapped, co: &Coroutine, before: Option<&[u8]>) -> Result<(), Offence> {
    let due = match swapped {
        Swapped::Right => return Ok(()),
        Swapped::Outdated => "that had been replaced before it was sent",
        Swapped::Twice => "another compare-and-set had replaced that already",
    };
    fates.lose(co.bytes(2));
    let words = format!("a compare-and-set was acknowledged that expected {}; {due}{}", shown(before), place(co));
    Err(Offence::new(ReasonKind::LostUpdates, co.bytes(2), words))
}

fn counted(due: Option<String>, co: &Coroutine, seen: i64) -> Result<(), Offence> {
    match due {
        None => Ok(()),
        Some(due) => Err(Offence::new(
            ReasonKind::WrongNumber,
            co.bytes(2),
            format!("it counts {seen} and must count {due}{}", place(co)),
        )),
    }
}

#[cold]
fn place(co: &Coroutine) -> String {
    co.place().map_or_else(String::new, |place| format!(" ({place})"))
}
