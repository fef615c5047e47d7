//! The optional abilities of a store: each is an object that a store with the ability gives, and another store does not.

use crate::{Keepers, Reduction, ReductionGroup, SetKeeper, SetPlan, SetWay, StoreError};
use std::time::{Duration, Instant};

/// The ability to rewrite files without deleted or replaced values.
pub trait Compact {
    /// Rewrites the store's files, and returns when that is done; `patience` is the longest a server may take.
    ///
    /// # Errors
    /// The store's words, or that it took too long.
    fn compact(&self, patience: Duration) -> Result<(), StoreError>;
}

/// The ability to bring the log into the files.
pub trait Checkpoint {
    /// Brings the store's log into its files, and returns when that is done; `patience` is the longest a server may take.
    ///
    /// # Errors
    /// The store's words, or that it took too long.
    fn checkpoint(&self, patience: Duration) -> Result<(), StoreError>;
}

/// The work that a store does on its files when told to.
#[derive(Clone, Copy, Default)]
pub struct Maintenance<'a> {
    /// The rewriting of the files.
    pub compaction: Option<&'a dyn Compact>,
    /// The bringing of the log into the files.
    pub checkpoint: Option<&'a dyn Checkpoint>,
}

/// The ability to count and sum over JSON documents.
pub trait Reduce {
    /// Counts and sums over all documents, in the store. The groups may come in any order; `patience` is the longest a server may take.
    ///
    /// # Errors
    /// The store's words, or that it took too long.
    fn reduce(&self, reduction: &Reduction, patience: Duration) -> Result<Vec<ReductionGroup>, StoreError>;
}

/// The ability to keep and combine sets of ids.
pub trait KeepSets {
    /// Returns the way in which the store keeps them.
    fn way(&self) -> SetWay;

    /// Makes empty sets of ids, kept in the store's way; `patience` is the longest a server may take for one request.
    ///
    /// # Errors
    /// The store's words.
    fn set_keeper(&self, plan: SetPlan, patience: Duration) -> Result<Box<dyn SetKeeper>, StoreError>;
}

/// The things that an adapter has made in a server: tables, collections, databases.
pub enum Belongings<'a> {
    /// The things that hold the keys, by kind and name. They are left in place: the keys lie among the keys of others.
    Left(Vec<String>),
    /// The adapter's own tables, in which nothing of others can be.
    Own(&'a dyn OwnTables),
}

impl Belongings<'_> {
    /// Returns the kind and name of each.
    pub fn names(&self) -> Vec<String> {
        match self {
            Belongings::Left(names) => names.clone(),
            Belongings::Own(tables) => tables.names(),
        }
    }
}

/// The tables that an adapter has made for itself: in a store of the user's their rows are from an earlier run.
pub trait OwnTables {
    /// Returns the kind and name of everything that the adapter has made.
    fn names(&self) -> Vec<String>;

    /// Returns the number of rows in the tables.
    ///
    /// # Errors
    /// The store cannot be reached or refuses.
    fn rows(&self) -> Result<u64, StoreError>;

    /// Makes the tables again. Connecting never does that to tables with rows.
    ///
    /// # Errors
    /// The store cannot be reached or refuses.
    fn clear(&self) -> Result<(), StoreError>;

    /// Removes everything the adapter has made, as far as nothing of others can be in it. Nothing else can be done with the store then.
    ///
    /// # Errors
    /// The store cannot be reached or refuses.
    fn unmake(&self) -> Result<(), StoreError>;
}

/// The ability to say what the store does besides answering: evidence for the cause of a stall.
pub trait Witness {
    /// Notes what the store is doing. Called now and then, by no client's thread, while a phase runs whose stalls will have to be explained: a store
    /// that only reports its present work notes it for [`happened`](Witness::happened). A store that does not answer holds this call up for about
    /// `within` at most: the phase may be over by then.
    fn look(&self, within: Duration) {
        let _ = within;
    }

    /// Returns the events since the store was opened, as far as the store knows them. Called outside the clock.
    fn happened(&self) -> Vec<Happening>;
}

/// An event in a store, besides answering.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Happening {
    /// A word for the cause: `rehash`, `fork`, `compaction`.
    pub cause: &'static str,
    /// The start of the event; `None`: only its length is known.
    pub start: Option<Instant>,
    /// The length of the event.
    pub duration: Duration,
    /// The store's own words on the event.
    pub detail: String,
}

/// The ability of a cluster to say which node has a key.
pub trait Cluster {
    /// Returns where keys are just now.
    ///
    /// # Errors
    /// No node says where keys are.
    fn keepers(&self) -> Result<Box<dyn Keepers>, StoreError>;
}

/// Returns the ability's object, where a store is asked for an ability that it was found to have.
///
/// # Errors
/// The store does not have it after all.
pub fn needed<'a, T: ?Sized>(ability: Option<&'a T>, name: &str) -> Result<&'a T, StoreError> {
    ability.ok_or_else(|| StoreError::Session(format!("this store has no {name}")))
}
