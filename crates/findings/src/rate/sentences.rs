//! What a search for the highest rate found, in a sentence.

use study::{Quantity, RateCount, RateLimit, RateSearch};
use words::units;

/// Fewer rounds than these have no interval.
const LEAST_ROUNDS: u32 = 5;

/// Returns which number of clients keeps most, of each store of which several were searched.
pub(super) fn best(searches: &[RateSearch]) -> impl Iterator<Item = String> {
    let stores = words::distinct(searches.iter().map(|search| search.store.as_str()));
    stores.into_iter().filter_map(move |store| {
        let of_store = || searches.iter().filter(|search| search.store == store);
        let rates = || of_store().filter_map(|search| Some((search, search.rate?.value)));
        let (most, rate) = rates().max_by(|(_, a), (_, b)| a.total_cmp(b))?;
        (of_store().count() > 1).then(|| {
            format!(
                "{store} keeps {} at the highest rate with {}: {} {} per second.",
                most.bound,
                setting(most).join(" "),
                units::count(rate),
                most.counts.noun()
            )
        })
    })
}

/// Returns how to read the curves.
pub(super) fn legend(searches: &[RateSearch]) -> &'static str {
    if searches.iter().any(|search| search.counts == RateCount::Units) {
        "Units (calls of run) were due at random moments (Poisson). P50, P99 and P99.9 are of operations: the first of a unit \
         counts from the moment the unit was due, each other one from the reply before it. OFFERED and ANSWERED are units per second."
    } else {
        "Operations were due at random moments (Poisson); response time counts from the moment each was due. \
         OFFERED and ANSWERED are operations per second."
    }
}

/// Returns the store with what is varied, for people: `redis clients=16`.
pub fn label(search: &RateSearch) -> String {
    [vec![search.store.clone()], setting(search)].concat().join(" ")
}

/// What is varied beside the options of the store, which its spec names.
fn setting(search: &RateSearch) -> Vec<String> {
    let shown = search.varied.iter().map(|(key, value)| format!("{key}={value}"));
    shown.filter(|pair| !search.store.contains(&format!(",{pair}"))).collect()
}

/// Returns the result for one store.
pub fn sentence(search: &RateSearch) -> String {
    let RateSearch { bound, .. } = search;
    let store = label(search);
    let what = search.counts.noun();
    let closed = format!("a closed loop did {}", units::count(search.closed_ops_per_s));
    match (&search.rate, search.limited_by) {
        (_, RateLimit::Fault) => format!("{store}: no rate, because a trial was void: {closed}."),
        (_, RateLimit::NotRun) => format!("{store}: not searched, because it could not be opened or started here."),
        (_, RateLimit::Bound) => format!(
            "{store} misses {bound} even when nearly idle ({closed} {what} per second). Ask for a larger bound."
        ),
        (_, RateLimit::Interrupted) => cut_off(search, &store),
        (None, RateLimit::Client) => {
            let why = match search.wire_ns {
                Some(ns) => format!(
                    "even a server that does nothing, reached in the same way, took {} here at the lowest rate",
                    units::duration(ns * 1e-9)
                ),
                None => "the client itself was late at every rate, even the lowest".to_owned(),
            };
            format!(
                "{store}: no answer. {bound} is out of this client's reach: {why}. That says nothing of the store: ask for a larger \
                 bound, or give the client processors of its own."
            )
        }
        (None, RateLimit::NotOffered) => {
            format!("{store}: no answer, because no rate was offered as it was asked for. {LONGER}")
        }
        (None, _) => format!("{store}: no rate was found."),
        (Some(rate), RateLimit::Client) => format!(
            "{store} keeps {bound} up to at least {}; beyond that the client itself was late or at its limit, so the store may do more: \
             give it more --threads, or processors of its own.",
            interval(rate, what)
        ),
        (Some(rate), RateLimit::NotOffered) => format!(
            "{store} keeps {bound} up to at least {}; beyond that fewer {what} were due than the rate asks for, so the store may do \
             more. {LONGER}",
            interval(rate, what)
        ),
        (Some(rate), RateLimit::Unsettled) => format!(
            "{store}: cut off without a result. {bound} was kept at {} {what} per second, but the edge moved from round to round, or no \
             rate was too high. Repeat the search on a quieter machine, with longer steps (--set seconds=).",
            units::count(rate.value)
        ),
        (Some(rate), RateLimit::Connections) => format!(
            "{store} keeps {bound} up to {}, and {} the limit, not the store{}. {MORE}",
            interval(rate, what),
            match search.clients {
                1 => "its one client was".to_owned(),
                clients => format!("its {clients} clients were"),
            },
            search.more_clients.map_or(String::new(), |more| format!(
                ": {} clients keep it at {} per second, too",
                more.clients,
                units::count(more.offered_ops_per_s)
            ))
        ),
        (Some(rate), _) => format!("{store} keeps {bound} up to {} ({closed}).", interval(rate, what)),
    }
}

