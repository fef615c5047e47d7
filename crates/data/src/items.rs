//! Items of variable size, any of them made from its number (the input of 2009: a keystore for 100 million items).
//!
//! The key of item `i` is `item:%016x:%d`: `mix(i ^ seed)`, and a number below 1,000. Its value has 40 bytes to 1 MiB, 1,036 on average:
//! the sizes of Debian's package descriptions, with a heavy tail above 4 KB. The value is the number of the item (8 bytes, little-endian),
//! then splitmix64 from `mix(i ^ seed)` on: no two items share bytes, and no store can compress them. Nothing is kept of any item.

use crate::digest::{LineDigest, hex_of_bytes};
use crate::splitmix::{Rng, mix, unmix};
use crate::weights::quantile;
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::OnceLock;

/// Smallest value: its item's number, and as much that rests on the seed.
pub const MIN_VALUE_BYTES: usize = 16;
/// Largest value.
pub const MAX_VALUE_BYTES: usize = 1 << 20;
/// Longest key.
pub const MAX_KEY_BYTES: usize = 5 + 16 + 1 + 3;
/// Most items.
pub const MOST_ITEMS: u64 = 1_000_000_000;
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

/// How long values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueSize {
    /// As the table of sizes says.
    Spread,
    /// All of this many bytes.
    Fixed(usize),
}

/// The items of one input.
pub struct Items {
    count: u64,
    seed: u64,
    size: ValueSize,
    totals: OnceLock<ItemTotals>,
}

/// Sums over all items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ItemTotals {
    /// Bytes of all keys.
    pub key_bytes: u64,
    /// Bytes of all values.
    pub value_bytes: u64,
    /// Bytes of the largest value.
    pub largest_bytes: usize,
}

/// The key of an item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ItemKey {
    bytes: [u8; MAX_KEY_BYTES],
    len: usize,
}

/// What is wrong with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemFlaw {
    /// It is of this length instead of that; the bytes there are, are right.
    Length(usize, usize),
    /// It is the whole and sound value of the item with this number.
    OtherItem(u64),
    /// It differs from this byte on.
    Content(usize),
}

impl ItemKey {
    /// The key's bytes.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl Items {
    /// `count` items of this seed.
    pub fn new(count: u64, seed: u64, size: ValueSize) -> Items {
        Items { count: count.min(MOST_ITEMS), seed, size, totals: OnceLock::new() }
    }

