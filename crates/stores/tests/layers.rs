//! Layers around real stores.

#![allow(clippy::unwrap_used, missing_docs)]

use std::time::{Duration, Instant};
use store::{BlockingClient, Operation, OwnedReply, StoreError};
use study::Spec;

fn open(spec: &str) -> Result<host::OpenStore, StoreError> {
    let spec: Spec = spec.parse().unwrap();
    host::open(kvtrial_stores::find(&spec.name).unwrap(), &spec, &host::default_base())
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
    let ratios: Vec<f64> = (0..9)
        .map(|_| {
            let [plain, twice] = [0, 1].map(|at| shortest(&mut clients[at], 2_000).as_secs_f64());
            twice / plain
        })
        .collect();
    let ratio = stats_median(ratios);
    assert!((1.8..2.4).contains(&ratio), "twice the time was asked for, {ratio} times it took");
}

fn stats_median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
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
