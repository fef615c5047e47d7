//! From the options of `run` to a request, and so to a plan.

use super::needs::Needed;
use super::offer::offer_varied;
use super::target;
use crate::args::{OrderArgument, RunArguments};
use crate::failure::CommandFailure;
use crate::output::note;
use engine::{Arrivals, Outages, Settings, Timing};
use runner::{Asked, AskedFault, Faults, Histories, KeysFound, Plan, PlannedStore, Request, Rounds, Variation};
use std::io::Read;
use std::time::Duration;
use store::StoreInfo;
use study::{BudgetLayer, Class, Spec, TrialOrder};

/// Trials of each store where there is time for them; fewer where more would take too long.
const REPEATS: u32 = 5;
/// The least that can put stores in order: of a sweep, which has many combinations.
const SWEEP_REPEATS: u32 = 3;
/// With faults, of which each trial has one of each: enough to see how much a figure differs from trial to trial.
const FAULT_REPEATS: u32 = 3;
const QUICK_REPEATS: u32 = 2;
/// A first answer is there within about half a minute.
const PATIENCE: Duration = Duration::from_secs(30);
const WARMUPS: u32 = 0;
/// Largest plan file.
const MOST_PLAN_BYTES: u64 = 1 << 20;
/// How long a step of a search for a rate lasts, unless the command says otherwise.
const STEP_SECONDS: f64 = 5.0;

/// Returns the plan with everything the study needs, checked; nothing is started or written.
pub fn plan(arguments: &RunArguments) -> Result<Plan, CommandFailure> {
    let job = target::job(&arguments.job)?;
    let needed = Needed::of(&arguments.needs)?;
    needed.check(job, arguments)?;
    let stores = planned_stores(arguments, needed)?;
    let mut set = match &arguments.plan {
        Some(path) => plan_file(job, path)?,
        None => Vec::new(),
    };
    set.extend(arguments.set.iter().cloned());
    let length_s = match arguments.find_rate {
        Some(bound) => Some(bound.needs_s().max(STEP_SECONDS)),
        None if arguments.faults.iter().any(AskedFault::needs_length) => Some(f64::from(runner::USUAL_SECONDS)),
        None => needed.ops_per_s.map(|_| STEP_SECONDS),
    };
    if let Some(length_s) = length_s
        && job.params.iter().any(|param| param.name == "seconds")
        && !set.iter().any(|(key, _)| key == "seconds" || key == "operations")
    {
        set.push(("seconds".into(), length_s.to_string()));
    }
    let params = target::params(job, &set)?;
    if let (Some(bound), Some(step)) = (arguments.find_rate, runner::seconds(&params))
        && step.as_secs_f64() < bound.needs_s()
    {
        return Err(CommandFailure::usage(format!(
            "--find-rate {bound}: steps of {} s are too short to see a queue grow to that bound; use --set seconds={} or more",
            step.as_secs_f64(),
            bound.needs_s()
        )));
    }
    let variation = Variation::new(runner::axes(job, &stores, &arguments.vary)?, arguments.sample, arguments.seed)?;
    let request = Request {
        job,
        data: arguments.data.clone(),
        params,
        stores,
        settings: settings(arguments, needed)?,
        rounds: rounds(arguments),
        seed: arguments.seed,
        base: target::base(arguments.base.as_deref())?,
        keys_found: if arguments.overwrite { KeysFound::Delete } else { KeysFound::Refuse },
        execution: super::fork_server::execution(),
    };
    let mut plan = request
        .study(&variation, &mut |words| note(&format!("kvtrial: {words}")))
        .map_err(CommandFailure::of_request)?;
    if arguments.limit_memory {
        plan.server_memory_bytes = Some(needed.server_memory_bytes()?);
    }
    plan.faults = Faults::on(&plan.cells, arguments.faults.clone(), arguments.timeout.unwrap_or(runner::USUAL_TIMEOUT))
        .map_err(CommandFailure::usage)?;
    plan.histories = match &arguments.history {
        None => Histories::WithFaults,
        Some(None) => Histories::All,
        Some(Some(file)) => Histories::Written(std::path::absolute(file).unwrap_or_else(|_| file.clone())),
    };
    Ok(plan)
}

