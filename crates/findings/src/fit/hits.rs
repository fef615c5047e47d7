//! What caches of any size would hit, with the cliffs; and how far what makes the like is off.

use super::picture::{Axis, FitLine, Picture, Scale, Way};
use super::{TraceFit, finding};
use crate::block::{Block, FigureTable};
use crate::chart::DataTable;
use crate::finding::Finding;
use study::whole;
use trace::fit::{HitCurve, LikeDistance};

/// Sizes at which the curve is drawn, as far apart on a logarithmic axis.
fn sizes(curve: &HitCurve) -> Vec<u64> {
    let all = curve.sizes().last().copied().unwrap_or(1);
    let mut sizes = vec![1];
    while let Some(&last) = sizes.last()
        && last < all
    {
        sizes.push((last + 1 + last / 20).min(all));
    }
    sizes
}

fn line(name: &str, curve: &HitCurve, sizes: &[u64]) -> FitLine {
    let points = sizes.iter().map(|&keys| (keys as f64, 100.0 * curve.share(keys))).collect();
    FitLine { name: name.into(), points }
}

pub(super) fn find(fit: &TraceFit<'_>) -> Option<Finding> {
    let curve = &fit.curve;
    let cliffs = curve.cliffs();
    let mut blocks: Vec<Block> = Vec::new();
    for cliff in &cliffs {
        let [[low, high], [below, above]] =
            [cliff.keys.map(whole), cliff.hits.map(|share| format!("{:.1}", 100.0 * share))];
        blocks.push(Block::plain(format!(
            "A cliff, which no Zipf law has: from {low} to {high} keys the hits rise from {below} to {above}."
        )));
    }
    let rows = curve
        .sizes()
        .into_iter()
        .map(|keys| [whole(keys), whole(curve.hits(keys)), format!("{:.1}", 100.0 * curve.share(keys))]);
    let table = DataTable::of(["Keys", "Hits", "Of 100 gets"], rows);
    let shown = sizes(curve);
    let mut lines = vec![line("the trace", curve, &shown)];
    if let Some(like) = &fit.like {
        lines.push(line("the script", &like.script_curve, &shown));
        lines.push(line("the plan", &like.plan_curve, &shown));
    }
    let most = curve.sizes().last().map_or(0.0, |&keys| 100.0 * curve.share(keys));
    let chart = Picture {
        id: "hit-curve",
        title: "Hits of an exact LRU",
        note: "Hits of 100 gets, by the number of keys the cache holds. Marked are cliffs: a cache larger by a tenth hits 5 of 100 gets more.",
        description: format!("Hits of an exact LRU: with all keys {most:.1} of 100 gets; {} cliffs.", cliffs.len()),
        axes: [
            Axis { name: "keys in the cache", unit: "count", scale: Scale::Logarithmic },
            Axis { name: "hits", unit: "percent", scale: Scale::Linear },
        ],
        lines,
        way: Way::Straight,
        marks: cliffs.iter().map(|cliff| cliff.keys.map(|keys| keys as f64)).collect(),
        table,
    };
    blocks.push(Block::Chart(chart.chart()));
    finding("hits", "Hits", blocks)
}

pub(super) fn like(fit: &TraceFit<'_>) -> Option<Finding> {
    let like = fit.like.as_ref()?;
    let columns = ["WHAT", "POPULARITY", "SIZES", "HITS"];
    let row = |(name, distance): (&str, &LikeDistance)| {
        let text = |share: f64| format!("{:.1}", 100.0 * share);
        let sizes = distance.sizes.map_or("-".into(), text);
        [name.to_owned(), text(distance.popularity), sizes, text(distance.hits)]
    };
    let rows = [("script", &like.script), ("plan", &like.plan)].into_iter().map(row);
    let table = FigureTable::of_figures("Off by at most, of 100 (Kolmogorov and Smirnov)", columns, rows)?;
    let words = format!(
        "The plan draws keys by a Zipf law, without memory; the script asks for a key again after as many requests as the trace does. An LRU of some \
         size hits {:.1} of 100 gets otherwise with the script, {:.1} with the plan{}.",
        100.0 * like.script.hits,
        100.0 * like.plan.hits,
        if like.script.hits.min(like.plan.hits) > 0.05 {
            ", so a cache is better tried with the trace itself (kvtrial run replay)"
        } else {
            ""
        }
    );
    finding("like", "The like of it", vec![Block::plain(words), Block::Table(table)])
}
