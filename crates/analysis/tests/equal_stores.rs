//! Simulated studies of equal stores, through everything that leads to a place in a table: how many show an order?

#![allow(clippy::unwrap_used)]

use analysis::{Rank, ranking, summarise};
use study::{Cell, Durability, Study, TrialRecord};

/// 5 % of them, and three standard errors of the simulation.
const STUDIES: usize = 1_000;
const MOST: usize = 70;

/// From 0 up to and not including 1 (SplitMix64).
fn uniform(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}

fn normal(state: &mut u64) -> f64 {
    (-2.0 * (1.0 - uniform(state)).ln()).sqrt() * (std::f64::consts::TAU * uniform(state)).cos()
}

/// What a trial takes when `share` of the study is over.
type Machine = fn(&mut u64, f64) -> f64;

const MACHINES: [(&str, Machine); 3] = [
    ("normal", |state, _| (1.0 + 0.05 * normal(state)).max(0.1)),
    ("skewed", |state, _| (0.5 * normal(state)).exp()),
    ("drifting", |state, share| (1.0 + 0.3 * share) * (0.02 * normal(state)).exp()),
];

/// A study of equal stores, in rounds, in several parts: 2 clients, 4 clients and so on.
fn study(state: &mut u64, machine: Machine, parts: usize, stores: usize, trials: usize) -> Study {
    let mut cells: Vec<Cell> = (0..parts * stores)
        .map(|at| Cell {
            job: "fans".into(),
            store: format!("store{}", at % stores),
            class: study::Class::Embedded,
            durability: Some(Durability::Os),
            params: [("clients".to_owned(), (at / stores).to_string())].into(),
            ..Cell::default()
        })
        .collect();
    let all = cells.len() * trials;
    for round in 0..trials {
        let mut order: Vec<usize> = (0..cells.len()).collect();
        order.sort_by_key(|_| (uniform(state) * 1e15) as u64);
        for (position, cell) in order.into_iter().enumerate() {
            let at = round * cells.len() + position;
            let makespan_s = machine(state, at as f64 / all as f64);
            cells[cell].trials.push(TrialRecord {
                order: at as u32 + 1,
                makespan_s,
                operations: 1_000,
                ops_per_s: 1_000.0 / makespan_s,
                ..TrialRecord::default()
            });
        }
    }
    cells.iter_mut().for_each(summarise);
    Study { cells, ..Study::default() }
}

/// Whether any store has a place behind another one.
fn shows_an_order(study: &Study) -> bool {
    let places = ranking(study).into_iter().flat_map(|(_, groups)| groups).flat_map(|group| group.cells);
    places.into_iter().any(|ranked| !matches!(ranked.rank, Rank::Tied(1) | Rank::TooFew))
}

#[test]
fn at_most_five_in_a_hundred_studies_of_equal_stores_give_any_of_them_a_place_of_its_own() {
    let mut state = 2026;
    for (name, machine) in MACHINES {
        for stores in [2, 3, 5, 10] {
            let mut wrong = Vec::new();
            for trials in [2, 3, 4, 5, 8, 20] {
                let studies = if stores * trials > 60 { STUDIES / 4 } else { STUDIES };
                let ordered =
                    (0..studies).filter(|_| shows_an_order(&study(&mut state, machine, 1, stores, trials))).count();
                assert!(
                    ordered * STUDIES <= MOST * studies,
                    "{name}, {stores} stores, {trials} trials: {ordered} of {studies}"
                );
                wrong.push(ordered * STUDIES / studies);
            }
            println!("{name}, {stores} stores: {wrong:?} of {STUDIES}");
            assert_eq!(wrong[0], 0, "two trials show no order");
        }
    }
}

#[test]
fn a_sweep_of_many_parts_shows_no_more_than_a_study_of_one() {
    let mut state = 2027;
    for trials in [3, 5] {
        let ordered = (0..STUDIES).filter(|_| shows_an_order(&study(&mut state, MACHINES[0].1, 8, 2, trials))).count();
        println!("8 parts of 2 stores, {trials} trials: {ordered} of {STUDIES}");
        assert!(ordered <= MOST, "{trials} trials: {ordered}");
    }
}
