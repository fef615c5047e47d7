//! Reads every counter back and compares it with the count of its term in the input.

use super::trial::{CountTrial, Found};
use super::{Method, parse};
use job::{Offence, Step, Worker};
use std::ops::Range;
use store::{Operation, Reply, Slot};
use study::ReasonKind;

/// One thread's slots. Term t is read by slot t modulo slots.
pub struct ReadBack<'a> {
    trial: &'a CountTrial<'a>,
    /// The term in flight or next.
    terms: Vec<u64>,
    found: Found,
}

impl<'a> ReadBack<'a> {
    /// A worker for these slots of the trial.
    pub fn new(trial: &'a CountTrial<'a>, slots: Range<Slot>) -> ReadBack<'a> {
        ReadBack { trial, terms: slots.map(u64::from).collect(), found: Found::default() }
    }
}

impl Drop for ReadBack<'_> {
    fn drop(&mut self) {
        self.trial.take(std::mem::take(&mut self.found));
    }
}

impl Worker for ReadBack<'_> {
    fn next(&mut self, slot: Slot) -> Step<'_> {
        let names = &self.trial.job.terms.names;
        let term = self.terms[slot as usize];
        if term >= names.len() as u64 {
            return Step::Finished;
        }
        let key = names.get(term as u32);
        Step::Operation(match self.trial.method {
            Method::Rewrite => Operation::Get { key },
            _ => Operation::GetCounter { key },
        })
    }

    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) -> Result<(), Offence> {
        let term = self.terms[slot as usize] as u32;
        self.terms[slot as usize] += u64::from(self.trial.slots);
        let key = self.trial.job.terms.names.get(term);
        let right = u64::from(self.trial.job.terms.counts[term as usize]);
        let count = match reply {
            Reply::Number(number) => u64::try_from(*number).ok(),
            Reply::Value(text) => parse(text),
            Reply::Missing => None,
            other => return Err(Offence::failed(key, other)),
        };
        self.found.read += 1;
        self.found.sum += count.unwrap_or(0);
        if count == Some(right) {
            return Ok(());
        }
        self.found.wrong.insert(term, count);
        Err(match (reply, count) {
            (Reply::Missing, _) => {
                Offence::new(ReasonKind::UnexpectedMiss, key, format!("missing at the end; its count is {right}"))
            }
            (_, Some(count)) if count < right => {
                Offence::new(ReasonKind::LostUpdates, key, format!("{count} of {right} increments are there"))
            }
            (_, Some(count)) => {
                Offence::new(ReasonKind::WrongNumber, key, format!("the count is {count}, right is {right}"))
            }
            (_, None) => Offence::new(ReasonKind::WrongNumber, key, "what it holds is not a count"),
        })
    }
}
