//! Engines that the user's Go or Rust builds, tried as their users try them, in workers: two in every run of the tests, all of them where `./test --full` has
//! built them.
#![allow(clippy::unwrap_used)]

mod built;

use crate::common;

pub use built::{Engine, every, place, two};
use common::{Desk, Ran};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use store::{Opener, OwnedReply, Store};
use study::{Durability, Spec};
use tempfile::TempDir;
use testkit::Client;

/// The answer of a script that shares no code with kvtrial: `crates/jobs/tests/answers`.
const DEBIAN_1K: &str = "sha256:68feb5060a6d9f728165362a625509d52ab91a5abcf6de1f6c5fe58fe046bc91";

/// Runs `kvtrial` on an engine. Nothing may be left behind.
fn tried(engine: &Engine, words: &str) -> Ran {
    let desk = Desk::new();
    let ran = desk.finished(engine.command(&desk, words).output().unwrap());
    assert_eq!(desk.left_behind(), [] as [PathBuf; 0], "{words}");
    assert_eq!(ran.status, 0, "{words}: {}", ran.said());
    ran
}

/// The levels at which an engine promises to keep something.
fn promises(engine: &Engine) -> impl Iterator<Item = String> {
    let levels = engine.info.durabilities.iter().filter(|level| **level != Durability::None);
    levels.map(|level| format!("{},durability={level}", engine.info.name))
}

fn passes_check(engine: &Engine) {
    for level in engine.info.durabilities {
        tried(engine, &format!("check {},durability={level}", engine.info.name));
    }
}

fn has_the_known_answer(engine: &Engine) {
    let name = engine.info.name;
    for clients in [1, 16] {
        let once = "--no-baselines --repeats 1 --warmups 0 --out out";
        let ran = tried(engine, &format!("run fans -s {name} --data debian-1k --clients {clients} {once}"));
        assert!(ran.is_ranked(name) && ran.digest(name) == DEBIAN_1K, "{}", ran.said());
    }
}

fn keeps_its_promise(engine: &Engine, kills: &str) {
    promises(engine).for_each(|spec| drop(tried(engine, &format!("crash {spec} {kills} --out out"))));
}

#[test]
fn two_engines_pass_check_at_each_of_their_levels() {
    two().iter().for_each(passes_check);
}

#[test]
#[ignore = "minutes: engines that Go and Rust build"]
fn every_engine_passes_check_at_each_of_its_levels() {
    every().iter().for_each(passes_check);
}

#[test]
fn two_engines_have_the_known_answer_with_one_client_and_with_sixteen() {
    two().iter().for_each(has_the_known_answer);
}

#[test]
#[ignore = "minutes: engines that Go and Rust build"]
fn every_engine_has_the_known_answer_with_one_client_and_with_sixteen() {
    every().iter().for_each(has_the_known_answer);
}

#[test]
#[ignore = "minutes: engines that Go and Rust build"]
fn every_engine_scans_in_order_while_it_is_written() {
    for engine in every() {
        let name = engine.info.name;
        let once = "--no-baselines --repeats 1 --warmups 0 --clients 4 --set records=2000 --set seconds=1 --out out";
        let ran = tried(&engine, &format!("run ycsb -s {name} --set workload=E {once}"));
        assert!(ran.is_ranked(name), "{}", ran.said());
    }
}

#[test]
fn two_engines_keep_their_promise_in_3_kills() {
    two().iter().for_each(|engine| keeps_its_promise(engine, "--cuts 3 --clients 4 --within 100ms"));
}

#[test]
#[ignore = "minutes: engines that Go and Rust build"]
fn every_engine_keeps_its_promise_in_5_kills() {
    every().iter().for_each(|engine| keeps_its_promise(engine, "--cuts 5"));
}

#[test]
#[ignore = "minutes: engines that Go and Rust build"]
fn every_engine_keeps_its_promise_when_it_is_killed_again_while_it_recovers() {
    // A log that recovery has begun to shorten, a file that was renamed a moment ago: such states last for an instant, so there are many short lives.
    every().iter().for_each(|engine| keeps_its_promise(engine, "--during recovery --cuts 10 --within 50ms"));
}

const KEYS: u32 = 300;

/// What an engine makes of files that are not as it left them.
#[derive(Debug, PartialEq)]
enum Makes {
    /// It does not open them, and says why.
    Refusal(String),
    /// It opens them without a word, and this many of the last keys are gone.
    Loss(u32),
}

/// How the files were left.
#[derive(Clone, Copy, PartialEq)]
enum Left {
    /// As by a kill after the last answer: they are copied while the store is open.
    Open,
    /// Closed.
    Closed,
    /// As by a kill, then opened and closed: of the log is made a table.
    Recovered,
}

fn store_at(name: &str, directory: &Path) -> Result<Box<dyn Store>, String> {
    let Opener::Embedded(open) = catalog::find(name).unwrap().opener else { panic!("{name} is not embedded") };
    open(&Spec::private(name), directory).map_err(|error| error.to_string())
}

