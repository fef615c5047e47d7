//! Zipf's law over n ranks that exist: the probability of rank r (from 0) is proportional to 1 / (r + 1)^theta.
//!
//! A bucketed alias table (Walker 1977, Vose 1991): one cell for each of the 1,024 hottest ranks, and 128 equal
//! buckets an octave beyond them, so a hundred million ranks need 3,135 cells, 50 KB. The mass of a cell is exact (of
//! a bucket: the integral of the law, off by less than 10^-7 of itself); within a bucket ranks are drawn alike, which
//! is off by at most theta / 256 of a rank's own probability. Drawing costs two random numbers, no division and no
//! branch.

use crate::wyrand::WyRand;

/// Ranks with a cell of their own.
const EXACT: u64 = 1024;
const BUCKETS_LOG2: u32 = 7;
const BUCKETS: u64 = 1 << BUCKETS_LOG2;

/// The law over a number of ranks that may grow.
#[derive(Clone, Debug)]
pub struct Zipf {
    n: u64,
    theta: f64,
    cells: Vec<AliasCell>,
    ranks: Vec<Ranks>,
    /// Ranks of the last cell.
    last_width: u64,
    /// Work space of the construction, kept so that growing allocates seldom.
    masses: Vec<f64>,
    poor: Vec<u32>,
    rich: Vec<u32>,
}

#[derive(Clone, Copy, Debug, Default)]
struct AliasCell {
    /// A fraction (of 2^32) up to this stays in the cell, others go to `alias`.
    threshold: u32,
    alias: u32,
}

/// The ranks of a cell: as many as a power of two, but for the last cell, which ends where the ranks end.
#[derive(Clone, Copy, Debug, Default)]
struct Ranks {
    /// The first rank, in units of the width.
    units: u32,
    width_log2: u32,
}

/// Most ranks: sums of their masses are exact enough below.
pub const MAX_RANKS: u64 = 1 << 52;

impl Zipf {
    /// Makes the law over ranks 0..n (1 to 2^52) with this exponent, 0 (uniform) or more.
    pub fn new(n: u64, theta: f64) -> Zipf {
        let mut zipf = Zipf {
            n: 0,
            theta,
            cells: Vec::new(),
            ranks: Vec::new(),
            last_width: 1,
            masses: Vec::new(),
            poor: Vec::new(),
            rich: Vec::new(),
        };
        zipf.resize(n);
        zipf
    }

    /// Returns how many ranks there are.
    pub fn n(&self) -> u64 {
        self.n
    }

    /// Changes the law to another number of ranks. Costs about 100 µs.
    pub fn resize(&mut self, n: u64) {
        self.n = n.clamp(1, MAX_RANKS);
        self.masses.clear();
        let (n, theta) = (self.n, self.theta);
        self.masses.extend((0..cell_count(n)).map(|cell| mass(cell, n, theta)));
        self.ranks.clear();
        self.ranks.extend((0..cell_count(n)).map(|cell| {
            let width_log2 = width_log2(cell);
            Ranks { units: (bucket(cell, n).0 >> width_log2) as u32, width_log2 }
        }));
        self.last_width = bucket(cell_count(n) - 1, n).1;
        self.build();
    }

    /// Vose's construction: every cell keeps a share of its own mass and gives the rest of its room to one other.
    fn build(&mut self) {
        let Zipf { cells, masses, poor, rich, .. } = self;
        let scale = masses.len() as f64 / masses.iter().sum::<f64>();
        cells.clear();
        cells.resize(masses.len(), AliasCell { threshold: u32::MAX, alias: 0 });
        poor.clear();
        rich.clear();
        for (at, mass) in masses.iter_mut().enumerate() {
            *mass *= scale;
            cells[at].alias = at as u32;
            if *mass < 1.0 { poor.push(at as u32) } else { rich.push(at as u32) }
        }
        while let (Some(&little), Some(&much)) = (poor.last(), rich.last()) {
            poor.pop();
            let share = masses[little as usize];
            cells[little as usize] = AliasCell { threshold: (share * 4_294_967_296.0) as u32, alias: much };
            masses[much as usize] -= 1.0 - share;
            if masses[much as usize] < 1.0 {
                rich.pop();
                poor.push(much);
            }
        }
    }

