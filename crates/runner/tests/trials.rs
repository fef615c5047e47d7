//! The life of a study, on stores that do what a test says: the order of trials, warm-ups, balance, interruption, resuming, stores that break.
#![allow(clippy::unwrap_used)]

mod script;

use kvtrial_runner::{Ending, Plan, RunError};
use script::{Act, Diary, NAMES, let_opening, opened, plan, plan_with_patience};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

fn run_on(plan: &Plan, recorded: &[u32], stop: &AtomicBool, diary: &mut Diary) -> Result<Ending, RunError> {
    kvtrial_runner::run(plan, &recorded.iter().copied().collect(), &[], stop, diary)
}

fn run(plan: &Plan) -> Diary {
    let mut diary = Diary::default();
    assert_eq!(run_on(plan, &[], &AtomicBool::new(false), &mut diary).unwrap(), Ending::Complete);
    diary
}

#[test]
fn every_store_has_every_place_equally_often_and_is_new_each_time() {
    let base = tempfile::tempdir().unwrap();
    let plan = plan(4, 0, 8, base.path());
    let diary = run(&plan);
    let names: Vec<String> = opened().into_iter().map(|(name, _)| name).collect();
    let planned: Vec<&str> = plan.turns().iter().map(|turn| NAMES[turn.cell]).collect();
    assert_eq!(names, planned, "the stores are opened in the order of the plan");
    for name in NAMES {
        for place in 0..4 {
            let times = names.chunks(4).filter(|round| round[place] == *name).count();
            assert_eq!(times, 2, "{name} at place {place}");
        }
    }
    let places: BTreeSet<_> = opened().into_iter().map(|(_, directory)| directory).collect();
    assert_eq!(places.len(), 32, "a directory of its own for each trial");
    assert!(places.iter().all(|place| !place.exists()), "and none is left");
    assert_eq!(base.path().read_dir().unwrap().count(), 0);
    assert_eq!(diary.orders(), (1..=32).collect::<Vec<_>>());
    assert!((0..32).all(|trial| diary.is_ranked(trial)), "{:?}", diary.reasons(0));
    assert!(diary.finished.iter().all(|(_, record, product)| record.operations == 200 && product.is_some()));
}

#[test]
fn warm_ups_come_first_once_for_each_store_and_are_recorded_as_such() {
    let base = tempfile::tempdir().unwrap();
    let diary = run(&plan(3, 2, 2, base.path()));
    let warmups: Vec<bool> = diary.finished.iter().map(|(_, record, _)| record.warmup).collect();
    assert_eq!(warmups, [[true; 6], [false; 6]].concat());
    assert_eq!(diary.began.iter().map(|(_, _, warmup)| *warmup).collect::<Vec<_>>(), warmups);
    for cell in 0..3 {
        assert_eq!(diary.finished[..6].iter().filter(|(which, ..)| *which == cell).count(), 2);
    }
}

#[test]
fn an_interruption_between_trials_keeps_those_that_are_finished_and_begins_no_other() {
    let base = tempfile::tempdir().unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let mut diary = Diary { enough: Some((4, Arc::clone(&stop))), ..Diary::default() };
    let ending = run_on(&plan(3, 0, 3, base.path()), &[], &stop, &mut diary).unwrap();
    assert_eq!(ending, Ending::Interrupted);
    assert_eq!((diary.orders(), opened().len()), (vec![1, 2, 3, 4], 4));
}

#[test]
fn a_trial_that_is_interrupted_midway_is_no_trial_and_leaves_nothing() {
    let base = tempfile::tempdir().unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let_opening(2, Act::Interrupt(Arc::clone(&stop)));
    let mut diary = Diary::default();
    let ending = run_on(&plan(3, 0, 3, base.path()), &[], &stop, &mut diary).unwrap();
    assert_eq!(ending, Ending::Interrupted);
    assert_eq!((diary.orders(), diary.began.len(), opened().len()), (vec![1, 2], 3, 3));
    assert_eq!(base.path().read_dir().unwrap().count(), 0);
}

