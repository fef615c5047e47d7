//! Who is ranked with whom, by what, and who cannot be separated.

#![allow(clippy::unwrap_used)]

use analysis::{
    Across, Allowed, Candidates, Compared, ComparedCell, Metric, Rank, baseline, compare, cost, groups, parts, ranking,
    summarise, within,
};
use study::{
    BudgetLayer, Cell, Class, Durability, Latencies, LatencySummary, Measure, Reason, ReasonKind, Study, TrialRecord,
    Verdict,
};

/// A cell whose trials took these times and completed this many operations.
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
        class: Class::Network,
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
        .flat_map(|group| group.cells)
        .map(|ranked| (ranked.cell.store.as_str(), ranked.rank))
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
    assert!((9.8..10.2).contains(&tenfold), "time per operation, not of the run: {tenfold}");
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
    assert_eq!(places(&[c, b, a]), [("a", Rank::Tied(1)), ("b", Rank::Tied(1)), ("c", Rank::At(3))]);
}

#[test]
fn a_place_is_left_behind_only_where_all_before_are_shown_to_be_better_than_all_after() {
    // a is ahead of c, but b, between them, cannot be separated from either.
    let a = cell("a", &[(1.00, 10), (1.01, 10), (1.02, 10), (1.03, 10)]);
    let b = cell("b", &[(0.95, 10), (1.25, 10), (1.15, 10), (1.35, 10)]);
    let c = cell("c", &[(1.40, 10), (1.41, 10), (1.42, 10), (1.44, 10)]);
    assert_eq!(places(&[a.clone(), c.clone()]), [("a", Rank::At(1)), ("c", Rank::At(2))]);
    assert_eq!(places(&[a, b, c]), [("a", Rank::Tied(1)), ("b", Rank::Tied(1)), ("c", Rank::Tied(1))]);
}

#[test]
fn two_trials_give_no_place_however_far_apart_and_are_listed_by_their_median() {
    let (slow, fast) = (cell("slow", &[(9.0, 10), (9.1, 10)]), cell("fast", &[(1.0, 10), (1.1, 10)]));
    assert_eq!(places(&[slow, fast]), [("fast", Rank::TooFew), ("slow", Rank::TooFew)]);
    let single = |store: &str, time_s| cell(store, &[(time_s, 10)]);
    assert_eq!(places(&[single("b", 2.0), single("a", 1.0)]), [("a", Rank::TooFew), ("b", Rank::TooFew)]);
}

#[test]
fn a_table_and_a_comparison_of_the_same_study_say_the_same_of_every_pair() {
    let about = |store: &str, time_s: f64, spread: f64| {
        let trials: Vec<(f64, u64)> = (0..5)
            .map(|at| (time_s * (1.0 + spread * f64::from((at * 7 + store.len() as i32 * 3) % 5 - 2)), 100))
            .collect();
        cell(store, &trials)
    };
    let cells = vec![
        about("a", 1.0, 0.02),
        about("bb", 1.03, 0.02),
        about("ccc", 1.6, 0.05),
        about("dddd", 1.75, 0.05),
        about("eeeee", 9.0, 0.1),
    ];
    let study = Study { cells, ..Study::default() };
    let place = |store: &str| {
        let (_, groups) = ranking(&study).remove(0);
        let rank = groups[0].cells.iter().find(|ranked| ranked.cell.store == store).unwrap().rank;
        match rank {
            Rank::At(place) | Rank::Tied(place) => place,
            other => panic!("{other:?}"),
        }
    };
    let pairs = within(&study, Across::Refuse);
    let candidates: Vec<Candidates<'_>> = pairs
        .iter()
        .map(|(a, b)| Candidates {
            cell: String::new(),
            a: ComparedCell { name: a.store.clone(), study: &study, cell: a },
            b: ComparedCell { name: b.store.clone(), study: &study, cell: b },
            named: Vec::new(),
        })
        .collect();
    let compared = compare(&candidates, &[Metric::Makespan], Allowed::default());
    let (mut clear, mut tied) = (0, 0);
    for ((worse, better), pair) in pairs.iter().zip(compared) {
        let shown = pair.headline().unwrap().finding == Compared::Better;
        assert_eq!(place(&better.store) < place(&worse.store), shown, "{} and {}", better.store, worse.store);
        (clear, tied) = (clear + usize::from(shown), tied + usize::from(!shown));
    }
    assert!(clear > 0 && tied > 0, "{clear} clear, {tied} tied");
}

#[test]
fn void_cells_and_other_promises_are_not_ranked_with_the_rest() {
    let mut void = cell("void", &[(0.1, 10), (0.1, 10), (0.1, 10)]);
    void.verdict = Verdict::of([Reason { kind: ReasonKind::LostUpdates, count: 1, example: "k".into() }]);
    let mut durable = cell("durable", &[(9.0, 10), (9.1, 10), (9.2, 10)]);
    durable.durability = Some(Durability::Commit);
    let library = Cell { class: Class::Embedded.into(), ..cell("library", &[(0.2, 10), (0.2, 10), (0.2, 10)]) };
    let plain = cell("plain", &[(1.0, 10), (1.0, 10), (1.0, 10)]);
    assert_eq!(
        places(&[void, durable, library, plain]),
        [("library", Rank::Alone), ("plain", Rank::Alone), ("void", Rank::Unranked), ("durable", Rank::Alone)]
    );
}

#[test]
fn a_void_baseline_is_no_baseline() {
    let mut null = Cell { baseline: true, class: Class::Baseline.into(), ..cell("null", &[(0.1, 10), (0.1, 10)]) };
    assert_eq!(baseline(&[&null], BudgetLayer::Generator).map(|cell| cell.store.as_str()), Some("null"));
    null.verdict = Verdict::of([Reason { kind: ReasonKind::WrongAnswer, count: 1, example: String::new() }]);
    assert!(baseline(&[&null], BudgetLayer::Generator).is_none());
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

#[test]
fn distributed_stores_that_replicate_and_those_that_do_not_are_ranked_apart() {
    let distributed = |store, times, copies| Cell { class: Class::Distributed, copies, ..cell(store, times) };
    let (fast, slow) = (&[(1.0, 100), (1.1, 100), (1.2, 100)], &[(3.0, 100), (3.1, 100), (3.2, 100)]);
    let cells = [distributed("etcd", slow, Some(3)), distributed("redis-cluster", fast, Some(1))];
    assert_eq!(places(&cells), [("redis-cluster", Rank::Alone), ("etcd", Rank::Alone)]);
    let cells = [distributed("etcd", slow, Some(3)), distributed("redis-cluster,replicas=1", fast, Some(2))];
    assert_eq!(places(&cells), [("redis-cluster,replicas=1", Rank::At(1)), ("etcd", Rank::At(2))]);
    let earlier = [distributed("etcd", slow, None), distributed("redis-cluster", fast, None)];
    assert_eq!(places(&earlier), [("redis-cluster", Rank::At(1)), ("etcd", Rank::At(2))]);
}
