//! What may failed writes have left?
//!
//! Of a write that failed nobody knows whether it took effect, or still will: at once, late and over others that were acknowledged
//! meanwhile, or never; but not twice. A job knows what a key must hold by the writes that were acknowledged. Where a reply says something
//! else, the job asks here: a failed write may explain the reply. That write has then been seen, what it left is there from then on, and
//! it explains nothing more. Nothing else is forgiven. Nothing is kept of a key before a write of it fails.

use serde::{Deserialize, Serialize};
use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};
use study::WriteAccount;

/// What one failed write may have left.
pub trait Effect {
    /// All that a key holds, or what stands for it.
    type Whole: PartialEq + ?Sized;

    /// Returns how much more a key holds by the write, where what the key holds is counted.
    fn more(&self) -> i64;

    /// Returns what a key holds if the write comes last, however late, where the write replaces what was there.
    fn instead(&self) -> Option<&Self::Whole>;
}

/// A write that replaces all that a key holds by this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replaces<W>(pub W);

impl<W: PartialEq> Effect for Replaces<W> {
    type Whole = W;

    fn more(&self) -> i64 {
        0
    }

    fn instead(&self) -> Option<&W> {
        Some(&self.0)
    }
}

/// The writes of one key that failed, and those that came to nothing for that reason.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Doubt<E> {
    failed: Vec<Failed<E>>,
    unsent: Vec<E>,
    left_out: Vec<E>,
    overwritten: Vec<E>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Failed<E> {
    write: E,
    is_seen: bool,
}

impl<E> Default for Doubt<E> {
    fn default() -> Doubt<E> {
        Doubt { failed: Vec::new(), unsent: Vec::new(), left_out: Vec::new(), overwritten: Vec::new() }
    }
}

impl<E: Effect> Doubt<E> {
    /// Notes that a write failed.
    #[cold]
    pub fn fails(&mut self, write: E) {
        self.failed.push(Failed { write, is_seen: false });
    }

    /// Notes that a write was never sent, because what comes before it failed.
    #[cold]
    pub fn skips(&mut self, write: E) {
        self.unsent.push(write);
    }

    /// Notes that a write was never sent, because the run ended before.
    #[cold]
    pub fn leaves_out(&mut self, write: E) {
        self.left_out.push(write);
    }

    /// Notes that this, which was acknowledged, was written over by a failed write that came late.
    #[cold]
    pub fn overwrites(&mut self, write: E) {
        self.overwritten.push(write);
    }

    /// Adds what another thread knows of the key.
    pub fn merge(&mut self, other: Doubt<E>) {
        self.failed.extend(other.failed);
        self.unsent.extend(other.unsent);
        self.left_out.extend(other.left_out);
        self.overwritten.extend(other.overwritten);
    }

    /// Returns the writes that failed, seen or not, in their order.
    pub fn failed(&self) -> impl Iterator<Item = &E> {
        self.failed.iter().map(|failed| &failed.write)
    }

    /// Returns the writes that were not sent, because what comes before them failed.
    pub fn unsent(&self) -> &[E] {
        &self.unsent
    }

    /// Returns the writes that were not sent, because the run ended before.
    pub fn left_out(&self) -> &[E] {
        &self.left_out
    }

    /// Returns what was acknowledged and written over.
    pub fn overwritten(&self) -> &[E] {
        &self.overwritten
    }

    /// Returns whether this much more may be there than was acknowledged, but not none: all of it is by writes that failed, which have been
    /// seen from then on.
    #[cold]
    pub fn allows_more(&mut self, more: i64) -> bool {
        let unseen = self.failed.iter().filter(|failed| !failed.is_seen).map(|failed| failed.write.more());
        let rest = unseen.fold(more, |rest, step| if is_part(step, rest) { rest - step } else { rest });
        let allows = more != 0 && rest == 0;
        if allows {
            self.shows_more(more);
        }
        allows
    }

    /// Notes that this much more is there than was acknowledged: the failed writes that make it up, as far as they do, have been seen.
    #[cold]
    pub fn shows_more(&mut self, mut more: i64) {
        for failed in self.failed.iter_mut().filter(|failed| !failed.is_seen) {
            failed.is_seen = is_part(failed.write.more(), more);
            more -= if failed.is_seen { failed.write.more() } else { 0 };
        }
    }

    /// Returns whether a failed write that has not been seen would leave this.
    pub fn may_leave(&self, whole: &E::Whole) -> bool {
        self.failed.iter().any(|failed| failed.leaves(whole))
    }

