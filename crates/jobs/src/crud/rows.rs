//! Rows: their keys and values, who owns them, and the order a phase takes them in.

use data::splitmix::Rng;
use std::ops::Range;

/// Digits of a row's number in a value, with zeros before it; of a longer number [`MOST_DIGITS`].
pub const DIGITS: usize = 10;

/// Digits of the longest number.
const MOST_DIGITS: usize = 15;

/// The first row whose number has more than [`DIGITS`].
const LONG: u64 = 10_000_000_000;

/// Bytes of the longest value.
const LONGEST: usize = MOST_DIGITS + 6;

/// The state of a row: the end of its value, or `None` if it is missing.
pub type RowState = Option<&'static [u8]>;

/// A number in decimal, without an allocation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decimal {
    digits: [u8; MOST_DIGITS],
    start: u8,
    /// Where it begins in a value, with its zeros.
    padded: u8,
}

impl Decimal {
    /// Returns the digits.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        &self.digits[usize::from(self.start)..]
    }

    /// Returns whether these bytes are the value of this row with that mark behind its number.
    #[inline]
    pub fn is_in(&self, value: &[u8], mark: &[u8]) -> bool {
        value.strip_prefix(self.padded()).is_some_and(|rest| rest == mark)
    }

    /// Its digits as they are in a value.
    #[inline]
    fn padded(&self) -> &[u8] {
        &self.digits[usize::from(self.padded)..]
    }
}

/// The value of a row, without an allocation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Content([u8; LONGEST]);

impl Content {
    /// Returns the number of a row and a mark (of at most six bytes) behind it.
    #[inline]
    pub fn write(&mut self, row: &Decimal, mark: &[u8]) -> &[u8] {
        let digits = row.padded();
        let end = digits.len() + mark.len();
        self.0[..digits.len()].copy_from_slice(digits);
        self.0[digits.len()..end].copy_from_slice(mark);
        &self.0[..end]
    }
}

/// Returns the key of a row.
#[inline]
pub fn decimal(row: u64) -> Decimal {
    let padded = if row < LONG { MOST_DIGITS - DIGITS } else { 0 };
    let mut decimal = Decimal { digits: [b'0'; MOST_DIGITS], start: MOST_DIGITS as u8 - 1, padded: padded as u8 };
    let mut rest = row;
    loop {
        decimal.digits[usize::from(decimal.start)] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            return decimal;
        }
        decimal.start -= 1;
    }
}

/// Returns the row these bytes are the value of, with that mark behind its number.
pub fn row_of(value: &[u8], mark: &[u8]) -> Option<u64> {
    let digits = value.strip_suffix(mark).filter(|digits| digits.len() <= MOST_DIGITS)?;
    let row = std::str::from_utf8(digits).ok()?.parse().ok()?;
    (decimal(row).padded() == digits).then_some(row)
}

/// Visits the rows below `rows` in byte order of their keys.
pub fn in_byte_order(rows: u64, mut visit: impl FnMut(u64)) {
    // Depth first through the tree of decimal prefixes.
    let mut row = 0u64;
    if rows > 0 {
        visit(0);
    }
    if rows > 1 {
        row = 1;
    }
    while row != 0 {
        visit(row);
        if row * 10 < rows {
            row *= 10;
            continue;
        }
        while row % 10 == 9 || row + 1 >= rows {
            row /= 10;
            if row == 0 {
                return;
            }
        }
        row += 1;
    }
}

/// Returns the rows slot `slot` of `slots` owns.
pub fn share(rows: u64, slots: u32, slot: u32) -> Range<u64> {
    let cut = |at: u32| (u128::from(at) * u128::from(rows) / u128::from(slots)) as u64;
    cut(slot)..cut(slot + 1)
}

/// Returns the rows of these slots, slot after slot, each slot's own in random order (Fisher and Yates).
pub fn shuffled(rows: u64, slots: u32, of: Range<u32>, seed: u64) -> Vec<u64> {
    let mut order = Vec::with_capacity(
        (share(rows, slots, of.end.saturating_sub(1)).end - share(rows, slots, of.start).start) as usize,
    );
    for slot in of {
        let start = order.len();
        order.extend(share(rows, slots, slot));
        let own = &mut order[start..];
        let mut rng = Rng::new(seed ^ u64::from(slot) << 32);
        for at in (1..own.len()).rev() {
            own.swap(at, rng.below(at as u64 + 1) as usize);
        }
    }
    order
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{Content, decimal, in_byte_order, row_of, share, shuffled};

    #[test]
    fn a_value_is_that_of_its_row_and_mark_alone() {
        for row in [0, 7, 10, 159_999, 999_999_999, 3_000_000_000, 9_999_999_998, 10_000_000_000, 999_999_999_999_998] {
            let mut content = Content::default();
            let value = content.write(&decimal(row), b"ABCDEF").to_vec();
            let digits = if row < 10_000_000_000 { format!("{row:010}") } else { format!("{row:015}") };
            assert_eq!(value, format!("{digits}ABCDEF").into_bytes());
            assert!(decimal(row).is_in(&value, b"ABCDEF") && row_of(&value, b"ABCDEF") == Some(row));
            assert!(row_of(&value, b"ABCDE").is_none() && row_of(&[b"+", &value[1..]].concat(), b"ABCDEF").is_none());
            assert!(!decimal(row + 1).is_in(&value, b"ABCDEF") && !decimal(row).is_in(&value, b"1230"));
            (0..value.len()).for_each(|bytes| assert!(!decimal(row).is_in(&value[..bytes], b"ABCDEF")));
        }
    }

    #[test]
    fn keys_are_decimal_numbers_and_their_byte_order_is_that_of_sort() {
        for row in [0, 7, 10, 99, 100, 159_999, u64::from(u32::MAX), 999_999_999_999_999] {
            assert_eq!(decimal(row).as_bytes(), row.to_string().as_bytes());
        }
        for rows in [1, 2, 9, 10, 11, 99, 101, 1000, 1234] {
            let mut expected: Vec<String> = (0..rows).map(|row| row.to_string()).collect();
            expected.sort();
            let mut found = Vec::new();
            in_byte_order(rows, |row| found.push(row.to_string()));
            assert_eq!(found, expected, "{rows}");
        }
    }

    #[test]
    fn every_row_is_taken_once_by_its_owner_in_an_order_of_its_own() {
        for (rows, slots) in [(1000, 1), (1000, 7), (3, 8), (160, 16)] {
            let order = shuffled(rows, slots, 0..slots, 42);
            let mut at = 0;
            for slot in 0..slots {
                let own = share(rows, slots, slot);
                let mut taken = order[at..at + (own.end - own.start) as usize].to_vec();
                taken.sort_unstable();
                assert_eq!(taken, own.clone().collect::<Vec<_>>());
                at += (own.end - own.start) as usize;
            }
            assert_eq!(at, rows as usize);
        }
        let order = shuffled(1000, 1, 0..1, 42);
        assert_eq!(shuffled(1000, 1, 0..1, 42), order);
        assert_ne!(shuffled(1000, 1, 0..1, 43), order);
        let rises = order.windows(2).filter(|pair| pair[0] < pair[1]).count();
        assert!((400..600).contains(&rises), "{rises} of 999 steps rise");
        // A part of the slots has the same orders as the whole.
        assert_eq!(shuffled(1000, 4, 1..3, 42), shuffled(1000, 4, 0..4, 42)[250..750]);
    }
}
