//! Numbers drawn by a seed.

/// SectorDraws numbers (splitmix64).
pub struct SectorDraws(u64);

impl SectorDraws {
    /// Makes the numbers of a seed.
    pub fn new(seed: u64) -> SectorDraws {
        let mut first = SectorDraws(seed ^ 0xD1B5_4A32_D192_ED03);
        SectorDraws(first.next())
    }

    /// Returns the next number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    /// Returns the next number below a bound, which is not 0.
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }
}
