#![allow(clippy::unwrap_used)]

use super::entries::CachedReply;
use super::memory::Memory;
use super::{capacity, fits, interval};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use store::{Expected, Operation};

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

const MOMENT: Duration = Duration::from_millis(1);

fn value(text: &[u8]) -> CachedReply {
    CachedReply::Value(Arc::new(text.to_vec()))
}

#[test]
fn sizes_and_times_are_read_or_refused_with_an_example() {
    assert_eq!((capacity("64MiB"), capacity("64k")), (Ok(64 << 20), Ok(64 << 10)));
    assert_eq!((interval("1s"), interval("0.5s")), (Ok(Duration::from_secs(1)), Ok(Duration::from_millis(500))));
    assert_eq!(interval("20ms"), Ok(Duration::from_millis(20)));
    for wrong in ["", "1k", "lots", "-1MiB"] {
        assert!(capacity(wrong).unwrap_err().contains("64MiB"), "{wrong}");
    }
    assert_eq!((fits("1GiB", 1 << 30, Some(2 << 30)), fits("1GiB", 1 << 30, None)), (Ok(()), Ok(())));
    let refused = fits("9GiB", 9 << 30, Some(2 << 30)).unwrap_err();
    assert_eq!(refused, "cache=9GiB is not possible; 2048 MiB of memory are free here, use less");
    for wrong in ["", "0s", "1", "2h", "-1s", "0ms", "nans"] {
        assert!(interval(wrong).unwrap_err().contains("200ms"), "{wrong}");
    }
}

#[test]
fn a_write_during_a_fetch_is_newer_than_what_the_store_had() {
    let memory = Memory::new(1 << 20);
    let get = Operation::Get { key: b"k" };
    assert_eq!(memory.begin(&get), None);
    assert_eq!(memory.begin(&Operation::Put { key: b"k", value: b"new" }), Some(CachedReply::Done));
    // Even when it was written and could have been forgotten meanwhile.
    let batch = memory.next(MOMENT).unwrap();
    memory.stored(&batch);
    memory.write_all().unwrap();
    assert_eq!(memory.fetched(&get, Ok(Some(b"old"))), value(b"new"));
    assert_eq!(memory.begin(&get), Some(value(b"new")));
}

#[test]
fn a_change_while_it_is_written_is_written_again() {
    let memory = Memory::new(1 << 20);
    memory.begin(&Operation::Put { key: b"k", value: b"one" });
    let first = memory.next(MOMENT).unwrap();
    memory.begin(&Operation::Put { key: b"k", value: b"two" });
    memory.stored(&first);
    let second = memory.next(MOMENT).unwrap();
    assert_eq!(
        (first[0].value.as_deref(), second[0].value.as_deref()),
        (Some(&b"one".to_vec()), Some(&b"two".to_vec()))
    );
    memory.stored(&second);
    memory.write_all().unwrap();
    assert_eq!(memory.begin(&Operation::Get { key: b"k" }), None, "forgotten: the store has it");
}

#[test]
fn after_a_refused_write_nothing_is_acknowledged_any_more() {
    let memory = Memory::new(1 << 20);
    memory.begin(&Operation::Put { key: b"k", value: b"v" });
    memory.fail("disk full".into());
    assert_eq!(memory.begin(&Operation::Put { key: b"l", value: b"v" }), Some(CachedReply::Failed("disk full".into())));
    assert_eq!(memory.write_all(), Err("disk full".into()));
    assert!(memory.next(MOMENT).is_none());
}

/// Writes what is due to the store.
fn write_some(memory: &Memory, store: &mut Map) {
    let batch = memory.next(MOMENT).unwrap();
    for write_back in &batch {
        match &write_back.value {
            Some(value) => store.insert(write_back.key.to_vec(), value.to_vec()),
            None => store.remove(&write_back.key[..]),
        };
    }
    memory.stored(&batch);
}

