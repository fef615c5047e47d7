//! How a server is reached.

use serde::{Deserialize, Serialize};

/// The way in which a server on this machine is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// Over TCP.
    Tcp,
    /// Over a unix socket.
    Unix,
}
