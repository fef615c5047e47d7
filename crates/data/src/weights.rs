//! Draws by integer weights: the building blocks of the generators. No float decides anything, so every port gives the same bytes.

use crate::splitmix::Rng;

/// Draws an index with given integer weights.
pub struct WeightTable {
    sums: Vec<u64>,
}

impl WeightTable {
    /// Makes the table of these weights.
    pub fn new(weights: impl Iterator<Item = u64>) -> WeightTable {
        let mut sum = 0;
        let mut add = |weight| {
            sum += weight;
            sum
        };
        WeightTable { sums: weights.map(&mut add).collect() }
    }

    /// Returns an index, with one random number.
    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> usize {
        let total = self.sums.last().copied().unwrap_or(0);
        let at = rng.below(total);
        self.sums.partition_point(|&sum| sum <= at)
    }
}

/// Returns the Zipf-Mandelbrot weights of the ranks 1 to `ranks`: 2^56 / (rank + shift)^(`quarters` / 4), in fixed point.
pub fn zipf(ranks: u64, shift: u64, quarters: u32) -> impl Iterator<Item = u64> {
    (1..=ranks).map(move |rank| (1 << 56) / power(rank + shift, quarters))
}

/// `x^(quarters / 4) · 2^16`, rounded down: the integer fourth root of `x^quarters · 2^64`. `x^quarters` is below 2^128, the result
/// below 2^48.
fn power(x: u64, quarters: u32) -> u64 {
    let raised = u128::from(x).pow(quarters);
    let (high, low) = (raised >> 64, raised << 64); // of raised · 2^64, in 128 bits each
    // A float only says where to begin to look.
    let mut root = ((raised as f64).powf(0.25) * 65_536.0) as u64;
    while fourth_power(root) > (high, low) {
        root -= 1;
    }
    while fourth_power(root + 1) <= (high, low) {
        root += 1;
    }
    root
}

/// `x^4` as high and low 128 bits; x below 2^48.
fn fourth_power(x: u64) -> (u128, u128) {
    let square = u128::from(x) * u128::from(x);
    let (a, b) = (square >> 64, square & u128::from(u64::MAX));
    let (low, carry) = (b * b).overflowing_add((2 * a * b) << 64);
    (a * a + ((2 * a * b) >> 64) + u128::from(carry), low)
}

/// Draws by the piecewise linear inverse of a cumulative table (share in millionths, value) that runs from 0 to 1,000,000.
pub fn quantile(table: &[(u64, u64)], rng: &mut Rng) -> u64 {
    let share = rng.below(1_000_000);
    let above = table.partition_point(|&(to, _)| to <= share);
    let ((a, x), (b, y)) = (table[above - 1], table[above]);
    x + (y - x) * (share - a) / (b - a)
}

#[cfg(test)]
mod tests {
    use super::{WeightTable, power, quantile};
    use crate::splitmix::Rng;

    #[test]
    fn powers_are_rounded_down_exactly() {
        // Python: isqrt(isqrt(x ** n << 64))
        for (x, quarters, expected) in [
            (1, 9, 65_536),
            (2, 9, 311_743),
            (7, 5, 746_195),
            (1024, 9, 388_736_063_996),
            (400_006, 5, 659_269_619_078),
            (12_345, 3, 76_753_511),
            (60_045, 4, 60_045 << 16),
        ] {
            assert_eq!(power(x, quarters), expected, "{x}^({quarters}/4)");
        }
    }

    #[test]
    fn an_index_without_weight_is_never_drawn_and_quantiles_stay_within_the_table() {
        let table = WeightTable::new([0, 3, 0, 1, 0].into_iter());
        let mut rng = Rng::new(7);
        let mut counts = [0; 5];
        (0..4000).for_each(|_| counts[table.draw(&mut rng)] += 1);
        assert_eq!(counts[1] + counts[3], 4000, "{counts:?}");
        assert!((2800..3200).contains(&counts[1]), "{counts:?}");
        assert!((0..1000).all(|_| (5..=9).contains(&quantile(&[(0, 5), (500_000, 6), (1_000_000, 9)], &mut rng))));
    }
}
