//! Ports for servers that a test starts by itself.

use host::Ports;
use std::sync::LazyLock;

static PORTS: LazyLock<Ports> = LazyLock::new(Ports::default);

/// Returns a port on which nobody listens, which no connection and no other test of this machine is given: the kernel may give a port that it chose
/// itself to somebody else before the server listens.
#[allow(clippy::expect_used)] // a test that cannot listen is over
pub fn free_port() -> u16 {
    PORTS.free().expect("a port to listen at")
}
