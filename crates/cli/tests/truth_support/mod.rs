//! Runs the program as a user does, and reads what it wrote.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

/// A study of one store and one trial.
pub struct Ran {
    /// Exit status.
    pub status: i32,
    /// The only cell of the study.
    pub cell: Value,
    /// What was printed, both streams.
    pub printed: String,
}

/// The command that runs `job` on one store, once, into `out`.
pub fn command(job: &str, store: &str, out: &Path, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kvtrial"));
    command.args(["run", job, "-s", store, "--no-baselines", "--repeats", "1", "--warmups", "0", "--out"]);
    command.arg(out).args(more);
    command
}

/// Runs `job` on one store, once.
pub fn run(job: &str, store: &str, more: &[&str]) -> Ran {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("study");
    let output = command(job, store, &out, more).output().unwrap();
    read(&out, &output)
}

/// Reads the study in `out`.
pub fn read(out: &Path, output: &Output) -> Ran {
    let printed = String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned();
    let text = std::fs::read(out.join("study.json")).unwrap_or_else(|error| panic!("{error}\n{printed}"));
    let study: Value = serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{error}\n{printed}"));
    let cell = study["cells"][0].clone();
    Ran { status: output.status.code().unwrap_or(-1), cell, printed }
}

impl Ran {
    /// The reason of that kind: its count and its example.
    pub fn reason(&self, kind: &str) -> Option<(u64, String)> {
        let reasons = self.cell["verdict"]["reasons"].as_array()?;
        let reason = reasons.iter().find(|reason| reason["kind"] == kind)?;
        Some((reason["count"].as_u64()?, reason["example"].as_str()?.to_owned()))
    }

    /// `valid`, `degraded` or `void`.
    pub fn verdict(&self) -> &str {
        self.cell["verdict"]["status"].as_str().unwrap_or("")
    }
}
