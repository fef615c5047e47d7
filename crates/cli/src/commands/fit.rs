//! `kvtrial fit`: what a trace is like, in words, as a page, and as a plan and a script that make the like.

mod plan;
mod script;

use super::report_files::{PAGE, PLOTS, write_page};
use crate::args::FitArguments;
use crate::failure::{self, CommandFailure};
use crate::output::{print, shell_word};
use ::report::FindingsPage;
use findings::fit::TraceFit;
use findings::{Block, FigureTable};
use std::fmt::Write as _;
use std::path::Path;
use study::whole;
use trace::fit::HitCurve;
use trace::{Trace, TraceFormat, TraceOptions};

/// The widest bar of a hit ratio.
const BAR: usize = 40;
/// The files that make the like.
const PLAN: &str = "like.properties";
const SCRIPT: &str = "like.lua";

/// Says what a trace is like.
pub fn fit(arguments: &FitArguments) -> Result<u8, CommandFailure> {
    let format = match (arguments.format.as_str(), TraceFormat::named(&arguments.format)) {
        ("auto", _) => None,
        (_, Some(format)) => Some(format),
        (name, None) => {
            let names = TraceFormat::ALL.map(TraceFormat::name).join(", ");
            return Err(CommandFailure::usage(format!("--format {name} is not possible; use auto, {names}")));
        }
    };
    let most = match arguments.requests.as_deref().map(|text| (text, data::count::whole(text))) {
        None => u64::MAX,
        Some((_, Some(most @ 1..))) => most,
        Some((text, _)) => {
            return Err(CommandFailure::usage(format!("--requests {text} is not possible; use a number, such as 10M")));
        }
    };
    let options = TraceOptions { format, most, seed: arguments.seed };
    let trace = Trace::read(&arguments.file, options).map_err(CommandFailure::usage)?;
    let mut fit = TraceFit::of(&trace, arguments.seed);
    if arguments.out.is_some() {
        fit = fit.with_like(arguments.seed);
    }
    let mut text = said(&fit);
    if let Some(out) = &arguments.out {
        text += &written(&fit, out, &arguments.file.display().to_string())?;
    }
    print(&text)?;
    Ok(failure::GOOD)
}

/// The first line: what the trace is.
fn headline(trace: &Trace, fit: &TraceFit<'_>) -> String {
    format!(
        "{} requests for {} keys, {} of them once",
        whole(trace.ids().len() as u64),
        whole(fit.counts.len() as u64),
        whole(fit.counts.iter().filter(|&&count| count == 1).count() as u64)
    )
}

/// What is said of a trace.
fn said(fit: &TraceFit<'_>) -> String {
    let trace = fit.trace;
    let mut text = format!("{}, {}: {}\n\n", trace.source_name(), trace.format().name(), headline(trace, fit));
    if trace.is_cut_off() {
        text += "The recording was not closed: what was recorded in its last second may be missing.\n";
    }
    let (mut tables, mut last) = (String::new(), String::new());
    for finding in fit.findings() {
        for block in finding.parts.into_iter().flat_map(|part| part.blocks) {
            match block {
                Block::Sentence(sentence) if finding.id == "hits" => _ = writeln!(last, "   {}", sentence.text),
                Block::Sentence(sentence) => _ = writeln!(text, "{:<12} {}", finding.title, sentence.text),
                Block::Table(table) => tables += &drawn(&table),
                Block::Headline(_) | Block::Chart(_) | Block::Sketch(_) => {}
            }
        }
    }
    text + &tables + &hits(&fit.curve) + &last
}

/// A table of figures, each column as wide as its widest text.
fn drawn(table: &FigureTable) -> String {
    let title = |at: usize| table.columns[at].title.to_string();
    let lines = table.rows.iter().map(|row| row.iter().map(|text| text.text.clone()).collect::<Vec<_>>());
    let lines: Vec<Vec<String>> = [(0..table.columns.len()).map(title).collect()].into_iter().chain(lines).collect();
    let mut text = format!("\n{}\n", table.title);
    for line in &lines {
        for (at, word) in line.iter().enumerate() {
            let width = lines.iter().map(|line| line[at].len()).max().unwrap_or(0) + 3;
            _ = write!(text, "{word:>width$}");
        }
        text.push('\n');
    }
    text
}

fn hits(curve: &HitCurve) -> String {
    let mut text = "\nHits of an exact LRU, of 100 gets\n       KEYS\n".to_owned();
    for keys in curve.sizes() {
        let share = curve.share(keys);
        let bar = "█".repeat((share * BAR as f64).round() as usize);
        _ = writeln!(text, "   {:>8}  {:>5.1}  {bar}", whole(keys), 100.0 * share);
    }
    text
}

/// Writes the page, its pictures, and what makes the like; returns how to use them.
fn written(fit: &TraceFit<'_>, directory: &Path, name: &str) -> Result<String, CommandFailure> {
    let Some(like) = &fit.like else { return Ok(String::new()) };
    let page = FindingsPage {
        title: format!("What {} is like", fit.trace.source_name()),
        facts: vec![headline(fit.trace, fit), format!("Format: {}", fit.trace.format().name())],
        findings: fit.findings(),
        version: env!("CARGO_PKG_VERSION").into(),
    };
    let files = [(PLAN, plan::text(fit, name)), (SCRIPT, script::text(&like.memory, fit.trace, name))];
    write_page(directory, &page, &files)?;
    let path = |file: &str| shell_word(&directory.join(file).display().to_string());
    let pictures = directory.join(PLOTS);
    let pictures = if pictures.exists() { format!(", {}", path(PLOTS)) } else { String::new() };
    Ok(format!(
        "\nThe like of it: kvtrial run {}\n            or: kvtrial run ycsb --plan {} --set theta={:.3}\nReport: {}{pictures}\n",
        path(SCRIPT),
        path(PLAN),
        fit.exponent(),
        path(PAGE)
    ))
}
