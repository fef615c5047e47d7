//! The highest open-loop rate at which a bound on response time is kept.
//!
//! Bracketing and bisection, as mutilate (Leverich and Kozyrakis 2014) and NoSQLBench's findmax do it, and then what they leave
//! out: independent rounds over a few rates around the edge, in random order. Each round alone says where the bound is crossed:
//! isotonic regression (response time never falls as the rate rises; Barlow and others 1972), then interpolation between logarithms.
//! The result is the median over rounds with its interval, so a lucky trial at a high rate does not win.

use data::splitmix::Rng;
use study::Quantity;

/// Rates around the edge that every round visits.
const EDGE: usize = 5;
/// Bisection ends when the bracket is this narrow.
const NARROW: f64 = 1.15;
/// Most steps of the search for the first bracket, and most moves of the edge.
const MOST_STEPS: usize = 24;
const MOST_MOVES: usize = 3;
/// The search gives up below this share of the closed loop's rate.
const LEAST_SHARE: f64 = 1e-3;

/// What one trial at a rate showed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// The bounded figure, nanoseconds.
    pub figure_ns: f64,
    /// Whether everything due was sent and answered.
    pub kept_up: bool,
    /// Whether the client itself was late.
    pub client_late: bool,
}

/// Trials at rates, however they are made.
pub trait Load {
    /// Why a search cannot go on.
    type Error;

    /// One trial at this rate.
    ///
    /// # Errors
    /// The search ends.
    fn at(&mut self, ops_per_s: f64) -> Result<Seen, Self::Error>;
}

/// One estimate of the rate from each round.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rounds {
    /// The estimates.
    pub rates: Vec<f64>,
    /// How many of them are only the end of what was tried: the round kept the bound everywhere, or nowhere.
    pub clipped: u32,
}

/// Fewest rounds whose smallest and largest estimate are an interval worth the name: it holds the rate in 93.75 of 100 searches. Of two
/// rounds it would be 50, of three 75.
pub const LEAST_ROUNDS: usize = 5;

impl Rounds {
    /// The median, with an interval where the rounds can give one.
    pub fn estimate(&self) -> Option<Quantity> {
        let found = stats::median_interval(&self.rates, 0.95)?;
        let bare = Quantity { value: found.value, low: found.value, high: found.value, level: 0.0, n: found.n as u32 };
        if self.clipped > 0 || found.n < LEAST_ROUNDS {
            return Some(bare);
        }
        Some(Quantity { low: found.low, high: found.high, level: found.level, ..bare })
    }
}

/// What a search found.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// The store breaks the bound beyond these rates.
    Rates(Rounds),
    /// The client could not keep the schedule beyond these rates: the store may do more.
    ClientLimited(Rounds),
    /// Even the lowest rate tried breaks the bound.
    Never,
}

