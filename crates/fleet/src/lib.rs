//! Workers on other machines, and the way to them: NATS.
//!
//! One kvtrial runs a study (`kvtrial run … --workers 3`), others lend it their machines (`kvtrial worker nats://HOST`). Both sides are clients of
//! one NATS server: kvtrial's own ([`NatsServer`]) or the user's. Only published messages are used, no JetStream.
//!
//! * `subject`, `message`: what is said, and where. Every message names its study, trial, plan and kvtrial's version.
//! * `post`: the connection, on a thread of its own that also beats the heart: however busy a machine is, the others know that it lives.
//! * [`NatsFleet`]: the side of the study. It claims workers, measures their clocks, hands them their part of a trial, and knows when one is lost.
//! * [`serve`]: the side of a worker. It is a relay between NATS and a fork server of its own, from which the process of each trial is forked.
//!
//! What never lives here: what a trial is and how parts of it become one (runner), which jobs can be shared (jobs), printing.

mod address;
mod clocks;
mod error;
mod life;
mod members;
mod message;
mod nats_fleet;
mod parcel;
mod post;
mod serve;
mod server;
mod subject;

pub use address::{NatsAddress, NatsFiles, NatsSpec};
pub use error::FleetError;
pub use nats_fleet::{FleetNews, NatsFleet, ReachedBy, WantedWorkers};
pub use serve::{WorkerNews, serve};
pub use server::{NatsServer, ServerPlace};
