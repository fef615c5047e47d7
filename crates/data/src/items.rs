//! Items of variable size (the input of 2009: a keystore for 100 million items): any of them made from its number, or the user's own.

mod made;
mod own;

pub use own::ItemFile;

use crate::DataError;
use crate::digest::{LineDigest, hex_of_bytes};
use made::Made;
use own::Own;
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::OnceLock;

/// Smallest value that is made: its item's number, and as much that rests on the seed.
pub const MIN_VALUE_BYTES: usize = 16;
/// Largest value that is made.
pub const MAX_VALUE_BYTES: usize = 1 << 20;
/// Most items.
pub const MOST_ITEMS: u64 = 1_000_000_000_000_000;
/// Items that are made and that are more than these are not summed up before it is known that there is room for them.
const SUMMED_AT_ONCE: u64 = 1_000_000_000;

/// The length of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueSize {
    /// Lengths by the table of sizes.
    Spread,
    /// The same number of bytes for all.
    Fixed(usize),
}

/// The items of one input.
pub struct Items {
    count: u64,
    source: Source,
    totals: OnceLock<ItemTotals>,
}

enum Source {
    Made(Made),
    Own(Own),
}

/// Sums over all items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ItemTotals {
    /// Bytes of all keys.
    pub key_bytes: u64,
    /// Bytes of the shortest key.
    pub shortest_key_bytes: usize,
    /// Bytes of the longest key.
    pub longest_key_bytes: usize,
    /// Bytes of all values.
    pub value_bytes: u64,
    /// Bytes of the largest value.
    pub largest_bytes: usize,
}

/// The flaw of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemFlaw {
    /// The first length instead of the second; the bytes there are, are right.
    Length(usize, usize),
    /// The whole and sound value of the item with this number.
    OtherItem(u64),
    /// Differs from this byte on.
    Content(usize),
}

impl Items {
    /// Returns `count` items of this seed.
    pub fn new(count: u64, seed: u64, size: ValueSize) -> Items {
        Items::of(Source::Made(Made { seed, size }), count.min(MOST_ITEMS))
    }

    /// Returns the items of a file: `count` of them, taken again from the first on where it has fewer, or each once. The keys and values
    /// of the second time begin with `2~`, those of the third with `3~`.
    ///
    /// # Errors
    /// Names the file, line, column and remedy: a line that is no item, a key that is there twice.
    pub fn own(file: &str, count: Option<u64>) -> Result<Items, DataError> {
        let (own, count) = Own::load(file, count)?;
        Ok(Items::of(Source::Own(own), count))
    }

    fn of(source: Source, count: u64) -> Items {
        Items { count, source, totals: OnceLock::new() }
    }

    /// Returns the file they are from; `None` where they are made.
    pub fn file(&self) -> Option<&ItemFile> {
        match &self.source {
            Source::Made(_) => None,
            Source::Own(own) => Some(own.file()),
        }
    }

