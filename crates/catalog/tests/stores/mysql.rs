//! MariaDB or MySQL, the real server.

#![cfg(feature = "mysql")]

use crate::common;
use crate::suite;

use std::sync::OnceLock;
use testkit::Rig;

fn rig() -> &'static Rig {
    static RIG: OnceLock<Rig> = OnceLock::new();
    Rig::shared("mysql-unix,durability=none", &RIG)
}

suite!();

#[test]
fn every_level_and_way_of_reaching_it_starts_and_is_read_back() {
    common::levels(&["mysql", "mysql-unix"], &["commit", "second", "none"]);
}

#[test]
fn a_killed_server_is_lost_and_found_again_when_it_is_back() {
    common::restart::kill_and_come_back("mysql-unix,durability=commit");
}

#[test]
fn on_the_users_own_server_only_our_tables_are_touched() {
    let (password, socket) = (rig().password(), rig().file("mysql.sock"));
    let url = format!("mysql-unix://kvtrial:{password}@{socket}?kvtrial_another");
    common::as_the_users_own(rig(), &url);
    common::with_its_own_level(&url, "none");
}

#[test]
fn what_a_deadlock_undid_is_sent_again_and_counted() {
    common::deadlocks(rig(), 8);
}

#[test]
fn documents_are_counted_and_summed_in_the_server() {
    common::reduces(&Rig::start("mysql-unix,durability=none"));
}
