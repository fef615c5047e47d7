//! One clock and simulated threads: what the process of arrivals is, by any thread that takes them.

use super::{Next, Schedule};
use crate::outcome::End;
use crate::settings::{Arrivals, Settings};
use jobkit::Share;
use measure::{Clock, Ticks};
use std::time::Duration;

const SECONDS: u64 = 10;

fn schedule(arrivals: Arrivals, duration: Option<Duration>, seed: u64) -> Schedule {
    let settings = Settings { arrivals, duration, seed, ..Settings::default() };
    let schedule = Schedule::new(&settings, &Clock::get()).unwrap();
    schedule.start(0);
    schedule
}

/// Due times in seconds of all arrivals, taken in turn by this many threads of which each holds one at most.
fn dues(arrivals: Arrivals, threads: usize, seed: u64) -> Vec<f64> {
    let (clock, schedule) = (Clock::get(), schedule(arrivals, Some(Duration::from_secs(SECONDS)), seed));
    let mut dues = Vec::new();
    let mut held: Vec<Next<'_>> = (0..threads).map(|_| schedule.take(0)).collect();
    while let Some(at) = (0..threads).filter(|&at| matches!(held[at], Next::Held(_))).min_by_key(|&at| due(&held[at])) {
        let now = due(&held[at]);
        if let Next::Held(arrival) = std::mem::replace(&mut held[at], Next::Unknown) {
            dues.push(clock.ns(now) as f64 / 1e9);
            arrival.sent(now);
        }
        held[at] = schedule.take(now);
    }
    assert_eq!(schedule.not_sent(End::Completed, false, None, 0), 0);
    dues
}

fn due(next: &Next<'_>) -> Ticks {
    match next {
        Next::Held(arrival) => arrival.due,
        _ => Ticks::MAX,
    }
}

#[test]
fn a_fixed_rate_is_due_evenly_and_exactly_as_often_as_asked_whatever_the_threads() {
    for threads in [1, 2, 16, 64] {
        let dues = dues(Arrivals::Fixed { ops_per_s: 1_000.0 }, threads, 7);
        assert_eq!(dues.len(), 1_000 * SECONDS as usize);
        assert!(dues.windows(2).all(|pair| (pair[1] - pair[0] - 0.001).abs() < 1e-6), "{threads} threads");
    }
}

#[test]
fn poisson_gaps_have_the_mean_and_the_spread_of_an_exponential() {
    let dues = dues(Arrivals::Poisson { ops_per_s: 5_000.0 }, 2, 7);
    let gaps: Vec<f64> = dues.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
    assert!((mean * 5_000.0 - 1.0).abs() < 0.02, "{mean}");
    assert!((variance.sqrt() / mean - 1.0).abs() < 0.03, "{}", variance.sqrt() / mean);
}

/// Variance over mean of the counts in windows of this length: 1 of a Poisson process. With n windows its standard error is √(2 / n).
fn dispersion(dues: &[f64], window_s: f64) -> (f64, f64) {
    let windows = (SECONDS as f64 / window_s) as usize;
    let mut counts = vec![0.0; windows];
    for due in dues {
        if let Some(count) = counts.get_mut((due / window_s) as usize) {
            *count += 1.0;
        }
    }
    let mean = counts.iter().sum::<f64>() / windows as f64;
    let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / (windows - 1) as f64;
    (variance / mean, (2.0 / windows as f64).sqrt())
}

#[test]
fn random_arrivals_are_a_poisson_process_by_any_seed_and_any_number_of_threads() {
    for seed in [0, 1, 2, 3, 7, 42, 100, 12_345, u64::MAX, 0x9E37_79B9_7F4A_7C15] {
        let alone = dues(Arrivals::Poisson { ops_per_s: 2_000.0 }, 1, seed);
        for window_s in [0.005, 0.05, 0.5] {
            let (seen, error) = dispersion(&alone, window_s);
            assert!((seen - 1.0).abs() < 4.0 * error, "seed {seed}: {seen} in windows of {window_s} s");
        }
        for threads in [4, 16] {
            assert_eq!(dues(Arrivals::Poisson { ops_per_s: 2_000.0 }, threads, seed), alone, "seed {seed}");
        }
    }
}

