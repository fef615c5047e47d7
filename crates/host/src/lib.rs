//! The machine: private servers and directories that live exactly as long as their trial, and what the machine says of itself.
//!
//! * [`open`] opens a store for a trial; [`OpenStore`] is the store with the servers and directory behind it.
//! * [`Nodes`] are those servers while they run: watched, so that one that ends by itself is named at once; stopped, killed, frozen,
//!   started again and joined by others when that is wanted. What is done to a node on purpose is not taken for its fall.
//! * [`network`] is a network of kvtrial's own, in which nodes can be cut off from each other.
//! * [`interrupt`] turns signals into a flag, and guarantees that nothing is left behind even when nobody looks at the flag.
//! * [`facts`](fn@facts), [`NoiseMeter`], [`ProcessUse`]: the machine before, what disturbed it during, what kvtrial used itself.
//! * [`fetch`]: getting the program of a store that no package of the system has, checked file by file.
//! * [`worker`]: processes of kvtrial's own that carry out trials: a fork server, and the workers forked from it.
//!
//! No orphan, ever. A server runs in the foreground in a session of its own and is killed by the kernel when kvtrial ends in
//! whatever way; it is stopped and its directory removed when its [`OpenStore`] is dropped (also by a panic), when kvtrial is
//! interrupted, and when the process exits without dropping. After a SIGKILL a small guard process clears away; should it have been
//! killed too, the next start does. Workers end with kvtrial in the same way, and are killed before their directory is removed.
//!
//! What never lives here: a particular store (adapters write plans, this crate carries them out), the timed loop, printing, exiting.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod affinity;
mod attempts;
mod builder;
mod channel;
mod check;
mod clock;
mod cut;
mod disk;
mod facts;
pub mod fetch;
mod ground;
mod guard;
mod helper;
pub mod interrupt;
mod kernel;
mod last_words;
mod lease;
mod listener;
mod location;
mod log;
mod memory_group;
mod mounts;
pub mod network;
mod node;
mod nodes;
mod noise;
mod open;
mod ports;
mod process;
mod registry;
mod room;
mod secret;
mod settle;
mod setup;
mod silent;
mod start;
mod sysv;
mod throttle;
mod tree;
mod usage;
mod user;
mod watch;
pub mod worker;

pub use affinity::{allowed_cpus, pin_thread};
pub use channel::{Received, Receiver, Sender};
pub use check::{check, present};
pub use clock::ClockLibrary;
pub use disk::{disk_bytes, fsync_us};
pub use facts::facts;
pub use ground::Ground;
pub use helper::Helper;
pub use location::{Location, Reached};
pub use memory_group::MemoryGroup;
pub use node::Fallen;
pub use nodes::{NodeState, Nodes};
pub use noise::NoiseMeter;
pub use open::{Installation, KeptDirectory, OpenStore, Opening, default_base, open};
pub use ports::Ports;
pub use process::{Exit, raise_open_files};
pub use registry::end_all;
pub use room::free_disk_bytes;
pub use secret::fresh as fresh_secret;
pub use usage::ProcessUse;
pub use user::User;
pub use watch::{Sighting, Watched};
