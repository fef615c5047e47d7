//! Test support: the test server for the Tyrant protocol as a program, taking as much of `ttserver`'s command line as kvtrial uses.
//! It is not Tokyo Tyrant and is never offered to users.

use kvtrial_testkit::tyrant_server::{self, Listen, TyrantServer};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("kvtrial-test-tyrant: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let (mut host, mut port, mut database) = (String::from("127.0.0.1"), 1978, None);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} wants a value"));
        match &arg[..] {
            "--version" => {
                println!("{}", tyrant_server::name()?);
                return Ok(());
            }
            "-host" => host = value()?,
            "-port" => port = value()?.parse().map_err(|_| "-port wants a number")?,
            "-thnum" | "-log" => drop(value()?),
            "-le" => {}
            _ if arg.starts_with('-') => return Err(format!("{arg} is not in the test server")),
            // What follows the path are options of the database, which the test server leaves at their defaults.
            _ => database = Some(arg.split('#').next().unwrap_or_default().to_owned()),
        }
    }
    let database = database.ok_or("no database named")?;
    let listen = if port == 0 { Listen::Unix(PathBuf::from(&host)) } else { Listen::Tcp(port) };
    block_ending();
    let _server = TyrantServer::start(listen, Path::new(&database))?;
    wait_for_ending();
    Ok(())
}

fn ending() -> libc::sigset_t {
    // SAFETY: a signal set is plain data, and made empty before it is used.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, libc::SIGTERM);
        libc::sigaddset(&mut set, libc::SIGINT);
        set
    }
}

/// Holds back the signals that end it, in this thread and all it starts, so that they can be waited for.
fn block_ending() {
    // SAFETY: the set is initialised; the old mask is not wanted.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &ending(), std::ptr::null_mut()) };
}

fn wait_for_ending() {
    let mut signal = 0;
    // SAFETY: the set is initialised and `signal` is a place for the number.
    unsafe { libc::sigwait(&ending(), &mut signal) };
}
