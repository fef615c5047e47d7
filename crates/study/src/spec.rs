//! Store specs: `redis`, `redis-unix`, `lmdb:/data/x`, `redis://:pw@10.0.0.5:6379/0`, `etcd://h1:2379,h2:2379`, `redis,durability=commit`, `nats@2.15.1`,
//! `plugin:./mystore.so`.

#[cfg(test)]
mod tests;

use crate::redact::{HIDDEN, head_end, names_secret, redact};
use crate::{Durability, Transport, is_hidden, visible};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// A password. It never prints. It is serialised as it is: a spec or an endpoint goes to a worker, which has to log in, and nowhere
/// else (what is written down has the spec as text).
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Secret(String);

impl Secret {
    /// Wraps a password.
    pub fn new(text: impl Into<String>) -> Secret {
        Secret(text.into())
    }

    /// Returns the password itself, for the wire only.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// The address at which a server listens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Address {
    /// Host name or address, and port (`None`: the store's usual port).
    Tcp {
        /// Host name or address.
        host: String,
        /// Port, when one was given.
        port: Option<u16>,
    },
    /// Path of a unix socket.
    Unix(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Unix(path) => write!(f, "{}", path.display()),
            Address::Tcp { host, port } => {
                if host.contains(':') { write!(f, "[{host}]") } else { f.write_str(host) }?;
                port.map_or(Ok(()), |port| write!(f, ":{port}"))
            }
        }
    }
}

/// A server, or several that are one store, and how to log in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Authority {
    /// The server's addresses: at least one; several for a store of several servers.
    pub addresses: Vec<Address>,
    /// User name, when given.
    pub user: Option<String>,
    /// Password, when given.
    pub password: Option<Secret>,
    /// Database name or number, when given.
    pub database: Option<String>,
}

impl Authority {
    /// Returns whether the password is kept elsewhere: the spec then has the `***` that every report and study shows.
    pub fn hides_its_password(&self) -> bool {
        self.password.as_ref().is_some_and(|password| password.reveal() == HIDDEN)
    }
}

/// The target that a spec points at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Target {
    /// A private server, or a private temporary directory, that lives and dies with the trial.
    Private,
    /// The user's own directory or file (embedded stores).
    Path(PathBuf),
    /// The user's own server.
    Server(Authority),
}

/// The option that `NAME@VERSION` stands for.
pub const VERSION: &str = "version";

/// The name of the stores of the user's, each in a shared library.
pub const PLUGIN: &str = "plugin";

/// The option that names a shared library: of a plugin, what `plugin:PATH` stands for.
pub const LIBRARY: &str = "lib";

/// A store as the user named it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    /// Name of the adapter, e.g. `redis-unix`.
    pub name: String,
    /// The target of the spec.
    pub target: Target,
    /// Durability level asked for; `None` is the store's default.
    pub durability: Option<Durability>,
    /// Other options by name, e.g. `layout=hstore`.
    pub options: BTreeMap<String, String>,
}

/// A spec that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("store spec '{spec}': {problem}")]
pub struct SpecError {
    /// The spec without its password.
    pub spec: String,
    /// The problem, and what to write instead.
    pub problem: String,
}

impl Spec {
    /// Returns a private store of this name with its defaults.
    pub fn private(name: impl Into<String>) -> Spec {
        Spec { name: name.into(), target: Target::Private, durability: None, options: BTreeMap::new() }
    }

    /// Makes the same store, at this durability level.
    pub fn with_durability(mut self, durability: Durability) -> Spec {
        self.durability = Some(durability);
        self
    }

