//! Reads back everything a script wrote, and compares it with what was written last.

use crate::counters::{Counters, LastCount, name};
use crate::history::Which;
use crate::mortal::{Absence, Glimpse};
use crate::plausibility::Plausibility;
use crate::standing::TrialState;
use jobkit::{Offence, Step, Worker};
use jobs::expires::{self, Expires};
use jobs::fingerprint::fingerprint;
use std::ops::Range;
use store::{Failure, Operation, Reply, Rows, Slot};
use study::ReasonKind;

/// Something to read back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    Value(Box<[u8]>),
    Counter(Box<[u8]>),
    Record(Box<[u8]>),
}

impl Item {
    /// Returns everything that these clients have ever written, also what was deleted since.
    pub(crate) fn all(standing: &TrialState, by: &Range<Slot>) -> Vec<Item> {
        let values = standing.ledger.keys_by(Which::Ever, by).into_iter().map(Item::Value);
        let counters = standing.counters.keys().into_iter().map(Item::Counter);
        values.chain(counters).chain(standing.records.keys().into_iter().map(Item::Record)).collect()
    }

    fn key(&self) -> &[u8] {
        match self {
            Item::Value(key) | Item::Counter(key) | Item::Record(key) => key,
        }
    }
}

/// A thread's part.
pub(crate) struct ScriptReadBack<'a> {
    standing: &'a TrialState,
    items: &'a [Item],
    /// The item each slot is at.
    at: Vec<usize>,
    /// Of each slot: what was known of its key's time to live when it was asked for.
    moments: Vec<Glimpse>,
    /// Of each slot: whether it sweeps its key away, whose time is over and which the store itself keeps.
    sweeps: Vec<bool>,
    step: usize,
}

impl<'a> ScriptReadBack<'a> {
    pub(crate) fn new(
        standing: &'a TrialState,
        items: &'a [Item],
        slots: Range<Slot>,
        all: &Range<Slot>,
    ) -> ScriptReadBack<'a> {
        let at: Vec<usize> = slots.map(|slot| (slot - all.start) as usize).collect();
        let (moments, sweeps) = (vec![Glimpse::default(); at.len()], vec![false; at.len()]);
        ScriptReadBack { standing, items, at, moments, sweeps, step: all.len() }
    }
}

impl Worker for ScriptReadBack<'_> {
    fn next(&mut self, slot: Slot) -> Step<'_> {
        if self.standing.has_failed() {
            return Step::Finished;
        }
        match self.items.get(self.at[slot as usize]) {
            None => Step::Finished,
            Some(Item::Value(key)) if self.sweeps[slot as usize] => Step::Operation(Operation::Delete { key }),
            Some(Item::Value(key)) => {
                if let Some(lives) = &self.standing.lives {
                    self.moments[slot as usize] = lives.last(key);
                }
                Step::Operation(Operation::Get { key })
            }
            Some(Item::Counter(key)) => Step::Operation(Operation::GetCounter { key }),
            Some(Item::Record(key)) => Step::Operation(Operation::GetFields { key }),
        }
    }

    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) -> Result<(), Offence> {
        let at = self.at[slot as usize];
        let Some(item) = self.items.get(at) else { return Ok(()) };
        if matches!(reply, Reply::Failed(Failure::ConnectionLost(_))) {
            return Err(Offence::failed(item.key(), reply)); // asked again
        }
        let moment = self.moments[slot as usize];
        let opened = match (&self.standing.lives, *reply) {
            (Some(lives), Reply::Value(sealed)) if lives.expires == Expires::ByReader => {
                let value = lives.opened(sealed);
                self.sweeps[slot as usize] = value.is_none();
                value.map_or(Reply::Missing, Reply::Value)
            }
            (_, reply) => reply,
        };
        if !self.sweeps[slot as usize] {
            self.at[slot as usize] = at + self.step;
        } else if matches!(reply, Reply::Done | Reply::Missing) {
            (self.sweeps[slot as usize], self.at[slot as usize]) = (false, at + self.step);
            return Ok(());
        }
        match (item, &opened) {
            (Item::Value(key), Reply::Value(value)) => self.value(key, Some(value), moment),
            (Item::Value(key), Reply::Missing) => self.value(key, None, moment),
            (Item::Counter(key), Reply::Number(number)) => self.count(&self.standing.counters, key, b"", Some(*number)),
            (Item::Counter(key), Reply::Missing) => self.count(&self.standing.counters, key, b"", None),
            (Item::Record(key), Reply::Rows(rows)) => self.record(key, rows),
            (item, other) => Err(Offence::failed(item.key(), other)),
        }
    }
}

