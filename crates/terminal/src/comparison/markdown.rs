//! A comparison as GitHub-flavoured Markdown: for a comment on a pull request, or a job's summary.

use crate::formats::markdown::blocks;
use crate::markdown::{code, escaped, html};
use analysis::{Comparison, CrashComparison, Gate, Source};
use findings::comparison::{self, ComparisonText};
use findings::{Block, FindingPart, Tone};
use std::fmt::Write;

/// Returns the comparison as GitHub-flavoured Markdown: a heading, the rulings of the gates, what became of decisions, all pairs by the figure their ranking uses,
/// every metric behind a fold.
pub fn comparison_markdown(comparison: &Comparison, gates: &[Gate]) -> String {
    markdown("kvtrial", &comparison.sources, &comparison::of_runs(comparison, gates), |_| "")
}

/// Returns the comparison as GitHub-flavoured Markdown: a heading, every level in a sentence with the differences that count, and all
/// figures behind a fold.
pub fn crash_comparison_markdown(comparison: &CrashComparison) -> String {
    markdown("kvtrial crash", &comparison.sources, &comparison::of_crashes(comparison), sign)
}

/// The sign before what was found.
fn sign(tone: Tone) -> &'static str {
    match tone {
        Tone::Bad => "❌ ",
        Tone::Warning => "⚠️ ",
        Tone::Faint => "➖ ",
        _ => "✅ ",
    }
}

fn markdown(what: &str, sources: &[Source], said: &ComparisonText, sign_of_pair: fn(Tone) -> &'static str) -> String {
    let names: Vec<String> = sources.iter().map(|source| code(&source.name)).collect();
    let mut text = format!("### {what}: {}\n\n", names.join(" → "));
    for it in &said.rulings {
        let _ = writeln!(text, "- {}{}", sign(it.tone), escaped(&it.text));
    }
    text += if said.rulings.is_empty() { "" } else { "\n" };
    for it in &said.decisions {
        let _ = writeln!(text, "- {}{}", sign(it.tone), escaped(&it.text));
    }
    text += if said.decisions.is_empty() { "" } else { "\n" };
    let of_pairs = || said.pairs.iter().flat_map(|pair| pair.blocks.iter().map(move |block| (pair, block)));
    for (pair, block) in of_pairs() {
        let _ = match block {
            Block::Headline(it) => writeln!(text, "- {}{}", sign_of_pair(it.tone), headline(&it.text, pair)),
            Block::Sentence(it) => writeln!(text, "  - {}", escaped(&it.text)),
            _ => Ok(()),
        };
    }
    for it in &said.missing {
        let _ = writeln!(text, "- {}", escaped(&it.text));
    }
    for (pair, block) in of_pairs() {
        if let Block::Table(table) = block {
            let _ = write!(text, "\n<details><summary>{}</summary>\n\n", html(&pair.label));
            blocks::rows(&mut text, table, &table.rows);
            text += "\n</details>\n";
        }
    }
    text
}

/// A finding, with the name of its pair in bold type where it begins with that.
fn headline(said: &str, pair: &FindingPart) -> String {
    match said.strip_prefix(&pair.label) {
        Some(rest) => format!("**{}**{}", escaped(&pair.label), escaped(rest)),
        None => escaped(said),
    }
}
