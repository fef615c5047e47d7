//! The curve of a search for the highest rate as a table: response time over offered rate.

use super::sentences::label;
use crate::block::{FigureColumn, FigureTable, FigureText, Tone};
use study::{RatePoint, RateSearch};
use words::units;

/// Returns the table of a search that offered any rate.
pub(super) fn curve(search: &RateSearch) -> Option<FigureTable> {
    let title = format!("{}: response time over offered rate", label(search));
    let rows: Vec<_> = search.points.iter().map(row).collect();
    let figures = ["OFFERED", "ANSWERED", "P50", "P99", "P99.9"].map(FigureColumn::figures).into_iter();
    let columns = figures.chain([FigureColumn::words("BOUND")]).collect();
    (!rows.is_empty()).then(|| FigureTable { title, columns, rows, ..FigureTable::default() })
}

fn row(point: &RatePoint) -> Vec<FigureText> {
    let time = |ns: f64| units::duration(ns * 1e-9).into();
    let (word, tone) = match point {
        RatePoint { client_late, n, .. } if 2 * client_late > *n => ("client late".into(), Tone::Warning),
        RatePoint { not_offered, n, .. } if 2 * not_offered > *n => ("not offered".into(), Tone::Warning),
        RatePoint { within, n, .. } if within == n => ("kept".into(), Tone::Good),
        RatePoint { within: 0, .. } => ("broken".into(), Tone::Bad),
        RatePoint { within, n, .. } => (format!("kept in {within} of {n}"), Tone::Warning),
    };
    vec![
        units::count(point.offered_ops_per_s).into(),
        units::count(point.achieved_ops_per_s).into(),
        time(point.p50_ns),
        time(point.p99_ns),
        time(point.p99_9_ns),
        FigureText::toned(word, tone),
    ]
}
