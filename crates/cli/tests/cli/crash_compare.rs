//! `kvtrial compare` of two studies of `kvtrial crash`: stores that keep their promise, stores that do not, and what may not be compared.
#![allow(clippy::unwrap_used)]

use crate::common;
use crate::golden;

use common::{Desk, Ran};
use golden::keep;
use serde_json::Value;
use study::{CrashCut, Promise};

/// A study of a few short crashes.
fn crashed(desk: &Desk, words: &str, out: &str) {
    let ran = desk.kvtrial(&format!("crash {words} --clients 2 --within 20ms --out {out}"));
    assert!(ran.status < 2, "{}", ran.said());
}

/// What was printed, with its continued lines joined.
fn unwrapped(ran: &Ran) -> String {
    ran.said().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn says(ran: &Ran, status: i32, all: &[&str]) {
    let words = unwrapped(ran);
    for part in all {
        assert!(ran.status == status && words.contains(part), "{status} {part}: {}", ran.said());
    }
}

/// Copies of a cut that broke nothing, some of them with a lost write.
fn with_losses(desk: &Desk, from: &str, to: &str, lossy: usize, cuts: usize) {
    let mut study = archive::read_study(&desk.path().join(from)).unwrap();
    let case = &mut study.crash.as_mut().unwrap().cases[0];
    let mut cut: CrashCut = case.cuts[0].clone();
    case.cuts = vec![cut.clone(); cuts - lossy];
    (cut.found.lost, cut.found.oldest_lost_s) = (7, Some(0.036));
    case.cuts.extend(vec![cut; lossy]);
    case.not_ruled_out = (lossy == 0).then(|| crash::ruled_out(cuts as u32));
    case.promise = if lossy == 0 { Promise::Kept } else { Promise::Broken };
    keep(desk, to, study);
}

#[test]
fn a_promise_that_was_kept_and_is_broken_now_ends_with_3_and_the_other_way_round_with_0() {
    let desk = Desk::new();
    crashed(&desk, "crash-proof --cuts 3", "before");
    crashed(&desk, "crash-proof,fault=in-memory --cuts 3", "after");
    let pair = "before:crash-proof after:crash-proof,fault=in-memory";
    let ran = desk.kvtrial(&format!("compare {pair}"));
    let broke = "REGRESSION: crash-proof,fault=in-memory,durability=os in after broke its promise, crash-proof,durability=os in before kept it.";
    says(&ran, 3, &[broke, "promise kept → broken", "0 of 3 crashes (up to 63 %) → 3 of 3 crashes", "n 3 and 3"]);
    says(&ran, 3, &["too few crashes to separate the two (p 0.100); crash both with --cuts 10 or more"]);
    // It fits a narrow terminal, and no word is cut.
    let narrow = desk.command(&format!("compare {pair}")).env("COLUMNS", "60").output().unwrap();
    let narrow = desk.finished(narrow);
    assert!(narrow.stdout.lines().all(|line| line.chars().count() <= 60), "{}", narrow.stdout);
    assert_eq!(unwrapped(&narrow), unwrapped(&ran));
    let ran = desk.kvtrial("compare after:crash-proof,fault=in-memory before:crash-proof");
    says(&ran, 0, &["in before kept its promise", "promise broken → kept"]);
    for (format, words) in [("markdown", "- ❌ REGRESSION: "), ("junit", "<failure"), ("json", "\"regression\"")] {
        let ran = desk.kvtrial(&format!("compare {pair} --format {format}"));
        assert!(ran.status == 3 && ran.stdout.contains(words), "{format}: {}", ran.said());
    }
    let ran = desk.kvtrial(&format!("compare {pair} --format json"));
    let found: Value = serde_json::from_str(&ran.stdout).unwrap();
    let after = &found["pairs"][0]["b"];
    assert!(after["lost"].as_u64().unwrap() > 0 && after["broken"] == 3 && after["cuts"] == 3, "{found}");
    // Into a file; the text is still printed.
    let ran = desk.kvtrial(&format!("compare {pair} --format markdown --out found.md"));
    says(&ran, 3, &["promise kept → broken"]);
    assert!(std::fs::read_to_string(desk.path().join("found.md")).unwrap().contains("| promise | kept → broken |"));
}

#[test]
fn stores_that_keep_their_promise_do_so_before_and_after_and_what_one_study_lacks_is_named() {
    let desk = Desk::new();
    crashed(&desk, "sqlite,durability=os kyotocabinet,durability=os --cuts 2", "before");
    crashed(&desk, "sqlite --cuts 2", "after");
    let ran = desk.kvtrial("compare before after");
    let kept = "sqlite,durability=os: after kept its promise, as before did.";
    says(&ran, 0, &[kept, "0 of 2 crashes (up to 78 %) → 0 of 2 crashes (up to 78 %)", "medians, n 2 and 2"]);
    says(&ran, 0, &["Only before has kyotocabinet,durability=os.", "Only after has sqlite,durability=commit."]);
    // Another level is compared only when asked.
    let levels = "compare before:sqlite after:sqlite,durability=commit";
    says(&desk.kvtrial(levels), 2, &["the durability levels differ: os against commit", "--across"]);
    says(&desk.kvtrial(&format!("{levels} --across")), 0, &["NOT ALIKE: the durability levels differ"]);
    says(&desk.kvtrial("compare before:kyotocabinet after"), 2, &["there is no cell 'kyotocabinet'"]);
    // A saved baseline is one as any other.
    assert_eq!(desk.kvtrial("compare --save-baseline good before").status, 0);
    says(&desk.kvtrial("compare --baseline good after"), 0, &["after kept its promise, as good did"]);
}

#[test]
fn crashes_of_another_kind_are_refused_with_the_difference_until_told() {
    let desk = Desk::new();
    crashed(&desk, "sqlite,durability=os --cuts 1", "before");
    crashed(&desk, "sqlite,durability=os --during checkpoint --cuts 1", "after");
    let ran = desk.kvtrial("compare before after");
    says(&ran, 2, &["not compared: the crashes differ in --during: write against checkpoint.", "--anyway"]);
    // What is written, and for how long, is a part of it.
    crashed(&desk, "sqlite,durability=os --value-bytes 4000 --cuts 1", "longer");
    says(&desk.kvtrial("compare before longer"), 2, &["the crashes differ in --value-bytes: 228 against 4000."]);
    let resumed = desk.kvtrial("crash sqlite,durability=os --clients 2 --cuts 2 --out longer --resume --within 20ms");
    says(&resumed, 2, &["of crashes of another kind"]);
    // Studies of earlier versions do not say it.
    let mut study = archive::read_study(&desk.path().join("longer")).unwrap();
    study.crash.as_mut().unwrap().value_bytes = None;
    keep(&desk, "earlier", study);
    says(&desk.kvtrial("compare before earlier"), 0, &["promise kept → kept"]);
    let ran = desk.kvtrial("compare before after --anyway");
    says(&ran, 0, &["NOT ALIKE: the crashes differ in --during: write against checkpoint.", "promise kept → kept"]);
}

#[test]
fn whether_the_data_separate_the_two_is_said_and_a_regression_is_one_all_the_same() {
    let desk = Desk::new();
    crashed(&desk, "sqlite,durability=os --cuts 1", "one");
    for (name, lossy) in [("none", 0), ("some", 3), ("most", 12)] {
        with_losses(&desk, "one", name, lossy, 20);
    }
    let ran = desk.kvtrial("compare none some");
    says(
        &ran,
        3,
        &[
            "0 of 20 crashes (up to 14 %)",
            "→ 3 of 20 crashes (5.2 % to 36 %)",
            "separate the two (p 0.231); crash both with",
        ],
    );
    says(
        &ran,
        3,
        &["lost in 0 of 20 crashes → 3 of 20 crashes", "lost writes 0 of ", "→ 21 of ", "oldest lost none → 36.0 ms"],
    );
    says(&desk.kvtrial("compare none most"), 3, &["12 of 20 crashes", "more than chance (p below 0.001)"]);
    says(&desk.kvtrial("compare some most"), 0, &["most broke its promise, as some did, and more often."]);
    says(&desk.kvtrial("compare most some"), 0, &["some broke its promise, as most did, but less often."]);
    let mut study = archive::read_study(&desk.path().join("some")).unwrap();
    let case = &mut study.crash.as_mut().unwrap().cases[0];
    (case.promise, case.cuts, case.problem) = (Promise::NotShown, Vec::new(), "it did not open".into());
    keep(&desk, "silent", study);
    says(
        &desk.kvtrial("compare none silent"),
        1,
        &["nothing is shown of its promise by silent", "silent: it did not open"],
    );
}

#[test]
fn what_says_nothing_of_crashes_is_refused_with_the_remedy() {
    let desk = Desk::new();
    keep(&desk, "run", golden::golden());
    crashed(&desk, "sqlite,durability=os --cuts 1", "before");
    crashed(&desk, "kyotocabinet,durability=os --cuts 1", "after");
    for (words, remedy) in [
        ("run before", "Name two studies of kvtrial crash, or two of kvtrial run"),
        ("before run", "before is a study of crashes and run one of a run"),
        ("before", "kvtrial report DIR --format text"),
        ("before before", "name two of its levels"),
        ("before after", "have no level of a store in common"),
        ("before before --fail-if p99>+5%", "leave --fail-if out"),
        ("before before --metric p99", "leave --metric out"),
        ("before before --format html", "use text, markdown, junit or json"),
    ] {
        says(&desk.kvtrial(&format!("compare {words}")), 2, &[remedy]);
    }
}
