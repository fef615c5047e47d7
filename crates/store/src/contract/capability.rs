//! What a store does natively, and how large a key and a value may be.

use crate::{KeepSets, OperationKind, OperationSet, SetWay, Store, Support};
use serde::{Deserialize, Serialize};
use study::{Durability, Spec, Target};

/// The keeping of values: whether a store keeps the values it is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Keeps {
    /// Every value put is there. Answers are verified.
    Everything,
    /// The null store: gets miss, puts vanish. Only its speed means something.
    Nothing,
}

/// The behaviour of a counter beyond its bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Overflow {
    /// The store refuses the increment.
    Refused,
    /// The counter wraps around.
    Wraps,
    /// The counter stays at the bound.
    Saturates,
    /// Something else, and what was counted is lost.
    Undefined,
}

/// The worth of a delete's answer when several clients delete one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Deletes {
    /// Exactly one client hears that the key was there.
    OneIsTold,
    /// The store does not say whether there was a key, so the adapter looks first: several clients may hear that the key was there.
    AfterALook,
}

/// The range of a native counter, as far as an `i64` can show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counter {
    /// The smallest value.
    pub min: i64,
    /// The largest value (`i64::MAX` also for unsigned 64-bit counters, whose upper half no reply can show).
    pub max: i64,
    /// The behaviour beyond `max`.
    pub overflow: Overflow,
}

/// The words of a store without expiry to a client that asks for it nevertheless.
pub const NOTHING_EXPIRES: &str = "nothing expires in this store";

/// The exactness with which a store lets values expire, as it declares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expiry {
    /// The unit in which a time to live is counted: any time is a multiple of it.
    pub grain_ms: u64,
    /// The shortest time to live.
    pub least_ms: u64,
    /// How long before its time a value may be gone.
    pub early_ms: u64,
    /// How long after its time a value may still be answered.
    pub late_ms: u64,
    /// The longest time to live.
    pub most_ms: u64,
}

impl Expiry {
    /// The expiry of a store that keeps milliseconds and looks at the clock when a value is asked for.
    pub const IN_MS: Expiry =
        Expiry { grain_ms: 1, least_ms: 1, early_ms: 10, late_ms: 10, most_ms: 100 * 365 * 86_400_000 };

    /// Returns the expiry of a store that counts seconds, and may be that early and that late.
    pub const fn in_seconds(early_ms: u64, late_ms: u64, most_ms: u64) -> Expiry {
        Expiry { grain_ms: 1000, least_ms: 1000, early_ms, late_ms, most_ms }
    }

    /// Checks a time to live.
    ///
    /// # Errors
    /// Says what the store takes instead.
    pub fn check(&self, ttl_ms: u64) -> Result<(), String> {
        match ttl_ms {
            _ if ttl_ms > self.most_ms => Err(format!("this store takes at most {} s", self.most_ms / 1000)),
            _ if ttl_ms < self.least_ms => {
                Err(format!("this store keeps a value for at least {} ms; use {}ms", self.least_ms, self.least_ms))
            }
            _ if !ttl_ms.is_multiple_of(self.grain_ms) => {
                let above_ms = ttl_ms.next_multiple_of(self.grain_ms);
                Err(format!("this store counts in steps of {} ms; use {above_ms}ms", self.grain_ms))
            }
            _ => Ok(()),
        }
    }
}

/// The certainty of a store's durability level: whether the level is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LevelKnown {
    /// The level was set, is read from the store, or is the only one such a store has.
    Known,
    /// The store does not report the level: the level is the one that the user states, or the usual one.
    Unknown,
}

impl LevelKnown {
    /// Returns whether the level is known, for a store whose level is set where it is private, and that cannot report it.
    pub fn where_private(spec: &Spec) -> LevelKnown {
        match spec.target {
            Target::Server(_) => LevelKnown::Unknown,
            Target::Private | Target::Path(_) => LevelKnown::Known,
        }
    }
}

