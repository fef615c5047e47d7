//! `kvtrial echo-server`: the server of the echo baselines, started by kvtrial itself.

use crate::args::EchoArguments;
use crate::failure;
use crate::output::note;
use echo::Listen;
use std::process::ExitCode;
use store::CommandLine;

/// Returns how this very program is started as the echo server. The link leads to the program that runs, even where its file has been
/// replaced meanwhile.
pub fn command_line() -> CommandLine {
    CommandLine::new("/proc/self/exe").arg("echo-server")
}

/// Serves until the process is ended.
pub fn serve(arguments: &EchoArguments) -> ExitCode {
    let listen = match (&arguments.port, &arguments.socket) {
        (Some(port), _) => Listen::Loopback(*port),
        (None, Some(path)) => Listen::Unix(path.clone()),
        (None, None) => return ExitCode::from(failure::USAGE), // clap asks for one of them
    };
    match echo::serve(&listen) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            note(&format!("kvtrial echo-server: {error}"));
            ExitCode::from(failure::USAGE)
        }
    }
}
