//! The run where values have a time to live: as the plain run, and what has expired is put again by the client that misses it, as a cache or a shop does.

use super::chooser::Chooser;
use super::judge;
use super::key::{KEY_BYTES, KeyNames};
use super::lives::{Lifetime, Lifetimes};
use super::trial::YcsbTrial;
use super::versions::{Sight, Write};
use super::workload::Kind;
use crate::expires::{Expires, MOMENT_BYTES};
use data::wyrand::WyRand;
use jobkit::{Offence, Step, Think, Worker};
use std::ops::Range;
use store::{Keeps, Operation, Reply, Slot};

/// A thread's slots.
pub struct Expiring<'a> {
    trial: &'a YcsbTrial<'a>,
    lives: &'a Lifetimes,
    /// Number of its first slot over the whole trial.
    first: Slot,
    slots: Vec<SlotState>,
    chooser: Chooser,
    judged: bool,
    names: KeyNames,
    key: [u8; KEY_BYTES],
    value: Vec<u8>,
}

struct SlotState {
    rng: WyRand,
    /// Number of the next operation over all slots.
    number: u64,
    id: u64,
    sight: Sight,
    life: Lifetime,
    write: Write,
    /// When the write was sent.
    sent_ns: u64,
    stage: Stage,
}

/// What is in flight, or comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Idle,
    /// A get.
    Read,
    /// A get, to be followed by a put of the same key.
    ReadToWrite,
    /// A put is next.
    Write,
    /// A put.
    Written,
}

impl<'a> Expiring<'a> {
    /// Makes a worker for these slots of the trial.
    pub fn new(trial: &'a YcsbTrial<'a>, lives: &'a Lifetimes, slots: Range<Slot>) -> Expiring<'a> {
        let state = |slot| SlotState {
            rng: WyRand::new(trial.seed, u64::from(slot)),
            number: u64::from(slot),
            id: 0,
            sight: Sight::default(),
            life: Lifetime::default(),
            write: Write::default(),
            sent_ns: 0,
            stage: Stage::Idle,
        };
        Expiring {
            trial,
            lives,
            first: slots.start,
            slots: slots.map(state).collect(),
            chooser: trial.chooser.clone(),
            judged: trial.keeps == Keeps::Everything,
            names: trial.ledger.names,
            key: [0; KEY_BYTES],
            value: Vec::new(),
        }
    }

    fn put(&mut self, slot: Slot) -> Step<'_> {
        let state = &mut self.slots[slot as usize];
        state.stage = Stage::Written;
        let mut version = 1;
        if self.judged {
            state.write = self.trial.ledger.begin_write(state.id, self.first + slot);
            version = state.write.version;
        }
        self.key = self.names.key(state.id);
        self.trial.values.make(state.id, version, &mut self.value);
        state.sent_ns = self.lives.now_ns();
        Step::Operation(put(self.lives, &self.key, &mut self.value))
    }

    fn get(&mut self, slot: Slot, stage: Stage) -> Step<'_> {
        let state = &mut self.slots[slot as usize];
        state.stage = stage;
        if self.judged {
            state.sight = self.trial.ledger.sight(state.id);
            state.life = self.lives.life(state.id);
        }
        self.key = self.names.key(state.id);
        Step::Operation(Operation::Get { key: &self.key })
    }
}

/// Returns the operation that writes a value with its time to live.
pub(super) fn put<'o>(lives: &Lifetimes, key: &'o [u8], value: &'o mut Vec<u8>) -> Operation<'o> {
    match lives.expires {
        Expires::InStore(_) => Operation::PutTtl { key, value, ttl_ms: lives.ttl_ms },
        Expires::ByReader => {
            lives.push_moment(value);
            Operation::Put { key, value }
        }
    }
}

/// A read of a value with a time to live: what was known when it was sent.
pub(super) struct Read<'a> {
    pub(super) trial: &'a YcsbTrial<'a>,
    pub(super) lives: &'a Lifetimes,
    pub(super) id: u64,
    pub(super) sight: Sight,
    pub(super) life: Lifetime,
}

/// What a read found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// A value.
    Value,
    /// Nothing: its time was over.
    Expired,
}

impl Read<'_> {
    /// Judges the reply.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn judge(&self, reply: &Reply<'_>) -> Result<Seen, Offence> {
        let Read { trial: YcsbTrial { values, ledger, .. }, lives, id, sight, life } = *self;
        if let (Expires::ByReader, Reply::Value(sealed)) = (lives.expires, reply) {
            // The moment was taken when the write was sent, so of two writes at once the one that was sent first may stay: the value itself says it.
            let value = sealed.split_last_chunk::<MOMENT_BYTES>().map_or(*sealed, |(value, _)| value);
            judge::read(values, ledger, id, sight, &Reply::Value(value))?;
            return Ok(if lives.is_alive(sealed) { Seen::Value } else { Seen::Expired });
        }
        match *reply {
            Reply::Missing if sight.exists() && !sight.is_uncertain() => {
                lives.gone(ledger, id, life).map(|()| Seen::Expired)
            }
            // A write that failed may have been the last one.
            Reply::Missing if sight.is_uncertain() => Ok(Seen::Expired),
            Reply::Value(value) => {
                judge::read(values, ledger, id, sight, reply)?;
                let is_last = values.verify(id, value).is_ok_and(|version| sight.is_newest(version));
                if is_last && !sight.is_uncertain() {
                    lives.there(ledger, id, life)?;
                }
                Ok(Seen::Value)
            }
            _ => judge::read(values, ledger, id, sight, reply).map(|()| Seen::Expired),
        }
    }
}

impl Worker for Expiring<'_> {
    fn next(&mut self, slot: Slot) -> Step<'_> {
        let trial = self.trial;
        let state = &mut self.slots[slot as usize];
        if state.stage == Stage::Write {
            return self.put(slot);
        }
        if state.number >= trial.workload.end.last() {
            return Step::Finished;
        }
        let kind = trial.workload.mix.kind(state.number);
        state.number += u64::from(trial.slots);
        state.id = self.chooser.draw(&mut state.rng, trial.workload.records);
        match kind {
            Kind::Update => self.put(slot),
            Kind::ReadModifyWrite => self.get(slot, Stage::ReadToWrite),
            // Inserts and scans were refused.
            Kind::Read | Kind::Insert | Kind::Scan => self.get(slot, Stage::Read),
        }
    }

    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) -> Result<(), Offence> {
        let (trial, lives, first) = (self.trial, self.lives, self.first);
        let state = &mut self.slots[slot as usize];
        let SlotState { id, sight, life, write, sent_ns, stage, .. } = *state;
        state.stage = if stage == Stage::ReadToWrite { Stage::Write } else { Stage::Idle };
        if !self.judged {
            return match reply {
                Reply::Failed(_) => Err(Offence::failed(&self.names.key(id), reply)),
                _ => Ok(()),
            };
        }
        if stage == Stage::Written {
            if matches!(reply, Reply::Done) {
                lives.written(id, sent_ns);
            }
            return judge::written(&trial.ledger, id, first + slot, write, reply);
        }
        let read = Read { trial, lives, id, sight, life };
        if read.judge(reply)? == Seen::Expired {
            state.stage = Stage::Write;
        }
        Ok(())
    }

    fn is_done(&mut self, slot: Slot) -> bool {
        let state = &self.slots[slot as usize];
        state.stage != Stage::Write && state.number >= self.trial.workload.end.last()
    }

    fn think(&self) -> Think {
        Think::Free
    }
}
