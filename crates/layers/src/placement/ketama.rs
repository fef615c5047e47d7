//! A ring of points, placed as libketama does (Jones, 2007): MD5 of `NAME-0` to `NAME-39`, four little-endian numbers each.

use super::name;
use md5::{Digest, Md5};

/// Digests per node; each makes four points.
const DIGESTS: usize = 40;

/// Points of all nodes in order.
#[derive(Clone, Debug)]
pub(crate) struct Ring {
    points: Vec<(u32, u32)>,
}

impl Ring {
    /// Makes a ring of these nodes, at least one.
    pub fn new(nodes: &[usize]) -> Ring {
        let mut points = Vec::with_capacity(nodes.len() * DIGESTS * 4);
        for &node in nodes {
            for digest in 0..DIGESTS {
                let digest = Md5::digest(format!("{}-{digest}", name(node)));
                points.extend(digest.chunks_exact(4).map(|bytes| (little_endian(bytes), node as u32)));
            }
        }
        points.sort_unstable();
        Ring { points }
    }

    /// Returns the node of the first point at the key's place or behind it, around the ring.
    #[inline]
    pub fn node(&self, key: &[u8]) -> usize {
        let place = place(key);
        let index = self.points.partition_point(|(point, _)| *point < place);
        self.points[if index == self.points.len() { 0 } else { index }].1 as usize
    }
}

/// Returns where a key lies on the ring.
#[inline]
pub(crate) fn place(key: &[u8]) -> u32 {
    little_endian(&Md5::digest(key)[..4])
}

fn little_endian(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte))
}
