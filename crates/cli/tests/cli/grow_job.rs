//! The job `grow` on real stores: what is said of a store that fills, and of one that loses what it was given.
#![allow(clippy::unwrap_used)]

use crate::common;

use common::Desk;
use std::time::{Duration, Instant};

#[test]
fn a_store_that_fills_has_a_curve_with_the_gets_made_meanwhile_and_its_figures_are_said() {
    let words = common::once("grow", "redis-unix -s sqlite -s lmdb", &["--clients 3 --set items=3000 --set reads=0.3"]);
    let ran = Desk::new().run(&words);
    assert_eq!(ran.status, 0, "{}", ran.said());
    let cells = ran.cells();
    for cell in cells {
        let curve = cell["curve"].as_array().unwrap();
        let rises = |name: &str| curve.windows(2).all(|pair| pair[0][name].as_f64() <= pair[1][name].as_f64());
        assert!(rises("records") && rises("at_s") && rises("written_bytes"), "{curve:?}");
        assert_eq!(curve.last().unwrap()["records"], 3000);
        assert!(curve.iter().filter(|point| point["gets"]["p99_ns"].as_u64() > Some(0)).count() > 5, "{curve:?}");
        let growth = &cell["growth"];
        assert!(growth["first_tenth_per_s"].as_f64() > Some(0.0) && growth["last_tenth_per_s"].as_f64() > Some(0.0));
        assert_eq!(cell["answer"]["digest"], cells[0]["answer"]["digest"]);
    }
    let on_disk = cells[1]["growth"]["disk_bytes_per_byte"].as_f64().unwrap();
    assert!((1.0..4.0).contains(&on_disk), "sqlite holds each byte once: {on_disk}");
    assert!(ran.stdout.contains("sqlite stored 3,000 records: "), "{}", ran.stdout);
}

#[test]
fn the_second_part_of_two_phases_is_offered_shares_of_the_rate_of_the_first() {
    // A millisecond per operation: a machine that pauses now and then is a small part of each phase.
    let words = common::once("grow", "redis-unix,burn=1ms", &["--set items=4000 --set mode=two-phase --set value=100"]);
    let ran = Desk::new().run(&words);
    let cells = ran.cells();
    let trial = &cells[0]["trials"][0];
    assert_ne!(trial["verdict"]["status"], "void", "{}", ran.said());
    let rate = |name: &str| {
        let phases = trial["phases"].as_array().unwrap();
        let phase = phases.iter().find(|phase| phase["name"] == name).unwrap();
        phase["operations"].as_f64().unwrap() / phase["elapsed_s"].as_f64().unwrap()
    };
    // What is due is sent as long as the store keeps up, which it may not at 95 %.
    for (name, share) in [("fill at 50 %", 0.5), ("fill at 80 %", 0.8)] {
        let reached = rate(name) / rate("fill");
        assert!(reached < share * 1.1 && reached > share * 0.5, "{name}: {reached} of the highest rate");
    }
    let curve = cells[0]["curve"].as_array().unwrap();
    assert_eq!(curve.last().unwrap()["records"], 4000, "one curve over all phases");
    assert!(curve.windows(2).all(|pair| pair[0]["at_s"].as_f64() < pair[1]["at_s"].as_f64()));
}

#[test]
fn items_that_died_with_their_node_make_the_cell_void() {
    let desk = Desk::new();
    let settings = "--set items=1500 --set value=100 --rate 500 --out out";
    let mut command = desk.command(&format!("run {}", common::once("grow", "redis-unix,nodes=2", &[settings])));
    let begun = Instant::now();
    let ran = desk.finished(command.args(["--fault", "at 1s kill 1"]).output().unwrap());
    // Each of its keys once waited half a second for an attempt to connect, which made more than ten minutes.
    assert!(begun.elapsed() < Duration::from_secs(180), "{:?}", begun.elapsed());
    assert_eq!(ran.status, 1, "{}", ran.said());
    let cells = ran.cells();
    let facts = &cells[0]["trials"][0]["answer"]["facts"];
    assert!(facts["items_read_back"].as_u64() < Some(1000), "{facts}");
    assert_eq!(cells[0]["verdict"]["status"], "void");
}
