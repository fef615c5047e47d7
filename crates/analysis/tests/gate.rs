//! Conditions that fail a build, and those that never can.

#![allow(clippy::unwrap_used)]

mod sides;

use analysis::{Allowed, Candidates, Gate, Metric, Outcome, Subject, compare};
use sides::{cell, study, times};
use study::Study;

fn outcome(gate: &str, a: &Study, b: &Study) -> Outcome {
    let both = Candidates {
        cell: "x".into(),
        a: Subject { name: "A".into(), study: a, cell: &a.cells[0] },
        b: Subject { name: "B".into(), study: b, cell: &b.cells[0] },
        told: Vec::new(),
    };
    let pair = compare(&[both], &Metric::ALL, Allowed::default()).remove(0);
    gate.parse::<Gate>().unwrap().judge(&pair).outcome
}

fn of(about_s: f64, n: usize, salt: usize) -> Study {
    study(vec![cell("x", &times(about_s, n, salt))])
}

#[test]
fn a_gate_breaks_only_when_the_near_end_of_the_interval_is_beyond_the_bound() {
    let (a, much, little) = (of(1.0, 6, 0), of(1.3, 6, 1), of(1.05, 6, 2));
    assert_eq!(outcome("makespan > +5%", &a, &much), Outcome::Broken);
    assert_eq!(outcome("p99 > +5%", &a, &much), Outcome::Broken);
    assert_eq!(outcome("ops_per_s < -3%", &a, &much), Outcome::Broken);
    assert_eq!(outcome("makespan > +5%", &a, &little), Outcome::Kept, "it may well be 5 %: not sure, so not failed");
    assert_eq!(outcome("makespan > +5%", &much, &a), Outcome::Kept, "faster is no regression");
    assert_eq!(outcome("makespan > 1.2s", &a, &much), Outcome::Broken);
    assert_eq!(outcome("makespan > 1200 ms", &a, &a), Outcome::Kept);
    assert_eq!(outcome("p99 < 2ms", &a, &a), Outcome::Broken);
}

#[test]
fn so_few_repeats_can_never_be_sure_and_it_is_said_how_many_can() {
    assert_eq!(outcome("makespan > +5%", &of(1.0, 3, 0), &of(9.0, 3, 1)), Outcome::TooFew { repeats_needed: 4 });
    assert_eq!(outcome("makespan > +5%", &of(1.0, 4, 0), &of(9.0, 4, 1)), Outcome::Broken);
    assert_eq!(outcome("makespan > 2s", &of(1.0, 4, 0), &of(9.0, 4, 1)), Outcome::TooFew { repeats_needed: 6 });
    assert_eq!(outcome("makespan > 2s", &of(1.0, 6, 0), &of(9.0, 6, 1)), Outcome::Broken);
}

#[test]
fn a_figure_nobody_has_is_not_applicable() {
    assert!(matches!(outcome("server_cpu > +5%", &of(1.0, 6, 0), &of(1.0, 6, 1)), Outcome::NotApplicable { .. }));
}

#[test]
fn an_impossible_condition_is_refused_with_the_remedy() {
    for (gate, remedy) in [
        ("p98 > +5%", "there are: makespan, ops_per_s, p50, p99, p99.9"),
        ("p99", "such as 'p99 > +5%'"),
        ("p99 >= 5%", "such as 'p99 > +5%'"),
        ("p99 > 5%", "say which way: +5%"),
        ("p99 > +x%", "write +5%"),
        ("p99 < -100%", "-50%"),
        ("p99 > -250%", "+5%"),
        ("p99 > +inf%", "finite"),
        ("p99 > 2", "needs one of the units ns, us, µs, ms, s"),
        ("p99 > 2MiB", "needs one of the units ns"),
        ("disk > 5ms", "needs one of the units B, kB"),
        ("makespan > -2s", "above 0"),
        ("p99 > fast", "a number and a unit"),
        ("p99 > NaNms", "no bound"),
    ] {
        let error = gate.parse::<Gate>().unwrap_err().to_string();
        assert!(error.contains(remedy) && error.contains(&format!("--fail-if '{gate}'")), "{error}");
    }
}

#[test]
fn units_are_those_people_write() {
    for (gate, field) in [
        ("p99_ns > 500us", "p99_ns"),
        ("ops_per_s < 50k/s", "ops_per_s"),
        ("server_rss > 64 MiB", "server_rss_bytes"),
        ("disk>1GB", "disk_bytes"),
        ("makespan > 2min", "makespan_s"),
        ("p99.9 > -1.5%", "p99_9_ns"),
    ] {
        assert_eq!(gate.parse::<Gate>().unwrap().metric.field(), field, "{gate}");
    }
}
