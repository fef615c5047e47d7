//! Why a study, or another task, could not go on.

use crate::message::Refusal;
use store::StoreError;
use study::{Reason, ReasonKind};

/// Why a study could not go on.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A store could not be opened the first time it was needed.
    #[error("{0}")]
    Store(StoreError),
    /// The job cannot be done on a store.
    #[error("{store}: {problem}")]
    Unsuited {
        /// The store's spec.
        store: String,
        /// Why, and what to set instead.
        problem: String,
    },
    /// The user's store holds keys the job would overwrite.
    #[error(
        "{store} already holds {} of the job's keys ({example}). Use an empty database, or --overwrite to delete those keys first",
        study::whole(*count)
    )]
    ForeignData {
        /// The store's spec.
        store: String,
        /// The number of keys.
        count: u64,
        /// The first.
        example: String,
    },
    /// The job's input cannot be read any more.
    #[error("{0}")]
    Job(#[from] jobkit::JobError),
    /// A trial could not be recorded.
    #[error("{0}")]
    Record(String),
    /// A question has no answer in this store.
    #[error("{0}")]
    Answer(String),
    /// The store, or the process it was opened in, died or no longer answered.
    #[error("{store}: {}: {}", reason.kind.name(), reason.example)]
    Broken {
        /// The store's spec.
        store: String,
        /// The reason.
        reason: Reason,
    },
}

impl Refusal {
    /// Returns the error this refusal is, with the name of this store.
    pub(crate) fn error(self, store: String) -> RunError {
        match self {
            Refusal::Store(words) | Refusal::Keys(words) => RunError::Store(StoreError::Session(words)),
            Refusal::Job(words) => RunError::Job(jobkit::JobError(words)),
            Refusal::Unsuited(problem) => RunError::Unsuited { store, problem },
            Refusal::Answer(words) => RunError::Answer(words),
            Refusal::ForeignData { count, example } => RunError::ForeignData { store, count, example },
        }
    }
}

impl RunError {
    /// Returns whether a store is at fault as it is here and now, and not what the user wrote.
    pub fn is_of_here(&self) -> bool {
        use StoreError::{Io, NotBuilt, NotFound, NotStarted, Open, PortTaken, Session};
        let RunError::Store(error) = self else { return false };
        let is_absent = matches!(error, NotFound { .. } | NotBuilt { .. });
        is_absent || matches!(error, NotStarted { .. } | PortTaken { .. } | Open { .. } | Session(_) | Io { .. })
    }

    /// Returns why the cell it happened to was not run.
    pub fn reason(&self) -> Reason {
        let (kind, count, example) = match self {
            RunError::Store(error) => (ReasonKind::NotStarted, 1, error.to_string()),
            RunError::Unsuited { problem, .. } => (ReasonKind::Unsuited, 1, problem.clone()),
            RunError::ForeignData { count, example, .. } => (ReasonKind::KeysFound, *count, example.clone()),
            RunError::Broken { reason, .. } => return reason.clone(),
            RunError::Job(_) | RunError::Record(_) | RunError::Answer(_) => {
                (ReasonKind::StudyStopped, 1, self.to_string())
            }
        };
        Reason { kind, count, example }
    }
}
