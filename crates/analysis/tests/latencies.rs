//! The latencies of a cell: of all operations of its trials together, those that failed as slower than all.

#![allow(clippy::unwrap_used)]

use analysis::{
    Allowed, Candidates, Compared, ComparedCell, Gate, Metric, Pair, Ruling, compare, groups, judge, judge_cells,
    summarise,
};
use study::{Cell, Histogram, LatencyDistributions, Measure, PhaseRecord, Study, TrialRecord};

/// A trial with this many operations of each latency, and this many that failed.
fn trial(order: u32, latencies_ns: &[(u64, u32)], failed: u32) -> TrialRecord {
    let mut histogram = Histogram::default();
    latencies_ns.iter().for_each(|(ns, times)| histogram.record_many(*ns, *times));
    (0..failed).for_each(|_| histogram.fail());
    let distributions = LatencyDistributions {
        by_operation: [("get".into(), histogram.distribution())].into(),
        ..LatencyDistributions::default()
    };
    let latency_ns = LatencyDistributions::together([&distributions]).unwrap();
    let operations = latency_ns.response.asked_n();
    let phase = PhaseRecord {
        name: "run".into(),
        timed: true,
        elapsed_s: 1.0,
        operations,
        failed_operations: failed.into(),
        response_ns: latency_ns.response,
        distributions,
        ..PhaseRecord::default()
    };
    TrialRecord {
        order,
        makespan_s: 1.0,
        operations,
        failed_operations: Some(failed.into()),
        ops_per_s: latency_ns.response.n as f64,
        latency_ns,
        phases: vec![phase],
        ..TrialRecord::default()
    }
}

fn cell(store: &str, trials: Vec<TrialRecord>) -> Cell {
    let mut cell = Cell { store: store.into(), measure: Measure::Latency, trials, ..Cell::default() };
    summarise(&mut cell);
    cell
}

/// Trials of 1,000 operations of about this time, of which this many failed.
fn about(store: &str, us: u64, failed: u32, trials: u32) -> Cell {
    cell(store, (1..=trials).map(|at| trial(at, &[(us * 1_000 + u64::from(at), 1_000 - failed)], failed)).collect())
}

fn pair(a: &Cell, b: &Cell) -> Pair {
    let of = |cell: &Cell| Study { cells: vec![cell.clone()], ..Study::default() };
    let (first, second) = (of(a), of(b));
    let both = Candidates {
        cell: "x".into(),
        a: ComparedCell { name: "A".into(), study: &first, cell: a },
        b: ComparedCell { name: "B".into(), study: &second, cell: b },
        named: Vec::new(),
    };
    compare(&[both], &Metric::ALL, Allowed::default()).remove(0)
}

fn gates(all: &[&str]) -> Vec<Gate> {
    all.iter().map(|gate| gate.parse().unwrap()).collect()
}

#[test]
fn percentiles_and_mean_are_of_the_same_operations() {
    // One of three trials is slow: medians over trials say 100 ns up to the last of the percentiles, and the mean was 33 µs.
    let trials = vec![trial(1, &[(100, 1_000)], 0), trial(2, &[(100_000, 1_000)], 0), trial(3, &[(101, 1_000)], 0)];
    let cell = cell("x", trials);
    let response = cell.latency_ns.response;
    assert_eq!((response.n, response.min, response.max), (3_000, 100, 100_000));
    assert!((response.mean / 33_400.0 - 1.0).abs() < 0.01, "{response:?}");
    let near = |ns: f64| (ns / 1e5 - 1.0).abs() < 0.005;
    assert!(near(response.p99 as f64) && near(response.p99_9 as f64) && response.p50 == 101, "{response:?}");
    let p99 = cell.p99_ns.unwrap();
    assert_eq!((p99.value, p99.n, p99.level), (response.p99 as f64, 3, 0.75));
    assert!(p99.low == 100.0 && near(p99.high), "{p99:?}");
    assert_eq!(Metric::P999.of_cell(&cell).unwrap().value, response.p99_9 as f64);
    assert_eq!((cell.by_phase[0].p99_ns, cell.latency_ns.by_operation["get"]), (cell.p99_ns, response));
    assert!(near(cell.latency_ns.percentiles.last().unwrap().1 as f64));
}

#[test]
fn an_interval_holds_the_figure_of_all_trials() {
    // Two of twelve are slow: the interval of the median over trials does not reach them, and the figure of all operations does.
    let trials = (1..=12).map(|at| trial(at, &[(if at > 10 { 50_000 } else { 100 }, 1_000)], 0)).collect();
    let p99 = cell("x", trials).p99_ns.unwrap();
    assert!(p99.low <= 100.0 && p99.value > 49_000.0 && p99.high >= p99.value, "{p99:?}");
}

#[test]
fn a_trial_without_histograms_has_medians_as_earlier_builds_had() {
    let mut trials = vec![trial(1, &[(100, 9)], 0), trial(2, &[(200, 9)], 0), trial(3, &[(400, 9)], 0)];
    trials[1].phases[0].distributions = LatencyDistributions::default();
    let cell = cell("x", trials);
    assert_eq!(
        (cell.latency_ns.response.n, cell.latency_ns.response.p99, cell.p99_ns.unwrap().value),
        (27, 200, 200.0)
    );
}

