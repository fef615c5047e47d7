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
pub trait RateTrials {
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
pub enum RateFinding {
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
pub fn find_rate<L: RateTrials>(
    load: &mut L,
    limit_ns: f64,
    closed: f64,
    rounds: u32,
    seed: u64,
) -> Result<RateFinding, L::Error> {
    let Some((mut low, mut high)) = bracket(load, limit_ns, None, None, closed)? else { return Ok(RateFinding::Never) };
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
            let outside = seen.iter().filter(|one| !within(one, limit_ns));
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
            return Ok(RateFinding::ClientLimited(Rounds { rates: estimates, clipped: below + above }));
        }
        // When most rounds found no crossing among these rates, the bracket was luck, and another is looked for beyond them.
        let (from, to) = if 2 * above > rounds {
            (Some(rates[EDGE - 1]), None)
        } else if 2 * below > rounds {
            (None, Some(rates[0]))
        } else {
            return Ok(RateFinding::Rates(Rounds { rates: estimates, clipped: below + above }));
        };
        match bracket(load, limit_ns, from, to, closed)? {
            Some(found) => (low, high) = found,
            None => return Ok(RateFinding::Never),
        }
    }
    Ok(RateFinding::Rates(Rounds { rates: vec![low], clipped: 1 })) // it kept moving: a single value says that nothing is sure
}

fn within(seen: &Seen, limit_ns: f64) -> bool {
    seen.kept_up && !seen.client_late && seen.figure_ns < limit_ns
}

/// A rate that keeps the bound and one a little higher that does not, as far as single trials can say; `None` when no rate keeps it.
fn bracket<L: RateTrials>(
    load: &mut L,
    limit_ns: f64,
    mut low: Option<f64>,
    mut high: Option<f64>,
    closed: f64,
) -> Result<Option<(f64, f64)>, L::Error> {
    for _ in 0..MOST_STEPS {
        let rate = match (low, high) {
            (Some(low), Some(high)) if high / low <= NARROW => break,
            (Some(low), Some(high)) => f64::sqrt(low * high),
            (Some(low), None) => low * 1.4,
            (None, Some(high)) if high < closed * LEAST_SHARE => return Ok(None),
            (None, Some(high)) => high / 2.0,
            (None, None) => closed / 2.0,
        };
        match within(&load.at(tidy(rate))?, limit_ns) {
            true => low = Some(rate),
            false => high = Some(rate),
        }
    }
    Ok(low.zip(high))
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
mod tests;
