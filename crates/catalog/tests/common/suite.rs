//! The sentences; each test file runs all of them on its own store.

use store::{Expected, Operation, OperationKind, OwnedReply};
use testkit::replies::{no_rows, refusal, rows, sorted};
use testkit::{Client, Rig};

/// Runs every sentence on the server of `rig()`.
#[macro_export]
macro_rules! suite {
    // Stores with versions and without counters.
    (versioned) => {
        $crate::suite! {
            all_bytes_come_back_from_keys_and_values,
            values_of_every_size_come_back_whole,
            an_overwrite_leaves_nothing_of_the_old_value,
            what_was_never_stored_is_missing,
            many_keys_come_in_the_order_asked,
            a_scan_reads_in_byte_order,
            of_sixteen_compare_and_sets_exactly_one_wins,
            a_compare_and_set_needs_the_version_that_was_read,
            sixteen_slots_may_create_the_same_key,
            a_refused_value_leaves_the_connection_usable,
            the_store_says_what_it_is,
        }
    };
    // Of a server that comes in no package.
    (ignored $why:literal: $($sentence:ident),+ $(,)?) => {
        $(#[test]
        #[ignore = $why]
        fn $sentence() {
            $crate::common::suite::$sentence(rig());
        })+
    };
    ($($sentence:ident),+ $(,)?) => {
        $(#[test]
        fn $sentence() {
            $crate::common::suite::$sentence(rig());
        })+
    };
    () => {
        $crate::suite! {
            all_bytes_come_back_from_keys_and_values,
            values_of_every_size_come_back_whole,
            an_overwrite_leaves_nothing_of_the_old_value,
            what_was_never_stored_is_missing,
            appends_join_and_create,
            counters_count_from_nothing_to_their_bounds,
            fields_count_side_by_side,
            many_keys_come_in_the_order_asked,
            a_scan_reads_in_byte_order,
            concurrent_increments_are_all_counted,
            of_sixteen_compare_and_sets_exactly_one_wins,
            a_compare_and_set_needs_the_value_that_was_read,
            sixteen_slots_may_create_the_same_key,
            a_refused_value_leaves_the_connection_usable,
            the_store_says_what_it_is,
        }
    };
}

pub fn all_bytes_come_back_from_keys_and_values(rig: &Rig) {
    let mut client = rig.client(1, 1);
    let all: Vec<u8> = (0..=255).collect();
    assert_eq!(client.put(&all, &all), OwnedReply::Done);
    assert_eq!(client.get(&all), OwnedReply::Value(all.clone()));
    for byte in all {
        let key = [b'b', byte];
        assert_eq!(client.put(key, [byte, byte]), OwnedReply::Done);
    }
    for byte in 0..=255 {
        assert_eq!(client.get([b'b', byte]), OwnedReply::Value(vec![byte, byte]));
    }
    for odd in [&b"\r\nGET x\r\n"[..], b"'; DROP TABLE kvtrial_kv; --", b"$set", b"a.b.c", b"\xff\xfe\0", b"%s ? $1 \\"]
    {
        assert_eq!(client.put(odd, odd), OwnedReply::Done);
        assert_eq!(client.get(odd), OwnedReply::Value(odd.to_vec()));
    }
    let longest = vec![b'L'; rig.capabilities().max_key_bytes];
    assert_eq!(client.put(&longest, b"longest"), OwnedReply::Done);
    assert_eq!(client.get(&longest), OwnedReply::Value(b"longest".to_vec()));
    assert_eq!(client.get(&longest[1..]), OwnedReply::Missing);
}

pub fn values_of_every_size_come_back_whole(rig: &Rig) {
    let mut client = rig.client(1, 1);
    let sizes = [
        0,
        1,
        9,
        10,
        11,
        99,
        100,
        101,
        999,
        1000,
        1001,
        1023,
        1024,
        1025,
        65_535,
        65_536,
        65_537,
        1 << 20,
        (1 << 20) + 1,
    ];
    for size in sizes {
        let value: Vec<u8> = (0..size).map(|at| (at * 7 + at / 251 + size) as u8).collect();
        assert_eq!(client.put(b"sized", &value), OwnedReply::Done, "{size} bytes");
        assert!(client.get(b"sized") == OwnedReply::Value(value), "{size} bytes came back otherwise");
    }
}

