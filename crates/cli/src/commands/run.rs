//! `kvtrial run`: plan, run, report.

use super::ending::{NOTHING_KEPT, clear, tell_left, untrusted, write_cells};
use super::notebook::{Closed, Notebook, interrupted, stopped};
use super::plan::plan;
use super::{leftovers, preset, report_files, selftest, tables, workers};
use crate::args::RunArguments;
use crate::failure::{self, CommandFailure};
use crate::output::{note, print_painted, shell_word};
use archive::StudyDir;
use runner::{Ending, Plan};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use study::{Cell, Meets, Study, TrialOrder};

/// Runs a study and returns the exit status.
pub fn run(mut arguments: RunArguments) -> Result<u8, CommandFailure> {
    let preset = preset::apply(&mut arguments)?;
    let mut plan = plan(&arguments)?;
    workers::share(&mut plan, &[], &arguments.sharing)?;
    let command = redacted_command();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let is_resumed = arguments.resume && arguments.out.as_deref().is_none_or(|out| !is_new(out));
    let selftest = if is_resumed { None } else { selftest::for_study() };
    let needs = arguments.needs.iter().map(|need| need.text.clone()).collect();
    let study = Study { preset, selftest, needs, ..plan.study(command, study::rfc3339(now)) };
    let out = arguments.out.clone().unwrap_or_else(|| default_directory(now));
    if let Some(bound) = arguments.find_rate {
        return super::find_rate::find_rate(&plan, StudyDir::create(&out, study)?, bound, &arguments);
    }
    if arguments.resume && !is_resumed {
        note(&format!("kvtrial: --resume: there is nothing in {} yet, so the study begins", out.display()));
    }
    let directory = if is_resumed { StudyDir::resume(&out, &study)? } else { StudyDir::create(&out, study)? };

    let recorded = directory.recorded();
    announce(&plan, recorded.len());
    let mut notebook = Notebook::new(directory, &plan);
    let left = notebook.left.clone();
    let ending = runner::run(&plan, &recorded, &left, host::interrupt::flag(), &mut notebook);
    notebook.progress.finish();
    let cleared = if arguments.clear { clear(&plan, &mut notebook) } else { failure::GOOD };
    let closed = notebook.close(match &ending {
        Ok(Ending::Complete) => None,
        Ok(Ending::Interrupted) => Some(interrupted()),
        Err(error) => Some(stopped(error)),
    })?;
    let Closed::Kept(study) = closed else {
        ending.map_err(|error| leftovers::named(error, &out))?;
        note(NOTHING_KEPT);
        return Ok(failure::INTERRUPTED);
    };
    write_cells(&out, &study)?;
    let ending = ending.map_err(|error| {
        tell_left(&study, &out);
        let place = shell_word(&out.display().to_string());
        let kept = format!("What was finished is in {place}; fix this, then continue with --out {place} --resume");
        CommandFailure::usage(format!("{}\n{kept}", leftovers::named(error, &out).message))
    })?;

    let closed = report_files::close(
        &out,
        &study,
        &["study.json", "cells.csv"],
        print_painted(&|colour| tables::text(&study, colour)),
    );
    if ending == Ending::Interrupted {
        note(&format!(
            "Interrupted. What was finished is in {0}; continue with the same command and --out {0} --resume",
            shell_word(&out.display().to_string())
        ));
        tell_left(&study, &out);
        closed?;
        return Ok(failure::INTERRUPTED);
    }
    tell_left(&study, &out);
    closed?;
    Ok(if cleared == failure::GOOD { status(&study, arguments.strict) } else { cleared })
}

/// Whether a study that is resumed has nothing yet: it was interrupted before a trial was finished, and so nothing was kept.
fn is_new(out: &Path) -> bool {
    match std::fs::read_dir(out) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    }
}

/// Says how much there is to do before a sweep starts. For one combination the live view says the same.
fn announce(plan: &Plan, recorded: usize) {
    if plan.varied.is_empty() {
        return;
    }
    for varied in &plan.varied {
        for who in &varied.not_taken {
            note(&format!("kvtrial: --vary {}: {who}", varied.key));
        }
    }
    let trials = (plan.turns().len()).saturating_sub(recorded);
    let cells = plan.cells.len();
    let order = match plan.order {
        TrialOrder::Random => "balanced random",
        TrialOrder::Rising => "rising",
    };
    let seconds: f64 = plan.cells.iter().filter_map(|cell| cell.settings.duration).map(|time| time.as_secs_f64()).sum();
    let least = seconds / cells.max(1) as f64 * trials as f64;
    let least = if least > 0.0 { format!(", at least {}", words::units::clock(least)) } else { String::new() };
    let done = if recorded > 0 { format!(" ({recorded} are recorded)") } else { String::new() };
    let (cells, trials) = (words::units::whole(cells as u64), words::units::whole(trials as u64));
    note(&format!("kvtrial: {cells} cells, {trials} trials to run in {order} order{least}{done}"));
}

/// Cells that are void, were not run or are not shown to meet a need decide, then `--strict`.
fn status(study: &Study, strict: bool) -> u8 {
    let is_good = |cell: &Cell| cell.verdict.is_ranked() && analysis::meets_all(&cell.meets) == Meets::Met;
    if !study.cells.iter().all(is_good) {
        failure::VOID
    } else if strict && untrusted(study) {
        failure::UNTRUSTED
    } else {
        failure::GOOD
    }
}

/// Returns a directory that does not exist yet, named by the time.
pub fn default_directory(unix_s: u64) -> PathBuf {
    let time: String = study::rfc3339(unix_s).chars().filter(|c| c.is_ascii_digit() || *c == 'T').collect();
    let fresh = |suffix: u32| match suffix {
        1 => PathBuf::from(format!("kvtrial-study-{time}")),
        more => PathBuf::from(format!("kvtrial-study-{time}-{more}")),
    };
    (1..).map(fresh).find(|path| !path.exists()).unwrap_or_else(|| fresh(1))
}

/// Returns the command line as it may be written down: passwords in specs are hidden.
pub fn redacted_command() -> Vec<String> {
    let shown = |(at, text): (usize, String)| if at == 0 { "kvtrial".into() } else { study::redact(&text) };
    std::env::args_os().map(|text| text.to_string_lossy().into_owned()).enumerate().map(shown).collect()
}
