//! Sweeps and searches as a user runs them: what is varied, in which order, resumed; the highest rate; the best setting.
#![allow(clippy::unwrap_used)]

use crate::common;

use common::{Desk, Ran};
use serde_json::Value;
use std::collections::BTreeSet;
use std::time::Duration;
use testkit::lying::{Lie, LyingServer, Protocol, Rule, Target, When};

const SMALL: &str = "--set records=200 --set operations=500 --no-baselines";

/// Words that must be refused with status 2 before anything is made, and what was said.
fn refused(words: &str) -> String {
    let desk = Desk::new();
    let ran = desk.run(words);
    assert_eq!(ran.status, 2, "{}", ran.said());
    assert!(!desk.path().join("out").exists() && desk.left_behind().is_empty(), "something was made: {words}");
    ran.stderr
}

fn orders(ran: &Ran) -> Vec<u64> {
    let cells = ran.cells().iter().flat_map(|cell| cell["trials"].as_array().unwrap());
    let mut orders: Vec<u64> = cells.map(|trial| trial["order"].as_u64().unwrap()).collect();
    orders.sort_unstable();
    orders
}

/// The varied values of the cells in the order their trials ran.
fn sequence(ran: &Ran, key: &str) -> Vec<String> {
    let mut trials: Vec<(u64, String)> = Vec::new();
    for cell in ran.cells() {
        for trial in cell["trials"].as_array().unwrap() {
            trials.push((trial["order"].as_u64().unwrap(), cell["varied"][key].as_str().unwrap().to_owned()));
        }
    }
    trials.sort();
    trials.into_iter().map(|(_, value)| value).collect()
}

#[test]
fn every_combination_of_job_engine_and_store_keys_is_a_cell() {
    let ran = Desk::new().run(&format!(
        "ycsb -s ram -s sqlite {SMALL} --repeats 1 --vary clients=1..4x2 --vary value=100,200 --vary page_size=1024,8192"
    ));
    assert_eq!(ran.status, 0, "{}", ran.said());
    let cells =
        |store: &str| ran.cells().iter().filter(|cell| cell["store"].as_str().unwrap().starts_with(store)).count();
    // ram has no pages: it is not run twice for them.
    assert_eq!((cells("ram"), cells("sqlite,page_size=1024"), cells("sqlite,page_size=8192")), (6, 6, 6));
    let study = ran.study.as_ref().unwrap();
    assert_eq!(study["order"], "random");
    assert_eq!(study["varied"][0], serde_json::json!({"key": "clients", "values": ["1", "2", "4"]}));
    assert_eq!(study["varied"][2]["not_taken"][0], "ram does not have it");
    let cell = ran.cells().iter().find(|cell| cell["varied"]["page_size"] == "8192").unwrap();
    assert_eq!(
        (&cell["store_config"]["page_size"], &cell["params"]["clients"]),
        (&"8192".into(), &cell["varied"]["clients"])
    );
    assert!(ran.stderr.contains("18 cells, 18 trials to run in balanced random order"), "{}", ran.said());
    assert!(ran.stdout.contains("TIME by clients"), "{}", ran.said());
    assert!(ran.stdout.lines().all(|line| line.chars().count() <= 80), "{}", ran.stdout);
}

#[test]
fn rising_order_is_asked_for_labelled_and_said() {
    let words = format!("ycsb -s ram {SMALL} --repeats 2 --vary operations=100..800+100");
    let rising = Desk::new().run(&format!("{words} --order rising"));
    assert_eq!(rising.study.as_ref().unwrap()["order"], "rising");
    let up: Vec<String> = (1..=8).map(|n| (n * 100).to_string()).collect();
    assert_eq!(sequence(&rising, "operations"), [up.clone(), up.clone()].concat());
    assert!(rising.stdout.contains("rising order"), "{}", rising.said());
    let random = sequence(&Desk::new().run(&words), "operations");
    assert!(random[..8] != up && random[8..] != up, "{random:?}");
    assert_eq!(random[..8].iter().collect::<BTreeSet<_>>().len(), 8, "each round has every cell once");
}