    /// Returns how the store is reached on this machine: a private one by `private`, the user's own as its address says. `None` in this
    /// process, and when the server is on another machine.
    pub fn transport(&self, private: Option<Transport>) -> Option<Transport> {
        match &self.target {
            Target::Server(authority) => {
                let of_one = |address: &Address| match address {
                    Address::Unix(_) => Some(Transport::Unix),
                    Address::Tcp { host, .. } => is_loopback(host).then_some(Transport::Tcp),
                };
                let first = authority.addresses.first().and_then(of_one);
                first.filter(|transport| authority.addresses.iter().all(|other| of_one(other) == Some(*transport)))
            }
            Target::Private | Target::Path(_) => private,
        }
    }
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

impl FromStr for Spec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Spec, SpecError> {
        let fail = |problem: String| SpecError {
            spec: visible(&redact(text)).into_owned(),
            problem: visible(&problem).into_owned(),
        };
        if text.contains(is_hidden) || text.contains(['\n', '\t']) {
            return Err(fail(
                "it has characters that cannot be seen; a blank or a sign was probably copied with it".into(),
            ));
        }
        let (head, tail) = text.split_at(head_end(text));
        let mut items = tail.split(',').filter(|item| !item.is_empty()).peekable();
        let (name, target) = if let Some((scheme, rest)) = head.split_once("://") {
            let mut places = Vec::new();
            while let Some(place) = items.next_if(|item| !item.contains('=')) {
                places.push(place);
            }
            (scheme, Target::Server(authority(rest, &places).map_err(fail)?))
        } else if let Some((name, path)) = head.split_once(':') {
            if path.is_empty() {
                return Err(fail("a path must follow the colon, as in 'lmdb:/data/x'".into()));
            }
            (name, Target::Path(PathBuf::from(path)))
        } else {
            (head, Target::Private)
        };
        let (name, version) = match (name.split_once('@'), &target) {
            (Some((name, version)), Target::Private | Target::Path(_)) => (name, Some(version)),
            _ => (name, None),
        };
        if version.is_some_and(|version| version.is_empty() || version.contains('@')) {
            return Err(fail(
                "one version must follow the @, as in 'nats@2.15.1'; a server of yours is named by URL".into(),
            ));
        }
        if name.is_empty() {
            return Err(fail("it names no store; 'kvtrial stores' lists them".into()));
        }
        // As the clients of these stores have it.
        let (name, options) = match (name, &target) {
            ("rediss", Target::Server(_)) => ("redis", over_tls()),
            ("valkeys", Target::Server(_)) => ("valkey", over_tls()),
            (PLUGIN, Target::Path(path)) => {
                let library = (LIBRARY.to_owned(), path.display().to_string());
                (PLUGIN, BTreeMap::from([library]))
            }
            _ => (name, BTreeMap::new()),
        };
        // Its files are private; the path is that of the library.
        let target = if name == PLUGIN && !options.is_empty() { Target::Private } else { target };
        let mut spec = Spec { name: name.to_owned(), target, durability: None, options };
        spec.options.extend(version.map(|version| (VERSION.to_owned(), version.to_owned())));
        for option in items {
            let Some((key, value)) = option.split_once('=') else {
                return Err(fail(format!(
                    "option '{option}' has no value; write '{option}=VALUE', or '-s {name} -s {option}' if it is a store"
                )));
            };
            if value.is_empty() {
                return Err(fail(format!("option '{key}' has no value; write '{key}=VALUE', or leave it out")));
            }
            if key == "durability" {
                spec.durability =
                    Some(value.parse().map_err(|error: crate::UnknownDurability| fail(error.to_string()))?);
            } else if spec.options.insert(key.to_owned(), value.to_owned()).is_some() {
                return Err(fail(format!("option '{key}' is given twice")));
            }
        }
        Ok(spec)
    }
}

fn over_tls() -> BTreeMap<String, String> {
    BTreeMap::from([("tls".to_owned(), "on".to_owned())])
}

/// Reads `user:password@host:port` and the addresses behind it; the last may have a database.
fn authority(rest: &str, further: &[&str]) -> Result<Authority, String> {
    let (login, place) = match rest.rfind('@') {
        Some(at) => (Some(&rest[..at]), &rest[at + 1..]),
        None => (None, rest),
    };
    let (user, password) = match login {
        None => (None, None),
        Some(login) => match login.split_once(':') {
            Some((user, password)) => (Some(user), Some(Secret::new(unescape(password)))),
            None => (Some(login), None),
        },
    };
    let mut addresses = Vec::with_capacity(1 + further.len());
    let mut database = None;
    for place in [place].iter().chain(further) {
        if database.is_some() {
            return Err("a database is named once, after the last address, as in 'etcd://h1:2379,h2:2379/name'".into());
        }
        let (address, named) = located(place)?;
        if addresses.contains(&address) {
            return Err("it names an address twice; give each server once".into());
        }
        addresses.push(address);
        database = named.filter(|name| !name.is_empty()).map(str::to_owned);
    }
    Ok(Authority { addresses, user: user.filter(|user| !user.is_empty()).map(unescape), password, database })
}

