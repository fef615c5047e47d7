//! Small histories whose verdict is known: the textbook ones of registers, and what clusters have been seen to answer.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use history::{
    Act, ActEnd, ActKind, Bounds, Contradiction, FaultMark, Impossibility, KeyOutcome, SwapAnswer, draw, judge, weaker,
};

/// An operation of a client from one millisecond to another; a negative end means that it was never answered.
fn op(client: u32, kind: ActKind, from_ms: u64, to_ms: i64) -> Act {
    let end = u64::try_from(to_ms).map_or(ActEnd::Unknown, |to| ActEnd::Answered(to * 1_000_000));
    Act { key: 0, client, kind, sent_ns: from_ms * 1_000_000, end }
}

fn get(version: u64) -> ActKind {
    ActKind::Get(Some(version))
}

fn verdict(operations: &[Act]) -> KeyOutcome {
    let mut sorted = operations.to_vec();
    sorted.sort_by_key(|it| it.sent_ns);
    judge(&sorted, &Bounds::default())
}

fn contradiction(operations: &[Act]) -> Contradiction {
    match verdict(operations) {
        KeyOutcome::Contradicts(it) => it,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_read_beside_a_write_may_see_the_old_value_or_the_new_one() {
    for seen in [1, 2] {
        let history = [op(1, ActKind::Put(1), 0, 1), op(1, ActKind::Put(2), 2, 9), op(2, get(seen), 3, 4)];
        assert_eq!(verdict(&history), KeyOutcome::Linearizable);
    }
}

#[test]
fn once_a_read_has_seen_the_new_value_no_later_one_may_see_the_old() {
    let history =
        [op(1, ActKind::Put(1), 0, 1), op(1, ActKind::Put(2), 2, 9), op(2, get(2), 3, 4), op(3, get(1), 5, 6)];
    assert_eq!(contradiction(&history).operations.len(), 4);
    // The other way round is fine.
    let history =
        [op(1, ActKind::Put(1), 0, 1), op(1, ActKind::Put(2), 2, 9), op(2, get(1), 3, 4), op(3, get(2), 5, 6)];
    assert_eq!(verdict(&history), KeyOutcome::Linearizable);
}

#[test]
fn two_readers_may_not_see_two_writes_in_opposite_orders() {
    let history =
        [op(1, ActKind::Put(1), 0, 10), op(2, ActKind::Put(2), 0, 10), op(3, get(1), 11, 12), op(4, get(2), 13, 14)];
    assert_eq!(contradiction(&history).operations.len(), 4);
}

#[test]
fn a_stale_read_is_shown_with_three_operations_out_of_many() {
    let mut history: Vec<Act> = (1..=100).map(|at| op(1, ActKind::Put(at), 10 * at, 10 * at as i64 + 1)).collect();
    history.extend((1..=100).map(|at| op(2, get(at), 10 * at + 2, 10 * at as i64 + 3)));
    history.push(op(3, get(40), 1_100, 1_101));
    let shown = contradiction(&history);
    assert_eq!(shown.operations.len(), 3, "{shown:?}");
    assert_eq!(shown.reason, Impossibility::NoOrder);
}

#[test]
fn a_write_that_was_never_answered_may_happen_late_or_never() {
    let late =
        [op(1, ActKind::Put(1), 0, 1), op(2, ActKind::Put(2), 2, -1), op(3, get(1), 50, 51), op(3, get(2), 90, 91)];
    assert_eq!(verdict(&late), KeyOutcome::Linearizable);
    let never = [op(1, ActKind::Put(1), 0, 1), op(2, ActKind::Put(2), 2, -1), op(3, get(1), 50, 51)];
    assert_eq!(verdict(&never), KeyOutcome::Linearizable);
    let both =
        [op(1, ActKind::Put(1), 0, 1), op(2, ActKind::Put(2), 2, -1), op(3, get(2), 50, 51), op(3, get(1), 90, 91)];
    assert_eq!(contradiction(&both).operations.len(), 4);
}

#[test]
fn a_refused_write_never_happened() {
    let refused = Act { end: ActEnd::Refused(2_000_000), ..op(1, ActKind::Put(1), 0, 1) };
    assert_eq!(contradiction(&[refused, op(2, get(1), 5, 6)]).reason, Impossibility::Invented(1));
}

#[test]
fn a_value_read_before_it_was_sent_is_said_to_be_so() {
    let history = [op(2, get(1), 0, 1), op(1, ActKind::Put(1), 5, 6)];
    assert_eq!(contradiction(&history).reason, Impossibility::BeforeWritten(1));
}

#[test]
fn a_lost_acknowledged_write_is_a_read_of_nothing_after_it() {
    assert_eq!(contradiction(&[op(1, ActKind::Put(1), 0, 1), op(2, ActKind::Get(None), 2, 3)]).operations.len(), 2);
}

#[test]
fn two_swaps_of_the_same_value_cannot_both_have_been_done() {
    let swap = |client, new, from, to| {
        op(client, ActKind::CompareAndSet { expected: Some(1), new, swap: SwapAnswer::Done }, from, to)
    };
    let history = [op(1, ActKind::Put(1), 0, 1), swap(2, 2, 2, 9), swap(3, 3, 2, 9)];
    assert_eq!(contradiction(&history).operations.len(), 3);
}

#[test]
fn a_deleted_value_that_comes_back_contradicts() {
    let history = [
        op(1, ActKind::Put(1), 0, 1),
        op(1, ActKind::Delete, 2, 3),
        op(2, ActKind::Get(None), 4, 5),
        op(2, get(1), 6, 7),
    ];
    assert_eq!(contradiction(&history).operations.len(), 3, "the read of nothing is not needed");
}

#[test]
fn a_counter_that_lost_an_addition_is_said_with_the_numbers_it_could_have_had() {
    let add = |from: u64| op(1, ActKind::Add { by: 1, now: None }, from, from as i64 + 1);
    let history =
        [add(0), add(2), add(4), op(3, ActKind::Add { by: 1, now: None }, 5, 20), op(2, ActKind::Sum(2), 6, 7)];
    let shown = contradiction(&history);
    assert_eq!(shown.reason, Impossibility::Sum { read: 2, least: 3, most: 4 });
    assert_eq!(shown.start, 3, "what was added before stands as a number: {shown:?}");
}

#[test]
fn a_list_whose_readers_saw_two_orders_is_shown_without_other_elements() {
    let list = |elements: &[u64]| ActKind::List(elements.to_vec());
    let history = [
        op(1, ActKind::Append(1), 0, 1),
        op(1, ActKind::Append(2), 2, 9),
        op(2, ActKind::Append(3), 2, 9),
        op(3, list(&[1, 2, 3]), 10, 11),
        op(4, list(&[1, 3, 2]), 10, 11),
    ];
    let shown = contradiction(&history);
    assert_eq!(shown.operations.len(), 4, "{shown:?}");
    assert!(shown.operations.iter().any(|it| it.kind == list(&[2, 3])));
}

#[test]
fn twenty_appends_at_once_are_decided_by_the_list_that_was_read() {
    let mut history: Vec<Act> = (1..=20).map(|at| op(at as u32, ActKind::Append(at), at, 1_000)).collect();
    history.push(op(30, ActKind::List((1..=20).rev().collect()), 30, 1_001));
    assert_eq!(verdict(&history), KeyOutcome::Linearizable);
    history.push(op(30, ActKind::List((2..=20).rev().collect()), 1_002, 1_003));
    assert!(contradiction(&history).operations.len() <= 3);
}

#[test]
fn what_takes_too_many_states_is_undecided_and_says_so() {
    // Which of the even numbers were added when an odd sum was read?
    let add = |at: u64| op(at as u32, ActKind::Add { by: 1 << at, now: None }, at, 1_000);
    let mut history: Vec<Act> = (1..=20).map(add).collect();
    history.push(op(30, ActKind::Sum(12_345), 30, 900));
    let said = match judge(&history, &Bounds { states: 1_000 }) {
        KeyOutcome::Undecided(bound) => bound.to_string(),
        other => panic!("{other:?}"),
    };
    assert_eq!(said, "undecided: more than 1000 states were possible at once");
}

#[test]
fn a_stale_read_is_as_old_as_the_answer_to_the_write_that_replaced_its_value() {
    let history = [
        op(1, ActKind::Put(1), 0, 1),
        op(1, ActKind::Put(2), 2, 3),
        op(1, ActKind::Put(3), 4, 5),
        op(2, get(1), 44, 45),
    ];
    assert_eq!(weaker(&history).stale_ns, [41_000_000]);
}

#[test]
fn a_client_that_goes_back_and_one_that_misses_its_own_write_are_told_by_name() {
    let back = [op(1, ActKind::Put(1), 0, 1), op(1, ActKind::Put(2), 2, 3), op(2, get(2), 4, 5), op(2, get(1), 6, 7)];
    let found = weaker(&back);
    assert_eq!((found.went_back, found.own_write_missing, found.stale_ns.len()), (1, 0, 1));
    let own = [op(1, ActKind::Put(1), 0, 1), op(2, ActKind::Put(2), 2, 3), op(2, get(1), 6, 7)];
    let found = weaker(&own);
    assert_eq!((found.went_back, found.own_write_missing, found.stale_ns.len()), (0, 1, 1));
}

#[test]
fn reads_beside_the_writes_they_could_have_seen_are_not_stale() {
    let history =
        [op(1, ActKind::Put(1), 0, 9), op(2, ActKind::Put(2), 5, 12), op(3, get(2), 13, 14), op(3, get(1), 15, 16)];
    assert_eq!(weaker(&history).stale_ns, [0_u64; 0]);
    assert_eq!(contradiction(&history).operations.len(), 4, "yet it is no register");
}

#[test]
fn a_drawing_shows_who_did_what_in_which_order_and_when_the_fault_was() {
    let history = [
        op(1, ActKind::Put(1), 0, 1),
        op(1, ActKind::Put(2), 2, 4),
        op(2, get(1), 45, 46),
        op(3, ActKind::Put(3), 3, -1),
    ];
    let mut shown = contradiction(&history);
    assert_eq!(shown.operations.len(), 3);
    shown.operations.push(history[3].clone());
    let mark = FaultMark { at_ns: 3_500_000, label: "node 2 frozen".to_owned() };
    assert_eq!(
        draw(&shown, &[mark]),
        "\
client 1  ├ put 1 ┤├ put 2 ┤
client 2                    ├ get → 1 ┤
client 3            ├ put 3 ┄┄?
                     ▲ node 2 frozen

No order of these operations explains their answers.
  client 1: put 1, sent at 0.000 ms, answered at 1.000 ms
  client 1: put 2, sent at 2.000 ms, answered at 4.000 ms
  client 2: get → 1, sent at 45.000 ms, answered at 46.000 ms
  client 3: put 3, sent at 3.000 ms, never answered
  node 2 frozen: at 3.500 ms
"
    );
}
