//! AnchorHash (Mendelson, Vargaftik, Barabash, Lorenz, Keslassy and Orda, arXiv 1812.09674): room for a fixed number of nodes, of
//! which some have left; a key whose node has left is hashed again among those there were when it left.

use super::mixed;

/// Room for nodes.
const CAPACITY: usize = 512;

/// The nodes that are there, and in which order the others left. The names are those of the paper.
#[derive(Clone, Debug)]
pub(crate) struct Anchor {
    /// The number of nodes that were there when this one left; 0 while it is there.
    a: Vec<u32>,
    /// The node that took its place.
    k: Vec<u32>,
    /// The nodes that are there come first.
    w: Vec<u32>,
    /// The place of a node in `w`.
    l: Vec<u32>,
    nodes: usize,
}

impl Anchor {
    pub fn new(nodes: usize) -> Anchor {
        let capacity = CAPACITY.max(nodes);
        let each: Vec<u32> = (0..capacity as u32).collect();
        let mut anchor = Anchor { a: vec![0; capacity], k: each.clone(), w: each.clone(), l: each, nodes: capacity };
        for node in (nodes..capacity).rev() {
            anchor.leave(node);
        }
        anchor
    }

    /// Lets a node leave: its keys go to the others, and no other key moves.
    pub fn leave(&mut self, node: usize) {
        self.nodes -= 1;
        let last = self.w[self.nodes];
        self.a[node] = self.nodes as u32;
        self.w[self.l[node] as usize] = last;
        self.k[node] = last;
        self.l[last as usize] = self.l[node];
    }

    #[inline]
    pub fn node(&self, hash: u64) -> usize {
        let mut node = (hash % self.a.len() as u64) as usize;
        while self.a[node] > 0 {
            let before = self.a[node];
            let mut at = (mixed(hash ^ mixed(node as u64 + 1)) % u64::from(before)) as usize;
            while self.a[at] >= before {
                at = self.k[at] as usize;
            }
            node = at;
        }
        node
    }
}