pub fn an_overwrite_leaves_nothing_of_the_old_value(rig: &Rig) {
    let mut client = rig.client(1, 1);
    for size in [500, 3, 0, 70_000, 1, 2] {
        let value = vec![b'0' + (size % 10) as u8; size];
        assert_eq!(client.put(b"rewritten", &value), OwnedReply::Done);
        assert_eq!(client.get(b"rewritten"), OwnedReply::Value(value));
    }
    assert_eq!(client.call(Operation::Delete { key: b"rewritten" }), OwnedReply::Done);
    assert_eq!(client.get(b"rewritten"), OwnedReply::Missing);
    assert_eq!(client.call(Operation::Delete { key: b"rewritten" }), OwnedReply::Missing);
}

pub fn what_was_never_stored_is_missing(rig: &Rig) {
    let mut client = rig.client(1, 1);
    let key = b"never stored";
    assert_eq!(client.get(key), OwnedReply::Missing);
    assert_eq!(client.call(Operation::GetVersioned { key }), OwnedReply::Missing);
    assert_eq!(client.call(Operation::Delete { key }), OwnedReply::Missing);
    if rig.has(OperationKind::GetCounter) {
        assert_eq!(client.call(Operation::GetCounter { key }), OwnedReply::Missing);
    }
    if rig.has(OperationKind::GetFields) {
        assert_eq!(client.call(Operation::GetFields { key }), no_rows());
    }
    if rig.has(OperationKind::GetMany) {
        assert_eq!(client.call(Operation::GetMany { keys: &[key, b"nor this"] }), no_rows());
    }
    if rig.has(OperationKind::CompareAndSet) {
        let expected = Expected::Present { version: 0, value: b"" };
        assert_eq!(client.call(Operation::CompareAndSet { key, expected, value: b"x" }), OwnedReply::Conflict);
        assert_eq!(client.get(key), OwnedReply::Missing);
    }
}

pub fn appends_join_and_create(rig: &Rig) {
    if !rig.has(OperationKind::Append) {
        return;
    }
    let mut client = rig.client(1, 1);
    let mut whole = Vec::new();
    for part in [&b"\0\xff"[..], b"", b"two", &[9; 5000]] {
        whole.extend_from_slice(part);
        // Some say how long the value is now.
        let said = client.call(Operation::Append { key: b"appended", value: part });
        assert!(said == OwnedReply::Done || said == OwnedReply::Number(whole.len() as i64), "{said:?}");
        assert_eq!(client.get(b"appended"), OwnedReply::Value(whole.clone()));
    }
}

pub fn counters_count_from_nothing_to_their_bounds(rig: &Rig) {
    let mut client = rig.client(1, 1);
    let key = b"counter \0\xff";
    let mut sum = 0;
    for by in [5, 1, -7, 0, 1, 0, -3, 3, 1 << 40] {
        sum += by;
        assert_eq!(client.call(Operation::Increment { key, by }), OwnedReply::Number(sum), "by {by}");
        assert_eq!(client.call(Operation::GetCounter { key }), OwnedReply::Number(sum));
    }
    for (key, first) in [(b"c0", 0), (b"c1", -1), (b"c2", i64::MAX), (b"c3", i64::MIN)] {
        assert_eq!(client.call(Operation::Increment { key, by: first }), OwnedReply::Number(first));
        assert_eq!(client.call(Operation::GetCounter { key }), OwnedReply::Number(first));
    }
    assert_eq!(client.call(Operation::Increment { key: b"c2", by: -1 }), OwnedReply::Number(i64::MAX - 1));
    assert_eq!(client.call(Operation::Increment { key: b"c2", by: 1 }), OwnedReply::Number(i64::MAX));
    let beyond = client.call(Operation::Increment { key: b"c2", by: 1 });
    assert!(refusal(&beyond).is_some(), "{beyond:?}");
    assert_eq!(client.call(Operation::GetCounter { key: b"c2" }), OwnedReply::Number(i64::MAX));
    let beyond = client.call(Operation::Increment { key: b"c3", by: -1 });
    assert!(refusal(&beyond).is_some(), "{beyond:?}");
}

