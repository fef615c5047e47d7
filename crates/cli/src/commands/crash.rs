//! `kvtrial crash`: does a store keep what it acknowledged?

pub(super) mod case;
mod plan;

use super::run::{default_directory, redacted_command};
use super::{report_files, target, workers};
use crate::args::CrashArguments;
use crate::failure::{self, CommandFailure};
use crate::output::{error_colour, note, print_painted};
use case::{case, remember, sum_up, take_facts};
use plan::PlannedCrash;
use runner::{BrokenFiles, CrashRequest, Crashed, RunError};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};
use study::{Crash, CrashCase, CrashMeans, CrashMoment, DiskKind, Promise, SCHEMA, StruckNodes, Study};
use terminal::CrashView;

/// Crashes each level of each store and says whether it kept its promise.
pub fn crash(arguments: &CrashArguments) -> Result<u8, CommandFailure> {
    let planned = plan::planned(arguments)?;
    let base = target::base(arguments.base.as_deref())?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let out = arguments.out.clone().unwrap_or_else(|| default_directory(now));
    let mut study = begin(arguments, &out, &base, &planned, now)?;
    let execution = workers::of_crashes(&arguments.sharing)?;
    let mut is_whole = true;
    let missing: Vec<u32> = crash_of(&mut study).cases.iter().map(|case| missing(case, arguments.cuts)).collect();
    let names: Vec<String> = planned.iter().map(|(_, spec)| spec.to_string()).collect();
    let named = names.iter().map(String::as_str).zip(missing.iter().copied());
    let mut view = CrashView::new(error_colour(), arguments.cuts, named);
    for (at, (info, spec)) in planned.iter().enumerate() {
        if missing[at] == 0 {
            continue;
        }
        let done = arguments.cuts - missing[at];
        view.begins(&names[at], &crash_of(&mut study).cases[at]);
        let (earliest, longest) = plan::times(arguments, spec.durability);
        let request = CrashRequest {
            info,
            spec: spec.clone(),
            base: base.clone(),
            clients: arguments.clients,
            seed: arguments.seed,
            value_bytes: arguments.value_bytes,
            done,
            cuts: arguments.cuts,
            blow: plan::blow(arguments),
            during: plan::during(arguments),
            earliest,
            longest,
            deadline: arguments.deadline,
            broken: if arguments.keep { BrokenFiles::Kept } else { BrokenFiles::Removed },
        };
        let mut saved = Ok(());
        let mut started = None;
        let made = runner::crash(&request, &execution, host::interrupt::flag(), &mut |heard| {
            let case = &mut crash_of(&mut study).cases[at];
            match heard {
                Crashed::Opened(facts, level) => {
                    take_facts(case, facts);
                    started = Some(facts.clone());
                    case.level.get_or_insert(level);
                }
                Crashed::Cut(cut) => {
                    case.cuts.push(cut.clone());
                    sum_up(case);
                    view.made(&names[at], case);
                    if cut.cut < arguments.cuts {
                        view.begins(&names[at], case);
                    }
                    saved = archive::save_study(&out, &study);
                }
            }
        });
        view.done(&names[at], &crash_of(&mut study).cases[at]);
        saved?;
        match made {
            Ok(whole) => is_whole = whole,
            // The row names the store.
            Err(RunError::Unsuited { problem, .. }) => crash_of(&mut study).cases[at].problem = problem,
            Err(error) => crash_of(&mut study).cases[at].problem = error.to_string(),
        }
        archive::save_study(&out, &study)?;
        if let Some(facts) = started.filter(|_| is_usual(crash_of(&mut study))) {
            let crash = crash_of(&mut study);
            remember(&crash.cases[at], crash.means, done as usize, &facts);
        }
        if !is_whole {
            break;
        }
    }
    drop(view);
    let printed = print_painted(&|colour| terminal::crash_text(&study, colour));
    report_files::close(&out, &study, &["study.json"], printed)?;
    if !is_whole {
        note(&format!("Interrupted. Resume it: the same command with --out {} --resume", out.display()));
        return Ok(failure::INTERRUPTED);
    }
    let is_wrong = |case: &CrashCase| case.promise == Promise::Broken || !case.problem.is_empty();
    let wrong = crash_of(&mut study).cases.iter().any(is_wrong);
    Ok(if wrong { failure::VOID } else { failure::GOOD })
}

/// Crashes that a level lacks.
fn missing(case: &CrashCase, cuts: u32) -> u32 {
    let is_shown = case.promise == Promise::NothingToShow;
    if is_shown { 0 } else { cuts.saturating_sub(case.cuts.len() as u32) }
}

/// A new study, or the one that is resumed.
fn begin(
    arguments: &CrashArguments,
    out: &Path,
    base: &Path,
    planned: &[PlannedCrash],
    now: u64,
) -> Result<Study, CommandFailure> {
    let cases: Vec<CrashCase> = planned.iter().map(|(info, spec)| case(info, spec)).collect();
    let crash = Crash {
        means: plan::means(arguments),
        disk: plan::disk(arguments),
        nodes: plan::nodes(arguments),
        during: plan::during(arguments),
        cuts: arguments.cuts,
        clients: arguments.clients,
        value_bytes: Some(arguments.value_bytes),
        within_s: planned
            .iter()
            .map(|(_, spec)| plan::times(arguments, spec.durability).1.as_secs_f64())
            .reduce(f64::max),
        outage_s: match (plan::means(arguments), plan::nodes(arguments)) {
            (CrashMeans::Command | CrashMeans::Power, _) | (CrashMeans::Kill, StruckNodes::All) => None,
            _ => Some(arguments.outage.as_secs_f64()),
        },
        cases,
    };
    if arguments.resume {
        let mut study = archive::read_study(out)?;
        let same = |known: &Crash| {
            let names = |it: &Crash| it.cases.iter().map(|case| (case.store.clone(), case.level)).collect::<Vec<_>>();
            names(known) == names(&crash) && analysis::are_made_alike(known, &crash)
        };
        return match study.crash.as_mut().filter(|known| same(known)) {
            Some(known) if study.seed == arguments.seed => {
                known.cuts = arguments.cuts;
                known.cases.iter_mut().for_each(|case| case.problem.clear());
                Ok(study)
            }
            _ => Err(CommandFailure::usage(format!(
                "--resume: {} is a study of other stores or clients, of crashes of another kind, or with another seed; give the same command again, or another --out",
                out.display()
            ))),
        };
    }
    if out.join("study.json").exists() {
        return Err(CommandFailure::usage(format!(
            "--out {}: there is a study; add --resume to continue it, or name another directory",
            out.display()
        )));
    }
    Ok(Study {
        schema: SCHEMA,
        kvtrial: env!("CARGO_PKG_VERSION").into(),
        command: redacted_command(),
        seed: arguments.seed,
        started_at: study::rfc3339(now),
        host: host::facts(base),
        crash: Some(crash),
        ..Study::default()
    })
}

fn crash_of(study: &mut Study) -> &mut Crash {
    study.crash.get_or_insert_default()
}

/// Whether everything was killed, or lost the power of an honest disk, while clients wrote: only that says something of the level of a store by
/// itself.
fn is_usual(crash: &Crash) -> bool {
    let is_plain = match crash.means {
        CrashMeans::Kill => true,
        CrashMeans::Power => crash.disk == Some(DiskKind::Honest),
        CrashMeans::Freeze | CrashMeans::Command => false,
    };
    is_plain && (crash.nodes, &crash.during) == (StruckNodes::All, &CrashMoment::Write)
}
