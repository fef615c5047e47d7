//! `kvtrial run`: plan, run, report.

use super::{preset, selftest, target};
use crate::args::RunArguments;
use crate::failure::{self, Failure};
use crate::terminal::{self, colour, print};
use engine::{Arrivals, Job, Phase, Progress, Settings, Timing};
use report::StudyDir;
use runner::{About, Ending, KeysFound, Observer, Plan, PlannedStore};
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use store::{Class, Probe};
use study::{Spec, Status, Study, Target, TrialRecord};

const REPEATS: u32 = 3;
const QUICK_REPEATS: u32 = 2;
const WARMUPS: u32 = 0;

/// Runs a study and returns the exit status.
pub fn run(mut arguments: RunArguments) -> Result<u8, Failure> {
    let preset = preset::apply(&mut arguments)?;
    let plan = plan(&arguments)?;
    let command = redacted_command();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let selftest = if arguments.resume { None } else { selftest::for_study() };
    let study = Study { preset, selftest, ..plan.study(command, study::rfc3339(now)) };
    let out = arguments.out.clone().unwrap_or_else(|| default_directory(now));
    let directory = if arguments.resume { StudyDir::resume(&out, &study)? } else { StudyDir::create(&out, study)? };

    let recorded = directory.recorded();
    let mut notebook = Notebook::new(directory, &plan);
    let ending = runner::run(&plan, &recorded, host::interrupt::flag(), &mut notebook);
    notebook.progress.finish();
    let study = notebook.directory.close()?;
    let ending = ending?;

    let cells = out.join("cells.csv");
    std::fs::write(&cells, report::cells_csv(&study))
        .map_err(|error| Failure::usage(format!("{}: {error}", cells.display())))?;
    let trials = out.join("trials.csv");
    std::fs::File::create(&trials)
        .and_then(|file| {
            let mut file = BufWriter::new(file);
            report::write_trials_csv(&study, &mut file)?;
            file.flush()
        })
        .map_err(|error| Failure::usage(format!("{}: {error}", trials.display())))?;
    print(&report::study_table(&study, colour()))?;
    if ending == Ending::Interrupted {
        eprintln!(
            "Interrupted. What was finished is in {0}; go on with the same command and --out {0} --resume",
            out.display()
        );
        return Ok(failure::INTERRUPTED);
    }
    print(&format!("Study: {0}/study.json, {0}/cells.csv\n", out.display()))?;
    Ok(status(&study, arguments.strict))
}

/// Void cells decide, then `--strict`.
fn status(study: &Study, strict: bool) -> u8 {
    match study.cells.iter().map(|cell| cell.verdict.status).max() {
        Some(Status::Void) => failure::VOID,
        Some(Status::Degraded) if strict => failure::UNTRUSTED,
        _ => failure::GOOD,
    }
}

fn plan(arguments: &RunArguments) -> Result<Plan, Failure> {
    let Some(job) = jobs::find(&arguments.job) else {
        let known: Vec<&str> = jobs::all().map(|job| job.name).collect();
        return Err(Failure::usage(format!("there is no job '{}'; there are: {}", arguments.job, known.join(", "))));
    };
    let stores = planned_stores(arguments)?;
    let mut set = match &arguments.plan {
        Some(path) => plan_file(job, path)?,
        None => Vec::new(),
    };
    set.extend(arguments.set.iter().cloned());
    let params = jobs::params(job, &set)?;
    let prepared = jobs::prepare(job, arguments.data.clone(), &set, arguments.seed)?;
    let stores = suited(stores, prepared.as_ref(), arguments)?;
    let arrivals = match (arguments.rate, arguments.poisson) {
        (None, _) => Arrivals::Closed,
        (Some(ops_per_s), false) => Arrivals::Fixed { ops_per_s },
        (Some(ops_per_s), true) => Arrivals::Poisson { ops_per_s },
    };
    let seconds: f64 = params.get("seconds").and_then(|text| text.parse().ok()).unwrap_or(0.0);
    let settings = Settings {
        clients: arguments.clients.unwrap_or(1),
        pipeline: arguments.pipeline.unwrap_or(1),
        threads: arguments.threads,
        arrivals,
        duration: (seconds > 0.0).then(|| Duration::from_secs_f64(seconds)),
        deadline: arguments.deadline,
        timing: arguments.sample.map_or(Timing::Every, Timing::Sampled),
        seed: arguments.seed,
    };
    let quick = arguments.quick;
    Ok(Plan {
        job,
        params,
        prepared,
        stores,
        settings,
        repeats: arguments.repeats.unwrap_or(if quick { QUICK_REPEATS } else { REPEATS }),
        warmups: arguments.warmups.unwrap_or(WARMUPS),
        seed: arguments.seed,
        base: arguments.base.clone().unwrap_or_else(host::default_base),
        keys_found: if arguments.overwrite { KeysFound::Delete } else { KeysFound::Refuse },
    })
}

