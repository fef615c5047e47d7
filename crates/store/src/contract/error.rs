//! The errors around a store, with the remedy.

use std::path::PathBuf;
use study::{remedy_of_greeting, remedy_of_limit, remedy_of_opening, visible};

/// A store that cannot be had, started, opened or used. Messages name what to do; passwords never appear.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The server program or library is not on this machine.
    #[error("{store}: {what} not found; install it with: {install}")]
    NotFound {
        /// The name of the store.
        store: String,
        /// The program or library looked for.
        what: String,
        /// The line that installs it.
        install: String,
    },
    /// The adapter's driver is not in this build.
    #[error("{store} is not in this build; build with: cargo build --release --features {feature}")]
    NotBuilt {
        /// The name of the store.
        store: String,
        /// The cargo feature that adds the driver.
        feature: &'static str,
    },
    /// The server was started but did not get ready, or ended.
    #[error("{store} did not start: {problem}")]
    NotStarted {
        /// The name of the store.
        store: String,
        /// The problem, with the end of the server's log.
        problem: String,
    },
    /// Another program listens on a port of the server.
    #[error("{store} did not start: {problem}")]
    PortTaken {
        /// The name of the store.
        store: String,
        /// The problem, with the port or the end of the server's log.
        problem: String,
    },
    /// Opening a directory or connecting failed.
    #[error("{what}: {problem}")]
    Open {
        /// The path or endpoint.
        what: String,
        /// The problem.
        problem: String,
    },
    /// An option, a durability level or a target this store does not have.
    #[error("{store}: {problem}")]
    Unsupported {
        /// The name of the store.
        store: String,
        /// The unsupported feature, and the supported ones.
        problem: String,
    },
    /// The session is beyond use.
    #[error("{0}")]
    Session(String),
    /// A consequence of an earlier failure, for which the store was blamed then.
    #[error("{0}")]
    Consequence(String),
    /// Trouble of the file system.
    #[error("{path}: {problem}", path = path.display(), problem = advised(&source.to_string()))]
    Io {
        /// The path that was touched.
        path: PathBuf,
        /// The system's words.
        source: std::io::Error,
    },
}

impl StoreError {
    /// Returns an error of opening or connecting.
    pub fn open(what: impl ToString, problem: impl ToString) -> StoreError {
        StoreError::asking(what, advised_at_greeting(&problem.to_string()))
    }

    /// Returns the error of a question to a server that is connected.
    pub(crate) fn asking(what: impl ToString, problem: String) -> StoreError {
        StoreError::Open { what: visible(&what.to_string()).into_owned(), problem: advised(&visible(&problem)) }
    }

    /// Returns the error of a server that did not start: the problem, with the end of its log.
    pub fn not_started(store: &str, problem: String) -> StoreError {
        StoreError::NotStarted { store: store.into(), problem: followed(&problem, remedy_of_limit(&problem)) }
    }
}

/// The fate of a request that ended in an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The store said no.
    Refused,
    /// Nothing was connected, so nothing happened.
    NotConnected,
    /// The connection broke.
    ConnectionLost,
    /// No answer came in time.
    Deadline,
    /// An earlier failure of something the request rests on; that failure was reported.
    SaidBefore,
}

/// The words of the system and of drivers, by the fate that they mean for a request.
const TROUBLES: [(&[&str], Trouble); 3] = [
    (
        &["onnection refused", "No route to host", "connection timed out", "failed to lookup address"],
        Trouble::NotConnected,
    ),
    (
        &[
            "onnection reset",
            "roken pipe",
            "closed the connection",
            "onnection closed",
            "onnection was closed",
            "onnection aborted",
            "unexpected end of file",
            "UnexpectedEof",
        ],
        Trouble::ConnectionLost,
    ),
    (&["did not answer in time", "no answer within", "timed out"], Trouble::Deadline),
];

impl StoreError {
    /// Returns the fate of the request that ended in this error.
    pub fn trouble(&self) -> Trouble {
        if let StoreError::Consequence(_) = self {
            return Trouble::SaidBefore;
        }
        let said = self.to_string();
        let says = |words: &[&str]| words.iter().any(|words| said.contains(words));
        TROUBLES.iter().find(|(words, _)| says(words)).map_or(Trouble::Refused, |(_, trouble)| *trouble)
    }
}

/// Returns the words of a refusal, with what to do about it.
pub fn advised(words: &str) -> String {
    followed(words, remedy_of_opening(words))
}

/// Returns the same for a refusal of the first words that were said to a server, unless [`advised`] says more.
pub(crate) fn advised_at_greeting(words: &str) -> String {
    match remedy_of_opening(words) {
        Some(_) => words.to_owned(),
        None => followed(words, remedy_of_greeting(words)),
    }
}

/// Returns a sentence, with the remedy as the next one.
fn followed(words: &str, remedy: Option<&str>) -> String {
    match remedy {
        Some(remedy) if words.contains(&begun(remedy)) => words.to_owned(),
        Some(remedy) if words.ends_with(['?', '!']) => format!("{words} {}", begun(remedy)),
        Some(remedy) => format!("{}. {}", words.trim_end_matches('.'), begun(remedy)),
        None => words.to_owned(),
    }
}

/// Returns words as the beginning of a sentence.
fn begun(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{StoreError, Trouble};

    #[test]
    fn a_server_that_cannot_be_reached_is_answered_with_what_to_do() {
        for (problem, remedy) in [
            ("Connection refused (os error 111)", "start the server, or correct host and port"),
            ("failed to lookup address information: Name or service not known", "name of the host"),
            ("connection timed out", "firewall"),
            ("FjallError: Io(Os { code: 27, kind: FileTooLarge, message: \"File too large\" })", "ulimit -f"),
            ("No space left on device (os error 28)", "--base DIR"),
            ("NOAUTH Authentication required.", "kvtrial asks for the password"),
            ("WRONGPASS invalid username-password pair or user is disabled.", "Correct user and password"),
            ("NOPERM this user has no permissions to run the 'info' command", "grant it"),
            ("ERR DB index is out of range", "number of the database"),
            ("Client sent an HTTP request to an HTTPS server.", "tls=on"),
        ] {
            let words = StoreError::open("redis://h:1", problem).to_string();
            let said = format!("redis://h:1: {}. ", problem.trim_end_matches('.'));
            assert!(words.starts_with(&said) && words.contains(remedy), "{words}");
        }
        let twice = StoreError::open("a", StoreError::open("b", "Connection refused")).to_string();
        assert_eq!(twice.matches("Nothing listens there").count(), 1, "{twice}");
        let words =
            StoreError::not_started("memcached", "it ended; its log ends: failed to set rlimit for open files".into());
        assert!(words.to_string().ends_with("(ulimit -n)"), "{words}");
        assert_eq!(StoreError::open("x", "wrong password").to_string(), "x: wrong password");
    }

    #[test]
    fn a_connection_that_broke_is_not_a_refusal() {
        for (problem, trouble) in [
            ("Connection reset by peer (os error 104)", Trouble::ConnectionLost),
            ("the server closed the connection", Trouble::ConnectionLost),
            ("Connection refused (os error 111)", Trouble::NotConnected),
            ("the server was reached but did not answer in time", Trouble::Deadline),
            ("OOM command not allowed", Trouble::Refused),
        ] {
            assert_eq!(StoreError::open("redis://h:1", problem).trouble(), trouble, "{problem}");
        }
        assert_eq!(StoreError::Consequence("connection reset".into()).trouble(), Trouble::SaidBefore);
    }
}
