//! What every store must do, whatever it is: each function takes a spec and is a test of that store.

mod opened;

#[allow(unused_imports)] // each test program uses some of it
pub use opened::{Opened, open};
use store::OwnedReply;
use store::{Expected, Operation, OperationKind, Overflow};
use study::Durability;
use testkit::Client;
use testkit::replies::{no_rows, rows, sorted, value};

const THREADS: usize = 16;

/// Returns bytes without a pattern: every byte value appears, no two sizes are prefixes of each other by chance.
fn pattern(bytes: usize, salt: u8) -> Vec<u8> {
    (0..bytes).map(|at| (at as u8).wrapping_mul(31).wrapping_add((at >> 8) as u8).wrapping_add(salt)).collect()
}

/// Returns the rounds of a test with many threads: fewer where each write waits for a disk.
fn rounds(opened: &Opened, rounds: usize) -> usize {
    if opened.capabilities().durability == Durability::Commit { rounds / 5 } else { rounds }
}

fn run_threads(opened: &Opened, body: impl Fn(usize, Client) + Sync) {
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let body = &body;
            scope.spawn(move || body(thread, opened.client()));
        }
    });
}

pub fn values_of_every_size_come_back(spec: &str) {
    let opened = Opened::fresh(spec);
    let mut client = opened.client();
    let sizes =
        [0, 1, 9, 10, 11, 99, 100, 101, 255, 256, 999, 1000, 1001, 1023, 1024, 1025, 4095, 4096, 4097, 65_535, 65_536];
    let sizes = || sizes.into_iter().chain([65_537, (1 << 20) - 1, 1 << 20, (1 << 20) + 1]);
    for size in sizes() {
        assert_eq!(client.put(format!("size-{size}"), pattern(size, 7)), OwnedReply::Done, "put of {size} bytes");
    }
    for size in sizes() {
        assert!(
            client.get(format!("size-{size}")) == OwnedReply::Value(pattern(size, 7)),
            "value of {size} bytes differs"
        );
    }
}

pub fn keys_and_values_may_hold_any_byte(spec: &str) {
    let opened = Opened::fresh(spec);
    let mut client = opened.client();
    for byte in 0..=255u8 {
        assert_eq!(client.put([byte], [byte, 0, 255 - byte, byte]), OwnedReply::Done);
        assert_eq!(client.put([b'k', byte, 0], [byte]), OwnedReply::Done);
    }
    for byte in 0..=255u8 {
        assert_eq!(client.get([byte]), value([byte, 0, 255 - byte, byte]));
        assert_eq!(client.get([b'k', byte, 0]), value([byte]));
        assert_eq!(client.get([b'k', byte]), OwnedReply::Missing);
    }
}

pub fn the_shortest_and_longest_keys_work_and_longer_ones_are_refused(spec: &str) {
    let opened = Opened::fresh(spec);
    let limits = opened.capabilities().clone();
    let mut client = opened.client();
    if limits.has(OperationKind::IncrementField) {
        // Where there are counters, each key is looked for among them too.
        let longest = pattern(limits.max_key_bytes, 3);
        assert_eq!(client.call(Operation::IncrementField { key: b"k", field: b"f", by: 1 }), OwnedReply::Number(1));
        assert_eq!(client.call(Operation::GetFields { key: &longest }), no_rows());
        let answer = client.call(Operation::IncrementField { key: &longest, field: b"f", by: 1 });
        assert!(matches!(answer, OwnedReply::Number(1) | OwnedReply::Failed(_)), "{answer:?}");
    }
    for length in [limits.min_key_bytes, limits.max_key_bytes - 1, limits.max_key_bytes] {
        let key = pattern(length, 3);
        assert_eq!(client.get(&key), OwnedReply::Missing, "key of {length} bytes");
        assert_eq!(client.put(&key, format!("v{length}")), OwnedReply::Done, "key of {length} bytes");
        assert_eq!(client.get(&key), value(format!("v{length}")), "key of {length} bytes");
        assert_eq!(client.delete(&key), OwnedReply::Done, "key of {length} bytes");
        assert_eq!(client.get(&key), OwnedReply::Missing, "key of {length} bytes");
    }
    if limits.min_key_bytes > 0 {
        assert!(matches!(client.put(b"", b"v"), OwnedReply::Failed(_)), "a key shorter than declared must be refused");
    }
    assert_eq!(client.put(b"after", b"ok"), OwnedReply::Done, "the session must go on after a refusal");
    assert_eq!(client.get(b"after"), value(b"ok"));
}

