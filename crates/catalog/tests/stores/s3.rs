//! S3's protocol on s3s-fs (`s3s-fs` on PATH, or named by KVTRIAL_S3S_FS; these are among the longer tests), and on a bucket in this
//! process that tests conditions.

#![cfg(feature = "s3")]
#![allow(clippy::unwrap_used)]

use crate::common;
use crate::suite;

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, OnceLock};
use store::{Expected, Operation, OwnedReply, Store};
use study::Spec;
use testkit::replies::refusal;
use testkit::waiting::until;
use testkit::{Client, Rig};

fn rig() -> &'static Rig {
    static RIG: OnceLock<Rig> = OnceLock::new();
    Rig::shared("s3,server=s3s-fs", &RIG)
}

suite! {
    ignored "s3s-fs comes in no package":
    an_overwrite_leaves_nothing_of_the_old_value,
    values_of_every_size_come_back_whole,
    what_was_never_stored_is_missing,
    sixteen_slots_may_create_the_same_key,
    the_store_says_what_it_is,
}

#[test]
#[ignore = "s3s-fs comes in no package"]
fn all_bytes_come_back_from_keys_and_values_up_to_the_longest_key() {
    let mut client = rig().client(1, 1);
    let all: Vec<u8> = (0..=255).collect();
    let longest = vec![b'/'; rig().capabilities().max_key_bytes];
    let odd: [&[u8]; 6] = [b".", b"..", b"a/b", b"/", b"\r\nGET x\r\n", b"%41"];
    for key in all.chunks(100).chain(odd).chain([&longest[..], &longest[1..]]) {
        let value = [&all[..], key].concat();
        assert_eq!(client.put(key, &value), OwnedReply::Done);
        assert_eq!(client.get(key), OwnedReply::Value(value));
    }
    let refused = client.put(vec![b'/'; 300], b"v");
    assert!(refusal(&refused).is_some(), "{refused:?}");
}

#[test]
#[ignore = "s3s-fs comes in no package"]
fn every_level_starts_and_is_read_back() {
    common::levels(&["s3,server=s3s-fs"], &["os"]);
}

#[test]
#[ignore = "s3s-fs comes in no package"]
fn a_killed_server_is_lost_and_found_again_when_it_is_back() {
    common::restart::kill_and_come_back("s3,server=s3s-fs");
}

#[test]
#[ignore = "s3s-fs comes in no package"]
fn a_stand_in_is_named_as_such_and_promises_no_more_than_it_keeps() {
    let facts = rig().store().facts().unwrap();
    assert_eq!((facts.product.as_str(), rig().capabilities().durability.name()), ("s3s-fs", "os"));
    assert!(facts.config["stand-in"].contains("not Amazon's"), "{facts:?}");
    for (level, words) in [("commit", "never syncs"), ("none", "has durability=os")] {
        let error = open(&format!("s3,server=s3s-fs,durability={level}")).map(|_| ()).unwrap_err();
        assert!(error.contains("s3s-fs") && error.contains(words), "{error}");
    }
}

#[test]
#[ignore = "s3s-fs comes in no package"]
fn all_objects_are_counted_over_several_pages_of_the_list() {
    let rig = Rig::start("s3,server=s3s-fs");
    let mut client = rig.client(4, 4);
    let keys: Vec<String> = (0..1040).map(|number| format!("object/{number}")).collect();
    for keys in keys.chunks(16) {
        let puts: Vec<_> = keys.iter().map(|key| Operation::Put { key: key.as_bytes(), value: b"v" }).collect();
        assert_eq!(client.all(&puts), vec![OwnedReply::Done; keys.len()]);
    }
    assert_eq!(rig.store().holding().unwrap().keys, Some(1040));
}

fn open(text: &str) -> Result<host::OpenStore, String> {
    let spec: Spec = text.parse().unwrap();
    host::open(testkit::rig::info("s3"), &spec, &std::env::temp_dir()).map_err(|error| error.to_string())
}

