//! Lists and counters against an exhaustive search of their own.
#![allow(clippy::unwrap_used)]

mod common;

use common::Dice;
use history::{AppendSeen, Appended, CounterSeen, Deed, Encounter, appends, check_key, counts};

/// An operation with its times, and what it does to a state where its answer fits.
type Step<'a> = (Encounter, &'a dyn Fn(&[u64]) -> Option<Vec<u64>>);

fn has_order(all: &[Step<'_>], done: u32, state: &[u64]) -> bool {
    let is_open = |at: &usize| done >> at & 1 == 0;
    let earliest_end = (0..all.len()).filter(is_open).filter_map(|at| all[at].0.answered_ns).min();
    let Some(earliest_end) = earliest_end else { return true };
    (0..all.len()).filter(is_open).any(|at| {
        all[at].0.sent_ns <= earliest_end && all[at].1(state).is_some_and(|next| has_order(all, done | 1 << at, &next))
    })
}

fn times(dice: &mut Dice, number: u64) -> Encounter {
    let sent_ns = 5 * number + dice.below(20);
    let answered_ns = (dice.below(7) > 0).then(|| sent_ns + dice.below(25));
    Encounter { client: number as u32, key: 1, action: Deed::Read(0), sent_ns, answered_ns }
}

#[test]
fn lists_are_judged_as_an_exhaustive_search_judges_them() {
    let mut dice = Dice(3);
    let mut seen = [0; 2];
    for round in 0..40_000 {
        let mut list = Vec::new();
        let history: Vec<Appended> = (1..=2 + dice.below(6))
            .map(|number| {
                let operation = times(&mut dice, number);
                let mut shown = list.clone();
                if round % 2 == 0 && dice.below(4) == 0 {
                    match dice.below(3) {
                        0 => _ = shown.pop(),
                        1 => shown.reverse(),
                        _ => shown.push(1 + dice.below(8)),
                    }
                }
                let appends = dice.below(2) == 0;
                if appends && (operation.answered_ns.is_some() || dice.below(2) == 0) {
                    list.push(number);
                }
                let seen = if appends { AppendSeen::Append(number) } else { AppendSeen::Read(shown) };
                Appended { operation, seen }
            })
            .collect();
        let apply = |it: &Appended, state: &[u64]| match &it.seen {
            AppendSeen::Append(element) => Some([state, &[*element]].concat()),
            AppendSeen::Read(shown) => (it.operation.answered_ns.is_none() || shown == state).then(|| state.to_vec()),
        };
        let steps: Vec<_> = history.iter().map(|it| move |state: &[u64]| apply(it, state)).collect();
        let steps: Vec<Step<'_>> =
            history.iter().zip(&steps).map(|(it, step)| (it.operation, step as &dyn Fn(&[u64]) -> _)).collect();
        let expected = has_order(&steps, 0, &[]);
        let check = check_key(&appends(&history)).unwrap();
        assert_eq!(check.smallest.is_none(), expected, "{history:#?} {check:?}");
        seen[usize::from(expected)] += 1;
    }
    assert!(seen.iter().all(|&it| it > 5_000), "{seen:?}");
}

#[test]
fn counters_are_judged_as_an_exhaustive_search_judges_them() {
    let mut dice = Dice(4);
    let mut seen = [0; 2];
    for round in 0..40_000 {
        let mut number = 0;
        let history: Vec<(Encounter, CounterSeen)> = (1..=2 + dice.below(6))
            .map(|at| {
                let operation = times(&mut dice, at);
                let wrong = if round % 2 == 0 && dice.below(5) == 0 { dice.below(3) } else { 0 };
                if dice.below(3) == 0 {
                    return (operation, CounterSeen::Read(number + wrong));
                }
                number += u64::from(operation.answered_ns.is_some() || dice.below(2) == 0);
                (operation, CounterSeen::Increased((number + wrong).max(1)))
            })
            .collect();
        let apply = |(operation, counted): (Encounter, CounterSeen), state: &[u64]| match counted {
            _ if operation.answered_ns.is_none() && matches!(counted, CounterSeen::Read(_)) => Some(state.to_vec()),
            CounterSeen::Read(number) => (number == state[0]).then(|| state.to_vec()),
            CounterSeen::Increased(to) => {
                (operation.answered_ns.is_none() || to == state[0] + 1).then(|| vec![state[0] + 1])
            }
        };
        let steps: Vec<_> = history.iter().map(|it| move |state: &[u64]| apply(*it, state)).collect();
        let steps: Vec<Step<'_>> =
            history.iter().zip(&steps).map(|(it, step)| (it.0, step as &dyn Fn(&[u64]) -> _)).collect();
        let expected = has_order(&steps, 0, &[0]);
        let check = check_key(&counts(&history)).unwrap();
        assert_eq!(check.smallest.is_none(), expected, "{history:#?} {check:?}");
        seen[usize::from(expected)] += 1;
    }
    assert!(seen.iter().all(|&it| it > 5_000), "{seen:?}");
}