pub fn overwriting_deleting_and_missing_are_told_apart(spec: &str) {
    let opened = Opened::fresh(spec);
    let mut client = opened.client();
    assert_eq!(client.get(b"a"), OwnedReply::Missing);
    assert_eq!(client.delete(b"a"), OwnedReply::Missing);
    for size in [10, 10_000, 3, 100_000, 0, 500] {
        assert_eq!(client.put(b"a", pattern(size, 1)), OwnedReply::Done);
        assert!(
            client.get(b"a") == OwnedReply::Value(pattern(size, 1)),
            "value of {size} bytes differs after overwriting"
        );
    }
    assert_eq!(client.delete(b"a"), OwnedReply::Done);
    assert_eq!(client.get(b"a"), OwnedReply::Missing);
    assert_eq!(client.put(b"a", b"again"), OwnedReply::Done);
    assert_eq!(client.get(b"a"), value(b"again"));
}

pub fn appends_add_at_the_end_and_create(spec: &str) {
    let opened = Opened::fresh(spec);
    if !opened.capabilities().has(OperationKind::Append) {
        return;
    }
    let mut client = opened.client();
    let mut whole = Vec::new();
    for round in 0..50u8 {
        let piece = pattern(usize::from(round) * 37, round);
        assert_eq!(client.append(b"log", &piece), OwnedReply::Done);
        whole.extend_from_slice(&piece);
        assert!(client.get(b"log") == OwnedReply::Value(whole.clone()), "after append {round}");
    }
    assert_eq!(client.put(b"log", b"short"), OwnedReply::Done);
    assert_eq!(client.append(b"log", b"er"), OwnedReply::Done);
    assert_eq!(client.get(b"log"), value(b"shorter"));
}

pub fn counters_count_within_their_bounds_and_keep_what_they_declare_beyond(spec: &str) {
    let opened = Opened::fresh(spec);
    let Some(counter) = opened.capabilities().counter else { return };
    let mut client = opened.client();
    let read = |client: &mut Client, key: &[u8]| client.call(Operation::GetCounter { key });
    assert_eq!(read(&mut client, b"n"), OwnedReply::Missing);
    assert_eq!(client.increment(b"n", 5), OwnedReply::Number(5));
    assert_eq!(client.increment(b"n", -7), OwnedReply::Number(-2));
    assert_eq!(client.increment(b"n", 0), OwnedReply::Number(-2));
    assert_eq!(read(&mut client, b"n"), OwnedReply::Number(-2));
    for (key, bound, beyond) in [(b"max", counter.max, 1), (b"min", counter.min, -1)] {
        assert_eq!(client.increment(key, bound), OwnedReply::Number(bound));
        let answer = client.increment(key, beyond);
        let wrapped = if bound == counter.max { counter.min } else { counter.max };
        match counter.overflow {
            Overflow::Wraps => assert_eq!(answer, OwnedReply::Number(wrapped)),
            Overflow::Saturates => assert_eq!(answer, OwnedReply::Number(bound)),
            Overflow::Undefined => panic!("{spec}: an adapter knows what its counters do"),
            Overflow::Refused => {
                assert!(matches!(answer, OwnedReply::Failed(_)), "{answer:?}");
                assert_eq!(read(&mut client, key), OwnedReply::Number(bound));
            }
        }
    }
}

pub fn a_counter_and_a_value_of_the_same_name_do_not_meet(spec: &str) {
    let opened = Opened::fresh(spec);
    if !opened.capabilities().has(OperationKind::IncrementField) {
        return;
    }
    let mut client = opened.client();
    assert_eq!(client.put(b"k", b"value"), OwnedReply::Done);
    assert_eq!(client.increment(b"k", 3), OwnedReply::Number(3));
    assert_eq!(client.call(Operation::IncrementField { key: b"k", field: b"f", by: 4 }), OwnedReply::Number(4));
    assert_eq!(client.get(b"k"), value(b"value"));
    assert_eq!(client.call(Operation::GetCounter { key: b"k" }), OwnedReply::Number(3));
    assert_eq!(client.call(Operation::GetFields { key: b"k" }), rows([(b"f", b"4")]));
}

