//! Are levels of a curve found where they change, and nowhere else?

#![allow(clippy::unwrap_used)]

mod noise;

use noise::Noise;
use stats::{ChangePlan, change_points};

/// Share of 300 curves of `points` points in which a change is seen.
fn seen(points: usize, mut curve: impl FnMut(&mut Noise, usize) -> Vec<f64>) -> f64 {
    let mut noise = Noise::new(points as u64);
    let curves = 300;
    let seen = (0..curves).filter(|_| !change_points(&curve(&mut noise, points), ChangePlan::default()).is_empty());
    seen.count() as f64 / f64::from(curves)
}

#[test]
fn noise_alone_shows_a_change_in_few_curves() {
    for points in [20, 60, 300] {
        let plain = seen(points, |noise, n| (0..n).map(|_| noise.normal()).collect());
        let skewed = seen(points, |noise, n| (0..n).map(|_| (0.5 * noise.normal()).exp()).collect());
        let stalls = seen(points, |noise, n| (0..n).map(|_| noise.makespan()).collect());
        let wandering = seen(points, |noise, n| noise.autoregression(n, 0.5));
        println!(
            "{points} points: normal {plain:.3}, skewed {skewed:.3}, stalls {stalls:.3}, wandering {wandering:.3}"
        );
        assert!([plain, skewed, stalls, wandering].iter().all(|share| *share <= 0.05), "{points}");
    }
}

#[test]
fn changes_of_two_and_a_half_deviations_are_found_where_they_are() {
    let mut noise = Noise::new(7);
    let (curves, mut exact, mut near) = (200, 0, 0);
    for _ in 0..curves {
        let level = |i: usize| if (40..90).contains(&i) { 12.5 } else { 10.0 };
        let curve: Vec<f64> = (0..150).map(|i| level(i) + noise.normal()).collect();
        let changes = change_points(&curve, ChangePlan::default());
        exact += u32::from(changes.len() == 2);
        if let [first, second] = changes[..] {
            near += u32::from(first.at.abs_diff(40) <= 3 && second.at.abs_diff(90) <= 3);
            assert!((first.before - 10.0).abs() < 1.0 && (first.after - 12.5).abs() < 1.0, "{first:?}");
            assert_eq!(first.after, second.before);
        }
    }
    println!("two changes in {exact}, near the truth in {near} of {curves}");
    assert!(exact > 180 && near > 150, "{exact} {near}");
}

#[test]
fn a_stall_of_two_points_is_no_change_of_level() {
    let mut noise = Noise::new(8);
    let mut curve: Vec<f64> = (0..120).map(|_| 100.0 + noise.normal()).collect();
    curve[50..52].fill(0.0);
    curve[90] = 1e6;
    assert_eq!(change_points(&curve, ChangePlan::default()), []);
}

#[test]
fn scale_and_offset_move_no_change_and_steps_without_noise_are_found() {
    let mut noise = Noise::new(9);
    let curve: Vec<f64> = (0..100).map(|i| f64::from(i / 50) * 5.0 + noise.normal()).collect();
    let moved: Vec<f64> = curve.iter().map(|value| 1e6 * value - 3e7).collect();
    let places =
        |curve: &[f64]| change_points(curve, ChangePlan::default()).iter().map(|one| one.at).collect::<Vec<_>>();
    assert_eq!(places(&curve), places(&moved));
    assert_eq!(places(&curve).len(), 1);
    let steps: Vec<f64> = (0..60).map(|i| f64::from(i / 20)).collect();
    assert_eq!(places(&steps), [20, 40]);
    assert_eq!(places(&[1.0; 60]), [] as [usize; 0]);
    assert_eq!(places(&[1.0, 2.0]), [] as [usize; 0]);
    assert_eq!(places(&[f64::NAN; 60]), [] as [usize; 0]);
}
