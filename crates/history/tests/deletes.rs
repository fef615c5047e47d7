//! Keys that are deleted: which delete a read saw that found nothing.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Dice, has_order};
use history::{Conflict, Deed, Encounter, check_key};

/// Writes and deletes one after the other, the last perhaps without an answer, and reads beside them; half of the histories are honest.
fn history(dice: &mut Dice, is_honest: bool) -> Vec<Encounter> {
    let mut all = Vec::new();
    let mut states = vec![(0, 0)];
    let mut at_ns = 10;
    let writes = 1 + dice.below(5);
    for version in 1..=writes {
        at_ns += 1 + dice.below(5);
        let sent_ns = at_ns;
        let happens_ns = sent_ns + dice.below(6);
        at_ns = happens_ns + dice.below(6);
        let is_known = version < writes || dice.below(3) > 0;
        let deletes = dice.below(2) == 0;
        let action = if deletes { Deed::Delete(version) } else { Deed::Write(version) };
        if is_known || dice.below(2) == 0 {
            states.push((happens_ns, if deletes { 0 } else { version }));
        }
        all.push(Encounter { client: 0, key: 3, action, sent_ns, answered_ns: is_known.then_some(at_ns) });
    }
    for client in 1..=1 + dice.below(4) {
        let sent_ns = 1 + dice.below(at_ns + 5);
        let reads_ns = sent_ns + dice.below(8);
        let mut seen = states.iter().rfind(|(since_ns, _)| *since_ns <= reads_ns).map_or(0, |it| it.1);
        if !is_honest && dice.below(3) == 0 {
            seen = if dice.below(2) == 0 { 0 } else { states[dice.below(states.len() as u64) as usize].1 };
        }
        let action = if seen == 0 { Deed::Missed(0) } else { Deed::Read(seen) };
        let answered_ns = Some(reads_ns + dice.below(8));
        all.push(Encounter { client: client as u32, key: 3, action, sent_ns, answered_ns });
    }
    all
}

#[test]
fn keys_that_are_deleted_are_judged_as_an_exhaustive_search_judges_them() {
    let mut dice = Dice(46);
    let mut seen = [0; 2];
    for round in 0..60_000 {
        let all = history(&mut dice, round % 2 == 0);
        let expected = has_order(&all);
        let check = check_key(&all).unwrap();
        assert_eq!(check.smallest.is_none(), expected, "{all:#?} {check:?}");
        assert!(expected || round % 2 == 1, "{all:#?}");
        seen[usize::from(expected)] += 1;
    }
    assert!(seen.iter().all(|&it| it > 3_000), "{seen:?}");
}

fn operation(client: u32, action: Deed, sent_ns: u64, answered_ns: u64) -> Encounter {
    Encounter { client, key: 1, action, sent_ns, answered_ns: Some(answered_ns) }
}

#[test]
fn a_read_that_misses_what_was_written_after_a_delete_is_stale_and_shown_with_both() {
    let all = [
        operation(0, Deed::Write(1), 0, 1),
        operation(0, Deed::Delete(2), 2, 3),
        operation(0, Deed::Write(3), 4, 5),
        operation(1, Deed::Missed(0), 9, 10),
    ];
    let check = check_key(&all).unwrap();
    let smallest = check.smallest.unwrap();
    assert_eq!((check.weaker.stale_reads, check.weaker.oldest_stale_ns, smallest.flaw), (1, 4, Conflict::OutOfOrder));
    let deeds: Vec<Deed> = smallest.operations.iter().map(|it| it.action).collect();
    assert_eq!(deeds, [Deed::Delete(2), Deed::Write(3), Deed::Missed(2)]);
}

#[test]
fn a_value_that_is_back_after_a_delete_is_a_stale_read() {
    let all = [
        operation(0, Deed::Write(1), 0, 1),
        operation(0, Deed::Delete(2), 2, 3),
        operation(1, Deed::Missed(0), 4, 5),
        operation(1, Deed::Read(1), 6, 7),
    ];
    let check = check_key(&all).unwrap();
    assert_eq!((check.contradicted_keys, check.weaker.stale_reads, check.weaker.backward_reads), (1, 1, 1));
}

#[test]
fn where_several_clients_delete_at_once_what_is_open_blames_nobody() {
    let all = [
        operation(0, Deed::Write(1), 0, 1),
        operation(0, Deed::Delete(2), 2, 9),
        operation(1, Deed::Delete(3), 3, 8),
        operation(1, Deed::Write(4), 10, 12),
        operation(2, Deed::Missed(0), 11, 13),
    ];
    assert_eq!(check_key(&all).unwrap().contradicted_keys, 0);
}
