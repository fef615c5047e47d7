//! Shares a stream of work out over slots, so that what belongs to one key is done in the order of the stream, one after the other.
//!
//! A free slot takes the next item. When its key is in flight on another slot, that slot gets it behind what it has. So keys need no
//! owner known beforehand, no slot waits, and what is kept is as much as is in flight. Which keys are in flight is kept as a bit a
//! place, a place for several keys, so that it stays in the nearest cache while the system calls between two batches empty it.

use data::splitmix::mix;
use store::Slot;

/// Places per slot: one item in this many waits for another key's without need.
const PLACES: usize = 64;

/// The place of a slot with nothing in flight; the item behind the last of a chain.
const NOTHING: u32 = u32::MAX;

/// The slots of one worker.
pub struct InOrder<I> {
    /// Where the key is that a slot has in flight.
    places: Vec<u32>,
    /// What a slot does after that.
    behind: Vec<Chain>,
    /// Items behind what slots have in flight, in chains; those of no chain are in that of `unused`.
    waiting: Vec<Waiting<I>>,
    unused: u32,
    busy: Bits,
}

/// Items of one slot: little, so that the caches keep it for many slots.
#[derive(Clone, Copy)]
struct Chain {
    first: u32,
    last: u32,
}

/// An item, and the next of its chain.
struct Waiting<I> {
    item: I,
    next: u32,
}

/// A power of two of bits.
struct Bits(Vec<u64>);

impl Bits {
    #[inline]
    fn place_of(&self, key: u64) -> u32 {
        (mix(key) as usize & (64 * self.0.len() - 1)) as u32
    }

    /// Sets a bit; whether it was not set.
    #[inline]
    fn set(&mut self, place: u32) -> bool {
        let (word, bit) = (&mut self.0[place as usize / 64], 1 << (place % 64));
        let free = *word & bit == 0;
        *word |= bit;
        free
    }

    #[inline]
    fn clear(&mut self, place: u32) {
        self.0[place as usize / 64] &= !(1 << (place % 64));
    }
}

impl<I: Copy> InOrder<I> {
    /// Returns `slots` idle slots.
    pub fn new(slots: usize) -> InOrder<I> {
        InOrder {
            places: vec![NOTHING; slots],
            behind: vec![Chain { first: NOTHING, last: NOTHING }; slots],
            waiting: Vec::with_capacity(slots),
            unused: NOTHING,
            busy: Bits(vec![0; (PLACES * slots).next_power_of_two().div_ceil(64)]),
        }
    }

    /// Returns the next work of an idle slot: of the stream `next`, which gives keys and items. `None`: there is no more for it.
    #[inline]
    pub fn take(&mut self, slot: Slot, mut next: impl FnMut() -> Option<(u64, I)>) -> Option<I> {
        if self.places.len() == 1 {
            return next().map(|(_, item)| item);
        }
        if self.behind[slot as usize].first != NOTHING {
            return Some(self.take_waiting(slot));
        }
        while let Some((key, item)) = next() {
            let place = self.busy.place_of(key);
            if self.busy.set(place) {
                self.places[slot as usize] = place;
                return Some(item);
            }
            self.wait(self.owner(place).unwrap_or(slot as usize), item);
        }
        None
    }

    /// Returns whether something waits for this slot behind what it has done.
    #[inline]
    pub fn has_waiting(&self, slot: Slot) -> bool {
        self.behind[slot as usize].first != NOTHING
    }

    /// Returns what waits first for this slot behind what it has done.
    #[inline]
    pub fn first_waiting(&self, slot: Slot) -> Option<I> {
        self.waiting.get(self.behind[slot as usize].first as usize).map(|waiting| waiting.item)
    }

