//! kvtrial as a user runs it: the binary in an empty directory, what it prints and writes. One program, so that tests that wait do so at
//! the same time and there is one to build.

#[path = "../common/mod.rs"]
mod common;
#[allow(dead_code)] // it serves the matrix of faults, too
#[path = "../faults/running.rs"]
mod running;

mod append_counts;
mod asked;
mod blame;
mod budget;
mod bulk;
mod check;
mod choose;
mod clocks;
mod cluster_liars;
mod clusters;
mod compare;
mod connections;
mod crash;
mod crash_compare;
mod crash_ways;
mod decisions;
mod disasters;
mod engine_liars;
mod engines;
mod events_job;
mod expiry;
mod failed;
mod fetch_store;
mod fewer_nodes;
mod fit;
mod formats;
mod frozen_jobs;
mod full_disk;
mod golden;
mod grow_job;
mod histories;
mod holding;
mod hostile;
mod left;
mod liars;
mod needs;
mod node_faults;
mod nodes_job;
mod passwords;
mod plugins;
mod power;
mod publish;
mod questions;
mod rates;
mod read_back;
mod readme;
mod record;
mod reference;
mod replay_job;
mod room;
mod scripts;
mod selftest;
mod servers;
mod set_up;
mod sets;
mod shop;
mod split;
mod sql;
mod stores;
mod study;
mod sweeps;
mod tasks;
mod terminal;
mod truth;
mod usage;
mod whole;
