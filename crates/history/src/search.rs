//! Everything that is no register with unique versions: a bounded search over what the key can hold.
//!
//! The operations are followed by time. Kept are all states that the key can be in, each with which of the open operations have happened. When an
//! operation is answered, it must have happened in every state that is kept on; others that are open happen
//! before it only where that helps. If no state is left, no order exists. (Wing and Gong 1993; Lowe, Testing for
//! Linearizability, 2017.) Two rules keep the states few: a read happens as soon as its answer is right, and of open
//! operations that are alike the one answered first happens first. Versions on which no answer depends are alike.

use std::collections::HashSet;

use crate::act::{Act, ActKind, SwapAnswer};
use crate::bounds::Bounds;
use crate::contradiction::BoundHit;
use crate::model::{HeldValue, Model};

/// What the search found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Explored {
    /// An order exists.
    Ordered,
    /// None does, as the answer to this operation shows.
    Stuck(usize),
    /// The search hit a bound.
    Undecided(BoundHit),
}

/// A state the key can be in, and the open operations that have happened in it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Possible {
    state: HeldValue,
    happened: u128,
}

/// The most operations that can be open at once.
const SLOTS: usize = 128;

/// Searches for an order of the operations on one key, which held `start` before.
pub(crate) fn search(operations: &[Act], start: HeldValue, bounds: &Bounds) -> Explored {
    let mut search = Search {
        operations,
        model: Model::of(operations),
        reads: Vec::new(),
        slots: [None; SLOTS],
        free: u128::MAX,
        by_answer: Vec::new(),
        possible: vec![Possible { state: start, happened: 0 }],
        most: bounds.states,
    };
    let needless = needless(operations, &search.model);
    search.run(&needless)
}

/// Says for each operation whether it may be left out: a change that was never answered and on which no answer depends.
fn needless(operations: &[Act], model: &Model) -> Vec<bool> {
    let declines = |it: &Act| matches!(it.kind, ActKind::CompareAndSet { swap: SwapAnswer::Declined, .. });
    let may_explain = operations.iter().any(|it| it.counts() && declines(it));
    let unseen = |kind: &ActKind| match kind {
        ActKind::Put(new) | ActKind::Append(new) | ActKind::CompareAndSet { new, .. } => {
            !may_explain && !model.sees(*new)
        }
        _ => false,
    };
    operations.iter().map(|it| !it.counts() || (!it.is_answered() && unseen(&it.kind))).collect()
}

/// The search, at one moment.
struct Search<'a> {
    operations: &'a [Act],
    model: Model,
    /// The number of the list that each open read was answered.
    reads: Vec<u32>,
    /// The open operations.
    slots: [Option<usize>; SLOTS],
    free: u128,
    /// The slots in use, by when their operations are answered.
    by_answer: Vec<usize>,
    possible: Vec<Possible>,
    most: usize,
}

