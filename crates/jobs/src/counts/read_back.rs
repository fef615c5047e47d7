//! Reads every counter back and compares it with the count of its term in the input.

use super::doubt::account;
use super::trial::{CountTrial, Found};
use super::{Method, parse};
use crate::witnessed::Telling;
use jobkit::{Doubt, Offence, Step, Worker};
use std::ops::Range;
use std::sync::PoisonError;
use store::{Operation, Reply, Slot};
use study::{ReasonKind, WriteAccount, whole};

/// A thread's slots that read back. Term t is read by slot t modulo slots.
pub struct ReadBack<'a> {
    trial: &'a CountTrial<'a>,
    /// The term in flight or next.
    terms: Vec<u64>,
    found: Found,
}

impl<'a> ReadBack<'a> {
    /// Makes a worker for these slots of the trial.
    pub fn new(trial: &'a CountTrial<'a>, slots: Range<Slot>) -> ReadBack<'a> {
        ReadBack { trial, terms: slots.map(u64::from).collect(), found: Found::default() }
    }
}

impl Drop for ReadBack<'_> {
    fn drop(&mut self) {
        self.trial.take(std::mem::take(&mut self.found));
    }
}

impl ReadBack<'_> {
    /// What became of the increments of a term; `None`: its count is too high.
    fn account(&self, term: u32, count: u64, right: u64) -> Option<WriteAccount> {
        let doubts = self.trial.doubts.read().unwrap_or_else(PoisonError::into_inner);
        match doubts.get(&term) {
            Some(doubt) => account(doubt, count, right),
            None => account(&Doubt::default(), count, right),
        }
    }
}

impl Telling for ReadBack<'_> {
    fn key_number(&self, slot: Slot) -> u64 {
        self.terms[slot as usize]
    }

    fn version(_: &[u8]) -> Option<u64> {
        None
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
        let right = self.trial.right(term);
        let count = match reply {
            Reply::Number(number) => u64::try_from(*number).ok(),
            Reply::Value(text) => parse(text),
            Reply::Missing => None,
            other => return Err(Offence::failed(key, other)),
        };
        self.found.read += 1;
        self.found.sum += count.unwrap_or(0);
        if count != Some(self.trial.job.terms.counts[term as usize].into()) {
            self.found.wrong.insert(term, count);
        }
        let is_number = count.is_some() || matches!(reply, Reply::Missing);
        match self.account(term, count.unwrap_or(0), right).filter(|_| is_number) {
            Some(account) => {
                self.found.account.merge(account);
                if account.lost == 0 {
                    return Ok(());
                }
            }
            None if count == Some(right) => return Ok(()),
            None => {}
        }
        Err(match (reply, count) {
            (Reply::Missing, _) => Offence::new(
                ReasonKind::UnexpectedMiss,
                key,
                format!("missing at the end; its count is {}", whole(right)),
            ),
            (_, Some(count)) if count < right => Offence::new(
                ReasonKind::LostUpdates,
                key,
                format!("{} of {} increments are there", whole(count), whole(right)),
            ),
            (_, Some(count)) => Offence::new(
                ReasonKind::WrongNumber,
                key,
                format!("the count is {}, right is {}", whole(count), whole(right)),
            ),
            (_, None) => Offence::new(ReasonKind::WrongNumber, key, "what it holds is not a count"),
        })
    }
}
