//! A comparison as JUnit XML.

use crate::formats::junit::{Suite, TestCase, TestResult};
use analysis::{Comparison, Gate, Noisy, Ruling};
use findings::comparison;

/// Returns the comparison as JUnit XML, as Jenkins, GitLab and others read it. With gates one test case per gate and cell: a broken gate
/// is a failure, one with too few repeats to decide is an error, and one that is too noisy to judge is skipped, or fails where that was
/// asked for. Without gates one test case per pair, skipped where the cells are not compared.
pub fn comparison_junit(comparison: &Comparison, gates: &[Gate], noisy: Noisy) -> String {
    let cases = if comparison.judgements.is_empty() {
        comparison
            .pairs
            .iter()
            .map(|pair| {
                let said =
                    pair.headline().or(pair.contrasts.first()).map(|contrast| comparison::sentence(pair, contrast));
                TestCase {
                    class: "kvtrial.compare".into(),
                    name: pair.title(),
                    time_s: None,
                    result: comparison::obstacle(pair).map_or(TestResult::Passed, TestResult::Skipped),
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
                TestCase {
                    class: judgement.cell.clone(),
                    name: judgement.gate.clone(),
                    time_s: None,
                    result: match &judgement.outcome {
                        Ruling::Kept => TestResult::Passed,
                        Ruling::Broken => TestResult::Failed { kind: "regression".into(), message: said.clone() },
                        outcome @ Ruling::TooNoisy { .. } => match outcome.fails(noisy) {
                            true => TestResult::Failed { kind: "too_noisy".into(), message: said.clone() },
                            false => TestResult::Skipped(said.clone()),
                        },
                        Ruling::NotApplicable { reason } => TestResult::Skipped(reason.clone()),
                        Ruling::TooFew { .. } => {
                            TestResult::Error { kind: "too_few_repeats".into(), message: said.clone() }
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
