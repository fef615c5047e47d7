//! `kvtrial crash` in other ways than killing everything: some nodes, nodes frozen, a second crash, a moment of the store's own, a store of
//! the user's, files that are kept; and kvtrial killed itself.
#![allow(clippy::unwrap_used)]

use crate::common;

use common::{Desk, Ran};
use serde_json::Value;
use std::process::Command;
use testkit::waiting::until;

fn crashed(desk: &Desk, words: &str) -> Ran {
    let ran = desk.kvtrial(&format!("crash {words} --out out"));
    assert!(desk.left_behind().is_empty(), "{:?}\n{}", desk.left_behind(), ran.said());
    ran
}

fn only_case(ran: &Ran) -> Value {
    let study = ran.study.as_ref().unwrap_or_else(|| panic!("no study\n{}", ran.said()));
    let [case] = study["crash"]["cases"].as_array().unwrap().as_slice() else { panic!("{}", ran.said()) };
    case.clone()
}

fn cuts(case: &Value) -> Vec<Value> {
    case["cuts"].as_array().unwrap().clone()
}

fn seconds(of: &Value) -> f64 {
    of.as_f64().unwrap_or_else(|| panic!("no time: {of}"))
}

/// Kept, with something acknowledged and nothing lost.
fn is_kept(ran: &Ran) -> Value {
    let case = only_case(ran);
    assert!(ran.status == 0 && case["promise"] == "kept", "{}", ran.said());
    for cut in cuts(&case) {
        assert!(cut["found"]["acknowledged"].as_u64().unwrap() > 0 && cut["found"]["lost"] == 0, "{cut}");
    }
    case
}

#[test]
fn a_cluster_that_loses_one_node_of_three_goes_on_and_keeps_what_it_acknowledged() {
    let desk = Desk::new();
    let ran =
        crashed(&desk, "etcd,nodes=3,durability=commit --nodes 1 --outage 2s --cuts 1 --clients 3 --within 100ms");
    let case = is_kept(&ran);
    let [cut] = cuts(&case).try_into().unwrap();
    assert_eq!(cut["nodes"].as_array().unwrap().len(), 1, "{cut}");
    assert!(seconds(&cut["dark_s"]) < seconds(&cut["outage_s"]), "it answered again: {cut}");
    assert!(ran.stdout.contains("one node killed while clients continued"), "{}", ran.said());
}

#[test]
fn a_cluster_that_loses_its_majority_answers_nobody_and_keeps_what_it_acknowledged() {
    let desk = Desk::new();
    let case = is_kept(&crashed(
        &desk,
        "etcd,nodes=3,durability=commit --nodes majority --outage 1s --cuts 1 --clients 3 --within 100ms",
    ));
    let [cut] = cuts(&case).try_into().unwrap();
    assert_eq!(cut["nodes"].as_array().unwrap().len(), 2, "{cut}");
    // The second that was asked for: `outage_s` begins with the first of the two that are killed, when a majority still answers.
    assert!(seconds(&cut["dark_s"]) > 0.9, "{cut}");
}

#[test]
fn masters_without_replicas_lose_nothing_when_one_is_killed_and_started_again() {
    let desk = Desk::new();
    let spec = "redis-cluster,durability=os";
    let case =
        is_kept(&crashed(&desk, &format!("{spec} --nodes 1 --outage 500ms --cuts 1 --clients 4 --within 100ms")));
    assert_eq!(cuts(&case)[0]["nodes"].as_array().unwrap().len(), 1);
}

#[test]
fn a_frozen_server_answers_nobody_and_goes_on_with_everything_it_had() {
    let desk = Desk::new();
    let ran =
        crashed(&desk, "redis-unix,durability=none --how freeze --outage 400ms --cuts 2 --clients 2 --within 50ms");
    for cut in cuts(&is_kept(&ran)) {
        assert!(seconds(&cut["dark_s"]) > 0.3, "{cut}");
    }
}

