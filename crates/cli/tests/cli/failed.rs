//! Operations that fail in mid run, on a real server: they have no response time, and every way to read a study says so.
#![allow(clippy::unwrap_used)]

use crate::common;

use common::{Desk, once};
use serde_json::Value;

#[test]
fn a_p99_that_was_not_reached_as_too_many_operations_failed_is_shown_as_that_everywhere() {
    let desk = Desk::new();
    let set = "--set records=1000 --clients 32 --set seconds=4 --rate 500 --out out";
    let mut command = desk.command(&format!("run {}", once("ycsb", "redis-unix,durability=os", &[set])));
    let ran = desk.finished(command.args(["--fault", "at 1s kill 1", "--fault", "at 2s restart 1"]).output().unwrap());
    let cell = ran.only();
    let trial = &cell["trials"][0];
    let (operations, failed) = (trial["operations"].as_u64().unwrap(), trial["failed_operations"].as_u64().unwrap());
    assert!(failed * 100 > operations, "{failed} of {operations} failed: {}", ran.said());
    for response in
        [&trial["latency_ns"]["response"], &cell["latency_ns"]["response"], &trial["phases"][1]["response_ns"]]
    {
        assert_eq!(
            (&response["failed"], response["n"].as_u64()),
            (&failed.into(), Some(operations - failed)),
            "{response}"
        );
        assert_eq!((&response["asked"]["p99"], response["p99"].is_u64()), (&Value::Null, true), "{response}");
    }
    assert_eq!(
        (cell["p99_ns"]["value"].is_null(), cell["p99_ns"]["n"].as_u64()),
        (true, Some(1)),
        "{}",
        cell["p99_ns"]
    );
    let share = cell["failed_share"]["value"].as_f64().unwrap();
    assert_eq!(share, failed as f64 / operations as f64);
    assert_ne!(cell["verdict"]["status"], "void", "{}", ran.said());
    let late = trial["answered_late"].as_u64().unwrap_or(0);
    let answered_per_s = (operations - failed - late) as f64 / trial["makespan_s"].as_f64().unwrap();
    assert!((cell["ops_per_s"]["value"].as_f64().unwrap() / answered_per_s - 1.0).abs() < 1e-9);
    for said in ["FAILED", "not reached", "of the operations failed, so P99 is not reached; of those answered alone"] {
        let stdout = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(stdout.contains(said), "{said}: {}", ran.stdout);
    }
    let read = |file: &str| std::fs::read_to_string(desk.path().join("out").join(file)).unwrap();
    let csv = read("cells.csv");
    let lines: Vec<Vec<&str>> = csv.lines().take(2).map(|line| line.split(',').collect()).collect();
    let column =
        |name: &str| lines[1].iter().rev().nth(lines[0].iter().rev().position(|it| *it == name).unwrap()).unwrap();
    assert_eq!((*column("p99_ns"), column("failed_share").parse::<f64>().unwrap()), ("inf", share), "{csv}");
    assert!(read("trials.csv").contains(",p99_ns,inf,"));
    let page = read("report.html");
    assert!(page.contains("so P99 is not reached") && page.contains(">failed</th>"));
    // A report made again from study.json shows the same.
    let again = desk.finished(desk.command("report out --format markdown").output().unwrap());
    assert!(again.stdout.contains(" failed |") && again.stdout.contains("not reached"), "{}", again.said());
}

#[test]
fn what_failed_in_a_script_has_no_response_time() {
    let desk = Desk::new();
    desk.file("steady.lua", "function run(client) kv.put('k' .. client.number, 'v') kv.get('k' .. client.number) end");
    let set = "--set seconds=4 --clients 4 --rate 300 --out out";
    let mut command = desk.command(&format!("run {}", once("steady.lua", "redis-unix", &[set])));
    let ran = desk.finished(command.args(["--fault", "at 1s freeze 1 for 2s"]).output().unwrap());
    let trial = &ran.only()["trials"][0];
    let (operations, failed) = (trial["operations"].as_u64().unwrap(), trial["failed_operations"].as_u64().unwrap());
    assert!(failed > 0, "{}", ran.said());
    let response = &trial["latency_ns"]["response"];
    assert_eq!(
        (&response["failed"], response["n"].as_u64()),
        (&failed.into(), Some(operations - failed)),
        "{response}"
    );
}