pub fn records_of_counters_keep_their_fields_apart(spec: &str) {
    let opened = Opened::fresh(spec);
    if !opened.capabilities().has(OperationKind::IncrementField) {
        return;
    }
    let mut client = opened.client();
    let mut add = |key: &[u8], field: &[u8], by| client.call(Operation::IncrementField { key, field, by });
    // A key and a field whose concatenation is another pair's must not be confused with it.
    assert_eq!(add(b"ab", b"c", 1), OwnedReply::Number(1));
    assert_eq!(add(b"a", b"bc", 10), OwnedReply::Number(10));
    assert_eq!(add(b"ab", b"c", 2), OwnedReply::Number(3));
    assert_eq!(add(b"ab", b"", -4), OwnedReply::Number(-4));
    assert_eq!(add(b"ab", b"\0\xff", 5), OwnedReply::Number(5));
    assert_eq!(add(b"ab\0", b"c", 100), OwnedReply::Number(100));
    let mut fields = |key: &[u8]| sorted(&client.call(Operation::GetFields { key }));
    let pair = |field: &[u8], count: &str| (field.to_vec(), count.as_bytes().to_vec());
    assert_eq!(fields(b"ab"), [pair(b"", "-4"), pair(b"\0\xff", "5"), pair(b"c", "3")]);
    assert_eq!(fields(b"a"), [pair(b"bc", "10")]);
    assert_eq!(fields(b"none"), []);
}

pub fn deleting_a_key_deletes_its_counters_and_no_others(spec: &str) {
    let mut opened = Opened::fresh(spec);
    let native = opened.capabilities().native;
    if !native.has(OperationKind::Increment) {
        return;
    }
    let record = native.has(OperationKind::IncrementField);
    let fill = |client: &mut Client| {
        for key in ["a", "b"] {
            assert_eq!(client.increment(key, 3), OwnedReply::Number(3));
            for field in [&b"f"[..], b"", b"\xff\xff"].into_iter().filter(|_| record) {
                let answer = client.call(Operation::IncrementField { key: key.as_bytes(), field, by: 4 });
                assert_eq!(answer, OwnedReply::Number(4));
            }
        }
    };
    let gone = |client: &mut Client, key: &str| {
        assert_eq!(client.delete(key), OwnedReply::Done, "{key}");
        assert_eq!(client.delete(key), OwnedReply::Missing, "{key}");
        assert_eq!(client.call(Operation::GetCounter { key: key.as_bytes() }), OwnedReply::Missing);
        if record {
            assert_eq!(client.call(Operation::GetFields { key: key.as_bytes() }), no_rows());
        }
    };
    let mut client = opened.client();
    fill(&mut client);
    gone(&mut client, "a");
    assert_eq!(client.increment("b", 0), OwnedReply::Number(3));
    if opened.spec() == "ram" {
        return;
    }
    // Counters of an earlier opening are found as well.
    drop(client);
    opened.reopen();
    gone(&mut opened.client(), "b");
}

pub fn compare_and_set_stores_only_on_what_was_read(spec: &str) {
    let opened = Opened::fresh(spec);
    if !opened.capabilities().has(OperationKind::CompareAndSet) {
        return;
    }
    let mut client = opened.client();
    let mut read = |key: &[u8]| match client.call(Operation::GetVersioned { key }) {
        OwnedReply::Versioned { value, version } => (value, version),
        other => panic!("{other:?}"),
    };
    let mut other = opened.client();
    let mut set = |expected, value: &[u8]| other.call(Operation::CompareAndSet { key: b"k", expected, value });
    assert_eq!(
        set(Expected::Present { version: 1, value: b"x" }, b"y"),
        OwnedReply::Conflict,
        "an absent key is not present"
    );
    assert_eq!(set(Expected::Absent, b"one"), OwnedReply::Done);
    assert_eq!(set(Expected::Absent, b"two"), OwnedReply::Conflict);
    let (value, version) = read(b"k");
    assert_eq!(value, b"one");
    assert_eq!(set(Expected::Present { version, value: b"one" }, b"two"), OwnedReply::Done);
    assert_eq!(set(Expected::Present { version, value: b"one" }, b"three"), OwnedReply::Conflict);
    let (value, version) = read(b"k");
    assert_eq!(value, b"two");
    assert_eq!(set(Expected::Present { version, value: b"two" }, b""), OwnedReply::Done);
    assert_eq!(read(b"k").0, b"");
    assert_eq!(client.call(Operation::GetVersioned { key: b"none" }), OwnedReply::Missing);
}

