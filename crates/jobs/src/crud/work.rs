//! One phase over the rows of one thread's slots.

use super::rows::{Content, Decimal, decimal, row_of, share, shuffled};
use super::trial::CrudTrial;
use super::{INSERTED, Insert, Stage, UPDATED};
use engine::{Offence, Step, Think, Worker, printable};
use std::ops::Range;
use std::sync::PoisonError;
use store::{Expected, Keeps, Operation, Reply, Slot};
use study::ReasonKind;

/// One thread's slots in one phase.
pub struct Work<'a> {
    trial: &'a CrudTrial<'a>,
    stage: Stage,
    /// Rows in the order they are taken, slot after slot; each slot's next place in it, and where its own end.
    order: Vec<u32>,
    places: Vec<(usize, usize)>,
    key: Decimal,
    value: Content,
    wrong: Vec<(Stage, u32)>,
}

impl<'a> Work<'a> {
    /// A worker for these slots of the trial. The rows are shuffled here, before the clock.
    pub fn new(trial: &'a CrudTrial<'a>, stage: Stage, slots: Range<Slot>) -> Work<'a> {
        let mut end = 0;
        let places = slots
            .clone()
            .map(|slot| {
                let start = end;
                end += share(trial.rows, trial.slots, slot).len();
                (start, end)
            })
            .collect();
        let seed = trial.seed ^ ((stage as u64 + 1) << 56);
        let order = shuffled(trial.rows, trial.slots, slots, seed);
        Work { trial, stage, order, places, key: Decimal::default(), value: Content::default(), wrong: Vec::new() }
    }
}

impl Drop for Work<'_> {
    fn drop(&mut self) {
        self.trial.wrong.lock().unwrap_or_else(PoisonError::into_inner).extend(self.wrong.drain(..));
    }
}

impl Worker for Work<'_> {
    #[inline]
    fn next(&mut self, slot: Slot) -> Step<'_> {
        let (at, end) = self.places[slot as usize];
        if at == end {
            return Step::Finished;
        }
        self.key = decimal(self.order[at]);
        let (key, value) = (self.key.as_bytes(), &mut self.value);
        Step::Operation(match (self.stage, self.trial.insert) {
            (Stage::Insert, Insert::Put) => Operation::Put { key, value: value.write(&self.key, INSERTED) },
            (Stage::Insert, Insert::Add) => {
                let value = value.write(&self.key, INSERTED);
                Operation::CompareAndSet { key, expected: Expected::Absent, value }
            }
            (Stage::Update, _) => Operation::Put { key, value: value.write(&self.key, UPDATED) },
            (Stage::Delete, _) => Operation::Delete { key },
            (Stage::Select | Stage::CheckUpdate | Stage::CheckDelete, _) => Operation::Get { key },
        })
    }

    #[inline]
    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) -> Result<(), Offence> {
        let at = &mut self.places[slot as usize].0;
        let row = self.order[*at];
        *at += 1;
        let right = match (self.stage, reply) {
            (_, Reply::Failed(_)) => false,
            _ if self.trial.keeps == Keeps::Nothing => true,
            (Stage::Insert | Stage::Update | Stage::Delete, Reply::Done) => true,
            (Stage::Select, Reply::Value(value)) => decimal(row).is_in(value, INSERTED),
            (Stage::CheckUpdate, Reply::Value(value)) => decimal(row).is_in(value, UPDATED),
            (Stage::CheckDelete, Reply::Missing) => true,
            _ => false,
        };
        if right { Ok(()) } else { Err(self.offend(row, reply)) }
    }

    fn think(&self) -> Think {
        Think::Free
    }
}

impl Work<'_> {
    #[cold]
    fn offend(&mut self, row: u32, reply: &Reply<'_>) -> Offence {
        self.wrong.extend(self.stage.verifies().map(|stage| (stage, row)));
        let number = decimal(row);
        let key = number.as_bytes();
        match (self.stage, reply) {
            (Stage::Insert, Reply::Conflict) => {
                Offence::new(ReasonKind::UnexpectedHit, key, "an insert found the key there before")
            }
            (Stage::CheckDelete, Reply::Value(_)) => {
                Offence::new(ReasonKind::UnexpectedHit, key, "still there, after its delete")
            }
            (Stage::Delete, Reply::Missing) => Offence::new(ReasonKind::UnexpectedMiss, key, "a delete found nothing"),
            (Stage::Select | Stage::CheckUpdate, Reply::Missing) => {
                Offence::new(ReasonKind::UnexpectedMiss, key, "missing, after its write was acknowledged")
            }
            (Stage::CheckUpdate, Reply::Value(value)) if number.is_in(value, INSERTED) => {
                Offence::new(ReasonKind::StaleValue, key, "the value of the insert, after the update was acknowledged")
            }
            (Stage::Select | Stage::CheckUpdate, Reply::Value(value)) => {
                if let Some(other) =
                    row_of(value, INSERTED).or_else(|| row_of(value, UPDATED)).filter(|&other| other != row)
                {
                    let seen = format!("the value of row {other}: '{}'", printable(value));
                    return Offence::new(ReasonKind::WrongKey, key, seen);
                }
                let mut right = Content::default();
                let right = right.write(&number, self.stage.leaves().unwrap_or_default());
                let seen = format!("'{}', must be '{}'", printable(value), printable(right));
                Offence::new(ReasonKind::WrongValue, key, seen)
            }
            _ => Offence::failed(key, reply),
        }
    }
}
