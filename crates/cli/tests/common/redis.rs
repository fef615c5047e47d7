//! A Redis of the user's.

use super::Desk;
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use testkit::waiting::until;

/// A server on a port of its own, ended when dropped.
pub struct Redis {
    child: Child,
    /// Where it listens.
    pub port: u16,
}

impl Redis {
    /// Starts one with these lines in its configuration; what it keeps lies on the desk.
    pub fn start(desk: &Desk, settings: &str) -> Redis {
        let port = testkit::free_port();
        let settings = format!("port {port}\nbind 127.0.0.1\nsave \"\"\n{settings}\n");
        let mut server = Command::new("redis-server");
        server.arg(desk.file("redis.conf", settings)).current_dir(desk.path()).stdout(Stdio::null());
        let redis = Redis { child: server.spawn().unwrap(), port };
        until("redis-server listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        redis
    }

    /// Ends it at once, and starts it again on what it has kept.
    pub fn restart(&mut self, desk: &Desk) {
        self.kill();
        let mut server = Command::new("redis-server");
        server.arg(desk.path().join("redis.conf")).current_dir(desk.path()).stdout(Stdio::null());
        self.child = server.spawn().unwrap();
        let port = self.port;
        until("redis-server listens again", || TcpStream::connect(("127.0.0.1", port)).is_ok());
    }

    /// Ends it at once.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.kill();
    }
}
