//! Which node of a cluster has which keys, as the cluster itself says.

/// The places of a store's keys just now.
pub enum Whereabouts {
    /// The store says it of every key.
    Said(Box<dyn Keepers>),
    /// The store does not report them: why, as it follows `etcd: `.
    Unsaid(&'static str),
}

/// The nodes that keys are at, as a store has said once.
pub trait Keepers: Send + Sync {
    /// Returns how many nodes it knows, with keys or without. They are numbered from 0, those of a private deployment in its order, and
    /// keep their numbers.
    fn nodes(&self) -> usize;

    /// Returns the node that answers for this key; of several with copies the first.
    fn keeper(&self, key: &[u8]) -> usize;
}

impl Whereabouts {
    /// The whereabouts in a store whose nodes all have every key.
    pub const EVERYWHERE: Whereabouts = Whereabouts::Unsaid("every node has every key");
}
