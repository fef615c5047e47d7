//! LightCloud's two rings (Amir Salihefendic, 2009, over Tokyo Tyrant), in our words.
//!
//! *Lookup* nodes keep, under each key, the name of the storage node that has its value; the *storage* ring only decides where a new key
//! goes. So a storage node that joins moves nothing: the keys it would own stay where the lookup nodes say.
//!
//! * get: the storage node that owns the key; if that has nothing, the one that the lookup nodes name.
//! * put: the storage node that the lookup nodes name; for a key they do not know the name is recorded first, then the value put.
//! * delete: there, and on both lookup nodes.
//! * A key is looked up on the first two lookup nodes clockwise. Found on the second, the record moves to the first: that is how records
//!   follow when a lookup node joins. A record further away than that can no longer be found, nor its value.

use super::stepping::{Ask, Begin, Gift, Next, Request};
use crate::placement::NameRing;
use store::{Failure, Operation, Reply};

/// The nodes where keys and their records belong. Storage nodes have the numbers from 0, lookup nodes the numbers behind all storage nodes.
#[derive(Clone, Debug)]
pub(super) struct Rings {
    storage: NameRing,
    lookup: NameRing,
    first_lookup: usize,
}

/// What a storage node is called.
fn name(node: usize) -> String {
    format!("storage{}", node + 1)
}

/// The node of that name.
fn named(name: &[u8]) -> Option<usize> {
    let number: usize = std::str::from_utf8(name).ok()?.strip_prefix("storage")?.parse().ok()?;
    number.checked_sub(1)
}

/// The action of an operation in the place where its key lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Get,
    Put,
    Delete,
}

/// The question a node is asked.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// The value, of the storage node that owns the key.
    Owner,
    /// The record, of the first lookup node.
    First(Purpose),
    /// The record, of the second.
    Second(Purpose),
    /// The first to keep what the second had.
    Copy(Purpose, usize),
    /// The second to forget it.
    Forget(Purpose, usize),
    /// The first to write down where a new key goes.
    Enter(usize),
    /// The operation itself, of the node that was named.
    There(Purpose),
    /// The first to forget a key that is deleted; whether there was one.
    Clear(bool),
    /// The second to.
    ClearSecond(bool),
}

const REFUSAL: &str = "two rings serve get, put and delete of single keys";
const NO_NAME: &str = "a lookup node keeps something other than the name of a storage node";

impl Rings {
    /// Returns `storage` nodes have keys, of `all` there are; lookup nodes are behind those.
    pub fn new(storage: usize, all: usize, lookups: usize) -> Rings {
        Rings {
            storage: NameRing::new((0..storage).map(name)),
            lookup: NameRing::new((1..=lookups).map(|number| format!("lookup{number}"))),
            first_lookup: all,
        }
    }

    pub fn storage_nodes(&self) -> usize {
        self.storage.nodes()
    }

    pub fn lookup_nodes(&self) -> usize {
        self.lookup.nodes()
    }

    /// Returns where a new key goes.
    pub fn node(&self, key: &[u8]) -> usize {
        self.storage.node(key)
    }

    fn lookups(&self, key: &[u8]) -> (usize, Option<usize>) {
        let (first, second) = self.lookup.two(key);
        (self.first_lookup + first, second.map(|second| self.first_lookup + second))
    }

    pub fn begin(&self, operation: &Operation<'_>) -> Begin<Step> {
        let Some(key) = operation.key() else { return Begin::Refuse(REFUSAL) };
        let purpose = match operation {
            Operation::Get { .. } => {
                return Begin::Ask(Ask { node: self.node(key), request: Request::Same, then: Step::Owner });
            }
            Operation::Put { .. } => Purpose::Put,
            Operation::Delete { .. } => Purpose::Delete,
            _ => return Begin::Refuse(REFUSAL),
        };
        Begin::Ask(Ask { node: self.lookups(key).0, request: Request::Get, then: Step::First(purpose) })
    }

    pub fn go_on(&self, step: Step, key: &[u8], held: &mut Vec<u8>, reply: &Reply<'_>) -> Next<Step> {
        let ask = |node, request, then| Next::Ask(Ask { node, request, then });
        let (first, second) = self.lookups(key);
        let there = |node, purpose| ask(node, Request::Same, Step::There(purpose));
        match (step, reply, second) {
            (Step::Owner, Reply::Missing, _) => ask(first, Request::Get, Step::First(Purpose::Get)),
            (Step::First(purpose), Reply::Value(record), _) => match self.read(record) {
                Some(node) => there(node, purpose),
                None => Next::Give(Gift::Failed(Failure::Protocol(NO_NAME))),
            },
            (Step::First(purpose), Reply::Missing, Some(second)) => ask(second, Request::Get, Step::Second(purpose)),
            (Step::Second(purpose), Reply::Value(record), _) => match self.read(record) {
                Some(node) if purpose == Purpose::Delete => there(node, purpose),
                Some(node) => {
                    held.clear();
                    held.extend_from_slice(record);
                    ask(first, Request::PutHeld, Step::Copy(purpose, node))
                }
                None => Next::Give(Gift::Failed(Failure::Protocol(NO_NAME))),
            },
            (Step::Copy(purpose, node), Reply::Done, Some(second)) => {
                ask(second, Request::Delete, Step::Forget(purpose, node))
            }
            (Step::Forget(purpose, node), Reply::Done | Reply::Missing, _) => there(node, purpose),
            // Nobody knows it.
            (Step::First(Purpose::Put) | Step::Second(Purpose::Put), Reply::Missing, _) => {
                let node = self.node(key);
                held.clear();
                held.extend_from_slice(name(node).as_bytes());
                ask(first, Request::PutHeld, Step::Enter(node))
            }
            (Step::Enter(node), Reply::Done, _) => there(node, Purpose::Put),
            (Step::There(Purpose::Delete), Reply::Done | Reply::Missing, _) => {
                ask(first, Request::Delete, Step::Clear(matches!(reply, Reply::Done)))
            }
            (Step::Clear(was_there), Reply::Done | Reply::Missing, Some(second)) => {
                ask(second, Request::Delete, Step::ClearSecond(was_there))
            }
            (Step::Clear(was_there) | Step::ClearSecond(was_there), Reply::Done | Reply::Missing, _) => {
                Next::Give(if was_there { Gift::Done } else { Gift::Missing })
            }
            _ => Next::Give(Gift::Last),
        }
    }

    /// The storage node a record names.
    fn read(&self, record: &[u8]) -> Option<usize> {
        named(record).filter(|node| *node < self.first_lookup)
    }
}
