//! A ring of LightCloud (Amir Salihefendic, 2009): 120 points per named node, three of each MD5 of `NAME-0` to `NAME-39`.

use md5::{Digest, Md5};

/// Digests per node; each makes three points.
const DIGESTS: usize = 40;

/// Points of named nodes, in order. A key belongs to the node of the first point behind it.
#[derive(Clone, Debug)]
pub struct NameRing {
    points: Vec<(u32, u32)>,
    nodes: usize,
}

impl NameRing {
    /// Makes a ring of these nodes, numbered from 0 as they come; at least one.
    pub fn new<N: AsRef<str>>(names: impl IntoIterator<Item = N>) -> NameRing {
        let mut ring = NameRing { points: Vec::new(), nodes: 0 };
        for name in names {
            for digest in 0..DIGESTS {
                let digest = Md5::digest(format!("{}-{digest}", name.as_ref()));
                let points = digest.chunks_exact(4).take(3);
                ring.points.extend(points.map(|bytes| (little_endian(bytes), ring.nodes as u32)));
            }
            ring.nodes += 1;
        }
        ring.points.sort_unstable();
        ring
    }

    /// Returns how many nodes there are.
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// Returns the node of a key. No allocation, no lock.
    #[inline]
    pub fn node(&self, key: &[u8]) -> usize {
        self.from(key).next().unwrap_or_default()
    }

    /// Returns the node of a key, and the next other one clockwise; `None`: there is no other.
    pub fn two(&self, key: &[u8]) -> (usize, Option<usize>) {
        let first = self.node(key);
        (first, self.from(key).find(|node| *node != first))
    }

    /// The nodes of the points behind a key, once around.
    fn from(&self, key: &[u8]) -> impl Iterator<Item = usize> + '_ {
        let place = little_endian(&Md5::digest(key)[..4]);
        let index = self.points.partition_point(|(point, _)| *point <= place);
        let (before, behind) = self.points.split_at(index);
        behind.iter().chain(before).map(|(_, node)| *node as usize)
    }
}

fn little_endian(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::NameRing;

    /// Worked out by a script in Python that shares no code with this: owner and next node of ten keys.
    #[test]
    fn keys_lie_where_other_code_puts_them() {
        let ring = NameRing::new(["storage1", "storage2", "storage3", "storage4"]);
        let places: Vec<String> = (0..10)
            .map(|key| {
                let (first, next) = ring.two(format!("key{key}").as_bytes());
                format!("{first}{}", next.unwrap_or(9))
            })
            .collect();
        assert_eq!(places.join(" "), "13 13 03 10 21 32 03 31 21 01");
        assert_eq!(NameRing::new(["alone"]).two(b"key"), (0, None));
    }
}
