//! What arrives at a rate, and what a job does between a reply and the next operation.

/// The unit that is due at a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arriving {
    /// Every operation.
    Operations,
    /// A unit of several operations or checks, of which all but the first follow from replies.
    Units,
}

/// The job's own work between a reply and the next operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Think {
    /// A few nanoseconds: draw a key.
    Free,
    /// Real work: decode, merge, encode. It must not be counted as the store's.
    Costly,
}
