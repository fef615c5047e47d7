//! Many keys at once: to find out whether they are there, or to delete them.

/// What is done about keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sweep {
    /// They are looked for.
    Look,
    /// Those that are there are deleted.
    Delete,
}

/// What there was of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// How many were there.
    pub there: u64,
    /// The first of them: its place among the keys given.
    pub first: Option<usize>,
}

impl Swept {
    /// Counts a key that was there, given its place among the keys.
    pub fn count(&mut self, place: usize) {
        self.there += 1;
        self.first = Some(self.first.map_or(place, |first| first.min(place)));
    }
}