pub fn fields_count_side_by_side(rig: &Rig) {
    let mut client = rig.client(1, 1);
    let key = b"record.of $counters";
    let mut call = |field: &[u8], by| client.call(Operation::IncrementField { key, field, by });
    assert_eq!(call(b"a.b", 1), OwnedReply::Number(1));
    assert_eq!(call(b"$x", -2), OwnedReply::Number(-2));
    assert_eq!(call(b"", 3), OwnedReply::Number(3));
    assert_eq!(call(b"\0\xff", 4), OwnedReply::Number(4));
    assert_eq!(call(b"a.b", 10), OwnedReply::Number(11));
    let found = sorted(&client.call(Operation::GetFields { key }));
    let want: [(&[u8], &[u8]); 4] = [(b"", b"3"), (b"\0\xff", b"4"), (b"$x", b"-2"), (b"a.b", b"11")];
    assert_eq!(found, want.map(|(field, count)| (field.to_vec(), count.to_vec())));
    assert_eq!(client.call(Operation::GetFields { key: b"record.of $counter" }), no_rows());
}

pub fn many_keys_come_in_the_order_asked(rig: &Rig) {
    let mut client = rig.client(1, 1);
    let names: Vec<String> = (0..1500).map(|at| format!("many {}", at * 7919 % 1500)).collect();
    let pairs: Vec<(&[u8], &[u8])> = names.iter().map(|name| (name.as_bytes(), &name.as_bytes()[5..])).collect();
    if !rig.has(OperationKind::PutMany) {
        for (key, value) in pairs.iter().chain(&[(&b"once"[..], &b""[..])]) {
            assert_eq!(client.put(key, value), OwnedReply::Done);
        }
        return read_many(&mut client, &pairs);
    }
    for size in [1, 2, 1000, 497] {
        assert_eq!(client.call(Operation::PutMany { pairs: &pairs[..size] }), OwnedReply::Done);
    }
    assert_eq!(client.call(Operation::PutMany { pairs: &pairs }), OwnedReply::Done);
    assert_eq!(
        client.call(Operation::PutMany { pairs: &[(b"twice", b"old"), (b"once", b""), (b"twice", b"new")] }),
        OwnedReply::Done
    );
    assert_eq!(client.get(b"twice"), OwnedReply::Value(b"new".to_vec()));
    assert_eq!(client.call(Operation::PutMany { pairs: &[] }), OwnedReply::Done);
    read_many(&mut client, &pairs);
}

fn read_many(client: &mut Client, pairs: &[(&[u8], &[u8])]) {
    let keys: Vec<&[u8]> = pairs.iter().map(|pair| pair.0).collect();
    assert_eq!(client.call(Operation::GetMany { keys: &keys }), rows(pairs.iter().copied()));
    let some: [&[u8]; 6] = [b"many 9", b"absent", b"many 10", b"many 1", b"once", b"many 9"];
    let want = rows([("many 9", "9"), ("many 10", "10"), ("many 1", "1"), ("once", ""), ("many 9", "9")]);
    assert_eq!(client.call(Operation::GetMany { keys: &some }), want);
    assert_eq!(client.call(Operation::GetMany { keys: &[] }), no_rows());
}

pub fn a_scan_reads_in_byte_order(rig: &Rig) {
    if !rig.has(OperationKind::Scan) {
        return;
    }
    let mut client = rig.client(1, 1);
    // Behind every other key of these tests.
    let keys: [&[u8]; 6] =
        [b"\xff\xffs", b"\xff\xffs\0", b"\xff\xffs\x01", b"\xff\xffsA", b"\xff\xffsa\xff", b"\xff\xffsb"];
    for key in keys.iter().rev() {
        assert_eq!(client.put(key, key), OwnedReply::Done);
    }
    let pairs: Vec<(&[u8], &[u8])> = keys.iter().map(|key| (*key, *key)).collect();
    let mut scan = |start: &[u8], limit| client.call(Operation::Scan { start, limit });
    assert_eq!(scan(b"\xff\xffs", 10), rows(pairs.iter().copied()));
    assert_eq!(scan(b"\xff\xffs", 2), rows(pairs[..2].iter().copied()));
    assert_eq!(scan(b"\xff\xffs\x02", 3), rows(pairs[3..].iter().copied()));
    assert_eq!(scan(b"\xff\xfft", 3), no_rows());
    assert_eq!(scan(b"\xff\xffs", 0), no_rows());
}

