//! The checker against an exhaustive search, on many small histories.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Dice, has_order, honest, random, spoilt};
use history::{Conflict, Deed, Encounter, check_key};

fn histories(seed: u64, count: u64, swaps: bool) -> impl Iterator<Item = Vec<Encounter>> {
    let mut dice = Dice(seed);
    (0..count).map(move |number| {
        let n = 2 + dice.below(7);
        match number % 3 {
            0 => random(&mut dice, n, swaps),
            1 => honest(&mut dice, n, swaps),
            _ => {
                let honest = honest(&mut dice, n, swaps);
                spoilt(&mut dice, honest)
            }
        }
    })
}

#[test]
fn it_says_of_small_histories_what_an_exhaustive_search_says() {
    for swaps in [false, true] {
        let (mut right, mut wrong) = (0, 0);
        for all in histories(42, 60_000, swaps) {
            let has_order = has_order(&all);
            let check = check_key(&all).unwrap();
            assert_eq!(check.contradicted_keys == 0, has_order, "{all:#?} {check:?}");
            assert_eq!(check.smallest.is_some(), !has_order);
            *(if has_order { &mut right } else { &mut wrong }) += 1;
        }
        assert!(right > 10_000 && wrong > 10_000, "{right} {wrong}");
    }
}

#[test]
fn an_honest_register_is_never_blamed() {
    let mut dice = Dice(7);
    for _ in 0..3_000 {
        let n = 2 + dice.below(300);
        let check = check_key(&honest(&mut dice, n, true)).unwrap();
        assert_eq!((check.contradicted_keys, check.smallest), (0, None));
        let weaker = check.weaker;
        assert_eq!((weaker.stale_reads, weaker.backward_reads, weaker.own_writes_missed), (0, 0, 0));
    }
}

/// Whether every version that is seen is also written.
fn is_whole(all: &[Encounter]) -> bool {
    let writes = |version| version == 0 || all.iter().any(|it| it.writes() && it.version() == version);
    all.iter().filter(|it| it.answered_ns.is_some()).all(|it| match it.action {
        Deed::Swap { from, .. } => writes(from),
        _ => writes(it.version()),
    })
}

#[test]
fn what_is_shown_of_registers_is_the_smallest_part_that_contradicts_itself() {
    let mut shown = 0;
    for all in histories(4711, 60_000, false) {
        let Some(found) = check_key(&all).unwrap().smallest else { continue };
        assert!(!has_order(&found.operations), "{found:?}");
        if found.flaw == Conflict::NeverWritten {
            assert_eq!(found.operations.len(), 1);
            continue;
        }
        let smallest = (1u32..1 << all.len())
            .filter(|set| set.count_ones() < found.operations.len() as u32)
            .map(|set| (0..all.len()).filter(|at| set >> at & 1 == 1).map(|at| all[at]).collect::<Vec<_>>())
            .find(|part| is_whole(part) && !has_order(part));
        assert_eq!(smallest, None, "smaller than {found:#?} of {all:#?}");
        shown += 1;
    }
    assert!(shown > 3_000, "{shown}");
}

#[test]
fn a_contradiction_of_swaps_loses_nothing_that_could_be_left_out() {
    for all in histories(99, 9_000, true) {
        let Some(found) = check_key(&all).unwrap().smallest else { continue };
        assert!(found.operations.iter().all(|it| all.contains(it)));
        for at in 0..found.operations.len() {
            let mut fewer = found.operations.clone();
            fewer.remove(at);
            let again = check_key(&fewer).unwrap().smallest;
            // Without its write, what saw a version has another flaw.
            assert!(again.is_none_or(|it| it.flaw != found.flaw || it.flaw == Conflict::NeverWritten), "{found:#?}");
        }
    }
}

#[test]
fn weaker_guarantees_break_only_where_the_strongest_does() {
    let mut broken = 0;
    for all in histories(5, 30_000, true) {
        let check = check_key(&all).unwrap();
        let weaker = check.weaker;
        if weaker.stale_reads + weaker.backward_reads + weaker.own_writes_missed > 0 {
            assert!(check.smallest.is_some(), "{all:#?} {check:?}");
            broken += 1;
        }
    }
    assert!(broken > 1_000, "{broken}");
}
