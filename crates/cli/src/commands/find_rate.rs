//! `kvtrial run --find-rate`: the highest rate under a bound, for each store.

use super::ending::{NOTHING_KEPT, clear, tell_left, untrusted, write_cells};
use super::notebook::{Closed, Notebook, interrupted, stopped};
use super::{leftovers, report_files, tables};
use crate::args::RunArguments;
use crate::failure::{self, CommandFailure};
use crate::output::{note, print_painted};
use archive::StudyDir;
use runner::Plan;
use search::{Bound, Lab, RateOptions, find_rates, unsearched};
use study::{RateLimit, Study};

/// Rounds around the edge.
const ROUNDS: u32 = 5;
/// Trials a search takes besides those rounds, about: closed loop, bracket, curve, more clients.
const OTHER_TRIALS: u32 = 14;
/// Rates a round visits.
const RATES_A_ROUND: u32 = 5;

/// Searches, writes the study, prints what was found.
pub fn find_rate(
    plan: &Plan,
    directory: StudyDir,
    bound: Bound,
    arguments: &RunArguments,
) -> Result<u8, CommandFailure> {
    let rounds = arguments.repeats.unwrap_or(ROUNDS);
    let trials = plan.cells.len() as u32 * (rounds * RATES_A_ROUND + OTHER_TRIALS);
    let seconds = plan.cells.iter().find_map(|cell| cell.settings.duration).map(|time| time.as_secs_f64());
    let time = seconds
        .map_or(String::new(), |seconds| format!(", {} and more", words::units::clock(seconds * f64::from(trials))));
    note(&format!("kvtrial: searching for the highest rate with {bound} in about {trials} trials{time}"));

    let out = directory.path().to_owned();
    let mut notebook = Notebook::new(directory, plan);
    // On disk before the first trial, so that a search that is cut off, in whatever way, says so.
    let mut searches = unsearched(plan, bound);
    notebook.directory.amend(|study| study.rate_search.clone_from(&searches))?;
    let mut lab = Lab::new(plan, host::interrupt::flag(), &mut notebook);
    lab.expected = trials;
    let found = find_rates(&mut lab, RateOptions { bound, rounds }, &mut searches);
    notebook.progress.finish();
    let cleared = if arguments.clear { clear(plan, &mut notebook) } else { failure::GOOD };
    notebook.directory.amend(|study| study.rate_search = searches)?;
    let closed = notebook.close(match &found {
        Err(error) => Some(stopped(error)),
        Ok(_) if host::interrupt::requested() => Some(interrupted()),
        Ok(_) => None,
    })?;
    let Closed::Kept(study) = closed else {
        found.map_err(|error| leftovers::named(error, &out))?;
        note(NOTHING_KEPT);
        return Ok(failure::INTERRUPTED);
    };
    if let Err(error) = found {
        if study.rate_search.iter().any(|search| search.closed_ops_per_s > 0.0) {
            print_painted(&|colour| terminal::rate_search(&study, colour))?;
        }
        tell_left(&study, &out);
        return Err(leftovers::named(error, &out));
    }

    write_cells(&out, &study)?;
    let closed = report_files::close(
        &out,
        &study,
        &["study.json", "cells.csv"],
        print_painted(&|colour| tables::text(&study, colour)),
    );
    if host::interrupt::requested() {
        note(&format!("Interrupted. A search cannot be resumed; what was tried is in {}", out.display()));
        tell_left(&study, &out);
        closed?;
        return Ok(failure::INTERRUPTED);
    }
    tell_left(&study, &out);
    closed?;
    Ok(if cleared == failure::GOOD { status(&study, arguments.strict) } else { cleared })
}

/// Rates beyond the edge are always void; only a wrong answer voids a search.
fn status(study: &Study, strict: bool) -> u8 {
    let limits = || study.rate_search.iter().map(|search| search.limited_by);
    if limits().any(|limit| matches!(limit, RateLimit::Fault | RateLimit::NotRun)) {
        failure::VOID
    } else if strict && (untrusted(study) || limits().any(is_not_of_the_store)) {
        failure::UNTRUSTED
    } else {
        failure::GOOD
    }
}

/// Returns whether a result is no answer about the store.
fn is_not_of_the_store(limit: RateLimit) -> bool {
    match limit {
        RateLimit::Client | RateLimit::Connections | RateLimit::NotOffered | RateLimit::Unsettled => true,
        RateLimit::Store | RateLimit::Bound | RateLimit::Fault | RateLimit::NotRun | RateLimit::Interrupted => false,
    }
}
