//! Spreads popularity ranks over the key space: a bijection of 0..n, so that hot keys are not neighbours and every
//! key drawn exists.

use crate::splitmix::mix;

/// Largest key space in which the fixed-point arithmetic is exact; beyond it the remainder is taken by a division.
const FIXED_POINT: u64 = 1 << 31;

/// The bijection `rank → a · (rank + b) mod n`, with `a` near n / golden ratio and prime to n: neighbouring ranks
/// land far apart. The remainder is taken by two multiplications (Lemire, Kaser, Kurz 2019: `fraction(k / n) · n`),
/// exact up to 2^31, beyond by a division.
#[derive(Clone, Copy, Debug)]
pub struct Scramble {
    n: u64,
    /// Up to [`FIXED_POINT`] keys `a / n` in fixed point, beyond `a`.
    step: u64,
    offset: u64,
}

impl Scramble {
    /// Makes the bijection of 0..n that belongs to this seed; n from 1 on.
    pub fn new(n: u64, seed: u64) -> Scramble {
        let n = n.max(1);
        let golden = ((u128::from(n) * 0x9E37_79B9_7F4A_7C15) >> 64) as u64;
        // A little off the golden ratio, by the seed; then on to the next number prime to n.
        let shift = mix(seed) % (n / 64 + 1);
        let factor = (golden + shift..).find(|&a| gcd(a % n, n) == 1).unwrap_or(1) % n;
        let step = match n {
            1 => 0,
            _ if n > FIXED_POINT => factor,
            _ => (u128::from(factor) << 64).div_ceil(u128::from(n)) as u64,
        };
        Scramble { n, step, offset: mix(seed ^ 0x5CA7) % n }
    }

    /// Returns the key of this rank, both below n.
    #[inline]
    pub fn key(&self, rank: u64) -> u64 {
        if self.n > FIXED_POINT {
            return (u128::from(rank + self.offset) * u128::from(self.step) % u128::from(self.n)) as u64;
        }
        let fraction = (rank + self.offset).wrapping_mul(self.step);
        ((u128::from(fraction) * u128::from(self.n)) >> 64) as u64
    }
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::{FIXED_POINT, Scramble};

    #[test]
    fn every_key_is_the_key_of_exactly_one_rank() {
        for n in (1..300).chain([1000, 4096, 10_000, 65_537, 1_000_000]) {
            for seed in [0, 42] {
                let scramble = Scramble::new(n, seed);
                let mut seen = vec![false; n as usize];
                for rank in 0..n {
                    let key = scramble.key(rank) as usize;
                    assert!(!std::mem::replace(&mut seen[key], true), "n {n}, seed {seed}, rank {rank}");
                }
            }
        }
    }

    #[test]
    fn the_fixed_point_remainder_is_exact_up_to_the_largest_key_space() {
        for n in [FIXED_POINT, FIXED_POINT - 1, 2_147_483_629, 1_500_000_001] {
            let scramble = Scramble::new(n, 7);
            let factor = ((u128::from(scramble.step) * u128::from(n)) >> 64) as u64;
            for rank in (0..n).step_by(9_999_991).chain([n - 1, n - 2]) {
                let expected = (u128::from(rank + scramble.offset) * u128::from(factor) % u128::from(n)) as u64;
                assert_eq!(scramble.key(rank), expected, "n {n}, rank {rank}");
            }
        }
    }

    #[test]
    fn beyond_it_keys_are_below_n_and_neighbouring_ranks_far_apart() {
        for n in [FIXED_POINT + 1, 3_000_000_000, 1_000_000_000_000_000] {
            let scramble = Scramble::new(n, 42);
            let keys: Vec<u64> = (0..10_000).chain(n - 10_000..n).map(|rank| scramble.key(rank)).collect();
            let mut sorted = keys.clone();
            sorted.sort_unstable();
            sorted.dedup();
            assert!(sorted.len() == keys.len() && sorted.iter().all(|&key| key < n), "{n}");
            assert!(keys[..10_000].windows(2).all(|pair| pair[0].abs_diff(pair[1]) > n / 10), "{n}");
        }
    }

    #[test]
    fn the_hottest_ranks_are_far_apart_in_the_key_space() {
        let scramble = Scramble::new(10_000, 42);
        let mut hot: Vec<u64> = (0..50).map(|rank| scramble.key(rank)).collect();
        hot.sort_unstable();
        assert!(hot.windows(2).all(|pair| pair[1] - pair[0] > 20), "{hot:?}");
    }
}
