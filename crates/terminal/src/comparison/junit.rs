//! A comparison as JUnit XML.

use crate::formats::junit::{Suite, TestCase, TestResult};
use analysis::{
    Comparison, CrashComparison, CrashPair, DECISION_GATE, DecisionPair, DecisionShift, Gate, Judgement, Noisy, Pair,
    PromiseShift, Ruling, Source,
};
use findings::comparison;

/// Returns the comparison as JUnit XML, as Jenkins, GitLab and others read it. With gates one test case per gate and cell: a broken gate
/// is a failure, one with too few repeats to decide is an error, and one that is too noisy to judge is skipped, or fails where that was
/// asked for. Without gates one test case per decision and per pair, skipped where the two are not compared.
pub fn comparison_junit(comparison: &Comparison, gates: &[Gate], noisy: Noisy) -> String {
    let judgements = comparison.judgements.iter();
    let cases = match comparison.judgements.is_empty() {
        true => comparison.decisions.iter().map(of_decision).chain(comparison.pairs.iter().map(of_pair)).collect(),
        false => judgements.map(|it| of_judgement(it, comparison::judgement(it, comparison, gates), noisy)).collect(),
    };
    suite(&comparison.sources, cases)
}

/// Returns the comparison as JUnit XML: a test case per level; a regression is a failure, and a pair that is not compared, or shows
/// nothing, is skipped.
pub fn crash_comparison_junit(comparison: &CrashComparison) -> String {
    suite(&comparison.sources, comparison.pairs.iter().map(of_crashes).collect())
}

fn suite(sources: &[Source], cases: Vec<TestCase>) -> String {
    Suite {
        name: "kvtrial compare".into(),
        timestamp: sources.last().map(|source| source.started_at.clone()).unwrap_or_default(),
        properties: sources.iter().map(|source| (source.name.clone(), source.path.clone())).collect(),
        cases,
    }
    .to_xml()
}

fn case(class: &str, name: String, result: TestResult, output: String) -> TestCase {
    TestCase { class: class.into(), name, time_s: None, result, output }
}

fn of_pair(pair: &Pair) -> TestCase {
    let contrast = pair.headline().or(pair.contrasts.first());
    let said = contrast.map(|contrast| comparison::sentence(pair, contrast)).unwrap_or_default();
    let result = comparison::obstacle(pair).map_or(TestResult::Passed, TestResult::Skipped);
    case("kvtrial.compare", pair.title(), result, said)
}

fn of_decision(pair: &DecisionPair) -> TestCase {
    let said = comparison::decision_sentence(pair);
    let result = match pair.shift {
        DecisionShift::Same | DecisionShift::Changed => TestResult::Passed,
        DecisionShift::NotShown { .. } | DecisionShift::Unlike => TestResult::Skipped(said.clone()),
    };
    case("kvtrial.compare", format!("{DECISION_GATE} on {}", pair.title()), result, said)
}

fn of_judgement(judgement: &Judgement, said: String, noisy: Noisy) -> TestCase {
    let message = said.clone();
    let result = match &judgement.outcome {
        Ruling::Kept => TestResult::Passed,
        Ruling::Broken => TestResult::Failed { kind: "regression".into(), message },
        outcome @ Ruling::TooNoisy { .. } if outcome.fails(noisy) => {
            TestResult::Failed { kind: "too_noisy".into(), message }
        }
        Ruling::TooNoisy { .. } => TestResult::Skipped(message),
        Ruling::NotApplicable { reason } => TestResult::Skipped(reason.clone()),
        Ruling::TooFew { .. } => TestResult::Error { kind: "too_few_repeats".into(), message },
    };
    case(&judgement.cell, judgement.gate.clone(), result, said)
}

fn of_crashes(pair: &CrashPair) -> TestCase {
    let said = comparison::crash_sentence(pair);
    let result = match pair.shift {
        PromiseShift::Regression if pair.obstacle.is_none() => {
            TestResult::Failed { kind: "regression".into(), message: said.clone() }
        }
        PromiseShift::Same | PromiseShift::Repaired if pair.obstacle.is_none() => TestResult::Passed,
        _ => TestResult::Skipped(said.clone()),
    };
    case("kvtrial.compare", pair.title(), result, said)
}
