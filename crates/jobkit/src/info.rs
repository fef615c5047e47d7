//! A job as it is listed, asked for and made.

use crate::{Job, Preset};
use std::collections::BTreeMap;

/// A parameter a job has.
#[derive(Clone, Copy, Debug)]
pub struct ParamInfo {
    /// The name, as in `--set NAME=VALUE`.
    pub name: &'static str,
    /// The default value.
    pub default: &'static str,
    /// The values or range, for people: `1 to 20000`, `partition, cas, lock, none`.
    pub values: &'static str,
    /// Values a search may try besides the one that is set; none when it changes the answer, not only how the work is done.
    pub tunable: &'static [&'static str],
    /// The meaning of the parameter.
    pub help: &'static str,
}

/// Parameters as the user gave them, over the job's defaults.
pub type Params = BTreeMap<String, String>;

/// The data, parameters and plan that a job is made from.
#[derive(Clone, Debug)]
pub struct JobRequest {
    /// The job's name. What is made from one function for many jobs, such as scripts, knows by it which is meant.
    pub job: &'static str,
    /// `--data`: a file or a known name; `None`: the job's own small data set or generator.
    pub data: Option<String>,
    /// All parameters the job has, defaults filled in, names checked.
    pub params: Params,
    /// Seed of every random choice.
    pub seed: u64,
}

/// A job as `kvtrial jobs` lists it.
#[derive(Clone, Copy)]
pub struct JobInfo {
    /// Name on the command line.
    pub name: &'static str,
    /// A line on what the job does.
    pub summary: &'static str,
    /// Input formats and data sets.
    pub input: &'static str,
    /// The fact of [`Job::input`] that counts the records the job leaves in the store.
    pub records: &'static str,
    /// The parameters of the job.
    pub params: &'static [ParamInfo],
    /// Reads and checks the input and the parameters. Everything slow that can happen before the clock happens here.
    pub prepare: fn(&JobRequest) -> Result<Box<dyn Job>, JobError>,
    /// The things that only some jobs have.
    pub extras: JobExtras,
}

/// The things that only some jobs have. A job that has one names it, and takes the others from [`JobExtras::NONE`]: a new one changes no other job.
#[derive(Clone, Copy)]
pub struct JobExtras {
    /// The job's own question (`kvtrial query JOB KEY`): the key to get, and how to print the value found as JSON.
    pub query: Option<QueryInfo>,
    /// The originals it can be run as (`--preset`).
    pub presets: &'static [Preset],
    /// Reads a plan file (`--plan`) as parameters, where the job has such a format.
    pub plan: Option<fn(&str) -> Result<PlanFile, JobError>>,
    /// The stores it runs on where the user names none; empty: every embedded store of the build.
    pub stores: &'static [&'static str],
    /// The parameter that says how many records there are; `None` where the input decides.
    pub size: Option<&'static str>,
}

impl JobExtras {
    /// The extras of a job that has none.
    pub const NONE: JobExtras = JobExtras { query: None, presets: &[], plan: None, stores: &[], size: None };
}

/// The contents of a plan file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanFile {
    /// Parameters, as `--set` would give them.
    pub params: Vec<(String, String)>,
    /// The properties that were understood but do not apply here, a sentence each.
    pub notes: Vec<String>,
}

/// The way in which `kvtrial query` asks a store the job's question.
#[derive(Clone, Copy)]
pub struct QueryInfo {
    /// The noun for KEY, e.g. `PAGE`.
    pub key: &'static str,
    /// The kind of data that the job keeps under its keys.
    pub holds: Holds,
    /// Turns the stored value into one line of JSON; `Err` says why the value cannot be the job's.
    pub render: fn(key: &[u8], value: &[u8]) -> Result<String, String>,
}

/// The kind of data that a job keeps under its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// Values.
    Values,
    /// Counters, or on a store that has none numbers as decimal text. `render` gets either as decimal text.
    Counters,
}

/// Input or parameters a job cannot work with. Names the option or the line and column, and the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct JobError(pub String);

impl JobError {
    pub(crate) fn not_shared() -> JobError {
        JobError("one process carries this job out; run it without --workers".into())
    }
}
