//! Items that are made from their numbers.
//!
//! The key of item `i` is `item:%016x:%d`: `mix(i ^ seed)`, and a number below 1,000. Its value has 40 bytes to 1 MiB, 1,036 on average:
//! the sizes of Debian's package descriptions, with a heavy tail above 4 KB. The value is the number of the item (8 bytes, little-endian),
//! then splitmix64 from `mix(i ^ seed)` on: no two items share bytes, and no store can compress them. Nothing is kept of any item.

use super::{MAX_VALUE_BYTES, MIN_VALUE_BYTES, ValueSize};
use crate::splitmix::{Rng, mix, unmix};
use crate::weights::quantile;

/// Longest key.
pub(super) const MAX_KEY_BYTES: usize = 5 + 16 + 1 + 3;
/// Shortest and longest key.
pub(super) const KEY_LENGTHS: [usize; 2] = [MAX_KEY_BYTES - 2, MAX_KEY_BYTES];
/// Bytes of a value by the table of sizes, on average of very many at least.
const MEAN_VALUE_BYTES: usize = 1000;
/// Items that are sorted at once when all are visited in order: 64 MiB of them.
const SORTED_AT_ONCE: u64 = 8 << 20;
/// Bytes of a word of a value.
const WORD: usize = 8;

/// Cumulative share in millionths, size of the value in bytes.
const SIZES: [(u64, u64); 14] = [
    (0, 40),
    (10_000, 100),
    (50_000, 180),
    (250_000, 430),
    (500_000, 660),
    (750_000, 900),
    (900_000, 1300),
    (950_000, 1750),
    (990_000, 4096),
    (997_000, 12_000),
    (999_000, 36_000),
    (999_700, 110_000),
    (999_950, 400_000),
    (1_000_000, MAX_VALUE_BYTES as u64),
];

/// The settings items are made from.
pub(super) struct Made {
    pub(super) seed: u64,
    pub(super) size: ValueSize,
}

impl Made {
    /// What every byte of the item rests on.
    #[inline]
    fn hash(&self, number: u64) -> u64 {
        mix(number ^ self.seed)
    }

    /// The digits of the number below 1,000 that ends the key of an item.
    #[inline]
    fn suffix(&self, number: u64) -> ([u8; 3], usize) {
        let suffix = Rng::after(self.seed, 2 * number).below(1000) as usize;
        let digits = [suffix / 100, suffix / 10 % 10, suffix % 10].map(|digit| b'0' + digit as u8);
        (digits, usize::from(suffix < 100) + usize::from(suffix < 10))
    }

    #[inline]
    pub(super) fn key(&self, number: u64, out: &mut Vec<u8>) {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        let mut bytes = *b"item:0000000000000000:";
        let hash = self.hash(number);
        for (at, byte) in bytes[5..21].iter_mut().enumerate() {
            *byte = HEX[(hash >> (60 - 4 * at)) as usize & 15];
        }
        let (digits, skipped) = self.suffix(number);
        out.clear();
        out.extend_from_slice(&bytes);
        out.extend_from_slice(&digits[skipped..]);
    }

    /// Returns the key and value bytes of an item, on average of very many at least.
    pub(super) fn least_bytes(&self) -> u64 {
        let value_bytes = match self.size {
            ValueSize::Fixed(bytes) => bytes.max(MIN_VALUE_BYTES),
            ValueSize::Spread => MEAN_VALUE_BYTES,
        };
        (KEY_LENGTHS[0] + value_bytes) as u64
    }

    #[inline]
    pub(super) fn key_bytes(&self, number: u64) -> usize {
        MAX_KEY_BYTES - self.suffix(number).1
    }

    #[inline]
    pub(super) fn value_bytes(&self, number: u64) -> usize {
        match self.size {
            ValueSize::Fixed(bytes) => bytes.max(MIN_VALUE_BYTES),
            ValueSize::Spread => quantile(&SIZES, &mut Rng::after(self.seed, 2 * number + 1)) as usize,
        }
    }

    pub(super) fn value(&self, number: u64, out: &mut Vec<u8>) {
        let bytes = self.value_bytes(number);
        out.clear();
        out.reserve(bytes + WORD);
        out.extend_from_slice(&number.to_le_bytes());
        let mut words = Rng::new(self.hash(number));
        while out.len() < bytes {
            out.extend_from_slice(&words.u64().to_le_bytes());
        }
        out.truncate(bytes);
    }

    #[inline]
    pub(super) fn is_right(&self, number: u64, value: &[u8]) -> bool {
        value.len() == self.value_bytes(number) && self.differs_at(number, value).is_none()
    }

    /// The first word with a byte that is not the item's, as the place of its first byte.
    #[inline]
    fn differs_at(&self, number: u64, value: &[u8]) -> Option<usize> {
        let (first, rest) = value.split_first_chunk::<WORD>()?;
        if u64::from_le_bytes(*first) != number {
            return Some(0);
        }
        let (words, tail) = rest.as_chunks::<WORD>();
        let mut right = Rng::new(self.hash(number));
        for (at, word) in words.iter().enumerate() {
            if u64::from_le_bytes(*word) != right.u64() {
                return Some(WORD * (at + 1));
            }
        }
        let last = right.u64().to_le_bytes();
        (tail != &last[..tail.len()]).then_some(value.len() - tail.len())
    }

    /// Returns the number of the item, below `count`, whose whole value this is.
    pub(super) fn whose(&self, value: &[u8], count: u64) -> Option<u64> {
        let number = u64::from_le_bytes(*value.first_chunk()?);
        (number < count && self.is_right(number, value)).then_some(number)
    }

    /// Visits the first `count` items in byte order of keys.
    pub(super) fn each_in_order(&self, count: u64, mut visit: impl FnMut(u64)) {
        // Keys begin with a hash, so that parts of its range hold about as many items each.
        let parts = count.div_ceil(SORTED_AT_ONCE).max(1);
        let mut hashes = Vec::new();
        for part in 0..parts {
            let belongs = |hash: u64| (u128::from(hash) * u128::from(parts)) >> 64 == u128::from(part);
            hashes.clear();
            hashes.extend((0..count).map(|number| self.hash(number)).filter(|&hash| belongs(hash)));
            hashes.sort_unstable();
            hashes.iter().for_each(|&hash| visit(unmix(hash) ^ self.seed));
        }
    }
}
