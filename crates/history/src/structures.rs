//! Lists and counters, told as versions: what they answer says in which order they were written.

use crate::operation::{Deed, Encounter};
use std::collections::{HashMap, HashSet};

/// An answer of a list to which elements are appended; each element is appended once, and none is 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AppendSeen {
    /// This element was appended.
    Append(u64),
    /// A read showed these elements.
    Read(Vec<u64>),
}

/// An operation on such a list: the action of `operation` does not matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Appended {
    /// Client, key and times.
    pub operation: Encounter,
    /// What it did or saw.
    pub seen: AppendSeen,
}

/// Returns the operations on a list as those on a register whose version is the last element. An append becomes a swap where a read
/// shows which element it found; a read that is not the beginning of the longest one becomes a read of a version nobody wrote.
pub fn appends(history: &[Appended]) -> Vec<Encounter> {
    let mut longest: HashMap<u64, &[u64]> = HashMap::new();
    for it in history.iter().filter(|it| it.operation.answered_ns.is_some()) {
        if let AppendSeen::Read(elements) = &it.seen {
            let known = longest.entry(it.operation.key).or_default();
            if elements.len() > known.len() && are_different(elements) {
                *known = elements;
            }
        }
    }
    let before: HashMap<(u64, u64), u64> = longest
        .iter()
        .flat_map(|(&key, list)| list.iter().enumerate().map(move |(at, &element)| ((key, element), at)))
        .map(|((key, element), at)| ((key, element), at.checked_sub(1).map_or(0, |at| longest[&key][at])))
        .collect();
    let told = |it: &Appended| {
        let key = it.operation.key;
        let action = match &it.seen {
            AppendSeen::Append(element) => match before.get(&(key, *element)) {
                Some(&from) => Deed::Swap { from, to: *element },
                // After all that was read, one after the other in whatever order.
                None => Deed::Write(*element),
            },
            AppendSeen::Read(elements) => {
                let is_beginning =
                    longest.get(&key).is_none_or(|longest| longest.starts_with(elements)) && are_different(elements);
                let last = elements.last().copied().unwrap_or(0);
                Deed::Read(if is_beginning { last } else { u64::MAX })
            }
        };
        Encounter { action, ..it.operation }
    };
    history.iter().map(told).collect()
}

fn are_different(elements: &[u64]) -> bool {
    elements.iter().collect::<HashSet<_>>().len() == elements.len()
}

/// The numbers from which on those lie that a counter gave twice.
const GIVEN_TWICE: u64 = 1 << 63;

/// An answer of a counter that counts by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CounterSeen {
    /// It was increased, and gave the number after that; 0 where it was not answered.
    Increased(u64),
    /// It was read.
    Read(u64),
}

/// Returns the operations on counters as those on registers whose version is the number. An increase that was not answered takes a
/// number that nobody was given, the earliest sent the smallest: if any choice is right, this one is.
pub fn counts(history: &[(Encounter, CounterSeen)]) -> Vec<Encounter> {
    let mut given: HashMap<u64, HashSet<u64>> = HashMap::new();
    let mut twice = 0;
    let mut largest: HashMap<u64, u64> = HashMap::new();
    let mut open: HashMap<u64, Vec<Encounter>> = HashMap::new();
    let mut told = Vec::with_capacity(history.len());
    for &(operation, counted) in history {
        let action = match (counted, operation.answered_ns) {
            (CounterSeen::Increased(_), None) => {
                open.entry(operation.key).or_default().push(operation);
                continue;
            }
            (CounterSeen::Read(_), None) => continue,
            (CounterSeen::Increased(to), Some(_)) => {
                let before = given.entry(operation.key).or_default();
                let is_second = !before.insert(to);
                twice += u64::from(is_second);
                // Given to somebody else before: two swaps of one number, which leave different ones.
                Deed::Swap { from: to.saturating_sub(1), to: if is_second { GIVEN_TWICE + twice } else { to } }
            }
            (CounterSeen::Read(number), Some(_)) => Deed::Read(number),
        };
        let number = largest.entry(operation.key).or_default();
        let version = Encounter { action, ..operation }.version();
        *number = (*number).max(if version > GIVEN_TWICE { 0 } else { version });
        told.push(Encounter { action, ..operation });
    }
    for (key, mut waiting) in open {
        waiting.sort_unstable_by_key(|it| it.sent_ns);
        let given = given.remove(&key).unwrap_or_default();
        let gaps = (1..=largest.get(&key).copied().unwrap_or(0)).filter(|number| !given.contains(number));
        told.extend(gaps.zip(waiting).map(|(to, it)| Encounter { action: Deed::Swap { from: to - 1, to }, ..it }));
    }
    told
}