#[test]
fn a_percentile_beyond_what_was_answered_is_not_reached() {
    let cell = cell("x", vec![trial(1, &[(100, 979)], 21), trial(2, &[(100, 979)], 21)]);
    assert!(cell.p99_ns.unwrap().is_not_reached());
    assert_eq!((Metric::P50.of_cell(&cell).unwrap().value, cell.latency_ns.response.p99), (100.0, 100));
    let share = cell.failed_share.unwrap();
    assert_eq!((share.value, share.low, share.high, share.n), (0.021, 0.021, 0.021, 2));
    assert_eq!((cell.ops_per_s.unwrap().value, cell.by_phase[0].ops_per_s.unwrap().value), (979.0, 979.0));
    // Over all trials it is reached, and one of them did not reach it: the interval says so.
    let one =
        self::cell("x", vec![trial(1, &[(100, 985)], 15), trial(2, &[(100, 1_000)], 0), trial(3, &[(90, 1_000)], 0)]);
    let p99 = one.p99_ns.unwrap();
    assert_eq!((p99.value, p99.low, p99.high), (100.0, 90.0, f64::INFINITY));
}

#[test]
fn a_store_whose_p99_is_not_reached_is_ranked_behind_all_whose_is() {
    let (slow, failing, fast) = (about("slow", 9_000, 0, 5), about("failing", 100, 21, 5), about("fast", 500, 0, 5));
    let ranked = groups(&[&slow, &failing, &fast]);
    let order: Vec<(&str, String)> =
        ranked[0].cells.iter().map(|it| (it.cell.store.as_str(), it.rank.text())).collect();
    assert_eq!(order, [("fast", "1".into()), ("slow", "2".into()), ("failing", "3".into())]);
}

#[test]
fn a_comparison_sees_what_failed() {
    let (before, after) = (about("x", 5_000, 0, 6), about("x", 100, 21, 6));
    let compared = pair(&before, &after);
    let finding = |metric| compared.contrast(metric).unwrap().finding;
    assert_eq!(
        [finding(Metric::P99), finding(Metric::Failed), finding(Metric::P50)],
        [Compared::Worse, Compared::Worse, Compared::Better]
    );
    assert_eq!(pair(&after, &before).contrast(Metric::P99).unwrap().finding, Compared::Better);
    assert_eq!(compared.contrast(Metric::P99).unwrap().ratio.unwrap().low, f64::INFINITY);
    let both = pair(&after, &after);
    assert_eq!(
        [Metric::P99, Metric::Failed].map(|metric| both.contrast(metric).unwrap().finding),
        [Compared::NoDifference, Compared::NoDifference]
    );
}

#[test]
fn the_ratio_of_a_comparison_is_that_of_the_figures_beside_it() {
    let odd = |at: u32| (if at == 3 { 90_000 } else { 100_000 }, 1_000);
    let (a, b) = (about("a", 50, 0, 8), cell("b", (1..=8).map(|at| trial(at, &[odd(at), (300_000, 10)], 0)).collect()));
    for metric in [Metric::P50, Metric::P99, Metric::P999] {
        let contrast = pair(&a, &b);
        let contrast = contrast.contrast(metric).unwrap();
        let ratio = contrast.ratio.unwrap();
        assert_eq!(ratio.value, contrast.b.value / contrast.a.value, "{metric}");
        assert!(ratio.low <= ratio.value && ratio.value <= ratio.high, "{metric}: {ratio:?}");
    }
}

#[test]
fn a_gate_on_what_failed_is_written_in_percent_and_one_on_a_percentile_that_was_not_reached_breaks() {
    let (well, failing) = (about("x", 5_000, 0, 8), about("x", 100, 21, 8));
    let written = ["failed > 1%", "failed > 0%", "failed > 5%", "p99 > 1h", "p99 > 1s", "p50 > 1s"];
    assert!(written[3].parse::<Gate>().is_err());
    let alone = gates(&[written[0], written[1], written[2], written[4], written[5]]);
    let ruled = |cell: &Cell| -> Vec<Ruling> {
        judge_cells(&alone, &[("x".into(), cell)]).into_iter().map(|it| it.outcome).collect()
    };
    assert_eq!(ruled(&failing), [Ruling::Broken, Ruling::Broken, Ruling::Kept, Ruling::Broken, Ruling::Kept]);
    assert_eq!(ruled(&well), [const { Ruling::Kept }; 5]);
    let against = judge(&gates(&["p99 > +5%", "failed > 1%"]), &[pair(&well, &failing)]);
    assert_eq!(against.into_iter().map(|it| it.outcome).collect::<Vec<_>>(), [Ruling::Broken, Ruling::Broken]);
    for (wrong, says) in [("failed > 120%", "0% to below 100%"), ("failed > 2", "%")] {
        let problem = wrong.parse::<Gate>().unwrap_err().to_string();
        assert!(problem.contains(says), "{problem}");
    }
}
