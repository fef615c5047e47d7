//! One phase over the rows of one thread's slots.

use super::rows::{Content, Decimal, decimal, row_of, share, shuffled};
use super::trial::CrudTrial;
use super::{INSERTED, Insert, Stage, UPDATED};
use crate::spots::Spots;
use jobkit::{Offence, Step, Think, Worker, printable};
use std::ops::Range;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use store::{Expected, Keeps, Operation, Reply, Slot};
use study::ReasonKind;

/// A thread's slots in one phase.
pub struct Work<'a> {
    trial: &'a CrudTrial<'a>,
    stage: Stage,
    /// Rows in the order they are taken, slot after slot; each slot's next place in it, and where its own end.
    order: Vec<u64>,
    places: Vec<(usize, usize)>,
    key: Decimal,
    value: Content,
    wrong: Vec<(Stage, u64)>,
    spots: Spots,
    /// The row each slot looks at in the midst of its writes; `None`: it writes.
    looked_at: Vec<Option<u64>>,
    /// Whether a slot is to look at a row before its next write.
    is_due: Vec<bool>,
}

impl<'a> Work<'a> {
    /// Makes a worker for these slots of the trial. The rows are shuffled here, before the clock.
    pub fn new(trial: &'a CrudTrial<'a>, stage: Stage, slots: Range<Slot>) -> Work<'a> {
        let mut end = 0;
        trial.progress.begins(stage);
        let writes = trial.keeps == Keeps::Everything && stage.verified_by().is_some();
        let seed = trial.seed ^ ((stage as u64 + 1) << 56);
        let spots = if writes { Spots::new(seed, slots.clone()) } else { Spots::none(slots.clone()) };
        let places: Vec<(usize, usize)> = slots
            .clone()
            .map(|slot| {
                let start = end;
                let own = share(trial.rows, trial.slots, slot);
                end += (own.end - own.start) as usize;
                (start, end)
            })
            .collect();
        let order = shuffled(trial.rows, trial.slots, slots, seed);
        let (looked_at, is_due) = (vec![None; places.len()], vec![false; places.len()]);
        let (key, value, wrong) = (Decimal::default(), Content::default(), Vec::new());
        Work { trial, stage, order, places, key, value, wrong, spots, looked_at, is_due }
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
        if std::mem::take(&mut self.is_due[slot as usize]) {
            return self.look(slot, at);
        }
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
        if let Some(row) = self.looked_at[slot as usize].take() {
            return self.check(row, self.stage.verified_by().unwrap_or(self.stage), reply);
        }
        let at = &mut self.places[slot as usize].0;
        let row = self.order[*at];
        *at += 1;
        self.is_due[slot as usize] = self.spots.is_due(slot, 1);
        self.check(row, self.stage, reply)
    }

    fn is_within(&mut self, slot: Slot) -> bool {
        self.is_due[slot as usize]
    }

    fn is_done(&mut self, slot: Slot) -> bool {
        let (at, end) = self.places[slot as usize];
        at == end && !self.is_due[slot as usize]
    }

    #[cold]
    fn leave_off(&mut self) {
        let Work { trial, stage, order, places, .. } = self;
        let unreached = places.iter().flat_map(|&(at, end)| &order[at..end]).copied();
        trial.progress.leaves_off(*stage, unreached);
    }

    fn think(&self) -> Think {
        Think::Free
    }
}

