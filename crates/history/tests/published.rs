//! Small histories of which others have published the answer, written down here from their descriptions.
#![allow(clippy::unwrap_used)]

use history::{Check, Conflict, Deed, Encounter, check_key};

fn operation(client: u32, action: Deed, sent_ns: u64, answered_ns: u64) -> Encounter {
    let answered_ns = (answered_ns > 0).then_some(answered_ns);
    Encounter { client, key: 1, action, sent_ns, answered_ns }
}

fn checked(all: &[Encounter]) -> Check {
    check_key(all).unwrap()
}

/// The two histories with which porcupine is introduced.
#[test]
fn porcupines_register() {
    let right = [
        operation(0, Deed::Write(100), 0, 100),
        operation(1, Deed::Read(100), 25, 75),
        operation(2, Deed::Read(0), 30, 60),
    ];
    assert_eq!(checked(&right).smallest, None);
    let wrong = [
        operation(0, Deed::Write(200), 0, 100),
        operation(1, Deed::Read(200), 10, 30),
        operation(2, Deed::Read(0), 40, 90),
    ];
    let found = checked(&wrong).smallest.unwrap();
    assert_eq!((found.flaw, found.operations.len()), (Conflict::OutOfOrder, 3));
    assert_eq!(checked(&wrong).weaker.stale_reads, 0, "the write was not acknowledged before the second read was sent");
}

/// Knossos: a write that crashed may take effect later, once, or never.
#[test]
fn a_crashed_write_of_knossos() {
    let crashed = operation(0, Deed::Write(2), 5, 0);
    let write = operation(1, Deed::Write(1), 0, 4);
    let read = |version, sent_ns| operation(2, Deed::Read(version), sent_ns, sent_ns + 5);
    for seen in [[1, 1, 1], [1, 1, 2], [1, 2, 2], [2, 2, 2]] {
        let all = [crashed, write, read(seen[0], 10), read(seen[1], 20), read(seen[2], 30)];
        assert_eq!(checked(&all).smallest, None, "{seen:?}");
    }
    let all = [crashed, write, read(1, 10), read(2, 20), read(1, 30)];
    let check = checked(&all);
    assert_eq!(check.smallest.unwrap().operations.len(), 4, "both writes and the last two reads");
    assert_eq!((check.weaker.stale_reads, check.weaker.backward_reads), (0, 1), "nobody acknowledged the newer one");
}

/// Knossos' register with compare-and-set: two that find the same version cannot both succeed.
#[test]
fn two_swaps_of_one_version() {
    let all = [
        operation(0, Deed::Write(1), 0, 4),
        operation(1, Deed::Swap { from: 1, to: 2 }, 5, 20),
        operation(2, Deed::Swap { from: 1, to: 3 }, 5, 20),
    ];
    let found = checked(&all).smallest.unwrap();
    assert_eq!((found.flaw, found.operations.len()), (Conflict::SwappedTwice, 3), "both, and what they found");
    let chain =
        [all[0], all[1], operation(2, Deed::Swap { from: 2, to: 3 }, 5, 20), operation(0, Deed::Read(3), 21, 22)];
    assert_eq!(checked(&chain).smallest, None);
}

#[test]
fn weaker_guarantees_have_their_names() {
    let (old, new) = (operation(0, Deed::Write(1), 1, 2), operation(1, Deed::Write(2), 10, 20));
    let stale = checked(&[old, new, operation(2, Deed::Read(1), 61, 70)]).weaker;
    assert_eq!((stale.stale_reads, stale.oldest_stale_ns), (1, 41), "acknowledged at 20, asked at 61");
    assert_eq!((stale.backward_reads, stale.own_writes_missed), (0, 0), "the client had not seen better");
    let own = checked(&[old, new, operation(1, Deed::Read(1), 61, 70)]).weaker;
    assert_eq!((own.own_writes_missed, own.backward_reads), (1, 0));
    let back = [old, new, operation(2, Deed::Read(2), 21, 30), operation(2, Deed::Read(1), 61, 70)];
    assert_eq!(checked(&back).weaker.backward_reads, 1);
}

#[test]
fn a_history_that_does_not_say_what_was_read_is_not_checked() {
    let twice = [operation(0, Deed::Write(1), 0, 5), operation(1, Deed::Write(1), 6, 9)];
    let why = check_key(&twice).unwrap_err().to_string();
    assert_eq!(why, "two writes of key 1 have the version 1, so a read does not say which it saw");
    assert!(check_key(&[operation(3, Deed::Read(0), 9, 5)]).unwrap_err().to_string().contains("client 3"));
}
