//! A comparison as JUnit XML.

use crate::formats::junit::{Case, Ending, Suite};
use analysis::{Comparison, Gate, Outcome};
use words::comparison;

/// JUnit XML as Jenkins, GitLab and others read it: with gates one test case a gate and cell, a broken one a failure and one that
/// too few repeats to decide an error; without, one a pair, skipped where the cells are not compared.
pub fn comparison_junit(comparison: &Comparison, gates: &[Gate]) -> String {
    let cases = if comparison.judgements.is_empty() {
        comparison
            .pairs
            .iter()
            .map(|pair| {
                let said =
                    pair.headline().or(pair.contrasts.first()).map(|contrast| comparison::sentence(pair, contrast));
                Case {
                    class: "kvtrial.compare".into(),
                    name: pair.title(),
                    time_s: None,
                    ending: comparison::obstacle(pair).map_or(Ending::Passed, Ending::Skipped),
                    output: said.unwrap_or_default(),
                }
            })
            .collect()
    } else {
        comparison
            .judgements
            .iter()
            .map(|judgement| {
                let said = comparison::judgement(judgement, gates);
                Case {
                    class: judgement.cell.clone(),
                    name: judgement.gate.clone(),
                    time_s: None,
                    ending: match &judgement.outcome {
                        Outcome::Kept => Ending::Passed,
                        Outcome::Broken => Ending::Failed { kind: "regression".into(), message: said.clone() },
                        Outcome::NotApplicable { reason } => Ending::Skipped(reason.clone()),
                        Outcome::TooFew { .. } => {
                            Ending::Error { kind: "too_few_repeats".into(), message: said.clone() }
                        }
                    },
                    output: said,
                }
            })
            .collect()
    };
    let judged = comparison.sources.last();
    Suite {
        name: "kvtrial compare".into(),
        timestamp: judged.map(|source| source.started_at.clone()).unwrap_or_default(),
        properties: comparison.sources.iter().map(|source| (source.name.clone(), source.path.clone())).collect(),
        cases,
    }
    .to_xml()
}
