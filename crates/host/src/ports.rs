//! Loopback ports for private servers.

use crate::tree::Process;
use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::net::{Ipv4Addr, TcpListener};

/// Ports below this are left to well-known services.
const LOWEST: u16 = 10_240;

/// How many random ports are tried before the kernel is asked.
const TRIES: u64 = 200;

/// Three loopback ports nobody listens on now, outside the range the kernel takes ports for outgoing connections from, so that
/// a client's connection cannot take one before the server does.
///
/// # Errors
/// When there is none left.
pub fn free_ports() -> io::Result<[u16; 3]> {
    let highest = ephemeral_start().filter(|start| *start > LOWEST + 1_000);
    let mut taken: Vec<TcpListener> = Vec::new();
    let random = RandomState::new();
    if let Some(highest) = highest {
        for attempt in 0..TRIES {
            let mut hasher = random.build_hasher();
            hasher.write_u64(attempt);
            let port = LOWEST + (hasher.finish() % u64::from(highest - LOWEST)) as u16;
            taken.extend(TcpListener::bind((Ipv4Addr::LOCALHOST, port)));
            if taken.len() == 3 {
                break;
            }
        }
    }
    while taken.len() < 3 {
        taken.push(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?);
    }
    let mut ports = [0; 3];
    for (port, listener) in ports.iter_mut().zip(&taken) {
        *port = listener.local_addr()?.port();
    }
    Ok(ports)
}

/// Whether somebody listens on this loopback port.
pub fn is_taken(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_err_and(|error| error.kind() == io::ErrorKind::AddrInUse)
}

/// Whether the listener on this port is one of these processes; true also when the system does not let us see.
pub fn is_held_by(port: u16, processes: &[Process]) -> bool {
    let listeners: Vec<String> = ["/proc/net/tcp", "/proc/net/tcp6"]
        .iter()
        .filter_map(|table| fs::read_to_string(table).ok())
        .flat_map(|table| table.lines().filter_map(|line| listener_on(port, line)).collect::<Vec<_>>())
        .map(|inode| format!("socket:[{inode}]"))
        .collect();
    let mut hidden = listeners.is_empty();
    for process in processes {
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

/// The inode of a listening socket on `port`, from a line of `/proc/net/tcp`.
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
    use super::{free_ports, is_held_by, is_taken};
    use crate::tree::processes;
    use std::net::TcpListener;

    #[test]
    fn free_ports_are_three_different_ones_that_can_be_listened_on() {
        let ports = free_ports().unwrap();
        assert!(ports[0] != ports[1] && ports[1] != ports[2] && ports[0] != ports[2]);
        let listeners: Vec<_> = ports.iter().map(|port| TcpListener::bind(("127.0.0.1", *port)).unwrap()).collect();
        assert!(ports.iter().all(|port| is_taken(*port)));
        drop(listeners);
        assert!(!ports.iter().any(|port| is_taken(*port)));
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
        sleeper.wait().unwrap();
    }
}
