//! What cells show of needs, held against what is known of their trials.
#![allow(clippy::unwrap_used)]

use analysis::{Need, fill_needs, meets_all, summarise};
use study::{
    BudgetLayer, Cell, Class, CurvePoint, Durability, DurabilitySource, FaultRecord, Latencies, LatencySummary, Meets,
    NeedShown, Promise, Reason, ReasonKind, ServerUse, ShownPromise, Study, TrialRecord, Verdict, WriteAccount,
};

/// A trial that took one second for 10,000 operations, with this 99th percentile of response time.
fn trial(p99_ns: u64) -> TrialRecord {
    let response = LatencySummary { n: 10_000, p50: p99_ns / 2, p95: p99_ns, p99: p99_ns, ..LatencySummary::default() };
    TrialRecord {
        makespan_s: 1.0,
        operations: 10_000,
        ops_per_s: 10_000.0,
        failed_operations: Some(0),
        client_rss_bytes: 50 << 20,
        latency_ns: Latencies { response, ..Latencies::default() },
        verdict: Verdict::of([]),
        ..TrialRecord::default()
    }
}

fn cell(trials: impl IntoIterator<Item = TrialRecord>) -> Cell {
    let trials = trials.into_iter().collect();
    let mut cell = Cell { store: "lmdb".into(), class: Class::Embedded, trials, ..Cell::default() };
    cell.durability = Some(Durability::Os);
    cell.durability_source = Some(DurabilitySource::SetByKvtrial);
    cell
}

/// What the last cell of a study shows of these needs.
fn shown(needs: &[&str], cells: Vec<Cell>) -> Vec<NeedShown> {
    let needs = needs.iter().map(|need| (*need).to_owned()).collect();
    let mut study = Study { needs, cells, ..Study::default() };
    study.cells.iter_mut().for_each(summarise);
    fill_needs(&mut study);
    study.cells.pop().unwrap().meets
}

fn ruling(need: &str, cell: Cell) -> Meets {
    shown(&[need], vec![cell])[0].meets
}

fn times(p99s_us: &[u64]) -> Cell {
    cell(p99s_us.iter().map(|us| trial(us * 1_000)))
}

#[test]
fn a_percentile_meets_a_bound_that_all_trials_keep_clearly_and_misses_one_they_break_clearly() {
    assert_eq!(ruling("p99<5ms", times(&[1_000, 1_100, 1_050])), Meets::Met);
    assert_eq!(ruling("p99<5ms", times(&[9_000, 9_400, 9_200])), Meets::Missed);
    assert_eq!(ruling("p99<5ms", times(&[4_900, 5_300, 4_700])), Meets::NotShown);
    assert_eq!(ruling("p99<5ms", times(&[1_000, 1_100])), Meets::NotShown, "two trials are too few");
    let far = &shown(&["p99<5ms"], vec![times(&[1_000, 1_000, 1_000])])[0];
    assert!(far.margin.is_some_and(|margin| (4.9..5.1).contains(&margin)), "{far:?}");
    assert_eq!(far.seen.map(|seen| seen.n), Some(3));
}

#[test]
fn a_rate_of_a_closed_loop_is_what_was_answered_and_of_an_open_one_what_was_due() {
    assert_eq!(ruling("rate>=2000", times(&[100; 3])), Meets::Met);
    assert_eq!(ruling("rate>=20k", times(&[100; 3])), Meets::Missed);
    let open = |asked: &str, offered: f64, answered: f64| {
        let one = || TrialRecord { offered_per_s: Some(offered), ops_per_s: answered, ..trial(100_000) };
        let mut cell = cell((0..3).map(|_| one()));
        cell.params = [("rate".to_owned(), asked.to_owned())].into();
        cell
    };
    // Random arrivals are fewer than the rate asks for as often as they are more.
    assert_eq!(ruling("rate>=2000", open("2000", 1_985.0, 1_984.0)), Meets::Met);
    assert_eq!(ruling("rate>=2000", open("2000", 2_000.0, 1_900.0)), Meets::Missed);
    assert_eq!(ruling("rate>=2000", open("1000", 1_000.0, 1_000.0)), Meets::NotShown, "less was offered");
    let mut behind = open("2000", 2_000.0, 900.0);
    let reason = Reason { kind: ReasonKind::NotSent, count: 7, example: String::new() };
    behind.trials.iter_mut().for_each(|trial| trial.verdict = Verdict::of([reason.clone()]));
    assert_eq!(ruling("rate>=2000", behind.clone()), Meets::Missed, "the cell is void because it fell behind");
    assert_eq!(ruling("p99<5ms", behind), Meets::NotShown);
    let mut late = open("2000", 1_000.0, 1_000.0);
    let reason = Reason { kind: ReasonKind::RateNotOffered, count: 1, example: String::new() };
    late.trials.iter_mut().for_each(|trial| trial.verdict = Verdict::of([reason.clone()]));
    assert_eq!(ruling("rate>=2000", late), Meets::NotShown, "the client was the limit");
}