pub fn many_pairs_are_written_together_and_read_in_the_order_asked(spec: &str) {
    let opened = Opened::fresh(spec);
    let native = opened.capabilities().native;
    let mut client = opened.client();
    let pairs: Vec<(String, Vec<u8>)> = (0..100).map(|n| (format!("key{n}"), pattern(n * 13, n as u8))).collect();
    if native.has(OperationKind::PutMany) {
        let pairs: Vec<(&[u8], &[u8])> = pairs.iter().map(|(key, value)| (key.as_bytes(), &value[..])).collect();
        assert_eq!(client.call(Operation::PutMany { pairs: &[] }), OwnedReply::Done);
        assert_eq!(client.call(Operation::PutMany { pairs: &pairs }), OwnedReply::Done);
    } else {
        for (key, value) in &pairs {
            assert_eq!(client.put(key, value), OwnedReply::Done);
        }
    }
    for (key, value) in &pairs {
        assert!(client.get(key) == OwnedReply::Value(value.clone()), "{key} differs");
    }
    if !native.has(OperationKind::GetMany) {
        return;
    }
    let asked: Vec<usize> = (0..100).rev().collect();
    let mut keys: Vec<&[u8]> = asked.iter().map(|at| pairs[*at].0.as_bytes()).collect();
    keys.insert(50, b"absent");
    let expected = rows(asked.iter().map(|at| &pairs[*at]).map(|(key, value)| (key, value)));
    assert!(client.call(Operation::GetMany { keys: &keys }) == expected, "get-many differs");
    assert_eq!(client.call(Operation::GetMany { keys: &[b"absent"] }), no_rows());
    assert_eq!(client.call(Operation::GetMany { keys: &[] }), no_rows());
}

pub fn scans_go_in_byte_order_of_keys(spec: &str) {
    let opened = Opened::fresh(spec);
    if !opened.capabilities().has(OperationKind::Scan) {
        return;
    }
    let mut client = opened.client();
    let mut keys: Vec<Vec<u8>> = (0..=255u8).flat_map(|byte| [vec![byte], vec![byte, 0], vec![byte, 200, 1]]).collect();
    // In an order that is neither the keys' nor its reverse.
    for at in 0..keys.len() {
        let key = &keys[at * 263 % keys.len()];
        assert_eq!(client.put(key, [b"of ", &key[..]].concat()), OwnedReply::Done);
    }
    client.increment(b"\x80 a counter is no value", 1);
    keys.sort();
    let rows = |keys: &[Vec<u8>]| rows(keys.iter().map(|key| (key.clone(), [b"of ", &key[..]].concat())));
    assert_eq!(client.scan([0], 1000), rows(&keys));
    let from = keys.partition_point(|key| key[..] < b"\x7f\x05"[..]);
    assert_eq!(client.scan(b"\x7f\x05", 10), rows(&keys[from..from + 10]));
    assert_eq!(client.scan(b"\xff\xff", 10), rows(&[]));
    assert_eq!(client.scan([0], 0), rows(&[]));
    assert_eq!(client.scan(b"", 3), rows(&keys[..3]), "an empty start is the beginning");
}

pub fn sixteen_threads_lose_no_increment(spec: &str) {
    let opened = Opened::fresh(spec);
    if !opened.capabilities().has(OperationKind::Increment) {
        return;
    }
    let rounds = rounds(&opened, 200) as i64;
    run_threads(&opened, |thread, mut client| {
        for round in 0..rounds {
            let answer = client.increment(format!("shared{}", round % 3), 1);
            assert!(matches!(answer, OwnedReply::Number(_)), "{answer:?}");
            assert_eq!(client.increment(format!("own{thread}"), 2), OwnedReply::Number(2 * (round + 1)));
        }
    });
    let mut client = opened.client();
    let total: i64 = (0..3)
        .map(|n| match client.call(Operation::GetCounter { key: format!("shared{n}").as_bytes() }) {
            OwnedReply::Number(number) => number,
            other => panic!("{other:?}"),
        })
        .sum();
    assert_eq!(total, THREADS as i64 * rounds);
}

pub fn sixteen_threads_lose_no_append(spec: &str) {
    let opened = Opened::fresh(spec);
    if !opened.capabilities().has(OperationKind::Append) {
        return;
    }
    let rounds = rounds(&opened, 100) as u8;
    run_threads(&opened, |thread, mut client| {
        for round in 0..rounds {
            assert_eq!(client.append(b"log", [thread as u8, round]), OwnedReply::Done);
        }
    });
    let OwnedReply::Value(log) = opened.client().get(b"log") else { panic!("no log") };
    assert_eq!(log.len(), THREADS * usize::from(rounds) * 2);
    let mut next = [0u8; THREADS];
    for event in log.chunks(2) {
        let thread = usize::from(event[0]);
        assert_eq!(event[1], next[thread], "events of thread {thread} out of order");
        next[thread] += 1;
    }
}

