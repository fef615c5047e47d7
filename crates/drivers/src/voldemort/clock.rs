//! Vector clocks: how many writes of a key each node has mastered, and which of two versions is the later one.

/// A version of a key. Entries are in the order of their nodes, one per node, as the server sends them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Clock {
    entries: Vec<Entry>,
}

/// A node, and the writes it has mastered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) node: i32,
    pub(super) writes: i64,
}

impl Clock {
    /// Adds an entry that a server sent.
    pub(super) fn push(&mut self, entry: Entry) {
        self.entries.push(entry);
    }

    /// Returns the clock's entries.
    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns whether this clock has everything that `other` has: it is the same version or a later one.
    pub(super) fn covers(&self, other: &Clock) -> bool {
        other.entries.iter().all(|theirs| self.writes_of(theirs.node) >= theirs.writes)
    }

    fn writes_of(&self, node: i32) -> i64 {
        self.entries.iter().find(|entry| entry.node == node).map_or(0, |entry| entry.writes)
    }

    /// Takes over the writes that `other` has and this clock lacks.
    pub(super) fn merge(&mut self, other: &Clock) {
        for theirs in &other.entries {
            match self.entries.binary_search_by_key(&theirs.node, |entry| entry.node) {
                Ok(at) => self.entries[at].writes = self.entries[at].writes.max(theirs.writes),
                Err(at) => self.entries.insert(at, *theirs),
            }
        }
    }

    /// Returns the version after this one, if this node masters the write.
    pub(super) fn incremented(&self, node: i32) -> Clock {
        let mut next = self.clone();
        let writes = next.writes_of(node).saturating_add(1);
        next.merge(&Clock { entries: vec![Entry { node, writes }] });
        next
    }
}

/// Returns the places of the versions that no other is later than: one, or several siblings. Of equal versions the first counts.
pub(super) fn latest<'a>(clocks: impl Iterator<Item = &'a Clock>) -> Vec<usize> {
    let mut kept: Vec<(usize, &Clock)> = Vec::new();
    for (place, clock) in clocks.enumerate() {
        if kept.iter().any(|(_, other)| other.covers(clock)) {
            continue;
        }
        kept.retain(|(_, other)| !clock.covers(other));
        kept.push((place, clock));
    }
    kept.into_iter().map(|(place, _)| place).collect()
}

#[cfg(test)]
mod tests {
    use super::{Clock, Entry, latest};

    fn clock<const N: usize>(entries: [(i32, i64); N]) -> Clock {
        Clock { entries: entries.map(|(node, writes)| Entry { node, writes }).into() }
    }

    #[test]
    fn a_later_version_covers_an_earlier_one_and_siblings_cover_neither() {
        let (first, second, elsewhere) = (clock([(0, 1)]), clock([(0, 2)]), clock([(0, 1), (1, 1)]));
        assert!(second.covers(&first) && !first.covers(&second) && first.covers(&first));
        assert!(elsewhere.covers(&first) && !elsewhere.covers(&second) && !second.covers(&elsewhere));
        assert!(first.covers(&clock([])) && !clock([]).covers(&first));
    }

    #[test]
    fn of_several_versions_the_latest_are_kept_and_of_equal_ones_the_first() {
        let of = |clocks: &[Clock]| latest(clocks.iter());
        assert_eq!(of(&[clock([(0, 1)]), clock([(0, 3)]), clock([(0, 2)])]), [1]);
        assert_eq!(of(&[clock([(0, 2)]), clock([(0, 2)])]), [0]);
        assert_eq!(of(&[clock([(0, 2)]), clock([(0, 1), (1, 1)]), clock([(0, 1)])]), [0, 1]);
        assert_eq!(of(&[clock([(0, 2)]), clock([(0, 1), (1, 1)]), clock([(0, 2), (1, 1)])]), [2]);
        assert_eq!(of(&[]), [0; 0]);
    }

    #[test]
    fn the_next_version_counts_one_more_write_of_its_master_and_covers_all_that_was_merged() {
        let mut merged = clock([(1, 4)]);
        merged.merge(&clock([(0, 2), (1, 3), (7, 1)]));
        assert_eq!(merged, clock([(0, 2), (1, 4), (7, 1)]));
        assert_eq!(merged.incremented(1), clock([(0, 2), (1, 5), (7, 1)]));
        assert_eq!(merged.incremented(3), clock([(0, 2), (1, 4), (3, 1), (7, 1)]));
        assert_eq!(clock([]).incremented(0), clock([(0, 1)]));
    }
}
