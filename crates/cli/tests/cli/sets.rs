//! The job sets on the stores that can do it: one answer by every exact way, sketches beside theory, a user's file, the preset.
#![allow(clippy::unwrap_used)]

use crate::common;

use common::{Desk, embedded, named};

/// Answers of `tests/oracle/sets.py`: 1,000 ids per set, half of them in both.
const RANDOM_1000: &str = "sha256:06f8726f33780fb5f51be1fa1ba093e3b3cf813a72b3a3f8348cc1b2cf87aea4";
/// The same, of dense ids of which 1 in 100 is in both.
const DENSE_1000: &str = "sha256:950e9e05a9daaddc5085fce14bc0fcd621af07d84f6be2e029b8fe12981772f1";

const IN_MEMORY: [&str; 5] = ["ram,way=hash", "ram,way=sorted", "ram,way=bitmap", "ram,way=roaring", "ram,way=indexed"];
const SERVERS: [&str; 9] = [
    "redis",
    "redis-unix,way=members",
    "redis-unix,way=bits",
    "redis-unix,way=elements",
    "memcached",
    "postgres,durability=none,way=sql",
    "postgres-unix,durability=none,way=intarray",
    "postgres,durability=none,way=elements",
    "mysql,durability=none",
];

fn answers_on(stores: &[&str], words: &str, digest: &str) {
    let desk = Desk::new();
    let ran =
        desk.kvtrial(&format!("run sets {words} {} --no-baselines --repeats 1 --warmups 0 --out out", named(stores)));
    assert_eq!(ran.status, 0, "{}", ran.said());
    for store in stores {
        assert!(ran.is_ranked(store) && ran.digest(store) == digest, "{store}: {}", ran.said());
    }
}

#[test]
fn sets_has_the_known_answer_by_every_exact_way_and_element_by_element_on_every_embedded_store() {
    answers_on(&[&embedded()[..], &IN_MEMORY].concat(), "--set ids=1000", RANDOM_1000);
    let dense = "--set ids=1000 --set overlap=0.01 --set kind=dense";
    answers_on(&[&embedded()[..], &IN_MEMORY].concat(), &format!("{dense} --clients 4"), DENSE_1000);
}

#[test]
fn sets_has_the_known_answer_by_the_commands_of_servers() {
    answers_on(&SERVERS, "--set ids=1000 --clients 2 --pipeline 8", RANDOM_1000);
}

#[test]
fn sketches_in_memory_and_on_a_server_stand_beside_theory_and_are_ranked_by_themselves() {
    let stores = ["ram,way=hll", "ram,way=theta", "redis-unix,way=hll", "ram,way=bitmap"];
    let desk = Desk::new();
    let ran =
        desk.kvtrial(&format!("run sets --set ids=100000 {} --no-baselines --repeats 2 --out out", named(&stores)));
    assert_eq!(ran.status, 0, "{}", ran.said());
    for (store, exact) in
        [("ram,way=hll", false), ("ram,way=theta", false), ("redis-unix,way=hll", false), ("ram,way=bitmap", true)]
    {
        let facts = &ran.cell(store)["answer"]["facts"];
        let number = |name: &str| facts[name].as_f64().unwrap();
        assert_eq!(facts["exact"], exact, "{store}");
        assert_eq!(number("union_standard_error") == 0.0, exact, "{store}: {facts}");
        assert!(exact || number("union_error") <= 4.0 * number("union_standard_error"), "{store}: {facts}");
    }
    assert!(ran.stdout.contains("by inclusion and exclusion"), "{}", ran.stdout);
}

#[test]
fn a_file_of_sets_is_read_and_a_line_that_is_none_is_named() {
    let desk = Desk::new();
    desk.file("months.csv", "may,7\nmay,18446744073709551615\njune,7\njune,0\njune,7\n");
    let ran = desk.kvtrial("run sets --data months.csv -s ram,way=bitmap -s lmdb --repeats 1 --out out");
    assert_eq!(ran.status, 0, "{}", ran.said());
    assert_eq!(ran.digest("ram,way=bitmap"), ran.digest("lmdb"));
    desk.file("wrong.csv", "may,7\njune,seven\n");
    let wrong = desk.kvtrial("run sets --data wrong.csv -s ram,way=bitmap");
    assert_eq!(wrong.status, 2, "{}", wrong.said());
    assert!(wrong.stderr.contains("line 2") && wrong.stderr.contains("'seven' is no id"), "{}", wrong.said());
}

#[test]
fn sets_there_is_no_memory_for_are_refused_before_anything_starts() {
    let desk = Desk::new();
    let ran = desk.kvtrial("run sets --set ids=1000000000 -s ram,way=bitmap --out out");
    // 32 GB for the ids alone; a machine that has them may run it.
    if store_has_room(32 << 30) {
        return;
    }
    assert_eq!(ran.status, 2, "{}", ran.said());
    assert!(ran.stderr.contains("ids=1000000000: the ids alone take"), "{}", ran.said());
}

fn store_has_room(bytes: u64) -> bool {
    store::memory::free_bytes().is_none_or(|free| free >= bytes)
}

#[test]
fn the_preset_of_2011_runs_scaled_and_varies_the_overlap() {
    let desk = Desk::new();
    let ran = desk.kvtrial("run sets --preset 2011 --scale 0.0005 --repeats 1 --out out");
    assert_eq!(ran.status, 0, "{}", ran.said());
    for words in ["As in 2011", "5,000 ids per set instead of 10,000,000", "no numbers of his", "Source: Aggregate"] {
        assert!(ran.stdout.contains(words), "{words}: {}", ran.stdout);
    }
    assert_eq!(ran.cells().len(), 3 * (7 + 2), "{}", ran.stdout);
}
