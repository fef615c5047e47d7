//! Loopback ports for private servers.

use crate::tree::Process;
use socket2::{Domain, Socket, Type};
use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::UnixListener;
use std::sync::{Arc, Mutex, PoisonError};

/// The port below which ports are left to well-known services.
const LOWEST: u16 = 10_240;

/// The number of ports that are tried: the first half random ports, then ports that the kernel offers.
const TRIES: u64 = 400;

/// A source of loopback ports that gives none twice. Clones share the source.
#[derive(Clone, Default)]
pub struct Ports(Arc<Mutex<Vec<Reserved>>>);

/// A port that no other kvtrial on this machine hands out while this lives: while its node is down nobody listens on the port, and the node comes
/// back to it.
struct Reserved {
    port: u16,
    _name: UnixListener,
}

impl Reserved {
    /// Reserves a port by a socket without a file (see "abstract" in unix(7)): its name is gone with the process, however the process ends.
    fn take(port: u16) -> Option<Reserved> {
        let name = std::os::unix::net::SocketAddr::from_abstract_name(format!("kvtrial port {port}")).ok()?;
        Some(Reserved { port, _name: UnixListener::bind_addr(&name).ok()? })
    }
}

impl Ports {
    /// Returns a port on which nobody listens now, outside the range from which the kernel takes ports for outgoing connections, so that a client's
    /// connection cannot take the port before the server does.
    ///
    /// # Errors
    /// There is no port left.
    pub fn free(&self) -> io::Result<u16> {
        let mut given = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let highest = ephemeral_start().filter(|start| *start > LOWEST + 1_000);
        let random = RandomState::new();
        let random_port = |attempt: u64| {
            let mut hasher = random.build_hasher();
            hasher.write_u64(attempt);
            highest.map_or(0, |highest| LOWEST + (hasher.finish() % u64::from(highest - LOWEST)) as u16)
        };
        let mut tried = Vec::new();
        for attempt in 0..TRIES {
            // Of port 0 the kernel makes one that is free; held until another is found, it does not come again.
            let port = if attempt < TRIES / 2 { random_port(attempt) } else { 0 };
            let Ok(socket) = bound(port) else { continue };
            let Some(port) = socket.local_addr()?.as_socket_ipv4().map(|address| address.port()) else { continue };
            if let Some(reserved) = Reserved::take(port) {
                given.push(reserved);
                return Ok(port);
            }
            tried.push(socket);
        }
        Err(io::Error::new(io::ErrorKind::AddrInUse, "every port that was tried is taken"))
    }

    /// Forgets all ports handed out but the first `kept`.
    pub fn take_back(&self, kept: usize) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).truncate(kept);
    }

    /// Returns the ports handed out so far.
    pub fn given(&self) -> Vec<u16> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().map(|reserved| reserved.port).collect()
    }
}

/// Returns a socket that has this port and does not listen. A program that is being started just then inherits the socket for a moment; a socket that
/// listened would keep a server from its port for that moment.
fn bound(port: u16) -> io::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, port)).into())?;
    Ok(socket)
}

/// Returns whether somebody listens on this port, at any address.
pub fn is_taken(port: u16) -> bool {
    bound(port).is_err_and(|error| error.kind() == io::ErrorKind::AddrInUse) || !listeners(port).is_empty()
}

/// Returns the sockets that listen on this port.
fn listeners(port: u16) -> Vec<String> {
    ["/proc/net/tcp", "/proc/net/tcp6"]
        .iter()
        .filter_map(|table| fs::read_to_string(table).ok())
        .flat_map(|table| table.lines().filter_map(|line| listener_on(port, line)).collect::<Vec<_>>())
        .map(|inode| format!("socket:[{inode}]"))
        .collect()
}

/// Returns whether the listener on this port is one of these processes; true also when the system does not let us see.
pub fn is_held_by(port: u16, processes: &[Process]) -> bool {
    let listeners = listeners(port);
    let mut hidden = listeners.is_empty();
    // One that has ended holds nothing, and only root may look into it.
    for process in processes.iter().filter(|process| process.state != b'Z') {
        let Ok(files) = fs::read_dir(format!("/proc/{}/fd", process.pid)) else {
            hidden = true;
            continue;
        };
        let mut links = files.flatten().filter_map(|file| fs::read_link(file.path()).ok());
        if links.any(|link| listeners.iter().any(|socket| link.as_os_str() == socket.as_str())) {
            return true;
        }
    }
    hidden
}

/// Returns the inode of a listening socket on `port`, from a line of `/proc/net/tcp`.
fn listener_on(port: u16, line: &str) -> Option<String> {
    let mut fields = line.split_ascii_whitespace();
    let local = fields.nth(1)?.rsplit_once(':')?.1;
    let listens = fields.nth(1)? == "0A";
    (listens && u16::from_str_radix(local, 16) == Ok(port)).then(|| fields.nth(5).map(str::to_owned)).flatten()
}

fn ephemeral_start() -> Option<u16> {
    fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{Ports, Reserved, bound, is_held_by, is_taken};
    use crate::tree::processes;
    use std::net::TcpListener;
    use testkit::waiting::until;

    #[test]
    fn free_ports_are_different_ones_that_can_be_listened_on() {
        let source = Ports::default();
        let mut ports: Vec<u16> = (0..100).map(|_| source.free().unwrap()).collect();
        assert_eq!(source.given(), ports);
        let listeners: Vec<_> = ports.iter().map(|port| TcpListener::bind(("127.0.0.1", *port)).unwrap()).collect();
        assert!(ports.iter().all(|port| is_taken(*port)));
        drop(listeners);
        // A child that another test has just forked holds them, too, until it has become its program.
        until("nobody listens on any", || !ports.iter().any(|port| is_taken(*port)));
        ports.sort_unstable();
        ports.dedup();
        assert_eq!(ports.len(), 100);
    }

    #[test]
    fn a_port_is_kept_for_the_node_that_comes_back_to_it_until_it_is_taken_back() {
        let (ours, theirs) = (Ports::default(), Ports::default());
        let port = ours.free().unwrap();
        assert!(Reserved::take(port).is_none());
        assert_ne!(theirs.free().unwrap(), port);
        ours.take_back(0);
        assert!(Reserved::take(port).is_some());
    }

    #[test]
    fn a_port_that_is_being_looked_at_can_be_listened_on_and_one_that_is_listened_on_is_seen() {
        let port = Ports::default().free().unwrap();
        let looking = bound(port).unwrap();
        let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
        assert!(bound(port).is_err());
        drop((looking, listener));
    }

    #[test]
    fn a_listener_is_told_from_another_process_s() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let own = std::process::id().cast_signed();
        let (ours, _): (Vec<_>, Vec<_>) = processes().into_iter().partition(|process| process.pid == own);
        assert!(is_held_by(port, &ours));
        let mut sleeper = std::process::Command::new("sleep").arg("20").spawn().unwrap();
        let theirs: Vec<_> =
            processes().into_iter().filter(|process| process.pid == sleeper.id().cast_signed()).collect();
        assert!(!theirs.is_empty() && !is_held_by(port, &theirs));
        sleeper.kill().unwrap();
        let ended = || processes().into_iter().find(|process| process.pid == sleeper.id().cast_signed()).unwrap();
        while ended().state != b'Z' {
            std::thread::yield_now();
        }
        assert!(!is_held_by(port, &[ended()]));
        sleeper.wait().unwrap();
    }
}
