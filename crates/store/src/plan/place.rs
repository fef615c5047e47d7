//! The place of a private deployment: the directory, ports and programs its plan may use.

use crate::{Endpoint, StoreError};
use std::cell::Cell;
use std::fmt;
use std::io;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::rc::Rc;
use study::Secret;

/// The directory, ports and programs that the host offers a private deployment, or one node of it.
#[derive(Clone)]
pub struct Place {
    /// The empty private directory, which no other user can read; it is removed afterwards.
    pub directory: PathBuf,
    /// Whether kvtrial runs as root (some servers refuse to, some want an option).
    pub root: bool,
    /// The password made for this deployment and no other. A server that can ask for a password gets it in a file of the plan, never in its
    /// arguments, which every user of the machine can read; the plan's endpoint then carries it.
    pub secret: Secret,
    ports: Rc<dyn Fn() -> io::Result<u16>>,
    /// The address of kvtrial in a network in which each node has an address of its own.
    network: Option<Ipv4Addr>,
    /// The node whose place this is.
    number: Option<u8>,
}

impl Place {
    /// Makes a place that takes its ports from this function; no port is given twice.
    pub fn new(
        directory: impl Into<PathBuf>,
        root: bool,
        secret: Secret,
        ports: impl Fn() -> io::Result<u16> + 'static,
    ) -> Place {
        Place { directory: directory.into(), root, secret, ports: Rc::new(ports), network: None, number: None }
    }

    /// Returns a place that is never used: for a plan that is only examined, to see whether a spec is possible.
    pub fn on_paper(root: bool) -> Place {
        let last = Cell::new(0);
        let next = move || {
            last.set(last.get() + 1);
            Ok(last.get())
        };
        Place::new("/nowhere", root, Secret::new("on paper"), next)
    }

    /// Returns a loopback port that was free a moment ago (the host tries again with other ports when one was taken meanwhile).
    ///
    /// # Errors
    /// No port is free.
    pub fn port(&mut self) -> Result<u16, StoreError> {
        (self.ports)().map_err(|error| StoreError::open("a free port", error))
    }

    /// Makes the same place in a network in which each node has an address of its own, and kvtrial this one.
    pub fn in_network(self, own: Ipv4Addr) -> Place {
        Place { network: Some(own), ..self }
    }

    /// Returns the address at which the node whose place this is listens, and at which others find it.
    pub fn address(&self) -> Ipv4Addr {
        self.own_address().unwrap_or(Ipv4Addr::LOCALHOST)
    }

    /// Returns the address that no other node has; `None`: all are on this machine's loopback.
    pub fn own_address(&self) -> Option<Ipv4Addr> {
        Some(Place::address_of(self.network?, self.number?))
    }

    /// Returns the address of the node of this number in the network in which kvtrial has the address `own`.
    pub fn address_of(own: Ipv4Addr, number: u8) -> Ipv4Addr {
        let [a, b, c, _] = own.octets();
        Ipv4Addr::new(a, b, c, number)
    }

    /// Returns the number of the node with this address in the network in which kvtrial has the address `own`.
    pub fn number_at(own: Ipv4Addr, address: Ipv4Addr) -> Option<u8> {
        let [.., number] = address.octets();
        (Place::address_of(own, number) == address && address != own).then_some(number)
    }

    /// Returns the endpoint at a port of the node whose place this is, without login.
    pub fn endpoint(&self, port: u16) -> Endpoint {
        Endpoint::tcp_at(self.address(), port)
    }

    /// Returns the place of the node of this name: its directory is its own, below this one; its ports come from the same source. In a network its address
    /// has the number with which the name ends.
    pub fn node(&mut self, name: &str) -> Place {
        let digits = name.trim_start_matches(|letter: char| !letter.is_ascii_digit());
        Place { directory: self.directory.join(name), number: digits.parse().ok(), ..self.clone() }
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Place").field("directory", &self.directory).field("root", &self.root).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::Place;
    use std::net::Ipv4Addr;

    #[test]
    fn a_node_has_a_directory_of_its_own_and_no_port_of_another_s() {
        let mut place = Place::on_paper(false);
        let (mut first, mut second) = (place.node("node1"), place.node("node2"));
        assert!(first.directory != second.directory && first.directory.starts_with(&place.directory));
        let ports = [place.port(), first.port(), second.port(), first.port()].map(Result::unwrap);
        assert_eq!(ports, [1, 2, 3, 4]);
    }

    #[test]
    fn a_node_has_an_address_of_its_own_in_a_network_and_the_loopback_without_one() {
        let own = Ipv4Addr::new(10, 77, 3, 254);
        let mut place = Place::on_paper(false).in_network(own);
        let node = place.node("node12");
        assert_eq!((node.address(), node.own_address()), (Ipv4Addr::new(10, 77, 3, 12), Some(node.address())));
        assert_eq!((Place::number_at(own, node.address()), Place::number_at(own, own)), (Some(12), None));
        assert_eq!(Place::number_at(own, Ipv4Addr::LOCALHOST), None);
        assert_eq!(node.endpoint(7).to_string(), "10.77.3.12:7");
        let alone = Place::on_paper(false).node("node12");
        assert_eq!((alone.address(), alone.own_address()), (Ipv4Addr::LOCALHOST, None));
    }
}
