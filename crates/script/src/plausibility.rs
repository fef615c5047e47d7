//! How right an answer of the store is.

use crate::kind::KeyKind;

/// The judgement of how right a value that was read is.
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
    /// The script uses the key for something else.
    OtherKind(KeyKind),
}

impl Plausibility {
    /// Returns whether something acknowledged is not to be seen.
    pub(crate) fn is_loss(self) -> bool {
        matches!(self, Plausibility::Missing | Plausibility::Stale)
    }
}
