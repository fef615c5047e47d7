//! What a store is to the engine: operations and replies, what a store can do, sessions, and what an adapter says of it.

pub(crate) mod ability;
pub(crate) mod capability;
pub(crate) mod error;
pub(crate) mod info;
pub(crate) mod operation;
pub(crate) mod option;
pub(crate) mod owned;
pub(crate) mod reply;
pub(crate) mod resent;
pub(crate) mod session;
pub(crate) mod sets;
pub mod size;
pub(crate) mod sql;
pub(crate) mod sweep;
pub(crate) mod tree;
pub(crate) mod whereabouts;
pub(crate) mod whole;
