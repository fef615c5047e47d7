//! Batches of pairs.

use std::collections::HashSet;

/// Returns the pairs of a batch that may name a key only once, in their order: of a repeated key the last value counts.
pub(crate) fn last_of_each<'a>(pairs: &'a [(&'a [u8], &'a [u8])]) -> Vec<&'a (&'a [u8], &'a [u8])> {
    let mut seen = HashSet::with_capacity(pairs.len());
    let mut left: Vec<_> = pairs.iter().rev().filter(|(key, _)| seen.insert(*key)).collect();
    left.reverse();
    left
}

/// Returns pairs in parts, in their order: of at most `most_pairs` pairs and `most_bytes` bytes of keys and values; a longer pair is a part of its own.
#[cfg(any(feature = "etcd", feature = "hbase"))]
pub(crate) fn parts<'p, 'a>(
    pairs: &'p [&'a (&'a [u8], &'a [u8])],
    most_pairs: usize,
    most_bytes: usize,
) -> impl Iterator<Item = &'p [&'a (&'a [u8], &'a [u8])]> {
    let mut rest = pairs;
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let fit = rest.iter().take(most_pairs).take_while(|(key, value)| {
            bytes += key.len() + value.len();
            bytes <= most_bytes
        });
        let (part, after) = rest.split_at_checked(fit.count().max(1))?;
        rest = after;
        Some(part)
    })
}

#[cfg(all(test, any(feature = "etcd", feature = "hbase")))]
mod tests {
    use super::{last_of_each, parts};

    #[test]
    fn a_batch_is_cut_where_it_gets_long_and_one_pair_is_always_taken() {
        let pairs: [(&[u8], &[u8]); 5] =
            [(b"a", b"1234"), (b"b", b"1"), (b"c", b"1234"), (b"d", b"123456789"), (b"", b"")];
        let pairs: Vec<_> = pairs.iter().collect();
        let lengths =
            |most_pairs, most_bytes| parts(&pairs, most_pairs, most_bytes).map(<[_]>::len).collect::<Vec<_>>();
        assert_eq!(lengths(usize::MAX, 7), [2, 1, 1, 1]);
        assert_eq!(lengths(2, 1000), [2, 2, 1]);
        assert_eq!(lengths(9, 1000), [5]);
        assert_eq!(parts(&[], 9, 9).count(), 0);
    }

    #[test]
    fn of_a_key_given_twice_the_later_value_counts_and_the_order_stays() {
        let pairs: [(&[u8], &[u8]); 4] = [(b"a", b"1"), (b"b", b"2"), (b"a", b"3"), (b"c", b"4")];
        let values: Vec<&[u8]> = last_of_each(&pairs).iter().map(|(_, value)| *value).collect();
        assert_eq!(values, [b"2", b"3", b"4"]);
        assert!(last_of_each(&[]).is_empty());
    }
}
