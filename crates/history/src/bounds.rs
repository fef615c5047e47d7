//! How far the search goes before it says that it does not know.

/// The bounds of the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The most states that may be possible at once.
    pub states: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { states: 50_000 }
    }
}
