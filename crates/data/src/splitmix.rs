//! splitmix64 (Steele, Lea, Flood 2014): random numbers whose bytes are fixed for ever, for generated data sets.

const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

#[inline]
fn finalise(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Makes one round of splitmix64 on `x`: a bijection with good diffusion.
#[inline]
pub fn mix(x: u64) -> u64 {
    finalise(x.wrapping_add(GAMMA))
}

/// Returns the inverse of [`mix`].
#[inline]
pub fn unmix(mut z: u64) -> u64 {
    z = (z ^ (z >> 31) ^ (z >> 62)).wrapping_mul(0x3196_42B2_D24D_8EC3);
    z = (z ^ (z >> 27) ^ (z >> 54)).wrapping_mul(0x96DE_1B17_3F11_9089);
    (z ^ (z >> 30) ^ (z >> 60)).wrapping_sub(GAMMA)
}

/// The generator.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// Makes a generator of this seed.
    pub fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    /// Returns the generator of this seed after `draws` numbers were drawn from it.
    #[inline]
    pub fn after(seed: u64, draws: u64) -> Rng {
        Rng(seed.wrapping_add(draws.wrapping_mul(GAMMA)))
    }

    /// Returns the next 64 bits.
    #[inline]
    pub fn u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GAMMA);
        finalise(self.0)
    }

    /// Returns a number below `n`: the upper half of the 128-bit product, without rejection.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.u64()) * u128::from(n)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::{Rng, mix, unmix};

    #[test]
    fn what_was_mixed_can_be_unmixed() {
        let mut rng = Rng::new(1);
        assert!((0..10_000).map(|_| rng.u64()).chain([0, 1, u64::MAX]).all(|x| unmix(mix(x)) == x));
    }

    #[test]
    fn the_numbers_are_those_of_the_published_algorithm() {
        assert_eq!((mix(0), mix(1)), (0xe220a8397b1dcdaf, 0x910a2dec89025cc1));
        let mut rng = Rng::new(42);
        assert_eq!([rng.u64(), rng.u64(), rng.u64()], [0xbdd732262feb6e95, 0x28efe333b266f103, 0x47526757130f9f52]);
        assert_eq!(Rng::after(42, 2).u64(), 0x47526757130f9f52);
    }
}
