//! What clients of one process wrote, as the ledgers of others come to know it.

use super::WriteLedger;
use crate::clash::Clash;
use crate::entry::Claim;
use crate::kind::KeyKind;
use crate::shared_map::Keyed;
use crate::shares::{KeyName, ToldWrite};
use std::ops::Range;
use std::sync::atomic::Ordering;
use store::Slot;

impl WriteLedger {
    /// Returns what clients wrote in a phase.
    pub(crate) fn written_in(&self, phase: u16, by: &Range<Slot>) -> Vec<ToldWrite> {
        let mut writes = Vec::new();
        self.keys.each(|entry| {
            let is_value = matches!(entry.kind.get(), None | Some(KeyKind::Value));
            let writer = entry.writer().filter(|writer| writer.phase == phase && by.contains(&writer.slot));
            writes.extend(writer.filter(|_| is_value).map(|writer| ToldWrite {
                key: KeyName::of(entry.key()),
                by: writer.code(),
                holds: entry.holds(),
                bytes: entry.bytes(),
                is_doubtful: entry.is_unsure(self.sharing),
            }));
        });
        writes
    }

    /// Notes what a client of another process wrote in a phase that is over.
    pub(crate) fn hears(&self, told: &ToldWrite, by: Claim) -> Result<(), Clash> {
        let entry = self.keys.make(told.key.bytes());
        if told.holds.is_some() {
            entry.kind.claim(KeyKind::Value).map_err(Clash::OtherKind)?;
        }
        entry.claim(by, self.sharing)?;
        entry.ends(by, told.holds, told.bytes as usize, self.moment.load(Ordering::SeqCst), self.sharing);
        if told.is_doubtful {
            entry.stay_in_doubt();
        }
        Ok(())
    }
}
