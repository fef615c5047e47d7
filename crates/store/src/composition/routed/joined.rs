//! Operations on several keys, split by node, and their replies, joined.

use crate::owned::{KeyValue, recycled};
use crate::{Failure, Operation, OwnedReply, Reply, RowBuffer, Slot, StoreError};
use std::mem::take;

/// The operations that are split at the moment.
pub(super) struct Splits {
    /// Made with the first operation that is split: most jobs have none.
    slots: Vec<Split>,
    count: usize,
    nodes: usize,
    /// How many of them wait for parts: if there are none, no slot is looked at.
    waiting: u32,
    /// Where the keys of a part are gathered: empty between calls, kept for its memory.
    keys: Vec<&'static [u8]>,
    pairs: Vec<KeyValue<'static>>,
}

/// What makes one reply of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Join {
    /// Done when all are.
    #[default]
    AllDone,
    /// Rows in the order their keys were asked for.
    AsAsked,
    /// The first rows by key.
    Smallest(u32),
}

/// One operation that was split.
#[derive(Default)]
struct Split {
    /// Parts without reply.
    missing: u32,
    join: Join,
    /// The keys asked for, in order, and the node of each.
    asked: RowBuffer,
    owners: Vec<usize>,
    /// What each node has answered, and how much of it is joined.
    found: Vec<(RowBuffer, usize)>,
    joined: RowBuffer,
    /// The first reply that was none of those expected.
    failed: Option<OwnedReply>,
}

const UNEXPECTED: &str = "a node answered its part of the operation with what belongs to another";

impl Splits {
    pub fn new(slots: usize, nodes: usize) -> Splits {
        Splits { slots: Vec::new(), count: slots, nodes, waiting: 0, keys: Vec::new(), pairs: Vec::new() }
    }

    /// Adds one node.
    pub fn add_node(&mut self) {
        self.nodes += 1;
    }

    /// Returns whether the slot has no operation in parts.
    #[inline]
    pub fn is_whole(&self, slot: Slot) -> bool {
        self.waiting == 0 || self.slots[slot as usize].missing == 0
    }

    /// Splits an operation by the owners of its keys and submits a part to each node concerned. Returns the reply, where all have answered at once.
    /// `submit` takes node and part, and gives the reply to `absorb`.
    pub fn submit(
        &mut self,
        slot: Slot,
        operation: &Operation<'_>,
        owner: impl Fn(&[u8]) -> usize,
        mut submit: impl FnMut(usize, &Operation<'_>, &mut dyn FnMut(&Reply<'_>)) -> Result<(), StoreError>,
    ) -> Result<Option<Reply<'_>>, StoreError> {
        if self.slots.is_empty() {
            self.slots.resize_with(self.count, Split::default);
        }
        let split = &mut self.slots[slot as usize];
        split.begin(operation, self.nodes);
        let mut part = |split: &mut Split, node: usize, part: &Operation<'_>| {
            split.missing += 1;
            submit(node, part, &mut |reply| split.absorb(node, reply))
        };
        match *operation {
            Operation::GetMany { keys: all } => {
                split.ask(all, &owner);
                let mut keys: Vec<&[u8]> = recycled(take(&mut self.keys));
                for node in 0..self.nodes {
                    keys.clear();
                    keys.extend(
                        all.iter().zip(&split.owners).filter(|(_, owner)| **owner == node).map(|(key, _)| *key),
                    );
                    if !keys.is_empty() {
                        part(split, node, &Operation::GetMany { keys: &keys })?;
                    }
                }
                self.keys = recycled(keys);
            }
            Operation::PutMany { pairs: all } => {
                let mut pairs: Vec<KeyValue<'_>> = recycled(take(&mut self.pairs));
                for node in 0..self.nodes {
                    pairs.clear();
                    pairs.extend(all.iter().copied().filter(|(key, _)| owner(key) == node));
                    if !pairs.is_empty() {
                        part(split, node, &Operation::PutMany { pairs: &pairs })?;
                    }
                }
                self.pairs = recycled(pairs);
            }
            ref whole => (0..self.nodes).try_for_each(|node| part(split, node, whole))?,
        }
        if split.missing > 0 {
            self.waiting += 1;
            return Ok(None);
        }
        Ok(Some(split.reply()))
    }

    /// Takes in the reply to a part. Returns the reply to the whole operation, when the part was the last.
    pub fn absorb(&mut self, slot: Slot, node: usize, reply: &Reply<'_>) -> Option<Reply<'_>> {
        let split = &mut self.slots[slot as usize];
        split.absorb(node, reply);
        if split.missing > 0 {
            return None;
        }
        self.waiting -= 1;
        Some(split.reply())
    }
}

