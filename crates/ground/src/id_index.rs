//! Numbers for 64-bit ids, so that a set of them can be an array of bits (the index map of 2011).
//!
//! One open-addressing table of ids with linear probing, made at once for as many as there will be; the number of an id is its place.
//! So the map holds no numbers, and an id costs 8 bytes / 0.75 at most. Places are fetched into the cache a batch ahead: building it
//! runs at the speed of memory, not at its latency.

use store::StoreError;

/// The number of ids whose places are fetched before the first of them is looked at.
const AHEAD: usize = 32;

/// The content of an empty place; the id 0 has a place of its own behind all others.
const EMPTY: u64 = 0;

/// A table of ids.
pub struct IdIndex {
    places: Box<[u64]>,
    /// The number of places that may still be filled.
    left: usize,
}

/// Spreads the bits of an id (the finaliser of MurmurHash3, Appleby 2011): ids of a user's may be consecutive.
#[inline]
fn spread(id: u64) -> u64 {
    let mut hash = id;
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    hash ^ (hash >> 33)
}

impl IdIndex {
    /// Makes room for this many different ids.
    pub fn new(ids: usize) -> IdIndex {
        let places = ids + ids / 3 + 2;
        IdIndex { places: vec![EMPTY; places].into_boxed_slice(), left: ids }
    }

    /// Returns the number below which all numbers of ids are.
    pub fn numbers(&self) -> usize {
        self.places.len() + 1
    }

    /// Returns the number of bytes that the table takes.
    pub fn bytes(&self) -> u64 {
        size_of_val::<[u64]>(&self.places) as u64
    }

    /// Returns the id of a number.
    #[inline]
    pub fn id(&self, number: usize) -> u64 {
        self.places.get(number).copied().unwrap_or(0)
    }

    /// Returns the place where an id is looked for first.
    #[inline]
    fn home(&self, id: u64) -> usize {
        ((u128::from(spread(id)) * self.places.len() as u128) >> 64) as usize
    }

    #[inline]
    fn fetch(&self, place: usize) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a prefetch reads nothing, and `place` is within the table.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(self.places.as_ptr().add(place).cast());
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = place;
    }

    /// Returns the number of an id, which gets one if it has none. `None`: there are more ids than the table has room for.
    #[inline]
    fn number_from(&mut self, home: usize, id: u64) -> Option<usize> {
        if id == EMPTY {
            return Some(self.places.len());
        }
        let mut place = home;
        loop {
            match self.places[place] {
                found if found == id => return Some(place),
                EMPTY => {
                    self.left = self.left.checked_sub(1)?;
                    self.places[place] = id;
                    return Some(place);
                }
                _ => {
                    place += 1;
                    if place == self.places.len() {
                        place = 0;
                    }
                }
            }
        }
    }

    /// Hands over the number of each id, in their order.
    ///
    /// # Errors
    /// More different ids than it was made for.
    #[inline]
    pub fn each_number(
        &mut self,
        ids: &[u64],
        mut visit: impl FnMut(usize) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut homes = [0; AHEAD];
        for batch in ids.chunks(AHEAD) {
            for (home, &id) in homes.iter_mut().zip(batch) {
                *home = self.home(id);
                self.fetch(*home);
            }
            for (&home, &id) in homes.iter().zip(batch) {
                let Some(number) = self.number_from(home, id) else {
                    return Err(StoreError::Session("the index was made for fewer ids".into()));
                };
                visit(number)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::IdIndex;
    use std::collections::HashMap;

    #[test]
    fn every_id_has_one_number_of_its_own_and_keeps_it() {
        for count in [1usize, 2, 3, 100, 10_000] {
            let mut index = IdIndex::new(count);
            let ids: Vec<u64> =
                (0..count as u64).map(|at| if at % 3 == 0 { at } else { u64::MAX / (at + 1) }).collect();
            let mut numbers = HashMap::new();
            for _ in 0..2 {
                let mut given = Vec::new();
                let mut give = |number| {
                    given.push(number);
                    Ok(())
                };
                index.each_number(&ids, &mut give).unwrap();
                for (&id, number) in ids.iter().zip(given) {
                    assert!(number < index.numbers() && index.id(number) == id);
                    assert_eq!(*numbers.entry(number).or_insert(id), id);
                }
            }
            assert_eq!(numbers.len(), ids.iter().collect::<std::collections::HashSet<_>>().len());
        }
    }

    #[test]
    fn more_ids_than_it_was_made_for_are_refused() {
        let mut index = IdIndex::new(3);
        index.each_number(&[1, 2, 3, 0, 2], |_| Ok(())).unwrap();
        assert!(index.each_number(&[4], |_| Ok(())).is_err());
    }
}
