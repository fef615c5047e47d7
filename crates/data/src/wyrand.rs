//! wyrand (Wang Yi, wyhash final version 4): 64 random bits in one multiplication. For drawing keys inside the clock.

use crate::splitmix::mix;

/// The generator, seeded by the study's seed and the worker or slot it serves.
#[derive(Clone, Debug)]
pub struct WyRand(u64);

impl WyRand {
    /// Makes the stream of this seed for that worker (or slot). Streams of different workers share nothing a test can see.
    pub fn new(seed: u64, worker: u64) -> WyRand {
        WyRand(mix(mix(seed) ^ worker.wrapping_mul(0xD6E8_FEB8_6659_FD93)))
    }

    /// Returns the next 64 bits.
    #[inline]
    pub fn u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x2D35_8DCC_AA6C_78A5);
        let product = u128::from(self.0) * u128::from(self.0 ^ 0x8BB8_4B93_962E_ACC9);
        (product >> 64) as u64 ^ product as u64
    }

    /// Returns a number below `n`: the upper half of the 128-bit product (bias below `n` / 2^64).
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.u64()) * u128::from(n)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::WyRand;

    #[test]
    fn every_bit_is_set_half_the_time_and_streams_differ() {
        let mut one = WyRand::new(42, 0);
        let mut two = WyRand::new(42, 1);
        let mut counts = [0u32; 64];
        let (draws, mut equal_bits) = (100_000u32, 0u32);
        for _ in 0..draws {
            let (a, b) = (one.u64(), two.u64());
            equal_bits += (!(a ^ b)).count_ones();
            for (bit, count) in counts.iter_mut().enumerate() {
                *count += (a >> bit & 1) as u32;
            }
        }
        // Five standard deviations of a fair coin.
        let slack = 5.0 * (f64::from(draws) * 0.25).sqrt();
        assert!(counts.iter().all(|&count| (f64::from(count) - f64::from(draws) / 2.0).abs() < slack), "{counts:?}");
        let slack = 5.0 * (f64::from(draws) * 64.0 * 0.25).sqrt();
        assert!((f64::from(equal_bits) - f64::from(draws) * 32.0).abs() < slack, "{equal_bits}");
    }
}
