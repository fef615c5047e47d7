//! Programs that the user's own npm or Go makes, of parts that files of kvtrial's pin: every version, and its sum. They refuse a part with another
//! sum.

use super::FetchError;
use std::ffi::OsString;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use store::{Bundle, MadeOf, Toolchain, programs};

/// The file for the maker's messages.
const MESSAGES: &str = "messages.txt";

/// The directory in which cargo builds.
const BUILT: &str = "target";

/// The number of lines of messages that are repeated.
const MAX_LINES: usize = 4;

/// Returns the name of the tool that makes the program, and how to get the tool.
fn maker_of(bundle: &Bundle) -> (&'static str, &'static str) {
    match bundle.made_of {
        MadeOf::Go { .. } | MadeOf::Engine { toolchain: Toolchain::Go, .. } => {
            ("go", "install Go 1.21 or later: https://go.dev/doc/install")
        }
        MadeOf::Engine { toolchain: Toolchain::Cargo | Toolchain::CargoAndCmake, .. } => {
            ("cargo", "install Rust: https://rustup.rs")
        }
        MadeOf::Npm { .. } | MadeOf::Maven(_) | MadeOf::Packed { .. } => {
            ("npm", "install it with: apt-get install npm")
        }
    }
}

/// Finds the tool that makes the program, if what the tool needs is here, too.
pub(super) fn maker(bundle: &Bundle) -> Result<PathBuf, FetchError> {
    maker_among(bundle, programs::find)
}

/// The same where `find` finds programs, by their names and by directories besides those of PATH.
fn maker_among(bundle: &Bundle, find: impl Fn(&[&str], &[&str]) -> Option<PathBuf>) -> Result<PathBuf, FetchError> {
    let (maker, install) = maker_of(bundle);
    // Where Go puts itself when it is unpacked as its authors say.
    let found = find(&[maker], &["/usr/local/go/bin"]);
    let no = |maker, install| FetchError::NoMaker { what: bundle.product, maker, install };
    let found = found.ok_or(no(maker, install))?;
    let MadeOf::Engine { toolchain, .. } = bundle.made_of else { return Ok(found) };
    if find(&["cc", "gcc", "clang"], &[]).is_none() {
        return Err(no("a C compiler", "install one with: apt-get install gcc libc6-dev"));
    }
    if toolchain == Toolchain::CargoAndCmake && find(&["cmake"], &[]).is_none() {
        return Err(no("cmake", "install it with: apt-get install cmake"));
    }
    Ok(found)
}

/// Makes the program in this directory.
pub(super) fn make(maker: &Path, bundle: &Bundle, named: Option<&str>, into: &Path) -> Result<(), FetchError> {
    let trouble = |source| FetchError::Io { path: maker.into(), source };
    let at = |name: &str| into.join(name);
    let write =
        |name: &str, text: &str| fs::write(at(name), text).map_err(|source| FetchError::Io { path: at(name), source });
    let mut command = Command::new(maker);
    match bundle.made_of {
        MadeOf::Maven(_) | MadeOf::Packed { .. } => return Ok(()),
        MadeOf::Npm { package, lock, .. } => {
            write("package.json", package)?;
            write("package-lock.json", lock)?;
            // Scripts would build what the packages have built.
            command.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]);
            command.args(named.map(|url| format!("--registry={url}")));
        }
        MadeOf::Go { modules, sums, package, program } => {
            write("go.mod", modules)?;
            write("go.sum", sums)?;
            // A program that is built from its module does not know its version.
            let version = format!("-X main.Version=v{}", bundle.version);
            command.args(["build", "-mod=readonly", "-trimpath", "-ldflags", &version, "-o", program, package]);
            command.envs([("GOWORK", "off"), ("CGO_ENABLED", "0")]);
            command.envs(named.map(|url| ("GOPROXY", OsString::from(url))));
        }
        MadeOf::Engine { toolchain, sources, library, .. } => {
            sources.iter().try_for_each(|(name, text)| write(name, text))?;
            build(&mut command, toolchain, named, library);
        }
    }
    let said = fs::File::create(at(MESSAGES)).map_err(|source| FetchError::Io { path: at(MESSAGES), source })?;
    let mut child = command
        .current_dir(into)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(said)
        // Of its own, so that what it starts can be ended with it.
        .process_group(0)
        .spawn()
        .map_err(trouble)?;
    super::end_of(&mut child, trouble)?;
    let succeeded = child.wait().map_err(trouble)?.success();
    let words = fs::read(at(MESSAGES)).unwrap_or_default();
    if let MadeOf::Engine { library, .. } = bundle.made_of {
        // Where cargo leaves a library; what it built it from takes much room.
        let _ = fs::rename(at(BUILT).join("release/libengine.so"), at(library));
        let _ = fs::remove_dir_all(at(BUILT));
    }
    if succeeded && bundle.is_whole(into) {
        let _ = fs::remove_file(at(MESSAGES));
        return Ok(());
    }
    Err(FetchError::NotMade { what: bundle.product, maker: maker_of(bundle).0, words: reason(&words) })
}