#[test]
fn a_sample_of_the_combinations_is_drawn_by_the_seed_and_said() {
    let words = format!("ycsb -s ram {SMALL} --repeats 1 --vary clients=1..8 --vary value=16..116+10 --sample 5");
    let first = Desk::new().run(&words);
    assert_eq!((first.status, first.cells().len()), (0, 5), "{}", first.said());
    assert_eq!(first.study.as_ref().unwrap()["sampled"], serde_json::json!({"combinations": 5, "of": 88}));
    let combinations =
        |ran: &Ran| -> BTreeSet<String> { ran.cells().iter().map(|cell| cell["varied"].to_string()).collect() };
    assert_eq!(combinations(&first), combinations(&Desk::new().run(&words)));
    assert_ne!(combinations(&first), combinations(&Desk::new().run(&format!("{words} --seed 7"))));
    assert!(first.stdout.contains("5 of 88 combinations"), "{}", first.said());
}

#[test]
fn a_sweep_is_resumed_and_a_finished_study_is_given_more_repeats() {
    let desk = Desk::new();
    let words = format!("ycsb -s ram -s sqlite {SMALL} --vary clients=1,2 --out out");
    let ran = desk.kvtrial(&format!("run {words} --repeats 2"));
    assert_eq!((ran.status, orders(&ran)), (0, (1..=8).collect()), "{}", ran.said());
    let before = ran.cells()[0]["trials"][0].clone();
    let ran = desk.kvtrial(&format!("run {words} --repeats 5 --resume"));
    assert_eq!((ran.status, orders(&ran)), (0, (1..=20).collect()), "{}", ran.said());
    assert!(ran.stderr.contains("12 trials to run") && ran.stderr.contains("8 are recorded"), "{}", ran.said());
    assert_eq!(ran.cells()[0]["trials"][0], before, "what was recorded was touched");
    assert!(ran.cells().iter().all(|cell| cell["makespan_s"]["n"] == 5));
    // The trials added are whole rounds over all cells.
    let seconds: Vec<u64> = orders(&ran);
    assert_eq!(seconds.len() % 4, 0);
    let ran = desk.kvtrial(&format!("run {words} --repeats 3 --resume"));
    assert!(ran.status == 2 && ran.stderr.contains("more, not fewer"), "{}", ran.said());
}

#[test]
fn what_cannot_be_varied_is_answered_with_what_can_before_anything_is_started() {
    let message = refused("ycsb -s sqlite --vary bacth=1,2");
    assert!(
        message.contains("--vary bacth") && message.contains("operations") && message.contains("page_size"),
        "{message}"
    );
    assert!(refused("ycsb -s ram --vary clients=0,1").contains("clients=0: use 1 to 100000"));
    assert!(refused("ycsb -s ram --vary clients=8..1").contains("goes down"));
    assert!(refused("ycsb -s ram --vary clients=1..1000000").contains("too many"));
    assert!(refused("ycsb -s ram --vary records=100,0").contains("records=0"));
    assert!(refused("ycsb -s ram --vary workload=A,Z").contains("workload=Z"));
    assert!(refused("ycsb -s sqlite --vary page_size=1000").contains("4096"));
    assert!(refused("ycsb -s sqlite --vary durability=commit,always").contains("none, os, second or commit"));
    assert!(refused("ycsb -s sqlite --vary clients=1,2 --vary clients=4").contains("varied twice"));
    assert!(refused("ycsb -s ram --rate 100 --vary rate=1,2").contains("contradict"));
    assert!(refused("ycsb -s ram --poisson").contains("--rate"));
    assert!(refused("ycsb -s ram --vary records=1..200 --vary value=16..216").contains("--sample"));
    assert!(refused("ycsb -s memcached-unix --vary memcached.threads=1,0").contains("threads=0"));
}

#[test]
fn durability_is_varied_where_a_store_has_the_level_and_who_has_not_is_said() {
    let ran = Desk::new().run(&format!("ycsb -s sqlite -s fjall {SMALL} --repeats 1 --vary durability=none,commit"));
    assert_eq!(ran.status, 0, "{}", ran.said());
    let stores: BTreeSet<&str> = ran.cells().iter().map(|cell| cell["store"].as_str().unwrap()).collect();
    let expected = ["fjall,durability=commit", "fjall,durability=none", "sqlite", "sqlite,durability=commit"];
    assert_eq!(stores, expected.into());
    assert!(ran.stderr.contains("--vary durability: sqlite does not take none"), "{}", ran.said());
}

