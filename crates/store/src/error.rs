//! What can go wrong around a store, with the remedy.

use std::path::PathBuf;
use study::visible;

/// A store that cannot be had, started, opened or used. Messages name what to do; passwords never appear.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The server program or library is not on this machine.
    #[error("{store}: {what} not found; install it with: {install}")]
    NotFound {
        /// Name of the store.
        store: String,
        /// Program or library looked for.
        what: String,
        /// How to get it.
        install: String,
    },
    /// This build lacks the adapter's driver.
    #[error("{store} is not in this build; build with --features {feature}")]
    NotBuilt {
        /// Name of the store.
        store: String,
        /// Cargo feature that adds it.
        feature: &'static str,
    },
    /// The server was started but did not get ready, or ended.
    #[error("{store} did not start: {problem}")]
    NotStarted {
        /// Name of the store.
        store: String,
        /// What happened, with the end of the server's log.
        problem: String,
    },
    /// Opening a directory or connecting failed.
    #[error("{what}: {problem}")]
    Open {
        /// Path or endpoint.
        what: String,
        /// What happened.
        problem: String,
    },
    /// An option, a durability level or a target this store does not have.
    #[error("{store}: {problem}")]
    Unsupported {
        /// Name of the store.
        store: String,
        /// What is not supported, and what is.
        problem: String,
    },
    /// The session is beyond use.
    #[error("{0}")]
    Session(String),
    /// File system trouble.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// What was touched.
        path: PathBuf,
        /// The system's words.
        source: std::io::Error,
    },
}

impl StoreError {
    /// An error of opening or connecting.
    pub fn open(what: impl ToString, problem: impl ToString) -> StoreError {
        let (what, problem) = (what.to_string(), visible(&problem.to_string()).into_owned());
        let remedy = remedy(&problem).map_or(String::new(), |remedy| format!(". {remedy}"));
        StoreError::Open { what: visible(&what).into_owned(), problem: problem + &remedy }
    }
}

/// What became of a request that ended in an error.
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
}

/// Words of the system and of drivers, by what they say of a request.
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
    /// What became of the request that ended in it.
    pub fn trouble(&self) -> Trouble {
        let said = self.to_string();
        let says = |words: &[&str]| words.iter().any(|words| said.contains(words));
        TROUBLES.iter().find(|(words, _)| says(words)).map_or(Trouble::Refused, |(_, trouble)| *trouble)
    }
}

/// What to do where the system or a server says no more than what failed; the first that fits.
const REMEDIES: [(&[&str], &str); 14] = [
    (&["onnection refused"], "Nothing listens there: start the server, or correct host and port"),
    (
        &["failed to lookup address", "Name or service not known", "nodename nor servname"],
        "Correct the name of the host",
    ),
    (
        &["timed out", "No route to host", "Network is unreachable"],
        "Correct host and port, or let a firewall pass them",
    ),
    (&["File too large", "code: 27"], "A limit on the size of files is in force: raise it (ulimit -f)"),
    (&["No space left", "code: 28"], "The disk is full: free some space, or pass --base DIR on another one"),
    (&["Too many open files", "code: 24"], "Too many files are open: raise the limit (ulimit -n)"),
    (&["annot allocate memory", "code: 12"], "This machine has no memory left: free some"),
    (&["SUN_LEN", "path too long"], "The path of a unix socket may have 107 bytes: pass a shorter --base DIR"),
    (
        &["NOAUTH", "no password supplied", "user name is empty", "password missing"],
        "The server wants a login: write it into the URL as USER:***@HOST or :***@HOST; kvtrial asks for the password",
    ),
    (
        &["WRONGPASS", "nvalid password", "authentication failed", "Authentication failed", "Access denied for user"],
        "Correct user and password in the URL; a / or % in them is written %2F or %25",
    ),
    (&["without any password configured"], "The server has no password: leave it out of the URL"),
    (&["NOPERM"], "The user of the URL may not do that: let the owner of the server grant it, or name another user"),
    (
        &["DB index"],
        "Correct the number of the database behind the / of the URL: the server has those from 0 to 'databases' - 1",
    ),
    (&["HTTP request to an HTTPS server"], "The server speaks TLS at this port: add tls=on"),
];

fn remedy(problem: &str) -> Option<&'static str> {
    let says = |words: &[&str]| words.iter().any(|words| problem.contains(words));
    REMEDIES.iter().find(|(words, _)| says(words)).map(|(_, remedy)| *remedy)
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
            assert!(words.starts_with(&format!("redis://h:1: {problem}. ")) && words.contains(remedy), "{words}");
        }
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
    }
}
