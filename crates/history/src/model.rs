//! What one key holds, and what each operation makes of it.

use std::collections::{HashMap, HashSet};

use crate::act::{Act, ActKind, SwapAnswer};

/// What a key holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum HeldValue {
    /// Nothing.
    Missing,
    /// A value of this version.
    Version(u64),
    /// A counter.
    Sum(i64),
    /// A list, by its number in [`Lists`].
    List(u32),
}

/// Stands for every version and element that no operation asks about: which of them is there makes no difference.
const UNSEEN: u64 = u64::MAX;

/// What is known of the history as a whole, and all lists met so far.
///
/// A list is known by its last element and the list before it, so that two of them are compared by number.
#[derive(Default)]
pub(crate) struct Model {
    numbers: HashMap<(u32, u64), u32>,
    /// Versions and elements that some answer depends on.
    seen: HashSet<u64>,
    /// What comes next in the longest list read: lists that go on otherwise lead nowhere.
    ahead: HashMap<u32, u64>,
}

/// The number of the empty list.
const EMPTY: u32 = 0;

impl Model {
    /// Looks at what the operations on one key ask about.
    pub(crate) fn of(operations: &[Act]) -> Self {
        let mut model = Self::default();
        let mut longest: &[u64] = &[];
        let mut only_grows = true;
        for operation in operations.iter().filter(|it| it.counts()) {
            match &operation.kind {
                ActKind::Get(Some(version)) | ActKind::CompareAndSet { expected: Some(version), .. } => {
                    model.seen.insert(*version);
                }
                ActKind::List(elements) => {
                    model.seen.extend(elements);
                    if elements.len() > longest.len() {
                        longest = elements;
                    }
                }
                ActKind::Append(_) => {}
                _ => only_grows = false,
            }
        }
        if only_grows {
            let mut list = EMPTY;
            for element in longest {
                model.ahead.insert(list, *element);
                list = model.with(list, *element);
            }
        }
        model
    }

    /// Tells whether some answer depends on this version or element.
    pub(crate) fn sees(&self, it: u64) -> bool {
        self.seen.contains(&it)
    }

    /// Returns what a version or element is kept as.
    fn kept(&self, it: u64) -> u64 {
        if self.sees(it) { it } else { UNSEEN }
    }

    /// Returns the number of a list with one more element.
    fn with(&mut self, list: u32, element: u64) -> u32 {
        let next = self.numbers.len() as u32 + 1;
        *self.numbers.entry((list, element)).or_insert(next)
    }

    /// Returns the list after an append, or that no list read can come of it.
    fn appended(&mut self, list: u32, element: u64) -> Option<HeldValue> {
        let element = self.kept(element);
        let leads_on = self.ahead.get(&list).is_none_or(|next| *next == element);
        leads_on.then(|| HeldValue::List(self.with(list, element)))
    }

    /// Returns the number of a list.
    pub(crate) fn number(&mut self, elements: &[u64]) -> u32 {
        elements.iter().fold(EMPTY, |list, element| self.with(list, *element))
    }

    /// Returns the state after an operation, or that it cannot have happened there. A read of a list comes with its number.
    pub(crate) fn after(&mut self, state: HeldValue, operation: &Act, read: u32) -> Option<HeldValue> {
        let holds = |it: bool| it.then_some(state);
        match &operation.kind {
            ActKind::Put(version) => Some(HeldValue::Version(self.kept(*version))),
            ActKind::Delete => Some(HeldValue::Missing),
            ActKind::Get(version) => holds(state == version_state(*version)),
            ActKind::CompareAndSet { expected, new, swap: SwapAnswer::Done } => {
                (state == version_state(*expected)).then(|| HeldValue::Version(self.kept(*new)))
            }
            ActKind::CompareAndSet { expected, swap: SwapAnswer::Declined, .. } => {
                holds(state != version_state(*expected))
            }
            ActKind::Add { by, now } => {
                let sum = match state {
                    HeldValue::Missing => *by,
                    HeldValue::Sum(sum) => sum.checked_add(*by)?,
                    HeldValue::Version(_) | HeldValue::List(_) => return None,
                };
                now.is_none_or(|now| now == sum).then_some(HeldValue::Sum(sum))
            }
            ActKind::Sum(sum) => holds(state == HeldValue::Sum(*sum) || (*sum == 0 && state == HeldValue::Missing)),
            ActKind::Append(element) => match state {
                HeldValue::Missing => self.appended(EMPTY, *element),
                HeldValue::List(list) => self.appended(list, *element),
                HeldValue::Version(_) | HeldValue::Sum(_) => None,
            },
            ActKind::List(_) => holds(state == HeldValue::List(read) || (read == EMPTY && state == HeldValue::Missing)),
        }
    }

    /// Returns what makes two operations the same to everyone: swapping them changes no answer.
    pub(crate) fn likeness(&self, kind: &ActKind) -> Option<(u8, u64)> {
        match kind {
            ActKind::Put(version) => Some((0, self.kept(*version))),
            ActKind::Delete => Some((1, 0)),
            ActKind::Add { by, now: None } => Some((2, by.cast_unsigned())),
            ActKind::Append(element) => Some((3, self.kept(*element))),
            _ => None,
        }
    }
}

/// Returns the state of a key whose value has this version.
fn version_state(version: Option<u64>) -> HeldValue {
    version.map_or(HeldValue::Missing, HeldValue::Version)
}
