//! Engines that were built, each with the cache its library lies in.

use super::common::Desk;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use store::{Bundle, StoreInfo};

/// The engines that every test run tries: those that are built the fastest with what a build of kvtrial needs anyway, Rust and a C compiler.
const TWO: [&str; 2] = ["mdbx", "sled"];

/// An engine, built.
pub struct Engine {
    pub info: &'static StoreInfo,
    /// The directory of its library, with the sources beside it.
    pub directory: PathBuf,
}

impl Engine {
    pub fn bundle(&self) -> &'static Bundle {
        catalog::bundle_of(self.info.name).unwrap()
    }

    /// `kvtrial` with these words, and with the cache that has the engine.
    pub fn command(&self, desk: &Desk, words: &str) -> Command {
        let mut command = desk.command(words);
        command.env("XDG_CACHE_HOME", self.directory.ancestors().nth(3).unwrap());
        command
    }
}

/// The place of an engine in a cache.
pub fn place(cache: &Path, bundle: &Bundle) -> PathBuf {
    cache.join("kvtrial/stores").join(format!("{}-{}", bundle.store, bundle.version))
}

/// Two engines. The first test that asks has them built, unless an earlier run has; of what they store nothing is timed here, so they are built fast.
pub fn two() -> Vec<Engine> {
    static BUILT: OnceLock<()> = OnceLock::new();
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("engines");
    BUILT.get_or_init(|| {
        std::thread::scope(|scope| TWO.map(|name| scope.spawn(|| build(name, &cache))).map(|it| it.join().unwrap()));
    });
    let engine = |name| {
        let info = catalog::find(name).unwrap();
        Engine { info, directory: place(&cache, catalog::bundle_of(name).unwrap()) }
    };
    TWO.map(engine).into()
}

fn build(name: &str, cache: &Path) {
    let desk = Desk::new();
    let mut command = desk.command(&format!("fetch-store {name}"));
    command.env("XDG_CACHE_HOME", cache);
    command.envs([("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0"), ("CARGO_PROFILE_RELEASE_LTO", "off")]);
    let ran = desk.finished(command.output().unwrap());
    assert_eq!(ran.status, 0, "{}", ran.said());
}

/// All engines, which the user who runs the tests must have fetched; with `KVTRIAL_ENGINES=sled,turso` only these.
pub fn every() -> Vec<Engine> {
    let only = std::env::var("KVTRIAL_ENGINES").ok();
    let is_asked = |bundle: &&Bundle| only.as_ref().is_none_or(|only| only.split(',').any(|name| name == bundle.store));
    let bundles = catalog::bundles().filter(|bundle| bundle.is_engine()).filter(is_asked);
    let engine = |bundle: &'static Bundle| {
        let info = catalog::find(bundle.store).unwrap();
        let directory = bundle.found().unwrap_or_else(|| panic!("{} is not here; {}", info.name, info.install));
        Engine { info, directory }
    };
    let engines: Vec<Engine> = bundles.map(engine).collect();
    assert!(only.is_some() || engines.len() > TWO.len());
    engines
}