/// Searches from a closed loop's rate.
///
/// # Errors
/// Those of the load.
pub fn find_rate<L: Load>(load: &mut L, limit_ns: f64, closed: f64, rounds: u32, seed: u64) -> Result<Found, L::Error> {
    let within = |seen: &Seen| seen.kept_up && !seen.client_late && seen.figure_ns < limit_ns;
    let (mut low, mut high) = (None, None);
    let mut rate = closed / 2.0;
    for _ in 0..MOST_STEPS {
        let seen = load.at(tidy(rate))?;
        if within(&seen) {
            low = Some(rate)
        } else {
            high = Some(rate)
        }
        rate = match (low, high) {
            (Some(low), Some(high)) if high / low <= NARROW => break,
            (Some(low), Some(high)) => f64::sqrt(low * high),
            (Some(low), None) => low * 1.4,
            (None, Some(high)) if high < closed * LEAST_SHARE => return Ok(Found::Never),
            (None, Some(high)) => high / 2.0,
            (None, None) => break,
        };
    }
    let (Some(mut low), Some(mut high)) = (low, high) else { return Ok(Found::Never) };
    let mut random = Rng::new(seed ^ 0x7261_7465_0000_0001);
    for _ in 0..MOST_MOVES {
        let rates = around(low, high);
        let mut estimates = Vec::new();
        let (mut below, mut above, mut late, mut beyond) = (0, 0, 0, 0);
        for _ in 0..rounds {
            let mut order: Vec<usize> = (0..EDGE).collect();
            for last in (1..EDGE).rev() {
                order.swap(last, random.below(last as u64 + 1) as usize);
            }
            let mut seen = [Seen { figure_ns: 0.0, kept_up: true, client_late: false }; EDGE];
            for at in order {
                seen[at] = load.at(rates[at])?;
            }
            let outside = seen.iter().filter(|one| !within(one));
            beyond += outside.clone().count();
            late += outside.filter(|one| one.client_late).count();
            estimates.push(match crossing(&rates, &seen, limit_ns) {
                Crossing::At(rate) => rate,
                // The end of what was tried is all this round can say.
                Crossing::Below => {
                    below += 1;
                    rates[0]
                }
                Crossing::Above => {
                    above += 1;
                    rates[EDGE - 1]
                }
            });
        }
        if 2 * late > beyond && beyond > 0 {
            return Ok(Found::ClientLimited(Rounds { rates: estimates, clipped: below + above }));
        }
        // When most rounds found no crossing among these rates, the bracket was luck: move it.
        if 2 * below > rounds {
            (low, high) = (rates[0] / (high / low), rates[0]);
        } else if 2 * above > rounds {
            (low, high) = (rates[EDGE - 1], rates[EDGE - 1] * (high / low));
        } else {
            return Ok(Found::Rates(Rounds { rates: estimates, clipped: below + above }));
        }
    }
    Ok(Found::Rates(Rounds { rates: vec![low], clipped: 1 })) // it kept moving: a single value says that nothing is sure
}

/// Rates from a little below the bracket to a little above it.
fn around(low: f64, high: f64) -> [f64; EDGE] {
    let width = (high / low).ln().max(0.05);
    let centre = (low * high).sqrt();
    std::array::from_fn(|at| tidy(centre * (width * (at as f64 / (EDGE - 1) as f64 - 0.5) * 2.0).exp()))
}

/// Three significant digits: rates are to be read.
pub fn tidy(rate: f64) -> f64 {
    format!("{rate:.2e}").parse().unwrap_or(rate)
}

enum Crossing {
    Below,
    At(f64),
    Above,
}

/// Where one round crosses the limit.
fn crossing(rates: &[f64; EDGE], seen: &[Seen; EDGE], limit_ns: f64) -> Crossing {
    // A rate that was not kept up with is over the limit whatever was measured.
    let figure =
        |one: &Seen| if one.kept_up && !one.client_late { one.figure_ns } else { one.figure_ns.max(limit_ns * 4.0) };
    let logs: Vec<f64> = isotonic(&seen.iter().map(|one| figure(one).max(1.0).ln()).collect::<Vec<_>>());
    let limit = limit_ns.ln();
    match logs.iter().position(|log| *log >= limit) {
        None => Crossing::Above,
        Some(0) => Crossing::Below,
        Some(at) => {
            let share = (limit - logs[at - 1]) / (logs[at] - logs[at - 1]);
            let (low, high) = (rates[at - 1].ln(), rates[at].ln());
            Crossing::At((low + share * (high - low)).exp())
        }
    }
}

