//! What `kvtrial compare` found, as text, Markdown, JUnit XML and JSON.

mod crashes;
mod junit;
mod markdown;

use crate::layout::{Colour, Column, Row, Side, Style, Table, paragraph};
use analysis::{Compared, Comparison, Contrast, Difference, Gate, Pair, Ruling, Weight};
pub use crashes::{crash_comparison_junit, crash_comparison_markdown, crash_comparison_text};
use findings::comparison;
pub use junit::comparison_junit;
pub use markdown::comparison_markdown;
use std::collections::{BTreeMap, BTreeSet};
use study::{ReasonKind, Status};
use words::advice;

/// Returns the comparison for a terminal, in at most 80 columns: the studies, then every pair in a sentence, its figures, and in what else
/// the cells differ; then what the gates say, and how to read it.
pub fn comparison_text(comparison: &Comparison, gates: &[Gate], colour: Colour) -> String {
    let mut text = String::new();
    for source in &comparison.sources {
        let facts = [source.input.as_str(), &repeats(source.repeats), &source.started_at];
        let facts: Vec<&str> = facts.into_iter().filter(|fact| !fact.is_empty()).collect();
        text += &paragraph(&format!("{}: {}", source.name, facts.join(" · ")), 1, 3, Style::Dim, colour);
    }
    let table = table(comparison);
    for pair in &comparison.pairs {
        text += &pair_text(pair, &table, colour);
    }
    if !comparison.alone.is_empty() || !comparison.void.is_empty() {
        text.push('\n');
    }
    for alone in &comparison.alone {
        text += &paragraph(&format!("Only {} has {}.", alone.source, alone.cell), 1, 3, Style::Warning, colour);
    }
    for void in &comparison.void {
        let line = comparison::not_compared(&void.cell, void.status, &void.reasons);
        let style = if void.status == Status::Void { Style::Bad } else { Style::Warning };
        text += &paragraph(&line, 1, 3, style, colour);
    }
    text += &degraded(comparison, colour);
    text += &gates_text(comparison, gates, colour);
    text += &legend(comparison, colour);
    text
}

fn repeats(n: u32) -> String {
    if n == 1 { "1 repeat".into() } else { format!("{n} repeats") }
}

const COLUMNS: [Column; 6] = [
    Column { title: "METRIC", side: Side::Left, gap: 3 },
    Column { title: "FIRST", side: Side::Right, gap: 1 },
    Column { title: "SECOND", side: Side::Right, gap: 2 },
    Column { title: "SECOND / FIRST", side: Side::Right, gap: 2 },
    Column { title: "P", side: Side::Right, gap: 2 },
    Column { title: "", side: Side::Left, gap: 2 },
];

fn rows(pair: &Pair) -> Vec<Row> {
    pair.contrasts.iter().map(row).collect()
}

fn row(contrast: &Contrast) -> Row {
    let style = match contrast.finding {
        Compared::Better => Style::Good,
        Compared::Worse => Style::Bad,
        Compared::NoDifference | Compared::TooFew { .. } => Style::Dim,
    };
    vec![
        (contrast.metric.name().into(), Style::Plain),
        (comparison::figure(contrast.metric, contrast.a.value), Style::Plain),
        (comparison::figure(contrast.metric, contrast.b.value), Style::Plain),
        (comparison::ratio(contrast.ratio), Style::Plain),
        (comparison::p_cell(contrast.p_holm), Style::Dim),
        (comparison::word(contrast.finding).into(), style),
    ]
}

fn table(comparison: &Comparison) -> Table {
    let all: Vec<Row> = comparison.pairs.iter().flat_map(rows).collect();
    Table::fit_without(&COLUMNS, 0, &[4, 1, 2], all.iter())
}

/// A pair of which only the ranked figure was compared takes one line.
fn pair_text(pair: &Pair, table: &Table, colour: Colour) -> String {
    let mut text = String::new();
    let alone = pair.contrasts.len() <= 1;
    let heading = if pair.cell.is_empty() { String::new() } else { format!("{}: ", pair.cell) };
    if !alone || !pair.differences.is_empty() {
        text.push('\n');
    }
    if let Some(obstacle) = comparison::obstacle(pair) {
        let subject = if pair.cell.is_empty() { format!("{}: ", pair.title()) } else { heading };
        return text + &paragraph(&format!("{subject}{obstacle}."), 1, 3, Style::Warning, colour);
    }
    if let Some(headline) = pair.headline().or(pair.contrasts.first()) {
        let style = if headline.finding == Compared::Worse { Style::Bad } else { Style::Bold };
        text += &paragraph(&format!("{heading}{}.", comparison::sentence(pair, headline)), 1, 3, style, colour);
    }
    text += &differences(&pair.differences, colour);
    if !alone {
        text += &table.titles(colour);
        text += &rows(pair).iter().map(|row| table.row(row, colour)).collect::<String>();
    }
    text
}

