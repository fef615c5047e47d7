//! The jobs append and counts on the stores that can do them: known answers, curves, questions, presets, bad input.
#![allow(clippy::unwrap_used)]

use crate::common;

use common::{Desk, embedded, named};

/// Answers of unrelated scripts: `tests/oracle`.
const APPEND_1000_7: &str = "sha256:309cc2785568f6644313b62a256a84240af1aa1b4b1d01493860ac701ae01de4";
const COUNTS_500_42: &str = "sha256:4662399b4f6d874c17ed9780dd318caa76cb9c1a2acdb21b0a5b2c6155af4272";
const VADER: &str = "sha256:c584e96eb575f5d29c83293ead8448107741de6d6982af0dbafed5cb1bcd38f0";

const COUNTS_20_42: &str = "sha256:68e5ebddfbd649b01de056161beca7b285aa827610bf67066b1d84b3bf8e47d5";

const SERVERS: [&str; 5] = ["redis", "redis-unix", "memcached", "mysql,durability=none", "postgres,durability=none"];
/// FerretDB takes milliseconds an operation and has neither append nor counters that are atomic: less of the same.
const SLOW: [&str; 1] = ["mongodb,durability=os"];
const MAPS: [&str; 5] = ["ram,map=lines", "ram,map=std", "ram,map=griddle", "ram,map=btree", "ram,shards=4096"];

fn answers_on(stores: &[&str], words: &str, digest: &str) {
    let desk = Desk::new();
    let ran = desk.kvtrial(&format!("run {words} {} --no-baselines --repeats 1 --out out", named(stores)));
    assert_eq!(ran.status, 0, "{}", ran.said());
    for store in stores {
        assert!(ran.is_ranked(store) && ran.digest(store) == digest, "{store}: {}", ran.said());
    }
}

#[test]
fn append_has_the_known_answer_on_every_store() {
    answers_on(&[&embedded()[..], &MAPS].concat(), "append --data gen:1000:7", APPEND_1000_7);
    answers_on(&SERVERS, "append --data gen:1000:7 --clients 4 --pipeline 8", APPEND_1000_7);
    answers_on(
        &["redis", "ram", "ram,map=lines"],
        "append --data gen:1000:7 --clients 3 --set append=rewrite",
        APPEND_1000_7,
    );
    answers_on(&["ram,map=lines"], "append --data gen:1000:7 --clients 4 --pipeline 8", APPEND_1000_7);
    answers_on(&["ram,map=lines"], "append --data gen:1000:7 --clients 4 --threads 2", APPEND_1000_7);
    answers_on(&SLOW, "append --data gen:1000:7", APPEND_1000_7);
}

#[test]
fn counts_has_the_known_answer_on_every_store() {
    answers_on(&[&embedded()[..], &MAPS].concat(), "counts --data gen:500:42", COUNTS_500_42);
    answers_on(&SERVERS, "counts --data gen:500:42 --clients 4 --pipeline 8", COUNTS_500_42);
    answers_on(&SLOW, "counts --data gen:20:42", COUNTS_20_42);
    for way in ["memcached", "rewrite"] {
        let words = format!("counts --data gen:500:42 --clients 2 --pipeline 8 --set increment={way}");
        answers_on(&["redis", "memcached", "ram"], &words, COUNTS_500_42);
    }
}

#[test]
fn a_cell_says_how_many_records_its_job_leaves_whatever_the_job_calls_them() {
    for (words, name) in [("counts --data gen:20:42", "terms"), ("append --data gen:200:7", "keys")] {
        let desk = Desk::new();
        let ran = desk.kvtrial(&format!("run {words} -s ram --repeats 1 --no-baselines --out out"));
        let (study, cell) = (ran.study.as_ref().unwrap(), ran.cell("ram"));
        assert!(cell["records"].as_u64() > Some(10) && cell["records"] == study["input"][name], "{name}: {cell}");
    }
}

#[test]
fn the_shipped_messages_are_counted_on_three_kinds_of_store() {
    answers_on(&["ram", "redis-unix", "memcached-unix"], "counts --clients 2 --pipeline 64", VADER);
}

