//! Where a slot that only writes looks at what it has written: at places no server can foresee.

use data::splitmix::Rng;
use std::ops::Range;
use store::Slot;

/// On average, one record in this many is looked at.
pub const ONE_IN: u32 = 1000;

/// The spots of one thread's slots.
pub struct Spots {
    rng: Rng,
    /// Records each slot writes until its next spot.
    left: Vec<u32>,
}

impl Spots {
    /// Makes the spots of these slots, by the seed of the trial.
    pub fn new(seed: u64, slots: Range<Slot>) -> Spots {
        let mut rng = Rng::new(seed ^ 0x5b07 << 48 ^ u64::from(slots.start));
        let left = slots.map(|_| next(&mut rng)).collect();
        Spots { rng, left }
    }

    /// Returns no spot, ever: nothing is to be seen.
    pub fn none(slots: Range<Slot>) -> Spots {
        Spots { rng: Rng::new(0), left: vec![u32::MAX; slots.len()] }
    }

    /// Returns whether the slot, having written this many records, is to look at one of them now.
    #[inline]
    pub fn is_due(&mut self, slot: Slot, records: u32) -> bool {
        let left = &mut self.left[slot as usize];
        if *left > records {
            *left -= u32::from(*left != u32::MAX) * records;
            return false;
        }
        *left = next(&mut self.rng);
        true
    }

    /// Returns a number below `end`, for the choice of a record.
    pub fn below(&mut self, end: usize) -> usize {
        self.rng.below(end.max(1) as u64) as usize
    }
}

fn next(rng: &mut Rng) -> u32 {
    1 + rng.below(u64::from(2 * ONE_IN)) as u32
}

#[cfg(test)]
mod tests {
    use super::{ONE_IN, Spots};

    #[test]
    fn one_record_in_a_thousand_is_looked_at_at_other_places_for_every_seed_and_slot() {
        let spots = |seed, slot| {
            let mut spots = Spots::new(seed, 0..2);
            (0..1_000_000).filter(|_| spots.is_due(slot, 1)).collect::<Vec<u32>>()
        };
        let (one, other, third) = (spots(1, 0), spots(1, 1), spots(2, 0));
        for spots in [&one, &other, &third] {
            assert!((950..1050).contains(&spots.len()), "{}", spots.len());
            assert!(spots.windows(2).any(|pair| pair[1] - pair[0] < ONE_IN / 10));
        }
        assert!(one != other && one != third);
        let mut batches = Spots::new(1, 0..1);
        let due = (0..20_000).filter(|_| batches.is_due(0, 50)).count();
        assert!((900..1100).contains(&due), "{due}");
    }

    #[test]
    fn where_nothing_is_to_be_seen_there_is_no_spot() {
        let mut none = Spots::none(0..1);
        assert!((0..100_000).all(|_| !none.is_due(0, 50)));
    }
}