/// The stores asked for, or every embedded one of this build, behind the baselines.
fn planned_stores(arguments: &RunArguments) -> Result<Vec<PlannedStore>, Failure> {
    let mut specs = target::specs(&arguments.stores, arguments.host.as_deref(), arguments.port)?;
    if specs.is_empty() {
        let found =
            |info: &&store::StoreInfo| info.class == Class::Embedded && matches!((info.probe)(), Probe::Found(_));
        specs = stores::all().filter(found).map(|info| Spec::private(info.name)).collect();
    }
    let mut planned: Vec<PlannedStore> = Vec::new();
    if !arguments.no_baselines {
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
            None => planned.push(PlannedStore { info, spec, baseline: false }),
        }
    }
    if planned.is_empty() {
        return Err(Failure::usage("no store to run on; name one with -s, see 'kvtrial stores'"));
    }
    Ok(planned)
}

/// Leaves out what kvtrial added itself and the job cannot be done on; what the user named is refused. Nothing is started or
/// made for that. What a user's own server can do is known only once it was asked: it is checked when it is opened.
fn suited(stores: Vec<PlannedStore>, job: &dyn Job, arguments: &RunArguments) -> Result<Vec<PlannedStore>, Failure> {
    let named = target::specs(&arguments.stores, arguments.host.as_deref(), arguments.port)?;
    let mut left = Vec::with_capacity(stores.len());
    for planned in stores {
        let known = !matches!(planned.spec.target, Target::Server(_));
        match job.suits(&planned.info.declared(&planned.spec)) {
            Err(problem) if known && named.contains(&planned.spec) => {
                return Err(Failure::usage(format!("-s {}: {problem}", planned.spec)));
            }
            Err(problem) if known => eprintln!("kvtrial: {} is left out: {problem}", planned.spec),
            _ => left.push(planned),
        }
    }
    if left.is_empty() {
        return Err(Failure::usage(
            "the job can be done on none of the stores; name one with -s, see 'kvtrial stores'",
        ));
    }
    Ok(left)
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

/// Parameters from a file: `key=value` lines; for ycsb a YCSB property file, whose names are translated.
fn plan_file(job: &engine::JobInfo, path: &std::path::Path) -> Result<Vec<(String, String)>, Failure> {
    let text =
        std::fs::read_to_string(path).map_err(|error| Failure::usage(format!("--plan {}: {error}", path.display())))?;
    let parse = job.plan.ok_or_else(|| Failure::usage(format!("{} takes no --plan; use --set", job.name)))?;
    let read = parse(&text).map_err(|error| Failure::usage(format!("--plan {}: {error}", path.display())))?;
    for note in read.notes {
        eprintln!("kvtrial: --plan {}: {note}", path.display());
    }
    Ok(read.params)
}

fn default_directory(unix_s: u64) -> PathBuf {
    let time: String = study::rfc3339(unix_s).chars().filter(|c| c.is_ascii_digit() || *c == 'T').collect();
    let fresh = |suffix: u32| match suffix {
        1 => PathBuf::from(format!("kvtrial-study-{time}")),
        more => PathBuf::from(format!("kvtrial-study-{time}-{more}")),
    };
    (1..).map(fresh).find(|path| !path.exists()).unwrap_or_else(|| fresh(1))
}

/// The command line as it may be written down: passwords in specs are hidden.
fn redacted_command() -> Vec<String> {
    let hide = |text: String| match text.parse::<Spec>() {
        Ok(spec) if text.contains("://") => spec.to_string(),
        _ => text,
    };
    std::env::args().enumerate().map(|(at, text)| if at == 0 { "kvtrial".into() } else { hide(text) }).collect()
}

/// Writes trials down and shows how far the study is.
struct Notebook {
    directory: StudyDir,
    progress: report::Progress,
    trial: (u32, u32, String),
    phase: &'static str,
    /// How long timed phases last, when time ends them.
    duration: Option<Duration>,
}

impl Notebook {
    fn new(directory: StudyDir, plan: &Plan) -> Notebook {
        let mut progress = report::Progress::new(terminal::error_colour());
        for cell in &directory.study().cells {
            cell.trials.iter().for_each(|trial| progress.known(&cell.store, trial));
        }
        let recorded = directory.recorded();
        let names: Vec<String> = plan.stores.iter().map(|planned| planned.spec.to_string()).collect();
        let left = runner::balanced(plan.stores.len(), plan.warmups, plan.repeats, plan.seed);
        let left = left.iter().filter(|turn| !recorded.contains(&turn.order));
        progress.plan(left.map(|turn| names[turn.cell].as_str()));
        Notebook { directory, progress, trial: (0, 0, String::new()), phase: "", duration: plan.settings.duration }
    }

    /// How much of a phase is over: time where time ends it, else operations.
    fn share(&self, phase: &Phase, progress: &Progress) -> Option<f64> {
        match self.duration.filter(|_| phase.timed) {
            Some(duration) => Some(progress.elapsed.as_secs_f64() / duration.as_secs_f64()),
            None => phase.operations.map(|planned| progress.operations as f64 / planned.max(1) as f64),
        }
    }
}

impl Observer for Notebook {
    fn trial_started(&mut self, order: u32, total: u32, store: &str, warmup: bool) {
        self.trial = (order, total, store.to_owned());
        self.phase = "";
        self.progress.trial_started(order, total, store, if warmup { "warm-up" } else { "starting" });
    }

    fn progress(&mut self, phase: &Phase, progress: Progress) {
        if self.phase != phase.name {
            self.phase = phase.name;
            let (order, total, store) = &self.trial;
            self.progress.trial_started(*order, *total, store, phase.name);
        }
        self.progress.update(&report::Moment {
            operations: progress.operations,
            share: self.share(phase, &progress),
            errors: progress.errors,
            p99_ns: progress.p99_ns,
            elapsed: progress.elapsed,
        });
        host::interrupt::progress();
    }

    fn trial_finished(&mut self, cell: usize, record: TrialRecord, about: Option<&About>) -> Result<(), String> {
        host::interrupt::progress();
        self.progress.trial_finished(&record);
        if let Some(about) = about {
            let describe = |cell: &mut study::Cell| {
                cell.durability = Some(about.durability);
                cell.product = about.facts.product.clone();
                cell.store_version = about.facts.version.clone();
                cell.store_config = about.facts.config.clone();
                cell.emulated = about.emulated.iter().map(|&name| name.to_owned()).collect();
                cell.logical_bytes = about.logical_bytes;
            };
            self.directory.describe(cell, describe).map_err(|error| error.to_string())?;
        }
        self.directory.record(cell, record).map_err(|error| error.to_string())
    }
}