#[test]
fn memory_is_the_servers_or_what_an_embedded_store_takes_beyond_null() {
    let with_rss = |mib: u64| cell((0..3).map(|_| TrialRecord { client_rss_bytes: mib << 20, ..trial(100_000) }));
    let null = Cell { baseline: true, layer: Some(BudgetLayer::Generator), store: "null".into(), ..with_rss(40) };
    let of = |need: &str, cells| shown(&[need], cells)[0].clone();
    assert_eq!(of("memory<64MiB", vec![null.clone(), with_rss(60)]).meets, Meets::Met);
    assert_eq!(of("memory<16MiB", vec![null, with_rss(60)]).meets, Meets::Missed);
    let alone = of("memory<64MiB", vec![with_rss(60)]);
    assert!(alone.meets == Meets::NotShown && alone.because.contains("baseline null"), "{alone:?}");
    let server = Some(ServerUse { cpu_s: 0.1, peak_rss_bytes: 200 << 20 });
    let served = Cell { class: Class::Network, ..cell((0..3).map(|_| TrialRecord { server, ..trial(100_000) })) };
    assert_eq!(of("memory<64MiB", vec![served]).meets, Meets::Missed);
}

#[test]
fn disk_is_in_bytes_or_per_byte_of_keys_and_values() {
    let on_disk = |mib: u64| Cell {
        logical_bytes: 10 << 20,
        ..cell([0, 1, 2].map(|more| TrialRecord { disk_bytes: Some((mib << 20) + more * 8192), ..trial(100_000) }))
    };
    assert_eq!(ruling("disk<5x", on_disk(20)), Meets::Met);
    assert_eq!(ruling("disk<5x", on_disk(70)), Meets::Missed);
    assert_eq!(ruling("disk<30MiB", on_disk(20)), Meets::Met);
    let seen = shown(&["disk<5x"], vec![on_disk(20)])[0].seen.unwrap().value;
    assert!((2.0..2.01).contains(&seen), "{seen}");
    assert_eq!(ruling("disk<5x", times(&[100; 3])), Meets::NotShown, "its directory is not ours");
}

#[test]
fn durability_is_the_level_and_what_kills_have_shown_of_it() {
    assert_eq!(ruling("durability=os", times(&[100])), Meets::Met);
    assert_eq!(ruling("durability=commit", times(&[100])), Meets::Missed);
    let broken = ShownPromise { promise: Promise::Broken, cuts: 20, ..ShownPromise::default() };
    assert_eq!(ruling("durability=os", Cell { durability_shown: Some(broken), ..times(&[100]) }), Meets::Missed);
    let assumed = Cell { durability_source: Some(DurabilitySource::Assumed), ..times(&[100]) };
    assert_eq!(ruling("durability=os", assumed), Meets::NotShown);
}

#[test]
fn a_loss_is_one_where_a_node_failed() {
    let lost = |lost: u64| {
        let writes = Some(WriteAccount { lost, ..WriteAccount::default() });
        let faults = vec![FaultRecord::default()];
        cell([TrialRecord { writes, faults, ..trial(100_000) }])
    };
    assert_eq!(ruling("loss=0", lost(0)), Meets::Met);
    assert_eq!(ruling("loss=0", lost(3)), Meets::Missed);
    assert_eq!(ruling("loss=0", times(&[100])), Meets::NotShown);
}

#[test]
fn a_void_cell_meets_nothing_however_fast_it_was_and_baselines_are_not_judged() {
    let reason = Reason { kind: ReasonKind::StaleValue, count: 1, example: "user1".into() };
    let mut liar = times(&[10; 5]);
    liar.trials[2].verdict = Verdict::of([reason]);
    let found = shown(&["p99<5ms", "rate>=10", "durability=os"], vec![liar]);
    assert!(found.iter().all(|one| one.meets == Meets::NotShown && one.because == "the cell is void"), "{found:?}");
    assert_eq!(meets_all(&found), Meets::NotShown);
    assert_eq!(shown(&["p99<5ms"], vec![Cell { baseline: true, ..times(&[10; 5]) }]), []);
}

#[test]
fn one_need_that_is_missed_decides_and_then_one_that_is_not_shown() {
    let one = |meets| NeedShown { meets, ..NeedShown::default() };
    assert_eq!(meets_all(&[one(Meets::Met), one(Meets::NotShown), one(Meets::Missed)]), Meets::Missed);
    assert_eq!(meets_all(&[one(Meets::Met), one(Meets::NotShown)]), Meets::NotShown);
    assert_eq!(meets_all(&[one(Meets::Met), one(Meets::Met)]), Meets::Met);
    assert!("p99<5ms".parse::<Need>().is_ok());
}

#[test]
fn records_that_were_not_reached_are_said_with_what_the_end_of_the_growth_would_come_to() {
    // 1,000 records per second to the end, 100,000 records in all, 20 MB on disk.
    let point =
        |at: u64| CurvePoint { records: at * 1_000, at_s: at as f64, ops_per_s: 1_000.0, ..CurvePoint::default() };
    let curve = (1..=100).map(point).collect();
    let mut grown = cell([TrialRecord { curve, makespan_s: 100.0, disk_bytes: Some(20_000_000), ..trial(100_000) }]);
    grown.records = Some(100_000);
    assert_eq!(ruling("items>=100k", grown.clone()), Meets::Met);
    let said = &shown(&["items>=1M"], vec![grown])[0];
    assert_eq!(said.meets, Meets::NotShown);
    assert_eq!(
        said.because,
        "measured up to 100,000 records; the others would take 900 s at the 1000/s of its last tenth, if that lasts, and all 0.2 GB on disk, if each takes as much"
    );
}
