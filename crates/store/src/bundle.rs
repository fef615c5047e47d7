//! Programs that are sets of files of a Maven repository, each pinned by its sha256: what they are and where they lie.
//!
//! `kvtrial fetch-store` gets them (the crate `host` does the work); adapters only look whether they are there.

use std::env;
use std::path::{Path, PathBuf};

/// A store's program: files of a Maven repository, kept in the user's cache.
#[derive(Clone, Copy, Debug)]
pub struct Bundle {
    /// The store it is the program of.
    pub store: &'static str,
    /// What it is called.
    pub product: &'static str,
    /// Its version.
    pub version: &'static str,
    /// Its licence; its libraries have theirs.
    pub licence: &'static str,
    /// A line for each file: its path in the repository, its size in bytes, its sha256 in hexadecimal digits.
    pub list: &'static str,
}

/// One file of a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BundleFile {
    /// Its path in a Maven repository.
    pub path: &'static str,
    /// Its size.
    pub bytes: u64,
    /// Its sha256, 64 hexadecimal digits.
    pub sha256: &'static str,
}

impl BundleFile {
    /// Its name, under which it lies in the bundle's directory.
    pub fn name(&self) -> &'static str {
        self.path.rsplit('/').next().unwrap_or(self.path)
    }
}

impl Bundle {
    /// Its files.
    pub fn files(&self) -> impl Iterator<Item = BundleFile> {
        self.list.lines().filter_map(|line| {
            let mut words = line.split(' ');
            Some(BundleFile { path: words.next()?, bytes: words.next()?.parse().ok()?, sha256: words.next()? })
        })
    }

    /// What all its files take.
    pub fn bytes(&self) -> u64 {
        self.files().map(|file| file.bytes).sum()
    }

    /// Where it is kept once it is fetched: `kvtrial/stores/NAME-VERSION` of the user's cache. `None`: neither `XDG_CACHE_HOME` nor `HOME` is set.
    pub fn directory(&self) -> Option<PathBuf> {
        Some(cache()?.join("kvtrial/stores").join(format!("{}-{}", self.store, self.version)))
    }

    /// Where it lies, if it is there. A directory of that name was checked file by file before it got it; that none has gone or been
    /// cut off since is seen from the sizes.
    pub fn found(&self) -> Option<PathBuf> {
        self.directory().filter(|directory| self.is_whole(directory))
    }

    /// Whether all its files are in a directory, by their sizes.
    pub fn is_whole(&self, directory: &Path) -> bool {
        let size = |file: &BundleFile| directory.join(file.name()).metadata().map(|found| found.len());
        self.files().all(|file| size(&file).is_ok_and(|bytes| bytes == file.bytes))
    }
}

/// The user's cache directory.
fn cache() -> Option<PathBuf> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    // A relative XDG_CACHE_HOME is to be ignored (XDG Base Directory Specification).
    set("XDG_CACHE_HOME").filter(|path| path.is_absolute()).or_else(|| Some(set("HOME")?.join(".cache")))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{Bundle, BundleFile};

    const TWO: Bundle = Bundle {
        store: "two",
        product: "Two",
        version: "1.0",
        licence: "MIT",
        list: "a/one/1/one-1.jar 3 aa\na/two/2/two-2.jar 5 bb\n",
    };

    #[test]
    fn a_bundle_is_whole_when_each_of_its_files_is_there_in_its_size() {
        let files: Vec<BundleFile> = TWO.files().collect();
        assert_eq!(files[1], BundleFile { path: "a/two/2/two-2.jar", bytes: 5, sha256: "bb" });
        assert_eq!((files[0].name(), TWO.bytes()), ("one-1.jar", 8));
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(directory.path().join(name), text).unwrap();
        write("one-1.jar", "one");
        assert!(!TWO.is_whole(directory.path()), "one is missing");
        write("two-2.jar", "two");
        assert!(!TWO.is_whole(directory.path()), "one is cut off");
        write("two-2.jar", "two 2");
        assert!(TWO.is_whole(directory.path()));
    }
}