#[test]
fn a_resumed_study_runs_what_is_missing_in_the_order_it_would_have_had() {
    let base = tempfile::tempdir().unwrap();
    let plan = plan(4, 1, 3, base.path());
    let whole = run(&plan);
    let before = opened().len();
    let mut rest = Diary::default();
    // The third was lost beside the last ones, as after a crash.
    let recorded = [1, 2, 4, 5, 6, 7];
    let ending = run_on(&plan, &recorded, &AtomicBool::new(false), &mut rest).unwrap();
    assert_eq!(ending, Ending::Complete);
    let missing: Vec<u32> = (1..=16).filter(|order| !recorded.contains(order)).collect();
    assert_eq!(rest.orders(), missing);
    let of = |diary: &Diary| diary.finished.iter().map(|(cell, record, _)| (record.order, *cell)).collect::<Vec<_>>();
    assert!(of(&rest).iter().all(|trial| of(&whole).contains(trial)), "each on the store it would have been");
    assert_eq!(opened().len() - before, missing.len(), "nothing is run twice");
}

#[test]
fn a_store_that_breaks_voids_its_trial_and_the_study_goes_on() {
    let base = tempfile::tempdir().unwrap();
    let_opening(1, Act::Break);
    let_opening(2, Act::Fail);
    let diary = run(&plan(2, 0, 3, base.path()));
    let ranked: Vec<bool> = (0..6).map(|trial| diary.is_ranked(trial)).collect();
    assert_eq!(ranked, [true, false, false, true, true, true]);
    assert_eq!(diary.reasons(1), ["connection_lost"]);
    assert_eq!(diary.reasons(2), ["refused"]);
    let example = &diary.finished[1].1.verdict.reasons[0].example;
    assert!(example.contains("it broke") && example.contains("while: load"), "{example}");
}

#[test]
fn a_store_that_cannot_be_opened_the_first_time_is_left_out_and_later_has_a_void_trial() {
    let base = tempfile::tempdir().unwrap();
    let_opening(3, Act::Refuse);
    let diary = run(&plan(2, 0, 3, base.path()));
    assert_eq!(diary.orders().len(), 6);
    assert_eq!(diary.reasons(3), ["not_started"]);
    assert!(diary.is_ranked(4) && diary.is_ranked(5));

    let before = opened().len();
    let_opening(before + 1, Act::Refuse);
    let plan = plan(2, 0, 3, base.path());
    let diary = run(&plan);
    let closed = plan.turns()[1].cell;
    assert_eq!(diary.failed.iter().map(|(cell, _)| *cell).collect::<Vec<_>>(), [closed]);
    let others: Vec<u32> = plan.turns().iter().filter(|turn| turn.cell != closed).map(|turn| turn.order).collect();
    assert_eq!(diary.orders(), others, "the other store has all its trials");
    assert_eq!(base.path().read_dir().unwrap().count(), 0);
}

#[test]
fn a_trial_that_cannot_be_written_down_ends_the_study() {
    let base = tempfile::tempdir().unwrap();
    let mut diary = Diary { room: Some(2), ..Diary::default() };
    let error = run_on(&plan(2, 0, 3, base.path()), &[], &AtomicBool::new(false), &mut diary).unwrap_err();
    assert!(matches!(&error, RunError::Record(problem) if problem == "the disk is full"), "{error}");
    assert_eq!((diary.orders(), opened().len()), (vec![1, 2], 3));
}

#[test]
fn rounds_beyond_the_second_are_left_out_when_the_users_patience_is_over_but_not_of_a_resumed_study() {
    let base = tempfile::tempdir().unwrap();
    let impatient = plan_with_patience(3, 1, 5, Some(Duration::ZERO), base.path());
    let diary = run(&impatient);
    assert_eq!((diary.settled, diary.orders()), (Some(2), (1..=9).collect()));
    let mut rest = Diary::default();
    run_on(&impatient, &diary.orders(), &AtomicBool::new(false), &mut rest).unwrap();
    assert_eq!((rest.settled, rest.orders()), (None, (10..=18).collect()));
}

#[test]
fn nothing_is_said_to_be_left_in_private_stores() {
    let base = tempfile::tempdir().unwrap();
    assert!(run(&plan(2, 0, 1, base.path())).left.is_empty());
}