#[test]
fn a_growing_store_has_a_curve_with_memory_and_the_points_add_up() {
    let desk = Desk::new();
    let ran =
        desk.kvtrial("run append --data gen:20000:42 -s redis-unix --pipeline 64 --no-baselines --repeats 1 --out out");
    assert_eq!(ran.status, 0, "{}", ran.said());
    let cell = ran.cell("redis-unix");
    let curve = cell["curve"].as_array().unwrap();
    assert!(curve.len() >= 150 && curve.last().unwrap()["records"] == 53_808, "{}", curve.len());
    let number = |point: &serde_json::Value, name: &str| point[name].as_f64().unwrap();
    assert!(curve.windows(2).all(|pair| {
        number(&pair[0], "records") < number(&pair[1], "records") && number(&pair[0], "at_s") < number(&pair[1], "at_s")
    }));
    let (mut before, mut records) = (0.0, 0.0);
    for point in curve {
        records += number(point, "ops_per_s") * (number(point, "at_s") - before);
        before = number(point, "at_s");
        assert!(number(point, "p99_ns") > 0.0 && number(point, "rss_bytes") > 1e6, "{point}");
    }
    assert!((records / 53_808.0 - 1.0).abs() < 0.01, "{records}");
}

#[test]
fn the_largest_counts_and_one_count_can_be_asked_for() {
    let desk = Desk::new();
    let top = desk.kvtrial("query counts --top 2 --data gen:500:42");
    assert_eq!(top.stdout, "{\"term\":\"w000\",\"count\":307}\n{\"term\":\"w001\",\"count\":238}\n", "{}", top.said());
    let one = desk.kvtrial("query counts w002 --data gen:500:42 -s ram");
    assert_eq!(one.stdout, "{\"term\":\"w002\",\"count\":212}\n", "{}", one.said());
    let none = desk.kvtrial("query counts --top 2 --data gen:500:42 -s null");
    assert_eq!(none.status, 2, "{}", none.said());
}

#[test]
fn a_preset_runs_scaled_and_prints_the_originals_beside() {
    let desk = Desk::new();
    let ran = desk.kvtrial("run append --preset 2011 --scale 0.00002 -s redis-unix --warmups 1 --repeats 2 --out out");
    assert_eq!(ran.status, 0, "{}", ran.said());
    for words in
        ["As in 2011", "1,560 keys instead of 78,000,000", "what it had to sustain", "200k/s", "Source: Aggregate"]
    {
        assert!(ran.stdout.contains(words), "{words}: {}", ran.stdout);
    }
    let preset = &ran.study.as_ref().unwrap()["preset"];
    assert!(preset["scaled"][0]["here"] == 1560 && preset["overridden"][0] == "-s", "{preset}");
    assert_eq!(ran.cell("redis-unix")["params"]["pipeline"], "10000");
}

#[test]
fn a_scale_there_is_no_room_for_is_refused_with_the_estimate_before_anything_starts() {
    let desk = Desk::new();
    for (store, what) in [("redis-unix", "of memory"), ("lmdb", "of disk")] {
        let ran = desk.kvtrial(&format!("run append --data gen:1000000000000:1 -s {store} --no-baselines --out out"));
        assert_eq!(ran.status, 2, "{}", ran.said());
        assert!(ran.stderr.contains("iB of keys and values") && ran.stderr.contains(what), "{}", ran.stderr);
        assert!(desk.left_behind().is_empty() && !desk.path().join("out").exists());
    }
}

#[test]
fn malformed_events_are_named_by_line_column_and_field_and_nothing_is_left_behind() {
    let desk = Desk::new();
    desk.file("events.csv", "1,2,3\n4,5,six\n");
    let ran = desk.kvtrial("run append --data events.csv -s redis-unix --out out");
    assert_eq!(ran.status, 2, "{}", ran.said());
    assert!(ran.stderr.contains("events.csv, line 2, column 5: field 3 is 'six'"), "{}", ran.stderr);
    assert!(desk.left_behind().is_empty() && !desk.path().join("out").exists(), "{:?}", desk.left_behind());
}