#[test]
fn a_second_crash_while_it_starts_loses_nothing_either() {
    for spec in ["sqlite,durability=commit", "redis-unix,durability=os", "rocksdb,durability=os"] {
        let desk = Desk::new();
        let ran = crashed(&desk, &format!("{spec} --during recovery --cuts 2 --clients 2 --within 50ms"));
        for cut in cuts(&is_kept(&ran)) {
            assert!(seconds(&cut["again_s"]) >= 0.0, "{cut}");
        }
        assert!(ran.stdout.contains("it was killed again"), "{}", ran.said());
    }
}

#[test]
fn a_crash_comes_just_after_a_file_was_renamed_or_deleted_and_measures_nothing_where_none_was() {
    let desk = Desk::new();
    let ran = crashed(&desk, "rocksdb,durability=os --during rename --cuts 2 --clients 4 --within 50ms");
    let case = is_kept(&ran);
    assert!(cuts(&case).iter().all(|cut| cut["not_measured"].is_null()), "{case}");
    let said = "everything killed just after a file of the store was renamed or deleted";
    let words = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(said), "{words}");
    let desk = Desk::new();
    let case = only_case(&crashed(&desk, "lmdb,durability=os --during rename --cuts 1 --clients 2 --within 50ms"));
    let why = cuts(&case)[0]["not_measured"].as_str().unwrap_or_default().to_owned();
    assert_eq!(why, "no file of the store was renamed or deleted within 5 s", "{case}");
    assert_ne!(case["promise"], "kept");
}

#[test]
fn a_crash_comes_just_after_a_line_of_the_store_s_own_log_and_measures_nothing_where_none_came() {
    let during = |desk: &Desk, words: &str, line: &str| {
        let mut command = desk.command(&format!("crash {words} --clients 2 --within 50ms --out out"));
        desk.finished(command.args(["--during", &format!("log {line}")]).output().unwrap())
    };
    let desk = Desk::new();
    let ran = during(&desk, "redis-unix,durability=os --cuts 2", "Background AOF rewrite finished");
    let case = is_kept(&ran);
    assert!(cuts(&case).iter().all(|cut| cut["not_measured"].is_null()), "{case}");
    let words = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = "everything killed just after 'Background AOF rewrite finished' came into the log of the store";
    assert!(words.contains(said), "{words}");
    let desk = Desk::new();
    let case = only_case(&during(&desk, "redis-unix,durability=os --cuts 1", "never said"));
    let why = cuts(&case)[0]["not_measured"].as_str().unwrap_or_default().to_owned();
    assert_eq!(why, "no line with 'never said' came into the log of the store within 5 s", "{case}");
    assert_ne!(case["promise"], "kept");
    for (words, line, reason) in [
        ("sqlite", "checkpoint", "it is a library, which has no log"),
        ("redis-unix", "", "which line? Write --during 'log TEXT'"),
    ] {
        let ran = during(&desk, words, line);
        assert!(ran.status == 2 && ran.said().contains(reason), "{words}: {}", ran.said());
    }
}

#[test]
fn a_crash_comes_in_the_middle_of_a_checkpoint_or_compaction_the_store_was_told_to_make() {
    for words in [
        "sqlite,durability=commit --during checkpoint",
        "redis-unix,durability=os --during checkpoint",
        "rocksdb,durability=os --during compaction",
    ] {
        let desk = Desk::new();
        let case = is_kept(&crashed(&desk, &format!("{words} --cuts 4 --clients 2 --within 50ms")));
        let at_it = cuts(&case).iter().filter(|cut| cut["at_it"] == true).count();
        assert!(at_it > 0, "{words}: {case}");
    }
}

