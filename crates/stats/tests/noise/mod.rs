//! Noise as machines make it, whose truth is known.
#![allow(dead_code)] // each test file uses its part

use std::f64::consts::TAU;

/// A small generator of its own, so that simulations do not share the random source under test (SplitMix64).
pub struct Noise(u64);

impl Noise {
    pub fn new(seed: u64) -> Noise {
        Noise(seed)
    }

    /// From 0 up to and not including 1.
    pub fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// The standard normal (Box & Muller 1958).
    pub fn normal(&mut self) -> f64 {
        let (radius, angle) = ((-2.0 * (1.0 - self.uniform()).ln()).sqrt(), TAU * self.uniform());
        radius * angle.cos()
    }

    /// A makespan: a floor, an exponential tail above it, and one trial in ten disturbed badly. See [`makespan_median`].
    pub fn makespan(&mut self) -> f64 {
        let tail = if self.uniform() < 0.1 { 1.0 } else { 0.05 };
        1.0 - tail * (1.0 - self.uniform()).ln()
    }

    /// A first-order autoregression of unit variance.
    pub fn autoregression(&mut self, n: usize, coefficient: f64) -> Vec<f64> {
        let step = (1.0 - coefficient * coefficient).sqrt();
        let mut value = self.normal();
        (0..n)
            .map(|_| {
                value = coefficient * value + step * self.normal();
                value
            })
            .collect()
    }

    /// 0 to `n` - 1 in random order.
    pub fn order(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        for last in (1..n).rev() {
            order.swap(last, (self.uniform() * (last + 1) as f64) as usize);
        }
        order
    }
}

/// The median of [`Noise::makespan`]: solves 0.9 exp(−x/0.05) + 0.1 exp(−x) = 0.5, plus the floor of 1.
pub fn makespan_median() -> f64 {
    let (mut low, mut high) = (0.0f64, 1.0f64);
    for _ in 0..100 {
        let x = (low + high) / 2.0;
        if 0.9 * (-x / 0.05).exp() + 0.1 * (-x).exp() > 0.5 { low = x } else { high = x }
    }
    1.0 + low
}