impl Search<'_> {
    /// Follows the operations by time.
    fn run(&mut self, needless: &[bool]) -> Explored {
        // At equal times nothing comes before anything else: operations are sent first, then answered.
        let mut events: Vec<(u64, bool, usize)> = Vec::with_capacity(2 * self.operations.len());
        self.reads = vec![0; self.operations.len()];
        for (at, operation) in self.operations.iter().enumerate().filter(|(at, _)| !needless[*at]) {
            if let ActKind::List(elements) = &operation.kind {
                self.reads[at] = self.model.number(elements);
            }
            events.push((operation.sent_ns, false, at));
            if operation.is_answered() {
                events.push((operation.answered_ns(), true, at));
            }
        }
        events.sort_unstable();
        for (_, answered, at) in events {
            if !answered {
                if !self.open(at) {
                    return Explored::Undecided(BoundHit::Open(SLOTS));
                }
                continue;
            }
            if let Err(found) = self.answer(at) {
                return found;
            }
        }
        Explored::Ordered
    }

    /// Opens an operation; says whether there was a place for it.
    fn open(&mut self, at: usize) -> bool {
        if self.free == 0 {
            self.forget_settled();
        }
        if self.free == 0 {
            return false;
        }
        let slot = self.free.trailing_zeros() as usize;
        self.free &= !(1 << slot);
        self.slots[slot] = Some(at);
        let answered = self.operations[at].answered_ns();
        let place = self.by_answer.partition_point(|it| self.answered(*it) <= answered);
        self.by_answer.insert(place, slot);
        if !self.operations[at].kind.changes() {
            for one in 0..self.possible.len() {
                let it = self.possible[one];
                if self.step(it, slot).is_some() {
                    self.possible[one].happened |= 1 << slot;
                }
            }
        }
        true
    }

    /// Returns when the operation in a slot is answered.
    fn answered(&self, slot: usize) -> u64 {
        self.slots[slot].map_or(u64::MAX, |at| self.operations[at].answered_ns())
    }

    /// Frees the slots of operations that have happened in every state.
    fn forget_settled(&mut self) {
        let settled = self.possible.iter().fold(!self.free, |all, it| all & it.happened);
        for slot in (0..SLOTS).filter(|slot| settled & (1 << slot) != 0) {
            // Those that will be answered keep theirs until then.
            if self.answered(slot) == u64::MAX {
                self.release(slot);
            }
        }
    }

    /// Frees a slot.
    fn release(&mut self, slot: usize) {
        self.slots[slot] = None;
        self.free |= 1 << slot;
        self.by_answer.retain(|it| *it != slot);
        for it in &mut self.possible {
            it.happened &= !(1 << slot);
        }
    }

    /// Keeps the states in which an operation has happened by the time of its answer.
    fn answer(&mut self, at: usize) -> Result<(), Explored> {
        let Some(slot) = self.slots.iter().position(|it| *it == Some(at)) else { return Ok(()) };
        let bit = 1_u128 << slot;
        let mut kept: Vec<Possible> = self.possible.iter().copied().filter(|it| it.happened & bit != 0).collect();
        if kept.len() < self.possible.len() {
            let mut todo: Vec<Possible> = self.possible.iter().copied().filter(|it| it.happened & bit == 0).collect();
            let mut met: HashSet<Possible> = self.possible.iter().copied().collect();
            while let Some(from) = todo.pop() {
                for next in self.next(from, slot) {
                    if !met.insert(next) {
                        continue;
                    }
                    if met.len() > self.most {
                        return Err(Explored::Undecided(BoundHit::States(self.most)));
                    }
                    if next.happened & bit != 0 {
                        kept.push(next);
                    } else {
                        todo.push(next);
                    }
                }
            }
        }
        if kept.is_empty() {
            return Err(Explored::Stuck(at));
        }
        self.possible = kept;
        self.release(slot);
        self.possible.sort_unstable_by_key(|it| (it.happened, it.state));
        self.possible.dedup();
        Ok(())
    }

    /// Returns the states that one more operation leads to: the one that was answered, or any that changes something.
    fn next(&mut self, from: Possible, wanted: usize) -> Vec<Possible> {
        let mut alike = Vec::new();
        let mut next = Vec::new();
        for place in 0..self.by_answer.len() {
            let slot = self.by_answer[place];
            let Some(at) = self.slots[slot].filter(|_| from.happened & (1 << slot) == 0) else { continue };
            let kind = &self.operations[at].kind;
            if slot != wanted && !kind.changes() {
                continue;
            }
            if let Some(likeness) = self.model.likeness(kind) {
                if alike.contains(&likeness) {
                    continue;
                }
                alike.push(likeness);
            }
            if let Some(state) = self.step(from, slot) {
                let mut possible = Possible { state, happened: from.happened | 1 << slot };
                self.read_all(&mut possible);
                next.push(possible);
            }
        }
        next
    }

    /// Lets every open read happen whose answer is right.
    fn read_all(&mut self, possible: &mut Possible) {
        for place in 0..self.by_answer.len() {
            let slot = self.by_answer[place];
            let Some(at) = self.slots[slot].filter(|_| possible.happened & (1 << slot) == 0) else { continue };
            if !self.operations[at].kind.changes() && self.step(*possible, slot).is_some() {
                possible.happened |= 1 << slot;
            }
        }
    }

    /// Returns the state after the operation in a slot.
    fn step(&mut self, from: Possible, slot: usize) -> Option<HeldValue> {
        let at = self.slots[slot]?;
        self.model.after(from.state, &self.operations[at], self.reads[at])
    }
}
