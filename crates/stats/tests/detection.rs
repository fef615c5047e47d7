//! Is a difference found as surely as promised, once it is as large, or the repeats are as many, as was said?

#![allow(clippy::unwrap_used)]

mod noise;

use noise::Noise;
use stats::{Detectable, Detection, TrialFigures, separations};

type Trial = fn(&mut Noise) -> f64;

const SOURCES: [(&str, Trial); 2] =
    [("lognormal 5 %", |noise| (0.05 * noise.normal()).exp()), ("makespans", Noise::makespan)];

fn group(noise: &mut Noise, trial: Trial, n: usize, factor: f64) -> Vec<f64> {
    (0..n).map(|_| factor * trial(noise)).collect()
}

/// How often the test finds the ratio with `n` trials in each group.
fn power(noise: &mut Noise, trial: Trial, n: usize, ratio: f64) -> f64 {
    let studies = 200;
    let found = (0..studies).filter(|_| {
        let (a, b) = (group(noise, trial, n, 1.0), group(noise, trial, n, ratio));
        let of = |figures| TrialFigures { figures, step: 0.0 };
        separations(&[of(&a), of(&b)], &[(0, 1)])[0].unwrap().p < 0.05
    });
    found.count() as f64 / f64::from(studies)
}

fn average(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn the_smallest_detectable_difference_is_found_about_as_often_as_promised() {
    let mut noise = Noise::new(1);
    for (name, trial) in SOURCES {
        for n in [3, 5, 8, 15, 30] {
            let powers: Vec<f64> = (0..30)
                .map(|_| {
                    let (a, b) = (group(&mut noise, trial, n, 1.0), group(&mut noise, trial, n, 1.0));
                    let smallest = Detection { draws: 500, ..Detection::default() }.smallest(&a, &b).unwrap();
                    let Detectable::Ratio(ratio) = smallest else { panic!("{smallest}") };
                    power(&mut noise, trial, n, ratio)
                })
                .collect();
            println!("{name}, n = {n}: power {:.3} for 0.9", average(&powers));
            // One study knows its spread only roughly: few trials promise a little too much, and few that saw no disturbance know
            // of none.
            let least = if n <= 5 { 0.5 } else { 0.7 };
            assert!((least..=0.97).contains(&average(&powers)), "{name}, n = {n}: {}", average(&powers));
        }
    }
}

#[test]
fn as_many_repeats_as_were_said_to_be_needed_find_the_difference() {
    let mut noise = Noise::new(2);
    for (ratio, most) in [(1.10, 20), (1.05, 60), (0.95, 60)] {
        let trial = SOURCES[0].1;
        let (needed, powers): (Vec<f64>, Vec<f64>) = (0..20)
            .map(|_| {
                let (a, b) = (group(&mut noise, trial, 10, 1.0), group(&mut noise, trial, 10, 1.0));
                let needed = Detection { draws: 500, ..Detection::default() }.repeats_needed(&a, &b, ratio).unwrap();
                (needed as f64, power(&mut noise, trial, needed, ratio))
            })
            .unzip();
        println!("ratio {ratio}: {:.0} repeats, power {:.3}", average(&needed), average(&powers));
        assert!((0.78..=0.97).contains(&average(&powers)) && average(&needed) < f64::from(most), "{ratio}: {needed:?}");
    }
}

#[test]
fn two_repeats_can_show_nothing_and_three_are_named_as_the_least() {
    let few = [1.0, 1.01];
    let found = Detection::default().smallest(&few, &few).unwrap();
    assert_eq!(found, Detectable::Nothing { least_repeats: 3 });
    assert!(found.to_string().contains("3 are the least"), "{found}");
    let needed = Detection::default().repeats_needed(&few, &few, 10.0).unwrap();
    assert_eq!(needed, 3);
}

#[test]
fn what_cannot_be_answered_is_none() {
    let (good, plan) = ([1.0, 1.1, 1.2, 1.3], Detection::default());
    assert_eq!(plan.smallest(&good, &[1.0]), None);
    assert_eq!(plan.smallest(&good, &[1.0, f64::NAN]), None);
    assert_eq!(plan.smallest(&good, &[1.0, 0.0]), None);
    assert_eq!(plan.repeats_needed(&good, &good, 1.0), None);
    assert_eq!(plan.repeats_needed(&good, &good, f64::NAN), None);
    assert_eq!(plan.repeats_needed(&good, &good, 1.000_01), None, "more than a thousand");
    assert_eq!(plan.smallest(&[2.0; 5], &[3.0; 5]), Some(Detectable::Ratio(1.0)));
}
