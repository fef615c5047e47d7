//! The same battery on every embedded store, at every durability level it has, and on Tokyo Tyrant over the test server.
//!
//! A program of its own: where others start servers, a process between its fork and its exec holds the locks of files a moment longer.

#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod battery;

/// One module of tests a store and level.
macro_rules! batteries {
    ($($(#[$when:meta])* $name:ident = $spec:literal: [$($test:ident),* $(,)?]),* $(,)?) => {
        $($(#[$when])* mod $name {
            $(#[test] fn $test() { crate::battery::$test($spec) })*
        })*
    };
}

/// Every test that does not need the data to outlive the process.
macro_rules! store {
    ($($(#[$when:meta])* $name:ident = $spec:literal),* $(,)?) => {
        batteries! { $($(#[$when])* $name = $spec: [
            values_of_every_size_come_back,
            keys_and_values_may_hold_any_byte,
            the_shortest_and_longest_keys_work_and_longer_ones_are_refused,
            overwriting_deleting_and_missing_are_told_apart,
            appends_add_at_the_end_and_create,
            counters_count_within_their_bounds_and_keep_what_they_declare_beyond,
            a_counter_and_a_value_of_the_same_name_do_not_meet,
            records_of_counters_keep_their_fields_apart,
            deleting_a_key_deletes_its_counters_and_no_others,
            compare_and_set_stores_only_on_what_was_read,
            many_pairs_are_written_together_and_read_in_the_order_asked,
            scans_go_in_byte_order_of_keys,
            sixteen_threads_lose_no_increment,
            sixteen_threads_lose_no_append,
            sixteen_threads_lose_no_update_under_compare_and_set,
            sixteen_threads_of_mixed_work_never_fail_and_never_mix_values_up,
            its_facts_name_product_version_and_configuration,
        ]),* }
    };
}

/// Those that do.
macro_rules! kept {
    ($($(#[$when:meta])* $name:ident = $spec:literal),* $(,)?) => {
        batteries! { $($(#[$when])* $name = $spec: [a_store_opened_again_still_has_everything]),* }
    };
}

store! {
    ram = "ram",
    #[cfg(feature = "sqlite")] sqlite_os = "sqlite",
    #[cfg(feature = "sqlite")] sqlite_normal = "sqlite,synchronous=normal",
    #[cfg(feature = "sqlite")] sqlite_commit = "sqlite,durability=commit",
    #[cfg(feature = "lmdb")] lmdb_os = "lmdb",
    #[cfg(feature = "lmdb")] lmdb_commit = "lmdb,durability=commit",
    #[cfg(feature = "redb")] redb_os = "redb",
    #[cfg(feature = "redb")] redb_commit = "redb,durability=commit",
    #[cfg(feature = "redb")] redb_none = "redb,durability=none",
    #[cfg(feature = "fjall")] fjall_os = "fjall",
    #[cfg(feature = "fjall")] fjall_commit = "fjall,durability=commit",
    #[cfg(feature = "fjall")] fjall_none = "fjall,durability=none",
    tokyocabinet_os = "tokyocabinet",
    tokyocabinet_none = "tokyocabinet,durability=none",
    kyotocabinet_none = "kyotocabinet",
    kyotocabinet_auto = "kyotocabinet,transactions=auto",
    kyotocabinet_flushed = "kyotocabinet,transactions=flushed",
    tkrzw_os = "tkrzw",
    tkrzw_commit = "tkrzw,durability=commit",
    tkrzw_none = "tkrzw,durability=none",
    berkeleydb_os = "berkeleydb",
    berkeleydb_commit = "berkeleydb,durability=commit",
    berkeleydb_none = "berkeleydb,durability=none",
    berkeleydb_hash = "berkeleydb,method=hash",
    leveldb_os = "leveldb",
    leveldb_commit = "leveldb,durability=commit",
    rocksdb_os = "rocksdb",
    rocksdb_commit = "rocksdb,durability=commit",
    rocksdb_none = "rocksdb,durability=none",
    tyrant = "tyrant",
    tyrant_unix = "tyrant-unix",
}

kept! {
    #[cfg(feature = "sqlite")] sqlite_os_kept = "sqlite",
    #[cfg(feature = "sqlite")] sqlite_commit_kept = "sqlite,durability=commit",
    #[cfg(feature = "lmdb")] lmdb_os_kept = "lmdb",
    #[cfg(feature = "lmdb")] lmdb_commit_kept = "lmdb,durability=commit",
    #[cfg(feature = "redb")] redb_os_kept = "redb",
    #[cfg(feature = "redb")] redb_commit_kept = "redb,durability=commit",
    #[cfg(feature = "fjall")] fjall_os_kept = "fjall",
    #[cfg(feature = "fjall")] fjall_commit_kept = "fjall,durability=commit",
    tokyocabinet_os_kept = "tokyocabinet",
    kyotocabinet_auto_kept = "kyotocabinet,transactions=auto",
    kyotocabinet_flushed_kept = "kyotocabinet,transactions=flushed",
    tkrzw_os_kept = "tkrzw",
    tkrzw_commit_kept = "tkrzw,durability=commit",
    berkeleydb_os_kept = "berkeleydb",
    berkeleydb_commit_kept = "berkeleydb,durability=commit",
    berkeleydb_hash_kept = "berkeleydb,method=hash",
    leveldb_os_kept = "leveldb",
    leveldb_commit_kept = "leveldb,durability=commit",
    rocksdb_os_kept = "rocksdb",
    rocksdb_commit_kept = "rocksdb,durability=commit",
    tyrant_kept = "tyrant",
}

/// Guards the tests above, which pass by what a store does not declare.
#[test]
fn every_store_declares_what_it_has() {
    use store::OperationKind::{CompareAndSet, GetFields, GetMany, GetVersioned, IncrementField, PutMany, Scan};
    let declared = |spec: &str| battery::Opened::fresh(spec).capabilities().native;
    let all = store::OperationSet::LASTING;
    let mut complete = vec!["berkeleydb", "leveldb", "rocksdb"];
    complete.extend(cfg!(feature = "lmdb").then_some("lmdb"));
    complete.extend(cfg!(feature = "redb").then_some("redb"));
    complete.extend(cfg!(feature = "fjall").then_some("fjall"));
    for spec in complete {
        assert_eq!(declared(spec), all, "{spec}");
    }
    #[cfg(feature = "sqlite")]
    assert_eq!(declared("sqlite"), all.and(&[store::OperationKind::Sql]));
    let without =
        |absent: &[store::OperationKind]| all.kinds().filter(|kind| !absent.contains(kind)).collect::<Vec<_>>();
    assert_eq!(declared("ram").kinds().collect::<Vec<_>>(), without(&[Scan]));
    let cabinet = [IncrementField, GetFields, GetMany, Scan];
    assert_eq!(declared("tokyocabinet").kinds().collect::<Vec<_>>(), without(&cabinet));
    assert_eq!(declared("kyotocabinet,transactions=auto").kinds().collect::<Vec<_>>(), without(&cabinet));
    let in_place = [IncrementField, GetFields, GetMany, Scan, PutMany];
    assert_eq!(declared("kyotocabinet").kinds().collect::<Vec<_>>(), without(&in_place));
    assert_eq!(declared("tkrzw,durability=none").kinds().collect::<Vec<_>>(), without(&cabinet));
    assert_eq!(declared("berkeleydb,method=hash").kinds().collect::<Vec<_>>(), without(&[Scan]));
    let tyrant = [GetVersioned, CompareAndSet, IncrementField, GetFields, Scan];
    assert_eq!(declared("tyrant").kinds().collect::<Vec<_>>(), without(&tyrant));
    assert!(declared("tokyocabinet,durability=none").has(CompareAndSet) && declared("tokyocabinet").has(GetVersioned));
    assert!(!declared("tokyocabinet,durability=none").has(PutMany), "without transactions there is no put-many");
}
