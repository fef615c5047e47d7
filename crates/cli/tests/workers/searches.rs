//! Searches on several workers: for a rate, for a setting, for a store; and commands that are for one process say so.

use super::nats::{JoinedWorker, Nats, Said};
use crate::common::{Desk, Ran, once};
use serde_json::Value;

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

/// All trials of a study, of which none was void and each was shared by this number of workers.
fn shared_trials(ran: &Ran, workers: usize) -> Vec<&Value> {
    assert_eq!(ran.status, 0, "{}", ran.said());
    let trials: Vec<&Value> = ran.cells().iter().flat_map(|cell| cell["trials"].as_array().unwrap()).collect();
    for trial in &trials {
        assert_eq!(trial["workers"].as_array().map(Vec::len), Some(workers), "{trial}");
        assert_ne!(trial["verdict"]["status"], "void", "{trial}");
    }
    trials
}

/// What a search finds in little time, or, where the machine has much else to do, in more.
fn searched(words: &str) -> Ran {
    let within = |budget: &str| Desk::new().kvtrial(&format!("{words} --budget {budget} --out out"));
    let in_time = |ran: &Ran| ran.status == 0;
    Some(within("4s")).filter(in_time).or_else(|| Some(within("15s")).filter(in_time)).unwrap_or_else(|| within("60s"))
}

const SMALL: &str = "--set records=300 --set operations=1000 --clients 2";

#[test]
fn settings_are_tried_with_clients_on_several_workers_and_give_the_answer_of_one_process() {
    let words = format!("tune ycsb -s redis {SMALL} --only --vary pipeline=1,8");
    let ran = searched(&format!("{words} --workers local:2"));
    let trials = shared_trials(&ran, 2);
    let alone = Desk::new().run(&once("ycsb", "redis", &[SMALL]));
    let digest = &alone.cells()[0]["trials"][0]["answer"]["digest"];
    assert!(digest.as_str().is_some_and(|digest| !digest.is_empty()), "{}", alone.said());
    assert!(trials.len() > 4 && trials.iter().all(|trial| trial["answer"]["digest"] == *digest), "{}", ran.said());
    let tune_found = &ran.study.as_ref().unwrap()["tune"];
    assert!(tune_found["gain"]["n"].as_u64().is_some_and(|pairs| pairs > 1), "{tune_found}");
    // Each value is looked at before anything starts.
    let refused = Desk::new().kvtrial(&format!("{words} --vary clients=2,1 --workers local:2"));
    assert!(refused.status == 2 && refused.stderr.contains("2 workers cannot share 1 client"), "{}", refused.said());
}

#[test]
fn a_search_ends_with_the_name_of_a_worker_that_is_lost() {
    let (nats, desk, away) = (Nats::start(), Desk::new(), Desk::new());
    let mut workers = ["stays", "goes"].map(|name| JoinedWorker::join(&away, &nats.url(), name));
    let words = "--set records=300 --set seconds=4 --clients 2 --only --vary pipeline=1,8 --budget 90s --out out";
    let more = format!("--workers 2 --nats {}", nats.url());
    let search = Said::of(desk.command(&format!("tune ycsb -s redis {words} {more}")));
    workers.iter_mut().for_each(|worker| _ = worker.await_line("trial 1"));
    let [_stays, goes] = workers;
    assert_eq!(goes.end(), 0);
    let ran = desk.finished(search.output());
    assert_eq!(ran.status, 1, "{}", ran.said());
    assert!(ran.stderr.contains("worker_lost: goes ") && ran.stderr.contains("it was ended there"), "{}", ran.said());
    assert!(desk.left_behind().is_empty() && away.left_behind().is_empty());
}

#[test]
fn stores_race_with_clients_on_several_workers() {
    let ran = searched(&format!("choose ycsb -s redis -s memcached {SMALL} --workers local:2"));
    assert!(shared_trials(&ran, 2).len() >= 4, "{}", ran.said());
    let decisions = ran.study.as_ref().unwrap()["choice"]["decisions"].as_array().unwrap();
    assert!(decisions.iter().any(|decision| !decision["take"].as_array().unwrap().is_empty()), "{}", ran.said());
}

#[test]
fn commands_for_one_process_say_why_and_what_several_can_do() {
    for (words, expected) in [
        ("check redis --workers 2", "only a study is shared among workers"),
        ("compare a b --workers 2", "compare reads studies that were run, also those of several workers"),
    ] {
        let ran = Desk::new().kvtrial(words);
        assert!(ran.status == 2 && ran.stderr.contains(expected), "{words}: {}", ran.said());
    }
}
