//! The bridges that make an adapter small, and what they need of a network.

#[cfg(feature = "async")]
pub mod asynchronous;
pub mod believed;
pub(crate) mod client;
pub(crate) mod connections;
pub(crate) mod endpoint;
pub mod immediate;
pub mod tls;
pub mod wire;
