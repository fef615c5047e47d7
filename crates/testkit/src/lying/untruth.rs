//! Which lie is due for a request, and what it makes of a true answer.

use super::dialect::{Action, Response};
use super::map::Map;
use super::server::{Shared, lock};
use super::{Lie, Target, Told};
use std::sync::atomic::Ordering;

/// Returns the lie of the first rule about this request that is due now, among the lies that are `possible`; notes that the rule was used.
pub(super) fn due(
    action: &Action,
    visit: usize,
    shared: &Shared,
    mut possible: impl FnMut(Lie) -> bool,
) -> Option<Lie> {
    let (target, key) = match action {
        Action::Get { key } => (Target::Gets, key),
        Action::Put { key, .. } => (Target::Puts, key),
        Action::Add { key, .. } => (Target::Increments, key),
        Action::Append { key, .. } => (Target::Appends, key),
        _ => return None,
    };
    let (own, all) = shared.writes(visit);
    let mut fitting = shared.rules.iter().filter(|rule| rule.fits(target, key) && rule.holds(own, all));
    let rule = fitting.find(|rule| possible(rule.lie) && rule.is_due())?;
    lock(&shared.told).push(Told { lie: rule.lie, key: key.clone() });
    Some(rule.lie)
}

pub(super) fn is_about_values(lie: Lie) -> bool {
    matches!(
        lie,
        Lie::WrongBytes
            | Lie::AnotherKeysValue
            | Lie::StaleValue
            | Lie::OneRegister
            | Lie::FirstValueWhileWriting
            | Lie::BackAndForthWhileWriting
            | Lie::RepeatedNumber
            | Lie::SevenBytes
            | Lie::TruncatedValue
            | Lie::Denied
            | Lie::SwapsAnyway
    )
}

/// Returns a conditional put that is carried out though its condition is not met, where such a lie is due.
pub(super) fn forced(action: &Action, visit: usize, map: &Map, shared: &Shared) -> Option<Action> {
    let forced = map.forced(action)?;
    due(action, visit, shared, |lie| lie == Lie::SwapsAnyway).map(|_| forced)
}

/// Returns the answer a lie about values makes of a hit, when it can.
pub(super) fn false_value(lie: Lie, action: &Action, truth: &Response, map: &Map, shared: &Shared) -> Option<Response> {
    match (lie, action, truth) {
        (Lie::RepeatedNumber, Action::Add { .. }, Response::Number(number @ 2..)) => {
            return Some(Response::Number(number - 1));
        }
        (Lie::SevenBytes, Action::Append { .. }, Response::Number(_)) => return Some(Response::Number(7)),
        _ => {}
    }
    let is_written = |key: &Vec<u8>| lock(&shared.writing).contains(key);
    let (Action::Get { key }, Response::Value { value, version }) = (action, truth) else { return None };
    let value = match lie {
        Lie::Denied => return Some(Response::Missing),
        Lie::AnotherKeysValue => map.another(key)?,
        Lie::StaleValue => map.previous(key)?,
        Lie::OneRegister => map.last_put(key)?,
        Lie::FirstValueWhileWriting if is_written(key) => map.first(key)?,
        Lie::BackAndForthWhileWriting
            if is_written(key) && shared.turns.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) =>
        {
            map.previous(key)?
        }
        Lie::WrongBytes | Lie::TruncatedValue if value.is_empty() => return None,
        Lie::WrongBytes => {
            let mut value = value.clone();
            let middle = value.len() / 2;
            value[middle] ^= 1;
            value
        }
        Lie::TruncatedValue => value[..value.len() - 1].to_vec(),
        _ => return None,
    };
    Some(Response::Value { value, version: *version })
}
