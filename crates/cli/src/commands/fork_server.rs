//! Commands that kvtrial starts itself: `kvtrial fork-server`, where worker processes come from, and `kvtrial disk-server`, a disk whose power is cut.

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

/// Returns the line that makes this very program serve a disk whose power is cut.
pub fn disk_server() -> CommandLine {
    CommandLine::new("/proc/self/exe").arg("disk-server")
}