    /// Returns the failed write by which the key may hold this, instead of what was acknowledged; it has been seen from then on.
    #[cold]
    pub fn allows_instead(&mut self, whole: &E::Whole) -> Option<&E> {
        let failed = self.failed.iter_mut().find(|failed| failed.leaves(whole))?;
        failed.is_seen = true;
        Some(&failed.write)
    }

    /// Returns the least and the most that may be there of what is counted, if `right` would be without failures and no write that replaces
    /// comes late. A failed write that was seen is not owed: only what was acknowledged is.
    pub fn bounds(&self, right: u64) -> (u64, u64) {
        let most = right.saturating_sub(sum(&self.unsent) + sum(&self.left_out));
        (most.saturating_sub(sum(self.failed()) + sum(&self.overwritten)), most)
    }

    /// Returns the fate of counted writes, where this many were found and `least` had to be there.
    pub fn account(&self, found: u64, least: u64) -> WriteAccount {
        let failed = sum(self.failed());
        let present = found.saturating_sub(least).min(failed);
        WriteAccount {
            lost: least.saturating_sub(found),
            failed_absent: failed + sum(&self.unsent) - present,
            failed_present: present,
        }
    }
}

impl<E: Effect> Failed<E> {
    fn leaves(&self, whole: &E::Whole) -> bool {
        !self.is_seen && self.write.instead() == Some(whole)
    }
}

/// Whether a step is a part of what there is more, upwards or downwards.
fn is_part(step: i64, more: i64) -> bool {
    step.signum() == more.signum() && step.unsigned_abs() <= more.unsigned_abs()
}

fn sum<'e, E: Effect + 'e>(writes: impl IntoIterator<Item = &'e E>) -> u64 {
    writes.into_iter().map(|write| write.more().unsigned_abs()).sum()
}

/// The keys of which a write failed, and those of which something acknowledged was not to be seen.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound(
    serialize = "K: Serialize, E: Serialize",
    deserialize = "K: Ord + Deserialize<'de>, E: Deserialize<'de>"
))]
pub struct Doubts<K, E> {
    keys: BTreeMap<K, Doubt<E>>,
    lost: BTreeSet<K>,
}

impl<K, E> Default for Doubts<K, E> {
    fn default() -> Doubts<K, E> {
        Doubts { keys: BTreeMap::new(), lost: BTreeSet::new() }
    }
}

impl<K: Ord, E: Effect> Doubts<K, E> {
    /// Returns whether no key is in doubt.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Returns whether this key is in doubt.
    pub fn has<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.keys.contains_key(key)
    }

    /// Returns the doubt about a key; `None`: there is none.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&Doubt<E>>
    where
        K: Borrow<Q>,
    {
        self.keys.get(key)
    }

    /// Returns the doubt about a key, to ask what it allows; `None`: there is none.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut Doubt<E>>
    where
        K: Borrow<Q>,
    {
        self.keys.get_mut(key)
    }

    /// Returns the doubt about a key, which is in doubt from now on.
    #[cold]
    pub fn of(&mut self, key: K) -> &mut Doubt<E> {
        self.keys.entry(key).or_default()
    }

    /// Adds what another thread knows.
    pub fn merge(&mut self, other: Doubts<K, E>) {
        other.keys.into_iter().for_each(|(key, doubt)| self.of(key).merge(doubt));
        self.lost.extend(other.lost);
    }

    /// Forgets all keys but these: others judge those.
    pub fn keep(&mut self, is_kept: impl Fn(&K) -> bool) {
        self.keys.retain(|key, _| is_kept(key));
        self.lost.retain(is_kept);
    }

    /// Notes that something acknowledged of this key was not to be seen.
    #[cold]
    pub fn lose(&mut self, key: K) {
        self.lost.insert(key);
    }

    /// Notes that everything is read again: writes count as seen only if they are seen from now on.
    pub fn reads_again(&mut self) {
        self.keys.values_mut().flat_map(|doubt| &mut doubt.failed).for_each(|failed| failed.is_seen = false);
    }

    /// Returns the fate of the writes, each counted as one, and the number of keys that have lost something.
    pub fn account(&self) -> WriteAccount {
        let mut account = WriteAccount { lost: self.lost.len() as u64, ..WriteAccount::default() };
        for doubt in self.keys.values() {
            let seen = doubt.failed.iter().filter(|failed| failed.is_seen).count();
            account.failed_present += seen as u64;
            account.failed_absent += (doubt.failed.len() - seen + doubt.unsent.len()) as u64;
        }
        account
    }
}

#[cfg(test)]
mod tests;
