//! Runs the binary as a user would, in an empty directory.
#![allow(dead_code)] // each test file uses its part
#![allow(clippy::unwrap_used)]

pub mod redis;

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use store::{Availability, Bundle, Keeps, Opener, StoreInfo};
use study::Spec;

/// An empty working directory for one test.
pub struct Desk {
    directory: tempfile::TempDir,
}

/// The words that run `job` on one store, once.
pub fn once(job: &str, store: &str, more: &[&str]) -> String {
    format!("{job} -s {store} --no-baselines --repeats 1 --warmups 0 {}", more.join(" "))
}

/// Runs `job` on one store, once, at a desk of its own.
pub fn run_once(job: &str, store: &str, more: &[&str]) -> Ran {
    Desk::new().run(&once(job, store, more))
}

/// Whether a store is an engine that Go or Rust builds: `engines.rs` tries them.
pub fn is_engine(info: &StoreInfo) -> bool {
    catalog::bundle_of(info.name).is_some_and(Bundle::is_engine)
}

/// Whether a store is here to be tried: where a desk finds it, or, of Java servers, where the user who runs the tests does.
pub fn is_here(info: &StoreInfo) -> bool {
    if is_engine(info) {
        return false;
    }
    static FOUND: OnceLock<Vec<String>> = OnceLock::new();
    let is_found = if is_java(info) {
        matches!(info.probe(), Availability::Found(_))
    } else {
        FOUND.get_or_init(found_at_a_desk).iter().any(|found| found == info.name)
    };
    if !is_found {
        testkit::absent::left_out(info.name, info.install);
    }
    is_found
}

/// Names of the stores that `kvtrial` finds.
fn found_at_a_desk() -> Vec<String> {
    let listed: Value = serde_json::from_str(&Desk::new().kvtrial("stores --json").stdout).unwrap();
    let found = listed.as_array().unwrap().iter().filter(|store| store["presence"]["status"] == "found");
    found.map(|store| store["name"].as_str().unwrap().to_owned()).collect()
}

/// Whether it is a Java server, which takes from 10 s to start.
pub fn is_java(info: &StoreInfo) -> bool {
    catalog::bundle_of(info.name).is_some_and(store::Bundle::is_java)
}

/// What a finished run left.
pub struct Ran {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
    pub study: Option<Value>,
}

