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

/// The result of one trial at a rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateSeen {
    /// The bounded figure, nanoseconds.
    pub figure_ns: f64,
    /// Whether the rate was offered and kept up with.
    pub course: Course,
}

/// The course of a trial at a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Course {
    /// Everything due was sent and answered: the figure says whether the bound was kept.
    KeptUp,
    /// The store left something due unanswered.
    Behind,
    /// The bound was broken, and the client itself was late or at its limit: nothing is known of the store.
    ClientLate,
    /// Fewer operations were due than the rate asks for: nothing is known of that rate.
    NotOffered,
}

/// Trials at rates, however they are made.
pub trait RateTrials {
    /// Why a search cannot go on.
    type Error;

    /// Makes one trial at this rate.
    ///
    /// # Errors
    /// The search ends.
    fn at(&mut self, ops_per_s: f64) -> Result<RateSeen, Self::Error>;
}

/// The estimates of the rate, one from each round.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RateRounds {
    /// The estimates.
    pub rates: Vec<f64>,
    /// The number of estimates that are only the end of the range: the round kept the bound everywhere, or nowhere.
    pub clipped: u32,
}

/// Fewest rounds whose smallest and largest estimate are an interval worth the name: it holds the rate in 93.75 of 100 searches. Of two
/// rounds it would be 50, of three 75.
pub const LEAST_ROUNDS: usize = 5;

impl RateRounds {
    /// Returns the median, with an interval where the rounds can give one.
    pub fn estimate(&self) -> Option<Quantity> {
        let found = stats::median_interval(&self.rates, 0.95)?;
        let bare = Quantity { value: found.value, low: found.value, high: found.value, level: 0.0, n: found.n as u32 };
        if self.clipped > 0 || found.n < LEAST_ROUNDS {
            return Some(bare);
        }
        Some(Quantity { low: found.low, high: found.high, level: found.level, ..bare })
    }
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq)]
pub enum RateFinding {
    /// The store breaks the bound beyond these rates.
    Rates(RateRounds),
    /// The client could not keep the schedule beyond these rates: the store may do more. Without a rate: at any.
    ClientLimited(RateRounds),
    /// Beyond these rates fewer operations were due than they ask for. Without a rate: at any.
    NotOffered(RateRounds),
    /// Every step kept the bound up to this rate, or the edge kept moving: nothing is sure.
    Unsettled(f64),
    /// Even this rate, the lowest tried, breaks the bound.
    Never(f64),
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
    let (mut low, mut high) = match bracket(load, limit_ns, None, None, closed)? {
        Bracket::Between(low, high) => (low, high),
        Bracket::Open(finding) => return Ok(finding),
    };
    let mut random = Rng::new(seed ^ 0x7261_7465_0000_0001);
    for _ in 0..MOST_MOVES {
        let rates = around(low, high);
        let mut estimates = Vec::new();
        let (mut below, mut above, mut late, mut short, mut beyond) = (0, 0, 0, 0, 0);
        for _ in 0..rounds {
            let mut order: Vec<usize> = (0..EDGE).collect();
            for last in (1..EDGE).rev() {
                order.swap(last, random.below(last as u64 + 1) as usize);
            }
            let mut seen = [RateSeen { figure_ns: 0.0, course: Course::KeptUp }; EDGE];
            for at in order {
                seen[at] = load.at(rates[at])?;
            }
            let outside = seen.iter().filter(|one| !one.is_within(limit_ns));
            beyond += outside.clone().count();
            short += outside.clone().filter(|one| one.course == Course::NotOffered).count();
            late += outside.filter(|one| one.course == Course::ClientLate).count();
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
        let found = RateRounds { rates: estimates, clipped: below + above };
        if 2 * (late + short) > beyond {
            return Ok(if late >= short { RateFinding::ClientLimited(found) } else { RateFinding::NotOffered(found) });
        }
        // When most rounds found no crossing among these rates, the bracket was luck, and another is looked for beyond them.
        let (from, to) = if 2 * above > rounds {
            (Some(rates[EDGE - 1]), None)
        } else if 2 * below > rounds {
            (None, Some(rates[0]))
        } else {
            return Ok(RateFinding::Rates(found));
        };
        match bracket(load, limit_ns, from, to, closed)? {
            Bracket::Between(lower, higher) => (low, high) = (lower, higher),
            Bracket::Open(finding) => return Ok(finding),
        }
    }
    Ok(RateFinding::Unsettled(tidy(low)))
}

impl RateSeen {
    /// Returns whether the rate was offered, kept up with, and the bound kept.
    pub fn is_within(&self, limit_ns: f64) -> bool {
        self.course == Course::KeptUp && self.figure_ns < limit_ns
    }
}

/// Where the edge is, as far as single trials can say.
enum Bracket {
    /// The first rate keeps the bound, the second, a little higher, does not.
    Between(f64, f64),
    /// There is no such pair, and this is what is to be said of that.
    Open(RateFinding),
}

/// A rate that keeps the bound and one a little higher that does not.
fn bracket<L: RateTrials>(
    load: &mut L,
    limit_ns: f64,
    mut low: Option<f64>,
    mut high: Option<f64>,
    closed: f64,
) -> Result<Bracket, L::Error> {
    let mut lowest: Option<Course> = None;
    for _ in 0..MOST_STEPS {
        let rate = match (low, high) {
            (Some(low), Some(high)) if high / low <= NARROW => break,
            (Some(low), Some(high)) => f64::sqrt(low * high),
            (Some(low), None) => low * 1.4,
            (None, Some(high)) if high < closed * LEAST_SHARE => {
                return Ok(Bracket::Open(match lowest {
                    Some(Course::ClientLate) => RateFinding::ClientLimited(RateRounds::default()),
                    Some(Course::NotOffered) => RateFinding::NotOffered(RateRounds::default()),
                    _ => RateFinding::Never(tidy(high)),
                }));
            }
            (None, Some(high)) => high / 2.0,
            (None, None) => closed / 2.0,
        };
        let seen = load.at(tidy(rate))?;
        match seen.is_within(limit_ns) {
            true => low = Some(rate),
            false => (high, lowest) = (Some(rate), Some(seen.course)),
        }
    }
    Ok(match (low, high) {
        (Some(low), Some(high)) => Bracket::Between(low, high),
        (Some(rate), None) => Bracket::Open(RateFinding::Unsettled(tidy(rate))),
        (None, rate) => Bracket::Open(RateFinding::Never(tidy(rate.unwrap_or(closed)))),
    })
}

/// Rates from a little below the bracket to a little above it.
fn around(low: f64, high: f64) -> [f64; EDGE] {
    let width = (high / low).ln().max(0.05);
    let centre = (low * high).sqrt();
    std::array::from_fn(|at| tidy(centre * (width * (at as f64 / (EDGE - 1) as f64 - 0.5) * 2.0).exp()))
}

/// Rounds to three significant digits: rates are to be read.
pub fn tidy(rate: f64) -> f64 {
    format!("{rate:.2e}").parse().unwrap_or(rate)
}

enum Crossing {
    Below,
    At(f64),
    Above,
}

/// Where one round crosses the limit.
fn crossing(rates: &[f64; EDGE], seen: &[RateSeen; EDGE], limit_ns: f64) -> Crossing {
    // A rate that was not kept up with is over the limit whatever was measured.
    let figure = |one: &RateSeen| match one.course {
        Course::KeptUp => one.figure_ns,
        _ => one.figure_ns.max(limit_ns * 4.0),
    };
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
