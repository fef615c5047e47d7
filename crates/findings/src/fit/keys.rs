//! How popular keys are, and how they change.

use super::picture::{Axis, FitLine, Picture, Scale, Way, thin};
use super::{TraceFit, finding};
use crate::block::{Block, FigureTable};
use crate::chart::DataTable;
use crate::finding::Finding;
use study::whole;
use trace::fit;
use words::units;

pub(super) fn popularity(fit: &TraceFit<'_>) -> Option<Finding> {
    let text = said(fit);
    let counts = &fit.counts;
    let points = ranks(counts.len()).map(|rank| (rank as f64, f64::from(counts[rank - 1]))).collect();
    let mut lines = vec![FitLine { name: "requests".into(), points }];
    let rows = ranks(counts.len()).map(|rank| [whole(rank as u64), whole(counts[rank - 1].into())]);
    let table = DataTable::of(["Rank", "Requests"], rows);
    if let Some(law) = &fit.popularity {
        // Through the keys that were fitted: as many requests as these.
        let weights = (1..=law.keys).map(|rank| (rank as f64).powf(-law.exponent)).sum::<f64>();
        let requests = counts[..law.keys].iter().map(|&count| f64::from(count)).sum::<f64>();
        let of_law = |rank: usize| (rank as f64, requests / weights * (rank as f64).powf(-law.exponent));
        let points = ranks(law.keys).map(of_law).collect();
        lines.push(FitLine { name: format!("Zipf, exponent {:.3}", law.exponent), points });
    }
    let chart = Picture {
        id: "popularity",
        title: "Popularity",
        note: "Requests for each key, the most popular first, both on logarithmic axes: a Zipf law is a straight line.",
        description: format!("Popularity: {text}."),
        axes: [
            Axis { name: "rank of the key", unit: "count", scale: Scale::Logarithmic },
            Axis { name: "requests", unit: "count", scale: Scale::Logarithmic },
        ],
        lines,
        way: Way::Straight,
        marks: Vec::new(),
        table,
    };
    finding("popularity", "Popularity", vec![Block::plain(text), Block::Chart(chart.chart())])
}

/// Ranks that are as far apart on a logarithmic axis.
fn ranks(keys: usize) -> impl Iterator<Item = usize> {
    let mut rank = 0;
    std::iter::from_fn(move || {
        rank = if rank >= keys { keys + 1 } else { (rank + 1 + rank / 12).min(keys) };
        (rank <= keys && keys > 0).then_some(rank)
    })
}

fn said(fit: &TraceFit<'_>) -> String {
    let Some(it) = &fit.popularity else {
        return "fewer than 20 keys were asked for ten times: no law can be seen".into();
    };
    let over = format!(
        "over the {} keys that were asked for ten times or more ({} of the requests; the first {} times)",
        whole(it.keys as u64),
        units::share(it.share),
        whole(fit.counts.first().copied().unwrap_or(0).into())
    );
    let [distance, of_samples] = [it.distance, it.of_samples].map(|distance| format!("{:.1} %", 100.0 * distance));
    match it.is_zipf() {
        true => format!(
            "Zipf, exponent {:.3} ({:.3} to {:.3}, 95 %), off by {distance} at most, {over}",
            it.exponent, it.interval[0], it.interval[1]
        ),
        false => format!(
            "not Zipf: the nearest, of exponent {:.3}, is off by {distance}, 19 samples of it by {of_samples} at most; {over}",
            it.exponent
        ),
    }
}

pub(super) fn working_set(fit: &TraceFit<'_>) -> Option<Finding> {
    let sets = fit::working_sets(fit.trace);
    let numbered = || (1..).zip(&sets);
    let rows = || numbered().map(|(part, set)| [part.to_string(), whole(set.keys as u64), whole(set.new_keys as u64)]);
    let table = FigureTable::of_figures("Keys by tenths of the requests", ["PART", "DIFFERENT", "NEW"], rows())?;
    let figures = DataTable::of(["Tenth", "Different keys", "New keys"], rows());
    let different = numbered().map(|(part, set)| (f64::from(part), set.keys as f64)).collect();
    let new = numbered().map(|(part, set)| (f64::from(part), set.new_keys as f64)).collect();
    let last = sets.last()?;
    let text = format!(
        "{} of the keys of the last tenth were not asked for before",
        units::share(last.new_keys as f64 / last.keys.max(1) as f64)
    );
    let chart = Picture {
        id: "working-set",
        title: "Working set",
        note: "Different keys in each tenth of the requests, and how many of these were not asked for before.",
        description: format!("Working set: {text}."),
        axes: [
            Axis { name: "tenth of the requests", unit: "number", scale: Scale::Linear },
            Axis { name: "keys", unit: "count", scale: Scale::Linear },
        ],
        lines: vec![
            FitLine { name: "different".into(), points: thin(different) },
            FitLine { name: "new".into(), points: thin(new) },
        ],
        way: Way::Straight,
        marks: Vec::new(),
        table: figures,
    };
    finding("working-set", "Working set", vec![Block::plain(text), Block::Table(table), Block::Chart(chart.chart())])
}
