//! `kvtrial worker`: lends this machine to studies on others.

use crate::args::WorkerArguments;
use crate::failure::CommandFailure;
#[cfg(feature = "workers")]
use {
    super::{fork_server, workers},
    crate::failure,
    crate::output::note,
    fleet::WorkerNews,
};

/// Says that this build cannot.
#[cfg(not(feature = "workers"))]
pub fn worker(_: &WorkerArguments) -> Result<u8, CommandFailure> {
    Err(CommandFailure::usage("this build reaches no other machines: build with --features workers, or full"))
}

/// Works until it is interrupted.
#[cfg(feature = "workers")]
pub fn worker(arguments: &WorkerArguments) -> Result<u8, CommandFailure> {
    let address = workers::address(&arguments.nats, &arguments.files)?;
    let (name, line) = (arguments.name.clone(), fork_server::line());
    fleet::serve(&address, name, line, host::interrupt::flag(), &mut |news| {
        note(&format!("kvtrial: {}", said(&news)))
    })?;
    Ok(failure::GOOD)
}

#[cfg(feature = "workers")]
fn said(news: &WorkerNews) -> String {
    match news {
        WorkerNews::Unreachable(problem) => format!("NATS does not answer yet at {problem}; trying again"),
        WorkerNews::Waiting { name, place } => format!("worker {name} waits for a study at {place}; Ctrl-C ends it"),
        WorkerNews::Claimed => "a study has claimed this worker".into(),
        WorkerNews::Trial(number) => format!("trial {number}"),
        WorkerNews::Released => "the study is over; waiting for the next".into(),
        WorkerNews::StudyLost => "the study gave no sign of life; waiting for the next".into(),
        WorkerNews::Refused(why) => format!("a study refuses this worker: {why}"),
    }
}