fn rounds(arguments: &RunArguments) -> Rounds {
    Rounds {
        order: match arguments.order {
            OrderArgument::Random => TrialOrder::Random,
            OrderArgument::Rising => TrialOrder::Rising,
        },
        warmups: arguments.warmups.unwrap_or(WARMUPS),
        // A search plans one trial per cell; those it adds depend on what it sees.
        repeats: if arguments.find_rate.is_some() { 1 } else { repeats(arguments) },
        patience: (arguments.repeats.is_none()
            && !arguments.quick
            && arguments.vary.is_empty()
            && arguments.faults.is_empty())
        .then_some(PATIENCE),
    }
}

/// Counted trials per cell.
fn repeats(arguments: &RunArguments) -> u32 {
    arguments.repeats.unwrap_or(match (arguments.quick, arguments.vary.is_empty()) {
        (true, _) => QUICK_REPEATS,
        _ if !arguments.faults.is_empty() => FAULT_REPEATS,
        (false, true) => REPEATS,
        (false, false) => SWEEP_REPEATS,
    })
}

fn settings(arguments: &RunArguments, needed: Needed) -> Result<Settings, CommandFailure> {
    let rate_varies = arguments.vary.iter().any(|(key, _)| key == "rate");
    if rate_varies && arguments.find_rate.is_some() {
        return Err(CommandFailure::usage("--find-rate and --vary rate= contradict each other; leave one of them out"));
    }
    let arrivals = match (arguments.rate, arguments.poisson) {
        (Some(_), _) if rate_varies => {
            return Err(CommandFailure::usage("--rate and --vary rate= contradict each other; give one of them"));
        }
        (None, true) if rate_varies => Arrivals::Poisson { ops_per_s: 1.0 }, // the rate comes with each combination
        (None, true) => {
            return Err(CommandFailure::usage("--poisson is about arrivals at a rate; add --rate OPS_PER_S"));
        }
        (None, false) => needed.ops_per_s.map_or(Arrivals::Closed, |ops_per_s| Arrivals::Poisson { ops_per_s }),
        (Some(ops_per_s), false) => Arrivals::Fixed { ops_per_s },
        (Some(ops_per_s), true) => Arrivals::Poisson { ops_per_s },
    };
    Ok(Settings {
        clients: arguments.clients.unwrap_or(1),
        share: None,
        pipeline: arguments.pipeline.unwrap_or(1),
        threads: arguments.threads,
        arrivals,
        duration: None,
        deadline: arguments.deadline,
        outages: Outages::GiveUp,
        timing: arguments.time_one_in.map_or(Timing::Every, Timing::Sampled),
        seed: arguments.seed,
    })
}

