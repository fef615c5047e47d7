//! Highest random weight (Thaler and Ravishankar, 1998): the node whose weight for the key is the highest.

use super::{hash_of_node, mixed};

/// A number per node.
#[derive(Clone, Debug)]
pub(crate) struct Weights {
    nodes: Vec<u64>,
}

impl Weights {
    pub fn new(nodes: usize) -> Weights {
        Weights { nodes: (0..nodes).map(hash_of_node).collect() }
    }

    #[inline]
    pub fn node(&self, hash: u64) -> usize {
        let (mut highest, mut found) = (0, 0);
        for (index, node) in self.nodes.iter().enumerate() {
            let weight = mixed(hash ^ node);
            if weight > highest {
                (highest, found) = (weight, index);
            }
        }
        found
    }
}
