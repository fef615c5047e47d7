//! Shares a stream of work out over slots, so that what belongs to one key is done in the order of the stream, one after the other.
//!
//! A free slot takes the next item. When its key is in flight on another slot, that slot gets it behind what it has. So keys need no
//! owner known beforehand, no slot waits, and what is kept is as much as is in flight. Which keys are in flight is kept as a bit a
//! place, a place for several keys, so that it stays in the nearest cache while the system calls between two batches empty it.

use data::splitmix::mix;
use std::collections::VecDeque;
use store::Slot;

/// Places a slot: one item in so many waits for another key's without need.
const PLACES: usize = 64;

/// The place of a slot with nothing in flight.
const NOWHERE: u32 = u32::MAX;

/// The slots of one worker.
pub struct InOrder<I> {
    /// Where the key is that a slot has in flight.
    places: Vec<u32>,
    /// What a slot does after that.
    behind: Vec<VecDeque<I>>,
    busy: Bits,
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

impl<I> InOrder<I> {
    /// So many idle slots.
    pub fn new(slots: usize) -> InOrder<I> {
        InOrder {
            places: vec![NOWHERE; slots],
            behind: (0..slots).map(|_| VecDeque::new()).collect(),
            busy: Bits(vec![0; (PLACES * slots).next_power_of_two().div_ceil(64)]),
        }
    }

    /// What an idle slot does next: of the stream `next`, which gives keys and items. `None`: there is no more for it.
    #[inline]
    pub fn take(&mut self, slot: Slot, mut next: impl FnMut() -> Option<(u64, I)>) -> Option<I> {
        if self.places.len() == 1 {
            return next().map(|(_, item)| item);
        }
        if let Some(item) = self.behind[slot as usize].pop_front() {
            return Some(item);
        }
        while let Some((key, item)) = next() {
            let place = self.busy.place_of(key);
            if self.busy.set(place) {
                self.places[slot as usize] = place;
                return Some(item);
            }
            let owner = self.places.iter().position(|&other| other == place);
            self.behind[owner.unwrap_or(slot as usize)].push_back(item);
        }
        None
    }

    /// The slot's item is done, well or badly. Nothing, when it had none of here.
    #[inline]
    pub fn done(&mut self, slot: Slot) {
        let slot = slot as usize;
        if self.places[slot] != NOWHERE && self.behind[slot].is_empty() {
            self.busy.clear(self.places[slot]);
            self.places[slot] = NOWHERE;
        }
    }
}

/// Whether the key with this hash belongs to these slots of a trial: every key belongs to the slots of exactly one worker.
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
