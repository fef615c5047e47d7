//! Redis Cluster against the client `redis` on the same servers: the same keys at the same nodes, the same replies.
#![allow(clippy::unwrap_used)]

use redis::cluster::{ClusterClient, ClusterConnection};
use redis::cluster_routing::{Route, RoutingInfo, SingleNodeRoutingInfo, SlotAddr};
use redis::{Cmd, Connection, ConnectionLike, RedisResult, Value};
use std::collections::BTreeMap;
use store::{Endpoint, Expected, Operation, OwnedReply};
use testkit::bytes::noise;
use testkit::replies::{refusal, sorted, value};
use testkit::waiting::PATIENCE;
use testkit::{Client, Rig};

/// Keys with tags in every shape, keys that are no text, and plain ones: some for each node.
fn keys() -> Vec<Vec<u8>> {
    let odd: [&[u8]; 10] =
        [b"{tag}a", b"b{tag}", b"{}c", b"d{}{tag}", b"{{tag}}", b"e}{tag}", b"{tag", b"\0\xff\r\n", b" ", b"{\0}"];
    let plain = (0..150).map(|number| format!("key {number}").into_bytes());
    odd.into_iter().map(<[u8]>::to_vec).chain(plain).chain([noise(1, 3000)]).collect()
}

fn value_of(key: &[u8]) -> Vec<u8> {
    noise(key.len() as u64 + 7, key.len() * 3)
}

fn url(endpoint: &Endpoint) -> String {
    let (host, port) = endpoint.tcp().unwrap();
    format!("redis://:{}@{host}:{port}", endpoint.password.as_ref().unwrap().reveal())
}

/// Does it on another thread: the waits of one that has a client of kvtrial are interrupted every 20 ms, and the oracle takes that for an
/// error.
fn elsewhere<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| scope.spawn(work).join().unwrap())
}

/// A client of the cluster, or of one node alone.
struct Oracle<C>(C);

impl<C: ConnectionLike + Send> Oracle<C> {
    fn ask(&mut self, words: &[&[u8]]) -> RedisResult<Value> {
        let mut command = Cmd::new();
        for word in words {
            command.arg(*word);
        }
        elsewhere(|| command.query(&mut self.0))
    }
}

impl Oracle<ClusterConnection> {
    /// It knows one node, and asks that one for the others. It sends nothing twice: not after a silence, and not to another node.
    fn of(rig: &Rig) -> Oracle<ClusterConnection> {
        let client = ClusterClient::builder([url(&rig.endpoints()[0])]).retries(0);
        let client = client.connection_timeout(PATIENCE).response_timeout(PATIENCE).build().unwrap();
        Oracle(elsewhere(|| client.get_connection()).unwrap())
    }

    /// The id of the node that it asks for this key.
    fn node_of(&mut self, key: &[u8]) -> Value {
        let route = SingleNodeRoutingInfo::SpecificNode(Route::with_key(key, SlotAddr::Master));
        let asked = redis::cmd("CLUSTER").arg("MYID").to_owned();
        elsewhere(|| self.0.route_command(&asked, RoutingInfo::SingleNode(route))).unwrap()
    }
}

impl Oracle<Connection> {
    /// It follows nobody to another node.
    fn at(endpoint: &Endpoint) -> Oracle<Connection> {
        let client = redis::Client::open(url(endpoint)).unwrap();
        Oracle(elsewhere(|| client.get_connection()).unwrap())
    }
}

fn bulk(bytes: impl AsRef<[u8]>) -> Value {
    Value::BulkString(bytes.as_ref().to_vec())
}

#[test]
fn each_key_lies_at_the_node_that_the_slot_map_of_the_oracle_names_and_at_no_other() {
    let rig = Rig::start("redis-cluster");
    let (mut client, mut oracle) = (rig.client(1, 1), Oracle::of(&rig));
    for key in keys() {
        assert_eq!(client.put(&key, value_of(&key)), OwnedReply::Done);
        assert_eq!(oracle.ask(&[b"GET", &key]), Ok(bulk(value_of(&key))), "{key:?}");
    }
    assert_eq!(rig.store().resent(), 0, "no node sent kvtrial to another");
    let mut held: BTreeMap<String, usize> = BTreeMap::new();
    for endpoint in rig.endpoints() {
        let mut node = Oracle::at(&endpoint);
        let id = node.ask(&[b"CLUSTER", b"MYID"]).unwrap();
        for key in keys() {
            let found = node.ask(&[b"GET", &key]);
            if oracle.node_of(&key) == id {
                assert_eq!(found, Ok(bulk(value_of(&key))), "{key:?}");
                *held.entry(endpoint.to_string()).or_default() += 1;
            } else {
                let moved = found.unwrap_err();
                assert_eq!(moved.code(), Some("MOVED"), "{key:?}: {moved}");
            }
        }
    }
    assert_eq!((held.len(), held.values().sum()), (3, keys().len()), "{held:?}");
}

