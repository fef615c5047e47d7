//! `kvtrial fork-server`: where the worker processes come from, started by kvtrial itself.

use runner::Execution;
use store::CommandLine;

/// Makes an execution of trials in worker processes made by this very program. The link leads to the program that runs, even where its file has been
/// replaced meanwhile.
pub fn execution() -> Execution {
    Execution::workers(line())
}

/// Returns the command line of a fork server.
pub fn line() -> CommandLine {
    CommandLine::new("/proc/self/exe").arg("fork-server")
}