    /// Draws a rank.
    #[inline]
    pub fn draw(&self, rng: &mut WyRand) -> u64 {
        let product = u128::from(rng.u64()) * self.cells.len() as u128;
        let at = (product >> 64) as usize;
        let AliasCell { threshold, alias } = self.cells[at];
        let own = ((product as u64) >> 32) as u32 <= threshold;
        let cell = std::hint::select_unpredictable(own, at, alias as usize);
        let Ranks { units, width_log2 } = self.ranks[cell];
        let width = std::hint::select_unpredictable(cell + 1 == self.ranks.len(), self.last_width, 1 << width_log2);
        (u64::from(units) << width_log2) + rng.below(width)
    }
}

/// The logarithm of how many ranks a cell has; the last may have fewer.
fn width_log2(cell: u64) -> u32 {
    let Some(index) = cell.checked_sub(EXACT) else { return 0 };
    (EXACT / BUCKETS).ilog2() + (index >> BUCKETS_LOG2) as u32
}

/// First rank and number of ranks of a cell.
#[inline]
fn bucket(cell: u64, n: u64) -> (u64, u64) {
    let Some(index) = cell.checked_sub(EXACT) else { return (cell, 1) };
    let octave = index >> BUCKETS_LOG2;
    let width = (EXACT / BUCKETS) << octave;
    let start = (BUCKETS + (index & (BUCKETS - 1))) * width;
    (start, width.min(n - start))
}

fn cell_count(n: u64) -> u64 {
    if n <= EXACT {
        return n;
    }
    let last = n - 1;
    let octave = u64::from(last.ilog2() - EXACT.ilog2());
    let width = (EXACT / BUCKETS) << octave;
    EXACT + octave * BUCKETS + (last / width - BUCKETS) + 1
}

fn mass(cell: u64, n: u64, theta: f64) -> f64 {
    if cell < EXACT {
        return ((cell + 1) as f64).powf(-theta);
    }
    let (start, width) = bucket(cell, n);
    // Ranks count from 0, the law from 1; the midpoint rule puts the ends half a rank out.
    let (low, high) = (start as f64 + 0.5, (start + width) as f64 + 0.5);
    let power = 1.0 - theta;
    if power.abs() < 1e-9 { (high / low).ln() } else { (high.powf(power) - low.powf(power)) / power }
}

#[cfg(test)]
mod tests {
    use super::{BUCKETS, EXACT, MAX_RANKS, Zipf, bucket, cell_count, mass};
    use crate::wyrand::WyRand;

    #[test]
    fn cells_cover_all_ranks_without_gap_or_overlap() {
        for n in [
            1,
            2,
            1023,
            1024,
            1025,
            1031,
            1032,
            2047,
            2048,
            2049,
            10_000,
            123_457,
            1 << 20,
            (1 << 31) - 1,
            1 << 31,
            3_000_000_000,
            1_000_000_000_000_007,
            MAX_RANKS,
        ] {
            let mut next = n.min(EXACT);
            for cell in EXACT..cell_count(n) {
                let (start, width) = bucket(cell, n);
                assert_eq!(start, next, "n {n}, cell {cell}");
                assert!(width > 0 && width <= start / BUCKETS + 1);
                next = start + width;
            }
            assert_eq!(next, n);
        }
        assert_eq!(cell_count(100_000_000), 3135);
    }

    #[test]
    fn the_masses_of_buckets_are_the_sums_of_their_ranks() {
        for theta in [0.0, 0.5, 0.99, 1.0, 1.3] {
            let n = 50_001;
            for cell in EXACT..cell_count(n) {
                let (start, width) = bucket(cell, n);
                let sum: f64 = (start..start + width).map(|rank| ((rank + 1) as f64).powf(-theta)).sum();
                let error = mass(cell, n, theta) / sum - 1.0;
                assert!(error.abs() < 2e-7, "theta {theta}, cell {cell}: {error}");
            }
        }
    }

