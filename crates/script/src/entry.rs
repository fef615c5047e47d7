//! One key of the ledger: what it holds, and what it may be seen to hold.

use crate::ledger::{OtherWriter, Sharing};
use std::collections::HashSet;
use store::Slot;

/// The fingerprint of a value; `None`: there is none.
pub(crate) type Fingerprinted = Option<u64>;

/// Who does something, and in which phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Claim {
    pub(crate) slot: Slot,
    pub(crate) phase: u16,
}

/// When a reader asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Since {
    /// When the key had been written so often.
    Version(u32),
    /// At a moment of the ledger's: for readers of many keys.
    Moment(u64),
}

/// How right a value that was read is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plausibility {
    /// It may be so.
    Right,
    /// It must be there and is not.
    Missing,
    /// It must not be there and is.
    Unexpected,
    /// It is what was there before a write that was acknowledged.
    Stale,
    /// Nobody wrote that.
    Wrong,
    /// Nobody wrote the key.
    Foreign,
}

/// States before the present one that are kept.
const PAST: usize = 4;

/// What is known of a key.
#[derive(Default)]
pub(crate) struct KeyState {
    writer: Option<Claim>,
    /// The last state that was acknowledged.
    now: Fingerprinted,
    /// The states before, the newest first, each with the moment it was replaced.
    past: [(Fingerprinted, u64); PAST],
    /// Writes that were acknowledged.
    pub(crate) version: u32,
    /// What is being written.
    flying: Option<Fingerprinted>,
    /// A write failed: what is there now nobody knows.
    doubtful: bool,
    /// Bytes of the value.
    pub(crate) bytes: u64,
    /// The value itself, where values are kept.
    pub(crate) value: Option<Vec<u8>>,
    /// Of a key with several writers: what was ever written, and the last of each.
    crowd: Option<Box<Crowd>>,
}

#[derive(Default)]
struct Crowd {
    ever: HashSet<Fingerprinted>,
    /// Of the phase in which it was last written.
    last: Vec<(Claim, Fingerprinted)>,
    flying: u32,
}

impl KeyState {
    /// Takes the key for this writer.
    pub(crate) fn claim(&mut self, by: Claim, sharing: Sharing) -> Result<(), OtherWriter> {
        match self.writer {
            Some(other) if other.phase == by.phase && other.slot != by.slot && sharing == Sharing::OneWriter => {
                Err(OtherWriter(other.slot))
            }
            _ => {
                self.writer = Some(by);
                Ok(())
            }
        }
    }

    /// A write is sent.
    pub(crate) fn starts(&mut self, state: Fingerprinted, sharing: Sharing) {
        if sharing == Sharing::OneWriter {
            self.flying = Some(state);
            return;
        }
        let before = self.now;
        let crowd =
            self.crowd.get_or_insert_with(|| Box::new(Crowd { ever: HashSet::from([before]), ..Crowd::default() }));
        crowd.ever.insert(state);
        crowd.flying += 1;
    }

    /// It was acknowledged.
    pub(crate) fn ends(&mut self, by: Claim, state: Fingerprinted, moment: u64, sharing: Sharing) {
        self.past.rotate_right(1);
        self.past[0] = (self.now, moment);
        self.now = state;
        self.version = self.version.wrapping_add(1);
        self.flying = None;
        if sharing == Sharing::OneWriter {
            self.doubtful = false;
        } else if let Some(crowd) = &mut self.crowd {
            crowd.flying = crowd.flying.saturating_sub(1);
            crowd.last.retain(|(writer, _)| writer.phase == by.phase);
            match crowd.last.iter_mut().find(|(writer, _)| *writer == by) {
                Some((_, last)) => *last = state,
                None => crowd.last.push((by, state)),
            }
        }
    }

    /// Nobody knows whether it took place.
    pub(crate) fn doubt(&mut self) {
        self.doubtful = true;
        self.withdraw();
    }

    /// It did not take place.
    pub(crate) fn withdraw(&mut self) {
        self.flying = None;
        if let Some(crowd) = &mut self.crowd {
            crowd.flying = crowd.flying.saturating_sub(1);
        }
    }

    /// Whether it may have been seen so by a client that asked when the key had this version.
    pub(crate) fn judge(&self, by: Claim, since: Since, seen: Fingerprinted, sharing: Sharing) -> Plausibility {
        if self.doubtful {
            return Plausibility::Right;
        }
        if let (Sharing::Shared, Some(crowd)) = (sharing, &self.crowd) {
            return if crowd.ever.contains(&seen) { Plausibility::Right } else { self.wrong(seen) };
        }
        // What the reply may show: the present, what is under way, and all that was there since it was asked for.
        let writes = match since {
            Since::Version(version) => self.version.wrapping_sub(version) as usize,
            Since::Moment(moment) => {
                let known = (self.version as usize).min(PAST);
                let later = self.past[..known].iter().take_while(|(_, replaced)| *replaced >= moment).count();
                if later == PAST { PAST + 1 } else { later }
            }
        };
        let own = self.writer == Some(by);
        let was = |seen: Fingerprinted| self.past[..writes].iter().any(|(state, _)| *state == seen);
        if seen == self.now || (!own && (self.flying == Some(seen) || writes > PAST || was(seen))) {
            return Plausibility::Right;
        }
        self.wrong(seen)
    }

    /// Whether it may be so when nothing is under way any more.
    pub(crate) fn judge_last(&self, seen: Fingerprinted, sharing: Sharing) -> Plausibility {
        if self.doubtful || seen == self.now || self.flying == Some(seen) {
            return Plausibility::Right;
        }
        if let (Sharing::Shared, Some(crowd)) = (sharing, &self.crowd)
            && (crowd.last.iter().any(|(_, last)| *last == seen) || (crowd.flying > 0 && crowd.ever.contains(&seen)))
        {
            return Plausibility::Right;
        }
        self.wrong(seen)
    }

    fn wrong(&self, seen: Fingerprinted) -> Plausibility {
        let known = self.past[..(self.version as usize).min(PAST)].iter().any(|(state, _)| *state == seen);
        match seen {
            None => Plausibility::Missing,
            Some(_) if self.version > 0 && known => Plausibility::Stale,
            Some(_) if self.now.is_none() => Plausibility::Unexpected,
            Some(_) => Plausibility::Wrong,
        }
    }

    /// Whether a reader must find it there: nobody but he may have taken it away meanwhile.
    pub(crate) fn must_be_there(&self, by: Claim) -> bool {
        let quiet = match (self.writer, &self.crowd) {
            (Some(writer), None) => writer == by || writer.phase != by.phase,
            (Some(writer), Some(_)) => writer.phase != by.phase,
            (None, _) => false,
        };
        quiet && self.now.is_some() && !self.is_unsure()
    }

    /// Whether it holds a value.
    pub(crate) fn is_there(&self) -> bool {
        self.now.is_some()
    }

    /// Whether it may hold something else.
    pub(crate) fn is_unsure(&self) -> bool {
        self.doubtful
            || self.flying.is_some()
            || self.crowd.as_ref().is_some_and(|crowd| crowd.last.len() > 1 || crowd.flying > 0)
    }
}