/// One address, and the database behind it.
fn located(place: &str) -> Result<(Address, Option<&str>), String> {
    if place.split_once('?').is_some_and(|(path, rest)| !path.starts_with('/') || rest.contains('=')) {
        return Err(
            "an address has no parameters (?name=value); write a login as 'redis://user:password@host:6379/0' and \
                    options behind a comma"
                .into(),
        );
    }
    Ok(if place.starts_with('/') {
        let (path, database) = place.split_once('?').map_or((place, None), |(path, name)| (path, Some(name)));
        (Address::Unix(PathBuf::from(path)), database)
    } else {
        let (host_port, database) = place.split_once('/').map_or((place, None), |(host, name)| (host, Some(name)));
        let bracket = host_port.rfind(']').unwrap_or(0);
        let (host, port) = match host_port[bracket..].rfind(':') {
            Some(colon) => {
                let digits = &host_port[bracket + colon + 1..];
                let port = digits.parse().map_err(|_| match digits.parse::<u64>() {
                    Ok(_) => format!("'{digits}' is not a port; use 1 to 65535"),
                    // A password, perhaps, of a login that lacks its host.
                    Err(_) => "what follows the host's colon is not a port; use 1 to 65535, and write a login as \
                               'redis://user:password@host:6379'"
                        .to_owned(),
                })?;
                (&host_port[..bracket + colon], Some(port))
            }
            None => (host_port, None),
        };
        if host.is_empty() {
            return Err("it names no host, as in 'redis://127.0.0.1:6379'".into());
        }
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        (Address::Tcp { host, port }, database)
    })
}

/// Decodes `%41` escapes; a malformed escape stays as it is.
fn unescape(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = bytes.get(at + 1..at + 3).and_then(|pair| std::str::from_utf8(pair).ok());
        match (bytes[at], hex.and_then(|pair| u8::from_str_radix(pair, 16).ok())) {
            (b'%', Some(byte)) => {
                out.push(byte);
                at += 3;
            }
            (byte, _) => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

impl fmt::Display for Spec {
    /// The spec as it may be shown: the password is `***`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = self.name.clone();
        let version = self.options.get(VERSION).filter(|_| !matches!(self.target, Target::Server(_)));
        if let Some(version) = version {
            text += &format!("@{version}");
        }
        let library = self.options.get(LIBRARY).filter(|_| self.name == PLUGIN);
        match &self.target {
            Target::Private => text += &library.map(|path| format!(":{path}")).unwrap_or_default(),
            Target::Path(path) => text += &format!(":{}", path.display()),
            Target::Server(server) => {
                text += "://";
                if server.user.is_some() || server.password.is_some() {
                    text += server.user.as_deref().unwrap_or("");
                    text += if server.password.is_some() { ":***@" } else { "@" };
                }
                text += &server.addresses.iter().map(Address::to_string).collect::<Vec<_>>().join(",");
                if let (Some(name), Some(last)) = (&server.database, server.addresses.last()) {
                    text += &format!("{}{name}", if matches!(last, Address::Unix(_)) { '?' } else { '/' });
                }
            }
        }
        if let Some(level) = self.durability {
            text += &format!(",durability={level}");
        }
        let is_said = |key: &str| (version.is_some() && key == VERSION) || (library.is_some() && key == LIBRARY);
        for (key, value) in self.options.iter().filter(|(key, _)| !is_said(key)) {
            text += &format!(",{key}={}", if names_secret(key) { HIDDEN } else { value });
        }
        f.pad(&text)
    }
}
