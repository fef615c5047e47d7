//! Who is ranked with whom, by what, and who is not told apart.

#![allow(clippy::unwrap_used)]

use analysis::{Metric, Rank, baseline, cost, groups, parts, summarise};
use study::{Cell, Durability, Latencies, LatencySummary, Measure, Reason, ReasonKind, Study, TrialRecord, Verdict};

/// A cell whose trials took these times and completed so many operations.
fn cell(store: &str, trials: &[(f64, u64)]) -> Cell {
    let trial = |(order, &(makespan_s, operations)): (usize, &(f64, u64))| TrialRecord {
        order: order as u32 + 1,
        makespan_s,
        operations,
        ops_per_s: operations as f64 / makespan_s,
        latency_ns: Latencies {
            response: LatencySummary { n: operations, p99: (makespan_s * 1e6) as u64, ..LatencySummary::default() },
            ..Latencies::default()
        },
        ..TrialRecord::default()
    };
    let mut cell = Cell {
        job: "ycsb".into(),
        store: store.into(),
        class: "network".into(),
        durability: Some(Durability::None),
        trials: trials.iter().enumerate().map(trial).collect(),
        ..Cell::default()
    };
    summarise(&mut cell);
    cell
}

fn places(cells: &[Cell]) -> Vec<(&str, Rank)> {
    let all: Vec<&Cell> = cells.iter().collect();
    groups(&all)
        .into_iter()
        .flat_map(|group| group.places)
        .map(|place| (place.cell.store.as_str(), place.rank))
        .collect()
}

#[test]
fn a_job_of_fixed_work_is_ranked_by_its_time() {
    let slow = cell("slow", &[(3.0, 100), (3.1, 100), (3.2, 100)]);
    let fast = cell("fast", &[(1.0, 100), (1.1, 100), (1.2, 100)]);
    assert_eq!(places(&[slow, fast]), [("fast", Rank::At(1)), ("slow", Rank::At(2))]);
}

#[test]
fn a_job_of_fixed_time_is_ranked_by_its_rate_and_never_by_its_time() {
    // The store that did ten times the work took a trifle longer.
    let mut cells = vec![
        cell("idle", &[(1.000, 1_000), (1.000, 1_010), (1.000, 1_020)]),
        cell("busy", &[(1.003, 10_000), (1.002, 10_100), (1.003, 10_200)]),
    ];
    assert_eq!(places(&cells)[0].0, "idle", "by time");
    cells.iter_mut().for_each(|cell| cell.measure = Measure::Rate);
    assert_eq!(places(&cells), [("busy", Rank::At(1)), ("idle", Rank::At(2))]);
    let all: Vec<&Cell> = cells.iter().collect();
    assert_eq!(groups(&all)[0].metric, Metric::OpsPerS);
    let tenfold = cost(&cells[0], Some(&cells[1])).unwrap();
    assert!((9.8..10.2).contains(&tenfold), "time an operation, not of the run: {tenfold}");
}

#[test]
fn a_fixed_schedule_is_ranked_by_response_time_and_has_no_cost() {
    let mut cells = vec![
        cell("late", &[(2.0, 1_000), (2.1, 1_000), (2.2, 1_000)]),
        cell("early", &[(1.0, 1_000), (1.1, 1_000), (1.2, 1_000)]),
    ];
    cells.iter_mut().for_each(|cell| cell.measure = Measure::Latency);
    assert_eq!(places(&cells), [("early", Rank::At(1)), ("late", Rank::At(2))]);
    assert_eq!(cost(&cells[0], Some(&cells[1])), None);
}

#[test]
fn stores_whose_times_overlap_share_a_place() {
    let a = cell("a", &[(1.0, 10), (1.2, 10), (1.4, 10)]);
    let b = cell("b", &[(1.1, 10), (1.3, 10), (1.5, 10)]);
    let c = cell("c", &[(9.0, 10), (9.1, 10), (9.2, 10)]);
    assert_eq!(places(&[c, b, a]), [("a", Rank::At(1)), ("b", Rank::Tied(1)), ("c", Rank::At(3))]);
}

#[test]
fn void_cells_and_other_promises_are_not_ranked_with_the_rest() {
    let mut void = cell("void", &[(0.1, 10), (0.1, 10), (0.1, 10)]);
    void.verdict = Verdict::of([Reason { kind: ReasonKind::LostUpdates, count: 1, example: "k".into() }]);
    let mut durable = cell("durable", &[(9.0, 10), (9.1, 10), (9.2, 10)]);
    durable.durability = Some(Durability::Commit);
    let library = Cell { class: "embedded".into(), ..cell("library", &[(0.2, 10), (0.2, 10), (0.2, 10)]) };
    let plain = cell("plain", &[(1.0, 10), (1.0, 10), (1.0, 10)]);
    assert_eq!(
        places(&[void, durable, library, plain]),
        [("library", Rank::At(1)), ("plain", Rank::At(1)), ("void", Rank::Unranked), ("durable", Rank::At(1))]
    );
}

#[test]
fn a_void_baseline_is_no_baseline() {
    let mut null = Cell { baseline: true, class: "baseline".into(), ..cell("null", &[(0.1, 10), (0.1, 10)]) };
    assert_eq!(baseline(&[&null], "null").map(|cell| cell.store.as_str()), Some("null"));
    null.verdict = Verdict::of([Reason { kind: ReasonKind::WrongAnswer, count: 1, example: String::new() }]);
    assert!(baseline(&[&null], "null").is_none());
}

#[test]
fn cells_are_parted_by_the_parameters_that_vary() {
    let with = |store: &str, clients: &str| {
        let mut cell = cell(store, &[(1.0, 10)]);
        cell.params = [("clients", clients), ("value", "100")].map(|(key, value)| (key.into(), value.into())).into();
        cell
    };
    let study =
        Study { cells: vec![with("a", "1"), with("b", "1"), with("a", "16"), with("b", "16")], ..Study::default() };
    let found: Vec<(String, usize)> = parts(&study).iter().map(|part| (part.label.clone(), part.cells.len())).collect();
    assert_eq!(found, [("clients=1".to_owned(), 2), ("clients=16".to_owned(), 2)]);
    assert_eq!(analysis::common_parameters(&study), ["value=100"]);
}
