//! The interface between the engine and a key/value store, and the bridges that make an adapter small.
//!
//! One object-safe trait, [`Session`]: an operation goes in with its slot ([`Session::submit`]), replies come out through a
//! [`Sink`] ([`Session::poll`]). Nobody implements it by hand; three bridges do:
//!
//! * [`immediate`]: synchronous stores ([`SyncStore`](immediate::SyncStore)); the reply is there at submit.
//! * [`wire`]: a sans-I/O [`Codec`](wire::Codec) over one epoll transport, TCP and unix sockets, pipelined.
//! * `asynchronous` (feature `async`): a tokio driver, one current-thread runtime a session.
//!
//! What never lives here: a particular store, a job, a statistic, a process being started.

#[cfg(feature = "async")]
pub mod asynchronous;
mod capability;
mod client;
mod endpoint;
mod error;
pub mod immediate;
mod info;
mod operation;
mod owned;
pub mod programs;
mod reply;
mod server;
mod session;
pub mod wire;

pub use capability::{Capabilities, Class, Counter, Keeps, Overflow};
pub use client::BlockingClient;
pub use endpoint::Endpoint;
pub use error::StoreError;
pub use info::{Connect, OpenEmbedded, Opener, OptionInfo, Probe, StoreInfo};
pub use operation::{Expected, Operation, OperationKind, OperationSet};
pub use owned::{OwnedFailure, OwnedReply};
pub use reply::{Failure, Reply, RowBuffer, Rows};
pub use server::{CommandLine, Place, ServerPlan};
pub use session::{Executor, Facts, Session, SessionPlan, Sink, Slot, Store, Threading, Until};
