//! Layers around real stores.

#![allow(clippy::unwrap_used, missing_docs)]

use std::time::{Duration, Instant};
use store::{BlockingClient, Operation, OwnedReply, StoreError};
use study::{Durability, Spec};
use tempfile::TempDir;
use testkit::waiting::until;

fn open(spec: &str) -> Result<host::OpenStore, StoreError> {
    let spec: Spec = spec.parse().unwrap();
    host::open(kvtrial_catalog::find(&spec.name).unwrap(), &spec, &host::default_base())
}

/// The shortest of several times: anything else on the machine only adds. A time well below what the scheduler gives at once is often
/// undisturbed.
fn shortest(client: &mut BlockingClient, operations: usize) -> Duration {
    let gets = vec![Operation::Get { key: b"libc6" }; operations];
    let once = || {
        let start = Instant::now();
        client.pipelined(&gets).unwrap();
        start.elapsed()
    };
    std::iter::repeat_with(once).take(70).min().unwrap()
}

#[test]
fn a_burning_store_answers_as_the_one_beneath_and_says_what_it_is() {
    let open = open("ram,burn=1us").unwrap();
    assert_eq!(open.spec().to_string(), "ram,burn=1us");
    assert_eq!(open.store().facts().unwrap().config["burn"], "1us");
    let mut client = BlockingClient::open(open.store(), 1, Duration::from_secs(5)).unwrap();
    assert_eq!(client.execute(&Operation::Put { key: b"a", value: b"b" }).unwrap(), OwnedReply::Done);
    assert_eq!(client.execute(&Operation::Get { key: b"a" }).unwrap(), OwnedReply::Value(b"b".to_vec()));
}

#[test]
fn a_time_is_burnt_for_every_operation() {
    let open = open("ram,burn=20us").unwrap();
    let mut client = BlockingClient::open(open.store(), 1, Duration::from_secs(5)).unwrap();
    let took = shortest(&mut client, 500);
    assert!(took >= Duration::from_millis(10), "500 times 20 us took {took:?}");
}

#[test]
fn a_share_makes_a_closed_loop_slower_by_that_share() {
    let (plain, twice) = (open("ram").unwrap(), open("ram,burn=100%").unwrap());
    let mut clients =
        [&plain, &twice].map(|open| BlockingClient::open(open.store(), 1, Duration::from_secs(5)).unwrap());
    // What is burnt at the end of one run for operations of the next, or not yet, is at most some hundred operations' worth.
    let mut ratio = || {
        let [plain, twice] = [0, 1].map(|at| shortest(&mut clients[at], 20_000).as_secs_f64());
        twice / plain
    };
    // A ratio with something else on the machine in it says nothing; a wrong share is wrong every time.
    let ratios: Vec<f64> = (0..9).map(|_| ratio()).collect();
    let right = ratios.iter().filter(|ratio| (1.8..2.3).contains(*ratio)).count();
    assert!(right >= 3, "twice the time was asked for, and it took this many times: {ratios:.2?}");
}

#[test]
fn a_server_is_started_without_the_options_of_layers() {
    let open = open("redis-unix,burn=5%").unwrap();
    let mut client = BlockingClient::open(open.store(), 1, Duration::from_secs(5)).unwrap();
    assert_eq!(client.execute(&Operation::Get { key: b"a" }).unwrap(), OwnedReply::Missing);
}

#[test]
fn what_cannot_be_burnt_is_refused_with_an_example() {
    let error = open("redis-unix,burn=fast").err().unwrap().to_string();
    assert!(error.contains("burn=fast") && error.contains("500ns"), "{error}");
    let error = open("ram,brun=5%").err().unwrap().to_string();
    assert!(error.contains("burn"), "{error}");
}