impl Desk {
    pub fn new() -> Desk {
        Desk { directory: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Writes a file and returns its path.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    /// `kvtrial` with these words, not started; private stores go below this desk.
    pub fn command(&self, words: &str) -> Command {
        let base = self.path().join("base");
        std::fs::create_dir_all(&base).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_kvtrial"));
        command.args(words.split_whitespace()).current_dir(self.path()).env("TMPDIR", base).env("NO_COLOR", "1");
        // One self-test serves the tests of a build.
        command.env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
        // Drawing them is most of what a small run takes; tests of pictures ask for them.
        command.env("KVTRIAL_PLOTS", "never");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// `kvtrial` with these words and the cache of the user who runs the tests, where programs are that were fetched.
    pub fn command_with_own_cache(&self, words: &str) -> Command {
        let mut command = self.command(words);
        match std::env::var_os("XDG_CACHE_HOME") {
            Some(cache) => command.env("XDG_CACHE_HOME", cache),
            None => command.env_remove("XDG_CACHE_HOME"),
        };
        command
    }

    /// Runs `kvtrial` with these words to its end.
    pub fn kvtrial(&self, words: &str) -> Ran {
        self.finished(self.command(words).output().unwrap())
    }

    /// What a finished process said; the study is read from `out`.
    pub fn finished(&self, output: Output) -> Ran {
        let study = std::fs::read(self.path().join("out/study.json")).ok();
        Ran {
            status: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            study: study.map(|bytes| serde_json::from_slice(&bytes).unwrap()),
        }
    }

    /// Runs a job into the directory `out`.
    pub fn run(&self, words: &str) -> Ran {
        self.kvtrial(&format!("run {words} --out out"))
    }

    /// Private directories that are still there.
    pub fn left_behind(&self) -> Vec<PathBuf> {
        let base = std::fs::read_dir(self.path().join("base")).unwrap();
        base.map(|entry| entry.unwrap().path()).collect()
    }
}

impl Ran {
    /// The cells of the study.
    pub fn cells(&self) -> &Vec<Value> {
        self.study.as_ref().unwrap_or_else(|| panic!("no study\n{}", self.said()))["cells"].as_array().unwrap()
    }

    /// The cell of one store.
    pub fn cell(&self, store: &str) -> &Value {
        self.cells().iter().find(|cell| cell["store"] == store).unwrap_or_else(|| panic!("no {store}\n{}", self.said()))
    }

    /// The only cell of a run on one store.
    pub fn only(&self) -> &Value {
        let [cell] = self.cells().as_slice() else { panic!("not one cell\n{}", self.said()) };
        cell
    }

    /// `valid`, `degraded` or `void`: the only cell's verdict.
    pub fn verdict(&self) -> &str {
        self.only()["verdict"]["status"].as_str().unwrap()
    }

    /// Count and example of a kind of reason in the only cell's verdict.
    pub fn why(&self, kind: &str) -> Option<(u64, String)> {
        let reasons = self.only()["verdict"]["reasons"].as_array()?;
        let reason = reasons.iter().find(|reason| reason["kind"] == kind)?;
        Some((reason["count"].as_u64()?, reason["example"].as_str()?.to_owned()))
    }

    /// The reason of a kind in a cell's verdict.
    pub fn reason(&self, store: &str, kind: &str) -> &Value {
        let reasons = self.cell(store)["verdict"]["reasons"].as_array().unwrap();
        reasons.iter().find(|reason| reason["kind"] == kind).unwrap_or_else(|| panic!("no {kind}\n{}", self.said()))
    }

    /// Whether a cell's answers were all right (a busy machine degrades, it does not void).
    pub fn is_ranked(&self, store: &str) -> bool {
        self.cell(store)["verdict"]["status"] != "void"
    }

    /// The digest of a cell's answer.
    pub fn digest(&self, store: &str) -> &str {
        self.cell(store)["answer"]["digest"].as_str().unwrap()
    }

    /// Everything printed.
    pub fn said(&self) -> String {
        format!("exit {}\n{}\n{}", self.status, self.stdout, self.stderr)
    }
}

/// What a page shows without its scripts: the text between its tags.
pub fn words_of_page(page: &str) -> String {
    let body = page.split_once("<body>").unwrap().1;
    let outside = body.split("<script").enumerate().map(|(at, piece)| match at {
        0 => piece,
        _ => piece.split_once("</script>").map_or("", |(_, after)| after),
    });
    let pieces: Vec<&str> = outside
        .flat_map(|html| html.split('<').map(|piece| piece.split_once('>').map_or(piece, |(_, words)| words)))
        .collect();
    pieces.join(" ")
}

/// The embedded stores of this build that keep what they are given, from the registry; engines that Go or Rust builds have tests of their own. A library that is missing fails the test, with the
/// line that installs it.
pub fn embedded() -> Vec<&'static str> {
    let keeps = |info: &StoreInfo| layers::declared(info, &Spec::private(info.name)).keeps == Keeps::Everything;
    let is_wanted = |info: &&StoreInfo| {
        let is_built = !matches!(info.probe(), Availability::NotBuilt(_)) && !is_engine(info);
        matches!(info.opener, Opener::Embedded(_)) && is_built && keeps(info)
    };
    catalog::all().filter(is_wanted).map(|info| info.name).collect()
}

/// `-s` of each.
pub fn named(stores: &[&str]) -> String {
    stores.iter().map(|store| format!("-s {store} ")).collect()
}
