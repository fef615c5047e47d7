//! What a run leaves in servers of the user's: it is said, `kvtrial clear` deletes exactly that, and nothing else is touched.
#![allow(clippy::unwrap_used, missing_docs)]

use crate::common;

use common::{Desk, Ran};
use serde_json::{Value, json};
use std::time::Duration;
use store::{BlockingClient, Operation, OwnedReply};
use study::{Address, Spec};
use testkit::waiting::until;

/// A real server with a password, as one of the user's.
struct Users {
    open: host::OpenStore,
    _directory: tempfile::TempDir,
}

impl Users {
    fn start(spec: &str) -> Users {
        let directory = tempfile::tempdir().unwrap();
        let spec: Spec = spec.parse().unwrap();
        let open = host::open(catalog::find(&spec.name).unwrap(), &spec, directory.path()).unwrap();
        Users { open, _directory: directory }
    }

    /// `LOGIN@PLACE` of the server, with its password.
    fn reached(&self) -> (String, String) {
        let endpoint = self.open.endpoint().unwrap();
        let user = endpoint.user.clone().unwrap_or_default();
        let password = endpoint.password.as_ref().unwrap().reveal().to_owned();
        let place = match &endpoint.address {
            Address::Tcp { host, port } => format!("{host}:{}", port.unwrap()),
            Address::Unix(path) => path.display().to_string(),
        };
        (format!("{user}:{password}"), place)
    }

    fn redis() -> (Users, String) {
        let users = Users::start("redis");
        let (login, place) = users.reached();
        (users, format!("redis://{login}@{place}"))
    }

    fn client(&self) -> BlockingClient {
        BlockingClient::open(self.open.store(), 1, Duration::from_secs(10)).unwrap()
    }

    fn put(&self, key: &[u8]) {
        assert_eq!(self.client().execute(&Operation::Put { key, value: b"mine" }).unwrap(), OwnedReply::Done);
    }

    /// Keys of a Redis.
    fn keys(&self) -> u64 {
        self.open.store().holding().unwrap().keys.unwrap()
    }
}

/// What the study in `out` says is left.
fn left(ran: &Ran) -> Value {
    ran.study.as_ref().unwrap_or_else(|| panic!("no study\n{}", ran.said())).get("left").cloned().unwrap_or(json!([]))
}

const LOAD: &str = "--set records=2000 --set operations=500 --no-baselines --repeats 1 --warmups 0";

#[test]
fn the_end_of_a_run_says_what_it_left_and_clear_deletes_that_and_no_other_key() {
    let (users, url) = Users::redis();
    users.put(b"mine");
    users.put(b"user99999999");
    let desk = Desk::new();
    let ran = desk.run(&format!("ycsb -s {url} {LOAD}"));
    assert_eq!(ran.status, 0, "{}", ran.said());
    let shown = study::redact(&url);
    assert_eq!(left(&ran), json!([{ "store": shown, "keys": 2000, "count": "exact" }]), "{}", ran.said());
    let sentence = format!("{shown} keeps 2,000 keys of this run.");
    assert!(
        ran.stderr.trim_end().ends_with(&format!("{sentence} To delete them: kvtrial clear out")),
        "{}",
        ran.said()
    );
    let page = std::fs::read_to_string(desk.path().join("out/report.html")).unwrap();
    assert!(page.contains(&sentence));
    assert!(desk.kvtrial("report out --format markdown").stdout.contains("keeps 2,000 keys of this run"));
    assert_eq!(users.keys(), 2002);

    let without = desk.kvtrial("clear out");
    assert_eq!(without.status, 2);
    assert!(without.stderr.contains("KVTRIAL_PASSWORD") && users.keys() == 2002, "{}", without.said());
    let stranger = desk.kvtrial("clear out -s redis://127.0.0.1:1");
    assert!(
        stranger.status == 2 && stranger.stderr.contains("left nothing in redis://127.0.0.1:1"),
        "{}",
        stranger.said()
    );

    let cleared = desk.kvtrial(&format!("clear out -s {url}"));
    assert_eq!(cleared.status, 0, "{}", cleared.said());
    assert_eq!(cleared.stdout, format!("{shown}: 2,000 keys of this run deleted\n"));
    assert_eq!(users.keys(), 2);
    assert_eq!(left(&cleared), json!([]));
    assert!(!std::fs::read_to_string(desk.path().join("out/report.html")).unwrap().contains("of this run"));
    let again = desk.kvtrial("clear out");
    assert!(again.status == 0 && again.stdout.contains("left nothing"), "{}", again.said());
}