/// The nearest sequence that never falls (pool adjacent violators).
fn isotonic(values: &[f64]) -> Vec<f64> {
    let mut pools: Vec<(f64, usize)> = Vec::new();
    for value in values {
        pools.push((*value, 1));
        while let [.., (a, n), (b, m)] = pools[..]
            && a > b
        {
            pools.pop();
            pools.pop();
            pools.push(((a * n as f64 + b * m as f64) / (n + m) as f64, n + m));
        }
    }
    pools.into_iter().flat_map(|(value, times)| std::iter::repeat_n(value, times)).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{Found, Load, Rounds, Seen, find_rate, isotonic, tidy};
    use data::splitmix::Rng;
    use std::convert::Infallible;

    /// One server with a fixed service time and Poisson arrivals, simulated by Lindley's recursion.
    struct Queue {
        service_ns: f64,
        /// How long a trial is. What is due within it is all sent, however late.
        operations: Length,
        random: Rng,
        trials: usize,
        client_from: f64,
    }

    #[derive(Clone, Copy)]
    enum Length {
        Operations(usize),
        Seconds(f64),
    }

    impl Queue {
        fn new(service_ns: f64, seed: u64) -> Queue {
            let operations = Length::Operations(40_000);
            Queue { service_ns, operations, random: Rng::new(seed), trials: 0, client_from: f64::INFINITY }
        }
    }

    impl Load for Queue {
        type Error = Infallible;

        fn at(&mut self, ops_per_s: f64) -> Result<Seen, Infallible> {
            self.trials += 1;
            let (mut wait, mut now_ns) = (0.0f64, 0.0);
            let mut responses: Vec<f64> = Vec::new();
            while match self.operations {
                Length::Operations(most) => responses.len() < most,
                Length::Seconds(time) => now_ns < time * 1e9,
            } {
                responses.push(wait + self.service_ns);
                let uniform = (self.random.u64() >> 11) as f64 / (1u64 << 53) as f64;
                let gap_ns = -(1.0 - uniform).ln() / ops_per_s * 1e9;
                wait = (wait + self.service_ns - gap_ns).max(0.0);
                now_ns += gap_ns;
            }
            let kept_up = match self.operations {
                Length::Operations(_) => ops_per_s * self.service_ns < 1e9,
                Length::Seconds(_) => true, // nothing but the response times shows that a rate is too high
            };
            responses.sort_by(f64::total_cmp);
            let figure_ns = responses[responses.len() * 99 / 100];
            Ok(Seen { figure_ns, kept_up, client_late: ops_per_s > self.client_from })
        }
    }

    /// The share of customers of an M/D/1 queue that wait longer than `t` services: C e^(-ηt) with ρ (e^η - 1) = η (Cramér and
    /// Lundberg), beyond a few services as good as exact.
    fn waits_longer(load: f64, t: f64) -> f64 {
        let (mut low, mut high) = (1e-9, 50.0f64);
        for _ in 0..100 {
            let eta = (low + high) / 2.0;
            if load * (eta.exp() - 1.0) < eta { low = eta } else { high = eta }
        }
        (1.0 - load) / (load * low.exp() - 1.0) * (-low * t).exp()
    }

    /// The load at which 99 of 100 operations wait at most `waits` services.
    fn load_that_keeps(waits: f64) -> f64 {
        let (mut low, mut high) = (0.01, 0.999);
        for _ in 0..60 {
            let load = (low + high) / 2.0;
            if waits_longer(load, waits) < 0.01 { low = load } else { high = load }
        }
        low
    }

    #[test]
    fn the_rate_found_is_that_of_queueing_theory() {
        // A service of 100 µs, and 99 of 100 answered within 600 µs: five services of waiting.
        let truth = load_that_keeps(5.0) * 10_000.0;
        let mut inside = 0;
        for seed in 0..20 {
            let Found::Rates(rounds) = find_rate(&mut Queue::new(1e5, seed), 6e5, 10_000.0, 5, seed).unwrap() else {
                panic!("no rate");
            };
            let estimate = rounds.estimate().unwrap();
            assert!((estimate.value / truth - 1.0).abs() < 0.03, "{estimate:?} {truth}");
            inside += i32::from(estimate.level == 0.0 || (estimate.low..=estimate.high).contains(&truth));
        }
        // Five rounds claim 93.75 %.
        assert!(inside >= 16, "{inside} of 20 intervals hold the truth");
    }

    /// 200 µs a request, one after the other: 5,000 a second and no more. Under a wide bound the edge is the capacity itself.
    #[test]
    fn the_capacity_of_a_server_is_found_in_trials_of_a_time_in_which_everything_is_sent() {
        for (limit_ns, least, most) in [(2e6, 0.97, 1.03), (1e7, 0.97, 1.03), (5e7, 0.95, 1.03)] {
            let truth = load_that_keeps(limit_ns / 2e5 - 1.0) * 5_000.0;
            for seed in 0..10 {
                let mut queue = Queue { operations: Length::Seconds(5.0), ..Queue::new(2e5, seed) };
                let Found::Rates(rounds) = find_rate(&mut queue, limit_ns, 4_800.0, 5, seed).unwrap() else { panic!() };
                let found = rounds.estimate().unwrap().value;
                assert!((least..most).contains(&(found / truth)), "{limit_ns}: {found} of {truth}");
                assert!(limit_ns < 4e7 || (found / 5_000.0 - 1.0).abs() < 0.05, "{found}");
            }
        }
    }

    #[test]
    fn an_interval_is_stated_only_where_it_holds_the_truth_nine_times_in_ten() {
        let truth = load_that_keeps(5.0) * 10_000.0;
        for (rounds, stated) in [(1, false), (2, false), (4, false), (5, true), (8, true)] {
            let (mut intervals, mut holds) = (0, 0);
            for seed in 0..40 {
                let mut queue = Queue { operations: Length::Operations(10_000), ..Queue::new(1e5, 1_000 + seed) };
                let Found::Rates(found) = find_rate(&mut queue, 6e5, 10_000.0, rounds, seed).unwrap() else { panic!() };
                let estimate = found.estimate().unwrap();
                assert!(estimate.level == 0.0 || estimate.level > 0.93, "{estimate:?}");
                assert!(estimate.level > 0.0 || estimate.low == estimate.high, "{estimate:?}");
                if estimate.level > 0.0 {
                    intervals += 1;
                    holds += i32::from((estimate.low..=estimate.high).contains(&truth));
                }
            }
            assert_eq!(intervals > 20, stated, "{rounds} rounds: {intervals} intervals");
            // 93.75 % at the least; three standard errors below are 33 of 40.
            assert!(holds * 40 >= intervals * 33, "{rounds} rounds: {holds} of {intervals}");
        }
    }

    #[test]
    fn a_round_that_saw_no_edge_leaves_no_interval() {
        let sure = Rounds { rates: vec![10.0, 11.0, 12.0, 13.0, 14.0], clipped: 0 };
        assert_eq!(sure.estimate().map(|it| (it.low, it.value, it.high)), Some((10.0, 12.0, 14.0)));
        let unsure = Rounds { clipped: 1, ..sure };
        assert_eq!(unsure.estimate().map(|it| (it.low, it.high, it.level, it.n)), Some((12.0, 12.0, 0.0, 5)));
        assert_eq!(Rounds::default().estimate(), None);
    }

    #[test]
    fn a_search_costs_few_trials() {
        let mut queue = Queue::new(1e5, 3);
        find_rate(&mut queue, 6e5, 10_000.0, 3, 1).unwrap();
        assert!(queue.trials <= 26, "{}", queue.trials);
    }

    #[test]
    fn a_bound_that_no_rate_keeps_is_said_to_be_that() {
        assert_eq!(find_rate(&mut Queue::new(1e5, 1), 9e4, 10_000.0, 3, 1).unwrap(), Found::Never);
    }

    #[test]
    fn a_client_that_cannot_keep_the_schedule_is_not_taken_for_the_store() {
        let mut queue = Queue { client_from: 4_000.0, ..Queue::new(1e5, 1) };
        let Found::ClientLimited(found) = find_rate(&mut queue, 6e5, 10_000.0, 3, 1).unwrap() else { panic!() };
        let rates = found.rates;
        assert!(rates.iter().all(|rate| (3_000.0..5_000.0).contains(rate)), "{rates:?}");
    }

    #[test]
    fn what_falls_is_levelled() {
        assert_eq!(isotonic(&[1.0, 3.0, 2.0, 4.0]), [1.0, 2.5, 2.5, 4.0]);
        assert_eq!(isotonic(&[3.0, 2.0, 1.0]), [2.0, 2.0, 2.0]);
        assert_eq!(tidy(12_345.6), 12_300.0);
    }
}
