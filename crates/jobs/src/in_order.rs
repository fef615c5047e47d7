//! Shares a stream of work out over slots, so that what belongs to one key is done in the order of the stream, one after the other.
//!
//! A free slot takes the next item. When its key is in flight on another slot, that slot gets it behind what it has. So keys need no
//! owner known beforehand, no slot waits, and what is kept is as much as is in flight. Which keys are in flight is kept by places
//! that several keys share: a look and a store, where a map would hash, search and forget.

use data::splitmix::mix;
use std::collections::VecDeque;
use store::Slot;

/// Places a slot: keys that share one wait for each other without need, which one in so many does.
const PLACES: usize = 32;

/// A place nobody has.
const NOBODY: Slot = Slot::MAX;

/// The slots of one worker.
pub struct InOrder<I> {
    slots: Vec<Turn<I>>,
    /// For the keys of each place, the slot one of them is in flight on.
    owners: Vec<Slot>,
}

struct Turn<I> {
    place: usize,
    behind: VecDeque<I>,
}

impl<I> InOrder<I> {
    /// So many idle slots.
    pub fn new(slots: usize) -> InOrder<I> {
        let places = if slots > 1 { (PLACES * slots).next_power_of_two() } else { 0 };
        InOrder {
            slots: (0..slots).map(|_| Turn { place: 0, behind: VecDeque::new() }).collect(),
            owners: vec![NOBODY; places],
        }
    }

    /// What an idle slot does next: of the stream `next`, which gives keys and items. `None`: there is no more for it.
    #[inline]
    pub fn take(&mut self, slot: Slot, mut next: impl FnMut() -> Option<(u64, I)>) -> Option<I> {
        if self.slots.len() == 1 {
            return next().map(|(_, item)| item);
        }
        if let Some(item) = self.slots[slot as usize].behind.pop_front() {
            return Some(item);
        }
        while let Some((key, item)) = next() {
            let place = mix(key) as usize & (self.owners.len() - 1);
            match self.owners[place] {
                NOBODY => {
                    self.owners[place] = slot;
                    self.slots[slot as usize].place = place;
                    return Some(item);
                }
                owner => self.slots[owner as usize].behind.push_back(item),
            }
        }
        None
    }

    /// The slot's item is done, well or badly.
    #[inline]
    pub fn done(&mut self, slot: Slot) {
        let turn = &self.slots[slot as usize];
        if self.slots.len() > 1 && turn.behind.is_empty() {
            self.owners[turn.place] = NOBODY;
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