impl Split {
    fn begin(&mut self, operation: &Operation<'_>, nodes: usize) {
        self.join = match *operation {
            Operation::GetMany { .. } => Join::AsAsked,
            Operation::Scan { limit, .. } => Join::Smallest(limit),
            _ => Join::AllDone,
        };
        self.missing = 0;
        self.failed = None;
        self.found.resize_with(nodes, Default::default);
        for (rows, joined) in &mut self.found {
            rows.clear();
            *joined = 0;
        }
    }

    fn ask(&mut self, keys: &[&[u8]], owner: impl Fn(&[u8]) -> usize) {
        self.asked.clear();
        self.owners.clear();
        for key in keys {
            self.asked.push(key, b"");
            self.owners.push(owner(key));
        }
    }

    fn absorb(&mut self, node: usize, reply: &Reply<'_>) {
        self.missing -= 1;
        match (reply, self.join) {
            (Reply::Done, Join::AllDone) => {}
            (Reply::Rows(rows), Join::AsAsked | Join::Smallest(_)) => {
                let found = &mut self.found[node].0;
                rows.iter().for_each(|(key, value)| found.push(key, value));
            }
            (failed @ Reply::Failed(_), _) => {
                self.failed.get_or_insert_with(|| OwnedReply::from(*failed));
            }
            _ => {
                self.failed.get_or_insert_with(|| OwnedReply::from(Reply::Failed(Failure::Protocol(UNEXPECTED))));
            }
        }
    }

    fn reply(&mut self) -> Reply<'_> {
        if self.failed.is_none() {
            self.joined.clear();
            match self.join {
                Join::AllDone => return Reply::Done,
                Join::AsAsked => self.join_as_asked(),
                Join::Smallest(limit) => self.join_smallest(limit),
            }
        }
        match &self.failed {
            Some(failed) => failed.as_reply(),
            None => Reply::Rows(self.joined.rows()),
        }
    }

    fn join_as_asked(&mut self) {
        for ((key, _), owner) in self.asked.rows().iter().zip(&self.owners) {
            let (rows, next) = &mut self.found[*owner];
            if let Some((found, value)) = rows.rows().get(*next).filter(|(found, _)| *found == key) {
                self.joined.push(found, value);
                *next += 1;
            }
        }
        // What nobody has asked for is not hidden: who checks the answer must see it.
        for (rows, next) in &self.found {
            rows.rows().iter().skip(*next).for_each(|(key, value)| self.joined.push(key, value));
        }
    }

    fn join_smallest(&mut self, limit: u32) {
        for _ in 0..limit {
            let mut least: Option<(usize, &[u8])> = None;
            for (node, (rows, next)) in self.found.iter().enumerate() {
                if let Some((key, _)) = rows.rows().get(*next)
                    && least.is_none_or(|(_, smallest)| key < smallest)
                {
                    least = Some((node, key));
                }
            }
            let Some((node, _)) = least else { break };
            let (rows, next) = &mut self.found[node];
            if let Some((key, value)) = rows.rows().get(*next) {
                self.joined.push(key, value);
            }
            *next += 1;
        }
    }
}
