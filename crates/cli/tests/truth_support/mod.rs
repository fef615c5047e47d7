//! One trial of one job on one store, run as a user does, and what its only cell says.

#[path = "../common/mod.rs"]
pub mod common;

use common::Desk;
use serde_json::Value;

/// What a finished run left.
pub struct Ran {
    /// Exit status.
    pub status: i32,
    /// The only cell of the study.
    pub cell: Value,
    /// What was printed, both streams.
    pub printed: String,
}

/// The words that run `job` on one store, once.
pub fn words(job: &str, store: &str, more: &[&str]) -> String {
    format!("{job} -s {store} --no-baselines --repeats 1 --warmups 0 {}", more.join(" "))
}

/// Runs `job` on one store, once.
pub fn run(job: &str, store: &str, more: &[&str]) -> Ran {
    Ran::of(&Desk::new().run(&words(job, store, more)))
}

impl Ran {
    /// The only cell of a run.
    pub fn of(ran: &common::Ran) -> Ran {
        Ran { status: ran.status, cell: ran.cells()[0].clone(), printed: ran.said() }
    }

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
