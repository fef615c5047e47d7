//! The lying server as a program that kvtrial starts: as a private `memcached`, `redis-server` or `ttserver` on a unix socket.

use super::{Lie, LyingServer, Protocol, Rule, Target, When};
use std::path::{Path, PathBuf};

/// The file beside the program that makes it lie; without it the server is honest. kvtrial's servers get no environment.
const LIES: &str = "keys-nobody-wrote";

/// Names of servers, what they speak, what they answer to `--version`, and the option before their socket.
const SERVERS: [(&str, Protocol, &str, &str); 3] = [
    ("memcached", Protocol::Memcached, "memcached 1.6.18", "-s"),
    ("redis-server", Protocol::Resp, "Redis server v=7.0.0", "--unixsocket"),
    ("ttserver", Protocol::Tyrant, "Tokyo Tyrant version 1.1.41", "-host"),
];

/// Puts the program into a directory under all these names. With a lie it answers the first put with it:
/// [`Lie::KeysNobodyWrote`] is the only one.
///
/// # Errors
/// When it cannot be built or linked.
pub fn install(directory: &Path, lie: Option<Lie>) -> Result<(), String> {
    if lie == Some(Lie::KeysNobodyWrote) {
        std::fs::write(directory.join(LIES), "").map_err(|error| error.to_string())?;
    }
    SERVERS.iter().try_for_each(|(name, ..)| crate::built::install("kvtrial-test-liar", directory, name).map(drop))
}

/// Serves as the server at this path until the process is killed.
///
/// # Errors
/// When it is none of the names, no socket is named or none can be made.
pub fn serve(path: &Path, args: &[String]) -> Result<(), String> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let known = SERVERS.iter().find(|(known, ..)| *known == name);
    let (_, protocol, version, before) = known.ok_or_else(|| format!("{name} is no server to lie as"))?;
    if args.iter().any(|arg| arg == "--version") {
        println!("{version}");
        return Ok(());
    }
    let place = args.iter().skip_while(|arg| arg != before).nth(1);
    let socket = place.map(PathBuf::from).ok_or_else(|| format!("no socket behind {before}"))?;
    let rules = match path.with_file_name(LIES).exists() {
        false => Vec::new(),
        true => vec![Rule::new(Lie::KeysNobodyWrote, Target::Puts, When::Nth(1))],
    };
    let _server = LyingServer::start_unix(*protocol, rules, &socket).map_err(|error| error.to_string())?;
    loop {
        std::thread::park();
    }
}
