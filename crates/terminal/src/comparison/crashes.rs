//! Two studies of crashes against each other: as text, Markdown and JUnit XML.

use super::differences;
use crate::formats::junit::{Suite, TestCase, TestResult};
use crate::layout::{Colour, Style, paragraph};
use crate::markdown::{code, escaped};
use analysis::{CrashComparison, CrashPair, PromiseShift};
use findings::comparison::{self, crashes as crash_comparison};
use std::fmt::Write;

/// Columns of the word before a figure.
const WORD: usize = 13;

/// Returns the comparison for a terminal, in at most 80 columns: the studies, then every level in a sentence, its figures before and
/// after, and the other differences; then how to read it.
pub fn crash_comparison_text(comparison: &CrashComparison, colour: Colour) -> String {
    let mut text = String::new();
    for source in &comparison.sources {
        let facts = [source.input.as_str(), &source.started_at].join(" · ");
        text += &paragraph(&format!("{}: {facts}", source.name), 1, 3, Style::Dim, colour);
    }
    comparison.pairs.iter().for_each(|pair| text += &pair_text(pair, colour));
    if !comparison.alone.is_empty() {
        text.push('\n');
    }
    for alone in &comparison.alone {
        text += &paragraph(&format!("Only {} has {}.", alone.source, alone.cell), 1, 3, Style::Warning, colour);
    }
    if comparison.pairs.iter().all(|pair| pair.obstacle.is_some()) {
        return text;
    }
    text.push('\n');
    let tests = comparison.pairs.iter().filter(|pair| pair.breaks.or(pair.losses).is_some()).count();
    for line in crash_comparison::legend(tests) {
        text += &paragraph(&line, 1, 3, Style::Dim, colour);
    }
    text
}

fn pair_text(pair: &CrashPair, colour: Colour) -> String {
    let style = match pair.shift {
        _ if pair.obstacle.is_some() => Style::Warning,
        PromiseShift::Regression => Style::Bad,
        PromiseShift::NotShown => Style::Warning,
        PromiseShift::Repaired => Style::Good,
        PromiseShift::Same => Style::Bold,
    };
    let mut text = format!("\n{}", paragraph(&format!("{}.", crash_comparison::sentence(pair)), 1, 3, style, colour));
    if pair.obstacle.is_some() {
        return text;
    }
    for (word, figure) in crash_comparison::figures(pair) {
        text += &paragraph(&format!("{word:WORD$}{figure}"), 3, 3 + WORD, Style::Plain, colour);
    }
    for problem in crash_comparison::problems(pair) {
        text += &paragraph(&problem, 3, 5, Style::Warning, colour);
    }
    text + &differences(&pair.differences, colour)
}

/// Returns the comparison as GitHub-flavoured Markdown: a heading, every level in a sentence with the differences that count, and a table
/// of all figures.
pub fn crash_comparison_markdown(comparison: &CrashComparison) -> String {
    let names: Vec<String> = comparison.sources.iter().map(|source| code(&source.name)).collect();
    let mut text = format!("### kvtrial crash: {}\n\n", names.join(" → "));
    for pair in &comparison.pairs {
        let sign = match pair.shift {
            _ if pair.obstacle.is_some() => "➖",
            PromiseShift::Regression => "❌",
            PromiseShift::NotShown => "⚠️",
            PromiseShift::Same | PromiseShift::Repaired => "✅",
        };
        let _ = writeln!(text, "- {sign} {}.", escaped(&crash_comparison::sentence(pair)));
        let differences = pair.differences.iter().map(comparison::difference);
        for line in crash_comparison::problems(pair).into_iter().chain(differences) {
            let _ = writeln!(text, "  - {}", escaped(&line));
        }
    }
    for alone in &comparison.alone {
        let _ = writeln!(text, "- only {} has {}", code(&alone.source), code(&alone.cell));
    }
    for pair in comparison.pairs.iter().filter(|pair| pair.obstacle.is_none()) {
        let _ = writeln!(text, "\n| {} | before → after |\n|---|---|", escaped(&pair.title()));
        for (word, figure) in crash_comparison::figures(pair) {
            let _ = writeln!(text, "| {word} | {} |", escaped(&figure));
        }
    }
    text
}

/// Returns the comparison as JUnit XML: a test case per level; a regression is a failure, and a pair that is not compared, or shows
/// nothing, is skipped.
pub fn crash_comparison_junit(comparison: &CrashComparison) -> String {
    let case = |pair: &CrashPair| {
        let said = crash_comparison::sentence(pair);
        let result = match pair.shift {
            _ if pair.obstacle.is_some() => TestResult::Skipped(said.clone()),
            PromiseShift::NotShown => TestResult::Skipped(said.clone()),
            PromiseShift::Regression => TestResult::Failed { kind: "regression".into(), message: said.clone() },
            PromiseShift::Same | PromiseShift::Repaired => TestResult::Passed,
        };
        TestCase { class: "kvtrial.compare".into(), name: pair.title(), time_s: None, result, output: said }
    };
    Suite {
        name: "kvtrial compare".into(),
        timestamp: comparison.sources.last().map(|source| source.started_at.clone()).unwrap_or_default(),
        properties: comparison.sources.iter().map(|source| (source.name.clone(), source.path.clone())).collect(),
        cases: comparison.pairs.iter().map(case).collect(),
    }
    .to_xml()
}
