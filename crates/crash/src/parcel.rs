//! Parts of a ledger on their way to another process, whose clock may be another.

use crate::glance::Glance;
use crate::ledger::{AckLedger, SentWrite, WriteKind};
use serde::{Deserialize, Serialize};

/// The most writes, or reads, of a parcel.
const MOST: usize = 4096;

/// A part of the page of a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerParcel {
    client: u32,
    of: Entries,
    numbers: Vec<u64>,
    /// The crc32 of all that.
    sum: u32,
}

/// What a parcel has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Entries {
    Writes,
    Reads,
}

/// How the clock of the process where a ledger was written differs from the one here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockShift {
    /// What it shows more than ours.
    pub offset_ns: i64,
    /// The most by which that may be wrong.
    pub error_ns: u64,
}

impl ClockShift {
    /// Returns the earliest moment of ours that may be meant. An operation counts as sent then, so that none is said to follow another of which
    /// that is not sure.
    fn earliest(self, theirs_ns: u64) -> u64 {
        self.likeliest(theirs_ns).saturating_sub(self.error_ns).max(1)
    }

    /// Returns the latest moment of ours that may be meant. A write counts as acknowledged then: before the crash only where it surely was, and no
    /// age is said to be greater than it is.
    fn latest(self, theirs_ns: u64) -> u64 {
        self.likeliest(theirs_ns).saturating_add(self.error_ns)
    }

    fn likeliest(self, theirs_ns: u64) -> u64 {
        theirs_ns.saturating_add_signed(self.offset_ns.saturating_neg())
    }
}

impl LedgerParcel {
    fn of(client: u32, of: Entries, numbers: Vec<u64>) -> LedgerParcel {
        let parcel = LedgerParcel { client, of, numbers, sum: 0 };
        LedgerParcel { sum: parcel.summed(), ..parcel }
    }

    fn summed(&self) -> u32 {
        let mut sum = crc32fast::Hasher::new();
        sum.update(&[self.of as u8]);
        sum.update(&self.client.to_le_bytes());
        self.numbers.iter().for_each(|number| sum.update(&number.to_le_bytes()));
        sum.finalize()
    }

    /// Returns whether it came as it was sent.
    pub fn is_whole(&self) -> bool {
        self.sum == self.summed()
    }

    /// Returns it with the times of the clock here.
    #[must_use]
    pub fn moved(mut self, clock: ClockShift) -> LedgerParcel {
        let (sent_at, answered_at) = match self.of {
            Entries::Writes => (1, 2),
            Entries::Reads => (2, 3),
        };
        for entry in self.numbers.chunks_exact_mut(self.of.numbers()) {
            entry[sent_at] = clock.earliest(entry[sent_at]);
            if entry[answered_at] > 0 {
                entry[answered_at] = clock.latest(entry[answered_at]);
            }
        }
        LedgerParcel::of(self.client, self.of, self.numbers)
    }
}

impl Entries {
    /// Returns how many numbers an entry has.
    fn numbers(self) -> usize {
        match self {
            Entries::Writes => 3,
            Entries::Reads => 4,
        }
    }
}

impl AckLedger {
    /// Returns all that is in it, in parcels.
    pub fn parcels(&self) -> impl Iterator<Item = LedgerParcel> + '_ {
        self.clients().flat_map(|client| {
            let page = self.page(client);
            let written = |it: SentWrite| [it.what(), it.sent_at_ns, it.acknowledged_at_ns.unwrap_or(0)];
            let writes: Vec<[u64; 3]> = page.entries().into_iter().map(written).collect();
            let reads: Vec<[u64; 4]> = page.glances().into_iter().map(Glance::numbers).collect();
            let writes = in_parts(&writes).map(move |part| LedgerParcel::of(client, Entries::Writes, part));
            let reads = in_parts(&reads).map(move |part| LedgerParcel::of(client, Entries::Reads, part));
            writes.chain(reads).collect::<Vec<_>>()
        })
    }

    /// Adds a parcel, whose clients have written nothing here. Those of a client come in their order.
    ///
    /// # Errors
    /// It is not whole, or none of this ledger.
    pub fn take(&self, parcel: &LedgerParcel) -> Result<(), String> {
        if !parcel.is_whole() {
            return Err("a part of a ledger has changed on the way here".into());
        }
        if !self.clients().contains(&parcel.client) {
            return Err(format!("a part of a ledger is of client {}, whom there is not", parcel.client));
        }
        let page = self.page(parcel.client);
        match parcel.of {
            Entries::Writes => parcel.numbers.as_chunks().0.iter().try_for_each(|[what, sent_at_ns, at_ns]| {
                let version = page.send(*what as u32, WriteKind::of(*what >> 32), *sent_at_ns);
                let version = version.ok_or("a ledger has more writes than there is room for")?;
                if *at_ns > 0 {
                    page.acknowledge(version, *at_ns);
                }
                Ok::<(), String>(())
            }),
            Entries::Reads => {
                parcel.numbers.as_chunks().0.iter().for_each(|numbers| page.see(Glance::of(*numbers)));
                Ok(())
            }
        }
    }
}

