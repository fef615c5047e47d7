//! `kvtrial choose`: the store that fits, by what the user needs.

mod kills;

use super::ending::{NOTHING_KEPT, write_cells};
use super::needs::{Needed, can_show};
use super::notebook::{Closed, Notebook, interrupted, stopped};
use super::run::{default_directory, redacted_command};
use super::{leftovers, report_files, selftest, tables, target, workers};
use crate::args::ChooseArguments;
use crate::failure::{self, CommandFailure};
use crate::output::{note, print_painted};
use analysis::NeedKind;
use archive::StudyDir;
use engine::Arrivals;
use jobkit::JobInfo;
use kills::Killer;
use runner::{Asked, AskedFault, Faults, Plan, PlannedStore, Request, Variation};
use search::{ChooseError, ChooseOptions, Kills, Lab, MoreWork, SearchTime};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use store::StoreInfo;
use study::{BudgetLayer, Class, Spec, Study};

/// How long a trial at a rate lasts, unless the command says otherwise: so that each store can have this many of them in this share of the
/// budget.
const TRIAL_SECONDS: std::ops::RangeInclusive<f64> = 0.3..=5.0;
const TRIALS: f64 = 6.0;
const TRIALS_SHARE: f64 = 0.4;

/// Kills of each store that would be taken, where data must be kept.
const CUTS: u32 = 20;
/// How many times as much data the first to be taken is tried with.
const MORE: u32 = 10;

/// Races, decides and reports.
pub fn choose(arguments: &ChooseArguments) -> Result<u8, CommandFailure> {
    let out = arguments.search.out.clone();
    let before = match (&out, arguments.resume) {
        (Some(out), true) => Some(archive::read_study(out)?),
        _ => None,
    };
    let Chosen { mut plan, more } = plan(arguments, before.as_ref())?;
    workers::share(&mut plan, &[], &arguments.sharing)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let needs = arguments.needs.iter().map(|need| need.text.clone()).collect();
    let study = plan.study(redacted_command(), study::rfc3339(now));
    let study = Study { selftest: selftest::for_study(), needs, ..study };
    let out = out.unwrap_or_else(|| default_directory(now));
    let directory = match before {
        Some(_) => StudyDir::resume_search(&out, &study)?,
        None => StudyDir::create(&out, study)?,
    };
    let candidates: Vec<String> =
        plan.cells.iter().filter(|cell| !cell.baseline).map(|cell| cell.spec.to_string()).collect();
    note(&format!(
        "kvtrial: choosing among {} within {}: {}",
        words::units::whole(candidates.len() as u64),
        words::units::clock(arguments.budget.as_secs_f64()),
        candidates.join(", ")
    ));

    let used = before.as_ref().map(used).unwrap_or_default();
    let begun = Instant::now().checked_sub(used).unwrap_or_else(Instant::now);
    let budget = SearchTime { whole: arguments.budget, begun };
    let mut notebook = Notebook::new(directory, &plan);
    let stop = AtomicBool::new(false);
    let mut lab = match &before {
        Some(study) => Lab::resumed(&plan, study, &stop, &mut notebook),
        None => Lab::new(&plan, &stop, &mut notebook),
    };
    let options = ChooseOptions { needs: arguments.needs.clone(), budget, more };
    let mut killer =
        Killer::new(cuts(arguments), plan.base.clone(), arguments.search.seed, arguments.search.deadline, &stop);
    if let Some(made) = before.as_ref().and_then(|study| study.crash.clone()) {
        killer.made = study::Crash { cuts: killer.cuts, ..made };
    }
    let chosen = search::choose(&mut lab, &options, &mut killer, &stop, host::interrupt::flag());
    notebook.progress.finish();
    if let Ok(choice) = &chosen {
        notebook.directory.amend(|study| {
            for cell in study.cells.iter_mut().filter(|cell| !cell.baseline) {
                cell.durability_shown = killer.known(cell);
            }
            study.crash = Some(killer.made).filter(|made| !made.cases.is_empty());
            study.choice = Some(choice.clone());
        })?;
    }
    let is_interrupted = host::interrupt::requested();
    let closed = notebook.close(match &chosen {
        Ok(_) if is_interrupted => Some(interrupted()),
        Ok(_) => None,
        Err(ChooseError::Interrupted) => Some(interrupted()),
        Err(error) => Some(stopped(error)),
    })?;
    let Closed::Kept(study) = closed else {
        return match chosen {
            Ok(_) | Err(ChooseError::Interrupted) => {
                note(NOTHING_KEPT);
                Ok(failure::INTERRUPTED)
            }
            Err(ChooseError::Run(error)) => Err(leftovers::named(error, &out)),
            Err(error) => Err(error.into()),
        };
    };
    match chosen {
        Err(ChooseError::Interrupted) => {}
        Err(ChooseError::Run(error)) => return Err(leftovers::named(error, &out)),
        Err(error) => return Err(error.into()),
        Ok(_) => {}
    }
    write_cells(&out, &study)?;
    report_files::close(
        &out,
        &study,
        &["study.json", "cells.csv"],
        print_painted(&|colour| tables::text(&study, colour)),
    )?;
    if is_interrupted {
        note(&format!("Interrupted. Resume it: the same command with --out {} --resume", out.display()));
        return Ok(failure::INTERRUPTED);
    }
    // Without needs a class that there was no time for is said, and the others are decided.
    let is_decided = study.choice.iter().flat_map(|choice| &choice.decisions).any(|it| !it.take.is_empty());
    Ok(if is_decided { failure::GOOD } else { failure::VOID })
}

