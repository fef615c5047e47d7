//! Versions, floors and settled ids.

use super::{Age, CHUNK, Known, Ledger, MAX_VERSION};

#[test]
fn writes_one_after_the_other_leave_only_the_last_version() {
    let ledger = Ledger::new(1, Some(0));
    assert_eq!(ledger.known(0), Known::Nothing);
    for version in 1..=5 {
        assert_eq!(ledger.begin_write(0), version);
        assert_eq!(ledger.known(0), if version == 1 { Known::Nothing } else { Known::Exists });
        ledger.end_write(0);
        assert_eq!(ledger.known(0), Known::AtLeast(version));
    }
    let known = ledger.known(0);
    assert_eq!(ledger.judge(0, known, 5), Ok(()));
    assert_eq!(ledger.judge(0, known, 4), Err(Age::Stale(5)));
    assert_eq!(ledger.judge(0, known, 6), Err(Age::NeverIssued(5)));
    assert_eq!(ledger.judge(0, known, 0), Err(Age::NeverIssued(5)));
}

#[test]
fn the_version_issued_last_when_the_read_was_sent_is_never_stale() {
    let ledger = Ledger::new(1, Some(0));
    assert!(!ledger.sight(0).is_newest(0), "nothing was issued");
    ledger.begin_write(0);
    ledger.end_write(0);
    ledger.begin_write(0);
    let sight = ledger.sight(0);
    ledger.end_write(0);
    ledger.begin_write(0);
    assert_eq!([0, 1, 2, 3].map(|version| sight.is_newest(version)), [false, false, true, false]);
    assert_eq!(ledger.judge(0, sight.known(), 2), Ok(()), "the ledger says the same");
}

#[test]
fn of_overlapping_writes_any_may_be_last_but_none_from_before() {
    let ledger = Ledger::new(1, Some(0));
    (0..3).for_each(|_| {
        ledger.begin_write(0);
        ledger.end_write(0);
    });
    assert_eq!((ledger.begin_write(0), ledger.begin_write(0)), (4, 5));
    ledger.end_write(0);
    assert_eq!(ledger.begin_write(0), 6);
    assert_eq!(ledger.known(0), Known::Exists);
    ledger.end_write(0);
    ledger.end_write(0);
    let known = ledger.known(0);
    assert_eq!(known, Known::AtLeast(4));
    assert_eq!(
        [3, 4, 5, 6, 7].map(|version| ledger.judge(0, known, version).is_ok()),
        [false, true, true, true, false]
    );
}

#[test]
fn a_write_issued_after_the_read_was_sent_may_be_seen_by_it() {
    let ledger = Ledger::new(1, Some(0));
    ledger.begin_write(0);
    ledger.end_write(0);
    let known = ledger.known(0);
    ledger.begin_write(0);
    assert_eq!([1, 2, 3].map(|version| ledger.judge(0, known, version).is_ok()), [true, true, false]);
}

#[test]
fn versions_run_around_without_false_alarm() {
    let ledger = Ledger::new(1, Some(0));
    let word = (MAX_VERSION - 1) | ((MAX_VERSION - 1) << 26);
    ledger.planned[0].store(word, std::sync::atomic::Ordering::Relaxed);
    let versions: Vec<u32> = (0..3).map(|_| ledger.begin_write(0)).collect();
    assert_eq!(versions, [MAX_VERSION as u32, 1, 2]);
    (0..3).for_each(|_| ledger.end_write(0));
    let known = ledger.known(0);
    assert_eq!(known, Known::AtLeast(MAX_VERSION as u32));
    for version in versions {
        assert_eq!(ledger.judge(0, known, version), Ok(()));
    }
    assert_eq!(ledger.judge(0, known, MAX_VERSION as u32 - 1), Err(Age::Stale(MAX_VERSION as u32)));
    assert_eq!(ledger.judge(0, known, 3), Err(Age::NeverIssued(2)));
}

#[test]
fn a_failed_write_makes_the_key_uncertain_for_ever() {
    let ledger = Ledger::new(1, Some(0));
    ledger.begin_write(0);
    ledger.end_write(0);
    ledger.begin_write(0);
    ledger.fail_write(0);
    ledger.begin_write(0);
    ledger.end_write(0);
    assert_eq!(ledger.known(0), Known::Nothing);
    assert_eq!(ledger.judge(0, Known::Nothing, 1), Ok(()));
}

#[test]
fn inserted_keys_find_room_planned_or_not() {
    let planned = Ledger::new(2, Some(1));
    assert_eq!([planned.insert(), planned.insert()], [Some(2), None]);
    let open = Ledger::new(2, None);
    for expected in 2..CHUNK as u32 + 10 {
        let id = open.insert();
        assert_eq!(id, Some(expected));
        open.begin_write(expected);
        assert_eq!(open.known(expected), Known::Nothing);
        open.end_write(expected);
        assert_eq!(open.known(expected), Known::AtLeast(1));
    }
    assert_eq!(open.ids(), CHUNK as u32 + 10);
}

#[test]
fn ids_are_settled_in_order_whatever_the_order_of_acknowledgements() {
    let ledger = Ledger::new(2, Some(4));
    (0..4).for_each(|_| {
        let id = ledger.insert();
        assert!(id.is_some_and(|id| ledger.begin_write(id) == 1));
    });
    let mut borders = Vec::new();
    for id in [3, 2, 5] {
        ledger.end_write(id);
        ledger.settle();
        borders.push(ledger.settled());
    }
    ledger.fail_write(4);
    ledger.settle();
    borders.push(ledger.settled());
    assert_eq!(borders, [2, 4, 4, 6]);
}

#[test]
fn threads_that_write_one_key_at_once_lose_no_version() {
    let ledger = Ledger::new(1, Some(0));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..10_000 {
                    ledger.begin_write(0);
                    ledger.end_write(0);
                }
            });
        }
    });
    let known = ledger.known(0);
    assert!(matches!(known, Known::AtLeast(floor) if floor <= 40_000));
    assert_eq!(ledger.judge(0, known, 40_000), Ok(()));
    assert_eq!(ledger.judge(0, known, 40_001), Err(Age::NeverIssued(40_000)));
}
