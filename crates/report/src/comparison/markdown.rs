//! A comparison as GitHub-flavoured Markdown: for a comment on a pull request, or a job's summary.

use super::words;
use crate::markdown::{code, escaped, html};
use analysis::{Comparison, Finding, Gate, Outcome, Pair};
use std::fmt::Write;

/// GitHub-flavoured Markdown: a heading, a table of all pairs by the figure they are ranked by, every metric behind a fold, and
/// what the gates say.
pub fn comparison_markdown(comparison: &Comparison, gates: &[Gate]) -> String {
    let mut text = String::new();
    let names: Vec<String> = comparison.sources.iter().map(|source| code(&source.name)).collect();
    let _ = writeln!(text, "### kvtrial: {}\n", names.join(" → "));
    for judgement in &comparison.judgements {
        let sign = match judgement.outcome {
            Outcome::Kept => "✅",
            Outcome::Broken => "❌",
            Outcome::NotApplicable { .. } => "➖",
            Outcome::TooFew { .. } => "⚠️",
        };
        let metric = gates.iter().find(|gate| gate.text == judgement.gate).map(|gate| gate.metric);
        let _ = writeln!(text, "- {sign} {}", escaped(&words::judgement(judgement, metric)));
    }
    if !comparison.judgements.is_empty() {
        text.push('\n');
    }
    for pair in &comparison.pairs {
        let heading = if pair.cell.is_empty() { String::new() } else { format!("**{}**: ", escaped(&pair.cell)) };
        let said = match (words::obstacle(pair), pair.headline().or(pair.contrasts.first())) {
            (Some(obstacle), _) => format!("{}: {obstacle}", pair.title()),
            (None, Some(headline)) => words::sentence(pair, headline),
            (None, None) => continue,
        };
        let _ = writeln!(text, "- {heading}{}.", escaped(&said));
        for difference in &pair.differences {
            let _ = writeln!(text, "  - {}", escaped(&words::difference(difference)));
        }
    }
    for alone in &comparison.alone {
        let _ = writeln!(text, "- only {} has {}", code(&alone.source), code(&alone.cell));
    }
    for void in &comparison.void {
        let what = if void.status == study::Status::NotRun { "was not run" } else { "is void" };
        let _ = writeln!(text, "- {} {what} and is not compared", code(&void.cell));
    }
    for pair in comparison.pairs.iter().filter(|pair| !pair.contrasts.is_empty()) {
        table(&mut text, pair);
    }
    text
}

fn table(text: &mut String, pair: &Pair) {
    let _ = writeln!(text, "\n<details><summary>{}</summary>\n", html(&pair.title()));
    let _ = writeln!(text, "| metric | {} | {} | ratio | p | |", escaped(&pair.a), escaped(&pair.b));
    let _ = writeln!(text, "|---|--:|--:|--:|--:|---|");
    for contrast in &pair.contrasts {
        let word = match contrast.finding {
            Finding::Better | Finding::Worse => format!("**{}**", words::word(contrast.finding)),
            other => words::word(other).to_owned(),
        };
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {word} |",
            contrast.metric,
            words::figure(contrast.metric, contrast.a.value),
            words::figure(contrast.metric, contrast.b.value),
            words::ratio(contrast.ratio),
            words::p_cell(contrast.p_holm).replace('<', "&lt;"),
        );
    }
    let _ = writeln!(text, "\n</details>");
}