pub fn concurrent_increments_are_all_counted(rig: &Rig) {
    if !rig.has(OperationKind::Increment) {
        return;
    }
    let mut client = rig.client(4, 4);
    let mut seen = Vec::new();
    for _ in 0..25 {
        let operations = [Operation::Increment { key: b"busy counter", by: 1 }; 16];
        for got in client.all(&operations) {
            let OwnedReply::Number(number) = got else { panic!("{got:?}") };
            seen.push(number);
        }
        let operations = [Operation::IncrementField { key: b"busy", field: b"field", by: 2 }; 16];
        assert!(client.all(&operations).iter().all(|got| matches!(got, OwnedReply::Number(_))));
    }
    seen.sort_unstable();
    assert_eq!(seen, (1..=400).collect::<Vec<i64>>(), "each increment has its own result");
    assert_eq!(client.call(Operation::GetCounter { key: b"busy counter" }), OwnedReply::Number(400));
    assert_eq!(client.call(Operation::GetFields { key: b"busy" }), rows([(b"field", b"800")]));
}

pub fn of_sixteen_compare_and_sets_exactly_one_wins(rig: &Rig) {
    if !rig.has(OperationKind::CompareAndSet) {
        return;
    }
    let mut client = rig.client(4, 4);
    let values: Vec<Vec<u8>> = (0..16).map(|slot| vec![slot; 40]).collect();
    let mut round = |key: &[u8], expected: Expected<'_>| {
        let operations: Vec<_> = values.iter().map(|value| Operation::CompareAndSet { key, expected, value }).collect();
        let replies = client.all(&operations);
        assert!(replies.iter().all(|got| matches!(got, OwnedReply::Done | OwnedReply::Conflict)), "{replies:?}");
        assert_eq!(replies.iter().filter(|got| **got == OwnedReply::Done).count(), 1, "{replies:?}");
        let winner = replies.iter().position(|got| *got == OwnedReply::Done).unwrap();
        assert_eq!(client.get(key), OwnedReply::Value(values[winner].clone()));
        values[winner].clone()
    };
    for turn in 0..10 {
        let key = [b"raced ", &[turn][..]].concat();
        let first = round(&key, Expected::Absent);
        // The winner's own value would match again.
        let start = [&first[..], b"!"].concat();
        let mut other = rig.client(1, 1);
        assert_eq!(other.put(&key, &start), OwnedReply::Done);
        let OwnedReply::Versioned { version, .. } = other.call(Operation::GetVersioned { key: &key }) else {
            panic!("not there")
        };
        round(&key, Expected::Present { version, value: &start });
    }
}

pub fn a_compare_and_set_needs_the_value_that_was_read(rig: &Rig) {
    let mut client = rig.client(1, 1);
    let key = b"swapped";
    let swap = |expected, value| Operation::CompareAndSet { key, expected, value };
    assert_eq!(client.call(swap(Expected::Absent, b"\0one")), OwnedReply::Done);
    assert_eq!(client.call(swap(Expected::Absent, b"two")), OwnedReply::Conflict);
    assert_eq!(
        client.call(Operation::GetVersioned { key }),
        OwnedReply::Versioned { value: b"\0one".to_vec(), version: 0 }
    );
    for wrong in [&b"\0on"[..], b"\0One", b"\0one ", b"", b"\0one\0"] {
        let expected = Expected::Present { version: 0, value: wrong };
        assert_eq!(client.call(swap(expected, b"two")), OwnedReply::Conflict);
    }
    let right = Expected::Present { version: 0, value: b"\0one" };
    assert_eq!(client.call(swap(right, b"\0one")), OwnedReply::Done, "to the same value");
    assert_eq!(client.call(swap(right, b"")), OwnedReply::Done);
    assert_eq!(client.call(swap(right, b"three")), OwnedReply::Conflict);
    assert_eq!(client.call(swap(Expected::Present { version: 0, value: b"" }, b"four")), OwnedReply::Done);
    assert_eq!(client.get(key), OwnedReply::Value(b"four".to_vec()));
}

