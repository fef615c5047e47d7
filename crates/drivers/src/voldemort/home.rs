//! A Voldemort that was built on this machine: its script, and the files beside it.

use super::{INSTALL, SERVER_PROGRAM};
use ground::jvm;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use store::{Availability, StoreError, programs};
use study::Spec;

/// The script that starts a server. kvtrial runs the script's command itself, so that there is one process.
const PROGRAM: &str = "voldemort-server.sh";

/// The variable that names the script.
const NAMED: &str = "KVTRIAL_VOLDEMORT";

/// The newest Java that has a security manager.
pub(super) const NEWEST_JAVA: u32 = 23;

/// The directory of a build.
pub(super) struct Home {
    directory: PathBuf,
    version: String,
}

impl Home {
    /// Returns the build that a spec means.
    ///
    /// # Errors
    /// It is not there: how to get it.
    pub(super) fn of(spec: &Spec) -> Result<Home, StoreError> {
        let not_found = |what: String| StoreError::NotFound { store: spec.name.clone(), what, install: INSTALL.into() };
        let named = SERVER_PROGRAM.asked(spec).map(PathBuf::from);
        let named = named.or_else(|| std::env::var_os(NAMED).map(PathBuf::from));
        let script = match &named {
            Some(path) => path.canonicalize().ok().filter(|path| path.is_file()),
            None => programs::find(&[PROGRAM], &[]).and_then(|path| path.canonicalize().ok()),
        };
        let missing = || named.as_ref().map_or(PROGRAM.to_owned(), |path| path.display().to_string());
        let script = script.ok_or_else(|| not_found(missing()))?;
        let directory = script.parent().and_then(Path::parent).unwrap_or(Path::new("/")).to_owned();
        let version = version(&directory)
            .ok_or_else(|| not_found(format!("dist/voldemort-VERSION.jar beside {}", script.display())))?;
        Ok(Home { directory, version })
    }

    /// Returns the version, from the name of the jar.
    pub(super) fn version(&self) -> &str {
        &self.version
    }

    /// Returns the class path: the build's classes, and the classes of its libraries.
    pub(super) fn class_path(&self) -> OsString {
        let mut classes = self.directory.join("dist/*").into_os_string();
        classes.push(":");
        classes.push(self.directory.join("lib/*"));
        classes
    }
}

/// Returns the version from `dist/voldemort-1.3.0.jar`. There may be a jar of contributions beside it.
fn version(directory: &Path) -> Option<String> {
    let files = std::fs::read_dir(directory.join("dist")).ok()?.flatten();
    let of_file = |name: OsString| {
        let version = name.to_str()?.strip_prefix("voldemort-")?.strip_suffix(".jar")?;
        version.starts_with(|first: char| first.is_ascii_digit()).then(|| version.to_owned())
    };
    files.filter_map(|file| of_file(file.file_name())).max()
}

/// Returns whether a build and a Java for it are here.
pub(super) fn probe() -> Availability {
    match Home::of(&Spec::private("voldemort")) {
        Err(StoreError::NotFound { what, .. }) => Availability::NotFound(what),
        Err(error) => Availability::NotFound(error.to_string()),
        Ok(home) => match jvm::java_to(NEWEST_JAVA) {
            Some(_) => Availability::Found(format!("Voldemort {}", home.version())),
            None => Availability::NotFound(jvm::missing_to(NEWEST_JAVA)),
        },
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{Home, SERVER_PROGRAM, version};
    use study::Spec;

    #[test]
    fn a_build_is_known_by_its_jar() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(version(directory.path()), None);
        std::fs::create_dir_all(directory.path().join("dist")).unwrap();
        for name in ["voldemort-1.3.0.jar", "voldemort-contrib-1.3.0.jar", "voldemort-1.3.0-src.tgz"] {
            std::fs::write(directory.path().join("dist").join(name), "").unwrap();
        }
        assert_eq!(version(directory.path()).unwrap(), "1.3.0");
    }

    #[test]
    fn a_script_without_its_build_is_named_with_what_is_missing() {
        let directory = tempfile::tempdir().unwrap();
        let script = directory.path().join("bin/voldemort-server.sh");
        let refused = || {
            let mut spec = Spec::private("voldemort");
            spec.options.insert(SERVER_PROGRAM.name.into(), script.display().to_string());
            Home::of(&spec).map(drop).unwrap_err().to_string()
        };
        assert!(refused().contains("bin/voldemort-server.sh") && refused().contains("KVTRIAL_VOLDEMORT"));
        std::fs::create_dir_all(script.parent().unwrap()).unwrap();
        std::fs::write(&script, "").unwrap();
        assert!(refused().contains("dist/voldemort-VERSION.jar beside"), "{}", refused());
    }
}