#[test]
fn the_line_that_clears_works_as_it_is_printed_with_the_password_from_the_environment_or_a_file() {
    let (users, url) = Users::redis();
    let (login, _) = users.reached();
    let password = login.trim_start_matches(':').to_owned();
    for given in ["variable", "file", "file of urls"] {
        let desk = Desk::new();
        let file = desk.path().join("passwords");
        let mut environment = ("KVTRIAL_PASSWORD_FILE", file.display().to_string());
        match given {
            "variable" => environment = ("KVTRIAL_PASSWORD", password.clone()),
            "file" => std::fs::write(&file, format!("{password}\n")).unwrap(),
            _ => std::fs::write(&file, format!("redis://:no@127.0.0.1:1\n{url}\n")).unwrap(),
        }
        let with = |words: &str| {
            let mut command = desk.command(words);
            desk.finished(command.env(environment.0, &environment.1).output().unwrap())
        };
        // The URL as reports show it, pasted.
        let ran = with(&format!("run ycsb -s {} {LOAD} --out out", study::redact(&url)));
        assert_eq!(ran.status, 0, "{}", ran.said());
        assert_eq!(users.keys(), 2000);
        let line = ran.stderr.lines().find_map(|line| line.split_once("To delete them: kvtrial ")).unwrap().1;
        let cleared = with(line);
        assert_eq!(cleared.status, 0, "{}", cleared.said());
        assert_eq!(users.keys(), 0);
        assert!(!cleared.said().contains(&password) && !ran.said().contains(&password));
    }
}

#[test]
fn keys_an_earlier_run_has_left_are_named_as_that_with_the_line_that_deletes_them() {
    let (users, url) = Users::redis();
    let desk = Desk::new();
    assert_eq!(desk.run(&format!("ycsb -s {url} {LOAD}")).status, 0);
    let refused = desk.kvtrial(&format!("run ycsb -s {url} {LOAD} --out other"));
    assert_eq!(refused.status, 2, "{}", refused.said());
    let said = "They are what the run in out left there. To delete them: kvtrial clear out";
    assert!(refused.stderr.contains(said), "{}", refused.said());
    // Keys that no study speaks of may be the user's.
    std::fs::remove_dir_all(desk.path().join("out")).unwrap();
    let refused = desk.kvtrial(&format!("run ycsb -s {url} {LOAD} --out other"));
    assert!(!refused.stderr.contains("kvtrial clear"), "{}", refused.said());
    assert_eq!(users.keys(), 2000);
}

#[test]
fn in_sql_servers_the_tables_go_too() {
    for (spec, database, made) in [
        ("postgres-unix,durability=none", "?template1", "table kvtrial.kv"),
        ("mysql-unix,durability=none", "?kvtrial_another", "table kvtrial_another.kvtrial_kv"),
    ] {
        let users = Users::start(spec);
        let (login, place) = users.reached();
        let scheme = spec.split(',').next().unwrap();
        let url = format!("{scheme}://{login}@{place}{database}");
        let desk = Desk::new();
        let ran = desk.run(&format!("ycsb -s {url} {LOAD}"));
        assert_eq!(ran.status, 0, "{}", ran.said());
        let all = left(&ran);
        assert_eq!((&all[0]["keys"], &all[0]["count"]), (&json!(2000), &json!("exact")), "{all}");
        assert!(all[0]["made"].as_array().unwrap().contains(&json!(made)), "{all}");
        assert!(ran.stderr.contains(made), "{}", ran.said());
        let cleared = desk.kvtrial(&format!("clear out -s {url}"));
        assert!(cleared.status == 0 && cleared.stdout.contains("2,000 keys of this run deleted"), "{}", cleared.said());
        assert_eq!(tables(scheme, &login, &place, database), 0, "{spec}");
        // The same in one go.
        std::fs::remove_dir_all(desk.path().join("out")).unwrap();
        let ran = desk.run(&format!("ycsb -s {url} {LOAD} --clear"));
        assert_eq!(ran.status, 0, "{}", ran.said());
        assert_eq!(left(&ran), json!([]));
        assert!(
            ran.stderr.contains("2,000 keys of this run deleted") && !ran.stderr.contains("keeps"),
            "{}",
            ran.said()
        );
        assert_eq!(tables(scheme, &login, &place, database), 0, "{spec}");
    }
}

