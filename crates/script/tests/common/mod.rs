//! Opening scripts that tests have as text.
#![allow(dead_code)] // each test file uses its part

use jobkit::{Job, TrialSetup};
use kvtrial_script as script;

use std::time::Duration;
use store::Reply;
use study::{Answer, Reason};

/// A script in a file of its own, opened with these parameters.
pub fn opened(text: &str, data: Option<&str>, set: &[(&str, &str)]) -> Result<Box<dyn Job>, String> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("test.lua");
    std::fs::write(&path, text).unwrap();
    let info = script::find(&path.display().to_string()).map_err(|error| error.to_string())?.unwrap();
    let set: Vec<(String, String)> = set.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    jobs::prepare(info, data.map(str::to_owned), &set, 42).map_err(|error| error.to_string())
}

/// Runs the first phase with one client, every get of which misses, where a script may compute so long.
pub fn run_with_deadline(job: &dyn Job, deadline_ms: u64) -> (Answer, Vec<Reason>) {
    let trial = job.trial(&TrialSetup::alone(1, super::harness::everything(), 1));
    trial.set_deadline(Duration::from_millis(deadline_ms));
    let mut worker = trial.worker(0, 0..1);
    while let jobkit::Step::Operation(_) = worker.next(0) {
        let _ = worker.reply(0, &Reply::Missing);
    }
    drop(worker);
    trial.answer()
}
