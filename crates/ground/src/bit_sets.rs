//! Sets as arrays of bits.

use std::ops::Range;
use store::SetCombination;

const WORD_BITS: usize = u64::BITS as usize;

/// A number of arrays of bits, all of the same length.
pub struct BitSets {
    sets: Vec<Box<[u64]>>,
}

impl BitSets {
    /// Makes empty sets of numbers below `numbers`.
    pub fn new(sets: usize, numbers: usize) -> BitSets {
        BitSets { sets: vec![vec![0; numbers.div_ceil(WORD_BITS)].into_boxed_slice(); sets] }
    }

    /// Returns the number of bytes that the sets take.
    pub fn bytes(&self) -> u64 {
        self.sets.iter().map(|words| size_of_val::<[u64]>(words) as u64).sum()
    }

    /// Returns the bits of a set, to add to.
    #[inline]
    pub fn words_mut(&mut self, set: usize) -> &mut [u64] {
        &mut self.sets[set]
    }

    /// Returns how many numbers are in the union or intersection of these sets.
    #[inline]
    pub fn count(&self, combination: SetCombination, sets: Range<usize>) -> u64 {
        let ones = |word: u64| u64::from(word.count_ones());
        match (&self.sets[sets.clone()], combination) {
            // Two of them are the usual case, and this loop is all there is to it.
            ([a, b], SetCombination::Union) => a.iter().zip(b).map(|(a, b)| ones(a | b)).sum(),
            ([a, b], SetCombination::Intersection) => a.iter().zip(b).map(|(a, b)| ones(a & b)).sum(),
            _ => self.combined(combination, sets).map(ones).sum(),
        }
    }

    /// Returns the words of the union or intersection of these sets.
    #[inline]
    pub fn combined(&self, combination: SetCombination, sets: Range<usize>) -> impl Iterator<Item = u64> {
        let sets = &self.sets[sets];
        (0..sets.first().map_or(0, |words| words.len())).map(move |at| {
            let words = sets.iter().map(|words| words[at]);
            match combination {
                SetCombination::Union => words.fold(0, |all, word| all | word),
                SetCombination::Intersection => words.fold(u64::MAX, |all, word| all & word),
            }
        })
    }
}

/// Adds a number to the bits of a set.
#[inline]
pub fn set(words: &mut [u64], number: usize) {
    words[number / WORD_BITS] |= 1 << (number % WORD_BITS);
}

/// Returns the numbers in these words, in ascending order.
#[inline]
pub fn numbers(words: impl Iterator<Item = u64>) -> impl Iterator<Item = usize> {
    words.enumerate().flat_map(|(at, word)| {
        let mut left = word;
        std::iter::from_fn(move || {
            let bit = left.trailing_zeros() as usize;
            (left != 0).then(|| {
                left &= left - 1;
                at * WORD_BITS + bit
            })
        })
    })
}
