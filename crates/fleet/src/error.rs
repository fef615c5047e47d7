//! What goes wrong on the way to other machines.

/// Why NATS cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// Not an address of NATS.
    #[error(
        "'{0}' is no address of NATS: write nats://HOST[:PORT], nats://USER:PASSWORD@HOST, nats://:TOKEN@HOST, or tls:// instead of nats://"
    )]
    Address(String),
    /// A file that was named cannot be read.
    #[error("{option} {path}: {problem}")]
    File {
        /// The option that names it.
        option: &'static str,
        /// The file.
        path: String,
        /// What is wrong.
        problem: String,
    },
    /// Nobody answers there.
    #[error("NATS does not answer at {place}: {problem}")]
    Unreachable {
        /// Host and port.
        place: String,
        /// What is wrong.
        problem: String,
    },
    /// Its certificate is not believed, or it speaks no TLS.
    #[error(
        "TLS with NATS at {place} fails: {problem}; name the authority that signed its certificate with --nats-ca FILE and, where it asks for one of yours, that with --nats-cert FILE --nats-cert-key FILE; or write nats:// where it has no TLS"
    )]
    NotBelieved {
        /// Host and port.
        place: String,
        /// What is wrong.
        problem: String,
    },
    /// The server does not let us in.
    #[error(
        "NATS at {place} does not let kvtrial in: {problem}; check the token, the password, or the key (--nats-key)"
    )]
    Refused {
        /// Host and port.
        place: String,
        /// The server's words.
        problem: String,
    },
    /// There is no program to start.
    #[error("no nats-server is here: {install}; or name a running one with --nats URL")]
    NoServer {
        /// How to get it.
        install: String,
    },
    /// The private server did not start.
    #[error(
        "nats-server could not be started on {place}: {problem}; name another address with --bind ADDRESS:PORT, or a running server with --nats URL"
    )]
    NotStarted {
        /// Where it was to listen.
        place: String,
        /// Its last words.
        problem: String,
    },
    /// The system's error.
    #[error("{0}")]
    Io(#[from] std::io::Error),
}
