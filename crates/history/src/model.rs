//! What one key holds, and what each operation makes of it.

use std::collections::HashMap;

use crate::operation::{Kind, Operation, Swap};

/// What a key holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum State {
    /// Nothing.
    Missing,
    /// A value of this version.
    Version(u64),
    /// A counter.
    Sum(i64),
    /// A list, by its number in [`Lists`].
    List(u32),
}

/// All lists met so far, each known by its last element and the list before it, so that two of them are compared by number.
#[derive(Default)]
pub(crate) struct Lists {
    numbers: HashMap<(u32, u64), u32>,
}

/// The number of the empty list.
const EMPTY: u32 = 0;

impl Lists {
    /// Returns the number of a list with one more element.
    fn with(&mut self, list: u32, element: u64) -> u32 {
        let next = self.numbers.len() as u32 + 1;
        *self.numbers.entry((list, element)).or_insert(next)
    }

    /// Returns the number of a list.
    pub(crate) fn number(&mut self, elements: &[u64]) -> u32 {
        elements.iter().fold(EMPTY, |list, element| self.with(list, *element))
    }

    /// Returns the state after an operation, or that it cannot have happened there. A read of a list comes with its number.
    pub(crate) fn after(&mut self, state: State, operation: &Operation, read: u32) -> Option<State> {
        let holds = |it: bool| it.then_some(state);
        match &operation.kind {
            Kind::Put(version) => Some(State::Version(*version)),
            Kind::Delete => Some(State::Missing),
            Kind::Get(version) => holds(state == version_state(*version)),
            Kind::CompareAndSet { expected, new, swap: Swap::Done } => {
                (state == version_state(*expected)).then_some(State::Version(*new))
            }
            Kind::CompareAndSet { expected, swap: Swap::Declined, .. } => holds(state != version_state(*expected)),
            Kind::Add { by, now } => {
                let sum = match state {
                    State::Missing => *by,
                    State::Sum(sum) => sum.checked_add(*by)?,
                    State::Version(_) | State::List(_) => return None,
                };
                now.is_none_or(|now| now == sum).then_some(State::Sum(sum))
            }
            Kind::Sum(sum) => holds(state == State::Sum(*sum) || (*sum == 0 && state == State::Missing)),
            Kind::Append(element) => match state {
                State::Missing => Some(State::List(self.with(EMPTY, *element))),
                State::List(list) => Some(State::List(self.with(list, *element))),
                State::Version(_) | State::Sum(_) => None,
            },
            Kind::List(_) => holds(state == State::List(read) || (read == EMPTY && state == State::Missing)),
        }
    }
}

/// Returns the state of a key whose value has this version.
fn version_state(version: Option<u64>) -> State {
    version.map_or(State::Missing, State::Version)
}

/// Returns what makes two operations the same to everyone: swapping them changes no answer.
pub(crate) fn likeness(kind: &Kind) -> Option<(u8, u64)> {
    match kind {
        Kind::Put(version) => Some((0, *version)),
        Kind::Delete => Some((1, 0)),
        Kind::Add { by, now: None } => Some((2, by.cast_unsigned())),
        Kind::Append(element) => Some((3, *element)),
        _ => None,
    }
}
