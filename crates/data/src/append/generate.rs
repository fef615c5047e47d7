//! The stream of appends: any event by its index, and any key's events, without holding either in memory.
//!
//! A key has 1 to 1,024 events, truncated zeta distributed with exponent 9/4 (mean 2.66; the original of 2011 had 212 million
//! events on 78 million keys). Events stand in order of their keys at positions 0 to E - 1; the event of index i is the one at
//! position P(i), where P is a Feistel permutation of six rounds over the next power of four, walked until it lands below E.

use super::Event;
use crate::splitmix::{mix, unmix};
use crate::weights::zipf;

/// Most events a key has.
const MOST: u64 = 1024;
const ROUNDS: usize = 6;
/// Events made at once.
const BLOCK: usize = 1024;
/// Halves of up to this many bits have their round functions in tables (192 KiB): enough for 268 million events.
const TABLE_BITS: u32 = 14;
/// Entries of the table in which positions are looked up first.
const GUIDE: usize = 4096;

/// All keys with the same number of events.
#[derive(Clone, Copy, Debug)]
struct Class {
    /// Position of its first event.
    first_position: u64,
    /// Number of its first key.
    first_key: u64,
    /// Events a key.
    events: u64,
    /// 2^63 / `events`, rounded up: multiplying by it divides, exactly for anything below 2^53.
    reciprocal: u64,
}

/// The generator for a number of keys and a seed.
#[derive(Clone, Debug)]
pub struct Generator {
    seed: u64,
    keys: u64,
    events: u64,
    classes: Vec<Class>,
    /// For each stretch of `1 << guide_shift` positions, the class its first position is in.
    guide: Vec<u16>,
    guide_shift: u32,
    half_bits: u32,
    mask: u64,
    round_keys: [u64; ROUNDS],
    /// What a round mixes into the other half for every half, one table per round; none where halves have more than [`TABLE_BITS`].
    tables: Vec<Table>,
}

/// What one round makes of every half.
type Table = [u16; 1 << TABLE_BITS];

/// One round: what it makes of the halves on one side goes into those on the other.
#[inline]
fn mix_in(into: &mut [u16], of: &[u16], table: &Table) {
    for (into, &of) in into.iter_mut().zip(of) {
        *into ^= table[usize::from(of) % table.len()];
    }
}

impl Generator {
    /// Makes the stream of `keys` keys (1 to 2^40).
    pub fn new(keys: u64, seed: u64) -> Generator {
        let keys = keys.clamp(1, 1 << 40);
        let weights: Vec<u64> = zipf(MOST, 0, 9).collect();
        let total: u64 = weights.iter().sum();
        let (mut sum, mut first_key, mut first_position) = (0, 0, 0);
        let mut classes = Vec::new();
        let cumulative = |sum: u64| (u128::from(keys) * u128::from(sum) / u128::from(total)) as u64;
        for (events, weight) in (1..).zip(weights) {
            let size = cumulative(sum + weight) - cumulative(sum); // rounded so that the tail is kept
            sum += weight;
            if size > 0 {
                let reciprocal = (1u64 << 63).div_ceil(events);
                classes.push(Class { first_position, first_key, events, reciprocal });
            }
            first_key += size;
            first_position += size * events;
        }
        let events = first_position;
        let bits = (64 - (events - 1).leading_zeros()).max(2);
        let half_bits = bits.div_ceil(2);
        let guide_shift = bits.saturating_sub(GUIDE.trailing_zeros());
        let class_at = |position: u64| classes.partition_point(|class| class.first_position <= position) - 1;
        let guide = (0..=events >> guide_shift).map(|stretch| class_at(stretch << guide_shift) as u16).collect();
        let mut generator = Generator {
            seed,
            keys,
            events,
            guide,
            guide_shift,
            half_bits,
            mask: (1 << half_bits) - 1,
            round_keys: std::array::from_fn(|round| mix(seed.wrapping_mul(16).wrapping_add(round as u64))),
            classes,
            tables: Vec::new(),
        };
        if half_bits <= TABLE_BITS {
            let mask = generator.mask;
            let entry = |half: usize, key: u64| (mix(half as u64 ^ key) & mask) as u16;
            let table = |key: u64| std::array::from_fn(|half| entry(half, key));
            generator.tables = generator.round_keys.into_iter().map(table).collect();
        }
        generator
    }