    /// Pearson's statistic over ranks (merged until 20 are expected), standardised to a normal by Wilson and Hilferty
    /// 1931.
    fn chi_square_z(n: u64, theta: f64, draws: u64, seed: u64) -> f64 {
        let zipf = Zipf::new(n, theta);
        let mut rng = WyRand::new(seed, 0);
        let mut counts = vec![0u64; n as usize];
        for _ in 0..draws {
            counts[zipf.draw(&mut rng) as usize] += 1;
        }
        let total: f64 = (1..=n).map(|rank| (rank as f64).powf(-theta)).sum();
        let (mut statistic, mut freedom, mut expected, mut seen) = (0.0, -1.0, 0.0, 0.0);
        for rank in 0..n {
            expected += draws as f64 * ((rank + 1) as f64).powf(-theta) / total;
            seen += counts[rank as usize] as f64;
            if expected >= 20.0 || rank == n - 1 {
                statistic += (seen - expected) * (seen - expected) / expected;
                freedom += 1.0;
                (expected, seen) = (0.0, 0.0);
            }
        }
        let spread = 2.0 / (9.0 * freedom);
        ((statistic / freedom).cbrt() - (1.0 - spread)) / f64::sqrt(spread)
    }

    #[test]
    fn draws_follow_the_law_by_chi_square_at_every_size_and_exponent() {
        for (n, theta) in [
            (10, 0.99),
            (1000, 0.99),
            (1024, 1.0),
            (5000, 0.5),
            (10_000, 0.99),
            (100_000, 0.99),
            (30_000, 1.3),
            (2000, 0.0),
        ] {
            let z = chi_square_z(n, theta, 2_000_000, 42);
            assert!(z.abs() < 4.0, "n {n}, theta {theta}: z = {z}");
        }
    }

    #[test]
    fn the_chi_square_test_notices_a_slightly_wrong_exponent() {
        let zipf_draws_at_099_against_100 = {
            let (n, draws) = (1000u64, 2_000_000u64);
            let zipf = Zipf::new(n, 0.98);
            let mut rng = WyRand::new(1, 0);
            let mut counts = vec![0u64; n as usize];
            (0..draws).for_each(|_| counts[zipf.draw(&mut rng) as usize] += 1);
            let total: f64 = (1..=n).map(|rank| (rank as f64).powf(-0.99)).sum();
            let cell = |rank: u64| draws as f64 * ((rank + 1) as f64).powf(-0.99) / total;
            (0..n).map(|rank| (counts[rank as usize] as f64 - cell(rank)).powi(2) / cell(rank)).sum::<f64>()
        };
        assert!(zipf_draws_at_099_against_100 > 1200.0, "{zipf_draws_at_099_against_100}");
    }

    #[test]
    fn beyond_two_to_the_32_every_rank_drawn_exists_and_each_half_gets_its_share() {
        let n = 1_000_000_000_000_007;
        let uniform = Zipf::new(n, 0.0);
        let mut rng = WyRand::new(7, 7);
        let draws = 100_000;
        let drawn: Vec<u64> = (0..draws).map(|_| uniform.draw(&mut rng)).collect();
        assert!(drawn.iter().all(|&rank| rank < n));
        let upper = drawn.iter().filter(|&&rank| rank >= n / 2).count() as f64;
        // Five standard deviations of a fair coin.
        assert!((upper - draws as f64 / 2.0).abs() < 5.0 * (draws as f64 / 4.0).sqrt(), "{upper}");
        assert!(drawn.iter().any(|&rank| rank > u64::from(u32::MAX) && rank % 1024 != 0));
    }

    #[test]
    fn a_resized_law_is_the_law_of_the_new_size() {
        let mut grown = Zipf::new(1000, 0.99);
        grown.resize(4000);
        let fresh = Zipf::new(4000, 0.99);
        let (mut a, mut b) = (WyRand::new(3, 3), WyRand::new(3, 3));
        assert!((0..10_000).all(|_| grown.draw(&mut a) == fresh.draw(&mut b)));
        assert_eq!(grown.n(), 4000);
    }
}