impl ScriptReadBack<'_> {
    fn value(&self, key: &[u8], value: Option<&[u8]>, moment: Glimpse) -> Result<(), Offence> {
        self.standing.fates.found(key, value.map(fingerprint));
        let seen = self.standing.ledger.look_last(key, value);
        if let Some(lives) = &self.standing.lives {
            let aged = |kind, words: String| Err(Offence::new(kind, key, format!("at the end it is {words}")));
            let absence = if seen == Plausibility::Missing { lives.absent(key, moment) } else { Absence::NoTime };
            match (absence, lives.late_ns(key, moment).filter(|_| value.is_some())) {
                (Absence::Right, _) => return Ok(()),
                (Absence::Early(ns), _) => {
                    return aged(ReasonKind::ExpiredEarly, format!("gone {} before its time", expires::shown(ns)));
                }
                (_, Some(ns)) => {
                    return aged(ReasonKind::ExpiredLate, format!("there {} after its time", expires::shown(ns)));
                }
                (Absence::NoTime, None) => {}
            }
        }
        if seen.is_loss() {
            self.standing.fates.lose(key);
        }
        let kind = match seen {
            Plausibility::Right => return Ok(()),
            Plausibility::Missing => ReasonKind::UnexpectedMiss,
            Plausibility::Unexpected => ReasonKind::UnexpectedHit,
            Plausibility::Stale => ReasonKind::LostUpdates,
            Plausibility::Wrong => ReasonKind::WrongValue,
            Plausibility::Foreign | Plausibility::OtherKind(_) => ReasonKind::ForeignData,
        };
        Err(Offence::new(kind, key, format!("at the end it holds {}", shown(value))))
    }

    fn count(&self, counters: &Counters, key: &[u8], field: &[u8], seen: Option<i64>) -> Result<(), Offence> {
        let LastCount { sum, lacks, due } = counters.look_last(key, field, seen);
        let (seen, mut buffer) = (seen.unwrap_or(0), Vec::new());
        let counter = name(key, field, &mut buffer);
        self.standing.fates.found_more(counter, seen.wrapping_sub(sum));
        let Some(due) = due else { return Ok(()) };
        let mut kind = ReasonKind::WrongNumber;
        if lacks {
            kind = ReasonKind::LostUpdates;
            self.standing.fates.lose(counter);
        }
        Err(Offence::new(kind, key, format!("at the end it counts {seen}, {due} were counted")))
    }

    fn record(&self, key: &[u8], rows: &Rows<'_>) -> Result<(), Offence> {
        let fields = self.standing.records.fields(key);
        for field in &fields {
            let found = rows.iter().find(|(name, _)| *name == &**field).map(|(_, count)| count);
            let number = found.and_then(|count| std::str::from_utf8(count).ok()?.trim().parse().ok());
            self.count(&self.standing.records, key, field, number)?;
        }
        match rows.iter().find(|(name, _)| !fields.iter().any(|field| **field == **name)) {
            None => Ok(()),
            Some((name, _)) => {
                let words = format!("at the end it has a field {}, which nobody counted", jobkit::printable(name));
                Err(Offence::new(ReasonKind::ForeignData, key, words))
            }
        }
    }
}

/// Returns a value in few words.
pub(crate) fn shown(value: Option<&[u8]>) -> String {
    match value {
        None => "nothing".into(),
        Some(value) => format!("{} bytes: '{}'", value.len(), jobkit::printable(value)),
    }
}
