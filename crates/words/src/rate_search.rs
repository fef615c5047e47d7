//! What a search for the highest rate found, in a sentence.

use crate::units;
use study::{Quantity, RateLimit, RateSearch};

/// Fewer rounds than these have no interval.
const LEAST_ROUNDS: u32 = 5;

/// What was found for one store.
pub fn sentence(search: &RateSearch) -> String {
    let RateSearch { store, bound, .. } = search;
    let what = search.counts.noun();
    let closed = format!("a closed loop did {}", units::count(search.closed_ops_per_s));
    match (&search.rate, search.limited_by) {
        (_, RateLimit::Fault) => format!("{store}: no rate, because a trial was void: {closed}."),
        (_, RateLimit::Bound) => format!(
            "{store} misses {bound} even when nearly idle ({closed} {what} per second). Ask for a larger bound."
        ),
        (None, RateLimit::Interrupted) => format!("{store}: the search was interrupted."),
        (None, _) => format!("{store}: no rate was found."),
        (Some(rate), RateLimit::Client) => format!(
            "{store} keeps {bound} up to at least {}; beyond that the client itself was late, so the store may do more: \
             give it more --threads, or processors of its own.",
            interval(rate, what)
        ),
        (Some(rate), _) => format!("{store} keeps {bound} up to {} ({closed}).", interval(rate, what)),
    }
}

fn interval(rate: &Quantity, what: &str) -> String {
    let value = units::count(rate.value);
    if rate.level > 0.0 {
        let (low, high) = (units::count(rate.low), units::count(rate.high));
        format!("{value} {what} per second ({low} to {high}, {:.0} % of {} rounds)", rate.level * 100.0, rate.n)
    } else {
        let why = match rate.n {
            1 => "one round has no interval".to_owned(),
            n if n < LEAST_ROUNDS => {
                format!("{n} rounds are too few for an interval; --repeats {LEAST_ROUNDS} gives one")
            }
            n => format!("no interval: in some of the {n} rounds the bound was kept at every rate, or at none"),
        };
        format!("about {value} {what} per second ({why})")
    }
}
