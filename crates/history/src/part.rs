//! A part of a history that contradicts only if the whole does.
//!
//! Reads may be left out freely. A write may be left out if nobody in the part sees what it wrote: taken out of an order that
//! explains the whole, it leaves one that explains the part. An append goes together with its element in every list read, an
//! addition that came before all reads goes into what the counter held at the start. A condition of a compare-and-set may be left out on its
//! own: then it stands as the put it was.

use std::collections::{HashMap, HashSet};

use crate::act::{Act, ActKind, SwapAnswer};

/// What can be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Removable {
    /// What an operation says about the state it met, beside what it changes.
    Condition(usize),
    /// An operation as a whole.
    Operation(usize),
}

/// The operations that parts are taken of.
pub(crate) struct Whole<'a> {
    operations: &'a [Act],
    writers: HashMap<u64, Vec<usize>>,
    deletes: Vec<usize>,
    adds: Vec<usize>,
}

impl<'a> Whole<'a> {
    /// Takes in the operations on one key.
    pub(crate) fn new(operations: &'a [Act]) -> Self {
        let mut whole = Self { operations, writers: HashMap::new(), deletes: Vec::new(), adds: Vec::new() };
        for (at, operation) in operations.iter().enumerate().filter(|(_, it)| it.counts()) {
            match &operation.kind {
                ActKind::Put(new)
                | ActKind::Append(new)
                | ActKind::CompareAndSet { new, swap: SwapAnswer::Done, .. } => {
                    whole.writers.entry(*new).or_default().push(at);
                }
                ActKind::Delete => whole.deletes.push(at),
                ActKind::Add { .. } => whole.adds.push(at),
                _ => {}
            }
        }
        whole
    }

    /// Returns everything that can be left out of some operations, conditions first.
    pub(crate) fn items(&self, of: impl Iterator<Item = usize> + Clone) -> Vec<Removable> {
        let conditional = |at: &usize| {
            matches!(
                self.operations[*at].kind,
                ActKind::CompareAndSet { swap: SwapAnswer::Done, .. } | ActKind::Add { now: Some(_), .. }
            )
        };
        of.clone().filter(conditional).map(Removable::Condition).chain(of.map(Removable::Operation)).collect()
    }

    /// Returns the operations of the part with these items and all that they need, by place, and what the counter held before.
    pub(crate) fn part(&self, items: &[Removable]) -> (Vec<(usize, Act)>, i64) {
        let mut kept: HashSet<usize> = HashSet::new();
        let mut conditions: HashSet<usize> = HashSet::new();
        for item in items {
            match item {
                Removable::Condition(at) => drop(conditions.insert(*at)),
                Removable::Operation(at) => drop(kept.insert(*at)),
            }
        }
        let start = self.additions(&mut kept, &conditions);
        self.close(&mut kept, &conditions);
        let mut part: Vec<(usize, Act)> = kept.iter().map(|at| (*at, self.reduced(*at, &kept, &conditions))).collect();
        part.sort_unstable_by_key(|(at, it)| (it.sent_ns, *at));
        (part, start)
    }

    /// Adds the writes that the operations kept see.
    fn close(&self, kept: &mut HashSet<usize>, conditions: &HashSet<usize>) {
        let mut todo: Vec<usize> = kept.iter().copied().collect();
        let mut missing: Vec<usize> = Vec::new();
        while let Some(at) = todo.pop() {
            let seen = match &self.operations[at].kind {
                ActKind::Get(seen) => *seen,
                ActKind::CompareAndSet { expected, swap: SwapAnswer::Done, .. } if conditions.contains(&at) => {
                    *expected
                }
                ActKind::CompareAndSet { swap: SwapAnswer::Declined, .. } => {
                    let all = self.writers.values().flatten().chain(&self.deletes);
                    todo.extend(all.filter(|it| kept.insert(**it)));
                    continue;
                }
                // The same version written twice: both or none.
                ActKind::Put(new) | ActKind::Append(new) | ActKind::CompareAndSet { new, .. } => Some(*new),
                _ => continue,
            };
            match seen {
                Some(version) => {
                    let writers = self.writers.get(&version).into_iter().flatten();
                    todo.extend(writers.filter(|it| kept.insert(**it)));
                }
                None => missing.push(at),
            }
        }
        self.deletions(kept, &missing);
    }

    /// Adds the deletions that can be the reason why nothing was there: not those that a kept write had replaced by then, nor later ones.
    fn deletions(&self, kept: &mut HashSet<usize>, missing: &[usize]) {
        let Some(first) = missing.iter().map(|it| self.operations[*it].sent_ns).min() else { return };
        let last = missing.iter().map(|it| self.operations[*it].answered_ns()).max().unwrap_or(u64::MAX);
        let replaced = kept
            .iter()
            .map(|at| &self.operations[*at])
            .filter(|it| matches!(it.kind, ActKind::Put(_)) && it.answered_ns() < first)
            .map(|it| it.sent_ns)
            .max()
            .unwrap_or(0);
        let needed = |at: &&usize| {
            let it = &self.operations[**at];
            it.answered_ns() >= replaced && it.sent_ns <= last
        };
        kept.extend(self.deletes.iter().filter(needed));
    }

    /// Keeps the additions that the reads kept may or may not have seen; returns what all earlier ones come to.
    fn additions(&self, kept: &mut HashSet<usize>, conditions: &HashSet<usize>) -> i64 {
        if self.adds.is_empty() {
            return 0;
        }
        let reads = |at: &usize| match self.operations[*at].kind {
            ActKind::Sum(_) => kept.contains(at),
            ActKind::Add { now: Some(_), .. } => conditions.contains(at),
            _ => false,
        };
        let readers: Vec<&Act> = (0..self.operations.len()).filter(reads).map(|at| &self.operations[at]).collect();
        let first = readers.iter().map(|it| it.sent_ns).min().unwrap_or(0);
        let last = readers.iter().map(|it| it.answered_ns()).max().unwrap_or(0);
        let mut start = 0;
        for at in &self.adds {
            let it = &self.operations[*at];
            let before = it.answered_ns() < first;
            if let (true, ActKind::Add { by, .. }) = (before, &it.kind) {
                start += by;
            }
            if before || it.sent_ns > last {
                kept.remove(at);
            } else {
                kept.insert(*at);
            }
        }
        start
    }

    /// Returns an operation as it stands in a part.
    fn reduced(&self, at: usize, kept: &HashSet<usize>, conditions: &HashSet<usize>) -> Act {
        let mut operation = self.operations[at].clone();
        match &mut operation.kind {
            ActKind::CompareAndSet { new, swap: SwapAnswer::Done, .. } if !conditions.contains(&at) => {
                operation.kind = ActKind::Put(*new);
            }
            ActKind::Add { now, .. } if !conditions.contains(&at) => *now = None,
            ActKind::List(elements) => {
                elements.retain(|it| self.writers.get(it).is_none_or(|all| all.iter().any(|at| kept.contains(at))));
            }
            _ => {}
        }
        operation
    }
}
