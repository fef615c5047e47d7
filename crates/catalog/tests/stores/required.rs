//! Where every store is required, a test that would leave one out fails. PATH belongs to the whole process, so such a test runs once more, in a
//! process of its own.
#![allow(clippy::unwrap_used)]

use kvtrial_catalog as catalog;
use std::process::Command;
use testkit::absent::{EXCUSED, REQUIRED};

#[test]
fn a_store_that_is_not_here_fails_the_test_that_would_leave_it_out_where_all_are_required() {
    let empty = tempfile::tempdir().unwrap();
    let test = ["--exact", "declared::every_store_is_once_open_what_it_declared_before", "--nocapture"];
    let mut program = Command::new(std::env::current_exe().unwrap());
    // Nor is one there that was fetched.
    program.args(test).env("PATH", empty.path()).env("XDG_CACHE_HOME", empty.path()).env(REQUIRED, "1");
    let output = program.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("redis is left out: it is not here"), "{said}");
    assert!(said.contains("apt-get install redis-server"), "{said}");
}

#[test]
fn the_stores_that_are_excused_are_stores_of_the_list() {
    for (name, why) in EXCUSED {
        assert!(catalog::find(name).is_some() && !why.is_empty(), "{name}");
    }
}
