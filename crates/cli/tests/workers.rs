//! One study, many workers: processes of this machine, joined by hand or over NATS, killed, cut off, of another version, and lying;
//! and on machines of their own as far as one machine has them.
#![allow(clippy::unwrap_used)]

#[path = "workers/apart.rs"]
mod apart;
#[path = "common/mod.rs"]
mod common;
#[path = "workers/crashes.rs"]
mod crashes;
#[path = "workers/hub.rs"]
mod hub;
#[path = "workers/logins.rs"]
mod logins;
#[path = "workers/lying.rs"]
mod lying;
#[path = "workers/nats.rs"]
mod nats;
#[path = "workers/scripts.rs"]
mod scripts;
#[path = "workers/searches.rs"]
mod searches;

use common::{Desk, Ran, once};
use nats::{JoinedWorker, Nats, Speaker};
use serde_json::Value;
use std::process::Child;
use std::time::{Duration, Instant};

/// A job with an answer that is the same however many do it, small.
const YCSB: &str = "ycsb";
const SMALL: [&str; 4] = ["--set records=2000", "--set operations=6000", "--set workload=A", "--clients 6"];

fn trial(ran: &Ran) -> &Value {
    assert!(ran.study.is_some(), "{}\n{}", ran.stdout, ran.stderr);
    &ran.cells()[0]["trials"][0]
}

fn digest(ran: &Ran) -> &str {
    let digest = trial(ran)["answer"]["digest"].as_str().unwrap();
    assert!(!digest.is_empty());
    digest
}

fn reasons(ran: &Ran) -> Vec<(String, String)> {
    let word = |reason: &Value, name: &str| reason[name].as_str().unwrap().to_owned();
    let all = trial(ran)["verdict"]["reasons"].as_array().unwrap();
    all.iter().map(|reason| (word(reason, "kind"), word(reason, "example"))).collect()
}

fn with(more: &[&str], last: &str) -> String {
    let words: Vec<&str> = more.iter().copied().chain([last]).collect();
    once(YCSB, "redis", &words)
}

fn until(what: &str, within: Duration, mut is_so: impl FnMut() -> bool) -> Duration {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < within, "{what}: not within {within:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
    begun.elapsed()
}

fn finished(desk: &Desk, study: Child) -> Ran {
    desk.finished(study.wait_with_output().unwrap())
}

#[test]
fn the_answer_does_not_depend_on_how_many_workers_there_are() {
    let alone = Desk::new().run(&with(&SMALL, ""));
    assert_eq!(alone.status, 0, "{}", alone.stderr);
    assert!(trial(&alone).get("workers").is_none());
    for workers in [2, 3] {
        let desk = Desk::new();
        let ran = desk.run(&with(&SMALL, &format!("--workers local:{workers}")));
        assert_eq!(ran.status, 0, "{}\n{}", ran.stdout, ran.stderr);
        assert_eq!(digest(&ran), digest(&alone), "{workers}");
        for figure in ["operations", "hits", "misses", "bytes_read", "bytes_written"] {
            assert_eq!(trial(&ran)[figure], trial(&alone)[figure], "{workers} {figure}");
        }
        let each = trial(&ran)["workers"].as_array().unwrap();
        assert_eq!(each.len(), workers);
        let sum = |figure: &str| each.iter().map(|it| it[figure].as_u64().unwrap()).sum::<u64>();
        assert_eq!((sum("clients"), Some(sum("operations"))), (6, trial(&ran)["operations"].as_u64()));
        assert!(trial(&ran)["start_spread_s"].as_f64().unwrap() < 0.5);
        assert!(desk.left_behind().is_empty());
    }
}

