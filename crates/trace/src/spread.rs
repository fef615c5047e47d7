//! Moments within a second, for formats that only know whole seconds: requests of one second in one burst would be a load that nobody had.

use data::splitmix::mix;

const SECOND_US: u64 = 1_000_000;

/// Spreads the requests of each second over it, in their order: each somewhere, by the seed, in a share of its own.
pub(crate) fn over_seconds(times_us: &mut [u64], seed: u64) {
    let mut number = 0;
    for second in times_us.chunk_by_mut(|one, other| one == other) {
        let share_us = SECOND_US as f64 / second.len() as f64;
        for (at, time_us) in second.iter_mut().enumerate() {
            let part = (mix(seed ^ mix(number)) >> 11) as f64 / (1_u64 << 53) as f64;
            *time_us += (share_us * (at as f64 + part)) as u64;
            number += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::over_seconds;

    #[test]
    fn requests_stay_in_their_order_and_their_seconds_and_fill_them() {
        let whole: Vec<u64> = (0..10_000).map(|at| at / 1000 * 2_000_000).collect();
        let spread = |seed| {
            let mut times = whole.clone();
            over_seconds(&mut times, seed);
            times
        };
        let times = spread(1);
        assert!(times.is_sorted() && times != spread(2) && times == spread(1));
        assert!(times.iter().zip(&whole).all(|(time, whole)| (0..1_000_000).contains(&(time - whole))));
        let half = times.iter().zip(&whole).filter(|(time, whole)| *time - *whole < 500_000).count();
        assert!((4_990..5_010).contains(&half), "{half}");
    }
}
