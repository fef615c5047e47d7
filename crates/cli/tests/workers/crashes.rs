//! Crashes of a store to which clients of several workers write: one ledger, one judgement, and none where a worker was lost.

use super::nats::{JoinedWorker, Nats, Said};
use crate::common::{Desk, Ran};
use jobkit::Stroke;
use runner::{
    Blow, BrokenFiles, ClockReading, CrashRequest, Crashed, Execution, Fleet, FleetEvent, FleetLink, FleetWorker,
    LocalFleet,
};
use serde_json::Value;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use store::CommandLine;
use study::{CrashCut, CrashMoment, StruckNodes};

/// The cuts of the only level.
fn cuts(ran: &Ran) -> &Vec<Value> {
    let crash = &ran.study.as_ref().unwrap_or_else(|| panic!("no study: {}", ran.said()))["crash"];
    crash["cases"][0]["cuts"].as_array().unwrap()
}

fn promise(ran: &Ran) -> &Value {
    &ran.study.as_ref().unwrap()["crash"]["cases"][0]["promise"]
}

fn crash(store: &str, more: &str) -> String {
    format!("crash {store} --clients 5 --within 300ms --out out {more}")
}

#[test]
fn what_clients_of_several_workers_wrote_is_judged_as_one() {
    let desk = Desk::new();
    let kept = desk.kvtrial(&crash("redis,durability=os", "--cuts 2 --workers local:2"));
    assert_eq!(kept.status, 0, "{}", kept.said());
    assert_eq!(promise(&kept), "kept", "{}", kept.said());
    for cut in cuts(&kept) {
        let writers = cut["writers"].as_array().unwrap();
        let range = |it: &Value| [&it["first_client"], &it["clients"]].map(|number| number.as_u64().unwrap());
        assert_eq!(writers.iter().map(range).collect::<Vec<_>>(), [[0, 2], [2, 3]], "{cut}");
        assert!(cut["found"]["acknowledged"].as_u64().unwrap() > 100 && cut["not_measured"].is_null(), "{cut}");
    }
    assert!(desk.left_behind().is_empty());
    // Where nothing is kept, everything that any of them wrote is missed, and its age is known.
    let none = Desk::new().kvtrial(&crash("redis,durability=none", "--cuts 1 --workers local:3"));
    let found = &cuts(&none)[0]["found"];
    let [acknowledged, lost] = ["acknowledged", "lost"].map(|count| found[count].as_u64().unwrap());
    assert!(lost > 100 && lost > acknowledged / 2, "{found}");
    let oldest_s = found["oldest_lost_s"].as_f64().unwrap();
    assert!(oldest_s > 0.005 && oldest_s < 5.0, "{found}");
}

#[test]
fn ages_of_lost_writes_are_right_though_a_worker_has_another_clock() {
    let shifted = ["-T", "--monotonic", "7200", "--boottime", "7200"];
    let tried = Command::new("unshare").args(shifted).arg("true").stderr(Stdio::null()).status();
    if !tried.is_ok_and(|status| status.success()) {
        return eprintln!("not tried: only root, with unshare, can have another clock");
    }
    let (nats, desk, away) = (Nats::start(), Desk::new(), Desk::new());
    let _here = JoinedWorker::join(&away, &nats.url(), "here");
    let inner = away.command(&format!("worker {} --name later", nats.url()));
    let mut command = Command::new("unshare");
    command.args(shifted).arg(inner.get_program()).args(inner.get_args()).current_dir(away.path());
    inner.get_envs().for_each(|(name, value)| _ = command.env(name, value.unwrap_or_default()));
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let _later = JoinedWorker::of(Said::of(command));
    let more = format!("--cuts 1 --workers 2 --nats {}", nats.url());
    let ran = desk.kvtrial(&crash("redis,durability=none", &more));
    let cut = &cuts(&ran)[0];
    let names: Vec<&Value> = cut["writers"].as_array().unwrap().iter().map(|it| &it["name"]).collect();
    assert!(names.len() == 2 && names.iter().any(|name| *name == "later"), "{cut}");
    let error_s = cut["writers"][0]["clock_error_s"].as_f64().unwrap();
    assert!(error_s > 0.0 && error_s < 0.1, "{cut}");
    let found = &cut["found"];
    assert!(found["lost"].as_u64().unwrap() > 100, "{found}");
    // Of each worker's writes: an hour ahead or behind would be an age of hours, or of nothing.
    let oldest_s = found["oldest_lost_s"].as_f64().unwrap();
    assert!(oldest_s > 0.005 && oldest_s < 5.0, "{found}");
    let youngest = &found["lost_ages"].as_array().unwrap()[0];
    assert!(youngest.as_u64().unwrap() < found["lost"].as_u64().unwrap() / 2, "{found}");
}