/// What `report --format text` prints of a study that was just run: every table of the run.
fn is_printed_again(desk: &Desk, ran: &Ran) {
    let again = desk.kvtrial("report out --format text");
    let (printed, _) = ran.stdout.split_once("Study: ").unwrap();
    assert_eq!(again.stdout, printed);
}

#[test]
fn a_sweep_says_first_who_was_ahead_and_shows_its_curve_before_its_tables_and_is_printed_again() {
    let desk = Desk::new();
    let slow = "-s lmdb,burn=300us -s lmdb --set records=50 --set operations=300 --no-baselines";
    let ran = desk.run(&format!("ycsb {slow} --repeats 2 --vary clients=1,2,3"));
    assert_eq!(ran.status, 0, "{}", ran.said());
    let words = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("lmdb was ahead at all 3 values of clients (2 embedded stores"), "{}", ran.said());
    assert!(words.contains("; 2 repeats cannot prove it, --repeats 3 or more can."), "{}", ran.said());
    let line = |text: &str| ran.stdout.lines().position(|line| line.contains(text)).unwrap_or(usize::MAX);
    assert!(line("was ahead") < line(" ┤") && line(" ┤") < line("VERDICT"), "{}", ran.stdout);
    is_printed_again(&desk, &ran);
}

#[test]
fn the_highest_rate_under_a_bound_is_found_with_its_curve() {
    // A store that takes 2 ms: 500 a second at most, and p99 rises before that. Long times, for machines that are busy.
    let words =
        "ycsb -s ram,burn=2ms --set records=20 --set seconds=1 --set workload=C --repeats 1 --find-rate p99<40ms";
    let (desk, ran) = sure(words);
    assert_eq!(ran.status, 0, "{}", ran.said());
    let study = ran.study.as_ref().unwrap();
    let found = &study["rate_search"][0];
    assert_eq!((&found["store"], &found["bound"]), (&"ram,burn=2ms".into(), &"p99<40ms".into()));
    let closed = found["closed_ops_per_s"].as_f64().unwrap();
    let rate = found["rate"]["value"].as_f64().unwrap_or_else(|| panic!("{}", ran.said()));
    assert!(closed <= 510.0 && rate < 600.0 && rate > 5.0, "{}", ran.said());
    let points = found["points"].as_array().unwrap();
    let offered: Vec<f64> = points.iter().map(|point| point["offered_ops_per_s"].as_f64().unwrap()).collect();
    assert!(offered.len() >= 6 && offered.windows(2).all(|pair| pair[0] < pair[1]), "{offered:?}");
    // A cell for every rate, and one for the closed loop; more clients have cells of their own.
    let own = ran.cells().iter().filter(|cell| cell["params"]["clients"] == "1").count();
    assert_eq!(own, points.len() + 1);
    assert!(ran.stdout.contains("keeps p99<40ms") && ran.stdout.contains("OFFERED"), "{}", ran.said());
    is_printed_again(&desk, &ran);
    // Each line names its rate and its tail, and none claims to be the last but one that is.
    let lines: Vec<&str> = ran.stderr.lines().filter(|line| line.starts_with("kvtrial: trial ")).collect();
    assert!(
        lines.iter().any(|line| line.contains(" at ") && line.contains("/s ") && line.contains(", p99 ")),
        "{lines:?}"
    );
    let complete =
        |line: &&str| line.split(' ').nth(2) == line.split(' ').nth(4).map(|total| total.trim_end_matches(','));
    assert!(!lines.iter().any(complete), "{lines:?}");
}

