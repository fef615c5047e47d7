//! Embedded stores look for keys, and delete them, many in one transaction: values, counters and records of counters, and no other's.

#![allow(clippy::unwrap_used)]

use kvtrial_catalog as catalog;
use std::time::Duration;
use store::{Availability, BlockingClient, Operation, OperationKind, OwnedReply, Store, Sweep, Swept};
use study::Spec;

const STORES: [&str; 15] = [
    "sqlite",
    "sqlite,durability=commit",
    "lmdb",
    "redb",
    "redb,durability=commit",
    "fjall",
    "leveldb",
    "rocksdb",
    "berkeleydb",
    "berkeleydb,method=hash",
    "tokyocabinet",
    "kyotocabinet",
    "kyotocabinet,transactions=flushed",
    "tkrzw",
    "tkrzw,durability=commit",
];

fn many_at_once(store: &dyn Store, spec: &Spec) {
    let mut client = BlockingClient::open(store, 1, Duration::from_secs(20)).unwrap();
    let key = |n: u32| [&b"key \0"[..], &n.to_be_bytes()].concat();
    let keys: Vec<Vec<u8>> = (0..1000).map(key).collect();
    let lent: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    let sweep = |sweep| store.sweep(sweep, &lent).unwrap();
    assert_eq!(sweep(Sweep::Look), Some(Swept::default()), "{spec}, empty");
    for key in &keys[10..310] {
        assert_eq!(client.execute(&Operation::Put { key, value: b"v" }).unwrap(), OwnedReply::Done);
    }
    // Begins with another's key, and is another.
    let other = [&keys[10][..], b"x"].concat();
    assert_eq!(client.execute(&Operation::Put { key: &other, value: b"stays" }).unwrap(), OwnedReply::Done);
    assert_eq!(sweep(Sweep::Look), Some(Swept { there: 300, first: Some(10) }), "{spec}");
    let counted = client.execute(&Operation::Increment { key: &keys[400], by: 1 }).unwrap();
    assert_eq!(counted, OwnedReply::Number(1), "{spec}");
    let capabilities = store.capabilities();
    let fields = capabilities.native.has(OperationKind::IncrementField);
    if fields {
        let field = Operation::IncrementField { key: &keys[5], field: b"f", by: 1 };
        assert_eq!(client.execute(&field).unwrap(), OwnedReply::Number(1), "{spec}");
    }
    let all = Some(Swept { there: 301 + u64::from(fields), first: Some(if fields { 5 } else { 10 }) });
    assert_eq!((sweep(Sweep::Look), sweep(Sweep::Delete)), (all, all), "{spec}");
    assert_eq!((sweep(Sweep::Look), sweep(Sweep::Delete)), (Some(Swept::default()), Some(Swept::default())), "{spec}");
    assert_eq!(store.holding().unwrap().keys, Some(1), "{spec}");
    let left = client.execute(&Operation::Get { key: &other }).unwrap();
    assert_eq!(left, OwnedReply::Value(b"stays".to_vec()), "{spec}");
}

#[test]
fn embedded_stores_look_for_keys_and_delete_them_many_at_once() {
    let mut tried = Vec::new();
    for text in STORES {
        let spec: Spec = text.parse().unwrap();
        let info = catalog::find(&spec.name).unwrap();
        if !matches!(info.probe(), Availability::Found(_)) {
            testkit::absent::left_out(info.name, info.install);
            continue;
        }
        let open = host::open(info, &spec, &std::env::temp_dir()).unwrap();
        many_at_once(open.store(), &spec);
        tried.push(text);
    }
    assert!(!tried.is_empty());
}
