//! `kvtrial tune`: the best setting of a store and job, within a budget of time.

use super::ending::{NOTHING_KEPT, write_cells};
use super::notebook::{Closed, Notebook, interrupted, stopped};
use super::run::{default_directory, redacted_command};
use super::{report_files, selftest, tables, target, workers};
use crate::args::{TuneArguments, WorkersArgument};
use crate::failure::{self, CommandFailure};
use crate::output::{note, print_painted};
use archive::StudyDir;
use engine::Settings;
use jobkit::{JobInfo, Params};
use runner::{Asked, Axis, PlannedCell, PlannedStore, Variation, VaryError};
use search::{Lab, Objective, SearchTime, TuneError, TuneOptions, tune};
use std::sync::atomic::AtomicBool;
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use study::Class;
use study::{Spec, Study, Target};

/// Values of the engine that are tried.
const CLIENTS: [u32; 6] = [1, 2, 4, 8, 16, 32];
const PIPELINE: [u32; 4] = [1, 4, 16, 64];

/// Searches and reports.
pub fn tune_command(arguments: &TuneArguments) -> Result<u8, CommandFailure> {
    let job = target::job(&arguments.job)?;
    let store = store(arguments)?;
    let request = target::search(job, vec![store.clone()], &arguments.search.set, &arguments.search)?;
    let (params, settings) = (request.params.clone(), request.settings);
    let axes = space(job, &store, &params, &settings, arguments)?;
    let objective = arguments.objective.unwrap_or(match settings.duration {
        Some(_) => Objective::OpsPerS,
        None => Objective::Makespan,
    });
    let mut plan = request.search(&axes).map_err(CommandFailure::of_request)?;
    workers::share(&mut plan, &others(&axes, &store, &params, settings)?, &arguments.sharing)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let study = Study { selftest: selftest::for_study(), ..plan.study(redacted_command(), study::rfc3339(now)) };
    let out = arguments.search.out.clone().unwrap_or_else(|| default_directory(now));
    let directory = StudyDir::create(&out, study)?;
    let keys: Vec<String> = axes.iter().map(|axis| format!("{} ({})", axis.key, axis.values.len())).collect();
    let all = axes.iter().fold(1u64, |all, axis| all.saturating_mul(axis.values.len() as u64));
    note(&format!(
        "kvtrial: searching {} for the best {} within {}: {all} settings of {}",
        store.spec,
        objective.name(),
        words::units::clock(arguments.budget.as_secs_f64()),
        keys.join(", ")
    ));

    let budget = SearchTime { whole: arguments.budget, begun: Instant::now() };
    let mut notebook = Notebook::new(directory, &plan);
    let stop = AtomicBool::new(false);
    let mut lab = Lab::new(&plan, &stop, &mut notebook);
    let options = TuneOptions { objective, budget, store: &store, axes, params: &params, settings };
    let tuned = tune(&mut lab, &options, &stop, host::interrupt::flag());
    notebook.progress.finish();
    if let Ok(tuned) = &tuned {
        notebook.directory.amend(|study| study.tune = Some(tuned.clone()))?;
    }
    let closed = notebook.close(match &tuned {
        Err(TuneError::Interrupted) => Some(interrupted()),
        Err(error) => Some(stopped(error)),
        Ok(_) => None,
    })?;
    match tuned {
        Err(TuneError::Interrupted) if matches!(closed, Closed::Nothing) => {
            note(NOTHING_KEPT);
            return Ok(failure::INTERRUPTED);
        }
        Err(TuneError::Interrupted) => {
            if let Closed::Kept(study) = &closed {
                write_cells(&out, study)?;
                report_files::write(&out, study)?;
            }
            note(&format!("Interrupted. A search cannot be resumed; what was tried is in {}", out.display()));
            return Ok(failure::INTERRUPTED);
        }
        Err(TuneError::Void(problem)) => {
            return Err(CommandFailure {
                message: format!("the default setting is void: {problem}"),
                status: failure::VOID,
            });
        }
        Err(TuneError::Run(error)) => return Err(CommandFailure::of(error)),
        other => other.map(|_| ())?,
    }
    let Closed::Kept(study) = closed else { return Err(CommandFailure::usage(NOTHING_KEPT)) };
    write_cells(&out, &study)?;
    report_files::close(
        &out,
        &study,
        &["study.json", "cells.csv"],
        print_painted(&|colour| tables::text(&study, colour)),
    )?;
    Ok(failure::GOOD)
}