/// The stores asked for, or those the job names, or every embedded one built in (the same on every machine), behind the baselines.
fn planned_stores(arguments: &RunArguments, needed: Needed) -> Result<Vec<PlannedStore>, CommandFailure> {
    let mut specs = target::specs(&arguments.stores, arguments.host.as_deref(), arguments.port)?;
    let asked = if specs.is_empty() { Asked::Added } else { Asked::ByName };
    let own = jobs::find(&arguments.job).map_or(&[][..], |job| job.extras.stores);
    if specs.is_empty() && !own.is_empty() {
        let own: Vec<String> = own.iter().map(|&spec| spec.to_owned()).collect();
        specs = target::specs(&own, None, None)?;
    } else if specs.is_empty() {
        let found = |info: &&StoreInfo| info.class == Class::Embedded && info.is_built_in();
        specs = catalog::all().filter(found).map(|info| Spec::private(info.name)).collect();
    }
    let mut planned: Vec<PlannedStore> = Vec::new();
    // What the job runs on by itself needs none beside it.
    let alone = asked == Asked::Added && !own.is_empty();
    // No node of a baseline fails, so it says nothing about that.
    // Those of several workers would be as many stores.
    let is_shared = arguments.sharing.workers.is_some();
    if !arguments.no_baselines && !is_shared && arguments.faults.is_empty() && arguments.find_rate.is_none() && !alone {
        for info in baselines(&specs)? {
            let spec = Spec::private(info.name);
            planned.push(PlannedStore { info, spec, asked: Asked::Added, baseline: true });
        }
    }
    for mut spec in specs {
        // One whose program is not here is not run, and the others are.
        let info = target::known(&spec)?;
        needed.make_durable(info, &mut spec);
        match planned.iter_mut().find(|planned| planned.spec == spec) {
            Some(known) if known.baseline => known.asked = asked, // and there already
            Some(_) => return Err(CommandFailure::usage(format!("store '{spec}' is named twice"))),
            None => {
                target::own_path(info, &spec)?;
                offer_varied(info, &spec, &arguments.vary)?;
                planned.push(PlannedStore { info, spec, asked, baseline: false });
            }
        }
    }
    if planned.is_empty() {
        return Err(CommandFailure::usage("no store to run on; name one with -s, see 'kvtrial stores'"));
    }
    Ok(planned)
}

/// The baselines of these stores: those of client and job, and that of each kind of socket a server on this machine is reached by.
fn baselines(specs: &[Spec]) -> Result<Vec<&'static StoreInfo>, CommandFailure> {
    let of_layer =
        |info: &StoreInfo, wire: bool| info.layer().is_some_and(|layer| (layer == BudgetLayer::Wire) == wire);
    let mut found: Vec<_> = catalog::all().filter(|info| of_layer(info, false)).collect();
    for spec in specs {
        let reached = target::known(spec)?;
        let Some(transport) = reached.transport(spec).filter(|_| reached.class == Class::Network) else { continue };
        let wires = catalog::all().filter(|info| of_layer(info, true) && info.transport == Some(transport));
        for wire in wires {
            if !found.iter().any(|known| known.name == wire.name) {
                found.push(wire);
            }
        }
    }
    Ok(found)
}

/// Parameters from a file: `key=value` lines; for ycsb a YCSB property file, whose names are translated.
fn plan_file(job: &jobkit::JobInfo, path: &std::path::Path) -> Result<Vec<(String, String)>, CommandFailure> {
    let trouble = |error: std::io::Error| CommandFailure::usage(format!("--plan {}: {error}", path.display()));
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(trouble)?;
    if file.take(MOST_PLAN_BYTES + 1).read_to_end(&mut bytes).map_err(trouble)? as u64 > MOST_PLAN_BYTES {
        return Err(CommandFailure::usage(format!(
            "--plan {}: larger than 1 MiB, so it is not a plan",
            path.display()
        )));
    }
    let parse =
        job.extras.plan.ok_or_else(|| CommandFailure::usage(format!("{} takes no --plan; use --set", job.name)))?;
    let read = parse(&plan_text(bytes))
        .map_err(|error| CommandFailure::usage(format!("--plan {}: {error}", path.display())))?;
    for note in read.notes {
        crate::output::note(&format!("kvtrial: --plan {}: {note}", path.display()));
    }
    Ok(read.params)
}

/// The text of a plan file: without the mark that editors on Windows put before it, and where it is not UTF-8 in Latin-1, as Java has its
/// property files.
fn plan_text(bytes: Vec<u8>) -> String {
    let text =
        String::from_utf8(bytes).unwrap_or_else(|error| error.as_bytes().iter().copied().map(char::from).collect());
    text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::plan_text;

    #[test]
    fn a_plan_is_read_with_a_mark_before_it_and_in_latin_1() {
        assert_eq!(plan_text("\u{feff}a=β\n".into()), "a=β\n");
        assert_eq!(plan_text(b"# f\xfcr\na=1".to_vec()), "# für\na=1");
    }
}