    /// How many there are.
    #[inline]
    pub fn len(&self) -> u64 {
        self.count
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// What every byte of the item rests on.
    #[inline]
    fn hash(&self, number: u64) -> u64 {
        mix(number ^ self.seed)
    }

    /// The key of an item.
    #[inline]
    pub fn key(&self, number: u64) -> ItemKey {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        let mut bytes = *b"item:0000000000000000:000";
        let hash = self.hash(number);
        for (at, byte) in bytes[5..21].iter_mut().enumerate() {
            *byte = HEX[(hash >> (60 - 4 * at)) as usize & 15];
        }
        let suffix = Rng::after(self.seed, 2 * number).below(1000) as usize;
        let digits = [suffix / 100, suffix / 10 % 10, suffix % 10].map(|digit| b'0' + digit as u8);
        let skipped = usize::from(suffix < 100) + usize::from(suffix < 10);
        let len = MAX_KEY_BYTES - skipped;
        bytes[22..len].copy_from_slice(&digits[skipped..]);
        ItemKey { bytes, len }
    }

    /// Bytes of an item's value.
    #[inline]
    pub fn value_bytes(&self, number: u64) -> usize {
        match self.size {
            ValueSize::Fixed(bytes) => bytes.max(MIN_VALUE_BYTES),
            ValueSize::Spread => quantile(&SIZES, &mut Rng::after(self.seed, 2 * number + 1)) as usize,
        }
    }

    /// Bytes no value has more than.
    pub fn most_value_bytes(&self) -> usize {
        match self.size {
            ValueSize::Fixed(bytes) => bytes.max(MIN_VALUE_BYTES),
            ValueSize::Spread => self.totals().largest_bytes,
        }
    }

    /// Replaces `out` by the value of an item.
    pub fn value(&self, number: u64, out: &mut Vec<u8>) {
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

    /// Compares every byte of a value read for an item with the right one, which is made again meanwhile.
    ///
    /// # Errors
    /// What is wrong with it.
    #[inline]
    pub fn verify(&self, number: u64, value: &[u8]) -> Result<(), ItemFlaw> {
        if value.len() == self.value_bytes(number) && self.differs_at(number, value).is_none() {
            return Ok(());
        }
        Err(self.flaw(number, value))
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

    #[cold]
    fn flaw(&self, number: u64, value: &[u8]) -> ItemFlaw {
        let other = value.first_chunk::<WORD>().map(|first| u64::from_le_bytes(*first));
        if let Some(other) = other.filter(|&other| other != number && other < self.count)
            && value.len() == self.value_bytes(other)
            && self.differs_at(other, value).is_none()
        {
            return ItemFlaw::OtherItem(other);
        }
        let mut right = Vec::new();
        self.value(number, &mut right);
        match value.iter().zip(&right).position(|(found, right)| found != right) {
            Some(at) => ItemFlaw::Content(at),
            None => ItemFlaw::Length(value.len(), right.len()),
        }
    }

    /// Sums over all items; computed when they are first asked for.
    pub fn totals(&self) -> ItemTotals {
        *self.totals.get_or_init(|| {
            let mut totals = ItemTotals::default();
            for number in 0..self.count {
                let bytes = self.value_bytes(number);
                totals.key_bytes += self.key(number).len as u64;
                totals.value_bytes += bytes as u64;
                totals.largest_bytes = totals.largest_bytes.max(bytes);
            }
            totals
        })
    }

    /// Visits all items in byte order of keys.
    fn each_in_order(&self, mut visit: impl FnMut(u64)) {
        // Keys begin with a hash, so that parts of its range hold about as many items each.
        let parts = self.count.div_ceil(SORTED_AT_ONCE).max(1);
        let mut hashes = Vec::new();
        for part in 0..parts {
            let belongs = |hash: u64| (u128::from(hash) * u128::from(parts)) >> 64 == u128::from(part);
            hashes.clear();
            hashes.extend((0..self.count).map(|number| self.hash(number)).filter(|&hash| belongs(hash)));
            hashes.sort_unstable();
            hashes.iter().for_each(|&hash| visit(unmix(hash) ^ self.seed));
        }
    }

    /// Digest of the lines `key \t sha256 of the value`, in byte order of keys, where some items (by number) were found otherwise:
    /// another value, or missing.
    pub fn digest_but(&self, otherwise: &BTreeMap<u64, Option<[u8; 64]>>) -> String {
        let (mut digest, mut value) = (LineDigest::default(), Vec::new());
        self.each_in_order(|number| {
            let content = match otherwise.get(&number) {
                Some(None) => return,
                Some(Some(found)) => *found,
                None => {
                    self.value(number, &mut value);
                    hex_of_bytes(&value)
                }
            };
            digest.line(&[self.key(number).as_bytes(), &content]);
        });
        digest.finish()
    }

    /// Writes the items as `key \t bytes of the value`, a line each.
    ///
    /// # Errors
    /// When `out` takes no more.
    pub fn list(&self, out: &mut impl Write) -> std::io::Result<()> {
        for number in 0..self.count {
            out.write_all(self.key(number).as_bytes())?;
            writeln!(out, "\t{}", self.value_bytes(number))?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{ItemFlaw, Items, MAX_VALUE_BYTES, ValueSize};
    use crate::digest::of_bytes;
    use std::collections::BTreeMap;

    #[test]
    fn keys_and_sizes_are_those_of_the_independent_generator() {
        // sha256 of the output of an unrelated generator in Python: 20,000 items of seed 42, `key TAB bytes`.
        let mut list = Vec::new();
        Items::new(20_000, 42, ValueSize::Spread).list(&mut list).unwrap();
        assert!(list.starts_with(b"item:bdd732262feb6e95:741\t317\n"));
        let expected = "sha256:dde7ae5f19028df561caf31c8cf241cbba87f164f4501c6144d3f7740e5570f7";
        assert_eq!((list.len(), of_bytes(&list).as_str()), (601_963, expected));
    }

    #[test]
    fn sums_are_those_of_the_items_and_no_value_is_larger_than_can_be() {
        let items = Items::new(3000, 7, ValueSize::Spread);
        let (mut keys, mut values, mut largest, mut value) = (0, 0, 0, Vec::new());
        for number in 0..3000 {
            items.value(number, &mut value);
            assert_eq!((value.len(), items.verify(number, &value)), (items.value_bytes(number), Ok(())));
            keys += items.key(number).as_bytes().len() as u64;
            values += value.len() as u64;
            largest = largest.max(value.len());
        }
        let totals = items.totals();
        assert_eq!((totals.key_bytes, totals.value_bytes, totals.largest_bytes), (keys, values, largest));
        assert!(largest <= MAX_VALUE_BYTES && values / 3000 > 700);
    }

    #[test]
    fn a_value_is_verified_to_the_last_bit_and_that_of_another_item_is_named() {
        for size in [ValueSize::Spread, ValueSize::Fixed(16), ValueSize::Fixed(101), ValueSize::Fixed(24)] {
            let items = Items::new(1000, 42, size);
            let (mut value, mut other) = (Vec::new(), Vec::new());
            items.value(7, &mut value);
            for at in 0..value.len() {
                for bit in 0..8 {
                    value[at] ^= 1 << bit;
                    assert_eq!(items.verify(7, &value), Err(ItemFlaw::Content(at)));
                    value[at] ^= 1 << bit;
                }
            }
            let bytes = value.len();
            assert_eq!(items.verify(7, &value[..bytes - 1]), Err(ItemFlaw::Length(bytes - 1, bytes)));
            assert_eq!(items.verify(7, b""), Err(ItemFlaw::Length(0, bytes)));
            items.value(8, &mut other);
            assert_eq!(items.verify(7, &other), Err(ItemFlaw::OtherItem(8)));
            assert!(Items::new(1000, 43, size).verify(7, &value).is_err());
        }
    }

    #[test]
    fn the_order_of_keys_is_that_of_a_sort_and_a_lost_or_changed_item_changes_the_digest() {
        let items = Items::new(2000, 42, ValueSize::Fixed(16));
        let mut visited = Vec::new();
        items.each_in_order(|number| visited.push(items.key(number).as_bytes().to_vec()));
        assert!(visited.len() == 2000 && visited.is_sorted());
        let right = items.digest_but(&BTreeMap::new());
        for found in [None, Some([b'0'; 64])] {
            assert_ne!(items.digest_but(&BTreeMap::from([(5, found)])), right);
        }
    }
}
