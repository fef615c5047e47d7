//! `kvtrial check` on every store of this build that a user can name: all of them must be correct. A store that is missing on this
//! machine fails its test with the line that installs it.

#![allow(clippy::unwrap_used, missing_docs)]

use serde_json::Value;
use std::process::{Command, Output};
use testkit::lying::{Lie, LyingServer, Protocol, Rule, Target, When};

fn check(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_kvtrial")).arg("check").args(arguments).output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

fn assert_correct(spec: &str) {
    let output = check(&[spec]);
    let printed = text(&output);
    assert_eq!(output.status.code(), Some(0), "{printed}");
    assert!(printed.contains("correct: ") && printed.contains(" 0 failed"), "{printed}");
    assert!(printed.lines().all(|line| line.chars().count() <= 80), "{printed}");
}

/// A test a store.
macro_rules! stores {
    ($($(#[$when:meta])* $test:ident = $spec:literal),* $(,)?) => {
        $($(#[$when])* #[test] fn $test() { assert_correct($spec) })*
    };
}

stores! {
    ram_is_correct = "ram",
    #[cfg(any(feature = "sqlite", feature = "default"))] sqlite_is_correct = "sqlite",
    #[cfg(any(feature = "lmdb", feature = "default"))] lmdb_is_correct = "lmdb",
    #[cfg(any(feature = "redb", feature = "default"))] redb_is_correct = "redb",
    #[cfg(any(feature = "fjall", feature = "default"))] fjall_is_correct = "fjall",
    tokyo_cabinet_is_correct = "tokyocabinet",
    kyoto_cabinet_is_correct = "kyotocabinet",
    tkrzw_is_correct = "tkrzw",
    berkeley_db_is_correct = "berkeleydb",
    berkeley_dbs_hash_is_correct = "berkeleydb,method=hash",
    leveldb_is_correct = "leveldb",
    rocksdb_is_correct = "rocksdb",
    a_cache_over_a_map_is_correct = "ram,cache=256KiB,flush=5ms",
    a_cache_over_sqlite_is_correct = "sqlite,cache=64MiB",
    a_cache_over_redis_is_correct = "redis-unix,cache=256KiB,flush=5ms",
    #[cfg(any(feature = "postgres", feature = "full"))] a_cache_over_postgres_is_correct = "postgres-unix,cache=256KiB,flush=5ms",
    redis_is_correct = "redis",
    redis_over_a_unix_socket_is_correct = "redis-unix",
    redis_that_writes_through_is_correct = "redis-unix,durability=commit",
    memcached_is_correct = "memcached",
    memcached_over_a_unix_socket_is_correct = "memcached-unix",
    memcached_with_large_items_is_correct = "memcached,item=4m",
    #[cfg(any(feature = "mysql", feature = "full"))] #[ignore = "half a minute; its unix socket is tried by every ./test"] mysql_is_correct = "mysql",
    #[cfg(any(feature = "mysql", feature = "full"))] mysql_over_a_unix_socket_is_correct = "mysql-unix",
    #[cfg(any(feature = "postgres", feature = "full"))] #[ignore = "half a minute; its unix socket is tried by every ./test"] postgres_is_correct = "postgres",
    #[cfg(any(feature = "postgres", feature = "full"))] postgres_over_a_unix_socket_is_correct = "postgres-unix",
}

/// FerretDB takes milliseconds an operation, hence the level without syncing and the deadline.
#[cfg(any(feature = "mongodb", feature = "full"))]
#[test]
fn mongodb_is_correct() {
    let output = check(&["mongodb,durability=os", "--deadline", "60s"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
}

/// The Tyrant stores run the test server over the real Tokyo Cabinet under the name of Tyrant's own.
#[test]
fn tyrant_is_correct_over_both_transports() {
    let directory = tempfile::tempdir().unwrap();
    testkit::tyrant_server::install(directory.path()).unwrap();
    let usual = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(directory.path().to_owned()).chain(std::env::split_paths(&usual)));
    let mut command = Command::new(env!("CARGO_BIN_EXE_kvtrial"));
    let output = command.args(["check", "tyrant", "tyrant-unix"]).env("PATH", path.unwrap()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert_eq!(text(&output).matches("correct: ").count(), 2, "{}", text(&output));
}

#[test]
fn a_server_that_lies_is_not_correct_and_exit_status_and_json_say_so() {
    let rule = Rule::new(Lie::WrongBytes, Target::Gets, When::Nth(1)).for_keys_with(":length 1000");
    let server = LyingServer::start(Protocol::Resp, vec![rule]).unwrap();
    let spec = format!("redis://127.0.0.1:{}", server.port());
    let output = check(&[&spec, "--json"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    let reports: Value = serde_json::from_slice(&output.stdout).unwrap();
    let cases = reports[&spec]["cases"].as_array().unwrap();
    let failed: Vec<_> = cases.iter().filter(|case| case["status"] == "failed").collect();
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert_eq!(failed[0]["reason"]["kind"], "wrong_value");
    let key = String::from_utf8_lossy(&server.told()[0].key).into_owned();
    assert!(failed[0]["reason"]["example"].as_str().unwrap().contains(&key), "{failed:?}");
}

#[test]
fn a_frozen_server_ends_the_check_at_its_deadline() {
    let rule = Rule::new(Lie::Never, Target::Gets, When::Nth(1)).for_keys_with(":length 1000");
    let server = LyingServer::start(Protocol::Memcached, vec![rule]).unwrap();
    let output = check(&[&format!("memcached://127.0.0.1:{}", server.port()), "--deadline", "1s"]);
    let printed = text(&output);
    assert_eq!(output.status.code(), Some(1), "{printed}");
    assert!(printed.contains("deadline: key kvtrial-check:") && printed.contains("stopped answering"), "{printed}");
}

#[test]
fn the_null_store_is_not_called_correct() {
    let output = check(&["null"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(text(&output).contains("nothing could be checked"), "{}", text(&output));
}
