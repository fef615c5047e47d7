//! Highest random weight (Thaler and Ravishankar, 1998): the node whose weight for the key is the highest.

use super::{hash_of_node, mixed};

/// The nodes, with a number for each.
#[derive(Clone, Debug)]
pub(crate) struct Weights {
    nodes: Vec<(usize, u64)>,
}

impl Weights {
    /// Makes the weights of these nodes, at least one.
    pub fn new(nodes: &[usize]) -> Weights {
        Weights { nodes: nodes.iter().map(|node| (*node, hash_of_node(*node))).collect() }
    }

    #[inline]
    pub fn node(&self, hash: u64) -> usize {
        let (mut highest, mut found) = (0, self.nodes[0].0);
        for (node, number) in &self.nodes {
            let weight = mixed(hash ^ number);
            if weight > highest {
                (highest, found) = (weight, *node);
            }
        }
        found
    }
}
