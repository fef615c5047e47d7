//! What the user needs, and what stores show of it.
#![allow(clippy::unwrap_used)]

use crate::common::{Desk, Ran};
use serde_json::Value;

const WORK: &str = "--set records=50 --set operations=300 --no-baselines --repeats 3";

/// The ruling on one need of a store.
fn ruling<'r>(ran: &'r Ran, store: &str, need: &str) -> &'r str {
    let meets: &Vec<Value> = ran.cell(store)["meets"].as_array().unwrap_or_else(|| panic!("{}", ran.said()));
    meets.iter().find(|one| one["need"] == need).unwrap()["meets"].as_str().unwrap()
}

#[test]
fn a_slow_store_misses_the_need_that_a_fast_one_meets_and_the_exit_status_says_so() {
    let desk = Desk::new();
    let ran = desk.run(&format!(
        "ycsb -s lmdb -s lmdb,burn=80ms {WORK} --set records=5 --set operations=12 --need p99<15ms --need durability=os"
    ));
    assert_eq!(ran.status, 1, "{}", ran.said());
    assert_eq!((ruling(&ran, "lmdb", "p99<15ms"), ruling(&ran, "lmdb,burn=80ms", "p99<15ms")), ("met", "missed"));
    assert_eq!(ruling(&ran, "lmdb,burn=80ms", "durability=os"), "met");
    let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("lmdb meets both needs (p99<15ms and durability=os)."), "{}", ran.said());
    assert!(said.contains("Not: lmdb,burn=80ms (p99<15ms: ") && said.contains("MEETS"), "{}", ran.said());
    let page = desk.kvtrial("report out --format text");
    assert_eq!(page.stdout, ran.stdout.split("Study: ").next().unwrap());
    let junit = desk.kvtrial("report out --format junit");
    assert!(junit.stdout.contains("failures=\"1\"") && junit.stdout.contains("p99&lt;15ms: "), "{}", junit.stdout);
}

#[test]
fn a_run_whose_stores_meet_all_needs_ends_with_0() {
    let ran =
        Desk::new().run(&format!("ycsb -s lmdb -s sqlite {WORK} --need failed<1% --need rate>=20 --set seconds=1"));
    assert_eq!(ran.status, 0, "{}", ran.said());
    for store in ["lmdb", "sqlite"] {
        assert_eq!((ruling(&ran, store, "failed<1%"), ruling(&ran, store, "rate>=20")), ("met", "met"));
        assert_eq!(ran.cell(store)["params"]["arrivals"], "poisson", "the rate is offered at random moments");
    }
}

#[test]
fn a_store_gets_the_weakest_level_that_is_enough_and_one_without_such_a_level_misses_the_need() {
    let ran = Desk::new()
        .run(&format!("ycsb -s redis-unix -s memcached-unix -s lmdb,durability=os {WORK} --need durability=second"));
    assert_eq!(ran.status, 1, "{}", ran.said());
    assert_eq!(ruling(&ran, "redis-unix,durability=second", "durability=second"), "met");
    assert_eq!(ruling(&ran, "memcached-unix", "durability=second"), "missed");
    assert_eq!(ruling(&ran, "lmdb,durability=os", "durability=second"), "missed", "the user chose its level");
}

#[test]
fn needs_that_no_run_can_show_are_refused_before_anything_is_started() {
    for (words, said) in [
        ("bulk --data gen:60:7 -s lmdb --need rate>=100", "--need 'rate>=100': a request of bulk carries many records"),
        ("ycsb -s lmdb --need p99<5", "needs one of the units ns, us"),
        ("ycsb -s lmdb --need loss=0", "--need 'loss=0': nothing is lost where no node fails; add --fault"),
        ("ycsb -s lmdb --need rate>=2000 --rate 1000", "--rate 1000 offers less than that"),
        ("ycsb -s lmdb --need rate>=2000 --vary rate=1,2", "--vary rate= sets the rate as well"),
        ("ycsb -s lmdb --need p99<5ms --need p99<3ms", "'p99<5ms' is about p99 as well"),
    ] {
        let ran = Desk::new().run(words);
        assert!(ran.status == 2 && ran.study.is_none() && ran.stderr.contains(said), "{words}: {}", ran.said());
    }
}

#[test]
fn a_server_that_needs_more_memory_than_it_may_take_is_killed_and_one_that_needs_less_meets_the_need() {
    let desk = Desk::new();
    let words = |limit: &str| {
        format!(
            "run ycsb --set records=3000 --set value=20000 --set operations=300 -s redis-unix --no-baselines --repeats 1 --need memory<{limit} --limit-memory --out out"
        )
    };
    let small = desk.kvtrial(&words("40MiB"));
    if host::MemoryGroup::new(1 << 30).is_err() {
        assert!(small.status == 2 && small.stderr.contains("leave the limit out"), "{}", small.said());
        return;
    }
    assert_eq!(small.status, 1, "{}", small.said());
    assert_eq!(small.cell("redis-unix")["verdict"]["status"], "void", "{}", small.said());
    assert!(small.stdout.contains("control group of 40 MiB"), "{}", small.said());
    let reasons = small.cell("redis-unix")["verdict"]["reasons"].to_string();
    assert!(reasons.contains("because it needed more memory than the 40 MiB it may take"), "{reasons}");
    let desk = Desk::new();
    let large = desk.kvtrial(&words("400MiB"));
    assert_eq!(large.cell("redis-unix")["verdict"]["reasons"].as_array().map(Vec::len), Some(0), "{}", large.said());
    assert_eq!(large.study.as_ref().unwrap()["server_memory_bytes"], 400 << 20);
}

#[test]
fn a_limit_of_memory_needs_the_need_it_is_for() {
    let ran = Desk::new().kvtrial("run ycsb -s redis --need p99<5ms --limit-memory");
    assert!(ran.status == 2 && ran.stderr.contains("--limit-memory: add the need it is for"), "{}", ran.said());
}