pub fn a_compare_and_set_needs_the_version_that_was_read(rig: &Rig) {
    let mut client = rig.client(1, 1);
    let mut other = rig.client(1, 1);
    let key = b"versioned";
    let swap = |expected, value| Operation::CompareAndSet { key, expected, value };
    assert_eq!(client.call(swap(Expected::Absent, b"one")), OwnedReply::Done);
    assert_eq!(client.call(swap(Expected::Absent, b"two")), OwnedReply::Conflict);
    let OwnedReply::Versioned { value, version } = client.call(Operation::GetVersioned { key }) else {
        panic!("not there")
    };
    assert!(value == b"one" && version != 0);
    let read = Expected::Present { version, value: b"one" };
    assert_eq!(other.put(key, b"one"), OwnedReply::Done, "the same value again");
    assert_eq!(client.call(swap(read, b"two")), OwnedReply::Conflict);
    let OwnedReply::Versioned { version, .. } = client.call(Operation::GetVersioned { key }) else {
        panic!("not there")
    };
    let read = Expected::Present { version, value: b"one" };
    assert_eq!(client.call(swap(read, b"two")), OwnedReply::Done);
    assert_eq!(client.call(swap(read, b"three")), OwnedReply::Conflict);
    assert_eq!(client.call(Operation::Delete { key }), OwnedReply::Done);
    assert_eq!(client.call(swap(read, b"four")), OwnedReply::Conflict);
    assert_eq!(client.get(key), OwnedReply::Missing);
}

pub fn sixteen_slots_may_create_the_same_key(rig: &Rig) {
    let mut client = rig.client(4, 4);
    for turn in 0..10u8 {
        let key = [b"created ", &[turn][..]].concat();
        let values: Vec<[u8; 1]> = (0..16).map(|slot| [slot]).collect();
        let operations: Vec<_> = values.iter().map(|value| Operation::Put { key: &key, value }).collect();
        assert_eq!(client.all(&operations), vec![OwnedReply::Done; 16]);
        assert!(matches!(client.get(&key), OwnedReply::Value(value) if value.len() == 1));
    }
}

pub fn a_refused_value_leaves_the_connection_usable(rig: &Rig) {
    let mut client = rig.client(1, 1);
    let capabilities = rig.capabilities();
    let (key, value) = if capabilities.value_limit_is_hard {
        let longest = vec![7; capabilities.max_value_bytes];
        assert_eq!(client.put(b"big", &longest), OwnedReply::Done);
        assert!(client.get(b"big") == OwnedReply::Value(longest), "the longest value came back otherwise");
        (b"big".to_vec(), vec![8; capabilities.max_value_bytes + 1])
    } else {
        // Bytes that do not compress.
        let mut state = 1u32;
        let mut byte = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        match capabilities.max_key_bytes {
            ..16_000 => ((0..16_000).map(|_| byte()).collect(), b"v".to_vec()),
            _ => (b"big".to_vec(), (0..(16 << 20) + 1).map(|_| byte()).collect()),
        }
    };
    let refused = client.put(&key, &value);
    if refused == OwnedReply::Done && !capabilities.value_limit_is_hard && value.len() > capabilities.max_value_bytes {
        // The limit is not the store's: then it must have been stored whole.
        assert!(client.get(&key) == OwnedReply::Value(value), "a value beyond the limit came back otherwise");
        assert_eq!(client.call(Operation::Delete { key: &key }), OwnedReply::Done);
        return;
    }
    assert!(refusal(&refused).is_some(), "{}", format!("{refused:?}").chars().take(300).collect::<String>());
    assert_eq!(client.put(b"after", b"ok"), OwnedReply::Done);
    assert_eq!(client.get(b"after"), OwnedReply::Value(b"ok".to_vec()));
    if capabilities.value_limit_is_hard {
        assert!(
            client.get(b"big") == OwnedReply::Value(vec![7; capabilities.max_value_bytes]),
            "the old value is gone"
        );
        assert_eq!(client.call(Operation::Delete { key: b"big" }), OwnedReply::Done);
    }
}

pub fn the_store_says_what_it_is(rig: &Rig) {
    let facts = rig.store().facts().unwrap();
    assert!(!facts.product.is_empty());
    assert!(facts.version.starts_with(|first: char| first.is_ascii_digit()), "{facts:?}");
    assert!(facts.config.contains_key("connections"), "{facts:?}");
    println!("{facts:#?}");
}