/// Ten thousand operations in an order without sense, some of them while a fetch of the same key is under way, with a store and a
/// cache that forgets; every answer is that of a map, and at the end the store is that map.
#[test]
fn memory_and_store_together_answer_as_one_map() {
    let memory = Memory::new(1 << 30);
    let (mut truth, mut store) = (Map::new(), Map::new());
    let mut state = 88_172_645_463_325_252u64;
    let mut random = move |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    let mut waiting = 0;
    for round in 0..10_000u32 {
        let key = vec![random(20) as u8];
        let text = round.to_string().repeat(random(4) as usize).into_bytes();
        let seen = truth.get(&key).filter(|_| random(3) > 0).cloned().unwrap_or_else(|| b"never".to_vec());
        let operation = match random(7) {
            0 => Operation::Get { key: &key },
            1 => Operation::GetVersioned { key: &key },
            2 => Operation::Put { key: &key, value: &text },
            3 => Operation::Delete { key: &key },
            4 => Operation::Append { key: &key, value: &text },
            5 => Operation::CompareAndSet { key: &key, expected: Expected::Absent, value: &text },
            _ => Operation::CompareAndSet {
                key: &key,
                expected: Expected::Present { version: 0, value: &seen },
                value: &text,
            },
        };
        let answer = memory.begin(&operation).unwrap_or_else(|| {
            let found = store.get(&key).cloned();
            if random(4) == 0 {
                // Somebody else hears it first, and somebody writes.
                let get = Operation::Get { key: &key };
                assert_eq!(memory.begin(&get), None);
                memory.fetched(&get, Ok(found.as_deref()));
                write_all_of(&memory, &mut store);
            }
            memory.fetched(&operation, Ok(found.as_deref()))
        });
        let before = truth.get(&key).cloned();
        let expected = match operation {
            Operation::Get { .. } => before.map_or(CachedReply::Missing, |before| value(&before)),
            Operation::GetVersioned { .. } => {
                before.map_or(CachedReply::Missing, |before| CachedReply::Versioned(Arc::new(before)))
            }
            Operation::Delete { .. } => truth.remove(&key).map_or(CachedReply::Missing, |_| CachedReply::Done),
            Operation::Append { .. } => {
                truth.entry(key.clone()).or_default().extend_from_slice(&text);
                CachedReply::Done
            }
            Operation::CompareAndSet { expected: Expected::Absent, .. } if before.is_some() => CachedReply::Conflict,
            Operation::CompareAndSet { expected: Expected::Present { .. }, .. } if before.as_ref() != Some(&seen) => {
                CachedReply::Conflict
            }
            _ => {
                truth.insert(key.clone(), text.clone());
                CachedReply::Done
            }
        };
        assert_eq!(answer, expected, "round {round}: {operation:?}");
        memory.check_sums();
        waiting += 1;
        match random(50) {
            0 => write_all_of(&memory, &mut store),
            1 if memory.waits() => write_some(&memory, &mut store),
            _ => {}
        }
        if random(10) == 0 {
            memory.forget_one();
        }
    }
    assert!(waiting > 0);
    write_all_of(&memory, &mut store);
    assert_eq!(store, truth);
}

fn write_all_of(memory: &Memory, store: &mut Map) {
    while memory.waits() {
        write_some(memory, store);
    }
}

#[test]
fn what_does_not_fit_waits_for_the_store_and_nothing_is_lost() {
    let memory = Arc::new(Memory::new(64 << 10));
    let writer = {
        let memory = Arc::clone(&memory);
        std::thread::spawn(move || {
            let mut store = Map::new();
            while let Some(batch) = memory.next(Duration::from_secs(3600)) {
                for write_back in &batch {
                    store.insert(write_back.key.to_vec(), write_back.value.as_ref().unwrap().to_vec());
                }
                memory.stored(&batch);
            }
            store
        })
    };
    for round in 0..2000u32 {
        memory.begin(&Operation::Put { key: &round.to_be_bytes(), value: &[7; 1000] });
        assert!(memory.bytes() <= 70 << 10, "{} bytes", memory.bytes());
    }
    memory.write_all().unwrap();
    memory.close();
    assert_eq!(writer.join().unwrap().len(), 2000);
}