/// The operations a store does natively, and its limits. Jobs are refused and crashes are planned by what a store says before it is opened, so the
/// abilities it has as a whole are declared here, too; [`Capabilities::given`] is what an open store really has of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capabilities {
    /// The operations the store has itself. A job emulates missing operations and says so.
    pub native: OperationSet,
    /// The shortest key.
    pub min_key_bytes: usize,
    /// The longest key.
    pub max_key_bytes: usize,
    /// The longest value the store declares (or the largest kvtrial will ever send it). One byte more must be refused cleanly, unless
    /// `value_limit_is_hard` is false.
    pub max_value_bytes: usize,
    /// Whether the store itself refuses a value one byte longer; false where the limit is only ours.
    pub value_limit_is_hard: bool,
    /// Whether the store keeps anything.
    pub keeps: Keeps,
    /// The worth of the answer to a delete.
    pub deletes: Deletes,
    /// The range of the store's counters; `None` without native increments.
    pub counter: Option<Counter>,
    /// The exactness with which values expire; `None` without native expiry.
    pub expiry: Option<Expiry>,
    /// The durability level in effect.
    pub durability: Durability,
    /// Whether the level is known.
    pub level: LevelKnown,
    /// Whether the store can rewrite its files without deleted or replaced values, when asked ([`Compact`](crate::Compact)).
    pub compaction: Support,
    /// Whether the store can bring its log into its files, when asked ([`Checkpoint`](crate::Checkpoint)).
    pub checkpoint: Support,
    /// Whether the store counts and sums over JSON documents itself ([`Reduce`](crate::Reduce)).
    pub reduction: Support,
    /// The way in which the store itself keeps and combines sets of ids ([`KeepSets`](crate::KeepSets)); `None`: it has
    /// no sets.
    #[serde(skip)] // named by text that lives as long as the program: who needs it asks the declaration
    pub sets: Option<SetWay>,
    /// The databases an address may name.
    pub databases: Databases,
}

/// The databases that the address of a store may name behind its `/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Databases {
    /// Any; whether it is there only the server knows.
    Named,
    /// The first, `0`, as the only one.
    OnlyFirst,
    /// None.
    Absent,
}

impl Databases {
    /// Checks the database that an address names.
    ///
    /// # Errors
    /// Says why there is none, and what to leave out.
    pub fn check(self, name: &str) -> Result<(), String> {
        match self {
            Databases::OnlyFirst if name != "0" => {
                Err(format!("a cluster has only database 0; leave '/{name}' out of the address"))
            }
            Databases::Absent => Err(format!("it has no databases; leave '/{name}' out of the address")),
            Databases::Named | Databases::OnlyFirst => Ok(()),
        }
    }
}

impl Capabilities {
    /// The capabilities of a store with get, put and delete of any bytes up to 1 GiB, kept, no counters, nothing durable.
    pub const BASIC: Capabilities = Capabilities {
        native: OperationSet::BASIC,
        min_key_bytes: 0,
        max_key_bytes: 64 << 10,
        max_value_bytes: 1 << 30,
        value_limit_is_hard: false,
        keeps: Keeps::Everything,
        deletes: Deletes::OneIsTold,
        counter: None,
        expiry: None,
        durability: Durability::None,
        level: LevelKnown::Known,
        compaction: Support::Absent,
        checkpoint: Support::Absent,
        reduction: Support::Absent,
        sets: None,
        databases: Databases::Named,
    };

    /// Returns the capabilities of an open store, where each ability is there by its object alone.
    pub fn given(store: &dyn Store) -> Capabilities {
        let maintenance = store.maintenance();
        Capabilities {
            compaction: Support::given(maintenance.compaction),
            checkpoint: Support::given(maintenance.checkpoint),
            reduction: Support::given(store.reduces()),
            sets: store.sets().map(KeepSets::way),
            ..store.capabilities().clone()
        }
    }

    /// Returns whether the store has this operation itself.
    pub fn has(&self, kind: OperationKind) -> bool {
        self.native.has(kind)
    }
}
