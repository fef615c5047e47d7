//! Why a script may not do what it is about to do: in words, with the remedy.

use crate::kind::KeyKind;
use store::Slot;

/// Why a script may not do what it is about to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Clash {
    /// Another client has written the key in this phase.
    OtherWriter(Slot),
    /// The script uses the key for this already.
    OtherKind(KeyKind),
    /// A counter may come to numbers that are beyond those it can hold.
    OutOfRange {
        /// One of them.
        comes_to: i128,
        /// The least and the most it can hold.
        range: (i64, i64),
    },
}

/// The way a script counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counting {
    /// By counters of the store, if at all.
    ByStore,
    /// By a get and a put: the store has no counters.
    ByGetAndPut,
}

impl Clash {
    /// Says what the clash is, of a client that uses this key.
    pub(crate) fn explain(&self, key: &[u8], slot: Slot, counting: Counting) -> String {
        let key = jobkit::printable(key);
        match self {
            Clash::OtherWriter(other) if counting == Counting::ByGetAndPut => format!(
                "key {key} is written by client {}, and client {} has written it in the same phase. Give each key one writer \
                 (if client:owns(key) then ...). This store has no counters of its own: kv.increment is a get and a put here, so \
                 each counter needs a client of its own, too",
                slot + 1,
                other + 1
            ),
            Clash::OtherWriter(other) => format!(
                "key {key} is written by client {}, and client {} has written it in the same phase. Give each key one writer \
                 (if client:owns(key) then ...), or say kv.shared(true) at the top level: then a read is checked less strictly",
                slot + 1,
                other + 1
            ),
            Clash::OtherKind(kind) => {
                let remedy = match kind {
                    KeyKind::Value => "kv.get reads it",
                    KeyKind::Counter => "kv.get_counter reads it",
                    KeyKind::Record => "kv.get_fields reads it",
                    KeyKind::Command => {
                        "only kv.command and kv.delete know it, as nobody but the script judges what commands do to it"
                    }
                };
                let names = match kind {
                    KeyKind::Command => "Give it a name of its own",
                    _ => "Give values, counters, records of counters and what kv.command uses names of their own",
                };
                format!("key {key} is {kind}: {remedy}. {names}")
            }
            Clash::OutOfRange { comes_to, range: (least, most) } => format!(
                "counter {key} may come to {comes_to}; counters of this store go from {least} to {most}. Keep it within, or use another \
                 store"
            ),
        }
    }
}
