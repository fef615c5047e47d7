//! What was found after a crash against what was sent and acknowledged before.
//!
//! The keys of a client are written by no other, one write after the other, so that what a key may hold is known: the state after its last
//! acknowledged write, or after one that was sent later and is in doubt.

use crate::findings::Findings;
use crate::ledger::{SentWrite, WriteKind};

/// The remains of a key after the crash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remains {
    /// Nothing.
    Absent,
    /// A value of these writes of the key, by version, in the order of its parts.
    Written(Vec<u32>),
    /// A value whose checksum or length is wrong, or that the store cannot read: in words.
    Torn(String),
    /// A whole value that is another key's, or nobody's: in words.
    Foreign(String),
}

/// Compares all keys of a client with what it sent. `found` is asked for the keys in rising order; `name` says how the store knows a key.
pub fn audit(
    sent: &[SentWrite],
    crash_at_ns: u64,
    found: &mut dyn FnMut(u32) -> Remains,
    name: &dyn Fn(u32) -> String,
    findings: &mut Findings,
) {
    let mut by_key: Vec<u32> = (0..sent.len() as u32).collect();
    by_key.sort_by_key(|at| sent[*at as usize].key); // stable: the order of sending stays
    let (mut lost, mut newest) = (Vec::new(), 0);
    for history in by_key.chunk_by(|one, other| sent[*one as usize].key == sent[*other as usize].key) {
        let history = History { sent, history };
        let key = sent[history.history[0] as usize].key;
        let before = lost.len();
        match found(key) {
            Remains::Torn(words) => findings.torn(&name(key), &words),
            Remains::Foreign(words) => findings.invented(&name(key), &words),
            Remains::Absent => history.after(history.last_absent(), &mut lost),
            Remains::Written(versions) => match history.place_of(&versions) {
                None => findings.invented(&name(key), &format!("it holds version {versions:?}, never sent to it")),
                Some(place) => {
                    newest = newest.max(versions.last().copied().unwrap_or_default());
                    history.missing_before(place, &versions, &mut lost);
                    if let Some(delete) = history.acknowledged_delete_after(place) {
                        findings.resurrected(&name(key), versions.last().copied().unwrap_or_default(), delete);
                    }
                    history.after(Some(place), &mut lost);
                }
            },
        }
        for version in &lost[before..] {
            let at_ns = sent[*version as usize - 1].acknowledged_at_ns.unwrap_or(crash_at_ns);
            findings.lost(&name(key), *version, crash_at_ns.saturating_sub(at_ns) as f64 / 1e9);
        }
    }
    let acknowledged = sent.iter().filter(|entry| entry.acknowledged_at_ns.is_some()).count() as u64;
    let holes = lost.iter().filter(|version| **version < newest).count() as u64;
    findings.client(acknowledged, sent.len() as u64 - acknowledged, lost.len() as u64, holes);
}

/// The writes of one key.
struct History<'a> {
    sent: &'a [SentWrite],
    /// Places in `sent`.
    history: &'a [u32],
}

impl History<'_> {
    fn entry(&self, place: usize) -> &SentWrite {
        &self.sent[self.history[place] as usize]
    }

    fn version(&self, place: usize) -> u32 {
        self.history[place] + 1
    }

    /// The last delete, if a missing key can be its work; `None`: as if nothing was ever written.
    fn last_absent(&self) -> Option<usize> {
        (0..self.history.len()).rev().find(|place| self.entry(*place).kind == WriteKind::Delete)
    }

    /// The write whose value is the last part; `None` where some part is not the key's, or parts are not in the order they were sent.
    fn place_of(&self, versions: &[u32]) -> Option<usize> {
        let mut places = versions.iter().map(|version| self.history.iter().position(|at| at + 1 == *version));
        let first = places.next()??;
        places.try_fold(first, |before, place| place.filter(|place| before < *place))
    }

    /// Acknowledged puts and appends that should be parts of the value that ends with this one, and are not.
    fn missing_before(&self, place: usize, versions: &[u32], lost: &mut Vec<u32>) {
        if self.entry(place).kind != WriteKind::Append {
            return;
        }
        // Back to the put it rests on; where there was a delete, or one in doubt, nothing has to be there.
        for earlier in (0..place).rev() {
            let entry = self.entry(earlier);
            let is_there = versions.contains(&self.version(earlier));
            match (entry.kind, entry.acknowledged_at_ns) {
                (WriteKind::Delete, _) => return,
                (_, Some(_)) if !is_there => lost.push(self.version(earlier)),
                _ => {}
            }
            if entry.kind == WriteKind::Put && (is_there || entry.acknowledged_at_ns.is_some()) {
                return;
            }
        }
    }

    /// Acknowledged writes after this one: none of them is in what was found.
    fn after(&self, place: Option<usize>, lost: &mut Vec<u32>) {
        let from = place.map_or(0, |place| place + 1);
        let deleted = place.is_none_or(|place| self.entry(place).kind == WriteKind::Delete);
        for place in from..self.history.len() {
            let entry = self.entry(place);
            // A delete of what is not there changes nothing.
            if entry.acknowledged_at_ns.is_some() && !(deleted && entry.kind == WriteKind::Delete) {
                lost.push(self.version(place));
            }
        }
    }

    fn acknowledged_delete_after(&self, place: usize) -> Option<u32> {
        let is_delete = |place: &usize| {
            let entry = self.entry(*place);
            entry.kind == WriteKind::Delete && entry.acknowledged_at_ns.is_some()
        };
        (place + 1..self.history.len()).find(is_delete).map(|place| self.version(place))
    }
}

#[cfg(test)]
mod tests;
