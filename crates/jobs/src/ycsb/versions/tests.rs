//! What the ledger allows as an answer, case by case.

mod histories;

use super::order::{MAX_VERSION, Writes};
use super::{Age, CHUNK, Ledger, Sight};
use data::splitmix::Rng;
use study::WriteAccount;

fn judge(ledger: &Ledger, sight: Sight, version: u32) -> Result<(), Age> {
    if sight.is_newest(version) { Ok(()) } else { ledger.judge(0, sight, version) }
}

fn read(ledger: &Ledger, version: u32) -> Result<(), Age> {
    judge(ledger, ledger.sight(0), version)
}

#[test]
fn of_writes_one_after_the_other_only_the_last_may_be_answered() {
    let ledger = Ledger::new(1, Some(0), 1);
    assert!(!ledger.sight(0).exists());
    for version in 1..=40 {
        let before = ledger.sight(0);
        let write = ledger.begin_write(0, 0);
        assert_eq!((write.version, ledger.sight(0).exists()), (version, version > 1));
        ledger.end_write(0, 0, write);
        // To a read that was sent before the write both are right.
        assert!(version == 1 || judge(&ledger, before, version - 1).is_ok());
        assert_eq!(judge(&ledger, before, version), Ok(()));
        assert!(ledger.sight(0).is_newest(version));
        for old in 1..version {
            assert_eq!(read(&ledger, old), Err(Age::Stale(version)));
        }
        assert_eq!(read(&ledger, version), Ok(()));
        assert_eq!(read(&ledger, version + 1), Err(Age::NeverIssued(version)));
        assert_eq!(read(&ledger, 0), Err(Age::NeverIssued(version)));
    }
}

#[test]
fn while_a_write_is_in_flight_only_the_last_version_and_its_own_may_be_answered_and_there_is_no_way_back() {
    let ledger = Ledger::new(1, Some(0), 1);
    for _ in 0..3 {
        let write = ledger.begin_write(0, 0);
        ledger.end_write(0, 0, write);
    }
    let write = ledger.begin_write(0, 0);
    assert_eq!([1, 2, 3].map(|version| read(&ledger, version)), [Err(Age::Stale(3)), Err(Age::Stale(3)), Ok(())]);
    let early = ledger.sight(0);
    assert_eq!(read(&ledger, 4), Ok(()));
    assert_eq!(read(&ledger, 3), Err(Age::Stale(4)), "version 4 was read, so it is there");
    assert_eq!(judge(&ledger, early, 3), Ok(()), "that read was sent before the other had ended");
    ledger.end_write(0, 0, write);
    assert_eq!(read(&ledger, 3), Err(Age::Stale(4)));
}

#[test]
fn writes_in_flight_together_may_take_effect_in_any_order_but_only_once() {
    let ledger = Ledger::new(1, Some(0), 3);
    let first = ledger.begin_write(0, 0);
    ledger.end_write(0, 0, first);
    let (a, b) = (ledger.begin_write(0, 1), ledger.begin_write(0, 2));
    ledger.end_write(0, 2, b);
    // 3 was acknowledged, 2 may still come, or have come after it.
    assert_eq!(read(&ledger, 1), Err(Age::Stale(3)));
    assert_eq!([3, 2].map(|version| read(&ledger, version)), [Ok(()), Ok(())]);
    assert_eq!(read(&ledger, 3), Err(Age::Stale(2)), "2 was read after 3");
    ledger.end_write(0, 1, a);
    assert_eq!([2, 3].map(|version| read(&ledger, version)), [Ok(()), Err(Age::Stale(2))]);
}

#[test]
fn versions_run_around_without_false_alarm() {
    let ledger = Ledger::new(1, Some(0), 1);
    let write = ledger.begin_write(0, 0);
    ledger.end_write(0, 0, write);
    let quiet = MAX_VERSION - 1;
    ledger.planned[0].writes.store(quiet, std::sync::atomic::Ordering::Relaxed);
    ledger.planned[0].last.store(quiet, std::sync::atomic::Ordering::Relaxed);
    for version in [MAX_VERSION as u32, 1, 2, 3] {
        let write = ledger.begin_write(0, 0);
        assert_eq!((write.version, read(&ledger, version)), (version, Ok(())));
        ledger.end_write(0, 0, write);
        assert_eq!(read(&ledger, version), Ok(()));
    }
    assert_eq!(read(&ledger, MAX_VERSION as u32), Err(Age::Stale(3)));
    assert_eq!(read(&ledger, quiet as u32), Err(Age::Stale(3)));
    assert_eq!(read(&ledger, 4), Err(Age::NeverIssued(3)));
}

#[test]
fn a_failed_write_may_be_answered_or_not_and_nothing_else_is_forgiven() {
    let ledger = Ledger::new(1, Some(0), 1);
    for fails in [false, false, true] {
        let write = ledger.begin_write(0, 0);
        if fails { ledger.fail_write(0, 0, write) } else { ledger.end_write(0, 0, write) }
    }
    assert!(ledger.sight(0).exists(), "two of its writes were acknowledged");
    assert_eq!([1, 2].map(|version| read(&ledger, version)), [Err(Age::Stale(2)), Ok(())]);
    assert_eq!([3, 2].map(|version| read(&ledger, version)), [Ok(()), Err(Age::Stale(3))], "the failed one is there");
    let write = ledger.begin_write(0, 0);
    ledger.end_write(0, 0, write);
    assert_eq!([1, 2, 3].map(|version| read(&ledger, version).is_ok()), [false; 3]);
    assert_eq!((read(&ledger, 4), read(&ledger, 5)), (Ok(()), Err(Age::NeverIssued(4))));
    assert_eq!(ledger.account(), WriteAccount { failed_present: 1, ..WriteAccount::default() });
}

