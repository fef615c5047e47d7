//! The run: draws operations and keys, makes values, judges replies.

use super::chooser::Chooser;
use super::judge;
use super::key::{KEY_BYTES, KeyNames, key};
use super::trial::YcsbTrial;
use super::value::version_in;
use super::versions::{Sight, Write};
use super::workload::{Kind, Mix, Workload};
use crate::witnessed::Telling;
use data::wyrand::WyRand;
use jobkit::{Offence, Step, Think, Worker};
use std::ops::Range;
use store::{Keeps, Operation, Reply, Slot};

/// A thread's slots.
pub struct Run<'a> {
    trial: &'a YcsbTrial<'a>,
    /// Number of its first slot over the whole trial.
    first: Slot,
    slots: Vec<SlotState>,
    chooser: Chooser,
    /// Whether keys are added while others are drawn.
    grows: bool,
    /// Whether no key is added and keys are named in order: what most workloads are.
    is_plain: bool,
    judged: bool,
    /// Whether the next key is drawn when a reply comes, so that its word of the ledger is at hand when the operation is sent: the
    /// system calls between two batches leave little in the caches.
    draws_ahead: bool,
    /// Copies of what every operation needs, so that it is at hand.
    mix: Mix,
    names: KeyNames,
    records: u64,
    stride: u64,
    key: [u8; KEY_BYTES],
    value: Vec<u8>,
    /// Number of the operation that is the first not done; a run by time has no such number.
    last: u64,
}

struct SlotState {
    rng: WyRand,
    /// Number of the next operation over all slots.
    number: u64,
    id: u64,
    /// Where keys are drawn ahead: that of the next operation.
    ahead: u64,
    sight: Sight,
    write: Write,
    /// An operation of it has failed, and nothing was answered since: before it writes, it looks at what is there.
    doubts: bool,
    /// Of a scan: what was known of the keys from its first on.
    sights: Vec<Sight>,
    stage: Stage,
}

/// What is in flight, or comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Nothing; a new operation is drawn.
    Idle,
    /// A get.
    Read,
    /// The first put of a new key.
    Insert,
    /// A scan of at most `limit` keys; those below `certain` must all be there.
    Scan { limit: u32, certain: u64 },
    /// A put; between a get and its put: the put is next.
    Write,
    /// A get, to be followed by a put of the same key.
    ReadToWrite,
    /// A check of the key before its put.
    Look,
}

impl<'a> Run<'a> {
    /// Makes a worker for these slots of the trial.
    pub fn new(trial: &'a YcsbTrial<'a>, slots: Range<Slot>) -> Run<'a> {
        let grows = trial.workload.mix.has(Kind::Insert);
        let draws_ahead = trial.keeps == Keeps::Everything && !grows;
        let state = |slot| {
            let mut rng = WyRand::new(trial.seed, u64::from(slot));
            let ahead = if draws_ahead { trial.chooser.draw(&mut rng, trial.workload.records) } else { 0 };
            SlotState {
                rng,
                number: u64::from(slot),
                id: 0,
                ahead,
                sight: Sight::default(),
                write: Write::default(),
                doubts: false,
                sights: Vec::new(),
                stage: Stage::Idle,
            }
        };
        Run {
            trial,
            first: slots.start,
            slots: slots.map(state).collect(),
            chooser: trial.chooser.clone(),
            grows,
            is_plain: !grows && trial.ledger.names == KeyNames::InOrder,
            judged: trial.keeps == Keeps::Everything,
            draws_ahead,
            mix: trial.workload.mix,
            names: trial.ledger.names,
            records: trial.workload.records,
            stride: u64::from(trial.slots),
            key: [0; KEY_BYTES],
            value: Vec::new(),
            last: trial.workload.end.last(),
        }
    }
}

