//! The nodes of a cluster and the keys they have, as the cluster itself says.

/// The places of a store's keys just now.
pub enum Whereabouts {
    /// The store reports the node of every key.
    Said(Box<dyn Keepers>),
    /// The store does not report the nodes: why, as the reason follows `etcd: `.
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

impl Whereabouts {
    /// The whereabouts in a store whose nodes all have every key.
    pub const EVERYWHERE: Whereabouts = Whereabouts::Unsaid("every node has every key");
}
