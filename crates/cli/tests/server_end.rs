//! How soon a run knows that its server has ended. Time is the subject here, so it is a program of its own.
#![allow(clippy::unwrap_used)]

mod common;

use common::Desk;
use engine::Settings;
use measure::Progress;
use runner::{About, Asked, Execution, KeysFound, Observer, PlannedStore, Request, Rounds, UnderWay, Variation};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use study::{Spec, TrialRecord};

/// Kills the server in the middle of each trial, and notes how long it takes until the trial is over.
struct Killer {
    base: PathBuf,
    killed: Option<Instant>,
    known_after: Vec<Duration>,
}

impl Killer {
    /// The redis-server below the base.
    fn server(&self) -> i32 {
        let base = self.base.display().to_string();
        let mut processes = std::fs::read_dir("/proc").unwrap().flatten();
        let found = processes.find_map(|entry| {
            let command = std::fs::read(entry.path().join("cmdline")).ok()?;
            let command = String::from_utf8_lossy(&command).into_owned();
            let is_it = command.contains("redis-server") && command.contains(&base);
            is_it.then(|| entry.file_name().to_str()?.parse().ok())?
        });
        found.unwrap_or_else(|| panic!("no redis-server below {base}"))
    }
}

impl Observer for Killer {
    fn trial_started(&mut self, _: u32, _: u32, _: &str, _: bool) {}

    fn progress(&mut self, phase: &UnderWay, progress: Progress) {
        if phase.timed && self.killed.is_none() && progress.elapsed > Duration::from_millis(300) {
            let server = self.server();
            self.killed = Some(Instant::now());
            // SAFETY: signalling a server this test has started.
            assert_eq!(unsafe { libc::kill(server, libc::SIGKILL) }, 0);
        }
    }

    fn trial_finished(&mut self, _: usize, record: TrialRecord, _: Option<&About>) -> Result<(), String> {
        let kinds: Vec<String> = record.verdict.reasons.iter().map(|reason| reason.kind.name()).collect();
        assert!(kinds.iter().any(|kind| kind == "server_died"), "{kinds:?}");
        self.known_after.push(self.killed.take().unwrap().elapsed());
        Ok(())
    }
}

/// From the signal to the trial's verdict; what else this machine does can only make that longer, so the shortest of several counts.
#[test]
fn a_run_knows_within_a_tenth_of_a_second_that_its_server_has_ended() {
    let desk = Desk::new();
    let base = desk.path().to_owned();
    let job = jobs::find("ycsb").unwrap();
    let set = [("records", "100"), ("seconds", "20")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    let info = catalog::find("redis-unix").unwrap();
    let line = store::CommandLine::new(env!("CARGO_BIN_EXE_kvtrial")).arg("fork-server");
    let request = Request {
        job,
        data: None,
        params: jobs::params(job, &set).unwrap(),
        stores: vec![PlannedStore { info, spec: Spec::private(info.name), asked: Asked::ByName, baseline: false }],
        settings: Settings::default(),
        rounds: Rounds { repeats: 5, ..Rounds::ONCE },
        seed: 42,
        base: base.clone(),
        keys_found: KeysFound::Refuse,
        execution: Execution::workers(line),
    };
    let plan = request.study(&Variation::none(), &mut |words| panic!("{words}")).unwrap();
    let mut killer = Killer { base, killed: None, known_after: Vec::new() };
    runner::run(&plan, &BTreeSet::new(), &[], &AtomicBool::new(false), &mut killer).unwrap();
    assert_eq!(killer.known_after.len(), 5);
    let shortest = killer.known_after.iter().min().unwrap();
    assert!(*shortest < Duration::from_millis(100), "{:?}", killer.known_after);
}
