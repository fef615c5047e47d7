//! The processes of this machine that listen at an address: the user's own server, found by its socket.

use crate::process::Pid;
use std::collections::BTreeSet;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;
use study::Address;

/// The programs that only pass bytes on to a server elsewhere: their processor time is not the server's.
const FORWARDERS: [&str; 6] = ["docker-proxy", "rootlessport", "slirp4netns", "ssh", "sshd", "socat"];

/// Returns the processes that listen at this address of this machine. Empty when the address belongs to another machine, when the processes cannot be
/// seen (they are another user's), or when they only pass bytes on.
pub fn listeners(address: &Address) -> Vec<Pid> {
    let inodes = match address {
        Address::Unix(path) => unix_inodes(&fs::read_to_string("/proc/net/unix").unwrap_or_default(), path),
        Address::Tcp { host, port: Some(port) } => tcp_inodes(host, *port),
        Address::Tcp { .. } => BTreeSet::new(),
    };
    if inodes.is_empty() {
        return Vec::new();
    }
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<Pid>().ok());
    pids.filter(|pid| holds_one_of(*pid, &inodes) && !only_forwards(*pid)).collect()
}

/// Returns a process that listens at this address in a network namespace other than ours, where a node of a network of kvtrial's own is.
pub fn listener_in_other_namespace(address: &Address) -> Option<Pid> {
    let Address::Tcp { host, port: Some(port) } = address else { return None };
    let wanted: IpAddr = host.parse().ok().filter(|address: &IpAddr| !address.is_loopback())?;
    let own = fs::read_link("/proc/self/ns/net").ok()?;
    let pids =
        fs::read_dir("/proc").ok()?.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<Pid>().ok());
    let elsewhere = pids.filter(|pid| fs::read_link(format!("/proc/{pid}/ns/net")).is_ok_and(|it| it != own));
    let listens = |pid: &Pid| {
        let table = fs::read_to_string(format!("/proc/{pid}/net/tcp")).unwrap_or_default();
        holds_one_of(*pid, &listening(&table, &[wanted], *port).into_iter().collect())
    };
    elsewhere.into_iter().find(listens)
}

fn holds_one_of(pid: Pid, inodes: &BTreeSet<u64>) -> bool {
    let Ok(files) = fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
    files.flatten().any(|file| {
        let target = fs::read_link(file.path()).ok();
        let inode = target
            .as_deref()
            .and_then(Path::to_str)
            .and_then(|name| name.strip_prefix("socket:[")?.strip_suffix(']')?.parse::<u64>().ok());
        inode.is_some_and(|inode| inodes.contains(&inode))
    })
}

fn only_forwards(pid: Pid) -> bool {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    FORWARDERS.contains(&name.trim())
}

/// Returns the inodes of the sockets that listen at a path: lines of `/proc/net/unix` whose flags say that they accept connections.
fn unix_inodes(table: &str, path: &Path) -> BTreeSet<u64> {
    const ACCEPTS: u64 = 1 << 16; // __SO_ACCEPTCON
    let inode = |line: &str| {
        let fields: Vec<&str> = line.splitn(8, ' ').map(str::trim).filter(|field| !field.is_empty()).collect();
        let flags = u64::from_str_radix(fields.get(3)?, 16).ok()?;
        let rest = fields.get(6..)?.join(" ");
        let (inode, name) = rest.split_once(' ')?;
        (flags & ACCEPTS != 0 && Path::new(name.trim()) == path).then(|| inode.parse().ok())?
    };
    table.lines().skip(1).filter_map(inode).collect()
}

fn tcp_inodes(host: &str, port: u16) -> BTreeSet<u64> {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let wanted: Vec<IpAddr> = match host.parse() {
        Ok(address) => vec![address],
        Err(_) if host.eq_ignore_ascii_case("localhost") => {
            vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]
        }
        Err(_) => return BTreeSet::new(),
    };
    let table = |name: &str| fs::read_to_string(format!("/proc/net/{name}")).unwrap_or_default();
    [table("tcp"), table("tcp6")].iter().flat_map(|table| listening(table, &wanted, port)).collect()
}

/// Returns the inodes of the lines of `/proc/net/tcp` or `tcp6` that listen on this port, at one of these addresses or at all.
fn listening(table: &str, wanted: &[IpAddr], port: u16) -> Vec<u64> {
    const LISTENS: &str = "0A";
    let inode = |line: &str| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let (address, of_port) = fields.get(1)?.split_once(':')?;
        let here = *fields.get(3)? == LISTENS && u16::from_str_radix(of_port, 16).ok()? == port;
        let address = parse(address)?;
        let reached = address.is_unspecified() || wanted.contains(&address) || wanted.contains(&address.to_canonical());
        (here && reached).then(|| fields.get(9)?.parse().ok())?
    };
    table.lines().skip(1).filter_map(inode).collect()
}

/// Reads an address as the kernel writes it: words of 32 bits in the machine's own order.
fn parse(hex: &str) -> Option<IpAddr> {
    let word = |at: usize| Some(u32::from_str_radix(hex.get(8 * at..8 * at + 8)?, 16).ok()?.to_ne_bytes());
    match hex.len() {
        8 => Some(Ipv4Addr::from(word(0)?).into()),
        32 => {
            let words = [word(0)?, word(1)?, word(2)?, word(3)?];
            let octets: [u8; 16] = words.concat().try_into().ok()?;
            Some(Ipv6Addr::from(octets).into())
        }
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::listeners;
    use std::net::TcpListener;
    use std::os::unix::net::{UnixListener, UnixStream};
    use study::Address;
    use testkit::waiting::until;

    fn own() -> i32 {
        std::process::id().cast_signed()
    }

    #[test]
    fn a_server_is_found_by_its_port_at_any_way_it_listens_and_only_while_it_does() {
        for bound in ["127.0.0.1:0", "0.0.0.0:0", "[::]:0"] {
            let listener = TcpListener::bind(bound).unwrap();
            let port = listener.local_addr().unwrap().port();
            let at = |host: &str| Address::Tcp { host: host.into(), port: Some(port) };
            // A child that another test has just forked holds it, too, until it has become its program.
            let only_us = |host: &str| until("only this process listens", || listeners(&at(host)) == [own()]);
            only_us("127.0.0.1");
            only_us("localhost");
            assert_eq!(listeners(&at("10.11.12.13")).is_empty(), bound == "127.0.0.1:0", "{bound}");
            // A client of that port does not listen there.
            let _client = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
            drop(listener);
            until("nobody listens", || listeners(&at("127.0.0.1")).is_empty());
        }
    }

    #[test]
    fn a_server_is_found_by_its_unix_socket_and_its_clients_are_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("with a space.sock");
        let listener = UnixListener::bind(&path).unwrap();
        let _client = UnixStream::connect(&path).unwrap();
        let at_path = Address::Unix(path);
        // As above: a child that was just forked holds it, too.
        until("only this process listens", || listeners(&at_path) == [own()]);
        assert_eq!(listeners(&Address::Unix(directory.path().join("other.sock"))), [0; 0]);
        drop(listener);
        until("nobody listens", || listeners(&at_path).is_empty());
    }
}
