//! The reduction where the store has none: documents are read in pages of a scan, or by their ids, and counted here.

use super::input::Tally;
use super::read_back::Reads;
use super::trial::BulkTrial;
use jobkit::{Offence, Step, Worker};
use std::ops::Range;
use std::sync::PoisonError;
use store::{Operation, Reduction, Reply, Slot};
use study::ReasonKind;

/// Documents of one page of a scan.
pub(super) const PAGE: u32 = 1000;

/// The slot that scans; the others rest.
pub struct Scan<'a> {
    trial: &'a BulkTrial<'a>,
    reduction: &'a Reduction,
    /// Whether this worker has slot 0.
    scans: bool,
    start: Vec<u8>,
    tally: Tally,
}

impl<'a> Scan<'a> {
    /// Makes a worker for these slots of the trial.
    pub fn new(trial: &'a BulkTrial<'a>, reduction: &'a Reduction, slots: Range<Slot>) -> Scan<'a> {
        let input = trial.input;
        let first = input.order.first().map_or(&[][..], |&at| input.documents.id(at as usize));
        Scan { trial, reduction, scans: slots.contains(&0), start: first.to_vec(), tally: Tally::default() }
    }
}

impl Drop for Scan<'_> {
    fn drop(&mut self) {
        self.trial.tally.lock().unwrap_or_else(PoisonError::into_inner).merge(std::mem::take(&mut self.tally));
    }
}

impl Worker for Scan<'_> {
    fn next(&mut self, slot: Slot) -> Step<'_> {
        if slot == 0 && self.scans {
            Step::Operation(Operation::Scan { start: &self.start, limit: PAGE })
        } else {
            Step::Finished
        }
    }

    fn reply(&mut self, _: Slot, reply: &Reply<'_>) -> Result<(), Offence> {
        let Reply::Rows(rows) = reply else {
            self.scans = false;
            self.trial.lacks();
            return Err(Offence::failed(&self.start, reply));
        };
        let input = self.trial.input;
        let last = input.order.last().map_or(&[][..], |&at| input.documents.id(at as usize));
        let from = std::mem::take(&mut self.start);
        for (key, value) in rows.iter() {
            // A store of the user's may hold more than the job's documents.
            if input.find(key).is_some() && !self.tally.add(value, self.reduction) {
                self.scans = false;
                return Err(Offence::new(ReasonKind::WrongValue, key, "not the document: its fields are missing"));
            }
            self.start.clear();
            self.start.extend_from_slice(key);
        }
        self.start.push(0); // the next key there can be
        self.scans = rows.len() == PAGE as usize && self.start.as_slice() <= last;
        if self.scans && self.start <= from {
            self.scans = false;
            return Err(Offence::new(ReasonKind::WrongReply, &from, "a scan did not go on to higher keys"));
        }
        Ok(())
    }

    #[cold]
    fn leave_off(&mut self) {
        self.trial.lacks();
    }
}

/// Reads by id and counts.
pub struct Gets<'a> {
    trial: &'a BulkTrial<'a>,
    reduction: &'a Reduction,
    reads: Reads<'a>,
    tally: Tally,
}

impl<'a> Gets<'a> {
    /// Makes a worker for these slots of the trial.
    pub fn new(trial: &'a BulkTrial<'a>, reduction: &'a Reduction, slots: Range<Slot>) -> Gets<'a> {
        Gets { trial, reduction, reads: Reads::new(trial, slots), tally: Tally::default() }
    }
}

impl Drop for Gets<'_> {
    fn drop(&mut self) {
        self.trial.tally.lock().unwrap_or_else(PoisonError::into_inner).merge(std::mem::take(&mut self.tally));
    }
}

impl Worker for Gets<'_> {
    fn next(&mut self, slot: Slot) -> Step<'_> {
        self.reads.next(slot)
    }

    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) -> Result<(), Offence> {
        let Gets { trial, reads, tally, reduction } = self;
        if let Reply::Failed(_) = reply {
            trial.lacks();
        }
        reads.reply(slot, reply, |at, value| match value {
            Some(value) if tally.add(value, reduction) => Ok(()),
            Some(_) => Err((ReasonKind::WrongValue, "not the document: its fields are missing".into())),
            None if trial.written.may_be_missing(at.into()) => Ok(()),
            None => Err((ReasonKind::UnexpectedMiss, "missing, after its write was acknowledged".into())),
        })
    }

    #[cold]
    fn leave_off(&mut self) {
        self.trial.lacks();
    }
}