fn in_parts<const N: usize>(entries: &[[u64; N]]) -> impl Iterator<Item = Vec<u64>> + '_ {
    entries.chunks(MOST).map(|part| part.as_flattened().to_vec())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{ClockShift, MOST};
    use crate::glance::{Glance, Glanced};
    use crate::{AckLedger, WriteKind};

    #[test]
    fn a_ledger_in_parcels_is_the_same_again_with_the_times_of_the_clock_here() {
        const HOUR_NS: u64 = 3_600_000_000_000;
        let there = AckLedger::create_of(3..5, 1 << 16).unwrap();
        let all = MOST as u64 + 7;
        for at in 1..=all {
            let version = there.page(3).send(at as u32, WriteKind::Append, HOUR_NS + at).unwrap();
            if at % 5 > 0 {
                there.page(3).acknowledge(version, HOUR_NS + at + 1);
            }
        }
        let version = there.page(4).send(9, WriteKind::Delete, HOUR_NS + 5).unwrap();
        there.page(4).acknowledge(version, HOUR_NS + 6);
        let seen =
            Glance { client: 3, key: 2, seen: Glanced::Version(2), sent_at_ns: HOUR_NS, answered_at_ns: HOUR_NS + 1 };
        there.page(4).see(seen);
        let clock = ClockShift { offset_ns: HOUR_NS.cast_signed() - 1000, error_ns: 100 };
        let here = AckLedger::create(6, 1 << 16).unwrap();
        let sent: Vec<_> = there.parcels().collect();
        assert_eq!(sent.len(), 4, "two of the first client's writes, one of the second's, and one of its reads");
        sent.into_iter().for_each(|parcel| here.take(&parcel.moved(clock)).unwrap());
        for client in 3..5 {
            let moved: Vec<_> = there
                .page(client)
                .entries()
                .into_iter()
                .map(|mut entry| {
                    entry.sent_at_ns -= HOUR_NS - 900;
                    entry.acknowledged_at_ns = entry.acknowledged_at_ns.map(|at| at - HOUR_NS + 1100);
                    entry
                })
                .collect();
            assert_eq!(here.page(client).entries(), moved);
        }
        assert_eq!(here.page(4).glances(), [Glance { sent_at_ns: 900, answered_at_ns: 1101, ..seen }]);
        assert_eq!(here.page(0).entries(), []);
    }

    #[test]
    fn a_parcel_that_has_changed_or_is_of_another_ledger_is_refused() {
        let there = AckLedger::create_of(1..2, 4).unwrap();
        let version = there.page(1).send(7, WriteKind::Put, 5).unwrap();
        there.page(1).acknowledge(version, 6);
        let parcel = there.parcels().next().unwrap();
        let mut changed = parcel.clone();
        changed.numbers[2] = 0;
        let here = AckLedger::create(2, 4).unwrap();
        assert!(here.take(&changed).unwrap_err().contains("has changed on the way"));
        assert!(AckLedger::create(1, 4).unwrap().take(&parcel).unwrap_err().contains("client 1, whom there is not"));
        here.take(&parcel).unwrap();
        assert_eq!(here.page(1).entries(), there.page(1).entries());
        // Each has room for what it was made for.
        for _ in 0..3 {
            here.take(&parcel).unwrap();
        }
        assert!(here.take(&parcel).unwrap_err().contains("more writes than there is room for"));
    }
}