/// A server that takes 200 µs for each read, one after the other, can do 5,000 a second. With 16 in flight most of the queue is in the
/// client: only response times from the moment an operation was due show it.
#[test]
fn the_capacity_of_a_server_of_one_queue_is_found() {
    let mut seen = Vec::new();
    for _ in 0..3 {
        let rules = vec![Rule::new(Lie::InTurn(Duration::from_micros(200)), Target::Gets, When::Every(1))];
        let server = LyingServer::start(Protocol::Resp, rules).unwrap();
        let words = format!(
            "ycsb -s redis://127.0.0.1:{} --set workload=C --set records=20 --set value=16 --set seconds=1 \
             --pipeline 16 --repeats 2 --find-rate p99<30ms",
            server.port()
        );
        let ran = Desk::new().run(&words);
        assert_eq!(ran.status, 0, "{}", ran.said());
        let found = &ran.study.as_ref().unwrap()["rate_search"][0];
        let rate = &found["rate"];
        // Two rounds are too few to state an interval.
        assert!(rate["level"] == 0.0 && rate["n"].as_u64() <= Some(2), "{found}");
        assert!(ran.stdout.contains("about") && ran.stdout.contains("interval"), "{}", ran.said());
        let share = rate["value"].as_f64().unwrap() / 5_000.0;
        if (0.95..1.05).contains(&share) {
            return;
        }
        seen.push(share);
    }
    panic!("{seen:?} of the capacity");
}

#[test]
fn a_bound_nothing_can_keep_and_one_that_is_none_are_distinct() {
    let ran =
        Desk::new().run("ycsb -s ram,burn=2ms --set records=20 --set seconds=0.1 --set workload=C --find-rate p50<1ms");
    assert_eq!(ran.status, 0, "{}", ran.said());
    assert_eq!(ran.study.as_ref().unwrap()["rate_search"][0]["limited_by"], "bound", "{}", ran.said());
    assert!(ran.stdout.contains("even when nearly idle"), "{}", ran.said());
    assert!(refused("ycsb -s ram --find-rate p99<1s --set seconds=1").contains("seconds=25"));
    assert!(refused("ycsb -s ram --find-rate p99>1ms").contains("p99<2ms"));
    assert!(refused("ycsb -s ram --find-rate p99<1ms --vary rate=1,2").contains("contradict"));
    assert!(refused("ycsb -s ram --find-rate p99<1ms --rate 10").contains("cannot be used with"));
}

#[test]
fn tuning_finds_the_setting_that_was_made_best_and_what_does_nothing() {
    let desk = Desk::new();
    let words = "tune ycsb -s ram --budget 20s --set records=50 --set operations=400 --only \
                 --vary burn=200us,100us,20us,400us --vary clients=1,2 --out out";
    let ran = desk.kvtrial(words);
    assert_eq!(ran.status, 0, "{}", ran.said());
    let tune: &Value = &ran.study.as_ref().unwrap()["tune"];
    assert_eq!(tune["best"]["burn"], "20us", "{}", ran.said());
    assert_eq!(tune["default"]["burn"], "200us");
    assert!(tune["gain"]["low"].as_f64().unwrap() > 1.5, "{}", ran.said());
    assert!(tune["used_s"].as_f64().unwrap() <= 22.0, "{}", ran.said());
    assert_eq!(tune["combinations"], 8);
    assert!(!tune["pareto"].as_array().unwrap().is_empty() && !tune["rounds"].as_array().unwrap().is_empty());
    // Every trial is in the study, with the stage it belongs to.
    let stages: BTreeSet<&str> = ran
        .cells()
        .iter()
        .flat_map(|cell| cell["trials"].as_array().unwrap())
        .map(|trial| trial["stage"].as_str().unwrap())
        .collect();
    assert!(stages.is_superset(&["probe", "round 1", "comparison"].into()), "{stages:?}");
    assert!(ran.stdout.contains("burn=20us") && ran.stdout.contains("as good as the default"), "{}", ran.said());
    is_printed_again(&desk, &ran);
}

#[test]
fn tuning_refuses_what_it_cannot_do() {
    let message = |words: &str| {
        let ran = Desk::new().kvtrial(words);
        assert_eq!(ran.status, 2, "{}", ran.said());
        ran.stderr
    };
    assert!(message("tune ycsb -s redis://localhost:1").contains("a new store of its own"));
    assert!(message("tune ycsb -s ram --objective speed").contains("bytes_per_record"));
    assert!(message("tune ycsb -s ram --budget 1s --vary burn=1ms,2ms --only").contains("--budget is too small"));
}

/// A server that answers each get after 2 ms, whatever else it does: each client can have 500 per second, and many have many times that.
fn late_server() -> LyingServer {
    LyingServer::start(
        Protocol::Resp,
        vec![Rule::new(Lie::Late(Duration::from_millis(2)), Target::Gets, When::Every(1))],
    )
    .unwrap()
}

