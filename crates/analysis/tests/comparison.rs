//! What two cells may be said to differ in, and when nothing may be said.

#![allow(clippy::unwrap_used)]

mod sides;

use analysis::{
    Across, Allowed, Candidates, Compared, ComparedCell, Condition, Metric, Obstacle, Pair, Unlike, by_parameters,
    compare, same_cells, select, within,
};
use sides::{cell, study, times};
use study::{Cell, Durability, Reason, ReasonKind, Study, Verdict};

fn one(a: &Study, b: &Study, allowed: Allowed) -> Pair {
    let both = Candidates {
        cell: "x".into(),
        a: ComparedCell { name: "A".into(), study: a, cell: &a.cells[0] },
        b: ComparedCell { name: "B".into(), study: b, cell: &b.cells[0] },
        named: Vec::new(),
    };
    compare(&[both], &Metric::ALL, allowed).remove(0)
}

#[test]
fn a_slower_store_is_worse_in_time_and_in_rate_and_alike_in_what_did_not_change() {
    let (a, b) = (study(vec![cell("x", &times(1.0, 6, 0))]), study(vec![cell("x", &times(1.5, 6, 1))]));
    let pair = one(&a, &b, Allowed::default());
    let finding = |metric| pair.contrast(metric).unwrap().finding;
    assert_eq!([finding(Metric::Makespan), finding(Metric::OpsPerS), finding(Metric::P99)], [Compared::Worse; 3]);
    assert_eq!(finding(Metric::P50), Compared::NoDifference);
    assert_eq!(one(&b, &a, Allowed::default()).headline().unwrap().finding, Compared::Better);
    let ratio = pair.headline().unwrap().ratio.unwrap();
    assert!(ratio.low > 1.4 && ratio.high < 1.6 && ratio.level == 0.95, "{ratio:?}");
    assert!(pair.contrast(Metric::ServerRss).is_none(), "an embedded store has no server");
}

#[test]
fn no_difference_is_said_with_the_smallest_that_would_have_been_found() {
    let (a, b) = (study(vec![cell("x", &times(1.0, 8, 0))]), study(vec![cell("x", &times(1.0, 8, 5))]));
    let pair = one(&a, &b, Allowed::default());
    let headline = pair.headline().unwrap();
    assert_eq!(headline.finding, Compared::NoDifference);
    assert!((0.001..0.2).contains(&headline.smallest_detectable.unwrap()), "{headline:?}");
}

#[test]
fn two_repeats_show_nothing_and_it_is_said_how_many_would() {
    let (a, b) = (study(vec![cell("x", &[1.0, 1.1])]), study(vec![cell("x", &[9.0, 9.1])]));
    assert_eq!(one(&a, &b, Allowed::default()).headline().unwrap().finding, Compared::TooFew { repeats_needed: 3 });
    let (a, b) = (study(vec![cell("x", &[1.0, 1.1, 1.2])]), study(vec![cell("x", &[9.0, 9.1, 9.2])]));
    assert_eq!(one(&a, &b, Allowed::default()).headline().unwrap().finding, Compared::Worse);
}

#[test]
fn many_comparisons_ask_for_more_evidence_each() {
    // The same two cells: a difference alone, none among many others that do not differ.
    let pair = [cell("a", &[1.0, 1.02, 1.04]), cell("b", &[1.1, 1.12, 1.14])];
    let found = |study: &Study| -> Vec<Compared> {
        let pairs = within(study, Across::Refuse);
        let candidates: Vec<Candidates<'_>> = pairs
            .iter()
            .map(|(a, b)| Candidates {
                cell: String::new(),
                a: ComparedCell { name: a.store.clone(), study, cell: a },
                b: ComparedCell { name: b.store.clone(), study, cell: b },
                named: Vec::new(),
            })
            .collect();
        let compared = compare(&candidates, &[Metric::Makespan], Allowed::default());
        compared.iter().map(|pair| pair.headline().unwrap().finding).collect()
    };
    assert_eq!(found(&study(pair.to_vec())), [Compared::Better]);
    let others = (0..6).map(|at| cell(&format!("s{at}"), &[1.0, 1.07, 1.14]));
    assert!(found(&study(pair.into_iter().chain(others).collect())).iter().all(|it| *it == Compared::NoDifference));
}

#[test]
fn void_cells_are_never_compared() {
    let (a, mut b) = (study(vec![cell("x", &times(1.0, 6, 0))]), study(vec![cell("x", &times(1.5, 6, 1))]));
    b.cells[0].verdict = Verdict::of([Reason { kind: ReasonKind::LostUpdates, count: 3, example: "k".into() }]);
    let pair = one(&a, &b, Allowed { across: Across::Compare, unlike: Unlike::Compare });
    assert_eq!((pair.obstacle, pair.contrasts.len()), (Some(Obstacle::VoidB), 0));
    assert_eq!(one(&b, &a, Allowed::default()).obstacle, Some(Obstacle::VoidA));
}

#[test]
fn other_durability_or_class_is_compared_only_across_and_then_said() {
    let (a, mut b) = (study(vec![cell("x", &times(1.0, 6, 0))]), study(vec![cell("x", &times(1.5, 6, 1))]));
    b.cells[0].durability = Some(Durability::Commit);
    assert_eq!(one(&a, &b, Allowed::default()).obstacle, Some(Obstacle::Across));
    let pair = one(&a, &b, Allowed { across: Across::Compare, unlike: Unlike::Refuse });
    assert_eq!((pair.obstacle, pair.headline().unwrap().finding), (None, Compared::Worse));
    assert_eq!(pair.differences[0].condition, Condition::Durability);
}

