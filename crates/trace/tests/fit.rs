//! What a trace is said to be like, against exact caches one by one, and traces made to be so.
#![allow(clippy::unwrap_used)]

use data::splitmix::Rng;
use kvtrial_trace::fit::{HitCurve, arrivals, counts, mix, popularity, sizes, working_sets};
use kvtrial_trace::{CacheSize, Eviction, Filling, SHIPPED, Trace, TraceOptions, hits};
use std::path::Path;

const ALL: TraceOptions = TraceOptions { format: None, most: u64::MAX, seed: 42 };

fn twitter(lines: impl Iterator<Item = (u64, u64, u64, &'static str)>) -> Trace {
    let text: String =
        lines.map(|(s, key, bytes, operation)| format!("{s},k{key},3,{bytes},1,{operation},0\n")).collect();
    Trace::of_bytes("x.csv", text.into_bytes().leak(), ALL).unwrap()
}

#[test]
fn the_curve_has_the_hits_of_an_exact_lru_of_every_size() {
    let trace = Trace::read(Path::new(SHIPPED), ALL).unwrap();
    let curve = HitCurve::of(&trace, Filling::OnMiss);
    for keys in [1, 2, 10, 100, 500, 1000, 2000, 5000, 10_000, 13_755, 13_756, 99_999] {
        let exact = hits(&trace, Eviction::Lru, CacheSize::Objects(keys), Filling::OnMiss, 1);
        assert_eq!(curve.hits(keys), exact, "{keys}");
    }
    assert_eq!((curve.hits(100), curve.hits(1000), curve.hits(10_000), curve.hits(0)), (34_631, 61_882, 81_091, 0));
}

#[test]
fn it_has_them_with_sets_and_deletes_too() {
    for seed in 0..20 {
        let mut rng = Rng::new(seed);
        let keys = 2 + rng.below(60);
        let lines: Vec<_> = (0..6000)
            .map(|_| {
                let (one, two) = (rng.below(keys), rng.below(keys));
                (0, one.min(two), 1, ["get", "get", "get", "set", "delete"][rng.below(5) as usize])
            })
            .collect();
        let trace = twitter(lines.into_iter());
        let curve = HitCurve::of(&trace, Filling::OnMiss);
        for size in 1..=keys {
            let exact = hits(&trace, Eviction::Lru, CacheSize::Objects(size), Filling::OnMiss, 1);
            assert_eq!(curve.hits(size), exact, "seed {seed}, {size} of {keys} keys");
        }
    }
}

#[test]
fn a_loop_has_a_cliff_where_it_fits_and_a_zipf_law_has_none() {
    let looped = twitter((0..20_000).map(|number| (0, number % 700, 1, "get")));
    let cliffs = HitCurve::of(&looped, Filling::OnMiss).cliffs();
    assert!(cliffs.len() == 1 && cliffs[0].keys[0] < 700 && 700 <= cliffs[0].keys[1], "{cliffs:?}");
    assert!(cliffs[0].hits[0] == 0.0 && cliffs[0].hits[1] > 0.9);
    let web12 = Trace::read(Path::new(SHIPPED), ALL).unwrap();
    assert_eq!(HitCurve::of(&web12, Filling::OnMiss).cliffs(), []);
}

#[test]
fn mix_sizes_arrivals_and_working_sets_are_those_of_the_trace() {
    // 20 seconds, 100 per second but for one with 500; the second half has other keys.
    let lines = (0..20_u64).flat_map(|second| {
        let count = if second == 7 { 500 } else { 100 };
        (0..count).map(move |number| {
            (second, second / 10 * 1000 + number % 50, 1 + number % 100, ["get", "set"][usize::from(number % 4 == 0)])
        })
    });
    let trace = twitter(lines);
    let found = mix(&trace);
    assert_eq!((found.gets, found.sets, found.deletes), (0.75, 0.25, 0.0));
    let sizes = sizes(&trace).unwrap();
    assert!((sizes.p50, sizes.p90, sizes.most) == (51, 91, 100), "{sizes:?}");
    let arrivals = arrivals(&trace).unwrap();
    assert!(arrivals.most_in_a_second >= 480 && arrivals.dispersion.unwrap() > 20.0, "{arrivals:?}");
    let sets = working_sets(&trace);
    assert_eq!(sets.iter().map(|set| set.new_keys).sum::<usize>(), 100);
    assert_eq!((sets.len(), sets[0].new_keys, sets[9].keys, sets[9].new_keys), (10, 50, 50, 0));
    assert_eq!(counts(&trace)[0], counts(&trace)[11], "each of the first half alike");
    let even = twitter((0..30).flat_map(|second| (0..100).map(move |number| (second, number, 1, "get"))));
    assert!(kvtrial_trace::fit::arrivals(&even).unwrap().dispersion.unwrap() < 0.5);
    assert!(popularity(&counts(&even), 1).unwrap().exponent < 0.01);
}
