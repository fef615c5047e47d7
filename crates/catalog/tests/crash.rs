//! A process is killed in the middle of its writes, again and again over the same files; what it was told is stored must be there
//! afterwards, at `os` and above. The process is this test program, run once more for `child_writes_until_it_is_killed`.

#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

#[allow(dead_code)] // only some of it is used here
mod battery;

use battery::open;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use store::OwnedReply;
use store::{Operation, OperationKind};
use study::{Durability, Spec};
use tempfile::TempDir;
use testkit::Client;
use testkit::replies::value;

const SPEC: &str = "KVTRIAL_CRASH_SPEC";
const DIRECTORY: &str = "KVTRIAL_CRASH_DIRECTORY";
const FIRST: &str = "KVTRIAL_CRASH_FIRST";
const REST_AFTER: &str = "KVTRIAL_CRASH_REST_AFTER";

/// What the child does while it waits to be killed.
#[derive(Clone, Copy, PartialEq)]
enum Meanwhile {
    /// Goes on writing: it is killed between any two steps.
    Writes,
    /// Rests: it has written exactly the rounds it was to.
    Rests,
}

/// Acknowledged rounds after which the child is killed, one number a kill.
const KILLS: [u64; 6] = [1, 20, 150, 7, 400, 90];

/// The same where every write waits for a disk.
const SLOW_KILLS: [u64; 4] = [1, 20, 7, 50];

/// Keys that are overwritten again and again.
const HOT_KEYS: u64 = 16;

/// The value a round leaves under its hot key: of very different sizes, so that records move.
fn hot_value(round: u64) -> Vec<u8> {
    let bytes = [10, 5000, 100, 40_000, 1][(round % 5) as usize];
    format!("round {round} ").bytes().chain(std::iter::repeat_n(round as u8, bytes)).collect()
}

fn hot_key(round: u64) -> String {
    format!("hot{}", round % HOT_KEYS)
}

/// One round: a new key, an overwritten key, an event appended and a count, each acknowledged.
fn write_round(client: &mut Client, round: u64) {
    assert_eq!(client.put(format!("new{round}"), format!("value {round}")), OwnedReply::Done);
    assert_eq!(client.put(hot_key(round), hot_value(round)), OwnedReply::Done);
    assert_eq!(client.append("log", round.to_be_bytes()), OwnedReply::Done);
    assert_eq!(client.increment("rounds", 1), OwnedReply::Number(round as i64 + 1));
}

#[test]
#[ignore = "run by the other tests, as the process to kill"]
fn child_writes_until_it_is_killed() {
    let Ok(spec) = std::env::var(SPEC) else { return };
    let directory = std::env::var(DIRECTORY).unwrap();
    let first: u64 = std::env::var(FIRST).unwrap().parse().unwrap();
    let rest_after: Option<u64> = std::env::var(REST_AFTER).ok().map(|round| round.parse().unwrap());
    let store = open(&spec.parse().unwrap(), Path::new(&directory));
    let mut client = Client::of(&*store);
    let mut output = std::io::stderr();
    for round in first.. {
        write_round(&mut client, round);
        output.write_all(format!("acknowledged {round}\n").as_bytes()).unwrap();
        while rest_after == Some(round) {
            std::thread::park();
        }
    }
}

/// Runs a child from a round on, kills it once `rounds` more are acknowledged, and returns how many rounds there were then.
fn run_and_kill(spec: &str, directory: &Path, first: u64, rounds: u64, meanwhile: Meanwhile) -> u64 {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "child_writes_until_it_is_killed", "--ignored", "--nocapture"])
        .envs([(SPEC, spec), (DIRECTORY, directory.to_str().unwrap()), (FIRST, &first.to_string())])
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    if meanwhile == Meanwhile::Rests {
        command.env(REST_AFTER, (first + rounds - 1).to_string());
    }
    let mut child = command.spawn().unwrap();
    let mut acknowledged = first;
    let mut other = Vec::new();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut note = |line: String, acknowledged: &mut u64| match line.strip_prefix("acknowledged ") {
        Some(round) => *acknowledged = round.parse::<u64>().unwrap() + 1,
        None => other.push(line),
    };
    while acknowledged < first + rounds {
        match lines.next() {
            Some(line) => note(line.unwrap(), &mut acknowledged),
            None => break,
        }
    }
    // Not between two writes: the time is the subject, another one for each round.
    std::thread::sleep(Duration::from_micros(first * 37 % 900));
    child.kill().unwrap();
    child.wait().unwrap();
    // What it could still say before it died. A last line cut short was not said.
    for line in lines.map_while(Result::ok) {
        if line.strip_prefix("acknowledged ").is_none_or(|round| round.parse::<u64>().is_ok()) {
            note(line, &mut acknowledged);
        }
    }
    assert!(acknowledged >= first + rounds, "{spec}: the child ended by itself: {other:#?}");
    acknowledged
}