#[test]
fn ways_that_a_store_does_not_have_are_refused_with_the_reason() {
    let desk = Desk::new();
    for (words, reason) in [
        ("redis-unix --during compaction", "it has no command for it"),
        ("lmdb --during checkpoint", "it has no command for it"),
        ("sqlite --how freeze", "--how freeze is for servers"),
        ("etcd,nodes=3 --nodes 1 --during recovery", "--during recovery kills all nodes"),
        ("redis-unix --kill-command true --start-command true --yes", "name it by its URL"),
        ("redis://localhost:1 --kill-command true --start-command true", "--yes"),
        ("redis://localhost:1 --kill-command true --yes", "--start-command"),
    ] {
        let ran = desk.kvtrial(&format!("crash {words} --out out"));
        assert!(ran.status == 2 && ran.said().contains(reason), "{words}: {}", ran.said());
    }
}

/// A Redis of the user's, with the commands that kill and start it.
struct Own<'a> {
    desk: &'a Desk,
    port: u16,
}

impl Own<'_> {
    fn start<'a>(desk: &'a Desk, more: &str) -> Own<'a> {
        let port = testkit::free_port();
        let directory = desk.path().display();
        let settings = format!(
            "port {port}\nbind 127.0.0.1\ndir {directory}\ndaemonize yes\npidfile {directory}/pid\nlogfile {directory}/log\nsave \"\"\n\
            appendonly yes\nappendfsync always\n{more}\n"
        );
        let settings = desk.file("redis.conf", settings);
        desk.file("start", format!("exec redis-server {}\n", settings.display()));
        // Until its port is free, another could not listen there.
        let until_gone = format!("while redis-cli -p {port} ping >/dev/null 2>&1; do sleep 0.01; done");
        desk.file("kill", format!("kill -9 $(cat {directory}/pid)\n{until_gone}\n"));
        let own = Own { desk, port };
        assert!(Command::new("sh").arg(own.script("start")).status().unwrap().success());
        until("it answers", || own.cli(&["PING"]) == "PONG");
        own
    }

    fn script(&self, name: &str) -> String {
        self.desk.path().join(name).display().to_string()
    }

    fn cli(&self, words: &[&str]) -> String {
        let said = Command::new("redis-cli").args(["-p", &self.port.to_string()]).args(words).output().unwrap();
        let errors = String::from_utf8_lossy(&said.stderr).into_owned();
        (String::from_utf8(said.stdout).unwrap() + &errors).trim().to_owned()
    }

    fn crashed(&self, words: &str) -> Ran {
        let mut command = self.desk.command(&format!("crash redis://127.0.0.1:{} {words} --yes --out out", self.port));
        command.arg("--kill-command").arg(format!("sh {}", self.script("kill")));
        command.arg("--start-command").arg(format!("sh {}", self.script("start")));
        self.desk.finished(command.output().unwrap())
    }
}

impl Drop for Own<'_> {
    fn drop(&mut self) {
        self.cli(&["SHUTDOWN", "NOSAVE"]);
    }
}

#[test]
fn all_stores_that_cannot_be_crashed_so_are_named_at_once_and_nothing_is_started() {
    let desk = Desk::new();
    for (words, named) in [
        (
            "sqlite lmdb redis-unix --during compaction",
            ["lmdb: --during compaction", "redis-unix: --during compaction"],
        ),
        ("redis-unix sqlite lmdb --how freeze", ["sqlite: its clients", "lmdb: its clients"]),
        ("etcd,nodes=3 sqlite redis-unix --nodes 1", ["sqlite: --nodes", "redis-unix: --nodes"]),
        ("sqlite rediss lmdb,durability=second", ["Did you mean redis, ", "lmdb: durability=second"]),
    ] {
        let ran = desk.kvtrial(&format!("crash {words} --out out"));
        let is_named = named.iter().all(|words| ran.stderr.contains(words));
        assert!(ran.status == 2 && is_named && !ran.stderr.contains("acknowledged"), "{words}: {}", ran.said());
        assert!(ran.study.is_none() && desk.left_behind().is_empty(), "{words}");
    }
}