/// In what else two are not alike, a line each.
fn differences(all: &[Difference], colour: Colour) -> String {
    let line = |difference: &Difference| {
        let (word, style) = match difference.weight() {
            Weight::Listed => ("note", Style::Dim),
            Weight::Across | Weight::Forbids => ("NOT ALIKE", Style::Warning),
        };
        paragraph(&format!("{word}: {}.", comparison::difference(difference)), 3, 5, style, colour)
    };
    all.iter().map(line).collect()
}

/// What may have distorted which figures, one line per kind of reason.
fn degraded(comparison: &Comparison, colour: Colour) -> String {
    let mut kinds: BTreeMap<ReasonKind, BTreeSet<String>> = BTreeMap::new();
    for pair in comparison.pairs.iter().filter(|pair| pair.obstacle.is_none()) {
        for (name, verdict) in [(&pair.a, &pair.verdict_a), (&pair.b, &pair.verdict_b)] {
            let name = if pair.cell.is_empty() { name.clone() } else { format!("{} in {name}", pair.cell) };
            for reason in &verdict.reasons {
                kinds.entry(reason.kind).or_default().insert(name.clone());
            }
        }
    }
    let mut text = String::new();
    for (kind, names) in kinds {
        let (meaning, remedy) = advice(kind);
        let names: Vec<String> = names.into_iter().collect();
        let line = format!("Degraded, {meaning}: {}. → {remedy}.", names.join(", "));
        text += &paragraph(&line, 1, 3, Style::Warning, colour);
    }
    if text.is_empty() { text } else { format!("\n{text}") }
}

fn gates_text(comparison: &Comparison, gates: &[Gate], colour: Colour) -> String {
    let mut text = String::new();
    for judgement in &comparison.judgements {
        let style = match judgement.outcome {
            Ruling::Kept => Style::Good,
            Ruling::Broken => Style::Bad,
            Ruling::NotApplicable { .. } | Ruling::TooFew { .. } | Ruling::TooNoisy { .. } => Style::Warning,
        };
        text += &paragraph(&comparison::judgement(judgement, gates), 1, 9, style, colour);
    }
    if text.is_empty() { text } else { format!("\n{text}") }
}

/// How to read it, as far as this comparison needs it.
fn legend(comparison: &Comparison, colour: Colour) -> String {
    let contrasts: Vec<&Contrast> = comparison.pairs.iter().flat_map(|pair| &pair.contrasts).collect();
    if contrasts.is_empty() {
        return String::new();
    }
    let levels: Vec<f64> = contrasts.iter().filter_map(|it| it.ratio).map(|ratio| ratio.level).collect();
    let level = stats::quantile(&levels, 0.0).unwrap_or_default();
    let intervals = match level {
        0.0 => "single trials have no interval".to_owned(),
        level if contrasts.iter().any(|it| it.metric.is_of_all_trials()) => format!(
            "ratios of medians over trials, of percentiles and shares those of all operations, with their {} interval",
            comparison::percent(level)
        ),
        level => format!("ratios of medians over trials with their {} interval", comparison::percent(level)),
    };
    let family = contrasts.iter().filter(|it| it.metric == contrasts[0].metric).count();
    let corrected = match family {
        1 => String::new(),
        n => format!(", corrected for {} comparisons (Holm)", words::units::whole(n as u64)),
    };
    let p = format!("p: chance alone would show such a difference this often (Welch's test on logarithms{corrected})");
    let detectable = "smallest detectable: a difference of this size would have been found 9 times in 10";
    let mut text = String::from("\n");
    let is_said = contrasts.iter().any(|it| it.finding == Compared::NoDifference && it.smallest_detectable.is_some());
    for line in [intervals.as_str(), &p, detectable].iter().take(if is_said { 3 } else { 2 }) {
        text += &paragraph(line, 1, 3, Style::Dim, colour);
    }
    text
}
