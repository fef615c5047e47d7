//! What is wrong with a reply, and the count of such wrongs.

use serde::{Deserialize, Serialize};
use store::{Failure, Reply};
use study::{Reason, ReasonKind};

/// A reply that was not what it had to be. As small as a pointer, so that the answer "nothing is wrong" costs nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Offence(Box<Reason>);

impl Offence {
    /// Makes an offence at `key`, with what was seen.
    #[cold]
    pub fn new(kind: ReasonKind, key: &[u8], seen: impl AsRef<str>) -> Offence {
        Offence::at_large(kind, format!("key {}: {}", printable(key), seen.as_ref()))
    }

    /// Returns an offence that has to do with no key.
    #[cold]
    pub fn at_large(kind: ReasonKind, seen: String) -> Offence {
        Offence(Box::new(Reason { kind, count: 1, example: study::visible(&seen).into_owned() }))
    }

    /// Returns the kind of fault.
    pub fn kind(&self) -> ReasonKind {
        self.0.kind
    }

    /// Returns the offence as a reason of a verdict, counted once.
    pub fn into_reason(self) -> Reason {
        *self.0
    }

    /// Returns the offence of a failed operation, or of a reply of the wrong type.
    #[cold]
    pub fn failed(key: &[u8], reply: &Reply<'_>) -> Offence {
        match reply {
            Reply::Failed(Failure::Refused(words)) => Offence::new(ReasonKind::Refused, key, words),
            Reply::Failed(Failure::NotConnected(words)) => Offence::new(ReasonKind::NotConnected, key, words),
            Reply::Failed(Failure::Unknown(words)) => Offence::new(ReasonKind::Unknown, key, words),
            Reply::Failed(Failure::ConnectionLost(words)) => Offence::new(ReasonKind::ConnectionLost, key, words),
            Reply::Failed(Failure::Protocol(words)) => Offence::new(ReasonKind::Protocol, key, words),
            Reply::Failed(Failure::Deadline) => Offence::new(ReasonKind::Deadline, key, Failure::Deadline.words()),
            other => Offence::new(ReasonKind::WrongReply, key, format!("unexpected reply {}", shape(other))),
        }
    }
}

fn shape(reply: &Reply<'_>) -> String {
    match reply {
        Reply::Value(value) | Reply::Versioned { value, .. } => format!("value of {} bytes", value.len()),
        Reply::Rows(rows) => format!("{} rows", rows.len()),
        other => format!("{other:?}"),
    }
}

/// Returns a key as it can be shown: at most 60 characters, other bytes as `\xNN`.
pub fn printable(key: &[u8]) -> String {
    let text: String = key.iter().take(60).flat_map(|byte| std::ascii::escape_default(*byte)).map(char::from).collect();
    if key.len() > 60 { format!("{text}... ({} bytes)", key.len()) } else { text }
}

/// Counts offences by kind, keeping the first example of each.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Offences {
    reasons: Vec<Reason>,
}

impl Offences {
    /// Counts one.
    #[cold]
    pub fn add(&mut self, offence: Offence) {
        self.count(offence.into_reason());
    }

    /// Adds another thread's.
    pub fn merge(&mut self, other: Offences) {
        other.reasons.into_iter().for_each(|reason| self.count(reason));
    }

    fn count(&mut self, new: Reason) {
        match self.reasons.iter_mut().find(|reason| reason.kind == new.kind) {
            Some(reason) => reason.count += new.count,
            None => self.reasons.push(new),
        }
    }

    /// Returns whether there are any of this kind.
    pub fn has(&self, kind: ReasonKind) -> bool {
        self.reasons.iter().any(|reason| reason.kind == kind)
    }

    /// Returns how many in all.
    pub fn total(&self) -> u64 {
        self.reasons.iter().map(|reason| reason.count).sum()
    }

    /// Returns the offences as reasons of a verdict.
    pub fn into_reasons(self) -> Vec<Reason> {
        self.reasons
    }
}
