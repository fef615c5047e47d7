//! `kvtrial fit`: what it says of the shipped trace, and that its plan runs.
#![allow(clippy::unwrap_used)]

use crate::common;

use common::Desk;

#[test]
fn fit_says_of_the_shipped_trace_what_is_known_of_it_and_its_plan_runs() {
    let desk = Desk::new();
    let ran = desk.command("fit web12 -o like").env("KVTRIAL_PLOTS", "always").output().unwrap();
    let ran = desk.finished(ran);
    assert_eq!(ran.status, 0, "{}", ran.said());
    // Hits at 100, 1,000 and 10,000 keys are known: 34,631, 61,882 and 81,091 of 95,607 gets; all of them 81,851.
    for words in [
        "95,607 requests for 13,756 keys, 6,207 of them once",
        "100 % gets",
        "not Zipf",
        "the first 914 times",
        "100   36.2",
        "1,000   64.7",
        "10,000   84.8",
        "13,756   85.6",
        "kvtrial run like/like.lua",
        "kvtrial run ycsb --plan like/like.properties --set theta=0.",
        "18 % of the keys of the last tenth were not asked for before",
    ] {
        assert!(ran.stdout.contains(words), "{words}: {}", ran.stdout);
    }
    assert!(!ran.stdout.contains("A cliff"), "{}", ran.stdout);
    let like = desk.kvtrial(
        "run ycsb --plan like/like.properties --set theta=0.7 -s ram --no-baselines --repeats 1 --warmups 0 --out out",
    );
    assert_eq!(like.status, 0, "{}", like.said());
    assert_eq!(like.only()["params"]["records"], "13756", "{}", like.only());
    let page = std::fs::read_to_string(desk.path().join("like/report.html")).unwrap();
    for words in [
        "What web12.trace.xz is like",
        "chart-hit-curve",
        "chart-popularity",
        "chart-working-set",
        "34,631",
        "61,882",
        "81,091",
    ] {
        assert!(page.contains(words), "{words}");
    }
    // What the trace does not have has no picture.
    for (name, is_there) in
        [("hit-curve", true), ("popularity", true), ("mix", true), ("working-set", true), ("lives", false)]
    {
        assert_eq!(desk.path().join(format!("like/plots/{name}.svg")).exists(), is_there, "{name}");
    }
}

#[test]
fn the_script_that_fit_writes_asks_for_as_many_keys_as_the_trace_and_hits_as_it_does() {
    let desk = Desk::new();
    assert_eq!(desk.kvtrial("fit web12 -o like").status, 0);
    let ran = desk.kvtrial("run like/like.lua -s ram -s lmdb --no-baselines --repeats 1 --warmups 0 --out out");
    assert_eq!(ran.status, 0, "{}", ran.said());
    assert!(ran.digest("ram") == ran.digest("lmdb") && ran.is_ranked("lmdb"), "{}", ran.said());
    // A get for each request, and a put for each that missed: 95,607 and 13,756 of the trace.
    let operations = ran.cell("ram")["by_phase"][0]["operations"].as_f64().unwrap();
    let misses = operations - 95_607.0;
    assert!((0.95..1.05).contains(&(misses / 13_756.0)), "{operations}");
}

#[test]
fn every_subject_of_a_trace_with_sizes_times_and_lives_has_its_picture() {
    let desk = Desk::new();
    let line = |number: u64| {
        let (key, ttl) = (number * number % 97, [60, 600, 3600][number as usize % 3]);
        format!("{},k{key},3,{},1,{},{}\n", number / 50, 10 + number % 900, ["get", "set"][number as usize % 2], ttl)
    };
    desk.file("app.csv", (1..4000).map(line).collect::<String>());
    let ran = desk.finished(desk.command("fit app.csv -o like").env("KVTRIAL_PLOTS", "always").output().unwrap());
    assert_eq!(ran.status, 0, "{}", ran.said());
    assert!(
        ran.stdout.contains("100 % of the sets give a time to live, and 0 gets and touches; 3 different ones: from 60"),
        "{}",
        ran.stdout
    );
    for name in ["mix", "popularity", "values", "arrivals", "lives", "working-set", "hit-curve"] {
        let svg = std::fs::read_to_string(desk.path().join(format!("like/plots/{name}.svg"))).unwrap();
        assert!(svg.contains("<path"), "{name}");
    }
    // Sizes of the script are those of the trace, up to the steps of its table.
    let sizes: f64 = ran
        .stdout
        .lines()
        .find(|line| line.trim_start().starts_with("script "))
        .unwrap()
        .split_whitespace()
        .nth(2)
        .unwrap()
        .parse()
        .unwrap();
    assert!(sizes < 2.0, "{}", ran.stdout);
    let like = desk.kvtrial("run like/like.lua -s ram -s redis-unix --no-baselines --repeats 1 --warmups 0 --out out");
    assert!(
        like.status == 0 && like.is_ranked("redis-unix") && like.digest("ram") == like.digest("redis-unix"),
        "{}",
        like.said()
    );
}

#[test]
fn fit_names_a_cliff_and_what_is_no_trace_ends_with_2() {
    let desk = Desk::new();
    let requests = (0..20_000_u32).flat_map(|number| (number % 700).to_be_bytes());
    desk.file("loop.trace", requests.collect::<Vec<u8>>());
    desk.file("cut.trace", [0; 7]);
    let ran = desk.kvtrial("fit loop.trace");
    assert!(ran.status == 0 && ran.stdout.contains("A cliff, which no Zipf law has: from "), "{}", ran.said());
    for (words, said) in [
        ("fit cut.trace", "cut.trace: it is cut off: of the record of 4 bytes at byte 4 there are 3"),
        ("fit loop.trace --format lcs", "magic number"),
        ("fit loop.trace --format csv", "use auto, kvtrace, cache2k"),
        ("fit loop.trace --requests none", "use a number, such as 10M"),
        ("fit absent.trace", "name a readable file"),
    ] {
        let ran = desk.kvtrial(words);
        assert!(ran.status == 2 && ran.stderr.contains(said), "{words}: {}", ran.said());
    }
}
