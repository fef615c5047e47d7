//! What a reader must know before believing a figure: void and degraded cells, answers that differ, trials that are missing.

use crate::view::Report;
use findings::label;
use std::collections::BTreeSet;
use study::{Cell, CrashCase, Promise, Status, Study};

/// The weight of a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Severity {
    Bad,
    Warning,
    Good,
}

#[derive(Clone, Debug)]
pub(crate) struct Notice {
    pub severity: Severity,
    pub text: String,
}

pub(crate) fn notices(report: &Report<'_>) -> Vec<Notice> {
    let study = &*report.study;
    let mut notices = Vec::new();
    let mut add = |severity, text: String| notices.push(Notice { severity, text });
    let of =
        |status: Status| -> Vec<&Cell> { study.cells.iter().filter(|cell| cell.verdict.status == status).collect() };
    let (void, degraded, unrun) = (of(Status::Void), of(Status::Degraded), of(Status::NotRun));
    // Before all else: stores whose answers differ did not do the same work.
    for disagreement in disagreements(study) {
        add(Severity::Bad, disagreement);
    }
    if !void.is_empty() {
        add(
            Severity::Bad,
            format!(
                "{} void: an answer was wrong, missing or refused. Shown, never ranked: {}.",
                cells(void.len()),
                reasoned(&void)
            ),
        );
    }
    if !degraded.is_empty() {
        let text = "every answer was right, but the machine or the client may have distorted the time";
        add(Severity::Warning, format!("{} degraded: {text}: {}.", cells(degraded.len()), names(&degraded)));
    }
    if !unrun.is_empty() {
        let kinds: BTreeSet<_> = unrun.iter().flat_map(|cell| &cell.verdict.reasons).map(|it| it.kind.name()).collect();
        let kinds: Vec<String> = kinds.iter().map(|kind| kind.replace('_', " ")).collect();
        let why = if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.join(", ")) };
        let cells = words::counted(unrun.len() as u64, "cell");
        let was = if unrun.len() == 1 { "was" } else { "were" };
        add(
            Severity::Warning,
            format!("{cells} {was} not run, so nothing is known about them{why}: {}.", names(&unrun)),
        );
    }
    let failed = study.selftest.as_ref().map_or(0, |selftest| selftest.proofs.len() - selftest.holding());
    if failed > 0 {
        let text = "so its figures are not to be trusted before kvtrial selftest passes";
        add(Severity::Bad, format!("{failed} proofs of the self-test failed on this machine, {text}."));
    }
    if let Some(unfinished) = findings::unfinished(study).filter(|_| report.named.len() == 1) {
        add(Severity::Warning, unfinished);
    }
    if let Some(crash) = &study.crash {
        let wanted = |case: &&CrashCase| case.promise != Promise::NothingToShow;
        let cuts = |case: &CrashCase| (crash.cuts as usize).saturating_sub(case.cuts.len());
        let missing: usize = crash.cases.iter().filter(wanted).map(cuts).sum();
        if missing > 0 {
            let text = format!("Unfinished: {missing} cuts are missing. kvtrial crash … --resume continues it.");
            add(Severity::Warning, text);
        }
    }
    let search = study.tune.is_some() || !study.rate_search.is_empty();
    if !search && study.cells.iter().any(|cell| !cell.baseline && cell.counted().count() == 1) {
        add(
            Severity::Warning,
            "Some cells have one trial: a value without an interval, which no test can separate from another.".into(),
        );
    }
    for difference in differences(report) {
        add(Severity::Warning, difference);
    }
    if void.is_empty() && degraded.is_empty() && unrun.is_empty() && !study.cells.is_empty() {
        add(Severity::Good, format!("{} valid: every answer was checked and right.", cells(study.cells.len())));
    }
    notices
}

fn cells(n: usize) -> String {
    if n == 1 { "1 cell is".into() } else { format!("{} cells are", words::units::whole(n as u64)) }
}

fn names(cells: &[&Cell]) -> String {
    listed(cells, label)
}

/// `redis (refused), sqlite (wrong value)`.
fn reasoned(cells: &[&Cell]) -> String {
    listed(cells, |cell| words::with_reason(label(cell), cell))
}

fn listed(cells: &[&Cell], name: impl Fn(&Cell) -> String) -> String {
    let mut names = words::distinct(cells.iter().map(|cell| name(cell)));
    let more = names.len().saturating_sub(8);
    names.truncate(8);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    names.join(", ") + &more
}

/// Stores that did the same work and came to different answers.
fn disagreements(study: &Study) -> Vec<String> {
    let mut found = Vec::new();
    for part in analysis::parts(study) {
        let answers = |cell: &&&Cell| cell.is_comparable() && !cell.answer.digest.is_empty();
        let answered: Vec<&&Cell> = part.cells.iter().filter(answers).collect();
        let Some(first) = answered.first() else { continue };
        if let Some(other) = answered.iter().find(|cell| cell.answer.digest != first.answer.digest) {
            found.push(format!(
                "The stores disagree: {} and {} came to different answers. {}",
                label(first),
                label(other),
                part.label
            ));
        }
    }
    found.truncate(5);
    found
}

/// What several studies do not share, and what makes comparing them doubtful.
fn differences(report: &Report<'_>) -> Vec<String> {
    let [first, others @ ..] = report.named.as_slice() else { return Vec::new() };
    let mut found = Vec::new();
    for other in others {
        let (a, b) = (first.study, other.study);
        let mut differ = |what: &str, x: &str, y: &str| {
            if x != y {
                found.push(format!("{what}: {} has {x}, {} has {y}.", first.label, other.label));
            }
        };
        differ("The processors differ", &a.host.cpu, &b.host.cpu);
        differ("The number of processors differs", &a.host.cpus.to_string(), &b.host.cpus.to_string());
        differ("The systems differ", &a.host.kernel, &b.host.kernel);
        differ("The versions of kvtrial differ", &a.kvtrial, &b.kvtrial);
        let input = |study: &Study| {
            study.input.get("digest").or(study.input.get("name")).map(|it| it.to_string()).unwrap_or_default()
        };
        differ("The inputs differ", &input(a), &input(b));
    }
    found
}