#[test]
fn a_lost_worker_makes_a_crash_one_that_was_not_measured() {
    let (nats, desk, away) = (Nats::start(), Desk::new(), Desk::new());
    let mut workers = ["stays", "goes"].map(|name| JoinedWorker::join(&away, &nats.url(), name));
    let more = format!("--cuts 1 --within 8s --workers 2 --nats {}", nats.url());
    let words = crash("redis,durability=os", &more).replace("--within 300ms", "");
    let crashing = Said::of(desk.command(&words));
    workers.iter_mut().for_each(|worker| _ = worker.await_line("trial 1"));
    let [_stays, goes] = workers;
    assert_eq!(goes.end(), 0);
    let ran = desk.finished(crashing.output());
    let why = cuts(&ran)[0]["not_measured"].as_str().unwrap_or_default();
    assert!(why.contains("a worker was lost") && why.contains("goes: it was ended there"), "{}", ran.said());
    assert_eq!(promise(&ran), "not_shown", "{}", ran.said());
    assert!(ran.stdout.contains("goes: it was ended there"), "{}", ran.said());
    assert!(desk.left_behind().is_empty() && away.left_behind().is_empty());
}

#[test]
fn crashes_that_several_workers_cannot_make_say_why() {
    for (words, expected) in [
        ("crash sqlite --workers local:2", "it is a library, in the process that is killed"),
        ("crash redis --clients 2 --workers local:3", "3 workers cannot share 2 clients; use --clients 3 or more"),
        ("crash redis --during checkpoint --workers local:2", "leave --during out, or --workers"),
        (
            "crash redis://127.0.0.1:1 --kill-command true --start-command true --yes --workers local:2",
            "leave --kill-command or --workers out",
        ),
    ] {
        let ran = Desk::new().kvtrial(words);
        assert!(ran.status == 2 && ran.stderr.contains(expected), "{words}: {}", ran.said());
    }
}

/// Two workers, of which what the second sends of its ledger comes otherwise, or not at all.
struct Doctoring {
    honest: LocalFleet,
    doctor: fn(Value) -> Option<Value>,
}

impl FleetLink for Doctoring {
    fn size(&self) -> u32 {
        self.honest.size()
    }

    fn gather(&mut self, plan: &str, goes_on: &mut dyn FnMut() -> bool) -> Result<Vec<FleetWorker>, String> {
        self.honest.gather(plan, goes_on)
    }

    fn send(&mut self, worker: usize, message: &[u8]) {
        self.honest.send(worker, message);
    }

    fn receive(&mut self, patience: Duration) -> FleetEvent {
        let event = self.honest.receive(patience);
        let FleetEvent::Message { worker: 1, message } = &event else { return event };
        let said: Value = serde_json::from_slice(message).unwrap();
        if said.get("Ledger").is_none() {
            return event;
        }
        match (self.doctor)(said) {
            Some(said) => FleetEvent::Message { worker: 1, message: serde_json::to_vec(&said).unwrap() },
            None => FleetEvent::Nothing,
        }
    }

    fn kill(&mut self, worker: usize) {
        self.honest.kill(worker);
    }

    fn part(&mut self) -> Vec<Option<ClockReading>> {
        self.honest.part()
    }
}

/// The only cut of such a crash.
fn doctored(doctor: fn(Value) -> Option<Value>) -> CrashCut {
    let line = CommandLine::new(env!("CARGO_BIN_EXE_kvtrial")).arg("fork-server");
    let link = Doctoring { honest: LocalFleet::new(2, line.clone()), doctor };
    let desk = Desk::new();
    let request = CrashRequest {
        info: catalog::find("redis").unwrap(),
        spec: "redis,durability=os".parse().unwrap(),
        base: desk.path().to_owned(),
        clients: 2,
        seed: 42,
        value_bytes: 100,
        done: 0,
        cuts: 1,
        blow: Blow::Nodes { which: StruckNodes::All, stroke: Stroke::Kill, outage: Duration::ZERO },
        during: CrashMoment::Write,
        earliest: Duration::ZERO,
        longest: Duration::from_millis(100),
        deadline: Duration::from_secs(10),
        broken: BrokenFiles::Removed,
    };
    let execution = Execution::Fleet(Fleet::new(Box::new(link), line));
    let mut made = None;
    let is_whole = runner::crash(&request, &execution, &AtomicBool::new(false), &mut |heard| {
        if let Crashed::Cut(cut) = heard {
            made = Some(cut.clone());
        }
    });
    assert!(is_whole.unwrap());
    made.unwrap()
}

#[test]
fn a_ledger_that_has_changed_on_the_way_or_lacks_a_part_shows_nothing() {
    let changed = doctored(|mut said| {
        let numbers = said["Ledger"]["numbers"].as_array_mut().unwrap();
        numbers[1] = (numbers[1].as_u64().unwrap() + 1).into();
        Some(said)
    });
    let lacking = doctored(|_| None);
    for (cut, words) in [
        (changed, "a part of what it wrote has changed on the way here"),
        (lacking, "parts of what it wrote have come"),
    ] {
        let why = cut.not_measured.unwrap();
        assert!(why.contains("local 2: ") && why.contains(words), "{why}");
        assert_eq!((cut.found.acknowledged, cut.writers.len()), (0, 0));
    }
    let honest = doctored(Some);
    assert!(honest.not_measured.is_none() && honest.found.acknowledged > 10 && honest.found.lost == 0, "{honest:?}");
}
