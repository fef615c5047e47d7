//! Every job: its semantics, its answers, and what it makes of stores that do wrong. One program, so that there is one to build.

#[path = "../harness/mod.rs"]
mod harness;

mod append;
mod bulk;
mod counts;
mod crud;
mod events;
mod expiry;
mod failed;
mod fans;
mod forgiven;
mod grow;
mod nodes;
mod open_loop;
mod records;
mod registry;
mod replay;
mod replay_lives;
mod sets;
mod shares;
mod threads;
mod unfinished;
mod ycsb;