const MORE: &str = "Add --clients, or --vary clients=1..256x4 to search for the best number.";
const LONGER: &str = "The trials may be too short (--set seconds=), or the job too small.";

/// A search that did not come to its end, and the highest rate known by then.
fn cut_off(search: &RateSearch, store: &str) -> String {
    let RateSearch { bound, .. } = search;
    let what = search.counts.noun();
    let kept = search.points.iter().filter(|point| point.n > 0 && point.within == point.n);
    match kept.map(|point| point.offered_ops_per_s).max_by(f64::total_cmp) {
        Some(most) => format!(
            "{store}: the search was cut off before its end, so there is no result. Until then {bound} was kept at up to {} {what} per \
             second.",
            units::count(most)
        ),
        None if search.closed_ops_per_s > 0.0 => {
            format!("{store}: the search was cut off before its end, so there is no result.")
        }
        None => format!("{store}: not searched, because the search was cut off before."),
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

#[cfg(test)]
mod tests {
    use super::{best, sentence};
    use study::{MoreClients, Quantity, RateLimit, RatePoint, RateSearch};

    fn found(clients: u32, rate: f64, limited_by: RateLimit) -> RateSearch {
        RateSearch {
            store: "redis".into(),
            varied: [("clients".to_owned(), clients.to_string())].into(),
            clients,
            bound: "p99<2ms".into(),
            closed_ops_per_s: rate * 1.1,
            rate: Some(Quantity { value: rate, low: rate * 0.98, high: rate * 1.02, level: 0.9375, n: 5 }),
            limited_by,
            ..RateSearch::default()
        }
    }

    #[test]
    fn one_client_that_was_the_limit_is_named_with_what_more_clients_keep() {
        let more_clients = Some(MoreClients { clients: 4, offered_ops_per_s: 12_000.0 });
        let one = RateSearch { more_clients, varied: Default::default(), ..found(1, 9_560.0, RateLimit::Connections) };
        assert_eq!(
            sentence(&one),
            "redis keeps p99<2ms up to 9.56k operations per second (9.37k to 9.75k, 94 % of 5 rounds), and its one client was the \
             limit, not the store: 4 clients keep it at 12.0k per second, too. Add --clients, or --vary clients=1..256x4 to search for \
             the best number."
        );
    }

    #[test]
    fn of_several_numbers_of_clients_the_best_comes_first() {
        let searches = [found(1, 9_560.0, RateLimit::Connections), found(16, 135_000.0, RateLimit::Store)];
        let said: Vec<String> = best(&searches).chain(searches.iter().map(sentence)).collect();
        assert_eq!(said[0], "redis keeps p99<2ms at the highest rate with clients=16: 135k operations per second.");
        assert!(
            said[1].starts_with("redis clients=1 keeps") && said[2].starts_with("redis clients=16 keeps"),
            "{said:?}"
        );
    }

    #[test]
    fn a_search_that_was_cut_off_says_so_whatever_it_had_found() {
        let point =
            |offered: f64, within| RatePoint { offered_ops_per_s: offered, n: 1, within, ..RatePoint::default() };
        let cut = RateSearch {
            points: vec![point(3_000.0, 1), point(4_000.0, 1), point(5_000.0, 0)],
            ..found(1, 4_500.0, RateLimit::Interrupted)
        };
        let said = sentence(&cut);
        assert!(said.contains("cut off before its end") && said.contains("up to 4.00k operations"), "{said}");
        let unbegun = RateSearch { closed_ops_per_s: 0.0, rate: None, points: Vec::new(), ..cut };
        assert!(sentence(&unbegun).contains("not searched"), "{}", sentence(&unbegun));
    }

    #[test]
    fn a_bound_out_of_the_clients_reach_is_no_answer_about_the_store() {
        let search = RateSearch { rate: None, wire_ns: Some(62_000.0), ..found(1, 4_500.0, RateLimit::Client) };
        let said = sentence(&search);
        assert!(
            said.contains("no answer") && said.contains("62.0 µs") && said.contains("nothing of the store"),
            "{said}"
        );
    }
}
