//! Where NATS is, and how to be let in.

use crate::error::FleetError;
use async_nats::ConnectOptions;
use std::path::{Path, PathBuf};
use study::{Address, Secret, Spec, Target};

/// The port of NATS.
pub(crate) const USUAL_PORT: u16 = 4222;

/// The scheme of a server that wants TLS.
const TLS: &str = "tls://";
const PLAIN: &str = "nats://";

/// A server of NATS, or several that are one cluster, with the login.
#[derive(Clone, Debug)]
pub struct NatsAddress {
    addresses: Vec<Address>,
    transport: Encryption,
    login: Login,
    files: NatsFiles,
}

/// Files that say who we are, and whom we believe.
#[derive(Clone, Debug, Default)]
pub struct NatsFiles {
    /// The seed of an nkey, instead of a password.
    pub key: Option<PathBuf>,
    /// The certificates of authorities that the server's may be signed by.
    pub authorities: Option<PathBuf>,
    /// Our own certificate, for a server that asks for one, and its key.
    pub certificate: Option<(PathBuf, PathBuf)>,
}

/// Whether what is said can be read on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encryption {
    Tls,
    AsTheServerSays,
}

/// How to be let in.
#[derive(Clone, Debug, PartialEq)]
enum Login {
    None,
    Token(Secret),
    User(String, Secret),
    Key(Secret),
}

impl NatsAddress {
    /// Reads an address as a user writes it; the password or token may have been put in where it was hidden.
    ///
    /// # Errors
    /// It is none, or a file that is named cannot be read.
    pub fn new(spec: &NatsSpec, files: NatsFiles) -> Result<NatsAddress, FleetError> {
        let refused = || FleetError::Address(spec.shown());
        let Target::Server(server) = &spec.spec.target else { return Err(refused()) };
        if server.database.is_some() || !spec.spec.options.is_empty() {
            return Err(refused());
        }
        let read = |option: &'static str, path: &Path| {
            let failed = |problem: String| FleetError::File { option, path: path.display().to_string(), problem };
            std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))
        };
        if server.addresses.iter().any(|address| matches!(address, Address::Unix(_))) {
            return Err(refused());
        }
        let login = match (files.key.as_deref(), &server.user, &server.password) {
            (Some(path), None, None) => Login::Key(seed(&read("--nats-key", path)?).ok_or_else(|| no_seed(path))?),
            (None, None, None) => Login::None,
            (None, None, Some(token)) => Login::Token(token.clone()),
            (None, Some(user), Some(password)) => Login::User(user.clone(), password.clone()),
            _ => return Err(refused()),
        };
        if let Some(path) = &files.authorities {
            read("--nats-ca", path)?;
        }
        if let Some((certificate, key)) = &files.certificate {
            read("--nats-cert", certificate)?;
            read("--nats-cert-key", key)?;
        }
        Ok(NatsAddress { addresses: server.addresses.clone(), transport: spec.encryption, login, files })
    }

    /// Makes the address of a server of kvtrial's own.
    pub(crate) fn own(host: &str, port: u16, token: Secret) -> NatsAddress {
        let addresses = vec![Address::Tcp { host: host.to_owned(), port: Some(port) }];
        let (transport, login) = (Encryption::AsTheServerSays, Login::Token(token));
        NatsAddress { addresses, transport, login, files: NatsFiles::default() }
    }

    /// Returns where it is, for people: without login.
    pub fn place(&self) -> String {
        let place = |address: &Address| match address {
            Address::Tcp { host, port } => format!("{}:{}", bracketed(host), port.unwrap_or(USUAL_PORT)),
            Address::Unix(path) => path.display().to_string(), // refused where it was read
        };
        self.addresses.iter().map(place).collect::<Vec<_>>().join(",")
    }

    /// Returns the servers as the client takes them.
    pub(crate) fn servers(&self) -> Vec<String> {
        let scheme = if self.transport == Encryption::Tls { TLS } else { PLAIN };
        self.place().split(',').map(|place| format!("{scheme}{place}")).collect()
    }

    /// Returns the client's options with the login.
    pub(crate) fn options(&self) -> ConnectOptions {
        let options = match &self.login {
            Login::None => ConnectOptions::new(),
            Login::Token(token) => ConnectOptions::with_token(token.reveal().to_owned()),
            Login::User(user, password) => {
                ConnectOptions::with_user_and_password(user.clone(), password.reveal().to_owned())
            }
            Login::Key(seed) => ConnectOptions::with_nkey(seed.reveal().to_owned()),
        };
        let options = options.require_tls(self.transport == Encryption::Tls);
        let options = match &self.files.authorities {
            Some(path) => options.add_root_certificates(path.clone()),
            None => options,
        };
        match &self.files.certificate {
            Some((certificate, key)) => options.add_client_certificate(certificate.clone(), key.clone()),
            None => options,
        }
    }
}