/// M/D/1 (Pollaczek and Khinchine): the mean wait is ρ D / (2 (1 - ρ)). Long runs near saturation are needed for a few percent, so the
/// queue is computed, not run.
#[test]
fn a_queue_behind_random_arrivals_waits_as_long_as_theory_says() {
    let (rate, seconds) = (2_000.0, 400);
    for (load, tolerance) in [(0.5, 0.03), (0.7, 0.05), (0.9, 0.15)] {
        let service_s = load / rate;
        let truth = load * service_s / (2.0 * (1.0 - load));
        for seed in [0, 1, 7, 42] {
            let clock = Clock::get();
            let schedule = schedule(Arrivals::Poisson { ops_per_s: rate }, Some(Duration::from_secs(seconds)), seed);
            let (mut free, mut waited, mut n) = (0.0_f64, 0.0, 0.0);
            while let Next::Held(arrival) = schedule.take(0) {
                let due = clock.ns(arrival.due) as f64 / 1e9;
                arrival.sent(0);
                waited += (free - due).max(0.0);
                free = free.max(due) + service_s;
                n += 1.0;
            }
            let error = waited / n / truth - 1.0;
            assert!(error.abs() < tolerance, "load {load}, seed {seed}: off by {error:.3}");
        }
    }
}

#[test]
fn an_arrival_that_is_given_back_is_the_next_that_is_handed_out() {
    let schedule = schedule(Arrivals::Fixed { ops_per_s: 1_000.0 }, Some(Duration::from_millis(3)), 7);
    let (Next::Held(first), Next::Held(second)) = (schedule.take(0), schedule.take(0)) else { panic!("nothing due") };
    let (due_first, due_second) = (first.due, second.due);
    drop(second);
    drop(first);
    for expected in [due_first, due_second] {
        let Next::Held(again) = schedule.take(0) else { panic!("lost") };
        assert_eq!(again.due, expected);
        again.sent(expected);
    }
    let Next::Held(third) = schedule.take(0) else { panic!("lost") };
    // It may come back as long as it is held.
    assert!(matches!(schedule.take(0), Next::Perhaps(_)));
    let due = third.due;
    third.sent(due);
    assert!(matches!(schedule.take(0), Next::Over));
    assert_eq!(schedule.not_sent(End::Completed, false, None, 0), 0);
}

#[test]
fn what_was_not_sent_is_what_was_due_and_is_owed() {
    let given = Some(Duration::from_secs(1));
    for (duration, end, ran_out, operations, owed) in [
        (given, End::Completed, false, None, 999),
        (given, End::Completed, true, None, 0),
        (given, End::Interrupted, false, None, 0),
        (given, End::Unanswered, false, Some(500), 499),
        (None, End::Unanswered, false, Some(300), 299),
        // Due by the middle between two arrivals; an arrival at the very end would be due or not by the rounding of the clock's rate.
        (None, End::Unanswered, false, None, 499),
    ] {
        let schedule = schedule(Arrivals::Fixed { ops_per_s: 1_000.0 }, duration, 7);
        let Next::Held(first) = schedule.take(0) else { panic!("nothing due") };
        first.sent(0);
        let stop = Clock::get().ticks(Duration::from_micros(499_500));
        assert_eq!(schedule.not_sent(end, ran_out, operations, stop), owed, "{duration:?} {end:?} {operations:?}");
    }
}

#[test]
fn the_rate_offered_is_that_asked_for_unless_the_last_was_sent_late() {
    let clock = Clock::get();
    let schedule = schedule(Arrivals::Fixed { ops_per_s: 1_000.0 }, None, 7);
    for _ in 0..100 {
        let Next::Held(arrival) = schedule.take(0) else { panic!("nothing due") };
        let due = arrival.due;
        arrival.sent(due);
    }
    assert!((schedule.offered(true).per_s() - 1_000.0).abs() < 0.01, "{:?}", schedule.offered(true));
    assert_eq!(schedule.offered(true).shortfall(), 0.0);
    let Next::Held(arrival) = schedule.take(0) else { panic!("nothing due") };
    let late = arrival.due + clock.ticks(Duration::from_millis(101));
    arrival.sent(late);
    assert!((schedule.offered(true).per_s() - 500.0).abs() < 0.1, "{:?}", schedule.offered(true));
    assert!((schedule.offered(true).shortfall() - 0.5).abs() < 1e-3);
}

/// Due times in seconds of the arrivals of one share.
fn dues_of(share: Share, arrivals: Arrivals, seed: u64) -> Vec<f64> {
    let settings = Settings {
        clients: share.of_clients,
        share: Some(share),
        arrivals,
        duration: Some(Duration::from_secs(SECONDS)),
        seed,
        ..Settings::default()
    };
    let (clock, schedule) = (Clock::get(), Schedule::new(&settings, &Clock::get()).unwrap());
    schedule.start(0);
    let mut dues = Vec::new();
    while let Next::Held(arrival) = schedule.take(0) {
        dues.push(clock.ns(arrival.due) as f64 / 1e9);
        arrival.sent(0);
    }
    assert_eq!(schedule.not_sent(End::Completed, false, None, 0), 0);
    dues
}