/// The newest file below a directory whose path has this part.
fn newest(below: &Path, part: &str) -> PathBuf {
    let (mut files, mut directories) = (Vec::new(), vec![below.to_owned()]);
    while let Some(directory) = directories.pop() {
        for path in fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() { directories.push(path) } else { files.push(path) }
        }
    }
    let named = files.into_iter().filter(|path| path.to_str().unwrap().contains(part));
    named.max().unwrap_or_else(|| panic!("there is no {part}"))
}

/// Writes keys, harms the newest of some files, opens what is left, and reads.
fn makes(name: &str, left: Left, part: &str, harm: impl Fn(&Path)) -> Makes {
    let (before, after) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let key = |at| format!("key{at:08}");
    let value = |at: u32| format!("{at:08}").repeat(12);
    let store = store_at(name, before.path()).unwrap();
    let mut client = Client::of(&*store);
    (0..KEYS).for_each(|at| assert_eq!(client.put(key(at), value(at)), OwnedReply::Done));
    let copy = || {
        let (from, to) = (before.path().join("."), after.path());
        assert!(Command::new("cp").arg("-a").args([&from, to]).status().unwrap().success());
    };
    if left != Left::Closed {
        copy();
    }
    drop((client, store));
    match left {
        Left::Open => {}
        Left::Closed => copy(),
        Left::Recovered => drop(store_at(name, after.path()).unwrap()),
    }
    harm(&newest(after.path(), part));
    let store = match store_at(name, after.path()) {
        Ok(store) => store,
        Err(words) => return Makes::Refusal(words),
    };
    let mut client = Client::of(&*store);
    let kept = (0..KEYS).take_while(|at| client.get(key(*at)) == OwnedReply::Value(value(*at).into())).count() as u32;
    // The rest is gone, and not wrong.
    (kept..KEYS).for_each(|at| assert_eq!(client.get(key(at)), OwnedReply::Missing, "{name}: {at}"));
    Makes::Loss(KEYS - kept)
}

fn empty(file: &Path) {
    fs::File::options().write(true).open(file).unwrap().set_len(0).unwrap();
}

/// The length of a log without the zeros at its end, which are room that was reserved.
fn written(log: &[u8]) -> usize {
    log.iter().rposition(|byte| *byte != 0).unwrap() + 1
}

/// Takes the last 10 bytes from a log.
fn cut(file: &Path) {
    let written = written(&fs::read(file).unwrap());
    fs::File::options().write(true).open(file).unwrap().set_len(written as u64 - 10).unwrap();
}

/// Changes the byte in the middle of a log.
fn change(file: &Path) {
    let mut log = fs::read(file).unwrap();
    let middle = written(&log) / 2;
    log[middle] ^= 0xff;
    fs::write(file, log).unwrap();
}

fn is_refused(makes: Makes, why: &str) {
    assert!(matches!(&makes, Makes::Refusal(words) if words.contains(why)), "{makes:?}");
}

#[test]
#[ignore = "minutes: engines that Go and Rust build"]
fn a_table_of_0_bytes_is_refused_by_surrealkv_and_left_out_by_tidesdb() {
    is_refused(makes("surrealkv", Left::Closed, ".sst", empty), "file size is too small: 0 bytes");
    assert_eq!(makes("tidesdb", Left::Recovered, ".klog", |_| {}), Makes::Loss(0));
    assert_eq!(makes("tidesdb", Left::Recovered, ".klog", empty), Makes::Loss(KEYS));
}

#[test]
#[ignore = "minutes: engines that Go and Rust build"]
fn a_log_without_its_last_bytes_costs_the_last_write_and_is_refused_by_slatedb() {
    for (name, log) in [("surrealkv", ".wal"), ("tidesdb", "000.log"), ("turso", "-wal")] {
        assert_eq!(makes(name, Left::Open, log, |_| {}), Makes::Loss(0), "{name}");
        assert_eq!(makes(name, Left::Open, log, cut), Makes::Loss(1), "{name}");
    }
    // Each flush of SlateDB's log makes a file.
    assert_eq!(makes("slatedb", Left::Open, "/wal/", |_| {}), Makes::Loss(0));
    assert_eq!(makes("slatedb", Left::Open, "/wal/", empty), Makes::Loss(1));
    is_refused(makes("slatedb", Left::Open, "/wal/", cut), "unsupported SST format version");
}

#[test]
#[ignore = "minutes: engines that Go and Rust build"]
fn a_byte_changed_in_the_middle_of_a_log_costs_every_write_behind_it_without_a_word() {
    for (name, log) in [("surrealkv", ".wal"), ("tidesdb", "000.log"), ("turso", "-wal")] {
        let Makes::Loss(lost) = makes(name, Left::Open, log, change) else { panic!("{name} refused") };
        assert!((KEYS / 3..KEYS).contains(&lost), "{name}: {lost}");
    }
}

#[test]
#[ignore = "minutes: engines that Go and Rust build"]
fn a_list_of_files_of_0_bytes_is_refused_by_surrealkv_and_slatedb_and_is_an_empty_store_to_tidesdb() {
    is_refused(makes("surrealkv", Left::Closed, "manifest/", empty), "Manifest corruption detected");
    is_refused(makes("slatedb", Left::Closed, "manifest/", empty), "empty manifest");
    assert_eq!(makes("tidesdb", Left::Closed, "MANIFEST", empty), Makes::Loss(KEYS));
}
