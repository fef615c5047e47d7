//! What every store behind an async driver must do, against a real server started for it.

#![allow(clippy::unwrap_used, dead_code)]

pub mod restart;
pub mod suite;

use std::time::Instant;
use store::{Belongings, Operation, OwnedReply, Sweep};
use study::Spec;
use testkit::rig::info;
use testkit::waiting::PATIENCE;
use testkit::{Client, Rig};

/// Starts each store at each level, writes and reads, and compares the level with what the server says.
pub fn levels(names: &[&str], levels: &[&str]) {
    for name in names {
        for level in levels {
            let rig = Rig::start(&format!("{name},durability={level}"));
            assert_eq!(rig.capabilities().durability.name(), *level);
            let mut client = rig.client(2, 1);
            assert_eq!(client.put(b"k", level.as_bytes()), OwnedReply::Done);
            assert_eq!(client.get(b"k"), OwnedReply::Value(level.as_bytes().to_vec()));
            drop(client);
            rig.close();
        }
    }
}

/// Batches that take the same rows in opposite orders: the server undoes some, and none of that is lost or left unsaid.
pub fn deadlocks(rig: &Rig, clients: u32) {
    let keys: Vec<Vec<u8>> = (0..300).map(|number| format!("deadlock {number:03}").into_bytes()).collect();
    let up: Vec<(&[u8], &[u8])> = keys.iter().map(|key| (&key[..], &b"up"[..])).collect();
    let down: Vec<(&[u8], &[u8])> = keys.iter().rev().map(|key| (&key[..], &b"down"[..])).collect();
    let mut client = rig.client(clients, 1);
    let before = rig.store().resent();
    // Whether batches overlap is chance, and a fast machine is soon through with one.
    let limit = Instant::now() + PATIENCE;
    while Instant::now() < limit {
        let batches: Vec<Operation<'_>> =
            (0..clients).map(|slot| Operation::PutMany { pairs: if slot % 2 == 0 { &up } else { &down } }).collect();
        assert_eq!(client.all(&batches), vec![OwnedReply::Done; clients as usize]);
        if rig.store().resent() > before {
            return;
        }
    }
    panic!("{clients} batches in opposite orders, again and again, and no deadlock");
}

/// Documents counted and summed by the store itself, with characters that any way of keeping text could spoil.
pub fn reduces(rig: &Rig) {
    let documents = [
        r#"{"place":{"code":"FR"},"people":7}"#,
        r#"{"people":-9007199254740990,"place":{"code":"back\\slash \"ö\" 漢"},"more":[null,"\u0001"]}"#,
        r#"{"place":{"code":"FR"},"people":9000000000}"#,
        "{\t\"place\":\n{\"code\":\"\"},\"people\":0,\"x\":\"\u{7f}\"}",
    ];
    let mut client = rig.client(1, 1);
    for (number, document) in documents.iter().enumerate() {
        assert_eq!(client.put(format!("document {number}").as_bytes(), document.as_bytes()), OwnedReply::Done);
    }
    let field = |path: &str| store::FieldPath::parse(path).unwrap();
    let reduction = store::Reduction { group: field("place.code"), sum: field("people") };
    let mut groups = rig.store().reduces().unwrap().reduce(&reduction, PATIENCE).unwrap();
    groups.sort();
    let groups: Vec<_> = groups.iter().map(|group| (group.key.as_str(), group.count, group.sum)).collect();
    assert_eq!(groups, [("", 1, 0), ("FR", 2, 9_000_000_007), ("back\\slash \"ö\" 漢", 1, -9_007_199_254_740_990)]);
    for (number, document) in documents.iter().enumerate() {
        let key = format!("document {number}");
        assert_eq!(client.get(key.as_bytes()), OwnedReply::Value(document.as_bytes().to_vec()));
        assert_eq!(client.call(Operation::Delete { key: key.as_bytes() }), OwnedReply::Done);
    }
    rig.store().maintenance().compaction.unwrap().compact(PATIENCE).unwrap();
    assert_eq!(client.get(b"document 1"), OwnedReply::Missing);
}

/// Many keys at once, of which some are there: found, counted, and deleted with no other.
pub fn sweeps(rig: &Rig) {
    let mut client = rig.client(1, 4);
    let key = |n: u32| {
        if n.is_multiple_of(2) { format!("key {n}").into_bytes() } else { [&[1, b'\t'], &n.to_be_bytes()[..]].concat() }
    };
    let keys: Vec<Vec<u8>> = (0..1000).map(key).collect();
    for key in &keys[10..310] {
        assert_eq!(client.put(key, b"v"), OwnedReply::Done);
    }
    assert_eq!(client.put(b"another", b"stays"), OwnedReply::Done);
    let lent: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    let found = Some(store::Swept { there: 300, first: Some(10) });
    let none = Some(store::Swept::default());
    for (sweep, expected) in [(Sweep::Look, found), (Sweep::Delete, found), (Sweep::Look, none), (Sweep::Delete, none)]
    {
        assert_eq!(rig.store().sweep(sweep, &lent).unwrap(), expected, "{sweep:?}");
    }
    assert_eq!(rig.store().sweep(Sweep::Delete, &[]).unwrap(), none);
    assert!(keys[10..310].iter().all(|key| client.get(key) == OwnedReply::Missing));
    assert_eq!(client.get(b"another"), OwnedReply::Value(b"stays".to_vec()));
    assert_eq!(client.put(&keys[10], b"again"), OwnedReply::Done);
}

/// The same server reached by its URL: connecting leaves the rows of kvtrial's own tables, which are counted, and made again only when
/// that is asked for; the user's data stay as they are.
pub fn as_the_users_own(rig: &Rig, url: &str) {
    let mut private = rig.client(1, 1);
    assert_eq!(private.put(b"the user's", b"data"), OwnedReply::Done);
    let spec: Spec = url.parse().unwrap();
    let open = || host::open(info(&spec.name), &spec, &std::env::temp_dir()).unwrap();
    let first = open();
    let mut client = Client::new(first.store(), 1, 1);
    assert_eq!(client.get(b"the user's"), OwnedReply::Missing, "another database than the private one");
    assert_eq!(client.put(b"k", b"v"), OwnedReply::Done);
    drop(client);
    let again = open();
    assert_eq!(Client::new(again.store(), 1, 1).get(b"k"), OwnedReply::Value(b"v".to_vec()), "nobody said it may go");
    let Belongings::Own(tables) = again.store().belongings() else { panic!("it has no tables of its own") };
    assert_eq!(tables.rows().unwrap(), 1);
    tables.clear().unwrap();
    assert_eq!(Client::new(again.store(), 1, 1).get(b"k"), OwnedReply::Missing);
    assert_eq!(tables.rows().unwrap(), 0);
    assert_eq!(private.get(b"the user's"), OwnedReply::Value(b"data".to_vec()));
}

/// The same: a level that the server does not have is refused with the one it has.
pub fn with_its_own_level(url: &str, level: &str) {
    let asked: Spec = format!("{url},durability=commit").parse().unwrap();
    let spec = &asked;
    let error = host::open(info(&spec.name), &asked, &std::env::temp_dir()).unwrap_err().to_string();
    assert!(error.contains("durability=commit was asked for") && error.contains(level), "{error}");
}