/// How often each store that would be taken is killed.
fn cuts(arguments: &ChooseArguments) -> u32 {
    let is_needed = arguments.needs.iter().any(|need| matches!(need.kind, NeedKind::Durability(_)));
    arguments.cuts.unwrap_or(if is_needed { CUTS } else { 0 })
}

/// The choice, planned.
struct Chosen {
    plan: Plan,
    /// The job with more data; else why there is none.
    more: Result<MoreWork, String>,
}

/// The time that an earlier part of a choice has used, as far as it was written down.
fn used(study: &Study) -> Duration {
    let trials = || study.cells.iter().flat_map(|cell| &cell.trials).map(|trial| trial.makespan_s).sum();
    let used_s = study.choice.as_ref().map_or_else(trials, |choice| choice.used_s);
    Duration::try_from_secs_f64(used_s).unwrap_or_default()
}

fn plan(arguments: &ChooseArguments, before: Option<&Study>) -> Result<Chosen, CommandFailure> {
    let job = target::job(&arguments.job)?;
    let needed = Needed::of(&arguments.needs)?;
    can_show(job, &arguments.search.set, &arguments.needs)?;
    let loss = arguments.needs.iter().find(|need| need.kind == NeedKind::NoLoss);
    if let Some(need) = loss.filter(|_| arguments.faults.is_empty()) {
        return Err(CommandFailure::usage(format!(
            "--need '{need}': nothing is lost where no node fails; add --fault and the clusters, such as --fault kill -s etcd,nodes=3"
        )));
    }
    let stores = candidates(arguments, needed)?;
    let mut set = arguments.search.set.clone();
    set.extend(length(arguments, job, needed, stores.len(), before).map(|seconds| ("seconds".into(), seconds)));
    let mut request = target::search(job, stores, &set, &arguments.search)?;
    request.settings.arrivals = needed.ops_per_s.map_or(Arrivals::Closed, |ops_per_s| Arrivals::Poisson { ops_per_s });
    let larger = larger(&request);
    let mut plan = request
        .study(&Variation::none(), &mut |words| note(&format!("kvtrial: {words}")))
        .map_err(CommandFailure::of_request)?;
    if arguments.limit_memory {
        plan.server_memory_bytes = Some(needed.server_memory_bytes()?);
    }
    plan.faults =
        Faults::on(&plan.cells, arguments.faults.clone(), runner::USUAL_TIMEOUT).map_err(CommandFailure::usage)?;
    let more = larger.and_then(|work| match plan.job_cache.add(&work.params) {
        Ok(_) => Ok(work),
        Err(problem) => Err(problem.to_string()),
    });
    Ok(Chosen { plan, more })
}