#[test]
fn each_crash_is_a_line_where_nobody_looks() {
    let desk = Desk::new();
    let ran = crashed(&desk, "sqlite --cuts 2 --clients 2 --within 20ms");
    let lines: Vec<&str> = ran.stderr.lines().collect();
    assert_eq!((ran.status, lines.len()), (0, 4), "{}", ran.said());
    assert!(
        lines[0].starts_with("kvtrial: crash 1 of 4, 0:") && lines[0].contains(": sqlite,durability=os "),
        "{lines:?}"
    );
    assert!(lines[3].starts_with("kvtrial: crash 4 of 4, 0:") && lines[3].ends_with(" 0 lost, kept"), "{lines:?}");
}

#[test]
fn a_store_of_ones_own_is_killed_and_started_by_ones_own_commands_and_gets_its_keys_taken_away() {
    let desk = Desk::new();
    let own = Own::start(&desk, "");
    let case = is_kept(&own.crashed("--cuts 2 --clients 2 --within 50ms"));
    assert_eq!((case["level"].as_str().unwrap(), cuts(&case).len()), ("commit", 2));
    assert_eq!(own.cli(&["DBSIZE"]), "0", "its keys are gone, and it runs");
}

#[test]
fn keys_that_a_killed_kvtrial_left_in_a_store_of_ones_own_are_called_its_own_with_the_line_that_deletes_them() {
    let desk = Desk::new();
    let own = Own::start(&desk, "");
    let words = format!("crash redis://127.0.0.1:{} --yes --cuts 9 --clients 2 --within 60s --out killed", own.port);
    let mut command = desk.command(&words);
    command.args(["--kill-command", "false", "--start-command", "false"]);
    let mut kvtrial = command.spawn().unwrap();
    let keys = || own.cli(&["DBSIZE"]).parse::<u64>().unwrap();
    // The crash comes 3 s after the first acknowledgement at the earliest.
    until("it has written", || keys() > 50);
    kvtrial.kill().unwrap();
    kvtrial.wait().unwrap();
    until("its worker is gone", || {
        let clients = own.cli(&["CLIENT", "LIST"]);
        clients.lines().count() == 1
    });
    let left = keys();
    let ran = own.crashed("--cuts 1 --clients 2 --within 50ms");
    let said =
        "which a 'kvtrial crash' that was cut short has left there; delete all keys that begin with kvtrial-crash:";
    let problem = only_case(&ran)["problem"].as_str().unwrap().to_owned();
    assert!(ran.status == 1 && problem.contains(said), "{}", ran.said());
    let line = problem.lines().last().unwrap();
    assert!(ran.stdout.lines().any(|printed| printed.trim() == line), "on one line, to be copied: {}", ran.said());
    assert_eq!(keys(), left, "nothing was deleted or written by itself");
    assert!(Command::new("sh").args(["-c", line]).output().unwrap().status.success(), "{line}");
    assert_eq!(keys(), 0, "{line}");
    std::fs::remove_dir_all(desk.path().join("out")).unwrap();
    is_kept(&own.crashed("--cuts 1 --clients 2 --within 50ms"));
}

/// Seconds of the day in a line such as `7:M 25 Nov 2026 16:02:22.123 * Ready to accept connections`.
fn second_of_the_day(line: &str) -> f64 {
    let clock = line.split_whitespace().nth(4).unwrap_or_else(|| panic!("{line}"));
    clock.split(':').fold(0.0, |sum, part| sum * 60.0 + part.parse::<f64>().unwrap())
}