const SPLITS: [(u32, u32); 5] = [(1, 1), (2, 2), (8, 3), (9, 3), (64, 7)];

#[test]
fn the_arrivals_of_all_shares_are_those_of_one_process_each_once() {
    for arrivals in [Arrivals::Fixed { ops_per_s: 1_000.0 }, Arrivals::Poisson { ops_per_s: 1_000.0 }] {
        for (clients, workers) in SPLITS {
            let mut merged: Vec<f64> =
                Share::split(clients, workers).into_iter().flat_map(|share| dues_of(share, arrivals, 7)).collect();
            merged.sort_by(f64::total_cmp);
            assert_eq!(merged, dues(arrivals, 1, 7), "{clients} clients, {workers} workers, {arrivals:?}");
        }
    }
}

#[test]
fn at_a_fixed_rate_each_share_has_its_part_of_any_stretch_of_the_arrivals() {
    for (clients, workers) in SPLITS {
        for share in Share::split(clients, workers) {
            let dues = dues_of(share, Arrivals::Fixed { ops_per_s: 1_000.0 }, 7);
            for (number, due) in dues.iter().enumerate() {
                let even = number as f64 / (1_000.0 * share.fraction());
                // It is never ahead of or behind its own even pace by more than a turn of its own.
                let off = (due - even).abs() * 1_000.0 * share.fraction();
                assert!(off <= 1.0, "{share:?}: arrival {number} is off by {off} of its gaps");
            }
        }
    }
}

/// The largest distance between how these gaps are distributed and an exponential law of this rate, times the root of their number: above
/// 1.63 once in a hundred times (Kolmogorov and Smirnov).
fn distance_from_exponential(dues: &[f64], per_s: f64) -> f64 {
    let mut gaps: Vec<f64> = dues.windows(2).map(|pair| pair[1] - pair[0]).collect();
    gaps.sort_by(f64::total_cmp);
    let n = gaps.len() as f64;
    let distances = gaps.iter().enumerate().map(|(at, gap)| {
        let (law, below) = (1.0 - (-per_s * gap).exp(), at as f64 / n);
        (law - below).abs().max((law - below - 1.0 / n).abs())
    });
    distances.fold(0.0, f64::max) * n.sqrt()
}

#[test]
fn random_arrivals_are_a_poisson_process_in_each_share_and_together() {
    const PER_S: f64 = 2_000.0;
    for (clients, workers) in SPLITS {
        for seed in [1, 7, 42] {
            let shares = Share::split(clients, workers);
            let each: Vec<Vec<f64>> =
                shares.iter().map(|&share| dues_of(share, Arrivals::Poisson { ops_per_s: PER_S }, seed)).collect();
            for (share, dues) in shares.iter().zip(&each) {
                let far = distance_from_exponential(dues, PER_S * share.fraction());
                assert!(far < 1.95, "{share:?}, seed {seed}: {far}"); // once in a thousand times
            }
            let mut merged = each.concat();
            merged.sort_by(f64::total_cmp);
            let far = distance_from_exponential(&merged, PER_S);
            assert!(far < 1.95, "{clients} clients, {workers} workers, seed {seed}: {far}");
        }
    }
    // A process that is even is none.
    assert!(distance_from_exponential(&dues(Arrivals::Fixed { ops_per_s: PER_S }, 1, 7), PER_S) > 10.0);
}

#[test]
fn what_shares_offered_lasts_as_long_as_what_one_process_offered() {
    for arrivals in [Arrivals::Fixed { ops_per_s: 1_000.0 }, Arrivals::Poisson { ops_per_s: 1_000.0 }] {
        let offered = |settings: Settings, by_s: f64| {
            let clock = Clock::get();
            let started = || {
                let schedule = Schedule::new(&settings, &clock).unwrap();
                schedule.start(0);
                schedule
            };
            let (before, schedule, end) = (started(), started(), clock.ticks(Duration::from_secs_f64(by_s)));
            while let Next::Held(arrival) = before.take(0)
                && arrival.due < end
            {
                arrival.sent(0);
                let Next::Held(same) = schedule.take(0) else { panic!("nothing due") };
                let due = same.due;
                same.sent(due);
            }
            schedule.offered(true)
        };
        let settings = Settings { clients: 8, arrivals, ..Settings::default() };
        let one = offered(settings, 0.333_4);
        let each =
            Share::split(8, 3).into_iter().map(|share| offered(Settings { share: Some(share), ..settings }, 0.333_4));
        let all = each.reduce(crate::outcome::Offered::and).unwrap();
        assert_eq!((all.sent, all.within), (one.sent, one.within), "{arrivals:?}");
        assert!((all.asked_per_s / one.asked_per_s - 1.0).abs() < 1e-12);
    }
}