#[test]
#[ignore = "s3s-fs comes in no package"]
fn a_server_that_looks_at_signatures_takes_ours_and_none_of_a_wrong_secret() {
    let directory = tempfile::tempdir().unwrap();
    let port = testkit::free_port();
    let program = std::env::var("KVTRIAL_S3S_FS").unwrap_or_else(|_| "s3s-fs".into());
    let mut server = std::process::Command::new(program)
        .args(["--host", "127.0.0.1", "--port", &port.to_string(), "--access-key", "name", "--secret-key", "tu/li+p"])
        .arg(directory.path())
        .spawn()
        .unwrap();
    until("it listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
    let url = |login: &str, bucket: &str| format!("s3://{login}127.0.0.1:{port}/{bucket}");
    let store = open(&url("name:tu%2Fli+p@", "of-mine")).unwrap();
    let mut client = Client::new(store.store(), 1, 1);
    for key in [&b"plain"[..], b"a b/\xff?&=+%"] {
        assert_eq!(client.put(key, b"value"), OwnedReply::Done);
        assert_eq!(client.get(key), OwnedReply::Value(b"value".to_vec()));
        assert_eq!(client.call(Operation::Delete { key }), OwnedReply::Done);
        assert_eq!(client.get(key), OwnedReply::Missing);
    }
    assert_eq!(store.store().belongings().names(), ["bucket of-mine"]);
    let facts = format!("{:?}", store.store().facts().unwrap());
    assert!(facts.contains("a server of S3's protocol") && !facts.contains("tu/li+p"), "{facts}");
    for login in ["name:rose@", "nobody:tu%2Fli+p@", ""] {
        let error = open(&url(login, "of-mine")).map(|_| ()).unwrap_err();
        assert!(error.contains("s3://KEY:SECRET@HOST") && !error.contains("rose"), "{login}: {error}");
    }
    let error = open(&url("name:tu%2Fli+p@", "Of_Mine")).map(|_| ()).unwrap_err();
    assert!(error.contains("3 to 63 lowercase letters"), "{error}");
    server.kill().unwrap();
    server.wait().unwrap();
}

/// Objects by their path, with the number of their last change, which is their ETag.
type Bucket = Arc<Mutex<(u64, HashMap<String, (u64, Vec<u8>)>)>>;

/// A bucket in this process: it tests the condition of a write and carries it out at once.
fn bucket() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let bucket = Bucket::default();
        for stream in listener.incoming() {
            let bucket = bucket.clone();
            std::thread::spawn(move || speak(stream.unwrap(), &bucket));
        }
    });
    port
}

fn speak(mut stream: TcpStream, bucket: &Bucket) {
    let (mut came, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        let end = came.windows(4).position(|part| part == b"\r\n\r\n");
        if let Some(end) = end {
            let head = String::from_utf8_lossy(&came[..end]).into_owned();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok()).unwrap_or(0);
            if came.len() >= end + 4 + length {
                let body = came[end + 4..end + 4 + length].to_vec();
                came.drain(..end + 4 + length);
                if stream.write_all(&answer(&head, body, bucket)).is_err() {
                    return;
                }
                continue;
            }
        }
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => return,
            Ok(bytes) => came.extend_from_slice(&piece[..bytes]),
        }
    }
}

