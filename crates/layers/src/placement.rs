//! Where keys go over several nodes: pure functions of the key and the number of nodes.
//!
//! Each algorithm is a module with its source. All say how evenly they spread keys and how many move when a node comes
//! ([`Placement::law`]), which the tests hold them to.

mod anchor;
mod jump;
mod ketama;
mod law;
mod maglev;
mod multiprobe;
mod points;
mod rendezvous;

pub use points::NameRing;

use md5::{Digest, Md5};
use store::spread::Law;
use xxhash_rust::xxh3::xxh3_64;

/// The algorithm that spreads keys over nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Algorithm {
    /// Jump consistent hash: even, and only the keys of the new node move.
    Jump,
    /// CRC-32 modulo the number of nodes: even, and nearly all keys move.
    Modulo,
    /// A ring of 160 points per node, placed as libketama does.
    Ketama,
    /// Highest random weight: even, but every node is looked at for every key.
    Rendezvous,
    /// A table of 65,537 places, filled by the nodes in turn.
    Maglev,
    /// A ring of one point per node, and 21 probes per key.
    Multiprobe,
    /// AnchorHash: even, and any node may leave.
    Anchor,
}

impl Algorithm {
    /// Every algorithm, the default first.
    pub const ALL: [Algorithm; 7] = [
        Algorithm::Jump,
        Algorithm::Modulo,
        Algorithm::Ketama,
        Algorithm::Rendezvous,
        Algorithm::Maglev,
        Algorithm::Multiprobe,
        Algorithm::Anchor,
    ];

    /// Returns the hash of a key that it goes by: what the algorithm is defined with where it is (MD5, CRC-32), else XXH3, which is fast.
    #[inline]
    pub fn hash(self, key: &[u8]) -> u64 {
        match self {
            Algorithm::Modulo => crc32fast::hash(key).into(),
            Algorithm::Ketama => ketama::place(key).into(),
            _ => hash(key),
        }
    }

    /// Returns the name of the algorithm.
    pub const fn name(self) -> &'static str {
        match self {
            Algorithm::Jump => "jump",
            Algorithm::Modulo => "modulo",
            Algorithm::Ketama => "ketama",
            Algorithm::Rendezvous => "rendezvous",
            Algorithm::Maglev => "maglev",
            Algorithm::Multiprobe => "multiprobe",
            Algorithm::Anchor => "anchor",
        }
    }
}

/// Keys spread over nodes, which are numbered from 0.
#[derive(Clone, Debug)]
pub struct Placement {
    algorithm: Algorithm,
    nodes: usize,
    table: Table,
}

/// What an algorithm works out beforehand.
#[derive(Clone, Debug)]
enum Table {
    Nothing,
    Ketama(ketama::Ring),
    Rendezvous(rendezvous::Weights),
    Maglev(maglev::Places),
    Multiprobe(multiprobe::Ring),
    Anchor(anchor::Anchor),
}

impl Table {
    /// That of an algorithm in which a node is known by its name, over these nodes.
    fn named(algorithm: Algorithm, nodes: &[usize]) -> Table {
        match algorithm {
            Algorithm::Jump | Algorithm::Modulo | Algorithm::Anchor => Table::Nothing,
            Algorithm::Ketama => Table::Ketama(ketama::Ring::new(nodes)),
            Algorithm::Rendezvous => Table::Rendezvous(rendezvous::Weights::new(nodes)),
            Algorithm::Maglev => Table::Maglev(maglev::Places::new(nodes)),
            Algorithm::Multiprobe => Table::Multiprobe(multiprobe::Ring::new(nodes)),
        }
    }
}

impl Placement {
    /// Spreads keys over this many nodes, at least one.
    pub fn new(algorithm: Algorithm, nodes: usize) -> Placement {
        let nodes = nodes.max(1);
        let every: Vec<usize> = (0..nodes).collect();
        let table = match algorithm {
            Algorithm::Jump | Algorithm::Modulo => Table::Nothing,
            Algorithm::Anchor => Table::Anchor(anchor::Anchor::new(nodes)),
            named => Table::named(named, &every),
        };
        Placement { algorithm, nodes, table }
    }

    /// Spreads keys over the others when this node of them has left; `None`: there is no other, or the algorithm numbers nodes in a
    /// row, so that only the last one can leave.
    pub fn without(&self, gone: usize) -> Option<Placement> {
        let left = self.nodes - 1;
        if gone > left || left == 0 {
            return None;
        }
        let others: Vec<usize> = (0..self.nodes).filter(|node| *node != gone).collect();
        let table = match &self.table {
            Table::Nothing if gone < left => return None,
            Table::Nothing => Table::Nothing,
            Table::Anchor(anchor) => {
                let mut anchor = anchor.clone();
                anchor.leave(gone);
                Table::Anchor(anchor)
            }
            _ => Table::named(self.algorithm, &others),
        };
        Some(Placement { algorithm: self.algorithm, nodes: left, table })
    }

    /// Returns the algorithm.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Returns how many nodes there are.
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// Returns the node of a key. No allocation, no lock.
    #[inline]
    pub fn node(&self, key: &[u8]) -> usize {
        match &self.table {
            Table::Nothing if self.algorithm == Algorithm::Modulo => crc32fast::hash(key) as usize % self.nodes,
            Table::Nothing => jump::node(hash(key), self.nodes),
            Table::Ketama(ring) => ring.node(key),
            Table::Rendezvous(weights) => weights.node(hash(key)),
            Table::Maglev(places) => places.node(hash(key)),
            Table::Multiprobe(ring) => ring.node(hash(key)),
            Table::Anchor(anchor) => anchor.node(hash(key)),
        }
    }

    /// Returns how evenly keys are spread, and how many move when a node comes.
    pub fn law(&self) -> Law {
        law::law(self.algorithm, self.nodes)
    }
}

/// XXH3 of a key, 64 bits, seed 0 (<https://github.com/Cyan4973/xxHash>).
#[inline]
fn hash(key: &[u8]) -> u64 {
    xxh3_64(key)
}

/// The hash of a node's name, `node1` for the first: the first 8 bytes of its MD5, big-endian. Worked out once.
fn hash_of_node(node: usize) -> u64 {
    Md5::digest(name(node)).iter().take(8).fold(0, |hash, byte| hash << 8 | u64::from(*byte))
}

/// The name of a node.
fn name(node: usize) -> String {
    format!("node{}", node + 1)
}

/// Another number for every number, by the finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
#[inline]
fn mixed(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ number >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ number >> 31
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
