//! Maglev hashing (Eisenbud and others, NSDI 2016): a table that the nodes fill in turn, each in an order of its own.

use super::{hash_of_node, mixed};

/// Places of the table, a prime number.
pub(crate) const PLACES: usize = 65_537;

/// The node of each place.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    nodes: Box<[u32]>,
}

impl Places {
    /// Makes the places of these nodes, at least one.
    pub fn new(nodes: &[usize]) -> Places {
        const FREE: u32 = u32::MAX;
        let order = |node: &usize| {
            let hash = hash_of_node(*node);
            (hash as usize % PLACES, mixed(hash) as usize % (PLACES - 1) + 1)
        };
        // The next place each node wants, and how far it goes on from there.
        let mut wanted: Vec<(usize, usize)> = nodes.iter().map(order).collect();
        let mut places = vec![FREE; PLACES].into_boxed_slice();
        for filled in 0..PLACES {
            let turn = filled % nodes.len();
            let (next, skip) = &mut wanted[turn];
            while places[*next] != FREE {
                *next = (*next + *skip) % PLACES;
            }
            places[*next] = nodes[turn] as u32;
        }
        Places { nodes: places }
    }

    #[inline]
    pub fn node(&self, hash: u64) -> usize {
        self.nodes[(hash % PLACES as u64) as usize] as usize
    }

    /// Returns the old and the new node of each place that changes hands.
    #[cfg(test)]
    pub fn moves<'a>(&'a self, after: &'a Places) -> impl Iterator<Item = (usize, usize)> + 'a {
        let pairs = self.nodes.iter().zip(&after.nodes).map(|(from, to)| (*from as usize, *to as usize));
        pairs.filter(|(from, to)| from != to)
    }

    /// Returns how many places each node has.
    #[cfg(test)]
    pub fn shares(&self, nodes: usize) -> Vec<usize> {
        (0..nodes).map(|node| self.nodes.iter().filter(|place| **place as usize == node).count()).collect()
    }
}
