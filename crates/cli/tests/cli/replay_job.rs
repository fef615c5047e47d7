//! The job replay on the stores that can do it: the known answer, caches beside exact ones, requests at their time, bad input.
#![allow(clippy::unwrap_used)]

use crate::common;

use common::{Desk, embedded, named};

/// The digest of the lines `key TAB requests` of web12, as a script found it that shares no code with kvtrial.
const WEB12: &str = "sha256:931457cc2fd71cebc41379afc50a8a39caab59d1f84263bd6c587d3159a1be86";

#[test]
fn replay_has_the_known_answer_on_every_store_with_any_number_of_clients() {
    let servers = ["redis-unix", "redis", "memcached-unix", "redis-unix,cache=64MiB", "redis-unix,nodes=3"];
    for (stores, words) in [(embedded(), "--clients 3"), (servers.into(), "--clients 8 --pipeline 4")] {
        let desk = Desk::new();
        let named = named(&stores);
        let ran = desk.kvtrial(&format!("run replay {words} {named} --no-baselines --repeats 1 --warmups 0 --out out"));
        assert_eq!(ran.status, 0, "{}", ran.said());
        for store in stores {
            assert!(ran.is_ranked(store) && ran.digest(store) == WEB12, "{store}: {}", ran.said());
        }
    }
}

#[test]
fn a_store_that_drops_values_has_its_hits_beside_those_of_exact_caches() {
    let stores = ["redis-unix,maxmemory=3mb,maxmemory-policy=allkeys-lru", "memcached-unix,memory=2"];
    let run = |set: &str| {
        let stores = named(&stores);
        Desk::new().kvtrial(&format!(
            "run replay --set value=200 {set} {stores} --no-baselines --repeats 1 --warmups 0 --out out"
        ))
    };
    let ran = run("--set evictions=allowed");
    assert_eq!(ran.status, 0, "{}", ran.said());
    for store in stores {
        assert!(ran.is_ranked(store) && ran.digest(store) == WEB12, "{store}: {}", ran.said());
    }
    for cell in ran.cells() {
        let fact = |name: &str| cell["answer"]["facts"][name].as_f64().unwrap();
        let (hits, lru, keys) = (fact("get_hits"), fact("hits_of_exact_lru"), fact("keys_at_end"));
        assert!(hits < 81_851.0 && (3_000.0..13_000.0).contains(&keys), "{cell}");
        // Both sample, or keep classes of sizes: near an exact LRU of their size, never the same.
        assert!((lru * 0.9..lru * 1.1).contains(&hits), "{hits}, exact LRU {lru}");
    }
    assert!(ran.stdout.contains("EXACT LRU") && ran.stdout.contains("ALL KEPT"), "{}", ran.stdout);
    let strict = run("");
    assert_eq!(strict.status, 1, "{}", strict.said());
    assert!(strict.stdout.contains("evicted"), "{}", strict.said());
}

#[test]
fn requests_are_due_as_recorded_and_a_trace_that_is_no_trace_ends_with_2() {
    let desk = Desk::new();
    let line =
        |number: u64| format!("1700000000.{:06} [0 127.0.0.1:1] \"set\" \"k{}\" \"v\"\n", number * 500, number % 9);
    desk.file("good.log", &(0..1000).map(line).collect::<String>());
    desk.file("cut.log", "1700000000.000000 [0 127.0.0.1:1] \"set\" \"k\" \"v\"\n1700000000.000001 [0 127.");
    let ran = desk
        .kvtrial("run replay --data good.log -s ram --set pace=x2 --no-baselines --repeats 1 --warmups 0 --out out");
    assert_eq!(ran.status, 0, "{}", ran.said());
    let cell = ran.only();
    let rate = cell["ops_per_s"]["value"].as_f64().unwrap();
    assert!((1_000.0..4_100.0).contains(&rate) && cell["latency_ns"]["send_lag"]["n"] == 1000, "{cell}");
    for (words, said) in [
        ("--data cut.log", "cut.log, line 2, column 1: its '[database client]' does not end"),
        ("--data good.log --set pace=trace --rate 10", "due as they were recorded; leave --rate and --poisson out"),
        ("--set pace=trace", "web12 is of the format cache2k, which does not say when requests were made"),
        ("--data absent.csv", "name a readable file"),
    ] {
        let ran = desk.kvtrial(&format!("run replay -s ram {words}"));
        assert!(ran.status == 2 && ran.stderr.contains(said), "{words}: {}", ran.said());
    }
}