fn bracketed(host: &str) -> String {
    if host.contains(':') { format!("[{host}]") } else { host.to_owned() }
}

/// The seed in the text of a key file: the line that begins with SU; others are comments, or the head and foot of a file of credentials.
fn seed(text: &str) -> Option<Secret> {
    text.lines().map(str::trim).find(|line| line.starts_with("SU")).map(Secret::new)
}

fn no_seed(path: &Path) -> FleetError {
    let problem = "it has no seed of a user, a line that begins with SU; 'nk -gen user' makes one".into();
    FleetError::File { option: "--nats-key", path: path.display().to_string(), problem }
}

/// An address of NATS as it is written: a URL, whose password may be hidden.
#[derive(Clone, Debug)]
pub struct NatsSpec {
    spec: Spec,
    encryption: Encryption,
}

impl NatsSpec {
    /// Reads a URL.
    ///
    /// # Errors
    /// It is no address of NATS.
    pub fn read(url: &str) -> Result<NatsSpec, FleetError> {
        let refused = || FleetError::Address(study::redact(url));
        let (encryption, rest) = match (url.strip_prefix(TLS), url.strip_prefix(PLAIN)) {
            (Some(rest), _) => (Encryption::Tls, rest),
            (None, Some(rest)) => (Encryption::AsTheServerSays, rest),
            (None, None) => return Err(refused()),
        };
        let spec: Spec = format!("{PLAIN}{rest}").parse().map_err(|_| refused())?;
        Ok(NatsSpec { spec, encryption })
    }

    /// Returns the spec behind it, to put the password in its place.
    pub fn spec(&mut self) -> &mut Spec {
        &mut self.spec
    }

    /// Returns it for people: without its password.
    fn shown(&self) -> String {
        let text = self.spec.to_string();
        if self.encryption == Encryption::Tls { text.replacen(PLAIN, TLS, 1) } else { text }
    }
}

#[cfg(test)]
mod tests {
    use super::{Encryption, Login, NatsAddress, NatsFiles, NatsSpec};
    use std::io::Write;
    use std::path::Path;
    use study::Secret;

    fn address(url: &str) -> Result<NatsAddress, String> {
        let spec = NatsSpec::read(url).map_err(|error| error.to_string())?;
        NatsAddress::new(&spec, NatsFiles::default()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_login_is_a_token_or_a_user_and_no_text_shows_it() {
        let login = |url: &str| address(url).unwrap().login;
        assert_eq!(login("nats://h"), Login::None);
        assert_eq!(login("nats://:hush@h"), Login::Token(Secret::new("hush")));
        assert_eq!(login("tls://me:hush@h:1"), Login::User("me".into(), Secret::new("hush")));
        let secure = address("tls://me:hush@h:1").unwrap();
        assert_eq!(
            (secure.transport, secure.place(), secure.servers()),
            (Encryption::Tls, "h:1".into(), vec!["tls://h:1".into()])
        );
        assert_eq!(address("nats://h").unwrap().servers(), ["nats://h:4222"]);
        for wrong in ["redis://h", "h:4222", "nats://", "nats://me@h", "nats://:hush@h/0", "nats://:hush@h:port"] {
            let words = address(wrong).unwrap_err();
            assert!(words.contains("write nats://HOST") && !words.contains("hush"), "{words}");
        }
    }

    #[test]
    fn a_key_is_read_from_its_file_and_takes_the_place_of_a_password() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        writeln!(file, "# seed\n SUAKEY \n").unwrap();
        let with_key = |url: &str, path: &Path| {
            let files = NatsFiles { key: Some(path.to_owned()), ..NatsFiles::default() };
            NatsAddress::new(&NatsSpec::read(url).unwrap(), files)
        };
        let with = |url: &str| with_key(url, file.path());
        assert_eq!(with("nats://h").unwrap().login, Login::Key(Secret::new("SUAKEY")));
        assert!(with("nats://:token@h").is_err());
        let mut other = tempfile::NamedTempFile::new().unwrap();
        writeln!(other, "UAPUBLIC").unwrap();
        let no_seed = with_key("nats://h", other.path()).unwrap_err();
        assert!(no_seed.to_string().contains("it has no seed of a user") && !no_seed.to_string().contains("UAPUBLIC"));
        let missing = with_key("nats://h", Path::new("/no/key"));
        assert!(missing.unwrap_err().to_string().starts_with("--nats-key /no/key: "));
    }
}
