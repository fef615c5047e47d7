//! What a worker has to know of a trial.

use data::sent::FileLabel;
use engine::Settings;
use host::Location;
use jobkit::{JobError, JobInfo, Params};
use script::ScriptFile;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use study::Spec;

/// All a worker has to know of a trial, or of another task with a job in it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Assignment {
    /// Name of the job.
    pub(crate) job: String,
    /// The script that it is, if it is one: no file of it is needed where the worker is.
    pub(crate) script: Option<ScriptFile>,
    /// Its input.
    pub(crate) data: Option<String>,
    /// The file that the input is, where it is sent: it need not be where the worker is.
    pub(crate) file: Option<FileLabel>,
    /// Its parameters.
    pub(crate) params: Params,
    /// Seed of every random choice.
    pub(crate) seed: u64,
    /// The store.
    pub(crate) spec: Spec,
    /// Where it is.
    pub(crate) location: Location,
    /// How phases are driven.
    pub(crate) settings: Settings,
    /// What is done about the job's keys first, in a store of the user's.
    pub(crate) keys: Option<Keys>,
    /// Who changes the nodes in the phase that the job names.
    pub(crate) changed_by: ChangedBy,
    /// How what clients see is recorded; `None`: it is not.
    pub(crate) history: Option<HistoryWish>,
}

impl Assignment {
    /// Returns the job.
    ///
    /// # Errors
    /// This build does not know it, or the script is not what was sent.
    pub(crate) fn job_info(&self) -> Result<&'static JobInfo, JobError> {
        if let Some(file) = &self.script {
            return script::take(file);
        }
        script::find(&self.job)?
            .ok_or_else(|| JobError(format!("this build of kvtrial does not know the job {}", self.job)))
    }
}

/// How a history is recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HistoryWish {
    /// Where what does not fit into memory goes.
    pub(crate) directory: PathBuf,
    /// The file that it is written to, for others to read.
    pub(crate) file: Option<PathBuf>,
}

/// The one who changes the nodes of a store while a trial runs, where its job asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ChangedBy {
    /// Nobody, or the store's own layer.
    Worker,
    /// kvtrial, which says when it is done.
    Kvtrial,
}

/// The keys of earlier or later trials in a store of the user's, and what is done about them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Keys {
    pub(crate) action: Action,
    /// The parameters of the trials whose keys they are.
    pub(crate) params: Vec<Params>,
}

/// The action on such keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Action {
    /// Every key must be absent: what is there may be the user's.
    Look,
    /// Every key is deleted: what is there is an earlier trial's, or the user said it may go.
    Delete,
}
