//! What is known of a published study beside what it says itself.

use archive::DirectoryError;
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::Path;

/// The file beside a published study that says whether it was made again.
pub const VERIFICATION: &str = "verified.json";

/// Whether a study could be made again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StudyMark {
    /// Nobody has, or what could be compared says too little.
    #[default]
    AsSubmitted,
    /// It was made again and came out the same.
    Reproduced,
    /// It was made again and came out otherwise.
    Differs,
}

impl StudyMark {
    /// Returns the words of pages and of the terminal.
    pub fn words(self) -> &'static str {
        match self {
            StudyMark::AsSubmitted => "as submitted",
            StudyMark::Reproduced => "reproduced here",
            StudyMark::Differs => "differs here",
        }
    }
}

/// What came of making a study again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Verification {
    /// The mark.
    pub mark: StudyMark,
    /// The digest of the `study.json.xz` it is of: a mark of another one says nothing.
    pub study_sha256: String,
    /// RFC 3339, UTC.
    pub verified_at: String,
    /// Version of kvtrial that made it again.
    pub kvtrial: String,
    /// The machine it was made again on.
    pub machine: String,
    /// The command that did.
    pub command: Vec<String>,
    /// What came out the same, a sentence each.
    pub same: Vec<String>,
    /// What came out otherwise.
    pub differs: Vec<String>,
    /// What could not be compared, and why.
    pub not_compared: Vec<String>,
}

impl Verification {
    /// Reads the verification beside a published study; what is of another study, or cannot be read, is none.
    pub fn beside(directory: &Path, study_sha256: &str) -> Option<Verification> {
        let text = std::fs::read(directory.join(VERIFICATION)).ok()?;
        let known: Verification = serde_json::from_slice(&text).ok()?;
        (known.study_sha256 == study_sha256).then_some(known)
    }

    /// Writes it beside the study.
    ///
    /// # Errors
    /// It could not be written.
    pub fn save(&self, directory: &Path) -> Result<(), DirectoryError> {
        let unusable = |source| DirectoryError::Unusable { path: directory.to_owned(), source };
        let text = archive::json(self).map_err(unusable)?;
        archive::replace_file(&directory.join(VERIFICATION), |file| file.write_all(text.as_bytes())).map_err(unusable)
    }
}
