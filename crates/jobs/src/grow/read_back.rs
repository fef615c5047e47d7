//! Reads items back and compares them, byte by byte, with what is made again from their numbers.

use super::fill::flawed;
use super::trial::{Found, GrowTrial};
use data::splitmix::mix;
use jobkit::{Offence, Step, Worker};
use std::ops::Range;
use store::{Operation, Reply, Slot};
use study::ReasonKind;

/// A thread's slots that read back. Item number n of those to be read is read by slot n modulo slots.
pub struct ReadBack<'a> {
    trial: &'a GrowTrial<'a>,
    /// Which of the items to be read each slot reads now or next.
    slots: Vec<u64>,
    found: Found,
    key: Vec<u8>,
}

impl<'a> ReadBack<'a> {
    /// Makes a worker for these slots of the trial.
    pub fn new(trial: &'a GrowTrial<'a>, slots: Range<Slot>) -> ReadBack<'a> {
        ReadBack { trial, slots: slots.map(u64::from).collect(), found: Found::default(), key: Vec::new() }
    }

    /// The item that is read as the `at`th; `None` beyond the last. Of a sample one of each hundred, at a place that no server foresees.
    fn number(&self, at: u64) -> Option<u64> {
        let (one_in, items) = (self.trial.job.verify.one_in(), self.trial.job.items.len());
        let first = at.checked_mul(one_in).filter(|&first| first < items)?;
        let group = one_in.min(items - first);
        Some(first + mix(self.trial.seed ^ at) % group)
    }
}

impl Drop for ReadBack<'_> {
    fn drop(&mut self) {
        self.trial.take(std::mem::take(&mut self.found));
    }
}

impl Worker for ReadBack<'_> {
    fn next(&mut self, slot: Slot) -> Step<'_> {
        let Some(number) = self.number(self.slots[slot as usize]) else { return Step::Finished };
        self.trial.job.items.key(number, &mut self.key);
        Step::Operation(Operation::Get { key: &self.key })
    }

    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) -> Result<(), Offence> {
        let Some(number) = self.number(self.slots[slot as usize]) else { return Ok(()) };
        self.slots[slot as usize] += u64::from(self.trial.slots);
        let items = &self.trial.job.items;
        match reply {
            Reply::Value(value) => match items.verify(number, value) {
                Ok(()) => {
                    self.trial.puts.is_there(number);
                    self.found.right(value);
                    Ok(())
                }
                Err(flaw) => {
                    self.found.wrong(number, Some(value));
                    Err(flawed(items, number, flaw))
                }
            },
            Reply::Missing if self.trial.puts.may_be_missing(number) => {
                self.found.wrong(number, None);
                Ok(())
            }
            Reply::Missing => {
                self.found.wrong(number, None);
                let seen = format!("missing at the end (item {number})");
                Err(Offence::new(ReasonKind::UnexpectedMiss, &items.key_of(number), seen))
            }
            other => Err(Offence::failed(&items.key_of(number), other)),
        }
    }
}
