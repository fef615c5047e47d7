//! What became of the writes of a script: those that failed, of which nobody knows whether they took effect until their key is read at the
//! end, and acknowledged ones that were not to be seen.

use crate::entry::Fingerprinted;
use jobkit::{Doubts, Effect};
use std::sync::{Mutex, MutexGuard, PoisonError};
use study::WriteAccount;

/// Shared by all threads of a trial; only failures and the end come here.
#[derive(Default)]
pub(crate) struct Fates(Mutex<Doubts<Box<[u8]>, Unanswered>>);

/// A write that failed.
enum Unanswered {
    /// It would have left this value.
    Leaves(Fingerprinted),
    /// It would have added this to a counter.
    Adds(i64),
}

impl Effect for Unanswered {
    type Whole = Fingerprinted;

    fn more(&self) -> i64 {
        if let Unanswered::Adds(step) = self { *step } else { 0 }
    }

    fn instead(&self) -> Option<&Fingerprinted> {
        if let Unanswered::Leaves(value) = self { Some(value) } else { None }
    }
}

impl Fates {
    fn known(&self) -> MutexGuard<'_, Doubts<Box<[u8]>, Unanswered>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a write failed that would have left this value.
    #[cold]
    pub(crate) fn fails(&self, key: &[u8], value: Fingerprinted) {
        self.known().of(key.into()).fails(Unanswered::Leaves(value));
    }

    /// Notes that an increment of this counter failed.
    #[cold]
    pub(crate) fn fails_to_add(&self, counter: &[u8], step: i64) {
        self.known().of(counter.into()).fails(Unanswered::Adds(step));
    }

    /// This lacks what was acknowledged.
    #[cold]
    pub(crate) fn lose(&self, name: &[u8]) {
        self.known().lose(name.into());
    }

    /// Notes that everything is read again: what counts is what is found then.
    pub(crate) fn forget_found(&self) {
        self.known().reads_again();
    }

    /// Notes that a key holds this value at the end.
    pub(crate) fn found(&self, key: &[u8], value: Fingerprinted) {
        self.known().get_mut(key).and_then(|doubt| doubt.allows_instead(&value));
    }

    /// Notes that a counter is this much above what was acknowledged at the end.
    pub(crate) fn found_more(&self, counter: &[u8], more: i64) {
        self.known().get_mut(counter).into_iter().for_each(|doubt| doubt.shows_more(more));
    }

    /// Says what became of all writes.
    pub(crate) fn account(&self) -> WriteAccount {
        self.known().account()
    }
}

#[cfg(test)]
mod tests {
    use super::Fates;
    use study::WriteAccount;

    #[test]
    fn a_write_that_failed_is_present_if_its_key_holds_it_at_the_end() {
        let fates = Fates::default();
        for (key, value) in [(b"a", Some(1)), (b"a", Some(2)), (b"b", Some(3)), (b"c", None)] {
            fates.fails(key, value);
        }
        fates.found(b"a", Some(2));
        fates.found(b"b", Some(9));
        fates.found(b"c", None);
        fates.lose(b"b");
        fates.lose(b"b");
        assert_eq!(fates.account(), WriteAccount { lost: 1, failed_absent: 2, failed_present: 2 });
        fates.forget_found();
        fates.found(b"a", Some(1));
        assert_eq!(fates.account(), WriteAccount { lost: 1, failed_absent: 3, failed_present: 1 });
    }

    #[test]
    fn of_increments_that_failed_as_many_are_present_as_the_counter_has_more() {
        let fates = Fates::default();
        [1, 1, 1].iter().for_each(|step| fates.fails_to_add(b"up", *step));
        [-2, -2].iter().for_each(|step| fates.fails_to_add(b"down", *step));
        fates.found_more(b"up", 2);
        fates.found_more(b"down", -2);
        fates.found_more(b"other", 5);
        assert_eq!(fates.account(), WriteAccount { lost: 0, failed_absent: 2, failed_present: 3 });
    }
}
