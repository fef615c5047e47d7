//! Keys that move: each is got once while others are served, and is looked for at its old node at the end.

use super::trial::NodesTrial;
use crate::ycsb::judge;
use crate::ycsb::key::{KEY_BYTES, key};
use crate::ycsb::run::Run;
use crate::ycsb::versions::Sight;
use jobkit::{Arriving, Offence, Step, Think, Worker};
use std::ops::Range;
use std::time::{Duration, Instant};
use store::{Operation, Reply, Slot};
use study::ReasonKind;

/// Keys that move, those of one slot: key i is that of slot i modulo slots.
struct Share {
    next: u64,
    stride: u64,
}

impl Share {
    fn new(trial: &NodesTrial<'_>, slot: Slot) -> Share {
        Share { next: slot.into(), stride: trial.ycsb.slots.into() }
    }

    /// The next of them.
    fn take(&mut self, trial: &NodesTrial<'_>) -> Option<u64> {
        let records = trial.ycsb.workload.records;
        while self.next < records {
            let id = self.next;
            self.next += self.stride;
            if trial.moves(id) {
                return Some(id);
            }
        }
        None
    }
}

/// The run while keys move. After each operation of a slot one key of its share is got, so that it moves; these gets are judged, and
/// not timed. One that fails is sent again in its turn, until the key has moved.
pub(super) struct Move<'a> {
    trial: &'a NodesTrial<'a>,
    run: Run<'a>,
    slots: Vec<Mover>,
    /// Slots with keys left to move.
    moving: usize,
    key: [u8; KEY_BYTES],
}

struct Mover {
    share: Share,
    /// The key to be got next.
    next: Option<u64>,
    /// Until when it rests, when that has failed and nothing else is to be done.
    rests_until: Option<Instant>,
    turn: Turn,
    is_through: bool,
}

/// How long a slot rests before it asks once more for a key whose node does not answer.
const REST: Duration = Duration::from_millis(20);

impl Mover {
    #[inline]
    fn rests(&mut self) -> bool {
        let Some(until) = self.rests_until else { return false };
        let rests = Instant::now() < until;
        if !rests {
            self.rests_until = None;
        }
        rests
    }
}

#[derive(Clone, Copy)]
enum Turn {
    Operation,
    Move,
    /// This key is got.
    Moving(u64, Sight),
}

impl<'a> Move<'a> {
    /// Makes a worker for these slots of the trial.
    pub fn new(trial: &'a NodesTrial<'a>, slots: Range<Slot>) -> Move<'a> {
        let mover = |slot| Mover {
            share: Share::new(trial, slot),
            next: None,
            rests_until: None,
            turn: Turn::Operation,
            is_through: false,
        };
        let movers: Vec<Mover> = slots.clone().map(mover).collect();
        let moving = movers.len();
        Move { trial, run: Run::new(&trial.ycsb, slots), slots: movers, moving, key: [0; KEY_BYTES] }
    }

    /// Whether it is the turn of a key that must still move: after an operation, and when there are no more of them.
    fn moves(&mut self, slot: Slot) -> bool {
        let mover = &mut self.slots[slot as usize];
        if !self.run.is_through(slot) && (!matches!(mover.turn, Turn::Move) || mover.rests()) {
            mover.turn = Turn::Operation;
            return false;
        }
        mover.next = mover.next.or_else(|| mover.share.take(self.trial));
        if mover.next.is_some() {
            return true;
        }
        mover.turn = Turn::Operation;
        if !std::mem::replace(&mut mover.is_through, true) {
            self.moving -= 1;
            if self.moving == 0 {
                self.trial.swept();
            }
        }
        false
    }
}

impl Worker for Move<'_> {
    fn next(&mut self, slot: Slot) -> Step<'_> {
        if self.moves(slot) && self.slots[slot as usize].rests() {
            return Step::Wait;
        }
        if self.moves(slot)
            && let Some(id) = self.slots[slot as usize].next.take()
        {
            self.key = key(id);
            self.slots[slot as usize].turn = Turn::Moving(id, self.trial.ycsb.ledger.sight(id));
            return Step::Check(Operation::Get { key: &self.key });
        }
        self.run.next(slot)
    }

    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) -> Result<(), Offence> {
        let mover = &mut self.slots[slot as usize];
        let failed = matches!(reply, Reply::Failed(_));
        if let Turn::Moving(id, sight) = mover.turn {
            mover.turn = Turn::Operation;
            if failed {
                mover.next = Some(id);
                mover.rests_until = Some(Instant::now() + REST);
                self.trial.shake(id);
            }
            return judge::read(&self.trial.ycsb.values, &self.trial.ycsb.ledger, id, sight, reply);
        }
        mover.turn = Turn::Move;
        if failed {
            self.trial.shake(self.run.id(slot));
        }
        self.run.reply(slot, reply)
    }

    fn is_done(&mut self, slot: Slot) -> bool {
        self.run.is_through(slot) && !self.moves(slot)
    }

    fn think(&self) -> Think {
        Think::Free
    }

    /// What is due are the operations of the run. The get that moves a key follows the one before it at once: if it waited until the next is
    /// due, that would be late by a round trip.
    fn arrivals(&self) -> Arriving {
        Arriving::Units
    }

    fn is_within(&mut self, slot: Slot) -> bool {
        self.moves(slot)
    }
}

/// Asks the old node of every key that moved, which must not have it any more, unless an operation on it failed while keys moved: what
/// was to be deleted there may then have stayed.
pub(super) struct Leftovers<'a> {
    trial: &'a NodesTrial<'a>,
    slots: Vec<(Share, u64)>,
    key: [u8; KEY_BYTES],
}

impl<'a> Leftovers<'a> {
    /// Makes a worker for these slots of the trial.
    pub fn new(trial: &'a NodesTrial<'a>, slots: Range<Slot>) -> Leftovers<'a> {
        Leftovers { trial, slots: slots.map(|slot| (Share::new(trial, slot), 0)).collect(), key: [0; KEY_BYTES] }
    }
}

impl Worker for Leftovers<'_> {
    fn next(&mut self, slot: Slot) -> Step<'_> {
        let (share, asked) = &mut self.slots[slot as usize];
        let Some(id) = share.take(self.trial).filter(|_| self.trial.asks_old_nodes()) else { return Step::Finished };
        *asked = id;
        self.key = key(id);
        Step::Operation(Operation::Get { key: &self.key })
    }

    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) -> Result<(), Offence> {
        let id = self.slots[slot as usize].1;
        let asked = key(id);
        match reply {
            Reply::Missing => Ok(()),
            Reply::Value(_) if self.trial.is_shaken(id) => {
                self.trial.stayed();
                Ok(())
            }
            Reply::Value(_) => {
                Err(Offence::new(ReasonKind::WrongReply, &asked, "the key moved, and its old node still has it"))
            }
            _ => Err(Offence::failed(&asked, reply)),
        }
    }

    fn think(&self) -> Think {
        Think::Free
    }
}
