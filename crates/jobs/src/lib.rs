//! Jobs: real application work as state machines over slots. Adding a job is one file (or folder) and one line in
//! this one.
//!
//! A job reads and checks its input before the clock starts, knows what every reply must be, and computes an answer
//! that is the same on every store. What never lives here: a particular store, timing, threads, printing.

use jobkit::{Job, JobError, JobInfo, JobRequest, Params};

/// Declares the modules of the jobs and lists them.
macro_rules! jobs {
    ($($name:ident),* $(,)?) => {
        $(pub mod $name;)*

        /// Returns every job, in the order `kvtrial jobs` shows them.
        pub fn all() -> impl Iterator<Item = &'static JobInfo> {
            [$(&$name::JOB),*].into_iter()
        }
    };
}

pub mod expires;
pub mod fingerprint;
mod hex;
mod in_order;
mod marks;
mod spots;
mod states;
mod tally;
mod witnessed;

jobs! { fans, bulk, append, counts, crud, ycsb, grow, nodes, sets, events, replay }

/// Returns the job of that name.
pub fn find(name: &str) -> Option<&'static JobInfo> {
    all().find(|info| info.name == name)
}

/// Returns the job's parameters: its defaults, and over them what the user set (later settings win).
///
/// # Errors
/// Names an unknown parameter and the known ones.
pub fn params(info: &JobInfo, set: &[(String, String)]) -> Result<Params, JobError> {
    let mut params: Params = info.params.iter().map(|param| (param.name.into(), param.default.into())).collect();
    for (name, value) in set {
        let Some(param) = params.get_mut(name) else {
            let known: Vec<&str> = info.params.iter().map(|param| param.name).collect();
            return Err(JobError(format!(
                "{} has no parameter '{name}'.{} It has {}",
                info.name,
                study::did_you_mean(name, known.iter().copied()),
                if known.is_empty() { "none".into() } else { known.join(", ") }
            )));
        };
        *param = value_of(info, name, value);
    }
    Ok(params)
}

/// Returns the value of a parameter as the job reads it: numbers may be written `1M` or `64KiB` where a number is due.
pub fn value_of(info: &JobInfo, name: &str, value: &str) -> String {
    let param = info.params.iter().find(|param| param.name == name);
    let numeric = param.is_some_and(|param| param.default.replace('_', "").parse::<f64>().is_ok());
    if numeric { data::count::plain(value) } else { value.to_owned() }
}

/// Returns a job with its input read and its parameters checked. `data`: as `--data` names it; `set`: as `--set` gives them.
///
/// # Errors
/// Names the option, or the input's line and column, and the remedy.
pub fn prepare(
    info: &JobInfo,
    data: Option<String>,
    set: &[(String, String)],
    seed: u64,
) -> Result<Box<dyn Job>, JobError> {
    (info.prepare)(&JobRequest { job: info.name, data, params: params(info, set)?, seed })
}
