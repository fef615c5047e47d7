//! Keys that move: each is got once while others are served, and is looked for at its old node at the end.

use super::trial::NodesTrial;
use crate::ycsb::judge;
use crate::ycsb::key::{KEY_BYTES, key};
use crate::ycsb::ledger::Sight;
use crate::ycsb::run::Run;
use job::{Offence, Step, Think, Worker};
use std::ops::Range;
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
    fn take(&mut self, trial: &NodesTrial<'_>) -> Option<u32> {
        let records = u64::from(trial.ycsb.workload.records);
        while self.next < records {
            let id = self.next as u32;
            self.next += self.stride;
            if trial.moves(id) {
                return Some(id);
            }
        }
        None
    }
}

/// The run while keys move. After each operation of a slot one key of its share is got, so that it moves; these gets are judged, and
/// not timed.
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
    turn: Turn,
    is_through: bool,
}

#[derive(Clone, Copy)]
enum Turn {
    Operation,
    Move,
    /// This key is got.
    Moving(u32, Sight),
}

impl<'a> Move<'a> {
    /// A worker for these slots of the trial.
    pub fn new(trial: &'a NodesTrial<'a>, slots: Range<Slot>) -> Move<'a> {
        let mover = |slot| Mover { share: Share::new(trial, slot), turn: Turn::Operation, is_through: false };
        let movers: Vec<Mover> = slots.clone().map(mover).collect();
        let moving = movers.len();
        Move { trial, run: Run::new(&trial.ycsb, slots), slots: movers, moving, key: [0; KEY_BYTES] }
    }

    /// Takes the next key of the slot's share; false when there is none.
    fn take(&mut self, slot: Slot) -> bool {
        let mover = &mut self.slots[slot as usize];
        if let Some(id) = mover.share.take(self.trial) {
            self.key = key(id);
            mover.turn = Turn::Moving(id, self.trial.ycsb.ledger.sight(id));
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
        let run_is_through = self.run.is_through(slot);
        let moves = run_is_through || matches!(self.slots[slot as usize].turn, Turn::Move);
        if moves && self.take(slot) {
            return Step::Check(Operation::Get { key: &self.key });
        }
        self.run.next(slot)
    }

    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) -> Result<(), Offence> {
        let turn = &mut self.slots[slot as usize].turn;
        if let Turn::Moving(id, sight) = *turn {
            *turn = Turn::Operation;
            return judge::read(&self.trial.ycsb.values, &self.trial.ycsb.ledger, id, sight, reply);
        }
        *turn = Turn::Move;
        self.run.reply(slot, reply)
    }

    fn think(&self) -> Think {
        Think::Free
    }
}

/// Asks the old node of every key that moved, which must not have it any more.
pub(super) struct Leftovers<'a> {
    trial: &'a NodesTrial<'a>,
    slots: Vec<(Share, u32)>,
    key: [u8; KEY_BYTES],
}

impl<'a> Leftovers<'a> {
    /// A worker for these slots of the trial.
    pub fn new(trial: &'a NodesTrial<'a>, slots: Range<Slot>) -> Leftovers<'a> {
        Leftovers { trial, slots: slots.map(|slot| (Share::new(trial, slot), 0)).collect(), key: [0; KEY_BYTES] }
    }
}

impl Worker for Leftovers<'_> {
    fn next(&mut self, slot: Slot) -> Step<'_> {
        let (share, asked) = &mut self.slots[slot as usize];
        let Some(id) = share.take(self.trial) else { return Step::Finished };
        *asked = id;
        self.key = key(id);
        Step::Operation(Operation::Get { key: &self.key })
    }

    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) -> Result<(), Offence> {
        let asked = key(self.slots[slot as usize].1);
        match reply {
            Reply::Missing => Ok(()),
            Reply::Value(_) => {
                Err(Offence::new(ReasonKind::WrongReply, &asked, "it moved, and its old node still has it"))
            }
            _ => Err(Offence::failed(&asked, reply)),
        }
    }

    fn think(&self) -> Think {
        Think::Free
    }
}
