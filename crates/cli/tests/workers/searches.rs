//! Searches on several workers: that for a rate is one, and commands that are for one process say so.

use crate::common::{Desk, once};

#[test]
fn the_highest_rate_is_searched_for_with_clients_on_several_workers() {
    let more = ["--clients 4", "--set records=500", "--set seconds=1", "--find-rate p99<40ms", "--workers local:2"];
    let words = once("ycsb", "redis", &more).replace("--warmups 0", "");
    let ran = Desk::new().run(&words);
    assert_eq!(ran.status, 0, "{}", ran.said());
    let search = &ran.study.as_ref().unwrap()["rate_search"][0];
    assert!(search["closed_ops_per_s"].as_f64().unwrap() > 0.0, "{search}");
    let mut offered = 0;
    for cell in ran.cells() {
        for trial in cell["trials"].as_array().unwrap() {
            let workers = trial["workers"].as_array().unwrap();
            let done: u64 = workers.iter().map(|worker| worker["operations"].as_u64().unwrap()).sum();
            assert_eq!((workers.len(), Some(done)), (2, trial["operations"].as_u64()), "{trial}");
            if let Some(rate) = cell["params"]["rate"].as_str() {
                offered += 1;
                let due = done as f64 + trial["not_sent"].as_f64().unwrap();
                let rate: f64 = rate.parse().unwrap();
                // As many random arrivals were due in the second, give or take six standard deviations.
                assert!((due - rate).abs() < 6.0 * rate.sqrt() + 1.0, "{due} of {rate}");
            }
        }
    }
    assert!(offered > 3, "{offered} rates were offered\n{}", ran.said());
}

#[test]
fn commands_for_one_process_say_why_and_what_several_can_do() {
    for (words, expected) in [
        ("crash redis --workers 2", "more writers: --clients N"),
        ("tune ycsb -s redis --workers local:2", "kvtrial run JOB --workers N --vary KEY=VALUES"),
        ("choose ycsb --workers 2", "kvtrial run JOB --workers N --vary KEY=VALUES"),
        ("compare a b --workers 2", "compare reads studies that were run, also those of several workers"),
    ] {
        let ran = Desk::new().kvtrial(words);
        assert!(ran.status == 2 && ran.stderr.contains(expected), "{words}: {}", ran.said());
    }
}
