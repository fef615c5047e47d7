//! Two studies of `kvtrial crash` against each other. A promise that the first kept and the second broke is a regression by itself.

use super::operand::Operand;
use super::{allowed, deliver};
use crate::args::{CompareArguments, ComparisonFormat};
use crate::failure::{self, CommandFailure};
use ::terminal::{Colour, crash_comparison_junit, crash_comparison_markdown, crash_comparison_text};
use analysis::{Alone, ComparedCrashes, CrashComparison, CrashPair, MatchedCrashes};
use study::{Crash, CrashCase};

/// Returns whether these are studies of crashes; one of a run beside one of crashes is refused.
pub(super) fn are_compared(operands: &[Operand]) -> Result<bool, CommandFailure> {
    // A choice has crashes beside its cells.
    let is_crash = |operand: &&Operand| operand.study.crash.is_some() && operand.study.cells.is_empty();
    match (operands.iter().find(is_crash), operands.iter().find(|operand| !is_crash(operand))) {
        (Some(crash), Some(run)) => Err(CommandFailure::usage(format!(
            "{} is a study of crashes and {} one of a run: they have nothing in common to compare. Name two studies of kvtrial crash, or two of kvtrial run",
            crash.source.path, run.source.path
        ))),
        (crash, _) => Ok(crash.is_some()),
    }
}

/// Compares and returns the exit status.
pub(super) fn compare(operands: &[Operand], arguments: &CompareArguments) -> Result<u8, CommandFailure> {
    let [a, b] = operands else {
        return Err(CommandFailure::usage(
            "a study of crashes is compared with an earlier one: kvtrial compare BEFORE AFTER; what one shows by itself is printed by kvtrial report \
             DIR --format text",
        ));
    };
    possible(arguments)?;
    let (Some(crash_a), Some(crash_b)) = (&a.study.crash, &b.study.crash) else { return Ok(failure::USAGE) };
    let matched = matched((a, crash_a), (b, crash_b))?;
    if matched.pairs.is_empty() {
        return Err(CommandFailure::usage(format!(
            "{0} and {1} have no level of a store in common: name the levels, as in {0}:STORE,durability=os {1}:STORE,durability=os",
            a.source.path, b.source.path
        )));
    }
    let comparison = compared((a, crash_a), (b, crash_b), &matched, arguments);
    let formatted = |format| match format {
        ComparisonFormat::Html => Ok(String::new()), // refused
        ComparisonFormat::Text => Ok(study::visible(&crash_comparison_text(&comparison, Colour::Never)).into_owned()),
        ComparisonFormat::Markdown => Ok(crash_comparison_markdown(&comparison)),
        ComparisonFormat::Junit => Ok(crash_comparison_junit(&comparison)),
        ComparisonFormat::Json => archive::json(&comparison),
    };
    deliver(arguments, &formatted, &|colour| crash_comparison_text(&comparison, colour))?;
    Ok(status(&comparison.pairs))
}

/// Refuses the options that say nothing of crashes.
fn possible(arguments: &CompareArguments) -> Result<(), CommandFailure> {
    let refuse = |words: &str| Err(CommandFailure::usage(words));
    if !arguments.fail_if.is_empty() {
        return refuse(
            "--fail-if judges the figures of runs; of crashes a promise that was kept and is broken now ends with 3 by itself: leave --fail-if out",
        );
    }
    if !arguments.metrics.is_empty() {
        return refuse("--metric names figures of runs; of crashes everything is compared: leave --metric out");
    }
    if arguments.format == ComparisonFormat::Html {
        return refuse(
            "--format html draws runs over each other; for crashes use text, markdown, junit or json, and see report.html of each study",
        );
    }
    Ok(())
}

fn matched<'a>(a: (&'a Operand, &'a Crash), b: (&'a Operand, &'a Crash)) -> Result<MatchedCrashes<'a>, CommandFailure> {
    let select = |(operand, crash): (&Operand, &'a Crash), selector: &str| {
        analysis::select_crashes(crash, selector)
            .map_err(|error| CommandFailure::usage(format!("{}: {error}", operand.source.path)))
    };
    let all = |(_, crash): (&Operand, &'a Crash)| crash.cases.iter().collect::<Vec<_>>();
    match (&a.0.selector, &b.0.selector) {
        (None, None) if a.0.source.path == b.0.source.path => Err(CommandFailure::usage(
            "A and B are the same study: name two of its levels (DIR:redis,durability=os DIR:valkey,durability=os), or another study",
        )),
        (None, None) => Ok(analysis::match_crashes(all(a), all(b), false)),
        (Some(of_a), Some(of_b)) => Ok(analysis::match_crashes(select(a, of_a)?, select(b, of_b)?, true)),
        (Some(both), None) | (None, Some(both)) => {
            Ok(analysis::match_crashes(select(a, both)?, select(b, both)?, true))
        }
    }
}

fn compared(
    (a, crash_a): (&Operand, &Crash),
    (b, crash_b): (&Operand, &Crash),
    matched: &MatchedCrashes<'_>,
    arguments: &CompareArguments,
) -> CrashComparison {
    let is_same_study = a.source.path == b.source.path;
    // What both are, and the names of the two.
    let names = |first: &CrashCase, second: &CrashCase| {
        if is_same_study {
            return (String::new(), first.name(), second.name());
        }
        if first.name() == second.name() {
            return (first.name(), a.source.name.clone(), b.source.name.clone());
        }
        let [of_a, of_b] = [(a, first), (b, second)].map(|(of, case)| format!("{} in {}", case.name(), of.source.name));
        (String::new(), of_a, of_b)
    };
    let named: Vec<_> = matched.pairs.iter().map(|(first, second)| names(first, second)).collect();
    let pairs: Vec<_> = matched
        .pairs
        .iter()
        .zip(&named)
        .map(|((first, second), (cell, name_a, name_b))| {
            let of_a = ComparedCrashes { name: name_a, study: &a.study, crash: crash_a, case: first };
            let of_b = ComparedCrashes { name: name_b, study: &b.study, crash: crash_b, case: second };
            (cell.clone(), of_a, of_b)
        })
        .collect();
    let alone = |of: &Operand, cases: &[&CrashCase]| {
        let source = of.source.name.clone();
        cases.iter().map(|case| Alone { source: source.clone(), cell: case.name() }).collect::<Vec<_>>()
    };
    let sources = if is_same_study { vec![b.source.clone()] } else { vec![a.source.clone(), b.source.clone()] };
    CrashComparison {
        kvtrial: env!("CARGO_PKG_VERSION").into(),
        sources,
        pairs: analysis::compare_crashes(&pairs, allowed(arguments)),
        alone: [alone(a, &matched.only_a), alone(b, &matched.only_b)].concat(),
    }
}

/// A regression comes first, then levels of which something is missing, then those that are not compared.
fn status(pairs: &[CrashPair]) -> u8 {
    if pairs.iter().any(CrashPair::is_regression) {
        failure::REGRESSION
    } else if pairs.iter().any(CrashPair::is_void) {
        failure::VOID
    } else if pairs.iter().any(|pair| pair.obstacle.is_some()) {
        failure::USAGE // what and why was printed with the pair
    } else {
        failure::GOOD
    }
}
