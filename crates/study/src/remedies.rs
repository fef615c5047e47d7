//! What the words of systems and servers ask for: the remedy, wherever such words are shown.

/// What is asked for, and by which words; the first that fits. A remedy begins in lower case, to follow an arrow.
type Remedy = (&'static [&'static str], &'static str);

/// Where this machine has no more of something.
const LIMITS: [Remedy; 5] = [
    (&["File too large", "code: 27"], "a limit on the size of files is in force: raise it (ulimit -f)"),
    (&["No space left", "code: 28"], "the disk is full: free some space, or pass --base DIR on another one"),
    (
        &["oo many open files", "code: 24", "rlimit for open files"],
        "too many files or connections are open: raise the limit (ulimit -n)",
    ),
    (&["annot allocate memory", "code: 12"], "this machine has no memory left: free some, or make the job smaller"),
    (&["SUN_LEN", "path too long"], "the path of a unix socket may have 107 bytes: pass a shorter --base DIR"),
];

/// Where a server is not reached, or lets nobody in.
const REACHING: [Remedy; 12] = [
    (&["onnection refused"], "nothing listens there: start the server, or correct host and port"),
    (
        &["failed to lookup address", "Name or service not known", "nodename nor servname"],
        "correct the name of the host",
    ),
    (
        &["timed out", "No route to host", "Network is unreachable"],
        "correct host and port, or let a firewall pass them",
    ),
    (
        &["NOAUTH", "no password supplied", "user name is empty", "password missing", "equires authentication"],
        "the server wants a login: write it into the URL as USER:***@HOST or :***@HOST; kvtrial asks for the password",
    ),
    (
        &["WRONGPASS", "nvalid password", "authentication failed", "Authentication failed", "Access denied for user"],
        "correct user and password in the URL; a / or % in them is written %2F or %25",
    ),
    (&["without any password configured"], "the server has no password: leave it out of the URL"),
    (
        &["NOPERM", "ermission denied for", "not authorized", "command denied to user"],
        "the user of the URL may not do that: let the owner of the server grant it, or name another user",
    ),
    (
        &["DB index"],
        "correct the number of the database behind the / of the URL: the server has those from 0 to 'databases' - 1",
    ),
    (&["Unknown database"], "create the database, or correct its name behind the / of the URL"),
    (&["WRONGTYPE"], "the keys hold data of another type: use an empty database, or --overwrite to delete those keys"),
    (&["HTTP request to an HTTPS server"], "the server speaks TLS at this port: add tls=on"),
    (
        &["max number of clients", "oo many connections", "too many clients"],
        "the server takes no more connections: raise its limit, or use fewer --clients",
    ),
];

/// Where a server hangs up at the first words that are said to it.
const GREETING: [Remedy; 1] = [(
    &["closed the connection", "reset by peer", "onnection closed"],
    "read the server's log; if the server speaks TLS at this port, add tls=on",
)];

/// Where a store refuses what is asked of it.
const REFUSING: [Remedy; 3] = [
    (
        &["OOM", "out of memory storing"],
        "the store is at its memory limit: raise it (maxmemory=, memory=), or make the job smaller",
    ),
    (&["READONLY", "read only replica", "read-only transaction"], "this is a replica: name the server it follows"),
    (&["too large", "exceeds the maximum"], "raise the store's limit on values, or make the values smaller"),
];

/// Returns the remedy for words of the system that say a limit of this machine is reached.
pub fn remedy_of_limit(words: &str) -> Option<&'static str> {
    first(LIMITS.iter(), words)
}

/// Returns the remedy for words of the system or of a server about something that is opened or connected to.
pub fn remedy_of_opening(words: &str) -> Option<&'static str> {
    first(LIMITS.iter().chain(&REACHING), words)
}

/// Returns the remedy for words of the system or of a server that answer the first bytes sent to a server.
pub fn remedy_of_greeting(words: &str) -> Option<&'static str> {
    first(LIMITS.iter().chain(&REACHING).chain(&GREETING), words)
}

/// Returns the remedy for a store's refusal of an operation.
pub fn remedy_of_refusal(words: &str) -> Option<&'static str> {
    first(LIMITS.iter().chain(&REACHING).chain(&REFUSING), words)
}

fn first<'a>(mut remedies: impl Iterator<Item = &'a Remedy>, words: &str) -> Option<&'static str> {
    remedies.find(|(known, _)| known.iter().any(|known| words.contains(known))).map(|(_, remedy)| *remedy)
}

#[cfg(test)]
mod tests {
    use super::{remedy_of_greeting, remedy_of_limit, remedy_of_opening, remedy_of_refusal};

    #[test]
    fn the_remedy_fits_the_words() {
        for (words, remedy) in [
            ("key user1: NOAUTH Authentication required.", "asks for the password"),
            ("WRONGPASS invalid username-password pair or user is disabled.", "correct user and password"),
            ("key k: NOPERM this user has no permissions to run the 'set' command", "grant it"),
            ("ERR DB index is out of range", "number of the database"),
            ("key k: WRONGTYPE Operation against a key holding the wrong kind of value", "another type"),
            ("key k: OOM command not allowed when used memory > 'maxmemory'.", "maxmemory="),
            ("File too large (os error 27)", "ulimit -f"),
            ("failed to set rlimit for open files", "ulimit -n"),
            ("page libc6: SERVER_ERROR object too large for cache", "limit on values"),
        ] {
            assert!(remedy_of_refusal(words).is_some_and(|said| said.contains(remedy)), "{words}");
        }
        // What a store refuses is no news of how it is opened, nor is a log with a time limit in it a limit of this machine.
        assert_eq!(remedy_of_opening("OOM command not allowed"), None);
        let hung_up = "the server closed the connection";
        assert!(remedy_of_opening(hung_up).is_none() && remedy_of_greeting(hung_up).is_some());
        assert_eq!(remedy_of_limit("its log ends: timed out"), None);
    }
}