impl Run<'_> {
    /// Returns whether a slot that is idle has done all its operations.
    pub fn is_through(&self, slot: Slot) -> bool {
        let state = &self.slots[slot as usize];
        state.stage != Stage::Write && state.number >= self.last
    }

    /// Lets a slot that is through do one operation more.
    pub fn prolong(&mut self, slot: Slot) {
        self.last = self.last.max(self.slots[slot as usize].number + 1);
    }

    /// Returns the key of the operation that a slot has in flight.
    pub fn id(&self, slot: Slot) -> u64 {
        self.slots[slot as usize].id
    }

    #[inline(never)]
    fn put(&mut self, slot: Slot, id: u64) -> Step<'_> {
        let state = &mut self.slots[slot as usize];
        state.id = id;
        let mut version = 1;
        if self.judged {
            state.write = self.trial.ledger.begin_write(id, self.first + slot);
            version = state.write.version;
        }
        self.key = self.names.key(id);
        self.trial.values.make(id, version, &mut self.value);
        Step::Operation(Operation::Put { key: &self.key, value: &self.value })
    }

    /// Puts the key; after a failure it is read before. A store that came back without what it had acknowledged would be found out only
    /// before it is written over.
    #[inline(never)]
    fn update(&mut self, slot: Slot, id: u64) -> Step<'_> {
        let state = &mut self.slots[slot as usize];
        if !state.doubts || !self.judged {
            return self.put(slot, id);
        }
        (state.stage, state.id, state.doubts) = (Stage::Look, id, false);
        state.sight = self.trial.ledger.sight(id);
        self.key = self.names.key(id);
        Step::Check(Operation::Get { key: &self.key })
    }

    /// The next operation, whatever it is.
    #[inline(never)]
    fn next_other(&mut self, slot: Slot, kind: Kind) -> Step<'_> {
        let trial = self.trial;
        // A ledger without room for more keys lets the insert be a read.
        if kind == Kind::Insert
            && let Some(id) = trial.ledger.insert()
        {
            self.slots[slot as usize].stage = Stage::Insert;
            return self.put(slot, id);
        }
        let mut ids = self.records;
        if self.grows {
            ids = trial.ledger.settled();
            self.chooser.grow(ids);
        }
        let state = &mut self.slots[slot as usize];
        let id = if self.draws_ahead { state.ahead } else { self.chooser.draw(&mut state.rng, ids) };
        state.id = id;
        match kind {
            Kind::Update => {
                state.stage = Stage::Write;
                return self.update(slot, id);
            }
            Kind::Scan => {
                let Workload { scan_min, scan_max, .. } = *trial.workload;
                let limit = scan_min + state.rng.below(u64::from(scan_max - scan_min + 1)) as u32;
                state.stage = Stage::Scan { limit, certain: ids };
                if self.judged {
                    state.sights.clear();
                    state
                        .sights
                        .extend((id..ids.min(id.saturating_add(limit.into()))).map(|id| trial.ledger.sight(id)));
                }
                self.key = self.names.key(id);
                return Step::Operation(Operation::Scan { start: &self.key, limit });
            }
            Kind::ReadModifyWrite => state.stage = Stage::ReadToWrite,
            Kind::Read | Kind::Insert => state.stage = Stage::Read,
        }
        if self.judged {
            state.sight = trial.ledger.sight(id);
        }
        self.key = self.names.key(id);
        Step::Operation(Operation::Get { key: &self.key })
    }

    /// Judges any reply but that to a get.
    #[inline(never)]
    fn judge_other(&mut self, slot: Slot, stage: Stage, reply: &Reply<'_>) -> Result<(), Offence> {
        if let Reply::Failed(_) = reply {
            self.slots[slot as usize].doubts = true;
        }
        let YcsbTrial { ledger, values, .. } = self.trial;
        let SlotState { id, write, ref sights, .. } = self.slots[slot as usize];
        let written = || judge::written(ledger, id, self.first + slot, write, reply);
        match (stage, reply) {
            (Stage::Insert, _) => {
                let judged = written();
                ledger.settle();
                judged
            }
            (Stage::Scan { limit, certain }, Reply::Rows(rows)) => {
                judge::scanned(values, ledger, id, limit, certain, sights, rows)
            }
            (Stage::Scan { .. }, _) => Err(Offence::failed(&self.names.key(id), reply)),
            _ => written(),
        }
    }
}

impl Telling for Run<'_> {
    #[inline]
    fn key_number(&self, slot: Slot) -> u64 {
        self.id(slot)
    }

    #[inline]
    fn version(value: &[u8]) -> Option<u64> {
        version_in(value)
    }
}

impl Worker for Run<'_> {
    #[inline(always)]
    fn next(&mut self, slot: Slot) -> Step<'_> {
        let state = &mut self.slots[slot as usize];
        if state.stage == Stage::Write {
            let id = state.id;
            return self.update(slot, id);
        }
        if state.number >= self.last {
            return Step::Finished;
        }
        let kind = self.mix.kind(state.number);
        state.number += self.stride;
        if kind != Kind::Read || !self.is_plain {
            return self.next_other(slot, kind);
        }
        // What most workloads mostly do, by itself.
        let id = if self.draws_ahead { state.ahead } else { self.chooser.draw(&mut state.rng, self.records) };
        state.id = id;
        state.stage = Stage::Read;
        if self.judged {
            state.sight = self.trial.ledger.sight(id);
        }
        self.key = key(id);
        Step::Operation(Operation::Get { key: &self.key })
    }

    #[inline(always)]
    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) -> Result<(), Offence> {
        let trial = self.trial;
        let state = &mut self.slots[slot as usize];
        let stage = state.stage;
        let writes_next = matches!(stage, Stage::ReadToWrite | Stage::Look);
        state.stage = if writes_next { Stage::Write } else { Stage::Idle };
        if self.draws_ahead && !writes_next {
            let id = self.chooser.draw(&mut state.rng, self.records);
            trial.ledger.prefetch(id);
            state.ahead = id;
        }
        if !self.judged {
            return match reply {
                Reply::Failed(_) => Err(Offence::failed(&self.names.key(state.id), reply)),
                _ => Ok(()),
            };
        }
        match stage {
            Stage::Read | Stage::ReadToWrite => {
                if let Reply::Failed(_) = reply {
                    state.doubts = true;
                }
                judge::read(&trial.values, &trial.ledger, state.id, state.sight, reply)
            }
            Stage::Look => judge::read(&trial.values, &trial.ledger, state.id, state.sight, reply),
            _ => self.judge_other(slot, stage, reply),
        }
    }

    fn is_done(&mut self, slot: Slot) -> bool {
        self.is_through(slot)
    }

    fn think(&self) -> Think {
        Think::Free
    }
}