/// Tables of kvtrial's in a database, as the server's own client counts them.
fn tables(scheme: &str, login: &str, place: &str, database: &str) -> u32 {
    let (user, password) = login.split_once(':').unwrap();
    let database = database.trim_start_matches('?');
    let count = "SELECT count(*) FROM information_schema.tables WHERE table_schema IN ('kvtrial', 'kvtrial_another')";
    let mut client = if scheme.starts_with("postgres") {
        let mut client = std::process::Command::new("psql");
        let directory = std::path::Path::new(place).parent().unwrap();
        client.env("PGPASSWORD", password).args(["-U", user, "-d", database, "-Atc", count, "-h"]).arg(directory);
        client
    } else {
        let mut client = std::process::Command::new("mariadb");
        let database_only = format!("{count} AND table_schema = 'kvtrial_another'");
        client.env("MYSQL_PWD", password);
        client.args(["--no-defaults", &format!("-u{user}"), "-N", "-B", "-S", place, "-e", &database_only]);
        client
    };
    let output = client.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    said.parse().unwrap_or_else(|_| panic!("{said} {}", String::from_utf8_lossy(&output.stderr)))
}

/// Starts a run and sends it a signal as soon as the server has keys of it.
fn cut_short(desk: &Desk, users: &Users, words: &str, signal: i32) -> Ran {
    let child = desk.command(&format!("run {words} --out out")).spawn().unwrap();
    until("keys come", || users.keys() >= 100);
    // SAFETY: plain system call; the process is our child and has not been waited for.
    assert_eq!(unsafe { libc::kill(child.id().cast_signed(), signal) }, 0);
    desk.finished(child.wait_with_output().unwrap())
}

#[test]
fn a_run_that_was_cut_short_in_its_first_trial_says_what_it_may_have_left_and_is_cleared_or_gone_on_with() {
    for signal in [libc::SIGINT, libc::SIGKILL] {
        let (users, url) = Users::redis();
        let desk = Desk::new();
        let words =
            format!("ycsb -s {url} --set records=100000 --set operations=100 --no-baselines --repeats 1 --warmups 0");
        let ran = cut_short(&desk, &users, &words, signal);
        if signal == libc::SIGINT {
            assert_eq!(ran.status, 130, "{}", ran.said());
            assert!(ran.stderr.contains("keeps up to 100,000 keys of this run"), "{}", ran.said());
            assert_eq!(ran.only()["verdict"]["status"], "not_run");
            assert_eq!(left(&ran)[0]["count"], "at_most");
        }
        let cleared = desk.kvtrial(&format!("clear out -s {url}"));
        assert!(cleared.status == 0 && cleared.stdout.contains("keys of this run deleted"), "{}", cleared.said());
        assert_eq!(users.keys(), 0, "{}", cleared.said());
        if signal == libc::SIGKILL {
            continue;
        }
        // Cut short once more, and gone on with: its own keys are no foreign data.
        std::fs::remove_dir_all(desk.path().join("out")).unwrap();
        cut_short(&desk, &users, &words, signal);
        let resumed = desk.run(&format!("{words} --resume"));
        assert_eq!(resumed.status, 0, "{}", resumed.said());
        assert_eq!(users.keys(), 100_000);
    }
}

