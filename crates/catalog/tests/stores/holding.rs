//! Every store says how many keys it holds: values, counters and records of counters, each once. A key that nobody wrote is one more.
//!
//! Every store that can be had on this machine is opened, privately.

#![allow(clippy::unwrap_used)]

use kvtrial_catalog as catalog;
use std::time::Duration;
use store::{Availability, BlockingClient, Bundle, Operation, OperationKind, OwnedReply, Store, StoreInfo};
use study::Spec;

/// The stores that do not say: the first two keep nothing, the plugin's statistics are not of the table, and Voldemort's clients cannot ask.
const CANNOT_SAY: [&str; 6] = ["null", "echo", "echo-unix", "mysql-memcached", "mysql-memcached-unix", "voldemort"];

/// Its keys are read a thousand at a time.
const PAGED: &str = "handlersocket";

/// Layouts that are counted in another way.
const OPTIONS: [&str; 10] = [
    "ram,map=lines",
    "ram,map=std",
    "ram,map=indexmap",
    "ram,map=btree",
    "ram,map=griddle",
    "berkeleydb,method=hash",
    "memcached-unix,protocol=text",
    "postgres-unix,layout=hstore",
    "postgres-unix,layout=jsonb",
    "sqlite,durability=commit",
];

fn held(store: &dyn Store) -> Option<u64> {
    let held = store.holding().unwrap();
    assert_eq!((held.evicted, held.expired), (0, 0));
    held.keys
}

/// Carries it out, if the store has it: how many keys there are more.
fn done(store: &dyn Store, client: &mut BlockingClient, operation: &Operation<'_>) -> u64 {
    if !store.capabilities().has(operation.kind()) {
        return 0;
    }
    let reply = client.execute(operation).unwrap();
    assert!(matches!(reply, OwnedReply::Done | OwnedReply::Number(_)), "{operation:?}: {reply:?}");
    1
}

fn says_what_it_holds(store: &dyn Store, spec: &Spec) {
    let mut client = BlockingClient::open(store, 1, Duration::from_secs(20)).unwrap();
    assert_eq!(held(store), Some(0), "{spec}, empty");
    let count = if spec.name == PAGED { 2100_u32 } else { 150 };
    let mut keys = 0;
    for number in 0..count {
        let key = [&b"key \t\n"[..], &number.to_be_bytes()].concat();
        keys += done(store, &mut client, &Operation::Put { key: &key, value: b"value" });
    }
    assert_eq!(held(store), Some(count.into()), "{spec}");
    // Written over, and added to: no new key.
    done(store, &mut client, &Operation::Put { key: b"key \t\n\0\0\0\x07", value: b"other" });
    done(store, &mut client, &Operation::Append { key: b"key \t\n\0\0\0\x08", value: b"more" });
    assert_eq!(held(store), Some(count.into()), "{spec}, written over");
    keys += done(store, &mut client, &Operation::Append { key: b"appended", value: b"new" });
    for counter in [&b"counter 1"[..], b"counter 2"] {
        keys += done(store, &mut client, &Operation::Increment { key: counter, by: 5 });
        done(store, &mut client, &Operation::Increment { key: counter, by: 1 });
    }
    // Two records, one of them with a key that is the beginning of the other's.
    for record in [&b"record"[..], b"record 2"] {
        keys += done(store, &mut client, &Operation::IncrementField { key: record, field: b"one", by: 1 });
        for field in [&b"two"[..], b"three", b"one"] {
            done(store, &mut client, &Operation::IncrementField { key: record, field, by: 1 });
        }
    }
    assert_eq!(held(store), Some(keys), "{spec}, with counters and records");
    for number in 0..count / 3 {
        let key = [&b"key \t\n"[..], &number.to_be_bytes()].concat();
        assert_eq!(client.execute(&Operation::Delete { key: &key }).unwrap(), OwnedReply::Done, "{spec}");
    }
    assert_eq!(held(store), Some(keys - u64::from(count / 3)), "{spec}, some deleted");
    if store.capabilities().has(OperationKind::CompareAndSet) {
        done(
            store,
            &mut client,
            &Operation::CompareAndSet { key: b"slipped in", expected: store::Expected::Absent, value: b"" },
        );
        assert_eq!(held(store), Some(keys + 1 - u64::from(count / 3)), "{spec}, one slipped in");
    }
}

#[test]
fn every_store_says_how_many_keys_it_holds_or_is_known_not_to() {
    let is_apart = |bundle: &Bundle| bundle.is_java() || bundle.is_engine();
    let found = catalog::all().filter(|info| !catalog::bundle_of(info.name).is_some_and(is_apart)).filter(|info| {
        match info.probe() {
            Availability::Found(_) => true,
            _ => {
                testkit::absent::left_out(info.name, info.install);
                false
            }
        }
    });
    // At the level that waits for the disk least.
    let cheapest =
        |info: &StoreInfo| Spec { durability: info.levels_found().last().copied(), ..Spec::private(info.name) };
    let mut specs: Vec<Spec> = found.map(cheapest).collect();
    let here = |spec: &Spec| specs.iter().any(|found| found.name == spec.name);
    let more: Vec<Spec> = OPTIONS.iter().map(|text| text.parse().unwrap()).filter(here).collect();
    specs.extend(more);
    for spec in specs {
        let info = catalog::find(&spec.name).unwrap();
        let open = host::open(info, &spec, &std::env::temp_dir()).unwrap_or_else(|error| panic!("{spec}: {error}"));
        if CANNOT_SAY.contains(&info.name) {
            assert_eq!(held(open.store()), None, "{spec} says");
        } else {
            says_what_it_holds(open.store(), &spec);
        }
        open.close().unwrap();
    }
}
