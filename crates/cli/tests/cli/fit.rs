//! `kvtrial fit`: what it says of the shipped trace, and that its plan runs.
#![allow(clippy::unwrap_used)]

use crate::common;

use common::Desk;

#[test]
fn fit_says_of_the_shipped_trace_what_is_known_of_it_and_its_plan_runs() {
    let desk = Desk::new();
    let ran = desk.kvtrial("fit web12 -o like.properties");
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
        "kvtrial run ycsb --plan like.properties --set theta=0.",
    ] {
        assert!(ran.stdout.contains(words), "{words}: {}", ran.stdout);
    }
    assert!(!ran.stdout.contains("A cliff"), "{}", ran.stdout);
    let like = desk.kvtrial(
        "run ycsb --plan like.properties --set theta=0.7 -s ram --no-baselines --repeats 1 --warmups 0 --out out",
    );
    assert_eq!(like.status, 0, "{}", like.said());
    assert_eq!(like.only()["params"]["records"], "13756", "{}", like.only());
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
