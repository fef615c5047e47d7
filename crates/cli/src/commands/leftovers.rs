//! Keys that an earlier run of kvtrial's left in a store of the user's, by the studies that say so.

use crate::failure::CommandFailure;
use crate::output::shell_word;
use runner::{RunError, place_of};
use std::path::{Path, PathBuf};
use study::Spec;

/// Directories that are looked into, at most: those beside the study's.
const MOST_DIRECTORIES: usize = 500;
/// The largest study that is read for it.
const MOST_BYTES: u64 = 64 << 20;

/// Returns what ended a study, with the line that deletes kvtrial's own keys where these are in the way.
pub fn named(error: RunError, out: &Path) -> CommandFailure {
    let RunError::ForeignData { store, .. } = &error else { return CommandFailure::of(error) };
    let place = store.parse::<Spec>().map(|spec| place_of(&spec)).unwrap_or_default();
    let studies: Vec<String> =
        left_by(&place, out).iter().map(|path| shell_word(&path.display().to_string())).collect();
    CommandFailure::usage(match studies.as_slice() {
        [] => error.to_string(),
        [study] => {
            format!("{error}\nThey are what the run in {study} left there. To delete them: kvtrial clear {study}")
        }
        studies => {
            let lines: String = studies.iter().map(|study| format!("\nkvtrial clear {study}")).collect();
            format!("{error}\nRuns of kvtrial left keys there. To delete them:{lines}")
        }
    })
}

/// The studies beside this one that say they left something in a store.
fn left_by(place: &str, out: &Path) -> Vec<PathBuf> {
    let beside = out.parent().filter(|parent| !parent.as_os_str().is_empty());
    let mut places = vec![Path::new(".")];
    places.extend(beside);
    let mut found: Vec<PathBuf> = places.into_iter().flat_map(directories).filter(|path| says(path, place)).collect();
    found.sort();
    found.dedup();
    found
}

fn directories(within: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(within).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path()).filter(|path| path.is_dir()).take(MOST_DIRECTORIES);
    paths.map(|path| path.strip_prefix("./").map(Path::to_owned).unwrap_or(path)).collect()
}

fn says(directory: &Path, place: &str) -> bool {
    let is_small = std::fs::metadata(directory.join("study.json")).is_ok_and(|file| file.len() <= MOST_BYTES);
    is_small && archive::read_figures(directory).is_ok_and(|study| study.left.iter().any(|left| left.store == place))
}
