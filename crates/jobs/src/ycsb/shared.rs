//! A share of an execution: what it tells the others of the load, and what it has found.
//!
//! Keys are loaded and read back by number. Where a run only reads, every share may draw every key, so behind the load each must know
//! what the others have put. Where a run writes, a key is drawn only by the share that reads it back ([`Chooser::Own`](super::chooser::Chooser::Own)), so the ledger of
//! that share knows all of its versions, and every reply is judged as if there was one process.

use super::trial::YcsbTrial;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;
use store::Slot;
use study::WriteAccount;

/// What a share has loaded.
#[derive(Serialize, Deserialize)]
pub(super) struct Loaded {
    number: u32,
    /// Its slots: the i-th key is put by slot i modulo slots.
    slots: Range<Slot>,
    /// Keys of which the put failed.
    failed: Vec<u64>,
}

/// What a share has found.
#[derive(Serialize, Deserialize)]
pub(super) struct FoundPart {
    valid: u64,
    invalid: Vec<u64>,
    failed: WriteAccount,
    lost: BTreeSet<u64>,
    oldest_lost: Option<Duration>,
}

/// The writes of shares that were joined.
#[derive(Default)]
pub(super) struct JoinedWrites {
    failed: WriteAccount,
    lost: BTreeSet<u64>,
    pub(super) oldest_lost: Option<Duration>,
}

impl YcsbTrial<'_> {
    pub(super) fn joined(&self) -> MutexGuard<'_, JoinedWrites> {
        self.joined.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the fate of the writes of all shares that were joined.
    pub(super) fn writes(&self) -> WriteAccount {
        let joined = self.joined();
        let mut account = self.ledger.account();
        account.lost += joined.lost.len() as u64;
        account.merge(joined.failed);
        account
    }

    /// Returns what this share has loaded.
    pub(super) fn loaded(&self) -> Loaded {
        Loaded { number: self.share.number, slots: self.own.clone(), failed: self.ledger.doubtful() }
    }

    /// Hears what another share has loaded: keys this one may read from now on are there.
    pub(super) fn learn(&self, Loaded { number, slots, failed }: Loaded) {
        if number == self.share.number {
            return; // it knows
        }
        let (failed, reads_all): (BTreeSet<u64>, _) = (failed.into_iter().collect(), self.workload.mix.only_reads());
        let load = self.load_order();
        for place in slots.flat_map(|slot| (u64::from(slot)..self.workload.records).step_by(self.slots as usize)) {
            let id = load.id(place);
            if !reads_all && !self.keys.has(id) {
                continue;
            }
            let write = self.ledger.begin_write(id, self.own.start);
            match failed.contains(&id) {
                true => self.ledger.fail_write(id, self.own.start, write),
                false => self.ledger.end_write(id, self.own.start, write),
            }
        }
    }

    /// Returns what this share has found. Of a write that failed speaks the share that reads its key back.
    pub(super) fn found(&self) -> FoundPart {
        let verdicts = self.verdicts.lock().unwrap_or_else(PoisonError::into_inner);
        FoundPart {
            valid: verdicts.valid,
            invalid: verdicts.invalid.clone(),
            failed: self.ledger.failed_of(|id| self.keys.has(id)),
            lost: self.ledger.lost_keys(),
            oldest_lost: self.ledger.oldest_lost(),
        }
    }

    /// Adds what another share has found.
    pub(super) fn join_found(&self, found: FoundPart) {
        let mut verdicts = self.verdicts.lock().unwrap_or_else(PoisonError::into_inner);
        verdicts.valid += found.valid;
        verdicts.invalid.extend(found.invalid);
        let mut joined = self.joined();
        joined.failed.merge(found.failed);
        joined.lost.extend(found.lost);
        joined.oldest_lost = joined.oldest_lost.max(found.oldest_lost);
    }
}
