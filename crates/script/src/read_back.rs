//! Reads back everything a script wrote, and compares it with what was written last.

use crate::counters::{Counters, LastCount, name};
use crate::entry::Plausibility;
use crate::history::Which;
use crate::standing::TrialState;
use job::{Offence, Step, Worker};
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
    /// Returns everything that was ever written, also what was deleted since.
    pub(crate) fn all(standing: &TrialState) -> Vec<Item> {
        let values = standing.ledger.keys(Which::Ever).into_iter().map(Item::Value);
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
    step: usize,
}

impl<'a> ScriptReadBack<'a> {
    pub(crate) fn new(standing: &'a TrialState, items: &'a [Item], slots: Range<Slot>, all: u32) -> ScriptReadBack<'a> {
        ScriptReadBack { standing, items, at: slots.map(|slot| slot as usize).collect(), step: all as usize }
    }
}

impl Worker for ScriptReadBack<'_> {
    fn next(&mut self, slot: Slot) -> Step<'_> {
        if self.standing.has_failed() {
            return Step::Finished;
        }
        match self.items.get(self.at[slot as usize]) {
            None => Step::Finished,
            Some(Item::Value(key)) => Step::Operation(Operation::Get { key }),
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
        self.at[slot as usize] = at + self.step;
        match (item, reply) {
            (Item::Value(key), Reply::Value(value)) => self.value(key, Some(value)),
            (Item::Value(key), Reply::Missing) => self.value(key, None),
            (Item::Counter(key), Reply::Number(number)) => self.count(&self.standing.counters, key, b"", Some(*number)),
            (Item::Counter(key), Reply::Missing) => self.count(&self.standing.counters, key, b"", None),
            (Item::Record(key), Reply::Rows(rows)) => self.record(key, rows),
            (item, other) => Err(Offence::failed(item.key(), other)),
        }
    }
}

impl ScriptReadBack<'_> {
    fn value(&self, key: &[u8], value: Option<&[u8]>) -> Result<(), Offence> {
        self.standing.fates.found(key, value.map(fingerprint));
        let seen = self.standing.ledger.look_last(key, value);
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
                let words = format!("at the end it has a field {}, which nobody counted", job::printable(name));
                Err(Offence::new(ReasonKind::ForeignData, key, words))
            }
        }
    }
}

/// Returns a value in few words.
pub(crate) fn shown(value: Option<&[u8]>) -> String {
    match value {
        None => "nothing".into(),
        Some(value) => format!("{} bytes: '{}'", value.len(), job::printable(value)),
    }
}
