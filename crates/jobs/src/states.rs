//! Keys, by their numbers, of which a write failed: it may have taken effect, or still may; nothing else is forgiven.

use jobkit::{Doubts, Replaces};
use std::collections::BTreeMap;
use study::WriteAccount;

/// The doubts about all keys of which a write failed. A state is what the key holds, or what stands for it.
#[derive(Debug)]
pub struct StateDoubts<S> {
    /// Keys as their last acknowledged writes left them, or as they were read since.
    sure: BTreeMap<u64, S>,
    writes: Doubts<u64, Replaces<S>>,
}

impl<S> Default for StateDoubts<S> {
    fn default() -> StateDoubts<S> {
        StateDoubts { sure: BTreeMap::new(), writes: Doubts::default() }
    }
}

impl<S: Copy + PartialEq> StateDoubts<S> {
    /// Notes a failed write that would have made `after` of a key that was `before`, as far as nothing else failed.
    pub fn fails(&mut self, key: u64, before: S, after: S) {
        self.sure.entry(key).or_insert(before);
        self.writes.of(key).fails(Replaces(after));
    }

    /// Notes a write that was acknowledged.
    pub fn wrote(&mut self, key: u64, after: S) {
        self.sure.entry(key).and_modify(|sure| *sure = after);
    }

    /// Notes that the key was read; returns whether its state is explained. From then on the key has that state.
    pub fn explains(&mut self, key: u64, found: S) -> bool {
        let Some(sure) = self.sure.get_mut(&key) else { return false };
        let explains = *sure == found || self.writes.of(key).allows_instead(&found).is_some();
        *sure = if explains { found } else { *sure };
        explains
    }

    /// Returns the first of the states that explain a read which `is` true of: the sure one, or that of a write that failed.
    pub fn state_that(&self, key: u64, is: impl Fn(S) -> bool) -> Option<S> {
        let sure = self.sure.get(&key).copied();
        let failed = self.writes.get(&key).into_iter().flat_map(|doubt| doubt.failed().map(|&Replaces(state)| state));
        sure.into_iter().chain(failed).find(|&state| is(state))
    }

    /// Returns whether a write of the key failed.
    pub fn knows(&self, key: u64) -> bool {
        self.writes.has(&key)
    }

    /// Notes that something acknowledged of this key was not to be seen.
    pub fn lose(&mut self, key: u64) {
        self.writes.lose(key);
    }

    /// Returns the fate of the writes.
    pub fn account(&self) -> WriteAccount {
        self.writes.account()
    }
}

#[cfg(test)]
mod tests {
    use super::StateDoubts;

    #[test]
    fn a_key_is_as_its_last_acknowledged_write_left_it_or_as_one_that_failed_would_have() {
        const A: Option<&[u8]> = Some(b"a");
        const B: Option<&[u8]> = Some(b"b");
        let mut doubts = StateDoubts::default();
        doubts.fails(7, A, B);
        assert!(doubts.explains(7, A) && !doubts.explains(7, None) && doubts.explains(7, B));
        assert!(!doubts.explains(7, A), "it was seen after that");
        doubts.wrote(7, None);
        assert!(doubts.explains(7, None) && !doubts.explains(7, B) && !doubts.explains(8, None));
        doubts.lose(7);
        let account = doubts.account();
        assert_eq!((account.lost, account.failed_absent, account.failed_present), (1, 0, 1));
    }
}
