//! Keys of which a write failed: what the ledger does by their records.

use super::doubt::{LastOperation, UncertainKey};
use super::order::{EndedOperation, MAX_VERSION, Writes};
use super::times::WriteTimes;
use super::{Age, Ledger, Sight, Write, is_of};
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;
use store::Slot;
use study::WriteAccount;

impl Ledger {
    #[cold]
    pub(super) fn begin_in_doubt(&self, id: u64, version: u32) -> Write {
        let moment = self.doubts().get_mut(&id).map_or(0, |doubt| doubt.begin_write(version));
        Write { version, moment, began: EndedOperation::default() }
    }

    fn doubts(&self) -> MutexGuard<'_, HashMap<u64, UncertainKey>> {
        self.doubts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cold]
    pub(super) fn end_in_doubt(&self, id: u64, write: Write) {
        let mut doubts = self.doubts();
        let Some(doubt) = doubts.get_mut(&id) else { return };
        doubt.finish(write.version);
        if write.moment > 0 {
            doubt.ended(write.version, write.moment);
            self.entry(id).mark();
        }
    }

    /// Notes that a write of this slot failed: nobody knows whether it took effect, or still will.
    #[cold]
    pub fn fail_write(&self, id: u64, slot: Slot, write: Write) {
        let entry = self.entry(id);
        // The lock is held before anybody can see that the key is in doubt: who sees it finds its record.
        let mut doubts = self.doubts();
        let writes = Writes(entry.writes.fetch_or(Writes::default().fail().0, Ordering::AcqRel));
        let doubt = doubts.entry(id).or_insert_with(|| UncertainKey::new(self.unfinished(id, writes)));
        doubt.fail(write.version);
        drop(doubts);
        self.flight(slot).store(0, Ordering::Release);
    }

    /// Versions of a key that are in flight.
    fn unfinished(&self, id: u64, writes: Writes) -> BTreeSet<u32> {
        let flights = self.flights.iter().step_by(self.stride).map(|flight| flight.load(Ordering::Acquire));
        let own = flights.filter(|flight| is_of(*flight, id)).map(|flight| flight & MAX_VERSION);
        own.filter(|&version| version != 0).chain(writes.unfinished()).map(|version| version as u32).collect()
    }

    /// Notes that something acknowledged of this key was not to be seen.
    #[cold]
    pub fn lose(&self, id: u64) {
        if let Some(times) = self.times.get() {
            times.lose(id);
        }
        self.lost.lock().unwrap_or_else(PoisonError::into_inner).insert(id);
    }

    /// Keeps, from now on, when the writes of the planned keys are acknowledged.
    pub fn time_writes(&self) {
        self.times.get_or_init(|| WriteTimes::new(self.planned.len()));
    }

    /// Returns how long ago the oldest of the lost writes was acknowledged, where that is kept.
    pub fn oldest_lost(&self) -> Option<Duration> {
        self.times.get()?.oldest_lost()
    }

    /// Returns the keys of which a write failed.
    pub fn doubtful(&self) -> Vec<u64> {
        self.doubts().keys().copied().collect()
    }

    /// Returns the keys of which something acknowledged was not to be seen.
    pub fn lost_keys(&self) -> BTreeSet<u64> {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the fate of the writes that failed, of keys that are meant.
    pub fn failed_of(&self, is_meant: impl Fn(u64) -> bool) -> WriteAccount {
        let mut account = WriteAccount::default();
        for (_, doubt) in self.doubts().iter().filter(|&(&id, _)| is_meant(id)) {
            let (absent, present) = doubt.failed();
            account.failed_absent += absent;
            account.failed_present += present;
        }
        account
    }

    /// Returns the fate of the writes: keys of which something acknowledged was not to be seen, and writes that failed.
    pub fn account(&self) -> WriteAccount {
        let lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner).len() as u64;
        WriteAccount { lost, ..self.failed_of(|_| true) }
    }

    #[cold]
    pub(super) fn sight_in_doubt(&self, id: u64, seen: Sight) -> Sight {
        let mut doubts = self.doubts();
        let Some(doubt) = doubts.get_mut(&id) else { return seen };
        let writes = seen.writes.in_doubt(doubt.begin(), doubt.last().is_some());
        let of_doubt = |LastOperation { version, began }| EndedOperation::in_doubt(version, began);
        Sight { writes, last: doubt.last().map_or(seen.last, of_doubt) }
    }

    #[cold]
    pub(super) fn judge_in_doubt(&self, id: u64, sight: Sight, version: u32) -> Result<(), Age> {
        let mut doubts = self.doubts();
        let Some(doubt) = doubts.get_mut(&id) else { return Ok(()) };
        let began = sight.writes.moment();
        match began.and_then(|_| sight.last_in_doubt()) {
            Some(last) if doubt.is_outdated(last, version) => return Err(Age::Stale(last.version)),
            None if sight.last.outdates(u64::from(version)) => return Err(Age::Stale(sight.last.version() as u32)),
            _ => {}
        }
        doubt.finish(version);
        self.entry(id).mark();
        match began {
            Some(began) => doubt.ended(version, began),
            None => sight.writes.read(u64::from(version)).into_iter().for_each(|read| self.entry(id).ended(read)),
        }
        Ok(())
    }
}

impl Sight {
    /// The last operation of a key in doubt, where one has ended since it is.
    fn last_in_doubt(self) -> Option<LastOperation> {
        let (version, began) = self.writes.is_crowded().then(|| self.last.of_doubt())?;
        Some(LastOperation { version, began })
    }
}
