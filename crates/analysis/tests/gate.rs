//! Conditions that fail a build, and those that never can.

#![allow(clippy::unwrap_used)]

mod sides;

use analysis::{Allowed, Candidates, ComparedCell, Gate, Metric, Ruling, compare, judge, judge_cells};
use sides::{cell, study, times};
use study::Study;

fn outcome(gate: &str, a: &Study, b: &Study) -> Ruling {
    outcomes(&[gate], a, b, &Metric::ALL).remove(0)
}

/// What the gates say of each cell of two studies.
fn outcomes(gates: &[&str], a: &Study, b: &Study, metrics: &[Metric]) -> Vec<Ruling> {
    let both: Vec<Candidates<'_>> = (a.cells.iter().zip(&b.cells))
        .map(|(of_a, of_b)| Candidates {
            cell: of_a.store.clone(),
            a: ComparedCell { name: "A".into(), study: a, cell: of_a },
            b: ComparedCell { name: "B".into(), study: b, cell: of_b },
            named: Vec::new(),
        })
        .collect();
    let gates: Vec<Gate> = gates.iter().map(|gate| gate.parse().unwrap()).collect();
    judge(&gates, &compare(&both, metrics, Allowed::default())).into_iter().map(|it| it.outcome).collect()
}

/// Random numbers (splitmix64).
struct Rng(u64);

