//! The seeded random source of resampling.

/// xoshiro256++ of Blackman & Vigna, *Scrambled Linear Pseudorandom Number Generators*, ACM TOMS 47 (2021), seeded by SplitMix64
/// as its authors recommend. Equal seeds give equal sequences on every machine.
pub(crate) struct Random([u64; 4]);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        let mut state = seed;
        Random(std::array::from_fn(|_| {
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut mixed = state;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            mixed ^ (mixed >> 31)
        }))
    }

    fn next(&mut self) -> u64 {
        let [a, b, c, d] = self.0;
        let mixed = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let mut state = [a, b, c ^ a, d ^ b];
        state[1] ^= state[2];
        state[0] ^= state[3];
        state[2] ^= b << 17;
        state[3] = state[3].rotate_left(45);
        self.0 = state;
        mixed
    }

    /// Returns a number from 0 up to and not including 1.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns a number in `0..bound`; `bound` is at least 1. Bias is below bound / 2^64, which no study can see.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn the_generator_gives_the_sequence_of_its_authors() {
        // First outputs of the authors' xoshiro256plusplus.c from the state {1, 2, 3, 4}.
        let mut random = Random([1, 2, 3, 4]);
        let first: Vec<u64> = (0..4).map(|_| random.next()).collect();
        assert_eq!(first, [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386]);
    }

    #[test]
    fn every_number_below_the_bound_is_drawn_about_equally_often() {
        let mut random = Random::new(1);
        let mut drawn = [0u32; 7];
        for _ in 0..70_000 {
            drawn[random.below(7)] += 1;
        }
        let chi_square: f64 = drawn.iter().map(|&n| (f64::from(n) - 10_000.0).powi(2) / 10_000.0).sum();
        assert!(chi_square < 22.46, "{drawn:?}: χ² = {chi_square}, 6 degrees of freedom, p < 0.001");
    }
}
