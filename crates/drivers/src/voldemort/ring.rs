//! The ring of partitions, as Voldemort's `ConsistentRoutingStrategy` has it: a key's hash names a partition, and its values are on the
//! nodes of this partition and of those that follow, until there are as many different nodes as there are copies.

/// The node of each partition, and the number of nodes that have a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ring {
    /// The place of the node of each partition.
    node_of: Vec<usize>,
    copies: usize,
}

/// Returns the hash of a key: FNV-1a of 32 bits, whose steps Voldemort carries out in 64 bits and then cuts off. A start value that is negative there
/// changes nothing in the lower half.
fn hash(key: &[u8]) -> i32 {
    let hash = key.iter().fold(0x811C_9DC5_u32, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193));
    hash as i32
}

impl Ring {
    /// Makes a ring of these nodes' partitions, with `copies` of each key.
    ///
    /// # Errors
    /// In words: a partition belongs to nobody or to two nodes.
    pub(super) fn of(partitions_of_nodes: &[Vec<usize>], copies: usize) -> Result<Ring, String> {
        let count = partitions_of_nodes.iter().map(Vec::len).sum();
        let mut node_of = vec![None; count];
        for (node, partitions) in partitions_of_nodes.iter().enumerate() {
            for partition in partitions {
                let place = node_of.get_mut(*partition);
                let place = place.ok_or_else(|| format!("it names a partition {partition}, but has only {count}"))?;
                if place.replace(node).is_some() {
                    return Err(format!("partition {partition} is named twice"));
                }
            }
        }
        let node_of: Option<Vec<usize>> = node_of.into_iter().collect();
        match node_of {
            Some(node_of) if count > 0 => Ok(Ring { node_of, copies }),
            _ => Err("it names no partition".to_owned()),
        }
    }

    /// Returns the places of the nodes that hold a key, the node of its first partition first.
    pub(super) fn holders(&self, key: &[u8]) -> Vec<usize> {
        let count = self.node_of.len();
        // The absolute value, but of the smallest number, which has none.
        let first = hash(key).checked_abs().unwrap_or(i32::MAX) as usize % count;
        let mut holders = Vec::with_capacity(self.copies);
        for node in self.node_of[first..].iter().chain(&self.node_of[..first]) {
            if !holders.contains(node) {
                holders.push(*node);
            }
            if holders.len() >= self.copies {
                break;
            }
        }
        holders
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{Ring, hash};

    /// Printed by `voldemort.utils.FnvHashFunction` of release 1.3.0.
    const KNOWN: &[(&str, i32)] = &[
        ("", -2_128_831_035),
        ("a", -468_965_076),
        ("key1", 927_623_783),
        ("libc6", 2_088_855_537),
        ("perl", -1_343_213_096),
        ("foobar", -1_080_231_576),
        ("hello world", -712_294_489),
        ("é世", 663_002_089),
    ];

    #[test]
    fn a_hash_is_the_one_voldemort_prints() {
        for (key, expected) in KNOWN {
            assert_eq!(hash(key.as_bytes()), *expected, "{key}");
        }
    }

    #[test]
    fn a_key_is_on_the_nodes_of_its_partition_and_of_those_that_follow() {
        let ring = Ring::of(&[vec![0, 3], vec![1, 4], vec![2, 5]], 2).unwrap();
        for (key, hash) in KNOWN {
            let first = hash.unsigned_abs() as usize % 6;
            assert_eq!(ring.holders(key.as_bytes()), [first % 3, (first + 1) % 3], "{key}");
        }
        let uneven = Ring::of(&[vec![0, 1, 2], vec![3]], 2).unwrap();
        assert!(KNOWN.iter().all(|(key, _)| uneven.holders(key.as_bytes()).len() == 2));
        let more_copies_than_nodes = Ring::of(&[vec![0], vec![1]], 3).unwrap();
        assert_eq!(more_copies_than_nodes.holders(b"a").len(), 2);
    }

    #[test]
    fn every_node_of_a_ring_has_its_share_of_the_keys() {
        let ring = Ring::of(&[vec![0, 3, 6], vec![1, 4, 7], vec![2, 5, 8]], 1).unwrap();
        let mut keys = [0_u32; 3];
        (0..30_000).for_each(|number| keys[ring.holders(format!("key{number}").as_bytes())[0]] += 1);
        assert!(keys.iter().all(|keys| (9_000..11_000).contains(keys)), "{keys:?}");
    }

    #[test]
    fn a_ring_with_a_gap_or_a_partition_named_twice_is_refused() {
        let words = |partitions: &[Vec<usize>]| Ring::of(partitions, 1).unwrap_err();
        assert_eq!(words(&[vec![0, 2]]), "it names a partition 2, but has only 2");
        assert_eq!(words(&[vec![0], vec![0]]), "partition 0 is named twice");
        assert_eq!(words(&[]), "it names no partition");
    }
}