    /// Returns the number of events.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Returns the number of keys.
    pub fn keys(&self) -> u64 {
        self.keys
    }

    /// Events of the key that has most.
    pub fn most_events(&self) -> u64 {
        self.classes.last().map_or(0, |class| class.events)
    }

    /// Returns the event of this index, below [`events`](Generator::events).
    #[inline]
    pub fn event(&self, index: u64) -> Event {
        let mut position = index;
        loop {
            position = self.forth(position);
            if position < self.events {
                return self.at(position);
            }
        }
    }

    /// Fills `out` with the events from index `first` on: many times faster than one by one, because a round is done for many events
    /// before the next, and its table stays in the nearest cache.
    pub fn fill(&self, first: u64, out: &mut [Event]) {
        let mut positions = [0; BLOCK];
        let mut beyond = [0; BLOCK];
        for (part, first) in out.chunks_mut(BLOCK).zip((first..).step_by(BLOCK)) {
            let positions = &mut positions[..part.len()];
            for (index, position) in (first..).zip(positions.iter_mut()) {
                *position = index;
            }
            self.all_forth(positions);
            // Those beyond the end walk on; they are listed without a branch, which would be mispredicted.
            let mut left = 0;
            for (at, &position) in positions.iter().enumerate() {
                beyond[left] = at;
                left += usize::from(position >= self.events);
            }
            let mut walking = [0; BLOCK];
            while left > 0 {
                let walking = &mut walking[..left];
                for (walker, &place) in walking.iter_mut().zip(&beyond) {
                    *walker = positions[place];
                }
                self.all_forth(walking);
                let mut still = 0;
                for (at, &position) in walking.iter().enumerate() {
                    let place = beyond[at];
                    positions[place] = position;
                    beyond[still] = place;
                    still += usize::from(position >= self.events);
                }
                left = still;
            }
            for (event, &position) in part.iter_mut().zip(positions.iter()) {
                *event = self.at(position);
            }
        }
    }

    /// Permutes all of these, at most [`BLOCK`].
    #[inline]
    fn all_forth(&self, all: &mut [u64]) {
        if self.tables.is_empty() {
            all.iter_mut().for_each(|x| *x = self.forth(*x));
            return;
        }
        let (mut lefts, mut rights) = ([0u16; BLOCK], [0u16; BLOCK]);
        let (lefts, rights) = (&mut lefts[..all.len()], &mut rights[..all.len()]);
        for ((x, left), right) in all.iter().zip(lefts.iter_mut()).zip(rights.iter_mut()) {
            (*left, *right) = ((x >> self.half_bits) as u16, (x & self.mask) as u16);
        }
        // After two rounds the halves are in their places again.
        let (rounds, _) = self.tables.as_chunks::<2>();
        for [odd, even] in rounds {
            mix_in(lefts, rights, odd);
            mix_in(rights, lefts, even);
        }
        for ((x, &left), &right) in all.iter_mut().zip(lefts.iter()).zip(rights.iter()) {
            *x = u64::from(left) << self.half_bits | u64::from(right);
        }
    }

    #[inline]
    fn forth(&self, x: u64) -> u64 {
        let (mut left, mut right) = (x >> self.half_bits, x & self.mask);
        for key in self.round_keys {
            (left, right) = (right, left ^ (mix(right ^ key) & self.mask));
        }
        left << self.half_bits | right
    }

    #[inline]
    fn back(&self, x: u64) -> u64 {
        let (mut left, mut right) = (x >> self.half_bits, x & self.mask);
        for key in self.round_keys.iter().rev() {
            (left, right) = (right ^ (mix(left ^ key) & self.mask), left);
        }
        left << self.half_bits | right
    }