#[test]
fn a_key_whose_first_write_failed_may_be_missing_until_it_was_read() {
    let ledger = Ledger::new(1, Some(0), 1);
    let write = ledger.begin_write(0, 0);
    ledger.fail_write(0, 0, write);
    assert!(!ledger.sight(0).exists());
    assert_eq!(ledger.account(), WriteAccount { failed_absent: 1, ..WriteAccount::default() });
    assert_eq!(read(&ledger, 1), Ok(()));
    assert!(ledger.sight(0).exists(), "it was there");
}

#[test]
fn inserted_keys_find_room_planned_or_not() {
    let planned = Ledger::new(2, Some(1), 1);
    assert_eq!([planned.insert(), planned.insert()], [Some(2), None]);
    let open = Ledger::new(2, None, 1);
    for expected in 2..CHUNK as u64 + 10 {
        let id = open.insert();
        assert_eq!(id, Some(expected));
        let write = open.begin_write(expected, 0);
        assert!(!open.sight(expected).exists());
        open.end_write(expected, 0, write);
        assert!(open.sight(expected).is_newest(1));
    }
    assert_eq!(open.ids(), CHUNK as u64 + 10);
}

#[test]
fn ids_are_settled_in_order_whatever_the_order_of_acknowledgements() {
    let ledger = Ledger::new(2, Some(4), 4);
    let writes: Vec<_> = (0..4).map(|slot| (ledger.insert(), ledger.begin_write(2 + u64::from(slot), slot))).collect();
    assert!(writes.iter().zip(2..).all(|((id, write), expected)| (*id, write.version) == (Some(expected), 1)));
    let mut borders = Vec::new();
    for id in [3u64, 2, 5] {
        ledger.end_write(id, id as u32 - 2, writes[id as usize - 2].1);
        ledger.settle();
        borders.push(ledger.settled());
    }
    ledger.fail_write(4, 2, writes[2].1);
    ledger.settle();
    borders.push(ledger.settled());
    assert_eq!(borders, [2, 4, 4, 6]);
}

#[test]
fn threads_that_write_and_read_a_store_at_once_raise_no_alarm() {
    const THREADS: u32 = 4;
    let ledger = Ledger::new(2, Some(0), THREADS);
    let store = [const { std::sync::atomic::AtomicU32::new(0) }; 2];
    std::thread::scope(|scope| {
        for slot in 0..THREADS {
            let (ledger, store) = (&ledger, &store);
            scope.spawn(move || {
                let mut rng = Rng::new(slot.into());
                for _ in 0..50_000 {
                    let id = rng.below(2);
                    if rng.below(2) == 0 {
                        let write = ledger.begin_write(id, slot);
                        store[id as usize].store(write.version, std::sync::atomic::Ordering::SeqCst);
                        ledger.end_write(id, slot, write);
                    } else {
                        let sight = ledger.sight(id);
                        let version = store[id as usize].load(std::sync::atomic::Ordering::SeqCst);
                        let right = version == 0 && !sight.exists() || sight.is_newest(version);
                        assert_eq!(if right { Ok(()) } else { ledger.judge(id, sight, version) }, Ok(()));
                    }
                }
            });
        }
    });
    let issued = |id: u64| ledger.sight(id).writes.issued();
    assert!(issued(0) + issued(1) > 90_000);
}

#[test]
fn a_version_that_falls_out_of_the_window_is_finished_or_remembered() {
    let ledger = Ledger::new(1, Some(0), 3);
    let first = ledger.begin_write(0, 0);
    ledger.end_write(0, 0, first);
    let straggler = ledger.begin_write(0, 1);
    for _ in 0..100 {
        let write = ledger.begin_write(0, 2);
        ledger.end_write(0, 2, write);
    }
    assert!(ledger.sight(0).writes.is_crowded());
    assert_eq!(read(&ledger, 1), Err(Age::Stale(102)), "it was finished before the straggler began");
    assert_eq!(read(&ledger, straggler.version), Ok(()), "it may be the last to take effect");
    ledger.end_write(0, 1, straggler);
    let write = ledger.begin_write(0, 2);
    assert_eq!(ledger.sight(0).writes, Writes(103 | 1 << 26), "nothing old is unfinished any more");
    ledger.end_write(0, 2, write);
    assert_eq!([2, 102, 103].map(|version| read(&ledger, version).is_ok()), [false, false, true]);
}

#[test]
fn writes_of_ids_beyond_32_bits_are_not_mixed_up() {
    let far = [3_000_000_000u64, 3_000_000_000 + (1 << 32), 7, 7 + (1 << 32)];
    let marks: Vec<u64> = far.iter().map(|&id| super::mark(id) | 5).collect();
    for (at, &id) in far.iter().enumerate() {
        let own: Vec<usize> = (0..far.len()).filter(|&flight| super::is_of(marks[flight], id)).collect();
        assert_eq!(own, [at]);
    }
    assert!(!super::is_of(0, 0), "no write is in flight");
}