fn answer(head: &str, body: Vec<u8>, bucket: &Bucket) -> Vec<u8> {
    let mut words = head.split(' ');
    let (method, path) = (words.next().unwrap(), words.next().unwrap().to_owned());
    let header = |name: &str| head.lines().find_map(|line| line.strip_prefix(name));
    let reply = |status: u16, etag: u64, body: &[u8]| {
        let head = format!("HTTP/1.1 {status} X\r\nETag: \"{etag}\"\r\nContent-Length: {}\r\n\r\n", body.len());
        [head.as_bytes(), if method == "HEAD" { b"" } else { body }].concat()
    };
    const MISSING: &[u8] = b"<Error><Code>NoSuchKey</Code></Error>";
    if path.contains('?') {
        return reply(200, 0, b"<ListBucketResult><Name>kvtrial</Name></ListBucketResult>");
    }
    let mut bucket = bucket.lock().unwrap();
    let (last, objects) = &mut *bucket;
    let now = objects.get(&path).map(|(etag, _)| format!("\"{etag}\""));
    match method {
        "PUT" => match (header("if-match: "), header("if-none-match: ")) {
            (Some(_), _) if now.is_none() => reply(404, 0, MISSING),
            (Some(asked), _) if now.as_deref() != Some(asked) => reply(412, 0, b""),
            (_, Some("*")) if now.is_some() => reply(409, 0, b""),
            _ => {
                *last += 1;
                objects.insert(path, (*last, body));
                reply(200, *last, b"")
            }
        },
        "DELETE" => {
            objects.remove(&path);
            b"HTTP/1.1 204 X\r\n\r\n".to_vec()
        }
        _ => match objects.get(&path) {
            Some((etag, value)) => reply(200, *etag, value),
            None => reply(404, 0, MISSING),
        },
    }
}

#[test]
fn compare_and_set_is_a_condition_on_the_etag_and_of_sixteen_exactly_one_wins() {
    let opened = open(&format!("s3://127.0.0.1:{}", bucket())).unwrap();
    let store: &dyn Store = opened.store();
    let (mut client, mut other) = (Client::new(store, 4, 4), Client::new(store, 1, 1));
    let key = b"raced";
    let swap = |expected, value| Operation::CompareAndSet { key, expected, value };
    for _ in 0..10 {
        let replies = client.all(&[swap(Expected::Absent, b"first"); 16]);
        let won = |replies: &[OwnedReply]| replies.iter().filter(|reply| **reply == OwnedReply::Done).count();
        assert!(won(&replies) == 1 && replies.iter().filter(|it| **it == OwnedReply::Conflict).count() == 15);
        let OwnedReply::Versioned { value, version } = other.call(Operation::GetVersioned { key }) else { panic!() };
        assert!(value == b"first" && version != 0);
        let replies = client.all(&[swap(Expected::Present { version, value: b"first" }, b"second"); 16]);
        assert!(won(&replies) == 1 && replies.iter().filter(|it| **it == OwnedReply::Conflict).count() == 15);
        assert_eq!(other.get(key), OwnedReply::Value(b"second".to_vec()));
        let OwnedReply::Versioned { version, .. } = other.call(Operation::GetVersioned { key }) else { panic!() };
        assert_eq!(client.call(Operation::Delete { key }), OwnedReply::Done);
        let late = other.call(swap(Expected::Present { version, value: b"second" }, b"third"));
        assert_eq!((late, other.get(key)), (OwnedReply::Conflict, OwnedReply::Missing), "404: it is gone");
    }
}

#[test]
fn a_slot_that_read_an_older_version_may_still_swap_what_another_slot_has_read() {
    let opened = open(&format!("s3://127.0.0.1:{}", bucket())).unwrap();
    let mut slots = Client::new(opened.store(), 2, 1);
    let key = b"read twice";
    let read = Operation::GetVersioned { key };
    let swap =
        |version, value| Operation::CompareAndSet { key, expected: Expected::Present { version, value: b"" }, value };
    assert_eq!(slots.on_slots(&[(0, Operation::Put { key, value: b"one" })]), [OwnedReply::Done]);
    assert!(matches!(slots.on_slots(&[(0, read)])[0], OwnedReply::Versioned { .. }));
    assert_eq!(slots.on_slots(&[(1, Operation::Put { key, value: b"two" })]), [OwnedReply::Done]);
    let OwnedReply::Versioned { version, .. } = slots.on_slots(&[(1, read)]).remove(0) else { panic!() };
    assert_eq!(slots.on_slots(&[(0, swap(version, b"three"))]), [OwnedReply::Done]);
    assert_eq!(slots.on_slots(&[(0, swap(version, b"four"))]), [OwnedReply::Conflict]);
}
