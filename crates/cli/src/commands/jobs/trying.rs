//! A script tried before it is measured: all its phases on `ram`, with one client.

use crate::failure::{self, CommandFailure};
use engine::{End, Settings, run_phase};
use jobkit::{JobInfo, Trial, TrialSetup};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use store::{Opener, Store};

/// What a script is tried on.
const STORE: &str = "ram";
/// A script that takes longer is left there.
const PATIENCE: Duration = Duration::from_secs(5);
const SEED: u64 = 42;

/// The result of trying a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tried {
    pub(super) operations: u64,
    pub(super) extent: Extent,
}

/// The point the script came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// To its end.
    Whole,
    /// It was left when it had taken so long.
    Left,
}

impl Tried {
    /// Says in a sentence how far the script came.
    pub(super) fn sentence(self) -> String {
        let (operations, extent) = (study::whole(self.operations), self.extent);
        match extent {
            Extent::Whole => {
                format!("Tried on {STORE} with one client, to the end: {operations} operations, no error.")
            }
            Extent::Left => format!(
                "Tried on {STORE} with one client, and left after {} s: {operations} operations, no error so far.",
                PATIENCE.as_secs()
            ),
        }
    }
}

/// Runs the script, and says in a sentence how far it came.
///
/// # Errors
/// The script's, with file and line.
pub(super) fn try_out(info: &JobInfo, data: Option<&str>) -> Result<String, CommandFailure> {
    let job = ::jobs::prepare(info, data.map(str::to_owned), &script::short(info), SEED)?;
    let store = open()?;
    let capabilities = store.capabilities().clone();
    if let Err(problem) = job.suits(&capabilities) {
        return Ok(format!("Not tried on {STORE}: {}.", problem.0));
    }
    let trial = job.trial(&TrialSetup::alone(1, capabilities, SEED));
    let settings = Settings { threads: Some(1), seed: SEED, ..Settings::default() };
    trial.set_deadline(settings.deadline);
    run(&*store, trial.as_ref(), &settings).map(Tried::sentence).map_err(|words| CommandFailure {
        message: format!("{}: tried on {STORE} with one client: {words}", info.name),
        status: failure::VOID,
    })
}

/// The store.
fn open() -> Result<Box<dyn Store>, CommandFailure> {
    match catalog::find(STORE).map(|info| info.opener) {
        Some(Opener::Embedded(open)) => Ok(open(&study::Spec::private(STORE), Path::new(""))?),
        _ => Err(CommandFailure::usage(format!("{STORE} is not in this build"))),
    }
}

/// All phases, until one shows what is wrong, or time is over.
fn run(store: &dyn Store, trial: &dyn Trial, settings: &Settings) -> Result<Tried, String> {
    let (begun, stop) = (Instant::now(), AtomicBool::new(false));
    let (mut operations, mut timed) = (0, 0);
    let mut watch = |_| {
        if begun.elapsed() > PATIENCE {
            stop.store(true, Ordering::Relaxed);
        }
    };
    for (index, phase) in trial.phases().iter().enumerate() {
        let outcome = run_phase(store, trial, index, settings, &stop, &mut watch).map_err(|error| error.to_string())?;
        operations += outcome.counts.operations;
        timed += if phase.timed { outcome.counts.operations } else { 0 };
        let failure = trial.answer().1.into_iter().next();
        if let Some(reason) = failure.or_else(|| outcome.offences.into_reasons().into_iter().next()) {
            return Err(reason.example);
        }
        if outcome.end != End::Completed {
            return Ok(Tried { operations, extent: Extent::Left });
        }
    }
    match timed {
        0 => Err("it asks nothing of the store while the clock runs. Call verbs of kv in run(client)".into()),
        _ => Ok(Tried { operations, extent: Extent::Whole }),
    }
}
