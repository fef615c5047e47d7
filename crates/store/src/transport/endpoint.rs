//! The address of a running server, and the login.

use crate::tls::Trust;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use study::{Address, Authority, Secret};

/// A server that can be connected to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    /// The address on which the server listens; the port is always known.
    pub address: Address,
    /// The user name.
    pub user: Option<String>,
    /// The password.
    pub password: Option<Secret>,
    /// The database's name or number.
    pub database: Option<String>,
    /// The authorities whose certificates are believed, where the server is reached over TLS.
    pub tls: Option<Trust>,
}

impl Endpoint {
    /// Returns a server on this machine's loopback, without login.
    pub fn loopback(port: u16) -> Endpoint {
        Endpoint::tcp_at(Ipv4Addr::LOCALHOST, port)
    }

    /// Returns a server at this address, without login.
    pub fn tcp_at(address: Ipv4Addr, port: u16) -> Endpoint {
        Endpoint::at(Address::Tcp { host: address.to_string(), port: Some(port) })
    }

    /// Returns a server behind a unix socket, without login.
    pub fn unix(path: impl Into<PathBuf>) -> Endpoint {
        Endpoint::at(Address::Unix(path.into()))
    }

    /// Makes the same endpoint, reached with a login.
    pub fn with_login(self, user: impl Into<String>, password: Secret) -> Endpoint {
        Endpoint { user: Some(user.into()), password: Some(password), ..self }
    }

    fn at(address: Address) -> Endpoint {
        Endpoint { address, user: None, password: None, database: None, tls: None }
    }

    /// Makes the endpoints of the user's servers, in the order of their addresses, with the store's usual port filled in. All have the same login.
    pub fn of(authority: &Authority, usual_port: u16) -> Vec<Endpoint> {
        let located = |address: &Address| match address {
            Address::Tcp { host, port } => Address::Tcp { host: host.clone(), port: Some(port.unwrap_or(usual_port)) },
            unix => unix.clone(),
        };
        let reached = |address: &Address| Endpoint {
            address: located(address),
            user: authority.user.clone(),
            password: authority.password.clone(),
            database: authority.database.clone(),
            tls: None,
        };
        authority.addresses.iter().map(reached).collect()
    }

    /// Returns whether any user of the machine can connect to this private server: a port of the loopback without a password. In a network of kvtrial's own
    /// there is nobody else.
    pub fn is_open_to_all(&self) -> bool {
        self.is_on_loopback() && self.password.is_none()
    }

    /// Returns whether it is a port of this machine's loopback.
    pub fn is_on_loopback(&self) -> bool {
        self.tcp().and_then(|(host, _)| host.parse::<Ipv4Addr>().ok()).is_some_and(|address| address.is_loopback())
    }

    /// Returns the host and port of a TCP endpoint.
    pub fn tcp(&self) -> Option<(&str, u16)> {
        match &self.address {
            Address::Tcp { host, port: Some(port) } => Some((host, *port)),
            _ => None,
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.address {
            Address::Tcp { host, port } => write!(f, "{host}:{}", port.unwrap_or(0)),
            Address::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}
