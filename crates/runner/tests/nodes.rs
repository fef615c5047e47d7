//! A trial on a store of several servers, real ones: each is watched while the trial runs.
#![allow(clippy::unwrap_used, clippy::panic)]

use kvtrial_runner::{
    About, Asked, Execution, KeysFound, Observer, PlannedStore, Request, Rounds, RunError, UnderWay, Variation,
};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use store::{
    Availability, BUILT_IN, Capabilities, Deployment, Endpoint, Facts, Node, Opener, OptionInfo, Place, Session,
    SessionPlan, Store, StoreError, StoreInfo, Threading,
};
use study::{Class, Durability, Left, Spec, TrialRecord};

/// Three Redis, of which the first takes all keys; with `fells=node2` that one dies while the first session is opened.
static THREE: StoreInfo = StoreInfo {
    name: "three",
    family: "three",
    transport: None,
    driver: None,
    class: Class::Network,
    kind: "test",
    summary: "three servers",
    durabilities: &[Durability::None],
    options: &[OptionInfo::one_of("fells", &["nobody", "node2"], "which server dies in the trial")],
    install: BUILT_IN,
    licence: "MIT OR Apache-2.0",
    declares: |_| Capabilities::BASIC,
    probe: || Availability::Found("three".into()),
    opener: Opener::Server { plan, connect, usual_port: 1 },
};

/// The plan of one, three times.
fn plan(_: &Spec, place: &mut Place) -> Result<Deployment, StoreError> {
    let Opener::Server { plan, .. } = catalog::find("redis").unwrap().opener else { unreachable!("it is a server") };
    let node = |name| {
        let alone = plan(&Spec::private("redis"), &mut place.node(name))?;
        Ok(alone.nodes.into_iter().map(|it| Node { name: name.into(), ..it }))
    };
    let nodes = ["node1", "node2", "node3"].map(node).into_iter().collect::<Result<Vec<_>, StoreError>>()?;
    Ok(nodes.into_iter().flatten().collect())
}

fn connect(spec: &Spec, nodes: &[Endpoint]) -> Result<Box<dyn Store>, StoreError> {
    let Opener::Server { connect, .. } = catalog::find("redis").unwrap().opener else { unreachable!("it is a server") };
    let fells = spec.options.get("fells").cloned();
    Ok(Box::new(First { honest: connect(&Spec::private("redis"), &nodes[..1])?, fells }))
}

struct First {
    honest: Box<dyn Store>,
    fells: Option<String>,
}

impl Store for First {
    fn capabilities(&self) -> &Capabilities {
        &Capabilities::BASIC
    }

    fn session(&self, plan: SessionPlan) -> Result<Box<dyn Session>, StoreError> {
        if let Some(name) = &self.fells {
            kill(name);
        }
        self.honest.session(plan)
    }

    fn threading(&self) -> Threading {
        self.honest.threading()
    }

    fn facts(&self) -> Result<Facts, StoreError> {
        self.honest.facts()
    }
}

/// Kills our server that works in a directory of this name.
fn kill(name: &str) {
    let works_there = |pid: &i32| {
        let of_ours = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let parent = of_ours.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1)?.parse::<u32>().ok());
        parent == Some(std::process::id())
            && std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|directory| directory.ends_with(name))
    };
    let pids =
        std::fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    for pid in pids.filter(works_there) {
        assert!(Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap().success());
        let begun = Instant::now();
        while works_there(&pid) && begun.elapsed() < Duration::from_secs(5) {}
    }
}

#[derive(Default)]
struct Diary(Vec<TrialRecord>);

impl Observer for Diary {
    fn trial_started(&mut self, _: u32, _: u32, _: &str, _: bool) {}

    fn progress(&mut self, _: &UnderWay, _: measure::Progress) {}

    fn rounds_settled(&mut self, _: u32) -> Result<(), String> {
        Ok(())
    }

    fn leaves(&mut self, _: Left) -> Result<(), String> {
        Ok(())
    }

    fn cell_failed(&mut self, _: usize, error: &RunError) {
        panic!("{error}");
    }

    fn trial_finished(&mut self, _: usize, record: TrialRecord, _: Option<&About>) -> Result<(), String> {
        self.0.push(record);
        Ok(())
    }
}

/// The record of one trial on a store.
fn trial(spec: &str, base: &Path) -> TrialRecord {
    let job = jobs::find("ycsb").unwrap();
    let set = [("records", "100"), ("operations", "2000")].map(|(key, value)| (key.to_owned(), value.to_owned()));
    let request = Request {
        job,
        data: None,
        params: jobs::params(job, &set).unwrap(),
        stores: vec![PlannedStore { info: &THREE, spec: spec.parse().unwrap(), asked: Asked::ByName, baseline: false }],
        settings: engine::Settings::default(),
        rounds: Rounds::ONCE,
        seed: 42,
        base: base.to_owned(),
        keys_found: KeysFound::Refuse,
        execution: Execution::InProcess,
    };
    let plan = request.study(&Variation::none(), &mut |words| panic!("{words}")).unwrap();
    let mut diary = Diary::default();
    kvtrial_runner::run(&plan, &[].into_iter().collect(), &[], &AtomicBool::new(false), &mut diary).unwrap();
    diary.0.remove(0)
}

#[test]
fn a_trial_on_three_servers_is_valid_and_ends_when_one_of_them_does_by_name() {
    let base = tempfile::tempdir().unwrap();
    let whole = trial("three", base.path());
    assert!(whole.verdict.is_ranked(), "{:?}", whole.verdict);
    // Each is accounted for: the first has all the work.
    let names: Vec<&str> = whole.nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(names, ["node1", "node2", "node3"]);
    let busiest = whole.nodes.iter().max_by(|a, b| a.cpu_s.total_cmp(&b.cpu_s)).unwrap();
    let all = whole.server.unwrap();
    let sum_s: f64 = whole.nodes.iter().map(|node| node.cpu_s).sum();
    assert!(busiest.name == "node1" && busiest.cpu_s > 0.001, "{:?}", whole.nodes);
    assert!((sum_s - all.cpu_s).abs() < 0.05 + all.cpu_s / 2.0, "{sum_s} {all:?}");
    assert!(whole.nodes.iter().all(|node| node.peak_rss_bytes > 1 << 20 && node.disk_bytes > 0), "{:?}", whole.nodes);
    let felled = trial("three,fells=node2", base.path());
    let reasons = &felled.verdict.reasons;
    assert_eq!(reasons.iter().map(|reason| reason.kind.name()).collect::<Vec<_>>(), ["server_died"], "{reasons:?}");
    let words = &reasons[0].example;
    assert!(words.starts_with("node2 was ended by signal 9 (SIGKILL) (while: "), "{words}");
    assert!(words.contains("; its log ends:") && words.contains("Ready to accept connections"), "{words}");
    assert_eq!(base.path().read_dir().unwrap().count(), 0);
}
