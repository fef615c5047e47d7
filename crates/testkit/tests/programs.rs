//! The programs of this crate. Their being tested has cargo build them with all tests, so that none builds them while others run.
#![allow(clippy::unwrap_used)]

use std::process::Command;

#[test]
fn the_test_server_of_tyrant_says_that_it_is_one_and_what_it_lacks() {
    let said = Command::new(env!("CARGO_BIN_EXE_kvtrial-test-tyrant")).arg("-ulog").output().unwrap();
    assert!(!said.status.success());
    assert_eq!(String::from_utf8_lossy(&said.stderr), "kvtrial-test-tyrant: -ulog is not in the test server\n");
}

#[test]
fn the_lying_server_under_its_own_name_is_no_server_of_anybody() {
    let said = Command::new(env!("CARGO_BIN_EXE_kvtrial-test-liar")).output().unwrap();
    assert!(!said.status.success());
    assert!(String::from_utf8_lossy(&said.stderr).starts_with("kvtrial-test-liar: "));
}