impl Work<'_> {
    /// Asks for one of the slot's rows that are done.
    #[cold]
    fn look(&mut self, slot: Slot, at: usize) -> Step<'_> {
        let start = self.places[..slot as usize].last().map_or(0, |(_, end)| *end);
        let row = self.order[start + self.spots.below(at - start)];
        self.looked_at[slot as usize] = Some(row);
        self.key = decimal(row);
        Step::Check(Operation::Get { key: self.key.as_bytes() })
    }

    /// Whether a reply is what this stage must get for the row.
    #[inline]
    fn check(&mut self, row: u64, stage: Stage, reply: &Reply<'_>) -> Result<(), Offence> {
        let right = match (stage, reply) {
            (_, Reply::Failed(_)) => false,
            _ if self.trial.keeps == Keeps::Nothing => true,
            _ if stage.verifies().is_some() && self.trial.progress.is_left_off() => {
                return self.check_unfinished(row, stage, reply);
            }
            (Stage::Insert | Stage::Update | Stage::Delete, Reply::Done) => true,
            (Stage::Select, Reply::Value(value)) => decimal(row).is_in(value, INSERTED),
            (Stage::CheckUpdate, Reply::Value(value)) => decimal(row).is_in(value, UPDATED),
            (Stage::CheckDelete, Reply::Missing) => true,
            _ => false,
        };
        if self.trial.any_doubt.load(Ordering::Relaxed) {
            return self.check_in_doubt(row, stage, reply, right);
        }
        if right { Ok(()) } else { Err(self.offend(row, stage, reply)) }
    }

    /// The same, where a phase did not come to its end.
    #[cold]
    fn check_unfinished(&mut self, row: u64, stage: Stage, reply: &Reply<'_>) -> Result<(), Offence> {
        let (number, expected) = (decimal(row), self.trial.progress.expects(stage, row));
        let found = match reply {
            Reply::Value(value) => [INSERTED, UPDATED].into_iter().find(|mark| number.is_in(value, mark)).map(Some),
            Reply::Missing => Some(None),
            _ => None,
        };
        let mut doubts = self.trial.doubts.lock().unwrap_or_else(PoisonError::into_inner);
        if found.is_some_and(|found| doubts.explains(row, found) || !doubts.knows(row) && found == expected) {
            return Ok(());
        }
        let key = number.as_bytes();
        if matches!(reply, Reply::Failed(_)) {
            return Err(Offence::failed(key, reply));
        }
        self.wrong.extend(stage.verifies().map(|stage| (stage, row)));
        let Some(found) = found else {
            return Err(Offence::new(ReasonKind::WrongValue, key, "a value that was never written"));
        };
        doubts.lose(row);
        Err(match (found, expected) {
            (None, _) => Offence::new(ReasonKind::UnexpectedMiss, key, "missing, after its write was acknowledged"),
            (_, None) => Offence::new(ReasonKind::UnexpectedHit, key, "there, although it must not be"),
            _ => Offence::new(ReasonKind::StaleValue, key, "not the value that was acknowledged last"),
        })
    }

    /// The same, where writes of some rows have failed.
    #[cold]
    fn check_in_doubt(&mut self, row: u64, stage: Stage, reply: &Reply<'_>, right: bool) -> Result<(), Offence> {
        let mut doubts = self.trial.doubts.lock().unwrap_or_else(PoisonError::into_inner);
        let number = decimal(row);
        let found = match reply {
            Reply::Value(value) => [INSERTED, UPDATED].into_iter().find(|mark| number.is_in(value, mark)).map(Some),
            Reply::Missing => Some(None),
            _ => None,
        };
        if stage.verifies().is_none() && right {
            doubts.wrote(row, stage.leaves());
            return Ok(());
        }
        let explained = found.is_some_and(|found| doubts.explains(row, found));
        if stage == Stage::Delete && explained {
            doubts.wrote(row, None);
        }
        drop(doubts);
        match (right, explained) {
            (true, _) => Ok(()),
            (false, true) => {
                self.wrong.extend(stage.verifies().map(|stage| (stage, row)));
                Ok(())
            }
            (false, false) => Err(self.offend(row, stage, reply)),
        }
    }

    /// A write that failed may have taken effect; what was acknowledged and is not to be seen is lost.
    #[cold]
    fn account(&self, row: u64, stage: Stage, reply: &Reply<'_>) {
        let mut doubts = self.trial.doubts.lock().unwrap_or_else(PoisonError::into_inner);
        match (stage.verifies(), reply) {
            _ if self.trial.keeps == Keeps::Nothing => {}
            (None, Reply::Failed(_)) => {
                doubts.fails(row, stage.finds(), stage.leaves());
                self.trial.any_doubt.store(true, Ordering::Release);
            }
            (None, Reply::Missing) | (Some(_), Reply::Missing) => doubts.lose(row),
            (Some(_), Reply::Value(value)) => {
                let number = decimal(row);
                if [INSERTED, UPDATED].into_iter().any(|mark| number.is_in(value, mark)) {
                    doubts.lose(row);
                }
            }
            _ => {}
        }
    }

    #[cold]
    fn offend(&mut self, row: u64, stage: Stage, reply: &Reply<'_>) -> Offence {
        self.wrong.extend(stage.verifies().map(|stage| (stage, row)));
        self.account(row, stage, reply);
        let number = decimal(row);
        let key = number.as_bytes();
        match (stage, reply) {
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
                let right = right.write(&number, stage.leaves().unwrap_or_default());
                let seen = format!("'{}', must be '{}'", printable(value), printable(right));
                Offence::new(ReasonKind::WrongValue, key, seen)
            }
            _ => Offence::failed(key, reply),
        }
    }
}
