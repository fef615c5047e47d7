//! Values with a time to live, on real servers, on stores that let nothing expire, and on a server that denies what it has.

#![allow(clippy::unwrap_used)]

use crate::common;

use common::{Desk, named, run_once};
use testkit::lying::{Lie, LyingServer, Protocol, Rule, Target, When};

#[test]
fn a_job_with_a_time_to_live_has_one_digest_on_stores_that_expire_and_on_those_that_do_not() {
    let stores = ["redis-unix", "memcached-unix", "lmdb", "ram"];
    let desk = Desk::new();
    let set = "--set records=300 --set value=100 --set seconds=2 --set ttl=1s --clients 4 --repeats 1 --warmups 0";
    let ran = desk.run(&format!("ycsb {} {set} --no-baselines", named(&stores)));
    assert_eq!(ran.status, 0, "{}", ran.said());
    for store in stores {
        assert_eq!(ran.digest(store), ran.digest("ram"), "{store}");
        let cell = ran.cell(store);
        let expired = cell["answer"]["facts"]["expired_reads"].as_u64().unwrap();
        assert!(expired > 0, "{store}: {}", cell["answer"]);
        let is_emulated = cell["emulated"].to_string().contains("expiry by a time in the value");
        assert_eq!(is_emulated, ["lmdb", "ram"].contains(&store), "{store}: {}", cell["emulated"]);
    }
}

#[test]
fn a_server_that_denies_a_value_before_its_time_is_void_with_the_key_and_by_how_much() {
    let lie = Rule::new(Lie::Denied, Target::Gets, When::Nth(100));
    let server = LyingServer::start(Protocol::Resp, vec![lie]).unwrap();
    let url = format!("redis://127.0.0.1:{}", server.port());
    let ran = run_once("ycsb", &url, &["--set records=50", "--set operations=500", "--set ttl=30m"]);
    assert_eq!((ran.status, ran.verdict()), (1, "void"), "{}", ran.said());
    let (count, example) = ran.why("expired_early").unwrap_or_else(|| panic!("{}", ran.said()));
    let key = String::from_utf8_lossy(&server.told()[0].key).into_owned();
    assert!(count == 1 && example.contains(&key) && example.contains("before its time of 1800.00 s"), "{example}");
}

#[test]
fn a_time_a_store_does_not_have_is_refused_before_anything_starts() {
    for (store, ttl, words) in [
        ("memcached-unix", "1500ms", "use 2000ms"),
        ("memcached-unix", "60d", "at most 2592000 s"),
        ("memcached-unix", "0", "a time above 0"),
        ("etcd", "1s", "use 2000ms"),
    ] {
        let ran = run_once("ycsb", store, &[&format!("--set ttl={ttl}")]);
        assert!(ran.status != 0 && ran.said().contains(words) && ran.said().contains("ttl="), "{ttl}: {}", ran.said());
    }
}

#[test]
fn a_crowd_that_ends_in_one_second_is_gone_behind_it_and_the_others_were_read_meanwhile() {
    let desk = Desk::new();
    let text = script::EXAMPLES.iter().find(|example| example.name == "midnight").unwrap().text;
    desk.file("midnight.lua", text);
    let stores = ["redis-unix", "memcached-unix", "ram"];
    // The time is the subject: the crowd ends 2 to 3 s after the load begins, and the reads end behind that.
    let set = "--set life=2 --set seconds=4 --clients 4 --repeats 1 --warmups 0 --no-baselines";
    let ran = desk.run(&format!("midnight.lua {} {set}", named(&stores)));
    assert_eq!(ran.status, 0, "{}", ran.said());
    for store in stores {
        assert_eq!(ran.digest(store), ran.digest("ram"), "{store}");
        let gone = ran.cell(store)["answer"]["facts"]["expired_reads"].as_u64().unwrap();
        // Of 2,000, and a clock of each client, asked for once more at the end.
        assert!(gone >= 2000, "{store}: {gone}");
    }
}
