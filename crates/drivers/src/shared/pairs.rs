//! Batches of pairs.

use std::collections::HashSet;

/// Returns the pairs of a batch that may name a key only once, in their order: of a repeated key the last value counts.
pub(crate) fn last_of_each<'a>(pairs: &'a [(&'a [u8], &'a [u8])]) -> Vec<&'a (&'a [u8], &'a [u8])> {
    let mut seen = HashSet::with_capacity(pairs.len());
    let mut left: Vec<_> = pairs.iter().rev().filter(|(key, _)| seen.insert(*key)).collect();
    left.reverse();
    left
}

#[cfg(test)]
mod tests {
    use super::last_of_each;

    #[test]
    fn of_a_key_given_twice_the_later_value_counts_and_the_order_stays() {
        let pairs: [(&[u8], &[u8]); 4] = [(b"a", b"1"), (b"b", b"2"), (b"a", b"3"), (b"c", b"4")];
        let values: Vec<&[u8]> = last_of_each(&pairs).iter().map(|(_, value)| *value).collect();
        assert_eq!(values, [b"2", b"3", b"4"]);
        assert!(last_of_each(&[]).is_empty());
    }
}