#[test]
fn a_cached_store_says_that_a_crash_loses_what_waits() {
    let open = open("sqlite,durability=commit,cache=1MiB").unwrap();
    assert_eq!(open.store().capabilities().durability, Durability::None);
    let config = open.store().facts().unwrap().config;
    assert_eq!(config["cache_bytes"], "1048576");
    assert_eq!((config["cache_flush_ms"].as_str(), config["cache_durability_beneath"].as_str()), ("1000", "commit"));
    assert!(config["cache_crash_loses"].contains("acknowledged"), "{config:?}");
    let spec: Spec = "sqlite,durability=commit,cache=1MiB".parse().unwrap();
    let declared = layers::declared(kvtrial_catalog::find("sqlite").unwrap(), &spec);
    assert_eq!(&declared, open.store().capabilities());
}

#[test]
fn what_a_cache_was_told_is_in_the_store_after_a_flush_and_after_an_orderly_end() {
    let directory = TempDir::with_prefix("kvtrial-cache-").unwrap();
    let cached = format!("sqlite:{},cache=1MiB,flush=3600s", directory.path().display());
    let beneath = format!("sqlite:{}", directory.path().display());
    let get = |key: &'static [u8]| {
        let open = open(&beneath).unwrap();
        let mut client = BlockingClient::open(open.store(), 1, Duration::from_secs(5)).unwrap();
        client.execute(&Operation::Get { key }).unwrap()
    };
    let first = open(&cached).unwrap();
    let mut client = BlockingClient::open(first.store(), 1, Duration::from_secs(5)).unwrap();
    assert_eq!(client.execute(&Operation::Put { key: b"a", value: b"1" }).unwrap(), OwnedReply::Done);
    assert_eq!(client.execute(&Operation::Get { key: b"a" }).unwrap(), OwnedReply::Value(b"1".to_vec()));
    assert_eq!(get(b"a"), OwnedReply::Missing, "it waits");
    first.store().flush().unwrap();
    assert_eq!(get(b"a"), OwnedReply::Value(b"1".to_vec()));
    assert_eq!(client.execute(&Operation::Delete { key: b"a" }).unwrap(), OwnedReply::Done);
    assert_eq!(client.execute(&Operation::Put { key: b"b", value: b"2" }).unwrap(), OwnedReply::Done);
    drop((client, first));
    assert_eq!((get(b"a"), get(b"b")), (OwnedReply::Missing, OwnedReply::Value(b"2".to_vec())));
}

#[test]
fn a_cache_writes_within_its_interval() {
    let directory = TempDir::with_prefix("kvtrial-cache-").unwrap();
    let cached = open(&format!("sqlite:{},cache=1MiB,flush=20ms", directory.path().display())).unwrap();
    let mut client = BlockingClient::open(cached.store(), 1, Duration::from_secs(5)).unwrap();
    client.execute(&Operation::Put { key: b"a", value: b"1" }).unwrap();
    let beneath = open(&format!("sqlite:{}", directory.path().display())).unwrap();
    let mut look = BlockingClient::open(beneath.store(), 1, Duration::from_secs(5)).unwrap();
    until("it is written", || look.execute(&Operation::Get { key: b"a" }).unwrap() != OwnedReply::Missing);
}

#[test]
fn a_cache_over_a_store_that_refuses_says_so_at_the_flush() {
    let open = open("redis-unix,maxmemory=2mb,cache=64MiB,flush=3600s").unwrap();
    let mut client = BlockingClient::open(open.store(), 1, Duration::from_secs(5)).unwrap();
    let value = vec![7; 100_000];
    for round in 0..100u32 {
        let key = round.to_be_bytes();
        assert_eq!(client.execute(&Operation::Put { key: &key, value: &value }).unwrap(), OwnedReply::Done);
    }
    let error = open.store().flush().unwrap_err().to_string();
    assert!(error.contains("refused what the cache had acknowledged") && error.contains("OOM"), "{error}");
    assert!(matches!(client.execute(&Operation::Get { key: b"a" }).unwrap(), OwnedReply::Failed(_)));
}

#[test]
fn options_of_the_cache_are_checked() {
    for (spec, said) in [
        ("ram,cache=huge", "use a size of 64KiB or more, such as 64MiB"),
        ("ram,cache=1MiB,flush=soon", "such as 1s or 200ms"),
        ("ram,flush=1s", "add cache="),
    ] {
        let error = open(spec).err().unwrap().to_string();
        assert!(error.contains(said), "{spec}: {error}");
    }
}