    /// The slot that has this place. Several are compared at once, without a branch for each.
    fn owner(&self, place: u32) -> Option<usize> {
        let has = |slots: &&[u32]| slots.iter().fold(false, |found, &other| found | (other == place));
        let before = self.places.chunks(32).take_while(|slots| !has(slots)).count() * 32;
        self.places.get(before..)?.iter().position(|&other| other == place).map(|at| before + at)
    }

    /// The first item behind what the slot has done.
    fn take_waiting(&mut self, slot: Slot) -> I {
        let chain = &mut self.behind[slot as usize];
        let taken = chain.first;
        let Waiting { item, next } = &mut self.waiting[taken as usize];
        chain.first = std::mem::replace(next, self.unused);
        self.unused = taken;
        *item
    }

    /// Puts an item behind what this slot has.
    fn wait(&mut self, slot: usize, item: I) {
        let added = match self.waiting.get_mut(self.unused as usize) {
            Some(unused) => {
                let next = std::mem::replace(unused, Waiting { item, next: NOTHING }).next;
                std::mem::replace(&mut self.unused, next)
            }
            None => {
                self.waiting.push(Waiting { item, next: NOTHING });
                self.waiting.len() as u32 - 1
            }
        };
        let chain = &mut self.behind[slot];
        if chain.first == NOTHING {
            chain.first = added;
        } else {
            self.waiting[chain.last as usize].next = added;
        }
        chain.last = added;
    }

    /// Notes that the slot's item is done, well or badly. Does nothing when the slot had none from here.
    #[inline]
    pub fn done(&mut self, slot: Slot) {
        let place = &mut self.places[slot as usize];
        if *place != NOTHING && self.behind[slot as usize].first == NOTHING {
            self.busy.clear(*place);
            *place = NOTHING;
        }
    }
}

/// Returns whether the key with this hash belongs to these slots of a trial: every key belongs to the slots of exactly one worker.
#[inline]
pub fn belongs(hash: u64, slots: &std::ops::Range<Slot>, all: u32) -> bool {
    slots.len() == all as usize || slots.contains(&(((u128::from(hash) * u128::from(all)) >> 64) as Slot))
}

#[cfg(test)]
mod tests {
    use super::{InOrder, belongs};
    use data::splitmix::{Rng, mix};

    #[test]
    fn every_item_is_done_once_and_those_of_a_key_in_order_and_never_two_at_a_time() {
        for slots in [1_usize, 2, 7, 64] {
            let (keys, items) = (5_u64, 2000_u64);
            let mut stream = (0..items).map(|item| (mix(item) % keys, item));
            let mut rng = Rng::new(slots as u64);
            let mut order = InOrder::new(slots);
            let mut in_flight: Vec<Option<u64>> = vec![None; slots];
            let mut finished = vec![false; slots];
            let mut done: Vec<Vec<u64>> = vec![Vec::new(); keys as usize];
            while finished.iter().any(|finished| !finished) {
                let slot = rng.below(slots as u64) as usize;
                match in_flight[slot].take() {
                    Some(item) => {
                        done[(mix(item) % keys) as usize].push(item);
                        order.done(slot as u32);
                    }
                    None if finished[slot] => {}
                    None => match order.take(slot as u32, || stream.next()) {
                        Some(item) => {
                            let key = mix(item) % keys;
                            assert!(in_flight.iter().flatten().all(|&other| mix(other) % keys != key));
                            in_flight[slot] = Some(item);
                        }
                        None => finished[slot] = true,
                    },
                }
            }
            assert_eq!(done.iter().map(Vec::len).sum::<usize>() as u64, items);
            assert!(done.iter().all(|items| items.is_sorted()), "{slots} slots");
        }
    }

    #[test]
    fn every_key_belongs_to_exactly_one_worker() {
        let workers = [0..3, 3..4, 4..10];
        for key in 0..1000 {
            assert_eq!(workers.iter().filter(|slots| belongs(mix(key), slots, 10)).count(), 1);
        }
        assert!(belongs(mix(1), &(0..10), 10));
    }
}
