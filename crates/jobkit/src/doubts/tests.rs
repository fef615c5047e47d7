//! Doubts against a model: every execution that a store may make of a history, each failed write at once, late or never.

use super::{Doubt, Doubts, Effect, Replaces};
use proptest::prelude::{any, prop, proptest};
use proptest::strategy::Strategy;
use std::collections::BTreeSet;
use study::WriteAccount;

/// A write: of a register `whole` alone, of a counter `more` alone, of a counter that is read and put again both.
#[derive(Clone, Copy, Debug)]
struct Wrote {
    more: i64,
    whole: Option<i64>,
}

impl Effect for Wrote {
    type Whole = i64;

    fn more(&self) -> i64 {
        self.more
    }

    fn instead(&self) -> Option<&i64> {
        self.whole.as_ref()
    }
}

impl Wrote {
    fn over(self, state: i64) -> i64 {
        self.whole.unwrap_or(state + self.more)
    }
}

/// What a store may have done so far: the state, the failed writes that may still come, and how many came.
type Execution = (i64, Vec<usize>, u64);

/// All that a store may have done.
#[derive(Clone)]
struct Executions {
    failed: Vec<Wrote>,
    all: BTreeSet<Execution>,
}

impl Executions {
    fn new() -> Executions {
        Executions { failed: Vec::new(), all: [(0, Vec::new(), 0)].into() }
    }

    /// Lets writes that failed come, or not.
    fn settle(&mut self) {
        let mut open: Vec<Execution> = self.all.iter().cloned().collect();
        while let Some((state, waiting, came)) = open.pop() {
            for at in 0..waiting.len() {
                let mut left = waiting.clone();
                let next = (self.failed[left.remove(at)].over(state), left, came + 1);
                if self.all.insert(next.clone()) {
                    open.push(next);
                }
            }
        }
    }

    fn acknowledge(&mut self, write: Wrote) {
        self.settle();
        let all = std::mem::take(&mut self.all);
        self.all = all.into_iter().map(|(state, waiting, came)| (write.over(state), waiting, came)).collect();
    }

    fn fail(&mut self, write: Wrote) {
        let all = std::mem::take(&mut self.all);
        let waits = |mut waiting: Vec<usize>| {
            waiting.push(self.failed.len());
            waiting
        };
        self.all = all.into_iter().map(|(state, waiting, came)| (state, waits(waiting), came)).collect();
        self.failed.push(write);
    }

    /// The states that may be seen now.
    fn states(&mut self) -> Vec<i64> {
        self.settle();
        self.all.iter().map(|(state, ..)| *state).collect::<BTreeSet<i64>>().into_iter().collect()
    }

    /// Shows one of them.
    fn see_one(&mut self, pick: usize) -> i64 {
        let states = self.states();
        let seen = states[pick % states.len()];
        self.all.retain(|(state, ..)| *state == seen);
        seen
    }
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Acknowledged(i64),
    Failed(i64),
    Unsent,
    /// A read, which shows one of the states there may be.
    Read(usize),
}

fn histories() -> impl Strategy<Value = Vec<Event>> {
    let event = (0..4, 0..4i64, any::<usize>()).prop_map(|(kind, value, pick)| match kind {
        0 => Event::Acknowledged(value),
        1 => Event::Failed(value),
        2 => Event::Unsent,
        _ => Event::Read(pick),
    });
    let few_fail = |events: &Vec<Event>| events.iter().filter(|event| matches!(event, Event::Failed(_))).count() <= 5;
    prop::collection::vec(event, 0..14).prop_filter("every execution is tried", few_fail)
}

/// States that are asked for: all there can be in such a history, and more.
const ASKED: std::ops::Range<i64> = -3..20;

/// Whether a key may hold this where `known` is due.
fn is_allowed(doubt: &mut Doubt<Wrote>, known: i64, seen: i64) -> bool {
    seen == known || doubt.allows_more(seen - known) || doubt.allows_instead(&seen).is_some()
}

/// Follows a history; asserts after each event that every state is allowed that an execution shows, and no other; and that as many failed
/// writes count as seen as must have come.
fn follow(history: &[Event], write: fn(i64) -> Wrote) {
    let (mut model, mut doubts, mut known) = (Executions::new(), Doubts::<u8, Wrote>::default(), 0);
    for event in history {
        match *event {
            Event::Acknowledged(value) => {
                model.acknowledge(write(value));
                known = write(value).over(known);
            }
            Event::Failed(value) => {
                model.fail(write(value));
                doubts.of(0).fails(write(value));
            }
            Event::Unsent => {}
            Event::Read(pick) => {
                let seen = model.see_one(pick);
                assert!(is_allowed(doubts.of(0), known, seen), "{seen}: {history:?}");
                known = seen;
            }
        }
        let states = model.states();
        for seen in ASKED {
            assert_eq!(is_allowed(doubts.clone().of(0), known, seen), states.contains(&seen), "{seen}: {history:?}");
        }
        let account = doubts.account();
        assert_eq!(Some(account.failed_present), model.all.iter().map(|(.., came)| *came).min(), "{history:?}");
        assert_eq!(account.failed(), model.failed.len() as u64);
    }
}

