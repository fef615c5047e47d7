//! Studies, found below directories.

use archive::DirectoryError;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use study::Study;

/// The directories below a named one that are looked into.
const DEPTH: usize = 4;

/// A study that is published.
#[derive(Debug)]
pub struct Published {
    /// The name of its directory, made unique: part of addresses of pages.
    pub id: String,
    /// Its directory.
    pub directory: PathBuf,
    /// The study.
    pub study: Study,
}

/// All studies of a site.
#[derive(Debug, Default)]
pub struct Collection {
    /// The studies, oldest first.
    pub studies: Vec<Published>,
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
        let mut studies = Vec::new();
        let mut ids = BTreeSet::new();
        let mut seen = BTreeSet::new();
        for directory in directories {
            let mut found = Vec::new();
            find(directory, DEPTH, &mut found);
            if found.is_empty() {
                return Err(SiteError::None(directory.display().to_string()));
            }
            found.retain(|path| seen.insert(path.canonicalize().unwrap_or_else(|_| path.clone())));
            for path in found {
                let study = archive::read_study(&path)?;
                studies.push(Published { id: unique(&path, &mut ids), directory: path, study });
            }
        }
        studies.sort_by(|a, b| a.study.started_at.cmp(&b.study.started_at).then_with(|| a.id.cmp(&b.id)));
        Ok(Collection { studies })
    }
}

/// Finds directories with a study, in order of their names.
fn find(directory: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    if directory.join("study.json").is_file() {
        found.push(directory.to_owned());
        return;
    }
    let mut below: Vec<PathBuf> =
        std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    below.sort();
    if depth > 0 {
        below.iter().filter(|path| path.is_dir()).for_each(|path| find(path, depth - 1, found));
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
