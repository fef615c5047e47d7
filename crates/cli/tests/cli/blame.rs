//! The blame where it belongs: what a server says is answered with the remedy that fits, and what failed is called what it is.
#![allow(clippy::unwrap_used)]

use crate::common;

use common::Desk;
use common::redis::Redis;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use testkit::waiting::until;

const LOAD: &str = "--set records=500 --set operations=500 --no-baselines --repeats 1 --warmups 0";

fn cli(redis: &Redis, words: &str) -> String {
    let mut client = Command::new("redis-cli");
    let answer = client.args(["-p", &redis.port.to_string()]).args(words.split(' ')).stderr(Stdio::null()).output();
    String::from_utf8_lossy(&answer.unwrap().stdout).trim().to_owned()
}

#[test]
fn what_a_server_says_at_its_door_is_answered_with_what_to_write() {
    let desk = Desk::new();
    let users =
        desk.file("users.acl", "user default on >hush ~* &* +@all\nuser reader on >pw ~* &* +@all -set\n".to_owned());
    let redis = Redis::start(&desk, &format!("aclfile {}", users.display()));
    let place = format!("127.0.0.1:{}", redis.port);
    for (url, said) in [
        (format!("redis://{place}"), "USER:***@HOST or :***@HOST; kvtrial asks for the password"),
        (format!("redis://:wrong@{place}"), "Correct user and password in the URL"),
        (format!("redis://reader:pw@{place}"), "let the owner of the server grant it"),
        (format!("redis://:hush@{place}/99"), "the number of the database behind the /"),
        (format!("redis://:***@{place}"), "set KVTRIAL_PASSWORD"),
        (format!("redis://{place},durability=everysec"), "'everysec' is second here"),
        ("redis,appendfsync=everysec".to_owned(), "'everysec' is second"),
    ] {
        let ran = desk.run(&format!("ycsb -s {url} {LOAD}"));
        assert_eq!(ran.status, 2, "{url}: {}", ran.said());
        assert!(ran.stderr.contains(said), "{url}: {}", ran.said());
        assert!(!ran.stderr.contains("kvtrial stores"), "{url}: {}", ran.said());
    }
}

#[test]
fn keys_of_another_type_are_named_with_what_to_do() {
    let desk = Desk::new();
    let redis = Redis::start(&desk, "");
    cli(&redis, "LPUSH user000000000005 a");
    let url = format!("redis://127.0.0.1:{}", redis.port);
    let ran = desk.run(&format!("ycsb -s {url} {LOAD}"));
    assert!(ran.status == 2 && ran.stderr.contains("data of another type"), "{}", ran.said());
    let ran = desk.run(&format!("ycsb -s {url} {LOAD} --overwrite"));
    assert_eq!(ran.status, 0, "{}", ran.said());
}

#[test]
fn a_level_that_a_server_refuses_to_say_or_that_was_never_reached_is_not_put_into_its_mouth() {
    let desk = Desk::new();
    let redis = Redis::start(&desk, "rename-command CONFIG \"\"");
    let url = format!("redis://127.0.0.1:{}", redis.port);
    let ran = desk.run(&format!("ycsb -s {url} -s {url},durability=second -s redis://127.0.0.1:1 {LOAD}"));
    assert_eq!(ran.status, 1, "{}", ran.said());
    let source = |store: &str| ran.cell(store)["durability_source"].as_str().unwrap().to_owned();
    assert_eq!(source(&url), "assumed");
    assert_eq!(source(&format!("{url},durability=second")), "as_the_user_says");
    assert_eq!(source("redis://127.0.0.1:1"), "assumed");
    assert!(!ran.stdout.contains("as the server says"), "{}", ran.said());
    let text = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("durability none, assumed, as no server has said"), "{text}");
    assert!(text.contains("start that server or correct the URL") && !text.contains("how to install"), "{text}");
}

#[test]
fn a_server_that_was_restarted_empty_is_not_said_to_evict_and_no_job_is_told_of_a_policy_it_does_not_have() {
    let desk = Desk::new();
    let mut redis = Redis::start(&desk, "");
    let words = "--set records=1000 --set seconds=4 --rate 300 --no-baselines --repeats 1 --warmups 0 --out out";
    let child = desk.command(&format!("run ycsb -s redis://127.0.0.1:{} {words}", redis.port)).spawn().unwrap();
    until("the keys are there", || cli(&redis, "DBSIZE") == "1000");
    // The run itself has begun.
    let calls = || {
        let said = cli(&redis, "INFO commandstats");
        said.lines()
            .find_map(|line| line.strip_prefix("cmdstat_get:calls=")?.split(',').next()?.parse().ok())
            .unwrap_or(0)
    };
    let before: u64 = calls();
    until("it reads", || calls() > before + 50);
    redis.restart(&desk);
    let ran = desk.finished(child.wait_with_output().unwrap());
    assert!(ran.why("unexpected_miss").is_some(), "{}", ran.said());
    let text = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("the store was restarted without its data"), "{text}");
    assert!(!text.contains("evict") && !text.contains("policy="), "{text}");
}

#[test]
fn a_connection_that_breaks_while_sets_are_built_is_no_refusal_and_is_said_once() {
    let desk = Desk::new();
    let redis = Redis::start(&desk, "");
    let over = AtomicBool::new(false);
    let ran = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                cli(&redis, "CLIENT KILL TYPE normal");
            }
        });
        let url = format!("redis://127.0.0.1:{}", redis.port);
        let words = "--set ids=300000 --no-baselines --repeats 1 --warmups 0";
        // Where it was not yet connected, nothing was run.
        let ran = (0..20).map(|_| desk.run(&format!("sets -s {url} {words}"))).find(|ran| ran.study.is_some());
        over.store(true, Ordering::Relaxed);
        ran
    });
    let ran = ran.unwrap();
    assert_eq!(ran.why("refused"), None, "{}", ran.said());
    let (times, _) = ran.why("connection_lost").unwrap_or_else(|| panic!("{}", ran.said()));
    assert!(times == 1 && ran.stdout.contains("A connection was lost: "), "{}", ran.said());
}