#[test]
fn other_input_parameters_machine_or_instrument_forbid_a_comparison() {
    let a = study(vec![cell("x", &times(1.0, 6, 0))]);
    let changed = |change: &dyn Fn(&mut Study)| {
        let mut b = study(vec![cell("x", &times(1.5, 6, 1))]);
        change(&mut b);
        let refused = one(&a, &b, Allowed::default());
        assert_eq!(refused.obstacle, Some(Obstacle::Unlike), "{refused:?}");
        let insisted = one(&a, &b, Allowed { across: Across::Refuse, unlike: Unlike::Compare });
        assert!(insisted.headline().is_some());
        refused.differences[0].condition
    };
    assert_eq!(changed(&|b| drop(b.input.insert("digest".into(), "other".into()))), Condition::Input);
    assert_eq!(changed(&|b| drop(b.cells[0].params.insert("clients".into(), "16".into()))), Condition::Params);
    assert_eq!(changed(&|b| b.host.cpu = "another".into()), Condition::Host);
    let killed = || study::FaultFigures { planned: "at 5s kill 2".into(), ..study::FaultFigures::default() };
    assert_eq!(changed(&|b| b.cells[0].faults = vec![killed()]), Condition::Faults);
    assert_eq!(changed(&|b| b.kvtrial = "0.2.0".into()), Condition::Kvtrial);
    assert_eq!(changed(&|b| b.cells[0].job = "ycsb".into()), Condition::Job);
}

#[test]
fn what_two_machines_do_about_weaknesses_of_the_processor_is_noted_and_forbids_nothing() {
    let (mut a, mut b) = (study(vec![cell("x", &times(1.0, 6, 0))]), study(vec![cell("x", &times(1.5, 6, 1))]));
    a.host.mitigations = Some([("spectre_v2".into(), "Vulnerable".into())].into());
    // A study of an earlier version says nothing of it.
    assert_eq!(one(&a, &b, Allowed::default()).differences, []);
    b.host.mitigations = Some([("mds".into(), "Mitigation: Clear CPU buffers".into())].into());
    (a.host.microcode, b.host.microcode) = (Some("0x1".into()), Some("0x2".into()));
    let pair = one(&a, &b, Allowed::default());
    assert_eq!(pair.obstacle, None);
    let said: Vec<_> = pair.differences.iter().map(|it| (it.fact.as_str(), it.a.as_str(), it.b.as_str())).collect();
    assert_eq!(
        said,
        [
            ("mds", "Not affected", "Mitigation: Clear CPU buffers"),
            ("spectre_v2", "Vulnerable", "Not affected"),
            ("microcode", "0x1", "0x2")
        ]
    );
    assert!(pair.differences.iter().all(|it| it.condition == Condition::Mitigation));
}

#[test]
fn another_version_of_the_store_is_what_one_compares() {
    let (a, mut b) = (study(vec![cell("x", &times(1.0, 6, 0))]), study(vec![cell("x", &times(1.5, 6, 1))]));
    b.cells[0].store_version = "8.0".into();
    let pair = one(&a, &b, Allowed::default());
    assert_eq!((pair.obstacle, pair.differences[0].condition), (None, Condition::StoreVersion));
}

#[test]
fn cells_of_two_studies_meet_by_job_store_and_parameters() {
    let with = |store: &str, clients: &str, records: &str| {
        let mut cell = cell(store, &[1.0, 1.1]);
        cell.params =
            [("clients", clients), ("records", records)].map(|(key, value)| (key.into(), value.into())).into();
        cell
    };
    let a = study(vec![with("x", "1", "10"), with("x", "16", "10"), with("gone", "1", "10")]);
    let b = study(vec![with("x", "16", "10"), with("x", "1", "10"), with("new", "1", "10")]);
    let matched = same_cells(&a, &b);
    let clients = |cell: &Cell| cell.params["clients"].clone();
    assert!(matched.pairs.len() == 2 && matched.pairs.iter().all(|(a, b)| clients(a) == clients(b)));
    assert_eq!((matched.only_a[0].store.as_str(), matched.only_b[0].store.as_str()), ("gone", "new"));
    // A parameter changed throughout is a difference to be named, not a lack of common cells.
    let c = study(vec![with("x", "1", "99"), with("x", "16", "99")]);
    let matched = same_cells(&a, &c);
    assert!(matched.pairs.len() == 2 && matched.pairs.iter().all(|(a, c)| clients(a) == clients(c)));
}

#[test]
fn a_cell_is_named_by_its_spec_and_as_many_parameters_as_needed() {
    let with = |store: &str, clients: &str| {
        let mut cell = cell(store, &[1.0, 1.1]);
        cell.params.insert("clients".into(), clients.into());
        cell
    };
    let all =
        study(vec![with("x", "1"), with("x", "16"), with("x,durability=commit", "1"), with("y", "1"), with("y", "16")]);
    let count = |selector: &str| select(&all, selector).map(|found| found.len());
    assert_eq!((count("x").unwrap(), count("x,clients=16").unwrap(), count("x,durability=commit").unwrap()), (2, 1, 1));
    let error = count("z").unwrap_err().to_string();
    assert!(error.contains("no cell 'z'") && error.contains("x clients=16"), "{error}");
    // A sweep of one store meets the same sweep of another.
    let matched = by_parameters(select(&all, "x").unwrap(), select(&all, "y").unwrap());
    assert!(matched.pairs.len() == 2 && matched.pairs.iter().all(|(x, y)| x.params == y.params));
}
