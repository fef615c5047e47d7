//! From the options of `run` to a plan.

use super::target;
use crate::args::{Order, RunArguments};
use crate::failure::Failure;
use crate::terminal::note;
use engine::{Arrivals, Settings, Timing};
use runner::{KeysFound, Plan, PlannedCell, PlannedStore, Shelf, Variation};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;
use store::Class;
use study::{Spec, Target, TrialOrder};

/// Trials of each store where there is time for them; fewer where more would try the user's patience.
const REPEATS: u32 = 5;
/// The least that can put stores in order: of a sweep, which has many combinations.
const SWEEP_REPEATS: u32 = 3;
const QUICK_REPEATS: u32 = 2;
/// A first answer is to be there within half a minute.
const PATIENCE: Duration = Duration::from_secs(30);
const WARMUPS: u32 = 0;
/// How long a step of a search for a rate lasts, unless told otherwise.
const STEP_SECONDS: f64 = 5.0;

/// Everything the study needs, checked; nothing is started or written.
pub fn plan(arguments: &RunArguments) -> Result<Plan, Failure> {
    let job = target::job(&arguments.job)?;
    let stores = planned_stores(arguments)?;
    let base = target::base(arguments.base.as_deref())?;
    let mut set = match &arguments.plan {
        Some(path) => plan_file(job, path)?,
        None => Vec::new(),
    };
    set.extend(arguments.set.iter().cloned());
    if let Some(bound) = arguments.find_rate
        && job.params.iter().any(|param| param.name == "seconds")
        && !set.iter().any(|(key, _)| key == "seconds" || key == "operations")
    {
        set.push(("seconds".into(), bound.needs_s().max(STEP_SECONDS).to_string()));
    }
    let params = jobs::params(job, &set)?;
    if let (Some(bound), Some(step)) = (arguments.find_rate, runner::seconds(&params))
        && step.as_secs_f64() < bound.needs_s()
    {
        return Err(Failure::usage(format!(
            "--find-rate {bound}: steps of {} s are too short to see a queue grow to that bound; use --set seconds={} or more",
            step.as_secs_f64(),
            bound.needs_s()
        )));
    }
    let variation = Variation::new(runner::axes(job, &stores, &arguments.vary)?, arguments.sample, arguments.seed)?;
    let settings = settings(arguments)?;
    let cells = variation.cells(&stores, &params, settings)?;
    let mut shelf = Shelf::new(job, arguments.data.clone(), arguments.seed);
    let cells = suited(cells, &mut shelf, arguments, &base)?;
    let left: Vec<PlannedStore> =
        stores.into_iter().filter(|store| cells.iter().any(|cell| cell.info.name == store.info.name)).collect();
    Ok(Plan {
        job,
        shelf,
        cells,
        varied: variation.varied(&left),
        sampled: variation.sampled,
        order: match arguments.order {
            Order::Random => TrialOrder::Random,
            Order::Rising => TrialOrder::Rising,
        },
        // A search plans one trial a cell; those it adds depend on what it sees.
        repeats: if arguments.find_rate.is_some() { 1 } else { repeats(arguments) },
        patience: (arguments.repeats.is_none() && !arguments.quick && arguments.vary.is_empty()).then_some(PATIENCE),
        warmups: arguments.warmups.unwrap_or(WARMUPS),
        seed: arguments.seed,
        base,
        keys_found: if arguments.overwrite { KeysFound::Delete } else { KeysFound::Refuse },
        execution: super::nursery::execution(),
    })
}

/// Counted trials a cell.
fn repeats(arguments: &RunArguments) -> u32 {
    arguments.repeats.unwrap_or(match (arguments.quick, arguments.vary.is_empty()) {
        (true, _) => QUICK_REPEATS,
        (false, true) => REPEATS,
        (false, false) => SWEEP_REPEATS,
    })
}

fn settings(arguments: &RunArguments) -> Result<Settings, Failure> {
    let rate_varies = arguments.vary.iter().any(|(key, _)| key == "rate");
    let arrivals = match (arguments.rate, arguments.poisson) {
        (Some(_), _) if rate_varies => {
            return Err(Failure::usage("--rate and --vary rate= contradict each other; give one of them"));
        }
        (None, true) if rate_varies => Arrivals::Poisson { ops_per_s: 1.0 }, // the rate comes with each combination
        (None, true) => return Err(Failure::usage("--poisson is about arrivals at a rate; add --rate OPS_PER_S")),
        (None, false) => Arrivals::Closed,
        (Some(ops_per_s), false) => Arrivals::Fixed { ops_per_s },
        (Some(ops_per_s), true) => Arrivals::Poisson { ops_per_s },
    };
    Ok(Settings {
        clients: arguments.clients.unwrap_or(1),
        pipeline: arguments.pipeline.unwrap_or(1),
        threads: arguments.threads,
        arrivals,
        duration: None,
        deadline: arguments.deadline,
        timing: arguments.time_one_in.map_or(Timing::Every, Timing::Sampled),
        seed: arguments.seed,
    })
}

