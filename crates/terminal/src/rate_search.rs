//! What a search for the highest rate found, on a terminal.

use crate::layout::{Colour, Column, Row, Side, Style, Table, paragraph};
use crate::reasons;
use study::{RateCount, RateLimit, RatePoint, Study};
use words::units;

const COLUMNS: [Column; 6] = [
    Column { title: "OFFERED", side: Side::Right, gap: 3 },
    Column { title: "ANSWERED", side: Side::Right, gap: 2 },
    Column { title: "P50", side: Side::Right, gap: 2 },
    Column { title: "P99", side: Side::Right, gap: 2 },
    Column { title: "P99.9", side: Side::Right, gap: 2 },
    Column { title: "BOUND", side: Side::Left, gap: 2 },
];

/// Returns a sentence with the rate for each store, and the curve of response time over offered rate. At most 80 columns wide.
pub fn rate_search(study: &Study, colour: Colour) -> String {
    let mut text = String::new();
    let sentences = findings::rate::sentences(&study.rate_search);
    let (first, of_each) = sentences.split_at(sentences.len() - study.rate_search.len());
    for sentence in first {
        text.push('\n');
        text += &paragraph(sentence, 1, 3, Style::Bold, colour);
    }
    for (search, sentence) in study.rate_search.iter().zip(of_each) {
        text.push('\n');
        text += &paragraph(sentence, 1, 3, Style::Bold, colour);
        let rows: Vec<Row> = search.points.iter().map(row).collect();
        if !rows.is_empty() {
            let table = Table::fit(&COLUMNS, COLUMNS.len() - 1, rows.iter());
            text += &table.titles(colour);
            rows.iter().for_each(|row| text += &table.row(row, colour));
        }
    }
    let faults: Vec<&str> = study
        .rate_search
        .iter()
        .filter(|search| matches!(search.limited_by, RateLimit::Fault | RateLimit::NotRun))
        .map(|search| search.store.as_str())
        .collect();
    for cell in study.cells.iter().filter(|cell| faults.contains(&cell.store.as_str())) {
        text += &reasons::of_cell(cell, &[], colour);
    }
    text.push('\n');
    let legend = match study.rate_search.iter().any(|search| search.counts == RateCount::Units) {
        false => {
            "Operations were due at random moments (Poisson); response time counts from the moment each was due. \
             OFFERED and ANSWERED are operations per second."
        }
        true => {
            "Units (calls of run) were due at random moments (Poisson). P50, P99 and P99.9 are of operations: the first of a unit \
             counts from the moment the unit was due, each other one from the reply before it. OFFERED and ANSWERED are units per second."
        }
    };
    text + &paragraph(legend, 1, 3, Style::Dim, colour)
}

fn row(point: &RatePoint) -> Row {
    let time = |ns: f64| units::duration(ns * 1e-9);
    let (word, style) = match point {
        RatePoint { client_late, n, .. } if 2 * client_late > *n => ("client late".into(), Style::Warning),
        RatePoint { not_offered, n, .. } if 2 * not_offered > *n => ("not offered".into(), Style::Warning),
        RatePoint { within, n, .. } if within == n => ("kept".into(), Style::Good),
        RatePoint { within: 0, .. } => ("broken".into(), Style::Bad),
        RatePoint { within, n, .. } => (format!("kept in {within} of {n}"), Style::Warning),
    };
    vec![
        (units::count(point.offered_ops_per_s), Style::Plain),
        (units::count(point.achieved_ops_per_s), Style::Plain),
        (time(point.p50_ns), Style::Plain),
        (time(point.p99_ns), Style::Plain),
        (time(point.p99_9_ns), Style::Plain),
        (word, style),
    ]
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
