//! NATS's key/value store against the client `async-nats` on the same servers: the same keys, the same revisions, the same replies,
//! whichever node it asks.
#![allow(clippy::unwrap_used)]

use async_nats::ConnectOptions;
use async_nats::jetstream::kv::{CreateErrorKind, Store, UpdateErrorKind};
use futures_util::TryStreamExt;
use std::collections::BTreeSet;
use std::future::Future;
use store::{Endpoint, Expected, Operation, OwnedReply};
use testkit::Rig;
use testkit::bytes::noise;
use testkit::replies::value;
use testkit::waiting::until;
use tokio::runtime::Runtime;

/// Keys that stand for themselves, and some that NATS does not take.
fn keys() -> Vec<Vec<u8>> {
    let odd: [&[u8]; 8] = [b"", b" ", b".", b"a.b", b"*", b">", b"=41", b"\0\xff\r\n"];
    let plain = (0..60).map(|number| format!("lib/c-{number}_x").into_bytes());
    odd.into_iter().map(<[u8]>::to_vec).chain(plain).collect()
}

/// A key as the oracle names it, by the rule of `docs/servers.md`.
fn name(key: &[u8]) -> String {
    let name = |byte: &u8| match *byte {
        plain if plain.is_ascii_alphanumeric() || b"-/_".contains(&plain) => char::from(plain).to_string(),
        other => format!("={other:02X}"),
    };
    if key.is_empty() { "=".into() } else { key.iter().map(name).collect() }
}

fn value_of(key: &[u8]) -> Vec<u8> {
    noise(key.len() as u64, 1000 + key.len())
}

/// The bucket of kvtrial as the oracle has it from one node.
struct Oracle {
    runtime: Runtime,
    bucket: Store,
}

impl Oracle {
    fn at(endpoint: &Endpoint) -> Oracle {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (host, port) = endpoint.tcp().unwrap();
        let [user, password] =
            [endpoint.user.clone().unwrap(), endpoint.password.as_ref().unwrap().reveal().to_owned()];
        let options = ConnectOptions::with_user_and_password(user, password).ignore_discovered_servers();
        let bucket = runtime.block_on(async {
            let client = options.connect(format!("{host}:{port}")).await.unwrap();
            async_nats::jetstream::new(client).get_key_value("kvtrial").await.unwrap()
        });
        Oracle { runtime, bucket }
    }

    fn does<'a, T>(&'a self, what: impl Future<Output = T> + 'a) -> T {
        self.runtime.block_on(what)
    }

    fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.does(self.bucket.get(name(key))).unwrap().map(|found| found.to_vec())
    }

    fn keys(&self) -> BTreeSet<String> {
        self.does(async { self.bucket.keys().await.unwrap().try_collect().await.unwrap() })
    }
}

fn written_is_read_by_the_other(spec: &str, nodes: usize) {
    let rig = Rig::start(spec);
    let mut client = rig.client(1, 1);
    let oracles: Vec<Oracle> = rig.endpoints().iter().map(Oracle::at).collect();
    assert_eq!(oracles.len(), nodes);
    for key in keys() {
        assert_eq!(client.put(&key, value_of(&key)), OwnedReply::Done);
        // It may ask a copy that is behind.
        for oracle in &oracles {
            until("the oracle finds what kvtrial wrote", || oracle.get(&key) == Some(value_of(&key)));
        }
    }
    let names: BTreeSet<String> = keys().iter().map(|key| name(key)).collect();
    oracles.iter().for_each(|oracle| until("it lists all keys", || oracle.keys() == names));
    for (number, key) in keys().iter().enumerate() {
        let oracle = &oracles[number % nodes];
        let revision = oracle.does(oracle.bucket.put(name(key), b"the oracle's"[..].into())).unwrap();
        let read = OwnedReply::Versioned { value: b"the oracle's".to_vec(), version: revision };
        assert_eq!(client.call(Operation::GetVersioned { key }), read, "{key:?}");
    }
    let (deleted, left) = (&keys()[..12], &keys()[12..]);
    for key in &deleted[..6] {
        assert_eq!(client.delete(key), OwnedReply::Done);
        for oracle in &oracles {
            until("the oracle misses what kvtrial deleted", || oracle.get(key).is_none());
        }
    }
    for key in &deleted[6..] {
        oracles[0].does(oracles[0].bucket.delete(name(key))).unwrap();
        assert_eq!(client.get(key), OwnedReply::Missing, "{key:?}");
    }
    let names: BTreeSet<String> = left.iter().map(|key| name(key)).collect();
    oracles.iter().for_each(|oracle| until("it lists what is left", || oracle.keys() == names));
    assert!(left.iter().all(|key| client.get(key) == value("the oracle's")));
}

#[test]
fn what_kvtrial_and_the_oracle_write_and_delete_each_finds_of_the_other() {
    written_is_read_by_the_other("nats", 1);
}

#[test]
fn of_three_nodes_each_gives_the_oracle_the_same() {
    written_is_read_by_the_other("nats,nodes=3", 3);
}

#[test]
fn a_write_on_a_condition_is_refused_to_whoever_read_before_the_other_wrote() {
    let rig = Rig::start("nats");
    let mut client = rig.client(1, 1);
    let oracle = Oracle::at(rig.endpoint());
    for key in keys() {
        let mut swap = |expected, value| client.call(Operation::CompareAndSet { key: &key, expected, value });
        assert_eq!(swap(Expected::Absent, b"kvtrial's"), OwnedReply::Done);
        let exists = oracle.does(oracle.bucket.create(name(&key), b"no"[..].into())).unwrap_err();
        assert_eq!(exists.kind(), CreateErrorKind::AlreadyExists);
        let first = oracle.does(oracle.bucket.entry(name(&key))).unwrap().unwrap();
        assert_eq!(&first.value[..], b"kvtrial's");
        let update =
            |value: &'static [u8], revision| oracle.does(oracle.bucket.update(name(&key), value.into(), revision));
        let second = update(b"the oracle's", first.revision).unwrap();
        assert_eq!(swap(Expected::Absent, b"no"), OwnedReply::Conflict);
        let stale = Expected::Present { version: first.revision, value: b"kvtrial's" };
        assert_eq!(swap(stale, b"no"), OwnedReply::Conflict);
        assert_eq!(swap(Expected::Present { version: second, value: b"the oracle's" }, b"third"), OwnedReply::Done);
        assert_eq!(update(b"no", second).unwrap_err().kind(), UpdateErrorKind::WrongLastRevision);
        assert_eq!(oracle.get(&key).as_deref(), Some(&b"third"[..]));
        assert_eq!(client.get(&key), value("third"));
    }
}