/// A search that says something of the store: on a busy machine the client itself may be late, or the edge move from round to round. Then the
/// search is made again, three times at most.
fn sure(words: &str) -> (Desk, Ran) {
    let is_unsure = |ran: &Ran| {
        let limit = &ran.study.as_ref().unwrap()["rate_search"][0]["limited_by"];
        ["client", "unsettled", "not_offered"].iter().any(|unsure| limit == unsure)
    };
    let search = || {
        let desk = Desk::new();
        let ran = desk.run(words);
        (desk, ran)
    };
    let mut found = search();
    for _ in 0..3 {
        if is_unsure(&found.1) {
            found = search();
        }
    }
    found
}

#[test]
fn a_single_client_that_is_the_limit_is_named_and_is_no_answer_about_the_store() {
    let server = late_server();
    let words = format!(
        "ycsb -s redis://127.0.0.1:{} --set workload=C --set records=20 --set value=16 --set seconds=1.5 --repeats 1 --find-rate p99<40ms",
        server.port()
    );
    let (_desk, ran) = sure(&words);
    assert_eq!(ran.status, 0, "{}", ran.said());
    let found = &ran.study.as_ref().unwrap()["rate_search"][0];
    assert_eq!(found["limited_by"], "connections", "{}", ran.said());
    assert_eq!((&found["clients"], &found["more_clients"]["clients"]), (&1.into(), &4.into()));
    let (more, one) = (found["more_clients"]["offered_ops_per_s"].as_f64(), found["rate"]["value"].as_f64());
    assert!(more > one.map(|rate| rate * 1.2) && one < Some(600.0), "{}", ran.said());
    let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains("its one client was the limit, not the store") && said.contains("--clients"),
        "{}",
        ran.said()
    );
}

#[test]
fn the_highest_rate_is_searched_for_each_number_of_clients_and_the_best_is_said() {
    let server = late_server();
    let words = format!(
        "ycsb -s redis://127.0.0.1:{} --set workload=C --set records=20 --set value=16 --set seconds=1.5 --repeats 1 \
         --vary clients=1,6 --find-rate p99<40ms",
        server.port()
    );
    let (_desk, ran) = sure(&words);
    assert_eq!(ran.status, 0, "{}", ran.said());
    let searches = ran.study.as_ref().unwrap()["rate_search"].as_array().unwrap();
    let clients: Vec<&Value> = searches.iter().map(|search| &search["varied"]["clients"]).collect();
    assert_eq!(clients, ["1", "6"]);
    assert_eq!(searches[0]["limited_by"], "connections", "{}", ran.said());
    assert_eq!(searches[0]["more_clients"]["clients"], 6);
    // One client waits 2 ms for each reply; six do so at the same time.
    let rate = |at: usize| searches[at]["rate"]["value"].as_f64().unwrap();
    assert!(rate(0) < 600.0 && rate(1) > 1.2 * rate(0), "{}", ran.said());
    let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("keeps p99<40ms at the highest rate with clients=6"), "{}", ran.said());
}

#[test]
fn a_search_that_is_cut_off_says_so_in_the_study_and_on_the_page_of_the_terminal() {
    let desk = Desk::new();
    let words =
        "run ycsb -s lmdb -s sqlite --set records=20 --set seconds=0.5 --set workload=C --find-rate p99<15ms --out out";
    let child = desk.command(words).spawn().unwrap();
    let trials = desk.path().join("out/trials.jsonl");
    testkit::waiting::until("two trials are on disk", || {
        std::fs::read_to_string(&trials).is_ok_and(|text| text.lines().count() >= 4)
    });
    // SAFETY: signalling our own child.
    unsafe { libc::kill(child.id().cast_signed(), libc::SIGINT) };
    let ran = desk.finished(child.wait_with_output().unwrap());
    assert_eq!(ran.status, 130, "{}", ran.said());
    let searches = ran.study.as_ref().unwrap()["rate_search"].as_array().unwrap();
    assert_eq!(searches.len(), 2);
    assert!(searches.iter().all(|search| search["limited_by"] == "interrupted"), "{}", ran.said());
    let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("lmdb: the search was cut off before its end"), "{}", ran.said());
    assert!(said.contains("sqlite: not searched"), "{}", ran.said());
}
