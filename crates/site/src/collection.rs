//! Studies, found below directories.

use crate::parallel::each_in_parallel;
use archive::DirectoryError;
use publish::Verification;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use study::Study;

/// A study that is published.
#[derive(Debug)]
pub struct Published {
    /// The name of its directory, made unique: part of addresses of pages.
    pub id: String,
    /// Its directory.
    pub directory: PathBuf,
    /// The study.
    pub study: Study,
    /// Whether it was made again.
    pub verification: Verification,
}

/// All studies of a site.
#[derive(Debug, Default)]
pub struct Collection {
    /// The studies, oldest first.
    pub studies: Vec<Published>,
    /// What each job does, in a line, as far as it is known.
    pub jobs: BTreeMap<String, String>,
}

/// Why studies cannot be read, or pages not be written.
#[derive(Debug, thiserror::Error)]
pub enum SiteError {
    /// A study is damaged, or newer than this build reads.
    #[error(transparent)]
    Study(#[from] DirectoryError),
    /// There is none.
    #[error("{0}: there is no study in it or below it; name directories with a study.json, as kvtrial run writes them")]
    None(String),
    /// A page cannot be written.
    #[error("{path}: {source}. Name a directory that you may write")]
    Write {
        /// The page.
        path: String,
        /// The system's words.
        source: std::io::Error,
    },
}

impl Collection {
    /// Reads the studies in and below these directories.
    ///
    /// # Errors
    /// One holds none; a study is damaged, or newer than this build reads.
    pub fn read(directories: &[PathBuf]) -> Result<Collection, SiteError> {
        let mut paths = Vec::new();
        let mut ids = BTreeSet::new();
        let mut seen = BTreeSet::new();
        for directory in directories {
            let mut found = archive::studies_below(directory);
            if found.is_empty() {
                return Err(SiteError::None(directory.display().to_string()));
            }
            found.retain(|path| seen.insert(path.canonicalize().unwrap_or_else(|_| path.clone())));
            paths.extend(found.into_iter().map(|path| (unique(&path, &mut ids), path)));
        }
        let read = |(id, path): &(String, PathBuf)| -> Result<Published, SiteError> {
            let verification = publish::verification_of(path);
            Ok(Published { id: id.clone(), directory: path.clone(), study: archive::read_study(path)?, verification })
        };
        let mut studies: Vec<Published> = each_in_parallel(&paths, read).into_iter().collect::<Result<_, _>>()?;
        studies.sort_by(|a, b| a.study.started_at.cmp(&b.study.started_at).then_with(|| a.id.cmp(&b.id)));
        Ok(Collection { studies, jobs: BTreeMap::new() })
    }
}

/// The name of a directory in letters that every address may have, with a number where it is taken.
fn unique(path: &Path, ids: &mut BTreeSet<String>) -> String {
    let name = path.file_name().map_or("study".into(), |name| name.to_string_lossy().into_owned());
    let plain = plain(&name);
    let numbered = (2..).map(|number| format!("{plain}-{number}"));
    let mut names = std::iter::once(plain.clone()).chain(numbered);
    let id = names.find(|name| !ids.contains(name)).unwrap_or(plain);
    ids.insert(id.clone());
    id
}

/// Returns a name in letters, digits, dots and dashes only.
pub fn plain(name: &str) -> String {
    let kept = |letter: char| if letter.is_ascii_alphanumeric() || ".-_".contains(letter) { letter } else { '-' };
    let name: String = name.chars().map(kept).collect();
    if name.trim_matches('.').is_empty() { "study".into() } else { name }
}
