//! What the tests share: replies that own their bytes, a client over all slots, stores with their servers; servers that lie in every
//! way a server can, one that speaks the Tyrant protocol; sample studies.
//!
//! What never lives here: anything users get. No crate depends on this one but for its tests, and those in its folder `tests`: what
//! stands here knows the crates as others do, not as their own unit tests.

pub mod absent;
mod built;
pub mod bytes;
#[cfg(feature = "rig")]
pub mod certificates;
#[cfg(feature = "rig")]
pub mod client;
pub mod cluster;
pub mod lying;
#[cfg(feature = "rig")]
mod port;
#[cfg(feature = "rig")]
pub mod replies;
#[cfg(feature = "rig")]
pub mod rig;
pub mod studies;
#[cfg(feature = "rig")]
pub mod trees;
pub mod tyrant_server;
pub mod waiting;

#[cfg(feature = "rig")]
pub use client::Client;
#[cfg(feature = "rig")]
pub use port::free_port;
#[cfg(feature = "rig")]
pub use replies::Inbox;
#[cfg(feature = "rig")]
pub use rig::Rig;
