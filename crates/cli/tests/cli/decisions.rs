//! `kvtrial compare` of two studies of `kvtrial choose`: decisions that stand, that change, and that are not comparable.
#![allow(clippy::unwrap_used)]

use crate::common::{Desk, Ran};
use crate::golden::{golden, keep};
use serde_json::Value;
use study::{Alternative, Decision, Meets, NeedShown, Quantity, Rejection, RejectionKind, StoreChoice, Study};

const NEED: &str = "p99<5ms";

/// A store that is good enough and this many times as slow as the best.
fn also(store: &str, times: f64) -> Alternative {
    let times = Quantity { value: times, low: times - 0.1, high: times + 0.1, level: 0.95, n: 6 };
    Alternative { store: store.into(), times: Some(times) }
}

fn missing(store: &str) -> Rejection {
    Rejection { store: store.into(), kind: RejectionKind::Missed, because: NEED.into() }
}

fn taking(take: &[&str]) -> Decision {
    Decision { take: take.iter().map(|store| (*store).to_owned()).collect(), ..Decision::default() }
}

/// The golden study with these needs, decided so.
fn decided(needs: &[&str], decision: Decision) -> Study {
    let mut study = golden();
    study.needs = needs.iter().map(|need| (*need).to_owned()).collect();
    for cell in study.cells.iter_mut().filter(|cell| decision.out.iter().any(|it| it.store == cell.store)) {
        let seen = Some(Quantity::single(9.3e6));
        cell.meets = vec![NeedShown {
            need: NEED.into(),
            meets: Meets::Missed,
            seen,
            margin: Some(0.54),
            ..NeedShown::default()
        }];
    }
    study.choice = Some(StoreChoice { budget_s: 60.0, decisions: vec![decision], ..StoreChoice::default() });
    study
}

/// Two studies of the same need, kept and compared.
fn compared(before: Decision, after: Decision, words: &str) -> (Desk, Ran) {
    let desk = Desk::new();
    keep(&desk, "before", decided(&[NEED], before));
    keep(&desk, "after", decided(&[NEED], after));
    let ran = desk.kvtrial(&format!("compare before after {words}"));
    (desk, ran)
}

fn says(ran: &Ran, status: i32, part: &str) {
    let words = ran.said().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(ran.status == status && words.contains(part), "{status} {part}: {}", ran.said());
}

#[test]
fn a_store_that_is_shown_to_be_behind_now_changes_the_decision_in_every_format_and_ends_with_3_where_asked() {
    let before = Decision { also: vec![also("sqlite", 1.4)], ..taking(&["redb"]) };
    let after = Decision { also: vec![also("redb", 1.5)], ..taking(&["sqlite"]) };
    let changed = "CHANGED: after takes sqlite, before took redb: redb is behind, 1.40x to 1.60x as much.";
    let (desk, ran) = compared(before, after, "");
    says(&ran, 0, changed);
    assert!(ran.stdout.lines().all(|line| line.chars().count() <= 80), "{}", ran.stdout);
    let gate = "compare before after --fail-if decision";
    says(&desk.kvtrial(gate), 3, "FAILED all stores decision: take sqlite, was redb");
    for (format, words) in
        [("markdown", "- ❌ CHANGED: after takes sqlite"), ("junit", "<failure"), ("json", "\"shift\": \"changed\"")]
    {
        let ran = desk.kvtrial(&format!("{gate} --format {format}"));
        assert!(ran.status == 3 && ran.stdout.contains(words), "{format}: {}", ran.said());
    }
    let ran = desk.kvtrial(&format!("{gate} --format html --out page"));
    assert_eq!(ran.status, 3, "{}", ran.said());
    let page = std::fs::read_to_string(desk.path().join("page/report.html")).unwrap();
    let headline = page.split("<p class=\"headline\">").nth(1).and_then(|rest| rest.split("</p>").next()).unwrap();
    assert!(headline.starts_with("CHANGED: after takes sqlite, before took redb"), "{headline}");
}

#[test]
fn a_store_that_was_good_enough_and_is_out_is_named_with_the_need_it_misses() {
    let before = Decision { also: vec![also("sqlite", 1.4)], ..taking(&["redb"]) };
    let after = Decision { out: vec![missing("sqlite")], ..taking(&["redb"]) };
    let (desk, ran) = compared(before, after, "--fail-if decision");
    says(&ran, 3, "after takes redb, as before did.");
    says(&ran, 3, "OUT: sqlite was good enough in before and is not in after (p99<5ms: 9.30 ms).");
    says(&ran, 3, "FAILED all stores decision: no longer good enough: sqlite");
    let ran = desk.kvtrial("compare after before --fail-if decision");
    says(&ran, 0, "sqlite is good enough in before and was not in after (p99<5ms: 9.30 ms).");
}

