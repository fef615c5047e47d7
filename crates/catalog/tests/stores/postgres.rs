//! PostgreSQL, the real server.

#![cfg(feature = "postgres")]

use crate::common;
use crate::suite;

use std::sync::OnceLock;
use testkit::Rig;

fn rig() -> &'static Rig {
    static RIG: OnceLock<Rig> = OnceLock::new();
    Rig::shared("postgres-unix,durability=none", &RIG)
}

suite!();

#[test]
fn every_level_and_way_of_reaching_it_starts_and_is_read_back() {
    common::levels(&["postgres", "postgres-unix"], &["commit", "second", "os", "none"]);
}

#[test]
fn a_killed_server_is_lost_and_found_again_when_it_is_back() {
    common::restart::kill_and_come_back("postgres-unix,durability=commit");
}

#[test]
fn on_the_users_own_server_only_our_schema_is_touched() {
    // The private server's other database: schemas of one are not seen in the other.
    let (password, socket) = (rig().password(), rig().file(".s.PGSQL.5432"));
    let url = format!("postgres-unix://postgres:{password}@{socket}?template1");
    common::as_the_users_own(rig(), &url);
    common::with_its_own_level(&url, "none");
}

#[test]
fn nothing_of_a_server_lies_where_its_end_would_leave_it() {
    let maps = std::fs::read_to_string(format!("/proc/{}/maps", rig().pid())).unwrap();
    assert!(maps.contains("postgres"), "{maps}");
    assert!(!maps.contains("/dev/shm/"), "{maps}");
}

#[test]
fn what_a_deadlock_undid_is_sent_again_and_counted() {
    // PostgreSQL looks for a deadlock once a second and undoes one of those in it: with more than two, again and again.
    common::deadlocks(rig(), 2);
}

#[test]
fn documents_are_counted_and_summed_in_the_server() {
    common::reduces(&Rig::start("postgres-unix,durability=none"));
}
