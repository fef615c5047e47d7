//! What a key is used for. Values, counters, records of counters and what commands use have names of their own: what a store says of a counter that is read as
//! a value is not defined.

use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};

/// The use of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum KeyKind {
    Value = 1,
    Counter,
    Record,
    Command,
}

impl fmt::Display for KeyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            KeyKind::Value => "a value",
            KeyKind::Counter => "a counter",
            KeyKind::Record => "a record of counters",
            KeyKind::Command => "a key of commands",
        })
    }
}

/// The use of one key; nothing, until the key is used.
#[derive(Default)]
pub(crate) struct KindCell(AtomicU8);

impl KindCell {
    /// Returns what the key is used for.
    #[inline]
    pub(crate) fn get(&self) -> Option<KeyKind> {
        match self.0.load(Ordering::SeqCst) {
            1 => Some(KeyKind::Value),
            2 => Some(KeyKind::Counter),
            3 => Some(KeyKind::Record),
            4 => Some(KeyKind::Command),
            _ => None,
        }
    }

    /// Notes that the key is used for this kind from now on; or returns the other kind it is used for.
    #[inline]
    pub(crate) fn claim(&self, kind: KeyKind) -> Result<(), KeyKind> {
        match self.get() {
            Some(known) if known == kind => Ok(()),
            Some(other) => Err(other),
            None => {
                let _ = self.0.compare_exchange(0, kind as u8, Ordering::SeqCst, Ordering::SeqCst);
                self.get().filter(|known| *known != kind).map_or(Ok(()), Err)
            }
        }
    }
}
