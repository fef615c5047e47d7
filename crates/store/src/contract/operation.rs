//! One request to a store.

use crate::SqlValue;
use serde::{Deserialize, Serialize};

/// A request to a store. It borrows its bytes; a session that needs them after `submit` copies them.
#[allow(missing_docs)] // the fields are what their names say
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Operation<'a> {
    /// Reads a value: [`Reply::Value`](crate::Reply::Value) or [`Reply::Missing`](crate::Reply::Missing).
    Get { key: &'a [u8] },
    /// Reads a value with the state that a later compare-and-set needs: `Versioned` or `Missing`.
    GetVersioned { key: &'a [u8] },
    /// Stores a value, replacing any: `Done`.
    Put { key: &'a [u8], value: &'a [u8] },
    /// Removes a key: `Done`, or `Missing` when there was none.
    Delete { key: &'a [u8] },
    /// Adds bytes at the end of a value, creating the key when absent: `Done`, or, where the store says it, `Number` with the bytes
    /// the value has now.
    Append { key: &'a [u8], value: &'a [u8] },
    /// Adds to a counter, creating it at `by` when absent: `Number` with the new count. Counters are a key space of their own: the result of a `Get`
    /// of a counter is not defined.
    Increment { key: &'a [u8], by: i64 },
    /// Reads a counter: `Number` or `Missing`.
    GetCounter { key: &'a [u8] },
    /// Adds to one counter of a record of counters, creating both when absent: `Number`.
    IncrementField { key: &'a [u8], field: &'a [u8], by: i64 },
    /// Reads a record of counters: `Rows` of field and decimal count (no rows: absent).
    GetFields { key: &'a [u8] },
    /// Stores a value only if the key still is as it was read: `Done` or `Conflict`.
    CompareAndSet { key: &'a [u8], expected: Expected<'a>, value: &'a [u8] },
    /// Reads several keys in one request: `Rows` of those present, in the order asked.
    GetMany { keys: &'a [&'a [u8]] },
    /// Stores several pairs in one request: `Done`. The store decides whether the request is atomic.
    PutMany { pairs: &'a [(&'a [u8], &'a [u8])] },
    /// Reads up to `limit` pairs in byte order of keys, from `start` on: `Rows`.
    Scan { start: &'a [u8], limit: u32 },
    /// Stores a value that is gone when its time to live is over, replacing any: `Done`. A later put without one lets it stay.
    PutTtl { key: &'a [u8], value: &'a [u8], ttl_ms: u64 },
    /// Starts the time to live of a key again: `Done`, or `Missing` when there was none.
    Touch { key: &'a [u8], ttl_ms: u64 },
    /// Asks how much of its time to live a key has left: `Number` of milliseconds, [`LASTS`] for a key without one, or `Missing`.
    TimeLeft { key: &'a [u8] },
    /// Sends a command of the store's own, in its words: [`Reply::Tree`](crate::Reply::Tree). Nobody but the asker knows what is right.
    Command { words: &'a [&'a [u8]], key: RouteKey },
    /// Runs a statement of SQL with these parameters: [`Reply::Tree`](crate::Reply::Tree), as of a [`SqlResult`](crate::SqlResult). Nobody but the
    /// asker knows what is right.
    Sql { statement: &'a [u8], values: &'a [SqlValue<'a>] },
}

/// The number that stands for the time left of a key without a time to live.
pub const LASTS: i64 = -1;

/// The place of the key by which a command finds its node, among the words of the command.
pub type RouteKey = Option<usize>;

/// The state of the key when it was read. Stores with versions use the version, others compare the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected<'a> {
    /// The key must not exist.
    Absent,
    /// The key must be as the `Versioned` reply said.
    Present {
        /// The version of that reply.
        version: u64,
        /// The value of that reply.
        value: &'a [u8],
    },
}

/// The kind of an operation, as an index and as a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum OperationKind {
    /// [`Operation::Get`]
    Get,
    /// [`Operation::GetVersioned`]
    GetVersioned,
    /// [`Operation::Put`]
    Put,
    /// [`Operation::Delete`]
    Delete,
    /// [`Operation::Append`]
    Append,
    /// [`Operation::Increment`]
    Increment,
    /// [`Operation::GetCounter`]
    GetCounter,
    /// [`Operation::IncrementField`]
    IncrementField,
    /// [`Operation::GetFields`]
    GetFields,
    /// [`Operation::CompareAndSet`]
    CompareAndSet,
    /// [`Operation::GetMany`]
    GetMany,
    /// [`Operation::PutMany`]
    PutMany,
    /// [`Operation::Scan`]
    Scan,
    /// [`Operation::PutTtl`]
    PutTtl,
    /// [`Operation::Touch`]
    Touch,
    /// [`Operation::TimeLeft`]
    TimeLeft,
    /// [`Operation::Command`]
    Command,
    /// [`Operation::Sql`]
    Sql,
}

impl OperationKind {
    /// The list of all kinds, in index order.
    pub const ALL: [OperationKind; 18] = [
        OperationKind::Get,
        OperationKind::GetVersioned,
        OperationKind::Put,
        OperationKind::Delete,
        OperationKind::Append,
        OperationKind::Increment,
        OperationKind::GetCounter,
        OperationKind::IncrementField,
        OperationKind::GetFields,
        OperationKind::CompareAndSet,
        OperationKind::GetMany,
        OperationKind::PutMany,
        OperationKind::Scan,
        OperationKind::PutTtl,
        OperationKind::Touch,
        OperationKind::TimeLeft,
        OperationKind::Command,
        OperationKind::Sql,
    ];

    /// The kinds that let values expire.
    pub const EXPIRING: [OperationKind; 3] = [OperationKind::PutTtl, OperationKind::Touch, OperationKind::TimeLeft];

    /// The kinds that a store's own language needs.
    pub const OWN: [OperationKind; 2] = [OperationKind::Command, OperationKind::Sql];

    /// Returns the word used in reports and `study.json`.
    pub fn name(self) -> &'static str {
        match self {
            OperationKind::Get => "get",
            OperationKind::GetVersioned => "get_versioned",
            OperationKind::Put => "put",
            OperationKind::Delete => "delete",
            OperationKind::Append => "append",
            OperationKind::Increment => "increment",
            OperationKind::GetCounter => "get_counter",
            OperationKind::IncrementField => "increment_field",
            OperationKind::GetFields => "get_fields",
            OperationKind::CompareAndSet => "compare_and_set",
            OperationKind::GetMany => "get_many",
            OperationKind::PutMany => "put_many",
            OperationKind::Scan => "scan",
            OperationKind::PutTtl => "put_ttl",
            OperationKind::Touch => "touch",
            OperationKind::TimeLeft => "time_left",
            OperationKind::Command => "command",
            OperationKind::Sql => "sql",
        }
    }
}

impl<'a> Operation<'a> {
    /// Returns the operation's kind.
    #[inline]
    pub fn kind(&self) -> OperationKind {
        match self {
            Operation::Get { .. } => OperationKind::Get,
            Operation::GetVersioned { .. } => OperationKind::GetVersioned,
            Operation::Put { .. } => OperationKind::Put,
            Operation::Delete { .. } => OperationKind::Delete,
            Operation::Append { .. } => OperationKind::Append,
            Operation::Increment { .. } => OperationKind::Increment,
            Operation::GetCounter { .. } => OperationKind::GetCounter,
            Operation::IncrementField { .. } => OperationKind::IncrementField,
            Operation::GetFields { .. } => OperationKind::GetFields,
            Operation::CompareAndSet { .. } => OperationKind::CompareAndSet,
            Operation::GetMany { .. } => OperationKind::GetMany,
            Operation::PutMany { .. } => OperationKind::PutMany,
            Operation::Scan { .. } => OperationKind::Scan,
            Operation::PutTtl { .. } => OperationKind::PutTtl,
            Operation::Touch { .. } => OperationKind::Touch,
            Operation::TimeLeft { .. } => OperationKind::TimeLeft,
            Operation::Command { .. } => OperationKind::Command,
            Operation::Sql { .. } => OperationKind::Sql,
        }
    }

    /// Returns the key of an operation on one key.
    #[inline]
    pub fn key(&self) -> Option<&'a [u8]> {
        match self {
            Operation::Get { key }
            | Operation::GetVersioned { key }
            | Operation::Put { key, .. }
            | Operation::Delete { key }
            | Operation::Append { key, .. }
            | Operation::Increment { key, .. }
            | Operation::GetCounter { key }
            | Operation::IncrementField { key, .. }
            | Operation::GetFields { key }
            | Operation::PutTtl { key, .. }
            | Operation::Touch { key, .. }
            | Operation::TimeLeft { key }
            | Operation::CompareAndSet { key, .. } => Some(key),
            Operation::Command { words, key } => key.and_then(|at| words.get(at).copied()),
            Operation::GetMany { .. } | Operation::PutMany { .. } | Operation::Scan { .. } | Operation::Sql { .. } => {
                None
            }
        }
    }

    /// Returns every key that the operation names, in order; for a scan the key where it starts.
    pub fn keys(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let (one, many, pairs): (_, &[&[u8]], &[(&[u8], &[u8])]) = match *self {
            Operation::GetMany { keys } => (None, keys, &[]),
            Operation::PutMany { pairs } => (None, &[], pairs),
            Operation::Scan { start, .. } => (Some(start), &[], &[]),
            _ => (self.key(), &[], &[]),
        };
        one.into_iter().chain(many.iter().copied()).chain(pairs.iter().map(|(key, _)| *key))
    }

    /// Returns the key and value bytes this operation writes; 0 for reads.
    #[inline]
    pub fn bytes_written(&self) -> u64 {
        match self {
            Operation::Put { key, value }
            | Operation::PutTtl { key, value, .. }
            | Operation::Append { key, value }
            | Operation::CompareAndSet { key, value, .. } => (key.len() + value.len()) as u64,
            Operation::Increment { key, .. } => key.len() as u64 + 8,
            Operation::IncrementField { key, field, .. } => (key.len() + field.len()) as u64 + 8,
            Operation::PutMany { pairs } => pairs.iter().map(|(key, value)| (key.len() + value.len()) as u64).sum(),
            _ => 0,
        }
    }
}

/// A set of operation kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationSet(u32);

impl OperationSet {
    /// The set of get, put and delete, which every store has.
    pub const BASIC: OperationSet = OperationSet::of(&[OperationKind::Get, OperationKind::Put, OperationKind::Delete]);

    /// The set of all but those on values that expire, commands of a store's own, and SQL.
    pub const LASTING: OperationSet =
        OperationSet::of(&OperationKind::ALL).without(&OperationKind::EXPIRING).without(&OperationKind::OWN);

    /// Makes the set of these kinds.
    pub const fn of(kinds: &[OperationKind]) -> OperationSet {
        let mut bits = 0;
        let mut at = 0;
        while at < kinds.len() {
            bits |= 1 << kinds[at] as u32;
            at += 1;
        }
        OperationSet(bits)
    }

    /// Returns this set with these kinds added.
    pub const fn and(self, kinds: &[OperationKind]) -> OperationSet {
        OperationSet(self.0 | OperationSet::of(kinds).0)
    }

    /// Returns this set with these kinds taken away.
    pub const fn without(self, kinds: &[OperationKind]) -> OperationSet {
        OperationSet(self.0 & !OperationSet::of(kinds).0)
    }

    /// Returns whether `kind` is in the set.
    pub const fn has(self, kind: OperationKind) -> bool {
        self.0 & (1 << kind as u32) != 0
    }

    /// Returns the kinds in this set, in index order.
    pub fn kinds(self) -> impl Iterator<Item = OperationKind> {
        OperationKind::ALL.into_iter().filter(move |kind| self.has(*kind))
    }
}
