//! Behind the run, where values have a time to live: when all must be gone, every key is asked for once more.

use super::expiring::{Read, Seen};
use super::key::KEY_BYTES;
use super::lives::Lifetimes;
use super::trial::YcsbTrial;
use crate::expires::Expires;
use jobkit::{Offence, Step, Think, Worker};
use std::ops::Range;
use store::{Operation, Reply, Slot};

/// A thread's slots. Key i is looked for by slot i modulo slots.
pub struct Gone<'a> {
    trial: &'a YcsbTrial<'a>,
    lives: &'a Lifetimes,
    slots: Vec<(u64, Look)>,
    key: [u8; KEY_BYTES],
}

/// What a slot does with its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    /// Asks for it.
    Get,
    /// Sweeps it away: the store itself never does.
    Delete,
}

impl<'a> Gone<'a> {
    /// Makes a worker for these slots of the trial.
    pub fn new(trial: &'a YcsbTrial<'a>, lives: &'a Lifetimes, slots: Range<Slot>) -> Gone<'a> {
        Gone { trial, lives, slots: slots.map(|slot| (u64::from(slot), Look::Get)).collect(), key: [0; KEY_BYTES] }
    }
}

impl Worker for Gone<'_> {
    fn next(&mut self, slot: Slot) -> Step<'_> {
        let (id, look) = self.slots[slot as usize];
        if id >= self.trial.ledger.ids() {
            return Step::Finished;
        }
        self.key = self.trial.ledger.names.key(id);
        let key = &self.key;
        Step::Operation(match look {
            Look::Get => Operation::Get { key },
            Look::Delete => Operation::Delete { key },
        })
    }

    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) -> Result<(), Offence> {
        let Gone { trial, lives, .. } = *self;
        let (id, look) = self.slots[slot as usize];
        let is_found = look == Look::Get && matches!(reply, Reply::Value(_));
        if is_found && lives.expires == Expires::ByReader {
            self.slots[slot as usize].1 = Look::Delete;
        } else {
            self.slots[slot as usize] = (id + u64::from(trial.slots), Look::Get);
        }
        let (sight, life) = (trial.ledger.sight(id), lives.life(id));
        match reply {
            Reply::Failed(_) => Err(Offence::failed(&trial.ledger.names.key(id), reply)),
            _ if look == Look::Delete || sight.is_uncertain() => Ok(()),
            _ => match (Read { trial, lives, id, sight, life }).judge(reply) {
                Ok(Seen::Value) => Err(lives.never(&trial.ledger, id, life)),
                Err(offence) if offence.kind() == study::ReasonKind::ExpiredLate => {
                    Err(lives.never(&trial.ledger, id, life))
                }
                judged => judged.map(|_| ()),
            },
        }
    }

    fn think(&self) -> Think {
        Think::Free
    }
}
