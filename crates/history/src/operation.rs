//! One operation of one client.

/// The action of an operation, with the versions it wrote and saw. Version 0 is the key before its first write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Deed {
    /// A read that was answered with this version.
    Read(u64),
    /// A read that found nothing: what the delete of this version left, or the key before its first write. Which delete that was need not be
    /// known when the operation is recorded.
    Missed(u64),
    /// A write of this version, whatever was there.
    Write(u64),
    /// A delete, whatever was there; its version is one of the key's, as a write's is.
    Delete(u64),
    /// A write that took the place of one version by another, as a successful compare-and-set does.
    Swap {
        /// The version it found.
        from: u64,
        /// The version it left.
        to: u64,
    },
}

/// An operation, with the time in which it can have taken effect. What was refused has none, and is no part of a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Encounter {
    /// The client; it sends one operation after the other.
    pub client: u32,
    /// The key.
    pub key: u64,
    /// What it did.
    pub action: Deed,
    /// When it was sent.
    pub sent_ns: u64,
    /// When it was answered; `None`: never, so that it may have happened at any time after it was sent, or never.
    pub answered_ns: Option<u64>,
}

impl Encounter {
    /// Returns the version that it saw or left.
    pub fn version(&self) -> u64 {
        match self.action {
            Deed::Read(version)
            | Deed::Missed(version)
            | Deed::Write(version)
            | Deed::Delete(version)
            | Deed::Swap { to: version, .. } => version,
        }
    }

    /// Returns whether it left a version.
    pub fn writes(&self) -> bool {
        !matches!(self.action, Deed::Read(_) | Deed::Missed(_))
    }

    /// Returns the end of the time in which it took effect; the end of time where it was not answered.
    #[inline]
    pub(crate) fn end_ns(&self) -> i64 {
        self.answered_ns.map_or(i64::MAX, |at| at as i64)
    }

    /// Returns the beginning of that time.
    #[inline]
    pub(crate) fn begin_ns(&self) -> i64 {
        self.sent_ns as i64
    }
}
