//! The latest result of this build on this machine, kept for the studies that follow: `kvtrial/selftest.json` in the user's cache
//! directory (`XDG_CACHE_HOME`, else `~/.cache`).

use serde::Serialize;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use study::Selftest;

const FILE: &str = "selftest.json";

/// The identity that a result holds for: one build of kvtrial on one machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    build: String,
    machine: String,
}

impl Identity {
    /// Makes the identity of this process: the version, size and date of its program; the machine's processor, number of processors and
    /// kernel.
    pub fn here(version: &str) -> Identity {
        let program = std::env::current_exe().and_then(fs::metadata);
        let built = program.map_or_else(
            |_| "unknown program".into(),
            |file| {
                let date = file.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
                format!("{} bytes of {}", file.len(), study::rfc3339(date.unwrap_or_default().as_secs()))
            },
        );
        let host = host::facts(&host::default_base());
        Identity {
            build: format!("kvtrial {version}, {built}"),
            machine: format!("{}, {} processors, {}", host.cpu, host.cpus, host.kernel),
        }
    }

    /// Returns the machine: what crashes show holds for it alone.
    pub fn machine(&self) -> &str {
        &self.machine
    }

    /// Returns an empty result of this identity, made now.
    pub(crate) fn result(&self, scope: &str) -> Selftest {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        Selftest {
            scope: scope.into(),
            checked_at: study::rfc3339(now),
            build: self.build.clone(),
            machine: self.machine.clone(),
            ..Selftest::default()
        }
    }
}

/// Returns a file of kvtrial's below the user's cache directory.
pub(crate) fn path(name: &str) -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    // A relative XDG_CACHE_HOME is to be ignored (XDG Base Directory Specification).
    let cache =
        set("XDG_CACHE_HOME").filter(|path| path.is_absolute()).or_else(|| Some(set("HOME")?.join(".cache")))?;
    Some(cache.join("kvtrial").join(name))
}

/// Returns the latest result of this identity, if there is one.
pub fn recall(identity: &Identity) -> Option<Selftest> {
    recall_from(&path(FILE)?, identity)
}

fn recall_from(path: &Path, identity: &Identity) -> Option<Selftest> {
    let found: Selftest = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    (found.build == identity.build && found.machine == identity.machine).then_some(found)
}

/// Keeps a result, in the place of any other; says where.
///
/// # Errors
/// There is no cache directory, or it cannot be written to. Nothing but the memory of the result is lost.
pub fn remember(result: &Selftest) -> io::Result<PathBuf> {
    let path = path(FILE).ok_or_else(nowhere)?;
    keep(&path, result)?;
    Ok(path)
}

/// Makes the error that there is no cache directory.
pub(crate) fn nowhere() -> io::Error {
    io::Error::other("neither XDG_CACHE_HOME nor HOME is set")
}

/// Writes a file whole, in the place of any other.
pub(crate) fn keep<T: Serialize>(path: &Path, what: &T) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    // Written beside and renamed, so that a reader sees a whole result.
    let fresh = path.with_extension(format!("json.{}", std::process::id()));
    // Not through a link somebody laid where others may write.
    drop(fs::remove_file(&fresh));
    File::options().write(true).create_new(true).open(&fresh)?.write_all(&serde_json::to_vec_pretty(what)?)?;
    fs::rename(&fresh, path)
}

#[cfg(test)]
mod tests {
    use super::{Identity, keep, recall_from};

    #[test]
    fn a_result_is_recalled_for_the_same_build_and_machine_only() {
        let directory = std::env::temp_dir().join(format!("kvtrial-selftest-cache-{}", std::process::id()));
        let path = directory.join("deep/selftest.json");
        let here = Identity { build: "kvtrial 1".into(), machine: "this".into() };
        assert_eq!(recall_from(&path, &here), None);
        let result = here.result("full");
        keep(&path, &result).unwrap();
        assert_eq!(recall_from(&path, &here), Some(result));
        assert_eq!(recall_from(&path, &Identity { build: "kvtrial 2".into(), ..here.clone() }), None);
        assert_eq!(recall_from(&path, &Identity { machine: "that".into(), ..here.clone() }), None);
        std::fs::write(&path, "{").unwrap();
        assert_eq!(recall_from(&path, &here), None);
        std::fs::remove_dir_all(directory).unwrap();
    }
}
