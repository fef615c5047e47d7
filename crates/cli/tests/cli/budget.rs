//! What an operation costs, and whose it is: the echo baseline and the budget, as a user sees them.
#![allow(clippy::unwrap_used)]

use crate::common;

use common::Desk;
use serde_json::Value;

/// Answer of unrelated scripts: `crates/jobs/tests/answers`.
const DEBIAN_1K: &str = "sha256:68feb5060a6d9f728165362a625509d52ab91a5abcf6de1f6c5fe58fe046bc91";

fn parts(cell: &Value) -> Vec<(String, f64)> {
    let parts = cell["budget"]["parts"].as_array().unwrap_or_else(|| panic!("no budget: {}", cell["store"]));
    let layers = |part: &Value| {
        let layers = part["layers"].as_array().unwrap().iter();
        layers.map(|layer| layer.as_str().unwrap()).collect::<Vec<_>>().join(" + ")
    };
    parts.iter().map(|part| (layers(part), part["bar_ns"].as_f64().unwrap())).collect()
}

/// Time of an operation: of two trials the median is their mean.
fn median_ns(cell: &Value) -> f64 {
    let per_operation_ns =
        |trial: &Value| 1e9 * trial["makespan_s"].as_f64().unwrap() / trial["operations"].as_f64().unwrap();
    (per_operation_ns(&cell["trials"][0]) + per_operation_ns(&cell["trials"][1])) / 2.0
}

#[test]
fn a_server_is_taken_apart_by_an_echo_server_behind_the_same_kind_of_socket() {
    let desk = Desk::new();
    let ran = desk.run("fans -s redis-unix -s sqlite --data debian-1k --repeats 2");
    assert_eq!(ran.status, 0, "{}", ran.said());
    let stores: Vec<&str> = ran.cells().iter().map(|cell| cell["store"].as_str().unwrap()).collect();
    assert_eq!(stores, ["null", "ram", "echo-unix", "redis-unix", "sqlite"]);
    let echo = ran.cell("echo-unix");
    assert!(ran.digest("echo-unix") == DEBIAN_1K && echo["class"] == "baseline" && echo["baseline"] == true, "{echo}");

    // What stands on which layer is written down, so that nobody has to read it out of a name.
    let placed = |store: &str| [&ran.cell(store)["layer"], &ran.cell(store)["transport"]].map(|it| it.as_str());
    let expected =
        [(Some("generator"), None), (Some("client"), None), (Some("wire"), Some("unix")), (None, Some("unix"))];
    for (store, (layer, transport)) in ["null", "ram", "echo-unix", "redis-unix"].into_iter().zip(expected) {
        assert_eq!(placed(store), [layer, transport], "{store}");
    }
    assert_eq!(placed("sqlite"), [None, None]);

    let redis = ran.cell("redis-unix");
    let found = parts(redis);
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    // Where the noise made the echo server slower than Redis, and only there, wire and store cannot be split, and that is said.
    let is_split = median_ns(echo) <= median_ns(redis);
    let split = ["generator", "client", "wire", "store"];
    assert_eq!(names, if is_split { split.as_slice() } else { &["generator", "client", "wire + store"] });
    assert_eq!(redis["budget"].get("too_slow").is_none(), is_split, "{}", redis["budget"]);
    // The layers are the whole, and the whole is the time by the operations.
    let sum_ns: f64 = found.iter().map(|(_, bar_ns)| bar_ns).sum();
    assert!((sum_ns / median_ns(redis) - 1.0).abs() < 1e-6, "{sum_ns} of {}", median_ns(redis));
    // Two system calls and a switch of processes cost more than a hash map does, on any machine.
    assert!(found[2].1 > found[0].1 && found.iter().all(|(_, bar_ns)| *bar_ns >= 0.0), "{found:?}");
    let cpu_ns = redis["budget"]["server_cpu_per_operation_ns"]["value"].as_f64().unwrap();
    assert!(cpu_ns > 100.0, "{cpu_ns}");

    assert_eq!(parts(ran.cell("sqlite")).len(), 3, "a library has no wire");
    assert_eq!(parts(echo).len(), 3);
    assert!(ran.cell("null").get("budget").is_none(), "null is a layer, not made of layers");
    let legend = if is_split { "░ client, ▒ wire, █ store" } else { "░ client, █ store or wire + store" };
    assert!(ran.stdout.contains(&format!("Time per operation: · generator, {legend}")), "{}", ran.stdout);
    let said = if is_split { "wire (echo-unix)" } else { "slower than what it is part of: echo-unix (" };
    let printed = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(printed.contains(said), "{printed}");
    assert!(desk.left_behind().is_empty(), "{:?}", desk.left_behind());
}

#[test]
fn a_study_without_servers_or_without_baselines_starts_no_echo_server() {
    let stores = |words: &str| -> Vec<String> {
        let ran = Desk::new().run(&format!("fans {words} --data debian-1k --repeats 1"));
        assert_eq!(ran.status, 0, "{}", ran.said());
        ran.cells().iter().map(|cell| cell["store"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(stores("-s redb"), ["null", "ram", "redb"]);
    assert_eq!(stores("-s redis --no-baselines"), ["redis"]);
}

#[test]
fn the_echo_server_is_correct_over_both_kinds_of_socket() {
    let ran = Desk::new().kvtrial("check echo echo-unix --json");
    assert_eq!(ran.status, 0, "{}", ran.said());
    assert!(!ran.stdout.contains("\"failed\": [{"), "{}", ran.stdout);
}

#[test]
fn the_echo_server_is_no_command_people_are_shown() {
    let ran = Desk::new().kvtrial("--help");
    assert!(!ran.stdout.contains("echo-server"), "{}", ran.stdout);
    let ran = Desk::new().kvtrial("echo-server");
    assert!(ran.status == 2 && ran.stderr.contains("--port"), "{}", ran.said());
}
