//! Many keys at once: to find out whether they are there, or to delete them.

/// The action on the job's keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sweep {
    /// Looks for the keys.
    Look,
    /// Deletes the keys that are there.
    Delete,
}

/// The keys that a sweep found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// The number of keys that were there.
    pub there: u64,
    /// The first key that was there: its place among the given keys.
    pub first: Option<usize>,
}

impl Swept {
    /// Counts a key that was there, given its place among the keys.
    pub fn count(&mut self, place: usize) {
        self.there += 1;
        self.first = Some(self.first.map_or(place, |first| first.min(place)));
    }
}