/// Checks that rounds before `acknowledged` are there, and of the one after it anything or nothing, whole; how many there are.
fn verify(spec: &str, client: &mut Client, acknowledged: u64) -> u64 {
    let OwnedReply::Number(count) = client.call(Operation::GetCounter { key: b"rounds" }) else {
        panic!("{spec}: no count")
    };
    let count = count as u64;
    assert!((acknowledged..=acknowledged + 1).contains(&count), "{spec}: {count} rounds, {acknowledged} acknowledged");
    for round in 0..count {
        let found = client.get(format!("new{round}"));
        assert_eq!(found, value(format!("value {round}")), "{spec}: round {round} of {count}");
    }
    // The round that was cut may have done its puts.
    let newest = if client.get(format!("new{count}")) == OwnedReply::Missing { count } else { count + 1 };
    for round in count.saturating_sub(HOT_KEYS)..count {
        let next = round + HOT_KEYS;
        let found = client.get(hot_key(round));
        let as_it_was = found == OwnedReply::Value(hot_value(round));
        let as_it_became = next < newest && found == OwnedReply::Value(hot_value(next));
        assert!(as_it_was || as_it_became, "{spec}: {} after round {round} of {count} is neither", hot_key(round));
    }
    let OwnedReply::Value(log) = client.get("log") else { panic!("{spec}: no log") };
    let events: Vec<u64> = log.chunks(8).map(|event| u64::from_be_bytes(event.try_into().unwrap())).collect();
    let expected: Vec<u64> = (0..count).collect();
    assert_eq!(events[..expected.len().min(events.len())], expected, "{spec}: events");
    assert!(events.len() <= expected.len() + 1, "{spec}: {} events of {count} rounds", events.len());
    count
}

/// Completes the round that was cut, so that the next child starts at a whole one.
fn complete(client: &mut Client, round: u64) {
    let OwnedReply::Value(log) = client.get("log") else { panic!("no log") };
    if log.len() as u64 / 8 > round {
        assert_eq!(client.put("log", &log[..round as usize * 8]), OwnedReply::Done);
    }
}

fn keeps_what_it_acknowledged(spec: &str) {
    let directory = TempDir::with_prefix("kvtrial-crash-").unwrap();
    let parsed: Spec = spec.parse().unwrap();
    let mut rounds = 0;
    let kills = if parsed.durability == Some(Durability::Commit) { &SLOW_KILLS[..] } else { &KILLS };
    for &more in kills {
        let acknowledged = run_and_kill(spec, directory.path(), rounds, more, Meanwhile::Writes);
        let store = open(&parsed, directory.path());
        assert!(store.capabilities().has(OperationKind::Append) && store.capabilities().has(OperationKind::Increment));
        let mut client = Client::of(&*store);
        rounds = verify(spec, &mut client, acknowledged);
        complete(&mut client, rounds);
    }
}

macro_rules! survivors {
    ($($(#[$when:meta])* $name:ident = $spec:literal),* $(,)?) => {
        $($(#[$when])* #[test] fn $name() { keeps_what_it_acknowledged($spec) })*
    };
}

survivors! {
    #[cfg(feature = "sqlite")] sqlite_at_os_survives_a_kill = "sqlite",
    #[cfg(feature = "sqlite")] sqlite_at_commit_survives_a_kill = "sqlite,durability=commit",
    #[cfg(feature = "lmdb")] lmdb_at_os_survives_a_kill = "lmdb",
    #[cfg(feature = "lmdb")] lmdb_at_commit_survives_a_kill = "lmdb,durability=commit",
    #[cfg(feature = "redb")] redb_at_os_survives_a_kill = "redb",
    #[cfg(feature = "redb")] redb_at_commit_survives_a_kill = "redb,durability=commit",
    #[cfg(feature = "fjall")] fjall_at_os_survives_a_kill = "fjall",
    #[cfg(feature = "fjall")] fjall_at_commit_survives_a_kill = "fjall,durability=commit",
    tokyocabinet_at_os_survives_a_kill = "tokyocabinet",
    tkrzw_at_os_survives_a_kill = "tkrzw",
    tkrzw_at_commit_survives_a_kill = "tkrzw,durability=commit",
    berkeleydb_at_os_survives_a_kill = "berkeleydb",
    berkeleydb_at_commit_survives_a_kill = "berkeleydb,durability=commit",
    berkeleydb_hash_at_os_survives_a_kill = "berkeleydb,method=hash",
    leveldb_at_os_survives_a_kill = "leveldb",
    leveldb_at_commit_survives_a_kill = "leveldb,durability=commit",
    rocksdb_at_os_survives_a_kill = "rocksdb",
    rocksdb_at_commit_survives_a_kill = "rocksdb,durability=commit",
}

/// The test above would see a loss: at `none` these keep what was written last in the process, until a buffer of theirs is full.
/// Three rounds fill none.
#[test]
fn rocksdb_and_berkeley_db_at_none_lose_what_they_acknowledged() {
    for spec in ["rocksdb,durability=none", "berkeleydb,durability=none"] {
        let directory = TempDir::with_prefix("kvtrial-crash-").unwrap();
        let acknowledged = run_and_kill(spec, directory.path(), 0, 3, Meanwhile::Rests);
        let store = open(&spec.parse().unwrap(), directory.path());
        let last = format!("new{}", acknowledged - 1);
        assert_eq!(Client::of(&*store).get(last), OwnedReply::Missing, "{spec}");
    }
}

/// The test above would see a loss: at `none` redb keeps its commits in memory, and a killed process loses them.
#[cfg(feature = "redb")]
#[test]
fn redb_at_none_loses_what_it_acknowledged() {
    let directory = TempDir::with_prefix("kvtrial-crash-").unwrap();
    let spec = "redb,durability=none";
    assert_eq!(run_and_kill(spec, directory.path(), 0, 50, Meanwhile::Rests), 50);
    let store = open(&spec.parse().unwrap(), directory.path());
    assert_eq!(Client::of(&*store).get("new0"), OwnedReply::Missing);
}
