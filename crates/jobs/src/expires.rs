//! The way in which values with a time to live expire, for the jobs that have some.

use store::{Capabilities, Expiry, OperationKind};

/// Bytes behind the value where the store does not expire it: the moment at which its time is over.
pub const MOMENT_BYTES: usize = 8;

/// The name of the emulation, as a cell has it.
pub const BY_READER: &str = "expiry by a time in the value";

/// The way in which values expire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expires {
    /// In the store itself.
    InStore(Expiry),
    /// By a moment in the value, which the reader compares: the store keeps the value until it is put again or deleted.
    ByReader,
}

impl Expires {
    /// Returns the way of a store.
    pub fn of(store: &Capabilities) -> Expires {
        match store.has(OperationKind::PutTtl) {
            true => Expires::InStore(store.expiry.unwrap_or(Expiry::IN_MS)),
            false => Expires::ByReader,
        }
    }

    /// Returns the unit in which a time to live is counted.
    pub fn grain_ms(self) -> u64 {
        match self {
            Expires::InStore(Expiry { grain_ms, .. }) => grain_ms,
            Expires::ByReader => 1,
        }
    }

    /// Returns how long before its time a value may be gone, and how long after it may be there.
    pub fn slack_ns(self) -> (u64, u64) {
        match self {
            Expires::InStore(Expiry { early_ms, late_ms, .. }) => (early_ms * 1_000_000, late_ms * 1_000_000),
            Expires::ByReader => (0, 0),
        }
    }
}

/// Returns a time for people: `1.25 s`, `12 ms`.
pub fn shown(ns: u64) -> String {
    match ns {
        1_000_000_000.. => format!("{:.2} s", ns as f64 / 1e9),
        _ => format!("{} ms", ns.div_ceil(1_000_000)),
    }
}

/// Writes a moment behind a value.
pub fn push_moment(over_ns: u64, value: &mut Vec<u8>) {
    value.extend_from_slice(&over_ns.to_le_bytes());
}

/// Returns the value without the moment behind it, if that is later than now; `None`: its time is over. A value without a moment comes back as it is.
pub fn alive(value: &[u8], now_ns: u64) -> Option<&[u8]> {
    match value.split_last_chunk::<MOMENT_BYTES>() {
        Some((value, over_ns)) => (u64::from_le_bytes(*over_ns) > now_ns).then_some(value),
        None => Some(value),
    }
}
