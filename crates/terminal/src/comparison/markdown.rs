//! A comparison as GitHub-flavoured Markdown: for a comment on a pull request, or a job's summary.

use crate::markdown::{code, escaped, html};
use analysis::{Compared, Comparison, Gate, Pair, Ruling};
use findings::comparison;
use std::fmt::Write;

/// Returns the comparison as GitHub-flavoured Markdown: a heading, a table of all pairs by the figure their ranking uses, every metric
/// behind a fold, and the rulings of the gates.
pub fn comparison_markdown(comparison: &Comparison, gates: &[Gate]) -> String {
    let mut text = String::new();
    let names: Vec<String> = comparison.sources.iter().map(|source| code(&source.name)).collect();
    let _ = writeln!(text, "### kvtrial: {}\n", names.join(" → "));
    for judgement in &comparison.judgements {
        let sign = match judgement.outcome {
            Ruling::Kept => "✅",
            Ruling::Broken => "❌",
            Ruling::NotApplicable { .. } => "➖",
            Ruling::TooFew { .. } | Ruling::TooNoisy { .. } => "⚠️",
        };
        let _ = writeln!(text, "- {sign} {}", escaped(&comparison::judgement(judgement, gates)));
    }
    if !comparison.judgements.is_empty() {
        text.push('\n');
    }
    for pair in &comparison.pairs {
        let heading = if pair.cell.is_empty() { String::new() } else { format!("**{}**: ", escaped(&pair.cell)) };
        let said = match (comparison::obstacle(pair), pair.headline().or(pair.contrasts.first())) {
            (Some(obstacle), _) => format!("{}: {obstacle}", pair.title()),
            (None, Some(headline)) => comparison::sentence(pair, headline),
            (None, None) => continue,
        };
        let _ = writeln!(text, "- {heading}{}.", escaped(&said));
        for difference in &pair.differences {
            let _ = writeln!(text, "  - {}", escaped(&comparison::difference(difference)));
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
            Compared::Better | Compared::Worse => format!("**{}**", comparison::word(contrast.finding)),
            other => comparison::word(other).to_owned(),
        };
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {word} |",
            contrast.metric,
            comparison::figure(contrast.metric, contrast.a.value),
            comparison::figure(contrast.metric, contrast.b.value),
            comparison::ratio(contrast.ratio),
            comparison::p_cell(contrast.p_holm).replace('<', "&lt;"),
        );
    }
    let _ = writeln!(text, "\n</details>");
}
