//! The directory that studies are added to.

use crate::mark::Verification;
use archive::{DirectoryError, PACKED};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use study::Study;

/// Where studies lie in a repository.
const STUDIES: &str = "studies";

/// A directory with published studies: the work tree of a git repository.
#[derive(Clone, Debug)]
pub struct Repository {
    root: PathBuf,
}

/// What adding a study came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// It is new.
    New,
    /// It was there with other contents, such as fewer trials, and is replaced. What was known of it is gone.
    Replaced,
    /// It was there already, and nothing was changed.
    Already,
}

/// Why a study cannot be added, or verified.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// There is no repository.
    #[error("{}: this is no git repository, nor in one. Name the directory of one, or make one: git init {}", .0.display(), .0.display())]
    NoRepository(PathBuf),
    /// A study cannot be read or written.
    #[error(transparent)]
    Study(#[from] DirectoryError),
    /// There is no published study.
    #[error("{}: there is no study in it or below it. Name a directory that kvtrial publish --to has made", .0.display())]
    None(PathBuf),
}

impl Repository {
    /// Returns the repository at a directory, which is the root of one, or in one.
    ///
    /// # Errors
    /// There is none.
    pub fn at(root: &Path) -> Result<Repository, PublishError> {
        let whole = root.canonicalize().map_err(|_| PublishError::NoRepository(root.to_owned()))?;
        // A work tree of its own, or a submodule, has a file of that name.
        match whole.ancestors().any(|directory| directory.join(".git").exists()) {
            true => Ok(Repository { root: root.to_owned() }),
            false => Err(PublishError::NoRepository(root.to_owned())),
        }
    }

    /// Returns the directory of a study, whether it is there or not.
    pub fn directory_of(&self, study: &Study) -> PathBuf {
        self.root.join(STUDIES).join(name(study))
    }

    /// Adds a study as it is. Only files are written: nothing is staged or committed.
    ///
    /// # Errors
    /// It could not be written.
    pub fn add(&self, study: &Study) -> Result<Added, PublishError> {
        let directory = self.directory_of(study);
        let unusable = |source| DirectoryError::Unusable { path: directory.clone(), source };
        let packed = archive::pack_study(study).map_err(unusable)?;
        let added = match std::fs::read(directory.join(PACKED)) {
            Ok(known) if known == packed => return Ok(Added::Already),
            Ok(_) => Added::Replaced,
            Err(_) => Added::New,
        };
        archive::save_packed_study(&directory, study)?;
        Ok(added)
    }
}

/// Returns the name of a study's directory: the same for the same study, also when it has more trials later.
fn name(study: &Study) -> String {
    let mut jobs: Vec<&str> = study.cells.iter().map(|cell| cell.job.as_str()).collect();
    jobs.dedup();
    let job = jobs.first().copied().unwrap_or("study");
    let is_plain = |letter: &char| letter.is_ascii_alphanumeric() || *letter == '-';
    let job: String = job.chars().filter(is_plain).collect();
    let host = &study.host;
    let identity =
        format!("{}\n{}\n{}\n{}\n{}", study.started_at, study.seed, study.command.join("\0"), host.cpu, host.kernel);
    let digest = sha256(identity.as_bytes());
    format!("{}-{job}-{}", study.started_at.get(..10).unwrap_or("undated"), &digest[..10])
}

/// Returns what is known of a study beside what it says itself: of one that is not packed, or was changed since, nothing.
pub fn verification_of(directory: &Path) -> Verification {
    let packed = std::fs::read(directory.join(PACKED));
    let known = packed.ok().and_then(|packed| Verification::beside(directory, &sha256(&packed)));
    known.unwrap_or_default()
}

/// Returns the digest of a published study, which its verification is of.
///
/// # Errors
/// There is none.
pub fn digest_of(directory: &Path) -> Result<String, PublishError> {
    let packed = std::fs::read(directory.join(PACKED)).map_err(|_| PublishError::None(directory.to_owned()))?;
    Ok(sha256(&packed))
}

/// Returns the digest of some bytes, as digits.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