#[test]
fn workers_that_join_over_nats_give_the_answer_of_one() {
    let alone = Desk::new().run(&with(&SMALL, ""));
    let (nats, desk) = (Nats::start(), Desk::new());
    let workers = [JoinedWorker::join(&desk, &nats.url(), "one"), JoinedWorker::join(&desk, &nats.url(), "two")];
    for round in 0..2 {
        let ran = Desk::new().run(&with(&SMALL, &format!("--workers 2 --nats {}", nats.url())));
        assert_eq!(ran.status, 0, "round {round}: {}\n{}", ran.stdout, ran.stderr);
        assert_eq!(digest(&ran), digest(&alone));
        let mut names: Vec<&str> =
            trial(&ran)["workers"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
        names.sort_unstable();
        assert_eq!(names, ["one", "two"]);
        for worker in trial(&ran)["workers"].as_array().unwrap() {
            assert!(worker["clock_error_s"].as_f64().unwrap() < 0.01, "{worker}");
        }
    }
    workers.into_iter().for_each(|worker| assert_eq!(worker.end(), 0));
}

#[test]
fn a_study_without_nats_starts_its_own_and_says_the_line_to_run() {
    let (desk, elsewhere) = (Desk::new(), Desk::new());
    let port = testkit::free_port();
    let words = with(&SMALL, &format!("--workers 2 --bind 127.0.0.1:{port} --out out"));
    let mut study = nats::Said::of(desk.command(&format!("run {words}")));
    let line = study.await_line("kvtrial worker nats://");
    let url = line.split_whitespace().last().unwrap();
    let _workers = [JoinedWorker::join(&elsewhere, url, "one"), JoinedWorker::join(&elsewhere, url, "two")];
    let ran = desk.finished(study.output());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let token = url.split(['@', ':']).nth(2).unwrap();
    assert!(token.len() > 20 && !std::fs::read_to_string(desk.path().join("out/study.json")).unwrap().contains(token));
}

/// A study of some seconds under way on two workers, whose second may be lost.
fn under_way(nats: &Nats, desk: &Desk, workers: &mut [JoinedWorker]) -> Child {
    let words = format!(
        "run {} --workers 2 --nats {} --out out",
        once(YCSB, "redis", &["--set records=1000", "--set seconds=20", "--clients 4"]),
        nats.url()
    );
    let study = desk.command(&words).spawn().unwrap();
    workers.iter_mut().for_each(|worker| _ = worker.await_line("trial 1"));
    // Loading takes no time; then the clock runs.
    std::thread::sleep(Duration::from_millis(1500));
    study
}

#[test]
fn a_killed_worker_voids_the_trial_within_four_seconds_and_says_which_and_how_far_it_was() {
    let (nats, desk, away) = (Nats::start(), Desk::new(), Desk::new());
    let mut workers = [JoinedWorker::join(&away, &nats.url(), "stays"), JoinedWorker::join(&away, &nats.url(), "goes")];
    let study = under_way(&nats, &desk, &mut workers);
    let [stays, goes] = workers;
    let (processes, killed) = (goes.processes(), Instant::now());
    goes.kill();
    let ran = finished(&desk, study);
    let took = killed.elapsed();
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    let reasons = reasons(&ran);
    let (_, example) = reasons.iter().find(|(kind, _)| kind == "worker_lost").unwrap_or_else(|| panic!("{reasons:?}"));
    assert!(example.starts_with("goes at ") && example.contains(" % of its work"), "{example}");
    assert!(took < Duration::from_secs(4) + nats::WRITING, "{took:?}");
    until("its processes are gone", Duration::from_secs(2), || processes.iter().all(|pid| !nats::lives(*pid)));
    assert_eq!(stays.end(), 0);
    assert!(desk.left_behind().is_empty() && away.left_behind().is_empty());
}

#[test]
fn a_worker_that_is_ended_in_order_is_missed_at_once() {
    let (nats, desk, away) = (Nats::start(), Desk::new(), Desk::new());
    let mut workers = [JoinedWorker::join(&away, &nats.url(), "stays"), JoinedWorker::join(&away, &nats.url(), "goes")];
    let study = under_way(&nats, &desk, &mut workers);
    let [_stays, goes] = workers;
    let ended = Instant::now();
    assert_eq!(goes.end(), 0);
    let ran = finished(&desk, study);
    assert!(ended.elapsed() < Duration::from_secs(2) + nats::WRITING, "{:?}", ended.elapsed());
    assert!(
        reasons(&ran).iter().any(|(kind, example)| kind == "worker_lost" && example.contains("it was ended there"))
    );
}

#[test]
fn a_study_whose_nats_is_killed_is_void_and_its_workers_stop() {
    let (nats, desk, away) = (Nats::start(), Desk::new(), Desk::new());
    let mut workers = [JoinedWorker::join(&away, &nats.url(), "one"), JoinedWorker::join(&away, &nats.url(), "two")];
    let study = under_way(&nats, &desk, &mut workers);
    let (address, killed) = (nats.url(), Instant::now());
    drop(nats);
    let ran = finished(&desk, study);
    assert!(killed.elapsed() < Duration::from_secs(4) + nats::WRITING, "{:?}", killed.elapsed());
    assert_eq!(ran.status, 1);
    let said = reasons(&ran);
    assert!(
        said.iter().any(|(kind, example)| kind == "worker_lost" && example.contains("no longer answers")),
        "{said:?}"
    );
    for worker in &mut workers {
        worker.await_line("gave no sign of life");
        until("no process is at a trial", Duration::from_secs(5), || worker.processes().len() == 1);
    }
    // It comes back, and so do they.
    let _nats = Nats::start_at(&address);
    let again = Desk::new().run(&with(&SMALL, &format!("--workers 2 --nats {address}")));
    assert_eq!(again.status, 0, "{}", again.stderr);
}

#[test]
fn workers_whose_study_is_killed_stop_within_five_seconds_and_wait_for_the_next() {
    let (nats, desk, away) = (Nats::start(), Desk::new(), Desk::new());
    let mut workers = [JoinedWorker::join(&away, &nats.url(), "one"), JoinedWorker::join(&away, &nats.url(), "two")];
    let mut study = under_way(&nats, &desk, &mut workers);
    let killed = Instant::now();
    study.kill().unwrap();
    study.wait().unwrap();
    for worker in &mut workers {
        worker.await_line("gave no sign of life");
        until("no process is at a trial", Duration::from_secs(5), || worker.processes().len() == 1);
    }
    assert!(killed.elapsed() < Duration::from_secs(5), "{:?}", killed.elapsed());
    let next = Desk::new().run(&with(&SMALL, &format!("--workers 2 --nats {}", nats.url())));
    assert_eq!(next.status, 0, "{}", next.stderr);
}

#[test]
fn two_studies_at_once_have_workers_of_their_own() {
    let (nats, away) = (Nats::start(), Desk::new());
    let names = ["a", "b", "c", "d"];
    let _workers = names.map(|name| JoinedWorker::join(&away, &nats.url(), name));
    let desks = [Desk::new(), Desk::new()];
    let studies = desks.each_ref().map(|desk| {
        let words = with(&SMALL, &format!("--workers 2 --nats {} --out out --set operations=40000", nats.url()));
        desk.command(&format!("run {words}")).spawn().unwrap()
    });
    let mut used = Vec::new();
    for (desk, study) in desks.iter().zip(studies) {
        let ran = finished(desk, study);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        let each = trial(&ran)["workers"].as_array().unwrap().clone();
        used.extend(each.iter().map(|it| it["name"].as_str().unwrap().to_owned()));
    }
    used.sort_unstable();
    assert_eq!(used.len(), 4);
}

#[test]
fn a_worker_of_another_version_is_refused_with_both_versions() {
    let (nats, desk) = (Nats::start(), Desk::new());
    let words = with(&SMALL, &format!("--workers 2 --join-within 3s --nats {}", nats.url()));
    let mut speaker = Speaker::connect(&nats);
    speaker.subscribe("kvt.call");
    speaker.subscribe("kvt.*.down.stranger");
    let study = desk.command(&format!("run {words}")).spawn().unwrap();
    let call = speaker.await_message("kvt.call");
    let id = call["study"].as_str().unwrap();
    let hello = format!(
        r#"{{"version":"9.9.9","study":"{id}","trial":0,"plan":"","say":{{"hello":{{"name":"old","cpus":1,"machine":""}}}}}}"#
    );
    speaker.publish(&format!("kvt.{id}.up.stranger"), &format!("{hello}\n"));
    let refusal = speaker.await_message(&format!("kvt.{id}.down.stranger"));
    let here = env!("CARGO_PKG_VERSION");
    assert_eq!(refusal["say"]["refused"], format!("the study is of kvtrial {here}, this is kvtrial 9.9.9"));
    let ran = finished(&desk, study);
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    let both = format!("worker old is refused: it is kvtrial 9.9.9, this is kvtrial {here}");
    assert!(ran.stderr.contains(&both) && ran.stderr.contains("0 of 2 workers joined within 3 s"), "{}", ran.stderr);
}

#[test]
fn a_worker_says_why_a_study_of_another_version_does_not_take_it() {
    let (nats, desk) = (Nats::start(), Desk::new());
    let mut worker = JoinedWorker::join(&desk, &nats.url(), "new");
    let mut speaker = Speaker::connect(&nats);
    speaker.subscribe("kvt.s9.up.*");
    speaker.publish("kvt.call", "{\"version\":\"9.9.9\",\"study\":\"s9\",\"say\":\"call\"}\n");
    let hello = speaker.await_message("kvt.s9.up.");
    assert_eq!(
        (hello["version"].as_str(), hello["say"]["hello"]["name"].as_str()),
        (Some(env!("CARGO_PKG_VERSION")), Some("new"))
    );
    let id = speaker.last_subject().rsplit('.').next().unwrap().to_owned();
    let words = "the study is of kvtrial 9.9.9, this is kvtrial 0.1.0";
    let refusal = format!("{{\"version\":\"9.9.9\",\"study\":\"s9\",\"say\":{{\"refused\":\"{words}\"}}}}\n");
    speaker.publish(&format!("kvt.s9.down.{id}"), &refusal);
    worker.await_line(words);
}

#[test]
fn a_worker_that_counts_twice_is_caught() {
    let (planned, lasting) = (("operations", "60000"), ("seconds", "2"));
    for (words, doctors_ticks, length) in [
        ("told of", false, planned),
        ("planned", true, planned),
        // Where nobody knows how many there will be, the server does.
        ("the server counts", true, lasting),
    ] {
        let reasons = lying::reasons_of_trial(|phase| double(phase, "operations"), doctors_ticks, length);
        let found = reasons.iter().find(|reason| reason.kind == study::ReasonKind::WorkerDisagrees);
        assert!(found.is_some_and(|reason| reason.example.contains(words)), "{words}: {reasons:?}");
    }
    for length in [planned, lasting] {
        assert_eq!(lying::reasons_of_trial(|_| {}, false, length), [], "one that does not lie");
    }
}

#[test]
fn clients_of_different_workers_that_race_for_a_key_are_no_disagreement() {
    let words = once("fans", "redis", &["--data gen:60:7 --set policy=cas --clients 6 --workers local:3"]);
    for _ in 0..3 {
        let ran = Desk::new().run(&words);
        assert_eq!(ran.status, 0, "{}", ran.said());
    }
}

fn double(counts: &mut Value, figure: &str) {
    counts[figure] = (counts[figure].as_u64().unwrap() * 2).into();
}

#[test]
fn what_cannot_be_shared_is_refused_with_the_setting_that_can() {
    let nobody = Nats::start();
    let token = Nats::with_token("right");
    for (words, expected) in [
        (with(&["--clients 1"], "--workers local:2"), "use --clients 2 or more"),
        (once(YCSB, "sqlite", &["--clients 2", "--workers local:2"]), "sqlite is a library"),
        (with(&["--clients 2"], "--workers 0"), "from 2 to 10000"),
        (with(&["--clients 2"], "--workers local:2 --nats nats://h"), "needs no NATS"),
        (with(&["--clients 2"], "--workers 2 --nats redis://h"), "is no address of NATS"),
        (
            with(&["--clients 2"], &format!("--workers 2 --join-within 500ms --nats {}", nobody.url())),
            "0 of 2 workers joined within 0.5 s; on each machine run: kvtrial worker nats://127.0.0.1",
        ),
        (
            with(&["--clients 2"], &format!("--workers 2 --nats nats://:wrong@{}", token.place())),
            "does not let kvtrial in",
        ),
    ] {
        let desk = Desk::new();
        let ran = desk.run(&words);
        assert_eq!(ran.status, 2, "{words}: {}", ran.stderr);
        assert!(ran.stderr.contains(expected) && !ran.stderr.contains("wrong@"), "{words}: {}", ran.stderr);
        assert!(!desk.path().join("out").exists() && desk.left_behind().is_empty());
    }
    let wrong = Desk::new().kvtrial(&format!("worker nats://:wrong@{}", token.place()));
    assert!(wrong.status == 2 && wrong.stderr.contains("does not let kvtrial in"), "{}", wrong.stderr);
}

/// The files of `deploy/` say what the command line takes.
#[test]
fn the_service_and_the_manifest_start_a_worker() {
    let deploy = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy");
    let unit = std::fs::read_to_string(deploy.join("kvtrial-worker.service")).unwrap();
    let starts: Vec<&str> = unit.lines().filter_map(|line| line.strip_prefix("ExecStart=")).collect();
    assert_eq!(starts, ["/usr/bin/kvtrial worker ${NATS}"]);
    let manifest = std::fs::read(deploy.join("kubernetes.json")).unwrap();
    let manifest: Value = serde_json::from_slice(&manifest).unwrap();
    let pod = &manifest["spec"]["template"];
    assert_eq!(manifest["spec"]["selector"]["matchLabels"], pod["metadata"]["labels"]);
    let container = &pod["spec"]["containers"][0];
    assert_eq!(
        (container["args"][0].as_str(), container["args"][1].as_str()),
        (Some("worker"), Some("nats://:***@nats:4222"))
    );
    // The password is where the address says that it is not: it is taken, and the address with it.
    let desk = Desk::new();
    let nats = Nats::with_token("hush");
    let mut command = desk.command(&format!("worker nats://:***@{}", nats.place()));
    command.env(container["env"][0]["name"].as_str().unwrap(), "hush");
    let mut waiting = nats::Said::of(command);
    waiting.await_line("waits for a study");
    waiting.kill();
    // Where systemd is here, it judges its unit itself; the program it names need not be installed.
    let desk_unit =
        desk.file("kvtrial-worker.service", unit.replace("/usr/bin/kvtrial", env!("CARGO_BIN_EXE_kvtrial")));
    match std::process::Command::new("systemd-analyze").arg("verify").arg(&desk_unit).output() {
        Ok(judged) => assert!(judged.status.success(), "{}", String::from_utf8_lossy(&judged.stderr)),
        Err(_) => eprintln!("not judged by systemd, which is not here"),
    }
}
