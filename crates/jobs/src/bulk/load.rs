//! The load: batches of documents in the order of the input, each slot its own batches.

use super::trial::BulkTrial;
use engine::{Offence, Step, Think, Worker};
use std::ops::Range;
use store::{Operation, Reply, Slot};

/// How documents are put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Puts {
    /// A batch is one request.
    Batches,
    /// One by one: batches of one, or a store that takes no batches.
    Single,
}

/// One thread's slots. Batch b is put by slot b modulo slots; within a batch documents keep their order.
pub struct Load<'a> {
    trial: &'a BulkTrial<'a>,
    /// The next document of each slot, and how many of it are in flight.
    next: Vec<(usize, usize)>,
    pairs: Vec<(&'a [u8], &'a [u8])>,
}

impl<'a> Load<'a> {
    /// A worker for these slots of the trial.
    pub fn new(trial: &'a BulkTrial<'a>, slots: Range<Slot>) -> Load<'a> {
        let next = slots.map(|slot| (slot as usize * trial.batch, 0)).collect();
        Load { trial, next, pairs: Vec::with_capacity(trial.batch) }
    }
}

impl Worker for Load<'_> {
    fn next(&mut self, slot: Slot) -> Step<'_> {
        let documents = &self.trial.input.documents;
        let (first, in_flight) = &mut self.next[slot as usize];
        if *first >= documents.len() {
            return Step::Finished;
        }
        if self.trial.puts == Puts::Single {
            *in_flight = 1;
            return Step::Operation(Operation::Put { key: documents.id(*first), value: documents.document(*first) });
        }
        let end = (*first + self.trial.batch).min(documents.len());
        *in_flight = end - *first;
        self.pairs.clear();
        self.pairs.extend((*first..end).map(|at| (documents.id(at), documents.document(at))));
        Step::Operation(Operation::PutMany { pairs: &self.pairs })
    }

    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) -> Result<(), Offence> {
        let BulkTrial { input, batch, slots, .. } = self.trial;
        let (next, in_flight) = &mut self.next[slot as usize];
        let first = *next;
        *next += *in_flight;
        if *next % batch == 0 {
            *next += batch * (*slots as usize - 1); // this batch is whole; those of the other slots come first
        }
        match reply {
            Reply::Done => Ok(()),
            _ => Err(Offence::failed(input.documents.id(first), reply)),
        }
    }

    fn think(&self) -> Think {
        Think::Free
    }
}