    #[inline]
    fn at(&self, position: u64) -> Event {
        let mut class = usize::from(self.guide[(position >> self.guide_shift) as usize]);
        while self.classes.get(class + 1).is_some_and(|next| next.first_position <= position) {
            class += 1;
        }
        let Class { first_position, first_key, reciprocal, .. } = self.classes[class];
        let within = u128::from(position - first_position);
        let key = first_key + ((within * u128::from(reciprocal)) >> 63) as u64;
        Event { id: self.id(key), fields: mix(position ^ !self.seed) }
    }

    /// Returns the id of key number `key`.
    #[inline]
    pub fn id(&self, key: u64) -> u64 {
        mix(key ^ self.seed)
    }

    /// Returns the number of the key with this id; `None`: there is no such key.
    pub fn key_of(&self, id: u64) -> Option<u64> {
        Some(unmix(id) ^ self.seed).filter(|&key| key < self.keys)
    }

    /// Events of a key, as their indices and fields in the order of the stream. `out` is cleared first.
    pub fn events_of(&self, key: u64, out: &mut Vec<(u64, u64)>) {
        out.clear();
        let class = self.classes[self.classes.partition_point(|class| class.first_key <= key) - 1];
        let first = class.first_position + (key - class.first_key) * class.events;
        for position in first..first + class.events {
            out.push((self.index_of(position), mix(position ^ !self.seed)));
        }
        out.sort_unstable();
    }

    /// Returns how many events a key has.
    pub fn count_of(&self, key: u64) -> u64 {
        self.classes[self.classes.partition_point(|class| class.first_key <= key) - 1].events
    }

    fn index_of(&self, position: u64) -> u64 {
        let mut index = position;
        loop {
            index = self.back(index);
            if index < self.events {
                return index;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Event, Generator};
    use crate::digest;
    use std::collections::BTreeMap;

    #[test]
    fn the_events_are_byte_for_byte_those_of_the_reference() {
        // Known from an independent implementation in Python: 20,000 keys, seed 42.
        let generator = Generator::new(20_000, 42);
        assert_eq!(generator.events(), 53_808);
        let mut text = String::new();
        let mut filled = vec![Event::default(); 53_808];
        generator.fill(0, &mut filled[..1000]);
        generator.fill(1000, &mut filled[1000..]);
        for index in 0..generator.events() {
            let event = generator.event(index);
            assert_eq!(event, filled[index as usize]);
            text += &format!("{0:016x}\t{0:016x}{1:016x}\n", event.id, event.fields);
        }
        assert_eq!(text.len(), 2_690_400);
        let expected = "sha256:828c0f0ec7d3db64e6c3ad67f986b6071afcabcc6accab1d75f44462b69b0548";
        assert_eq!(digest::of_bytes(text.as_bytes()), expected);
    }

    #[test]
    fn the_original_scale_has_its_events_and_its_keys_with_one() {
        for (keys, events, with_one) in
            [(20_000, 53_808, 13_697), (1_000_000, 2_663_451, 684_896), (78_000_000, 207_709_935, 53_421_941)]
        {
            let generator = Generator::new(keys, 42);
            assert_eq!((generator.events(), generator.classes[1].first_key), (events, with_one));
            assert!(generator.most_events() <= 1024);
        }
    }

    #[test]
    fn the_events_of_a_key_are_those_the_stream_has_for_it_in_its_order() {
        for (keys, seed) in [(1, 0), (2, 1), (3, 7), (777, 42), (5000, u64::MAX)] {
            let generator = Generator::new(keys, seed);
            let mut by_id: BTreeMap<u64, Vec<(u64, u64)>> = BTreeMap::new();
            for index in 0..generator.events() {
                let event = generator.event(index);
                by_id.entry(event.id).or_default().push((index, event.fields));
            }
            assert_eq!(by_id.len() as u64, keys);
            let mut events = Vec::new();
            for key in 0..keys {
                generator.events_of(key, &mut events);
                assert_eq!(by_id[&generator.id(key)], events, "{keys} keys, key {key}");
                assert_eq!(generator.key_of(generator.id(key)), Some(key));
                assert_eq!(generator.count_of(key), events.len() as u64);
            }
            assert_eq!(generator.key_of(generator.id(keys)), None);
        }
    }
}