#[test]
fn the_time_to_recover_is_what_the_log_of_the_server_says() {
    let desk = Desk::new();
    // The log is never rewritten, so that all of it is read again.
    let own = Own::start(&desk, "auto-aof-rewrite-percentage 0");
    // What is to be read again takes a second.
    let fill = "for i = 1, 500000 do redis.call('SET', 'filler:' .. i, string.rep('x', 100)) end return 'OK'";
    let filled = own.cli(&["EVAL", fill, "0"]);
    assert_eq!(filled, "OK", "{}", std::fs::read_to_string(desk.path().join("log")).unwrap_or_default());
    let case = is_kept(&own.crashed("--cuts 3 --clients 2 --within 50ms"));
    let log = std::fs::read_to_string(desk.path().join("log")).unwrap();
    let all = |words| log.lines().filter(move |line| line.contains(words)).map(second_of_the_day);
    // Its first start was none of ours.
    let starts = all("Redis is starting").zip(all("Ready to accept connections")).skip(1);
    let said = starts.map(|(begun, ready)| (ready - begun).rem_euclid(86_400.0));
    let found = cuts(&case).into_iter().map(|cut| seconds(&cut["recovery_s"]));
    let both: Vec<(f64, f64)> = found.zip(said).collect();
    // Whatever else the machine does comes on top: never less than the log says, and in the best of three little more.
    assert!(both.len() == 3 && both.iter().all(|(found_s, said_s)| found_s - said_s > -0.02), "{both:?}");
    assert!(both.iter().any(|(found_s, said_s)| found_s - said_s < 0.5 * said_s + 0.1), "{both:?}");
}

#[test]
fn files_of_a_broken_promise_are_kept_and_all_others_are_not() {
    let desk = Desk::new();
    let ran = desk
        .kvtrial("crash crash-proof,fault=in-memory crash-proof --keep --cuts 1 --clients 2 --within 20ms --out out");
    let study = ran.study.as_ref().unwrap();
    let kept = &study["crash"]["cases"][0]["cuts"][0]["kept"];
    let (directory, open) = (kept["directory"].as_str().unwrap(), kept["open"].as_str().unwrap());
    assert!(ran.status == 1 && ran.stdout.contains(directory) && ran.stdout.contains(open), "{}", ran.said());
    assert!(open.starts_with("crash-proof:/") && std::path::Path::new(directory).join("log").exists(), "{kept}");
    let left = desk.left_behind();
    assert!(left.len() == 1 && directory.starts_with(left[0].to_str().unwrap()), "{left:?}");
    // Nor does another kvtrial take it for one that was left behind.
    assert_eq!(desk.kvtrial("crash crash-proof --cuts 1 --clients 2 --within 20ms --out other").status, 0);
    assert_eq!(desk.left_behind(), left);
}

#[test]
fn kvtrial_that_is_killed_leaves_nothing_running_and_its_study_goes_on() {
    let desk = Desk::new();
    let words = "crash redis-unix,durability=os --clients 2 --within 20ms --out out";
    let mut kvtrial = desk.command(&format!("{words} --cuts 10000")).spawn().unwrap();
    let cuts_saved = || {
        let study = std::fs::read(desk.path().join("out/study.json")).ok()?;
        let study: Value = serde_json::from_slice(&study).ok()?;
        Some(study["crash"]["cases"][0]["cuts"].as_array()?.len())
    };
    until("two cuts are saved", || cuts_saved() >= Some(2));
    kvtrial.kill().unwrap();
    kvtrial.wait().unwrap();
    until("its directories are gone", || desk.left_behind().is_empty());
    let base = desk.path().join("base").display().to_string();
    let runs_there = || {
        let all = std::fs::read_dir("/proc").unwrap().flatten();
        all.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
            .any(|words| String::from_utf8_lossy(&words).contains(&base))
    };
    until("its servers are gone", || !runs_there());
    let done = cuts_saved().unwrap();
    let ran = crashed(
        &desk,
        &format!("{} --cuts {} --resume", words.trim_start_matches("crash ").trim_end_matches(" --out out"), done + 1),
    );
    let case = is_kept(&ran);
    assert_eq!(cuts(&case).len(), done + 1, "{}", ran.said());
}
