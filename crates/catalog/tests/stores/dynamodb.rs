//! DynamoDB's protocol on dynalite (`dynalite` on PATH, or named by KVTRIAL_DYNALITE), and on a server that does not do all it is asked.

#![cfg(feature = "dynamodb")]
#![allow(clippy::unwrap_used)]

use crate::common;
use crate::suite;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::OnceLock;
use store::{Operation, OwnedReply};
use study::Spec;
use testkit::certificates::Certificates;
use testkit::replies::{doubt, no_rows, refusal, rows};
use testkit::waiting::until;
use testkit::{Client, Rig};

fn rig() -> &'static Rig {
    static RIG: OnceLock<Rig> = OnceLock::new();
    Rig::shared("dynamodb", &RIG)
}

suite! {
    all_bytes_come_back_from_keys_and_values,
    an_overwrite_leaves_nothing_of_the_old_value,
    what_was_never_stored_is_missing,
    counters_count_from_nothing_to_their_bounds,
    fields_count_side_by_side,
    many_keys_come_in_the_order_asked,
    concurrent_increments_are_all_counted,
    of_sixteen_compare_and_sets_exactly_one_wins,
    a_compare_and_set_needs_the_value_that_was_read,
    sixteen_slots_may_create_the_same_key,
    a_refused_value_leaves_the_connection_usable,
    the_store_says_what_it_is,
}

#[test]
fn every_level_starts_and_is_read_back() {
    common::levels(&["dynamodb"], &["os", "none"]);
}

#[test]
fn a_stand_in_is_named_as_such_and_promises_no_more_than_it_keeps() {
    let facts = rig().store().facts().unwrap();
    assert_eq!((facts.product.as_str(), rig().capabilities().durability.name()), ("dynalite", "os"));
    assert!(facts.config["stand-in"].contains("not Amazon's"), "{facts:?}");
    let spec: Spec = "dynamodb,durability=commit".parse().unwrap();
    let error = host::open(testkit::rig::info("dynamodb"), &spec, &std::env::temp_dir()).unwrap_err().to_string();
    assert!(error.contains("dynalite") && error.contains("URL"), "{error}");
}

#[test]
fn a_killed_server_is_lost_and_found_again_when_it_is_back() {
    common::restart::kill_and_come_back("dynamodb");
}

#[test]
fn many_items_are_looked_for_and_deleted_in_batches() {
    common::sweeps(&Rig::start("dynamodb"));
}

#[test]
fn an_item_takes_400_kb_and_one_byte_more_is_refused_before_it_is_sent() {
    let mut client = rig().client(1, 1);
    let (key, longest) = (b"large", vec![7; 409_600 - 2 - 5]);
    assert_eq!(client.put(key, &longest), OwnedReply::Done);
    assert!(client.get(key) == OwnedReply::Value(longest.clone()));
    let longer = [&longest[..], b"8"].concat();
    for operation in
        [Operation::Put { key, value: &longer }, Operation::PutMany { pairs: &[(b"small", b"v"), (key, &longer)] }]
    {
        let refused = client.call(operation);
        let words = refusal(&refused).unwrap_or_default();
        assert!(words.contains("409601 bytes") && words.contains("409600"), "{words}");
    }
    assert!(client.get(key) == OwnedReply::Value(longest));
    assert_eq!(client.get(b"small"), OwnedReply::Missing);
}

#[test]
fn answers_that_are_full_are_asked_for_the_rest() {
    let rig = Rig::start("dynamodb,durability=none");
    let mut client = rig.client(1, 1);
    // dynalite answers with little more than 1 MiB.
    let value = vec![1; 300_000];
    let keys: Vec<String> = (0..8).map(|number| format!("large {number}")).collect();
    let pairs: Vec<(&[u8], &[u8])> = keys.iter().map(|key| (key.as_bytes(), &value[..])).collect();
    assert_eq!(client.call(Operation::PutMany { pairs: &pairs }), OwnedReply::Done);
    let keys: Vec<&[u8]> = keys.iter().map(|key| key.as_bytes()).collect();
    assert!(client.call(Operation::GetMany { keys: &keys }) == rows(pairs.iter().copied()));
}

#[test]
fn on_the_users_own_server_another_table_is_not_touched_and_one_of_other_keys_is_refused() {
    let mut private = rig().client(1, 1);
    assert_eq!(private.put(b"the user's", b"data"), OwnedReply::Done);
    let url = |table: &str| format!("dynamodb://name:tulip@{}/{table}", rig().authority());
    let open =
        |text: &str| host::open(testkit::rig::info("dynamodb"), &text.parse::<Spec>().unwrap(), &std::env::temp_dir());
    let another = open(&url("another")).unwrap();
    let facts = another.store().facts().unwrap();
    assert_eq!(facts.product, "a server of DynamoDB's protocol");
    assert!(!format!("{facts:?}").contains("tulip"), "{facts:?}");
    assert_eq!(another.store().belongings().names(), ["table another"]);
    let mut client = Client::new(another.store(), 1, 1);
    assert_eq!(client.get(b"the user's"), OwnedReply::Missing);
    assert_eq!(client.put(b"k", b"v"), OwnedReply::Done);
    assert_eq!(private.get(b"the user's"), OwnedReply::Value(b"data".to_vec()));
    let error = open(&url("a!")).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("3 to 255 letters"), "{error}");
    let error = open(&format!("{},durability=commit", url("another"))).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("durability=commit was asked for"), "{error}");
}

