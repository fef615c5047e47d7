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
    #[error("{store} is not in this build; build with: cargo build --release --features {feature}")]
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

/// What to do where the system says no more than what failed.
fn remedy(problem: &str) -> Option<&'static str> {
    let says = |words: &[&str]| words.iter().any(|words| problem.contains(words));
    if says(&["onnection refused"]) {
        Some("Nothing listens there: start the server, or correct host and port")
    } else if says(&["failed to lookup address", "Name or service not known", "nodename nor servname"]) {
        Some("Correct the name of the host")
    } else if says(&["timed out", "No route to host", "Network is unreachable"]) {
        Some("Correct host and port, or let a firewall pass them")
    } else if says(&["File too large", "code: 27"]) {
        Some("A limit on the size of files is in force: raise it (ulimit -f)")
    } else if says(&["No space left", "code: 28"]) {
        Some("The disk is full: free some space, or pass --base DIR on another one")
    } else if says(&["Too many open files", "code: 24"]) {
        Some("Too many files are open: raise the limit (ulimit -n)")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::StoreError;

    #[test]
    fn a_server_that_cannot_be_reached_is_answered_with_what_to_do() {
        for (problem, remedy) in [
            ("Connection refused (os error 111)", "start the server, or correct host and port"),
            ("failed to lookup address information: Name or service not known", "name of the host"),
            ("connection timed out", "firewall"),
            ("FjallError: Io(Os { code: 27, kind: FileTooLarge, message: \"File too large\" })", "ulimit -f"),
            ("No space left on device (os error 28)", "--base DIR"),
        ] {
            let words = StoreError::open("redis://h:1", problem).to_string();
            assert!(words.starts_with(&format!("redis://h:1: {problem}. ")) && words.contains(remedy), "{words}");
        }
        assert_eq!(StoreError::open("x", "wrong password").to_string(), "x: wrong password");
    }
}