    /// Returns how many there are.
    #[inline]
    pub fn len(&self) -> u64 {
        self.count
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Replaces `out` by the key of an item.
    #[inline]
    pub fn key(&self, number: u64, out: &mut Vec<u8>) {
        match &self.source {
            Source::Made(made) => made.key(number, out),
            Source::Own(own) => own.key(number, out),
        }
    }

    /// Returns the key of an item.
    pub fn key_of(&self, number: u64) -> Vec<u8> {
        let mut key = Vec::new();
        self.key(number, &mut key);
        key
    }

    /// Returns the number of bytes of an item's value.
    #[inline]
    pub fn value_bytes(&self, number: u64) -> usize {
        match &self.source {
            Source::Made(made) => made.value_bytes(number),
            Source::Own(own) => own.value_bytes(number),
        }
    }

    /// Returns the number of bytes no value has more than.
    pub fn most_value_bytes(&self) -> usize {
        match &self.source {
            Source::Made(Made { size: ValueSize::Fixed(bytes), .. }) => (*bytes).max(MIN_VALUE_BYTES),
            Source::Made(_) if self.are_many() => MAX_VALUE_BYTES,
            _ => self.totals().largest_bytes,
        }
    }

    /// Returns the bytes of the shortest and the longest key; of very many, which keys can be.
    pub fn key_lengths(&self) -> [usize; 2] {
        if self.are_many() {
            return made::KEY_LENGTHS;
        }
        let ItemTotals { shortest_key_bytes, longest_key_bytes, .. } = self.totals();
        [shortest_key_bytes, longest_key_bytes]
    }

    /// Returns the key and value bytes of all items; of very many, the least they take.
    pub fn least_bytes(&self) -> u64 {
        match &self.source {
            Source::Made(made) if self.are_many() => self.count.saturating_mul(made.least_bytes()),
            _ => self.totals().key_bytes + self.totals().value_bytes,
        }
    }

    /// Sums over all items, unless summing them up would take minutes.
    pub fn totals_soon(&self) -> Option<ItemTotals> {
        (!self.are_many()).then(|| self.totals())
    }

    fn are_many(&self) -> bool {
        self.count > SUMMED_AT_ONCE && self.file().is_none()
    }

    /// Replaces `out` by the value of an item.
    pub fn value(&self, number: u64, out: &mut Vec<u8>) {
        match &self.source {
            Source::Made(made) => made.value(number, out),
            Source::Own(own) => own.value(number, out),
        }
    }

    /// Compares every byte of a value read for an item with the right one; one that is made is made again meanwhile.
    ///
    /// # Errors
    /// What is wrong with it.
    #[inline]
    pub fn verify(&self, number: u64, value: &[u8]) -> Result<(), ItemFlaw> {
        let is_right = match &self.source {
            Source::Made(made) => made.is_right(number, value),
            Source::Own(own) => own.is_right(number, value),
        };
        if is_right { Ok(()) } else { Err(self.flaw(number, value)) }
    }

    #[cold]
    fn flaw(&self, number: u64, value: &[u8]) -> ItemFlaw {
        let whose = match &self.source {
            Source::Made(made) => made.whose(value, self.count),
            Source::Own(own) => own.whose(value, self.count),
        };
        if let Some(other) = whose {
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
            let mut totals = ItemTotals { shortest_key_bytes: usize::MAX, ..ItemTotals::default() };
            for number in 0..self.count {
                let (key, value) = (self.key_bytes(number), self.value_bytes(number));
                totals.key_bytes += key as u64;
                totals.shortest_key_bytes = totals.shortest_key_bytes.min(key);
                totals.longest_key_bytes = totals.longest_key_bytes.max(key);
                totals.value_bytes += value as u64;
                totals.largest_bytes = totals.largest_bytes.max(value);
            }
            totals
        })
    }

    #[inline]
    fn key_bytes(&self, number: u64) -> usize {
        match &self.source {
            Source::Made(made) => made.key_bytes(number),
            Source::Own(own) => own.key_bytes(number),
        }
    }

    /// Visits all items in byte order of keys.
    fn each_in_order(&self, visit: impl FnMut(u64)) {
        match &self.source {
            Source::Made(made) => made.each_in_order(self.count, visit),
            Source::Own(own) => own.each_in_order(self.count, visit),
        }
    }

    /// Returns the digest of the lines `key \t sha256 of the value`, in byte order of keys, where some items (by number) were found
    /// otherwise: another value, or missing.
    pub fn digest_but(&self, otherwise: &BTreeMap<u64, Option<[u8; 64]>>) -> String {
        let (mut digest, mut key, mut value) = (LineDigest::default(), Vec::new(), Vec::new());
        self.each_in_order(|number| {
            let content = match otherwise.get(&number) {
                Some(None) => return,
                Some(Some(found)) => *found,
                None => {
                    self.value(number, &mut value);
                    hex_of_bytes(&value)
                }
            };
            self.key(number, &mut key);
            digest.line(&[&key, &content]);
        });
        digest.finish()
    }

    /// Writes the items as `key \t bytes of the value`, a line each.
    ///
    /// # Errors
    /// When `out` takes no more.
    pub fn list(&self, out: &mut impl Write) -> std::io::Result<()> {
        for number in 0..self.count {
            out.write_all(&self.key_of(number))?;
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
            keys += items.key_of(number).len() as u64;
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
        items.each_in_order(|number| visited.push(items.key_of(number)));
        assert!(visited.len() == 2000 && visited.is_sorted());
        let right = items.digest_but(&BTreeMap::new());
        for found in [None, Some([b'0'; 64])] {
            assert_ne!(items.digest_but(&BTreeMap::from([(5, found)])), right);
        }
    }
}