/// Says how the library of an engine is built where its sources are.
fn build(command: &mut Command, toolchain: Toolchain, named: Option<&str>, library: &str) {
    match toolchain {
        Toolchain::Go => {
            command.args(["build", "-mod=readonly", "-trimpath", "-buildmode=c-shared", "-o", library, "."]);
            command.envs([("GOWORK", "off"), ("CGO_ENABLED", "1")]);
            command.envs(named.map(|url| ("GOPROXY", OsString::from(url))));
        }
        Toolchain::Cargo | Toolchain::CargoAndCmake => {
            command.args(["build", "--locked", "--release", "--quiet", "--target-dir", BUILT]);
            if let Some(url) = named {
                command.args(["--config", "source.crates-io.replace-with='named'"]);
                command.args(["--config", &format!("source.named.registry='{url}'")]);
            }
        }
    }
}

/// Returns the first lines that are no progress, as one line.
fn reason(words: &[u8]) -> String {
    let text = String::from_utf8_lossy(words);
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("go: downloading "));
    let lines: Vec<&str> = lines.take(MAX_LINES).collect();
    if lines.is_empty() {
        return "it did not say why".into();
    }
    study::visible(&lines.join("; ")).into_owned()
}

#[cfg(test)]
mod tests {
    use super::{maker_among, reason};
    use std::path::PathBuf;
    use store::{Bundle, MadeOf, Toolchain};

    #[test]
    fn an_engine_that_needs_cmake_names_what_is_missing_and_the_line_that_installs_it() {
        let needs = |toolchain, here: &[&str]| {
            let made_of = MadeOf::Engine { toolchain, sources: &[], sums: "", library: "engine.so" };
            let bundle = Bundle { store: "one", product: "One", version: "1.0", licence: "MIT", made_of };
            let find = |names: &[&str], _: &[&str]| {
                names.iter().find(|name| here.contains(name)).map(|name| PathBuf::from(*name))
            };
            maker_among(&bundle, find).map_err(|error| error.to_string())
        };
        let (plain, with_cmake) = (Toolchain::Cargo, Toolchain::CargoAndCmake);
        let said = needs(with_cmake, &["cargo", "cc"]).unwrap_err();
        assert_eq!(said, "One needs cmake, which was not found; install it with: apt-get install cmake");
        assert_eq!(needs(with_cmake, &["cargo", "cc", "cmake"]), Ok("cargo".into()));
        assert_eq!(needs(plain, &["cargo", "cc"]), Ok("cargo".into()));
        // What comes first is said first.
        assert!(needs(with_cmake, &["cc"]).unwrap_err().contains("needs cargo"));
        assert!(needs(with_cmake, &["cargo"]).unwrap_err().contains("needs a C compiler"));
    }

    #[test]
    fn what_is_repeated_is_why_and_not_what_was_downloaded_before() {
        let words =
            b"go: downloading a v1\n\nverifying a@v1: checksum mismatch\n\tdownloaded: h1:b=\n\tgo.sum: h1:c=\n";
        assert_eq!(reason(words), "verifying a@v1: checksum mismatch; downloaded: h1:b=; go.sum: h1:c=");
        assert_eq!(reason(b"go: downloading a v1\n"), "it did not say why");
    }
}