/// A server that has every table and answers 200 to all, with the body that follows from the request.
fn liar(answer: fn(&str) -> String) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            std::thread::spawn(move || speak(stream, answer));
        }
    });
    port
}

fn speak(mut stream: TcpStream, answer: fn(&str) -> String) {
    let (mut came, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        let text = String::from_utf8_lossy(&came).into_owned();
        let whole = text.split_once("\r\n\r\n").is_some_and(|(head, body)| {
            let length =
                head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
            body.len() >= length.unwrap_or(0)
        });
        if whole {
            came.clear();
            let body = answer(&text);
            let reply = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
            if stream.write_all(reply.as_bytes()).is_err() {
                return;
            }
            continue;
        }
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => return,
            Ok(bytes) => came.extend_from_slice(&piece[..bytes]),
        }
    }
}

const TABLE: &str = r#"{"Table":{"TableStatus":"ACTIVE","KeySchema":[{"AttributeName":"k","KeyType":"HASH"}],"AttributeDefinitions":[{"AttributeName":"k","AttributeType":"B"}]}}"#;

#[test]
fn what_a_server_did_not_do_is_not_done_though_its_status_be_200() {
    let port = liar(|request| {
        let target = request.split_once("x-amz-target: DynamoDB_20120810.").map_or("", |(_, rest)| rest);
        match target.split("\r\n").next() {
            Some("DescribeTable") => TABLE.into(),
            Some("BatchWriteItem") => {
                r#"{"UnprocessedItems":{"kvtrial":[{"PutRequest":{"Item":{"k":{"B":"Yg=="},"v":{"B":"eQ=="}}}}]}}"#.into()
            }
            Some("BatchGetItem") => {
                r#"{"Responses":{"kvtrial":[{"k":{"B":"YQ=="},"v":{"B":"eA=="}}]},"UnprocessedKeys":{"kvtrial":{"Keys":[{"k":{"B":"Yg=="}}]}}}"#.into()
            }
            _ => "{}".into(),
        }
    });
    let spec: Spec = format!("dynamodb://name:tulip@127.0.0.1:{port}").parse().unwrap();
    let open = host::open(testkit::rig::info("dynamodb"), &spec, &std::env::temp_dir()).unwrap();
    let mut client = Client::new(open.store(), 1, 1);
    // One of the two was put.
    let half_done = client.call(Operation::PutMany { pairs: &[(b"a", b"x"), (b"b", b"y")] });
    assert!(
        doubt(&half_done).is_some_and(|words| words.contains("1 of 2 items") && words.contains("UnprocessedItems")),
        "{half_done:?}"
    );
    let refused = client.call(Operation::GetMany { keys: &[b"a", b"b"] });
    assert!(
        refusal(&refused).is_some_and(|words| words.contains("1 of 2 keys") && words.contains("UnprocessedKeys")),
        "{refused:?}"
    );
    assert_eq!(client.call(Operation::GetMany { keys: &[] }), no_rows());
}

#[test]
fn tables_of_other_keys_and_servers_of_other_protocols_are_refused_by_name() {
    let numbers = |_: &str| TABLE.replace(r#""AttributeType":"B""#, r#""AttributeType":"N""#);
    for (answer, words) in
        [(numbers as fn(&str) -> String, "not found by the bytes in k"), (|_| "hello".into(), "no DynamoDB")]
    {
        let spec: Spec = format!("dynamodb://name:tulip@127.0.0.1:{}", liar(answer)).parse().unwrap();
        let error = host::open(testkit::rig::info("dynamodb"), &spec, &std::env::temp_dir())
            .map(|_| ())
            .unwrap_err()
            .to_string();
        assert!(error.contains(words) && !error.contains("tulip"), "{error}");
    }
}

#[test]
fn over_tls_a_server_is_believed_only_if_its_authority_is_named() {
    let certificates = Certificates::made();
    let port = testkit::free_port();
    let dynalite = std::env::var("KVTRIAL_DYNALITE").unwrap_or_else(|_| "dynalite".into());
    let mut server = std::process::Command::new(dynalite)
        .args(["--host", "127.0.0.1", "--createTableMs", "0", "--ssl", "--port", &port.to_string()])
        .args([format!("--key={}", certificates.pem("key.pem")), format!("--cert={}", certificates.pem("cert.pem"))])
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let open = |options: &str| {
        let spec: Spec = format!("dynamodb://name:tulip@127.0.0.1:{port}{options}").parse().unwrap();
        host::open(testkit::rig::info("dynamodb"), &spec, &std::env::temp_dir()).map_err(|error| error.to_string())
    };
    until("it listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
    let believed = open(&format!(",tls=on,ca={}", certificates.path("ca.pem").display())).unwrap();
    let mut client = Client::new(believed.store(), 1, 1);
    let large = vec![3; 300_000];
    assert_eq!(client.put(b"k", &large), OwnedReply::Done);
    assert!(client.get(b"k") == OwnedReply::Value(large));
    assert!(believed.store().facts().unwrap().config["protocol"].ends_with(", TLS"));
    let stranger = open(",tls=on").map(|_| ()).unwrap_err();
    assert!(stranger.contains("TLS: no trusted authority has signed"), "{stranger}");
    let plain = open("").map(|_| ()).unwrap_err();
    assert!(!plain.is_empty() && !plain.contains("tulip"), "{plain}");
    server.kill().unwrap();
    server.wait().unwrap();
}
