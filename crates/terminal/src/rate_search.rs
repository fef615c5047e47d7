//! What a search for the highest rate found, on a terminal.

use crate::blocks;
use crate::layout::Colour;
use crate::reasons;
use study::{RateLimit, Study};

/// Returns a sentence with the rate for each store, and the curve of response time over offered rate; beneath, why trials were void. At
/// most 80 columns wide.
pub fn rate_search(study: &Study, colour: Colour) -> String {
    let mut text = blocks::alone(study, findings::rate::find, colour);
    let failed = |limit| matches!(limit, RateLimit::Fault | RateLimit::NotRun);
    let failed = study.rate_search.iter().filter(|search| failed(search.limited_by));
    let faults: Vec<&str> = failed.map(|search| search.store.as_str()).collect();
    for cell in study.cells.iter().filter(|cell| faults.contains(&cell.store.as_str())) {
        text += &reasons::of_cell(cell, &[], colour);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::rate_search;
    use crate::Colour;
    use study::{Quantity, RateCount, RateLimit, RatePoint, RateSearch, Study};

    #[test]
    fn the_rate_is_printed_with_its_interval_and_the_curve_below_it() {
        let point = |offered: f64, p99_ms: f64, within| RatePoint {
            offered_ops_per_s: offered,
            achieved_ops_per_s: offered,
            p50_ns: 2e5,
            p99_ns: p99_ms * 1e6,
            p99_9_ns: p99_ms * 2e6,
            n: 5,
            within,
            ..RatePoint::default()
        };
        let found = RateSearch {
            store: "redis-unix".into(),
            bound: "p99<2ms".into(),
            closed_ops_per_s: 61_000.0,
            rate: Some(Quantity { value: 41_000.0, low: 40_100.0, high: 42_000.0, level: 0.9375, n: 5 }),
            limited_by: RateLimit::Store,
            points: vec![point(20_000.0, 0.5, 5), point(41_000.0, 1.9, 3), point(45_000.0, 9.0, 0)],
            ..RateSearch::default()
        };
        let units = RateSearch { counts: RateCount::Units, ..found.clone() };
        let of_units = rate_search(&Study { rate_search: vec![units], ..Study::default() }, Colour::Never);
        let words = of_units.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            words.contains("up to 41.0k units per second") && words.contains("ANSWERED are units per second"),
            "{words}"
        );
        let client = RateSearch { limited_by: RateLimit::Client, ..found.clone() };
        let few = Quantity { value: 9_000.0, low: 9_000.0, high: 9_000.0, level: 0.0, n: 2 };
        let unsure = RateSearch { store: "unsure".into(), rate: Some(few), ..found.clone() };
        let never = RateSearch { rate: None, limited_by: RateLimit::Bound, points: Vec::new(), ..found.clone() };
        let sentences: Vec<String> = [&found, &client, &never, &unsure].map(findings::rate::sentence).into();
        let text =
            rate_search(&Study { rate_search: vec![found, client, never, unsure], ..Study::default() }, Colour::Never);
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for sentence in &sentences {
            assert!(words.contains(sentence.as_str()), "{sentence}: {text}");
        }
        assert!(
            words.contains(
                "redis-unix keeps p99<2ms up to 41.0k operations per second (40.1k to 42.0k, 94 % of 5 rounds)"
            ),
            "{text}"
        );
        assert!(
            words.contains(
                "unsure keeps p99<2ms up to about 9.00k operations per second (2 rounds are too few for an interval; \
                 --repeats 5 gives one)"
            ),
            "{text}"
        );
        assert!(words.contains("kept in 3 of 5") && words.contains("broken"), "{text}");
        assert!(words.contains("the client itself was late") && words.contains("even when nearly idle"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
