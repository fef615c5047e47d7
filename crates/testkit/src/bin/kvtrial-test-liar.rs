//! Test support: the lying server as the program whose name it is started under. It is never offered to users.

use kvtrial_testkit::lying::private;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut args = std::env::args();
    let path = args.next().unwrap_or_default();
    match private::serve(Path::new(&path), &args.collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("kvtrial-test-liar: {problem}");
            ExitCode::FAILURE
        }
    }
}