#[test]
fn where_the_store_taken_misses_the_need_now_it_is_said_whether_another_is_left() {
    let after = Decision { out: vec![missing("redb")], ..taking(&["sqlite"]) };
    let (_, ran) = compared(taking(&["redb"]), after, "");
    says(&ran, 0, "CHANGED: after takes sqlite, before took redb: redb is out (p99<5ms: 9.30 ms).");
    let none = Decision { out: vec![missing("redb")], ..taking(&[]) };
    let (desk, ran) = compared(taking(&["redb"]), none, "--fail-if decision");
    says(&ran, 3, "CHANGED: after takes none, before took redb: redb is out (p99<5ms: 9.30 ms).");
    says(&desk.kvtrial("compare after before"), 0, "CHANGED: before takes redb, after took none.");
}

#[test]
fn stores_that_share_the_first_place_in_both_are_no_change() {
    let after = Decision { also: vec![also("redb", 1.5)], ..taking(&["sqlite"]) };
    let (_, ran) = compared(taking(&["redb", "sqlite"]), after, "--fail-if decision");
    says(&ran, 0, "after takes sqlite, before took redb or sqlite: no change is shown.");
    says(&ran, 0, "passed all stores decision: no change is shown");
}

#[test]
fn a_store_of_which_nothing_is_shown_now_is_no_change_either() {
    let not_shown = Decision { not_shown: vec!["redb".into()], ..taking(&["sqlite"]) };
    let not_tried = taking(&["sqlite"]);
    let not_run = Rejection { store: "redb".into(), kind: RejectionKind::NotRun, because: String::new() };
    let not_run = Decision { out: vec![not_run], ..taking(&["sqlite"]) };
    let dear = Decision { also: vec![Alternative { store: "redb".into(), times: None }], ..taking(&["sqlite"]) };
    for after in [not_shown, not_tried, not_run, dear] {
        let (_, ran) = compared(taking(&["redb"]), after, "--fail-if decision");
        says(&ran, 0, "after takes sqlite, before took redb; no change is shown: after shows nothing against redb.");
    }
}

#[test]
fn decisions_by_other_needs_are_not_compared_and_the_needs_of_each_are_named() {
    let desk = Desk::new();
    keep(&desk, "before", decided(&[NEED, "durability=os"], taking(&["redb"])));
    keep(&desk, "after", decided(&["durability=os", "p99<2ms", "disk<5x"], taking(&["sqlite"])));
    let ran = desk.kvtrial("compare before after");
    let differ = "The needs differ: only before has p99<5ms; only after has p99<2ms, disk<5x. Who meets them";
    says(&ran, 0, differ);
    assert!(!ran.stdout.contains("takes"), "{}", ran.stdout);
    says(&desk.kvtrial("compare before after --fail-if decision"), 2, "choose by the same in both");
    let json = desk.kvtrial("compare before after --format json").stdout;
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["unlike_needs"]["only_a"], serde_json::json!([NEED]));
    // The order in which they were written is no difference.
    keep(&desk, "turned", decided(&["durability=os", NEED], taking(&["redb"])));
    says(&desk.kvtrial("compare before turned --fail-if decision"), 0, "turned takes redb, as before did.");
}

#[test]
fn a_decision_on_other_input_is_compared_only_when_told() {
    let desk = Desk::new();
    keep(&desk, "before", decided(&[NEED], taking(&["redb"])));
    let mut other = decided(&[NEED], Decision { also: vec![also("redb", 1.5)], ..taking(&["sqlite"]) });
    other.host.cpu = "another".into();
    keep(&desk, "after", other);
    let ran = desk.kvtrial("compare before after --fail-if decision");
    says(&ran, 2, "Decision on all stores: not compared: the machines differ in cpu");
    says(&ran, 2, "--fail-if 'decision': the two are not alike");
    says(&desk.kvtrial("compare before after --fail-if decision --anyway"), 3, "CHANGED: after takes sqlite");
}

#[test]
fn what_decides_nothing_is_refused_with_the_remedy() {
    let desk = Desk::new();
    keep(&desk, "run", golden());
    keep(&desk, "chosen", decided(&[NEED], taking(&["redb"])));
    keep(&desk, "other", decided(&[NEED], Decision { class: Some(study::Class::Network), ..taking(&["redis"]) }));
    for (words, remedy) in [
        ("run chosen", "run decides nothing: name two studies of kvtrial choose"),
        ("chosen", "name two, or --baseline NAME and one"),
        ("chosen:redb other:redb", "name the studies, not cells of them"),
        ("chosen other", "they decide on no class and level of durability in common"),
    ] {
        says(&desk.kvtrial(&format!("compare {words} --fail-if decision")), 2, remedy);
    }
    says(&desk.kvtrial("compare chosen run --fail-if deciding"), 2, "or decision");
    says(&desk.kvtrial("compare chosen other"), 0, "Only other has a decision on network stores.");
}

#[test]
fn the_same_choice_made_twice_is_no_change() {
    let desk = Desk::new();
    for out in ["before", "after"] {
        let ran = desk.kvtrial(&format!(
            "choose ycsb --set records=50 --set operations=60 -s lmdb,burn=3ms -s lmdb --need durability=os --cuts 2 --budget 30s --out {out}"
        ));
        assert_eq!(ran.status, 0, "{}", ran.said());
    }
    let ran = desk.kvtrial("compare before after --fail-if decision");
    says(&ran, 0, "after takes lmdb, as before did.");
}