proptest! {
    #[test]
    fn a_register_holds_what_was_last_acknowledged_or_seen_or_what_a_failed_write_leaves(history in histories()) {
        follow(&history, |value| Wrote { more: 0, whole: Some(value) });
    }

    #[test]
    fn a_counter_is_as_high_as_was_acknowledged_and_higher_by_increments_that_failed(history in histories()) {
        follow(&history, |_| Wrote { more: 1, whole: None });
    }

    #[test]
    fn what_is_counted_at_the_end_is_what_some_execution_leaves_and_less_is_lost(history in histories()) {
        let one = Wrote { more: 1, whole: None };
        let (mut model, mut doubt, mut right) = (Executions::new(), Doubt::default(), 0);
        for event in &history {
            match event {
                Event::Acknowledged(_) => model.acknowledge(one),
                Event::Failed(_) => {
                    model.fail(one);
                    doubt.fails(one);
                }
                Event::Unsent => doubt.skips(one),
                Event::Read(_) => doubt.leaves_out(one),
            }
            right += 1;
        }
        let (states, (least, most)) = (model.states(), doubt.bounds(right));
        for found in 0..20 {
            let account = doubt.account(found, least);
            let is_right = found <= most && account.lost == 0;
            assert_eq!(is_right, states.contains(&(found as i64)), "{found}: {history:?}");
            let of_this = model.all.iter().filter(|(state, ..)| *state == found as i64);
            assert!(of_this.clone().all(|(.., came)| *came == account.failed_present), "{found}: {history:?}");
            assert_eq!(account.failed(), (doubt.failed().count() + doubt.unsent().len()) as u64);
        }
    }

    /// Read, then put one more: a put that comes late takes away what was acknowledged since.
    #[test]
    fn a_counter_that_is_rewritten_is_never_called_lost_by_what_failed_puts_may_leave(history in histories()) {
        let (mut model, mut doubt, mut known, mut right) = (Executions::new(), Doubt::default(), 0, 0);
        for event in &history {
            let seen = model.see_one(if let Event::Read(pick) = event { *pick } else { right as usize });
            if seen != known {
                assert!(doubt.allows_instead(&seen).is_some(), "{seen}: {history:?}");
                doubt.overwrites(Wrote { more: (known - seen).max(0), whole: None });
                known = seen;
            }
            let put = Wrote { more: 1, whole: Some(known + 1) };
            match event {
                Event::Acknowledged(_) => {
                    model.acknowledge(put);
                    known += 1;
                }
                Event::Failed(_) => {
                    model.fail(put);
                    doubt.fails(put);
                }
                Event::Unsent => doubt.skips(put),
                Event::Read(_) => continue,
            }
            right += 1;
        }
        let (least, most) = doubt.bounds(right);
        for found in model.states() {
            assert!(found == known || doubt.may_leave(&found), "{found}: {history:?}");
            let (found, came_last) = (found as u64, found < known && doubt.may_leave(&found));
            let least = if came_last { least.min(found - 1) } else { least };
            assert!(found <= most && doubt.account(found, least).lost == 0, "{found}: {history:?}");
        }
    }
}

fn account(lost: u64, failed_absent: u64, failed_present: u64) -> WriteAccount {
    WriteAccount { lost, failed_absent, failed_present }
}

#[test]
fn a_row_is_as_its_last_acknowledged_write_left_it_or_as_one_that_failed_would_have() {
    let mut doubts = Doubts::default();
    doubts.of(7).fails(Replaces("b"));
    assert!(doubts.of(7).allows_instead(&"a").is_none() && doubts.of(7).allows_instead(&"b").is_some());
    assert!(doubts.of(7).allows_instead(&"b").is_none(), "it was seen, and something else acknowledged since");
    assert!(doubts.has(&7) && !doubts.has(&8));
    (0..2).for_each(|_| doubts.lose(7));
    assert_eq!(doubts.account(), account(1, 0, 1));
    doubts.reads_again();
    assert_eq!(doubts.account(), account(1, 1, 0));
}

#[test]
fn increments_that_failed_are_in_the_count_or_not_and_what_is_below_them_is_lost() {
    let (one, mut doubt) = (Wrote { more: 1, whole: None }, Doubt::default());
    doubt.skips(one);
    (0..3).for_each(|_| doubt.fails(one));
    let (least, most) = doubt.bounds(10);
    let seen = [9, 8, 6, 5, 0].map(|count| doubt.account(count, least));
    let right = [account(0, 1, 3), account(0, 2, 2), account(0, 4, 0), account(1, 4, 0), account(6, 4, 0)];
    assert_eq!((most, seen), (9, right));
    assert!(!doubt.allows_more(0) && !doubt.allows_more(4) && doubt.allows_more(2) && !doubt.allows_more(2));
}

#[test]
fn what_two_threads_know_of_a_key_is_added_up() {
    let one = Wrote { more: 1, whole: None };
    let (mut here, mut there) = (Doubts::default(), Doubts::default());
    here.of(1).fails(one);
    there.of(1).skips(one);
    there.of(2).fails(one);
    there.lose(2);
    here.merge(there);
    assert_eq!((here.account(), here.of(1).bounds(3)), (account(1, 3, 0), (1, 2)));
}

#[test]
fn steps_of_any_size_are_seen_as_far_as_they_make_up_what_is_there_more_and_in_its_direction_alone() {
    let shown = |more: i64| {
        let mut doubts = Doubts::default();
        [2, -3, 2, 5].into_iter().for_each(|more| doubts.of(()).fails(Wrote { more, whole: None }));
        doubts.of(()).shows_more(more);
        doubts.account().failed_present
    };
    assert_eq!([1, 2, 3, 4, 9, 20, -2, -4].map(shown), [0, 1, 1, 2, 3, 3, 0, 1]);
}
