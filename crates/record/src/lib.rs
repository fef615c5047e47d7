//! Records what passes between an application and its store: a relay that changes nothing, and a copy that is taken apart beside it.
//!
//! * [`Recorder`] listens, connects each client to the store, and writes the recording.
//! * [`RecordedProtocol`]: the protocols whose commands are understood. What is not understood passes all the same, and is counted.
//!
//! What never lives here: a store, a job, anything that answers a client itself.

mod anonymous;
mod chunk;
mod conversation;
mod copies;
mod memcached;
mod recorder;
mod relay;
mod resp;
mod taken;
mod tape;
#[cfg(feature = "tls")]
mod tls;

pub use recorder::{RecordError, RecordRequest, Recorder};
pub use taken::RecordedProtocol;
pub use tape::RecordingSum;