/// How long a trial lasts, in seconds, where time ends it and the command does not say.
fn length(
    arguments: &ChooseArguments,
    job: &JobInfo,
    needed: Needed,
    stores: usize,
    before: Option<&Study>,
) -> Option<String> {
    let is_timed = job.params.iter().any(|param| param.name == "seconds");
    if !is_timed || arguments.search.set.iter().any(|(key, _)| key == "seconds" || key == "operations") {
        return None;
    }
    if arguments.faults.iter().any(AskedFault::needs_length) {
        return Some(runner::USUAL_SECONDS.to_string());
    }
    needed.ops_per_s?;
    // Trials of a choice that is resumed stay as long as they were.
    let known = before.and_then(|study| study.cells.first()?.params.get("seconds").cloned());
    let fair_s = arguments.budget.as_secs_f64() * TRIALS_SHARE / TRIALS / stores.max(1) as f64;
    Some(known.unwrap_or_else(|| format!("{:.1}", fair_s.clamp(*TRIAL_SECONDS.start(), *TRIAL_SECONDS.end()))))
}

/// The job with more data; else why there is none.
fn larger(request: &Request) -> Result<MoreWork, String> {
    let size = request.job.extras.size.filter(|_| request.data.is_none());
    let param = size.ok_or("its input says how much there is, and --data can bring more")?;
    let value = request.params.get(param).map_or("", String::as_str);
    let records = data::count::whole(value).ok_or_else(|| format!("{param}={value} is no number to multiply"))?;
    let mut params = request.params.clone();
    params.insert(param.into(), records.saturating_mul(u64::from(MORE)).to_string());
    let work = MoreWork { param, times: MORE, params };
    // Whether there is room for it.
    let larger = Request { params: work.params.clone(), ..request.clone() };
    larger.study(&Variation::none(), &mut |_| {}).map(|_| work).map_err(|problem| problem.to_string())
}

/// The stores that are named, or every one that is found here, each product once; with the baseline that memory is counted from.
fn candidates(arguments: &ChooseArguments, needed: Needed) -> Result<Vec<PlannedStore>, CommandFailure> {
    let named = target::specs(&arguments.stores, None, None)?;
    // Each worker would have a library of its own, and a baseline.
    let is_shared = arguments.sharing.workers.is_some();
    let classes = if is_shared { &[Class::Network][..] } else { &[Class::Embedded, Class::Network] };
    let (asked, specs) = match named.is_empty() {
        true => (Asked::Added, found(classes)),
        false => (Asked::ByName, named),
    };
    let null = catalog::all().find(|info| info.layer() == Some(BudgetLayer::Generator));
    let has_memory = arguments.needs.iter().any(|need| matches!(need.kind, NeedKind::Memory(_)));
    let baselines = null.filter(|_| has_memory && !is_shared).map(|info| {
        let spec = Spec::private(info.name);
        PlannedStore { info, spec, asked: Asked::Added, baseline: true }
    });
    let mut planned: Vec<PlannedStore> = baselines.into_iter().collect();
    for mut spec in specs {
        let info = target::known(&spec)?;
        needed.make_durable(info, &mut spec);
        if planned.iter().any(|known| known.spec == spec) {
            return Err(CommandFailure::usage(format!("store '{spec}' is named twice")));
        }
        target::own_path(info, &spec)?;
        if let Err(problem) = host::check(info, &spec)
            && asked == Asked::Added
        {
            note(&format!("kvtrial: {} is left out: {problem}", info.name));
            continue;
        }
        planned.push(PlannedStore { info, spec, asked, baseline: false });
    }
    Ok(planned)
}

/// Every store of these classes that is found on this machine, by the first name of its family: how it is reached is not what is chosen.
fn found(classes: &[Class]) -> Vec<Spec> {
    let is_candidate = |info: &&'static StoreInfo| {
        classes.contains(&info.class)
            && info.name == info.family
            && host::present(info, &Spec::private(info.name)).is_ok()
    };
    catalog::all().filter(is_candidate).map(|info| Spec::private(info.name)).collect()
}