/// The store, which must be kvtrial's own to start again.
fn store(arguments: &TuneArguments) -> Result<PlannedStore, CommandFailure> {
    let spec: Spec = arguments.store.parse()?;
    let info = target::resolve(&spec)?;
    if spec.target != Target::Private {
        return Err(CommandFailure::usage(format!(
            "-s {spec}: every setting is tried on a new store of its own; write -s {} and let the setting be yours",
            info.name
        )));
    }
    Ok(PlannedStore { info, spec, asked: Asked::ByName, baseline: false })
}

/// What is searched: what the store, the job and the engine declare, and what the user adds or puts in its place. The value in
/// effect now comes first.
fn space(
    job: &JobInfo,
    store: &PlannedStore,
    params: &Params,
    settings: &Settings,
    arguments: &TuneArguments,
) -> Result<Vec<Axis>, CommandFailure> {
    let mut keys: Vec<(String, Vec<String>)> = Vec::new();
    let strings = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect::<Vec<_>>();
    let numbers = |values: &[u32]| values.iter().map(u32::to_string).collect::<Vec<_>>();
    if !arguments.only {
        for param in job.params.iter().filter(|param| !param.tunable.is_empty()) {
            if let Some(now) = params.get(param.name) {
                keys.push((param.name.into(), first(now.clone(), strings(param.tunable))));
            }
        }
        // Each worker has a client or more.
        let sharers = arguments.sharing.workers.map_or(1, WorkersArgument::count);
        let clients: Vec<u32> = CLIENTS.into_iter().filter(|clients| *clients >= sharers).collect();
        keys.push(("clients".into(), first(settings.clients.to_string(), numbers(&clients))));
        if store.info.class != Class::Embedded {
            keys.push(("pipeline".into(), first(settings.pipeline.to_string(), numbers(&PIPELINE))));
        }
        for option in store.info.options {
            let Some(declared) = option.tunable.map(|tunable| strings(tunable.values)) else { continue };
            let now = store.spec.options.get(option.name).or(declared.first()).cloned().unwrap_or_default();
            keys.push((format!("{}.{}", store.info.family, option.name), first(now, declared)));
        }
    }
    let plain = |key: &str| key.split_once('.').map_or(key, |(_, name)| name).to_owned();
    for (key, text) in &arguments.vary {
        keys.retain(|(known, _)| known != key && plain(known) != *key);
        let values =
            runner::grid::values(text).map_err(|problem| CommandFailure::usage(format!("--vary {key}: {problem}")))?;
        keys.push((key.clone(), values));
    }
    keys.retain(|(_, values)| values.len() > 1);
    let texts: Vec<(String, String)> = keys.into_iter().map(|(key, values)| (key, values.join(","))).collect();
    let axes = runner::axes(job, std::slice::from_ref(store), &texts)?;
    if axes.is_empty() {
        return Err(CommandFailure::usage(format!(
            "{} and {} declare nothing to search; name it with --vary KEY=VALUES",
            store.info.name, job.name
        )));
    }
    Ok(axes)
}

/// The cells with each value in its turn, the others at their first.
fn others(
    axes: &[Axis],
    store: &PlannedStore,
    params: &Params,
    settings: Settings,
) -> Result<Vec<PlannedCell>, VaryError> {
    let variation = Variation { axes: axes.to_vec(), ..Variation::default() };
    let each = axes.iter().enumerate().flat_map(|(key, axis)| (1..axis.values.len()).map(move |value| (key, value)));
    each.map(|(key, value)| {
        let mut setting = vec![0; axes.len()];
        setting[key] = value;
        variation.cell(&setting, store, params, settings)
    })
    .collect()
}

/// `now`, then the others.
fn first(now: String, others: Vec<String>) -> Vec<String> {
    let mut values = vec![now];
    values.extend(others);
    let mut seen = Vec::new();
    values.retain(|value| !seen.contains(value) && (seen.push(value.clone()), true).1);
    values
}
