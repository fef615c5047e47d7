//! What a read saw of a key while clients wrote, and the history that all of that makes.

use crate::ledger::{AckLedger, SentWrite, WriteKind};
use crate::stream::WriteSet;
use crate::value::{Label, labels};
use history::{Deed, Encounter};
use serde::{Deserialize, Serialize};
use store::OwnedReply;

/// Whether clients read between their writes, so that what they see of each other's keys is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reading {
    /// They only write.
    None,
    /// After each write a client reads a key that was written a moment ago, by whomever.
    Between,
}

/// A read that was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Glance {
    /// The client whose key it was.
    pub client: u32,
    /// The key, numbered.
    pub key: u32,
    /// What it saw.
    pub seen: Glanced,
    /// The time it was sent, or one shortly before.
    pub sent_at_ns: u64,
    /// The time it was answered.
    pub answered_at_ns: u64,
}

/// What a read saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Glanced {
    /// No value.
    Nothing,
    /// A value of which this write, by its version, made the last part.
    Version(u32),
    /// A value that nobody wrote to the key.
    Foreign,
}

/// How a value that nobody wrote is kept.
const FOREIGN: u64 = u64::MAX;

impl Glance {
    pub(crate) fn numbers(self) -> [u64; 4] {
        let seen = match self.seen {
            Glanced::Nothing => 0,
            Glanced::Version(version) => u64::from(version),
            Glanced::Foreign => FOREIGN,
        };
        [number(self.client, self.key), seen, self.sent_at_ns, self.answered_at_ns]
    }

    pub(crate) fn of([key, seen, sent_at_ns, answered_at_ns]: [u64; 4]) -> Glance {
        let seen = match seen {
            0 => Glanced::Nothing,
            FOREIGN => Glanced::Foreign,
            version => Glanced::Version(version as u32),
        };
        Glance { client: (key >> 32) as u32, key: key as u32, seen, sent_at_ns, answered_at_ns }
    }

    fn encounter(&self, reader: u32) -> Encounter {
        let action = match self.seen {
            Glanced::Nothing => Deed::Missed(0),
            Glanced::Version(version) => Deed::Read(u64::from(version)),
            Glanced::Foreign => Deed::Read(FOREIGN),
        };
        let (sent_ns, answered_ns) = (self.sent_at_ns, Some(self.answered_at_ns));
        Encounter { client: reader, key: number(self.client, self.key), action, sent_ns, answered_ns }
    }
}

/// The number of a key in a history.
fn number(client: u32, key: u32) -> u64 {
    u64::from(client) << 32 | u64::from(key)
}

/// Returns what a value shows of a client's key.
pub(crate) fn seen(value: &[u8], set: WriteSet, client: u32, key: u32) -> Glanced {
    let all = labels(value).unwrap_or_default();
    let is_ours = |it: &Label| (it.set, it.client, it.key) == (set.number, client, key);
    match all.last() {
        Some(last) if all.iter().all(is_ours) => Glanced::Version(last.version),
        _ => Glanced::Foreign,
    }
}

/// Returns what a reply shows of it; `None`: it was not answered.
pub(crate) fn seen_in(reply: &OwnedReply, set: WriteSet, client: u32, key: u32) -> Option<Glanced> {
    match reply {
        OwnedReply::Missing => Some(Glanced::Nothing),
        OwnedReply::Value(value) => Some(seen(value, set, client, key)),
        _ => None,
    }
}

/// Returns what all clients did and saw; the reads of `after`, when all was over, are those of one client more.
pub fn history(ledger: &AckLedger, after: &[Glance]) -> Vec<Encounter> {
    let mut all = Vec::new();
    for client in ledger.clients() {
        let page = ledger.page(client);
        let written = |(version, it): (u64, SentWrite)| Encounter {
            client,
            key: number(client, it.key),
            action: match it.kind {
                WriteKind::Put | WriteKind::Append => Deed::Write(version),
                WriteKind::Delete => Deed::Delete(version),
            },
            sent_ns: it.sent_at_ns,
            answered_ns: it.acknowledged_at_ns,
        };
        all.extend((1..).zip(page.entries()).map(written));
        all.extend(page.glances().iter().map(|glance| glance.encounter(client)));
    }
    all.extend(after.iter().map(|glance| glance.encounter(ledger.clients().end)));
    all
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{Glance, Glanced, history};
    use crate::{AckLedger, WriteKind};

    #[test]
    fn a_write_that_was_acknowledged_and_is_not_found_afterwards_contradicts_the_history_and_a_delete_does_not() {
        let ledger = AckLedger::create(2, 16).unwrap();
        let page = ledger.page(0);
        for (key, kind, at_ns) in [(5, WriteKind::Put, 10), (6, WriteKind::Put, 20), (6, WriteKind::Delete, 30)] {
            let version = page.send(key, kind, at_ns).unwrap();
            page.acknowledge(version, at_ns + 5);
        }
        let glance = |key, seen, at_ns| Glance { client: 0, key, seen, sent_at_ns: at_ns, answered_at_ns: at_ns + 5 };
        ledger.page(1).see(glance(5, Glanced::Version(1), 40));
        let check = |after: &[Glance]| {
            history::check(&mut history(&ledger, after)).map(|it| (it.operations, it.contradicted_keys)).unwrap()
        };
        assert_eq!(check(&[glance(5, Glanced::Version(1), 50), glance(6, Glanced::Nothing, 51)]), (6, 0));
        assert_eq!(check(&[glance(5, Glanced::Nothing, 50), glance(6, Glanced::Nothing, 51)]), (6, 1));
        assert_eq!(check(&[glance(5, Glanced::Version(1), 50), glance(6, Glanced::Version(2), 51)]), (6, 1));
        assert_eq!(check(&[glance(5, Glanced::Foreign, 50)]), (5, 1));
    }
}