#[test]
fn keys_that_made_a_run_refuse_a_store_are_neither_left_nor_deleted() {
    let ((ours, our_url), (theirs, their_url)) = (Users::redis(), Users::redis());
    theirs.put(b"mine");
    let desk = Desk::new();
    let first = desk.run(&format!("ycsb -s {their_url} {LOAD}"));
    assert_eq!(first.status, 0, "{}", first.said());
    assert_eq!(theirs.keys(), 2001);
    // Now the second store holds the job's keys, which are somebody else's as far as the next study knows. It comes first or second.
    let mut was_second = false;
    for seed in 1..=20 {
        std::fs::remove_dir_all(desk.path().join("out")).ok();
        let words = format!("ycsb -s {our_url} -s {their_url} {LOAD} --seed {seed}");
        let ran = desk.run(&words);
        assert_eq!(ran.status, 2, "{}", ran.said());
        assert!(ran.stderr.contains("already holds 2,000 of the job's keys"), "{}", ran.said());
        if !desk.path().join("out").exists() {
            continue; // it came first: nothing was run, and nothing is kept
        }
        was_second = true;
        let all = left(&ran);
        assert_eq!((all.as_array().unwrap().len(), &all[0]["store"]), (1, &json!(study::redact(&our_url))), "{all}");
        // Going on with it does not take them for its own either.
        let resumed = desk.run(&format!("{words} --resume"));
        assert_eq!(resumed.status, 2, "{}", resumed.said());
        assert!(resumed.stderr.contains("already holds 2,000 of the job's keys"), "{}", resumed.said());
        let cleared = desk.kvtrial(&format!("clear out -s {our_url} -s {their_url}"));
        assert!(cleared.status == 2 && cleared.stderr.contains("left nothing in"), "{}", cleared.said());
        assert_eq!(ours.keys(), 2000);
        let cleared = desk.kvtrial(&format!("clear out -s {our_url}"));
        assert_eq!(cleared.status, 0, "{}", cleared.said());
        break;
    }
    assert!(was_second);
    assert_eq!(theirs.keys(), 2001);
    assert_eq!(ours.keys(), 0);
}

#[test]
fn what_was_inserted_for_as_long_as_there_was_time_is_found_and_deleted_to_the_last_key() {
    let (users, url) = Users::redis();
    users.put(b"mine");
    // Far beyond the keys it will come to: nobody's but the user's.
    users.put(b"user000070000000");
    let desk = Desk::new();
    let words = format!(
        "ycsb -s {url} --set read=0 --set insert=1 --set records=500 --set seconds=0.5 --no-baselines --warmups 0 --repeats"
    );
    let ran = desk.run(&format!("{words} 2"));
    assert_eq!(ran.status, 0, "{}", ran.said());
    let keys = left(&ran)[0]["keys"].as_u64().unwrap();
    assert!(keys > 500, "{keys} keys are no more than were planned");
    // The keys of the first trial are gone: those of the second are all there are.
    assert_eq!(users.keys(), keys + 2);
    let refused = desk.kvtrial(&format!("run {words} 1 --out other"));
    assert!(refused.status != 0 && refused.said().contains("already holds"), "{}", refused.said());
    assert_eq!(users.keys(), keys + 2);
    let cleared = desk.kvtrial(&format!("clear out -s {url}"));
    assert_eq!(cleared.status, 0, "{}", cleared.said());
    assert!(
        cleared.stdout.contains(&format!(": {} keys of this run deleted", study::whole(keys))),
        "{}",
        cleared.said()
    );
    assert_eq!(users.keys(), 2);

    // Cut short, what is left is not known to the key, and is deleted all the same; and found by a run that has not left it.
    std::fs::remove_dir_all(desk.path().join("out")).unwrap();
    let long = words.replace("seconds=0.5", "seconds=30");
    let child = desk.command(&format!("run {long} 1 --out out")).spawn().unwrap();
    until("keys come", || users.keys() >= 5000);
    // SAFETY: plain system call; the process is our child and has not been waited for.
    assert_eq!(unsafe { libc::kill(child.id().cast_signed(), libc::SIGINT) }, 0);
    let ran = desk.finished(child.wait_with_output().unwrap());
    assert_eq!(left(&ran)[0]["count"], "unknown", "{}", ran.said());
    assert!(ran.said().contains("keeps an unknown number of keys of this run"), "{}", ran.said());
    for id in 0..500 {
        let key = format!("user0000{id:08x}");
        users.client().execute(&Operation::Delete { key: key.as_bytes() }).unwrap();
    }
    let refused = desk.kvtrial(&format!("run {words} 1 --out other"));
    assert!(
        refused.status != 0 && refused.said().contains("already holds"),
        "planned keys are absent: {}",
        refused.said()
    );
    let cleared = desk.kvtrial(&format!("clear out -s {url}"));
    assert_eq!(cleared.status, 0, "{}", cleared.said());
    assert_eq!(users.keys(), 2, "{}", cleared.said());
}
