//! The load: batches of documents in the order of the input, each slot its own batches.

use super::read_back::difference;
use super::trial::BulkTrial;
use crate::spots::Spots;
use data::docs::DocSet;
use jobkit::{Offence, Step, Think, Worker};
use std::ops::Range;
use store::{Keeps, Operation, Reply, Slot};
use study::ReasonKind;

/// The way in which documents are put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Puts {
    /// A batch is one request.
    Batches,
    /// One by one: batches of one, or a store that takes no batches.
    Single,
}

/// A thread's slots that load. Batch b is put by slot b modulo slots; within a batch documents keep their order.
pub struct Load<'a> {
    trial: &'a BulkTrial<'a>,
    /// The next document of each slot, and how many of it are in flight.
    next: Vec<(usize, usize)>,
    pairs: Vec<(&'a [u8], &'a [u8])>,
    spots: Spots,
    /// The document each slot looks at next, of those it has put; `None`: it puts more.
    looked_at: Vec<Option<usize>>,
}

impl<'a> Load<'a> {
    /// Makes a worker for these slots of the trial.
    pub fn new(trial: &'a BulkTrial<'a>, slots: Range<Slot>) -> Load<'a> {
        let next = slots.clone().map(|slot| (slot as usize * trial.batch, 0)).collect();
        let looked_at = vec![None; slots.len()];
        let spots = match trial.capabilities.keeps {
            Keeps::Everything => Spots::new(trial.input.documents.len() as u64, slots),
            Keeps::Nothing => Spots::none(slots),
        };
        Load { trial, next, pairs: Vec::with_capacity(trial.batch), spots, looked_at }
    }
}

impl Worker for Load<'_> {
    fn next(&mut self, slot: Slot) -> Step<'_> {
        let documents = &self.trial.input.documents;
        if let Some(at) = self.looked_at[slot as usize] {
            return Step::Check(Operation::Get { key: documents.id(at) });
        }
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

    fn is_within(&mut self, slot: Slot) -> bool {
        self.looked_at[slot as usize].is_some()
    }

    fn is_done(&mut self, slot: Slot) -> bool {
        self.looked_at[slot as usize].is_none() && self.next[slot as usize].0 >= self.trial.input.documents.len()
    }

    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) -> Result<(), Offence> {
        let BulkTrial { input, .. } = self.trial;
        if let Some(at) = self.looked_at[slot as usize].take() {
            return looked(&input.documents, at, reply);
        }
        let keeps = self.trial.capabilities.keeps == Keeps::Everything;
        let (next, in_flight) = &mut self.next[slot as usize];
        let (first, put) = (*next, *in_flight);
        *next = self.trial.behind(first, put);
        match reply {
            Reply::Done => {
                if self.spots.is_due(slot, put as u32) {
                    self.looked_at[slot as usize] = Some(first + self.spots.below(put));
                }
                Ok(())
            }
            _ => {
                // Of a batch that failed any part may be there.
                (first..first + put).filter(|_| keeps).for_each(|at| self.trial.written.fails(at as u64));
                Err(Offence::failed(input.documents.id(first), reply))
            }
        }
    }

    #[cold]
    fn leave_off(&mut self) {
        self.trial.lacks(); // there is no reduction then
        let documents = self.trial.input.documents.len();
        for (mut next, _) in self.next.iter().copied() {
            while next < documents {
                self.trial.written.leaves_out(next as u64);
                next = self.trial.behind(next, 1);
            }
        }
    }

    fn think(&self) -> Think {
        Think::Free
    }
}

/// A document read at a spot, after its put was acknowledged.
#[cold]
fn looked(documents: &DocSet, at: usize, reply: &Reply<'_>) -> Result<(), Offence> {
    let (id, expected) = (documents.id(at), documents.document(at));
    match reply {
        Reply::Value(value) if *value == expected => Ok(()),
        Reply::Value(value) => Err(Offence::new(ReasonKind::WrongValue, id, difference(value, expected))),
        Reply::Missing => {
            Err(Offence::new(ReasonKind::UnexpectedMiss, id, "missing, after its write was acknowledged"))
        }
        other => Err(Offence::failed(id, other)),
    }
}
