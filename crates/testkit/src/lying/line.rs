//! A connection, whatever its socket.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;

/// A connection.
pub(super) trait Line: Read + Write + Send {
    /// Ends it at once, in both directions.
    fn hang_up(&self);
}

impl Line for TcpStream {
    fn hang_up(&self) {
        let _ = self.shutdown(Shutdown::Both);
    }
}

impl Line for UnixStream {
    fn hang_up(&self) {
        let _ = self.shutdown(Shutdown::Both);
    }
}