#[test]
fn what_the_oracle_writes_and_deletes_is_what_kvtrial_finds() {
    let rig = Rig::start("redis-cluster");
    let (mut client, mut oracle) = (rig.client(2, 4), Oracle::of(&rig));
    for key in keys() {
        assert_eq!(oracle.ask(&[b"SET", &key, &value_of(&key)]), Ok(Value::Okay));
        assert_eq!(client.get(&key), value(value_of(&key)), "{key:?}");
    }
    assert_eq!(rig.store().holding().unwrap().keys, Some(keys().len() as u64));
    for key in keys() {
        assert_eq!(oracle.ask(&[b"DEL", &key]), Ok(Value::Int(1)));
        assert_eq!((client.get(&key), client.delete(&key)), (OwnedReply::Missing, OwnedReply::Missing), "{key:?}");
        assert_eq!(oracle.ask(&[b"GET", &key]), Ok(Value::Nil));
    }
    assert_eq!(rig.store().resent(), 0);
}

#[test]
fn appends_counters_and_fields_of_both_add_up_and_get_the_same_replies() {
    let rig = Rig::start("redis-cluster");
    let (mut client, mut oracle) = (rig.client(1, 1), Oracle::of(&rig));
    for key in keys() {
        let [text, count, record] = [&b"text"[..], b"count", b"record"].map(|kind| [&key[..], kind].concat());
        assert_eq!(client.append(&text, b"one"), OwnedReply::Number(3));
        assert_eq!(oracle.ask(&[b"APPEND", &text, b", two"]), Ok(Value::Int(8)));
        assert_eq!(client.append(&text, b", three"), OwnedReply::Number(15));
        assert_eq!(oracle.ask(&[b"GET", &text]), Ok(bulk("one, two, three")));
        assert_eq!(client.get(&text), value("one, two, three"));
        assert_eq!(client.increment(&count, i64::MAX - 1), OwnedReply::Number(i64::MAX - 1));
        assert_eq!(oracle.ask(&[b"INCRBY", &count, b"1"]), Ok(Value::Int(i64::MAX)));
        // One more is refused to both, and changes nothing.
        let one_more = client.increment(&count, 1);
        let refused = oracle.ask(&[b"INCRBY", &count, b"1"]).unwrap_err();
        assert!(refusal(&one_more).unwrap().contains("overflow") && refused.to_string().contains("overflow"));
        assert_eq!(client.call(Operation::GetCounter { key: &count }), OwnedReply::Number(i64::MAX));
        let field = Operation::IncrementField { key: &record, field: b"f", by: 4 };
        assert_eq!(client.call(field), OwnedReply::Number(4));
        assert_eq!(oracle.ask(&[b"HINCRBY", &record, b"f", b"-6"]), Ok(Value::Int(-2)));
        assert_eq!(oracle.ask(&[b"HINCRBY", &record, b"g", b"3"]), Ok(Value::Int(3)));
        let fields = client.call(Operation::GetFields { key: &record });
        assert_eq!(sorted(&fields), [(b"f".to_vec(), b"-2".to_vec()), (b"g".to_vec(), b"3".to_vec())]);
    }
    assert_eq!(rig.store().resent(), 0);
}

#[test]
fn a_compare_and_set_sees_what_the_oracle_has_written_meanwhile() {
    let rig = Rig::start("redis-cluster");
    let (mut client, mut oracle) = (rig.client(1, 1), Oracle::of(&rig));
    let swap = |client: &mut Client, key: &[u8], expected: &[u8]| {
        let expected = Expected::Present { value: expected, version: 0 };
        client.call(Operation::CompareAndSet { key, expected, value: b"kvtrial's" })
    };
    for key in keys() {
        assert_eq!(oracle.ask(&[b"SET", &key, b"first"]), Ok(Value::Okay));
        assert_eq!(oracle.ask(&[b"SET", &key, b"the oracle's"]), Ok(Value::Okay));
        assert_eq!(swap(&mut client, &key, b"first"), OwnedReply::Conflict);
        assert_eq!(oracle.ask(&[b"GET", &key]), Ok(bulk("the oracle's")));
        assert_eq!(swap(&mut client, &key, b"the oracle's"), OwnedReply::Done);
        assert_eq!(oracle.ask(&[b"GET", &key]), Ok(bulk("kvtrial's")));
    }
}
