//! What the judge says of small random histories, against trying every order.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::{Dice, Held, Talk, random, some_order_explains};
use history::{Act, Bounds, KeyOutcome, judge};

/// Judges many random histories both ways; returns how many had an order and how many had none.
fn agree(talk: Talk, histories: u64) -> (u64, u64) {
    let (mut ordered, mut none) = (0, 0);
    for seed in 1..=histories {
        let operations = random(talk, &mut Dice::new(seed), 7);
        let truth = some_order_explains(&operations, &Held::Nothing);
        match judge(&operations, &Bounds::default()) {
            KeyOutcome::Linearizable => {
                assert!(truth, "{talk:?} {seed}: no order exists, yet the judge found one: {operations:#?}");
                ordered += 1;
            }
            KeyOutcome::Contradicts(smallest) => {
                assert!(!truth, "{talk:?} {seed}: an order exists: {operations:#?}\n{smallest:#?}");
                let start = if smallest.start == 0 { Held::Nothing } else { Held::Sum(smallest.start) };
                let part = &smallest.operations;
                assert!(!some_order_explains(part, &start), "{talk:?} {seed}: the part has an order: {smallest:#?}");
                assert!(part.len() <= operations.len());
                none += 1;
            }
            KeyOutcome::Undecided(bound) => panic!("{talk:?} {seed}: {bound}"),
        }
    }
    (ordered, none)
}

/// Both outcomes must have come up often, or the comparison says little.
fn often(counts: (u64, u64)) {
    assert!(counts.0 > 1_000 && counts.1 > 1_000, "{counts:?}");
}

#[test]
fn registers_with_unique_versions_are_judged_as_by_trying_every_order() {
    often(agree(Talk::Register, 40_000));
}

#[test]
fn deletions_compare_and_set_and_repeated_versions_are_judged_as_by_trying_every_order() {
    often(agree(Talk::Any, 40_000));
}

#[test]
fn counters_are_judged_as_by_trying_every_order() {
    often(agree(Talk::Counter, 40_000));
}

#[test]
fn lists_are_judged_as_by_trying_every_order() {
    often(agree(Talk::List, 40_000));
}

#[test]
fn no_operation_of_the_smallest_contradiction_on_a_register_can_be_left_out() {
    for seed in 1..=20_000 {
        let operations = random(Talk::Register, &mut Dice::new(seed), 7);
        let KeyOutcome::Contradicts(smallest) = judge(&operations, &Bounds::default()) else { continue };
        for left_out in 0..smallest.operations.len() {
            let mut rest: Vec<Act> = smallest.operations.clone();
            let gone = rest.remove(left_out);
            // Without the write, its reads would have read what nobody wrote.
            if rest.iter().any(|it| Some(it.kind.to_string()) == read_of(&gone)) {
                continue;
            }
            assert!(some_order_explains(&rest, &Held::Nothing), "{seed}: {gone:?} is not needed in {smallest:#?}");
        }
    }
}

/// The words of a read of what an operation wrote.
fn read_of(write: &Act) -> Option<String> {
    match write.kind {
        history::ActKind::Put(version) => Some(history::ActKind::Get(Some(version)).to_string()),
        _ => None,
    }
}
