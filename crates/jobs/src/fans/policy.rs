//! How several clients keep out of each other's read-modify-writes, and what a record is made of.

use jobkit::JobError;
use store::{Capabilities, OperationKind};

/// The policy that keeps concurrent updates of one page apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Each page belongs to one slot.
    Partition,
    /// The store's own compare-and-set, repeated until it succeeds.
    Cas,
    /// A lock a page, in the client.
    Lock,
    /// Nothing: updates get lost, and the answer says how many.
    None,
}

impl Policy {
    /// Reads `--set policy=`.
    ///
    /// # Errors
    /// Names the possible values.
    pub fn parse(word: &str) -> Result<Policy, JobError> {
        match word {
            "partition" => Ok(Policy::Partition),
            "cas" => Ok(Policy::Cas),
            "lock" => Ok(Policy::Lock),
            "none" => Ok(Policy::None),
            other => Err(JobError(format!("policy={other} is not possible; use partition, cas, lock or none"))),
        }
    }
}

/// The form in which a page is kept in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// A value per page: a JSON record, read, merged and written back.
    Blob,
    /// The store's own counters: one per page, and a record of counters for its partners.
    Counters,
}

impl Variant {
    /// Reads `--set variant=`.
    ///
    /// # Errors
    /// Names the possible values.
    pub fn parse(word: &str) -> Result<Variant, JobError> {
        match word {
            "blob" => Ok(Variant::Blob),
            "counters" => Ok(Variant::Counters),
            other => Err(JobError(format!("variant={other} is not possible; use blob or counters"))),
        }
    }
}

/// Checks that the store has the operations this combination needs; else says what to set instead.
///
/// # Errors
/// When the store lacks one.
pub fn check_operations(policy: Policy, variant: Variant, store: &Capabilities) -> Result<(), JobError> {
    use OperationKind::{CompareAndSet, Get, GetCounter, GetFields, GetVersioned, Increment, IncrementField, Put};
    let (needed, remedy): (&[OperationKind], &str) = match (variant, policy) {
        (Variant::Counters, _) => {
            (&[Increment, IncrementField, GetCounter, GetFields], "set variant=blob, which needs only get and put")
        }
        (Variant::Blob, Policy::Cas) => (&[GetVersioned, CompareAndSet, Get], "set policy=partition or policy=lock"),
        (Variant::Blob, _) => (&[Get, Put], "choose another store"),
    };
    let missing: Vec<&str> = needed.iter().filter(|kind| !store.has(**kind)).map(|kind| kind.name()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let what = match variant {
        Variant::Counters => "variant=counters",
        Variant::Blob if policy == Policy::Cas => "policy=cas",
        Variant::Blob => "fans",
    };
    Err(JobError(format!("{what} needs {}, which this store does not have; {remedy}", missing.join(", "))))
}
