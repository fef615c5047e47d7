//! What became of the writes of a script: those that failed, of which nobody knows whether they took effect until their key is read at the
//! end, and acknowledged ones that were not to be seen.

use crate::entry::Fingerprinted;
use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use study::WriteAccount;

/// Shared by all threads of a trial; only failures and the end come here.
#[derive(Default)]
pub(crate) struct Fates(Mutex<Known>);

#[derive(Default)]
struct Known {
    /// What writes that failed would have left, by key.
    values: HashMap<Box<[u8]>, Vec<Fingerprinted>>,
    /// What increments that failed would have added, by counter.
    steps: HashMap<Box<[u8]>, Vec<i64>>,
    /// Writes that failed.
    failed: u64,
    /// Of them those that were seen when everything was last read, by key or counter.
    present: HashMap<Box<[u8]>, u64>,
    /// Keys and counters that lack what was acknowledged.
    lost: HashSet<Box<[u8]>>,
}

impl Fates {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a write failed that would have left this value.
    #[cold]
    pub(crate) fn fails(&self, key: &[u8], value: Fingerprinted) {
        let mut known = self.known();
        known.failed += 1;
        known.values.entry(key.into()).or_default().push(value);
    }

    /// Notes that an increment of this counter failed.
    #[cold]
    pub(crate) fn fails_to_add(&self, counter: &[u8], step: i64) {
        let mut known = self.known();
        known.failed += 1;
        known.steps.entry(counter.into()).or_default().push(step);
    }

    /// This lacks what was acknowledged.
    #[cold]
    pub(crate) fn lose(&self, name: &[u8]) {
        self.known().lost.insert(name.into());
    }

    /// Notes that everything is read again: what counts is what is found then.
    pub(crate) fn forget_found(&self) {
        self.known().present.clear();
    }

    /// Notes that a key holds this value at the end.
    pub(crate) fn found(&self, key: &[u8], value: Fingerprinted) {
        let mut known = self.known();
        if known.values.get(key).is_some_and(|failed| failed.contains(&value)) {
            known.present.insert(key.into(), 1);
        }
    }

    /// Notes that a counter is this much above what was acknowledged at the end.
    pub(crate) fn found_more(&self, counter: &[u8], mut more: i64) {
        let mut known = self.known();
        let mut present = 0;
        for step in known.steps.get(counter).into_iter().flatten() {
            if step.signum() == more.signum() && step.abs() <= more.abs() {
                more -= step;
                present += 1;
            }
        }
        if present > 0 {
            known.present.insert(counter.into(), present);
        }
    }

    /// Says what became of all writes.
    pub(crate) fn account(&self) -> WriteAccount {
        let known = self.known();
        let present: u64 = known.present.values().sum();
        WriteAccount {
            lost: known.lost.len() as u64,
            failed_absent: known.failed.saturating_sub(present),
            failed_present: present,
        }
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
