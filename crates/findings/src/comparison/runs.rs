//! Runs against each other, as sentences and tables.

use super::sentences::{figure, judgement, not_compared, obstacle, p_cell, percent, ratio, sentence, word};
use super::{ComparisonText, alone, decisions, differences, source};
use crate::block::{Block, FigureColumn, FigureTable, FigureText, Sentence, Tone};
use crate::finding::FindingPart;
use analysis::{Compared, Comparison, Contrast, Gate, Judgement, Pair, Ruling, VoidCell};
use std::collections::{BTreeMap, BTreeSet};
use study::{ReasonKind, Status};
use words::advice;

/// Returns what a comparison of runs found, and how its gates ruled.
pub fn of_runs(comparison: &Comparison, gates: &[Gate]) -> ComparisonText {
    let repeats = |n: u32| words::counted(u64::from(n), "repeat");
    let sources = comparison.sources.iter();
    ComparisonText {
        sources: sources.map(|it| source(it, &[&it.input, &repeats(it.repeats), &it.started_at])).collect(),
        decisions: decisions::sentences(comparison),
        pairs: comparison.pairs.iter().map(part).collect(),
        missing: comparison.alone.iter().map(alone).chain(comparison.void.iter().map(void)).collect(),
        doubts: doubts(comparison),
        rulings: comparison.judgements.iter().map(|it| ruling(it, comparison, gates)).collect(),
        legend: legend(comparison),
    }
}

fn part(pair: &Pair) -> FindingPart {
    let label = pair.title();
    let heading = if pair.cell.is_empty() { String::new() } else { format!("{}: ", pair.cell) };
    let headline = match (obstacle(pair), pair.headline().or(pair.contrasts.first())) {
        (Some(obstacle), _) => Some(Block::headline(format!("{label}: {obstacle}."), Tone::Warning)),
        (None, Some(of)) => {
            let tone = if of.finding == Compared::Worse { Tone::Bad } else { Tone::Strong };
            Some(Block::headline(format!("{heading}{}.", sentence(pair, of)), tone))
        }
        (None, None) => None,
    };
    let differences = differences(&pair.differences, pair.obstacle.is_none());
    let table = (!pair.contrasts.is_empty()).then(|| Block::Table(table(pair)));
    FindingPart { label, blocks: headline.into_iter().chain(differences).chain(table).collect() }
}

fn table(pair: &Pair) -> FigureTable {
    FigureTable {
        title: pair.title(),
        // The ratio says what the figures show.
        columns: vec![
            FigureColumn::words("METRIC").headed("metric"),
            FigureColumn::figures("FIRST").headed(pair.a.clone()).spare(2),
            FigureColumn::figures("SECOND").headed(pair.b.clone()).spare(3),
            FigureColumn::figures("SECOND / FIRST").headed("ratio"),
            FigureColumn::figures("P").headed("p").spare(1),
            FigureColumn::words("").headed("finding"),
        ],
        rows: pair.contrasts.iter().map(row).collect(),
        ..FigureTable::default()
    }
}

fn row(contrast: &Contrast) -> Vec<FigureText> {
    let tone = match contrast.finding {
        Compared::Better => Tone::Good,
        Compared::Worse => Tone::Bad,
        Compared::NoDifference | Compared::TooFew { .. } => Tone::Faint,
    };
    vec![
        contrast.metric.name().into(),
        figure(contrast.metric, contrast.a.value).into(),
        figure(contrast.metric, contrast.b.value).into(),
        ratio(contrast.ratio).into(),
        FigureText::toned(p_cell(contrast.p_holm), Tone::Faint),
        FigureText::toned(word(contrast.finding), tone),
    ]
}

fn void(void: &VoidCell) -> Sentence {
    let tone = if void.status == Status::Void { Tone::Bad } else { Tone::Warning };
    Sentence::toned(not_compared(&void.cell, void.status, &void.reasons) + ".", tone)
}

/// What may have distorted which figures, a sentence per kind of reason.
fn doubts(comparison: &Comparison) -> Vec<Sentence> {
    let mut kinds: BTreeMap<ReasonKind, BTreeSet<String>> = BTreeMap::new();
    for pair in comparison.pairs.iter().filter(|pair| pair.obstacle.is_none()) {
        for (name, verdict) in [(&pair.a, &pair.verdict_a), (&pair.b, &pair.verdict_b)] {
            let name = if pair.cell.is_empty() { name.clone() } else { format!("{} in {name}", pair.cell) };
            for reason in &verdict.reasons {
                kinds.entry(reason.kind).or_default().insert(name.clone());
            }
        }
    }
    let said = |(kind, names): (ReasonKind, BTreeSet<String>)| {
        let (meaning, remedy) = advice(kind);
        let names = names.into_iter().collect::<Vec<_>>().join(", ");
        Sentence::toned(format!("Degraded, {meaning}: {names}. → {remedy}."), Tone::Warning)
    };
    kinds.into_iter().map(said).collect()
}

fn ruling(it: &Judgement, comparison: &Comparison, gates: &[Gate]) -> Sentence {
    let tone = match it.outcome {
        Ruling::Kept => Tone::Good,
        Ruling::Broken => Tone::Bad,
        Ruling::TooFew { .. } | Ruling::TooNoisy { .. } => Tone::Warning,
        Ruling::NotApplicable { .. } => Tone::Faint,
    };
    Sentence::toned(judgement(it, comparison, gates), tone)
}

/// How to read it, as far as this comparison needs it.
fn legend(comparison: &Comparison) -> Vec<Sentence> {
    let contrasts: Vec<&Contrast> = comparison.pairs.iter().flat_map(|pair| &pair.contrasts).collect();
    if contrasts.is_empty() {
        return Vec::new();
    }
    let levels: Vec<f64> = contrasts.iter().filter_map(|it| it.ratio).map(|ratio| ratio.level).collect();
    let level = stats::quantile(&levels, 0.0).unwrap_or_default();
    let intervals = match level {
        0.0 => "single trials have no interval".to_owned(),
        level if contrasts.iter().any(|it| it.metric.is_of_all_trials()) => format!(
            "ratios of medians over trials, of percentiles and shares those of all operations, with their {} interval",
            percent(level)
        ),
        level => format!("ratios of medians over trials with their {} interval", percent(level)),
    };
    let family = contrasts.iter().filter(|it| it.metric == contrasts[0].metric).count();
    let corrected = match family {
        1 => String::new(),
        n => format!(", corrected for {} comparisons (Holm)", words::units::whole(n as u64)),
    };
    let p = format!("p: chance alone would show such a difference this often (Welch's test on logarithms{corrected})");
    let detectable = "smallest detectable: a difference of this size would have been found 9 times in 10";
    let is_said = contrasts.iter().any(|it| it.finding == Compared::NoDifference && it.smallest_detectable.is_some());
    let lines = [intervals, p, detectable.to_owned()].into_iter().take(if is_said { 3 } else { 2 });
    lines.map(|line| Sentence::toned(line, Tone::Faint)).collect()
}