impl Rng {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (((z ^ (z >> 31)) >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * self.unit().ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos()
    }
}

/// A study of this many cells, each this many times as slow as usual, with lognormal noise.
fn noisy(cells: &[f64], n: usize, rng: &mut Rng) -> Study {
    let mut times = |factor: f64| (0..n).map(|_| factor * (0.1 * rng.normal()).exp()).collect::<Vec<f64>>();
    study(cells.iter().enumerate().map(|(at, factor)| cell(&format!("cell {at}"), &times(*factor))).collect())
}

fn of(about_s: f64, n: usize, salt: usize) -> Study {
    study(vec![cell("x", &times(about_s, n, salt))])
}

#[test]
fn a_gate_breaks_only_when_the_near_end_of_the_interval_is_beyond_the_bound() {
    let (a, much, little) = (of(1.0, 6, 0), of(1.3, 6, 1), of(1.05, 6, 2));
    assert_eq!(outcome("makespan > +5%", &a, &much), Ruling::Broken);
    assert_eq!(outcome("p99 > +5%", &a, &much), Ruling::Broken);
    assert_eq!(outcome("ops_per_s < -3%", &a, &much), Ruling::Broken);
    assert_eq!(outcome("makespan > +5%", &a, &little), Ruling::Kept, "it may well be 5 %: not sure, so not failed");
    assert_eq!(outcome("makespan > +5%", &much, &a), Ruling::Kept, "faster is no regression");
    assert_eq!(outcome("makespan > 1.2s", &a, &much), Ruling::Broken);
    assert_eq!(outcome("makespan > 1200 ms", &a, &a), Ruling::Kept);
    assert_eq!(outcome("p99 < 2ms", &a, &a), Ruling::Broken);
}

#[test]
fn so_few_repeats_can_never_be_sure_and_it_is_said_how_many_can() {
    assert_eq!(outcome("makespan > +5%", &of(1.0, 3, 0), &of(9.0, 3, 1)), Ruling::TooFew { repeats_needed: 4 });
    assert_eq!(outcome("makespan > +5%", &of(1.0, 4, 0), &of(9.0, 4, 1)), Ruling::Broken);
    assert_eq!(outcome("makespan > 2s", &of(1.0, 4, 0), &of(9.0, 4, 1)), Ruling::TooFew { repeats_needed: 6 });
    assert_eq!(outcome("makespan > 2s", &of(1.0, 6, 0), &of(9.0, 6, 1)), Ruling::Broken);
}

#[test]
fn what_could_not_have_been_seen_is_too_noisy_to_judge_and_has_not_passed() {
    // Trials that differ by half: the medians are the same, and a rise of 10 % would be lost among them.
    let noisy = |salt: f64| study(vec![cell("x", &[1.0, 1.5 + salt, 0.8, 1.3, 1.0 + salt, 0.7])]);
    let (a, b) = (noisy(0.0), noisy(0.01));
    let Ruling::TooNoisy { could_have_seen } = outcome("p99 > +10%", &a, &b) else {
        panic!("{:?}", outcome("p99 > +10%", &a, &b))
    };
    assert!(could_have_seen > 0.2 && could_have_seen < 3.0, "{could_have_seen}");
    let Ruling::TooNoisy { could_have_seen } = outcome("ops_per_s < -10%", &a, &b) else { panic!("a fall") };
    assert!(could_have_seen < -0.15 && could_have_seen > -0.9, "{could_have_seen}");
    assert_eq!(outcome("p99 > +1000%", &a, &b), Ruling::Kept, "a rise as large as that would have been seen");
    assert_eq!(outcome("p99 > +0%", &a, &b), Ruling::Kept, "no size is asked for");
    let (quiet, quieter) = (of(1.0, 6, 0), of(1.0, 6, 1));
    assert_eq!(outcome("p99 > +10%", &quiet, &quieter), Ruling::Kept);
    assert_eq!(outcome("p99 > +10%", &a, &study(vec![cell("x", &[0.1, 0.2, 0.1, 0.3, 0.15, 0.2])])), Ruling::Kept);
}

#[test]
fn a_figure_nobody_has_is_not_applicable() {
    assert!(matches!(outcome("server_cpu > +5%", &of(1.0, 6, 0), &of(1.0, 6, 1)), Ruling::NotApplicable { .. }));
}

#[test]
fn an_impossible_condition_is_refused_with_the_remedy() {
    for (gate, remedy) in [
        ("p98 > +5%", "use one of: makespan, ops_per_s, failed, records_per_s, units_per_s, p50, p95, p99, p99.9"),
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
        ("p99 > NaNms", "not a bound"),
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
        ("p95 > 2ms", "p95_ns"),
    ] {
        assert_eq!(gate.parse::<Gate>().unwrap().metric.field(), field, "{gate}");
    }
}

/// Cells at the very bound: any alarm is a false one. 200 studies leave a standard error of 1.5 %.
fn assert_false_alarms_are_rare(mut alarmed: impl FnMut(&mut Rng) -> bool, what: &str) {
    let mut rng = Rng(25);
    let alarms = (0..200).filter(|_| alarmed(&mut rng)).count();
    assert!(alarms <= 19, "{what}: {alarms} of 200 studies fail by chance");
}

#[test]
fn however_many_cells_are_judged_at_most_five_studies_in_a_hundred_fail_by_chance() {
    for (cells, n) in [(1, 5), (10, 5), (10, 10)] {
        let at_bound = vec![1.05; cells];
        let usual = vec![1.0; cells];
        let alarmed = |rng: &mut Rng| {
            let (a, b) = (noisy(&usual, n, rng), noisy(&at_bound, n, rng));
            outcomes(&["makespan > +5%"], &a, &b, &[Metric::Makespan]).contains(&Ruling::Broken)
        };
        assert_false_alarms_are_rare(alarmed, &format!("{cells} cells, {n} repeats, a share"));
    }
    for (cells, n) in [(1, 6), (10, 10), (10, 15)] {
        let at_bound = vec![1.0; cells];
        let alarmed = |rng: &mut Rng| {
            let b = noisy(&at_bound, n, rng);
            let named: Vec<_> = b.cells.iter().map(|cell| (cell.store.clone(), cell)).collect();
            let gates = ["makespan > 1s".parse().unwrap()];
            judge_cells(&gates, &named).iter().any(|it| it.outcome == Ruling::Broken)
        };
        assert_false_alarms_are_rare(alarmed, &format!("{cells} cells, {n} repeats, a figure"));
    }
}

#[test]
fn several_gates_over_the_same_cells_alarm_no_more_often() {
    let at_bound = [1.05; 5];
    let alarmed = |rng: &mut Rng| {
        let (a, b) = (noisy(&[1.0; 5], 8, rng), noisy(&at_bound, 8, rng));
        let gates = ["makespan > +5%", "ops_per_s < -4.7619%", "client_cpu > +5%"];
        outcomes(&gates, &a, &b, &[Metric::Makespan, Metric::OpsPerS, Metric::ClientCpu]).contains(&Ruling::Broken)
    };
    assert_false_alarms_are_rare(alarmed, "3 gates over 5 cells");
}

#[test]
fn the_one_cell_of_ten_that_is_worse_is_still_found() {
    let mut rng = Rng(5);
    let mut worse = [1.0; 10];
    worse[7] = 1.5;
    let (mut found, mut others) = (0, 0);
    for _ in 0..100 {
        let (a, b) = (noisy(&[1.0; 10], 8, &mut rng), noisy(&worse, 8, &mut rng));
        let outcomes = outcomes(&["makespan > +5%"], &a, &b, &[Metric::Makespan]);
        found += usize::from(outcomes[7] == Ruling::Broken);
        others += outcomes.iter().enumerate().filter(|(at, it)| *at != 7 && **it == Ruling::Broken).count();
    }
    assert!(found >= 95 && others <= 2, "{found} found, {others} false");
}

#[test]
fn the_repeats_that_are_needed_rise_with_the_cells_that_are_judged() {
    let outcome_among = |cells: usize, n: usize, gate: &str| {
        let (a, b) = (noisy(&vec![1.0; cells], n, &mut Rng(1)), noisy(&vec![9.0; cells], n, &mut Rng(2)));
        outcomes(&[gate], &a, &b, &[Metric::Makespan]).remove(0)
    };
    // 1 / C(2n, n) of n against n, and 2^-n of n, times the cells, must be below 0.05.
    for (cells, gate, needed) in [
        (1, "makespan > +5%", 4),
        (3, "makespan > +5%", 4),
        (4, "makespan > +5%", 5),
        (10, "makespan > +5%", 5),
        (100, "makespan > +5%", 7),
        (1, "makespan > 2s", 6),
        (10, "makespan > 2s", 8),
    ] {
        assert_eq!(outcome_among(cells, needed, gate), Ruling::Broken, "{cells} {gate}");
        let too_few = Ruling::TooFew { repeats_needed: needed as u32 };
        assert_eq!(outcome_among(cells, needed - 1, gate), too_few, "{cells} {gate}");
    }
}
