//! The nodes of a store and the keys they have.

use crate::ability::Cluster;
use crate::spread::Spread;
use std::sync::Arc;

/// The one who knows which node has a key.
pub enum Whereabouts<'a> {
    /// kvtrial, which spreads the keys over nodes.
    Spread(Arc<dyn Spread>),
    /// The store, which spreads them itself and reports the node of every key.
    Cluster(&'a dyn Cluster),
    /// Nobody: why, as the reason follows `etcd: `.
    Unsaid(&'static str),
}

/// The nodes of keys, as a store has reported them once.
pub trait Keepers: Send + Sync {
    /// Returns how many nodes there are, with keys or without. The nodes are numbered from 0, the nodes of a private deployment in its order, and
    /// keep their numbers.
    fn nodes(&self) -> usize;

    /// Returns the node that answers for this key; of several nodes with copies the first.
    fn keeper(&self, key: &[u8]) -> usize;
}

impl Whereabouts<'_> {
    /// The whereabouts in a store whose nodes all have every key.
    pub const EVERYWHERE: Whereabouts<'static> = Whereabouts::Unsaid("every node has every key");
}