/// The stores asked for, or every embedded one built in (the same on every machine), behind the baselines.
fn planned_stores(arguments: &RunArguments) -> Result<Vec<PlannedStore>, Failure> {
    let mut specs = target::specs(&arguments.stores, arguments.host.as_deref(), arguments.port)?;
    if specs.is_empty() {
        let found = |info: &&store::StoreInfo| info.class == Class::Embedded && info.is_built_in();
        specs = stores::all().filter(found).map(|info| Spec::private(info.name)).collect();
    }
    let mut planned: Vec<PlannedStore> = Vec::new();
    if !arguments.no_baselines && arguments.find_rate.is_none() {
        for name in baselines(&specs)? {
            let spec = Spec::private(name);
            planned.push(PlannedStore { info: target::resolve(&spec)?, spec, baseline: true });
        }
    }
    for spec in specs {
        let info = target::resolve(&spec)?;
        match planned.iter_mut().find(|planned| planned.spec == spec) {
            Some(known) if known.baseline => {} // asked for by name and there already
            Some(_) => return Err(Failure::usage(format!("store '{spec}' is named twice"))),
            None => {
                target::own_path(info, &spec)?;
                planned.push(PlannedStore { info, spec, baseline: false });
            }
        }
    }
    if planned.is_empty() {
        return Err(Failure::usage("no store to run on; name one with -s, see 'kvtrial stores'"));
    }
    Ok(planned)
}

/// The baselines of these stores: `null` and `ram`, and the echo server behind each kind of socket a server on this machine is
/// reached by.
fn baselines(specs: &[Spec]) -> Result<Vec<&'static str>, Failure> {
    let mut names = vec!["null", "ram"];
    for spec in specs {
        if target::resolve(spec)?.class == Class::Network
            && let Some(echo) = spec.echo_baseline()
            && !names.contains(&echo)
        {
            names.push(echo);
        }
    }
    Ok(names)
}

/// Reads the input of every combination, and leaves out what kvtrial added itself and the job cannot be done on; what the user
/// named is refused. Nothing is started or made for that. What a user's own server can do is known only once it was asked: it is
/// checked when it is opened.
fn suited(
    cells: Vec<PlannedCell>,
    shelf: &mut Shelf,
    arguments: &RunArguments,
    base: &Path,
) -> Result<Vec<PlannedCell>, Failure> {
    let named = target::specs(&arguments.stores, arguments.host.as_deref(), arguments.port)?;
    let named = |spec: &Spec| named.iter().any(|one| one.name == spec.name && one.target == spec.target);
    let mut left = Vec::with_capacity(cells.len());
    let mut told = BTreeSet::new();
    for planned in cells {
        let job = shelf.add(&planned.params).map_err(|problem| Failure::usage(about(&planned, problem)))?;
        for warning in job.warnings() {
            if told.insert(warning.clone()) {
                crate::terminal::note(&format!("kvtrial: {warning}"));
            }
        }
        host::check(planned.info, &planned.spec)?;
        let known = !matches!(planned.spec.target, Target::Server(_));
        match job.suits(&planned.info.declared(&planned.spec)) {
            Err(problem) if known && named(&planned.spec) => {
                return Err(Failure::usage(format!("-s {}: {}", planned.spec, about(&planned, problem))));
            }
            Err(problem) if known => {
                if told.insert(planned.spec.to_string()) {
                    note(&format!("kvtrial: {} is left out: {}", planned.label(), problem));
                }
            }
            _ => {
                super::room::check(job.as_ref(), planned.info, &planned.spec, base)?;
                left.push(planned);
            }
        }
    }
    if left.is_empty() {
        return Err(Failure::usage(
            "the job can be done on none of the stores; name one with -s, see 'kvtrial stores'",
        ));
    }
    Ok(left)
}

/// A problem, with the combination it arises in when there are several.
fn about(cell: &PlannedCell, problem: impl std::fmt::Display) -> String {
    if cell.varied.is_empty() {
        return problem.to_string();
    }
    let varied: Vec<String> = cell.varied.iter().map(|(key, value)| format!("{key}={value}")).collect();
    format!("--vary: at {}: {problem}", varied.join(" "))
}

/// Parameters from a file: `key=value` lines; for ycsb a YCSB property file, whose names are translated.
fn plan_file(job: &engine::JobInfo, path: &std::path::Path) -> Result<Vec<(String, String)>, Failure> {
    let text =
        std::fs::read_to_string(path).map_err(|error| Failure::usage(format!("--plan {}: {error}", path.display())))?;
    let parse = job.plan.ok_or_else(|| Failure::usage(format!("{} takes no --plan; use --set", job.name)))?;
    let read = parse(&text).map_err(|error| Failure::usage(format!("--plan {}: {error}", path.display())))?;
    for note in read.notes {
        crate::terminal::note(&format!("kvtrial: --plan {}: {note}", path.display()));
    }
    Ok(read.params)
}
