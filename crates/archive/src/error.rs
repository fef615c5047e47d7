//! What can be wrong with a study directory, and the remedy.

use std::io;
use std::path::PathBuf;

/// Why a study could not be created, resumed, read or written. Every message names the remedy.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// The directory cannot be made or written to.
    #[error(
        "cannot use {} for the study: {}. Choose a directory you may write to with --out",
        path.display(),
        if path.is_file() { "it is a file".to_owned() } else { source.to_string() }
    )]
    Unusable {
        /// The directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// There is a study already.
    #[error(
        "{} already holds a study ({held}). Continue it with --resume, or choose another directory with --out",
        path.display()
    )]
    Occupied {
        /// The directory.
        path: PathBuf,
        /// A description of the study there.
        held: String,
    },
    /// There is nothing to resume or to read.
    #[error("there is no study in {}: neither study.json nor trials.jsonl. Name the directory a study was written to", path.display())]
    Absent {
        /// The directory.
        path: PathBuf,
    },
    /// The study in the directory has another plan.
    #[error(
        "the study in {} was started with another plan: {}. Repeat that command (it is in study.json), or \
         start a new study in another directory with --out",
        path.display(), differences.join("; ")
    )]
    OtherPlan {
        /// The directory.
        path: PathBuf,
        /// Each difference, `what: there, here`.
        differences: Vec<String>,
    },
    /// A file cannot be understood.
    #[error("{} is damaged: {detail}. Nothing was changed. {remedy}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The place and kind of the damage.
        detail: String,
        /// The remedy.
        remedy: String,
    },
    /// The file is of a later schema.
    #[error("{} has schema {found}, written by a newer kvtrial; this one reads up to {known}. Update kvtrial", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// The schema of that study.
        found: u32,
        /// The newest schema this build reads.
        known: u32,
    },
    /// The file is JSON, but of something else.
    #[error("{} is not a study: it has no schema number. Name the directory a study was written to, or its study.json", path.display())]
    NotAStudy {
        /// The file.
        path: PathBuf,
    },
    /// Journal and document belong to different studies.
    #[error(
        "{} holds two studies: trials.jsonl belongs to the one begun {journal}, study.json to the one begun {document}. Nothing was \
         changed. Move one of the two files to a directory of its own",
        path.display()
    )]
    Mixed {
        /// The directory.
        path: PathBuf,
        /// The start of the journal's study.
        journal: String,
        /// The start of the document's study.
        document: String,
    },
    /// Another process writes there.
    #[error("another kvtrial is writing the study in {}. Wait for it to end, or choose another directory with --out", path.display())]
    Busy {
        /// The directory.
        path: PathBuf,
    },
    /// Reading failed.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Writing failed midway.
    #[error(
        "cannot write {}: {source}. The trials recorded so far are safe: free some space or fix the permissions, then continue with \
         --resume",
        path.display()
    )]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}