pub fn sixteen_threads_lose_no_update_under_compare_and_set(spec: &str) {
    let opened = Opened::fresh(spec);
    if !opened.capabilities().has(OperationKind::CompareAndSet) {
        return;
    }
    let rounds = rounds(&opened, 50);
    run_threads(&opened, |_, mut client| {
        for _ in 0..rounds {
            loop {
                let answer = match client.call(Operation::GetVersioned { key: b"n" }) {
                    OwnedReply::Missing => {
                        client.call(Operation::CompareAndSet { key: b"n", expected: Expected::Absent, value: b"1" })
                    }
                    OwnedReply::Versioned { value, version } => {
                        let number: u64 = std::str::from_utf8(&value).unwrap().parse().unwrap();
                        let next = (number + 1).to_string();
                        let expected = Expected::Present { version, value: &value };
                        client.call(Operation::CompareAndSet { key: b"n", expected, value: next.as_bytes() })
                    }
                    other => panic!("{other:?}"),
                };
                match answer {
                    OwnedReply::Done => break,
                    OwnedReply::Conflict => {}
                    other => panic!("{other:?}"),
                }
            }
        }
    });
    assert_eq!(opened.client().get(b"n"), value((THREADS * rounds).to_string()));
}

pub fn sixteen_threads_of_mixed_work_never_fail_and_never_mix_values_up(spec: &str) {
    let opened = Opened::fresh(spec);
    let rounds = rounds(&opened, 60);
    run_threads(&opened, |thread, mut client| {
        for round in 0..rounds {
            let key = format!("{thread}-{}", round % 7);
            let value = [key.as_bytes(), b"=", &pattern(round * 97, thread as u8)].concat();
            assert_eq!(client.put(&key, &value), OwnedReply::Done);
            assert!(client.get(&key) == OwnedReply::Value(value), "thread {thread} round {round} read something else");
            if round % 5 == 4 {
                assert_eq!(client.delete(&key), OwnedReply::Done);
                assert_eq!(client.get(&key), OwnedReply::Missing);
            }
            let neighbour = format!("{}-{}", (thread + 1) % THREADS, round % 7);
            match client.get(&neighbour) {
                OwnedReply::Missing => {}
                OwnedReply::Value(value) => assert!(value.starts_with(format!("{neighbour}=").as_bytes())),
                other => panic!("{other:?}"),
            }
        }
    });
}

pub fn a_store_opened_again_still_has_everything(spec: &str) {
    let mut opened = Opened::fresh(spec);
    let native = opened.capabilities().native;
    let mut client = opened.client();
    for n in 0..300 {
        assert_eq!(client.put(format!("k{n}"), pattern(n * 11, 5)), OwnedReply::Done);
    }
    client.delete(b"k7");
    if native.has(OperationKind::Increment) {
        client.increment(b"n", 42);
    }
    if native.has(OperationKind::IncrementField) {
        client.call(Operation::IncrementField { key: b"k", field: b"f", by: 6 });
    }
    drop(client);
    opened.store().flush().unwrap();
    opened.reopen();
    let mut client = opened.client();
    for n in 0..300 {
        let expected = if n == 7 { OwnedReply::Missing } else { OwnedReply::Value(pattern(n * 11, 5)) };
        assert!(client.get(format!("k{n}")) == expected, "k{n} differs after opening again");
    }
    if native.has(OperationKind::Increment) {
        assert_eq!(client.call(Operation::GetCounter { key: b"n" }), OwnedReply::Number(42));
    }
    if native.has(OperationKind::IncrementField) {
        assert_eq!(client.call(Operation::GetFields { key: b"k" }), rows([(b"f", b"6")]));
    }
}

pub fn its_facts_name_product_version_and_configuration(spec: &str) {
    let opened = Opened::fresh(spec);
    let facts = opened.store().facts().unwrap();
    assert!(!facts.product.is_empty());
    assert!(facts.version.starts_with(|first: char| first.is_ascii_digit()), "{facts:?}");
    assert!(!facts.config.is_empty(), "{facts:?}");
}
