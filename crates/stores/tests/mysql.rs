//! MariaDB or MySQL, the real server.

#![cfg(feature = "mysql")]

mod common;

use common::Rig;
use std::sync::OnceLock;

fn rig() -> &'static Rig {
    static RIG: OnceLock<Rig> = OnceLock::new();
    Rig::shared("mysql-unix,durability=none", &RIG)
}

suite!();
