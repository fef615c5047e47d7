//! What becomes of an operation that fails over HTTP: a server that failed at it, one that said no, and none at all.
#![cfg(feature = "full")]
#![allow(clippy::unwrap_used, clippy::panic)]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use store::{BlockingClient, Endpoint, Fate, Opener, Operation, OwnedFailure, OwnedReply, Store};
use study::Spec;

/// What a server answers to anything but the questions of a client that connects.
#[derive(Clone, Copy)]
struct Answer {
    status: u16,
    body: &'static str,
}

/// A server of any of these stores, as far as connecting goes; `false` in the switch: it hangs up on everybody.
fn serve(answer: Answer, open: Arc<AtomicBool>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let open = open.clone();
            std::thread::spawn(move || converse(stream, answer, &open));
        }
    });
    port
}

fn converse(mut stream: TcpStream, answer: Answer, open: &AtomicBool) {
    let mut request = vec![0; 64 << 10];
    while let Ok(size @ 1..) = stream.read(&mut request) {
        if !open.load(Ordering::Relaxed) {
            return;
        }
        let (status, head, body) = reply(&request[..size], answer);
        let said = format!("HTTP/1.1 {status} X\r\n{head}Content-Length: {}\r\n\r\n{body}", body.len());
        if stream.write_all(said.as_bytes()).is_err() {
            return;
        }
    }
}

fn reply(request: &[u8], answer: Answer) -> (u16, &'static str, &'static str) {
    let has = |word: &[u8]| request.windows(word.len()).any(|part| part == word);
    let begins = |word: &[u8]| request.starts_with(word);
    match () {
        _ if begins(b"GET / ") => (200, "", r#"{"couchdb":"Welcome","version":"3"}"#),
        _ if begins(b"PUT /kvtrial/_security ") => (200, "", "{}"),
        _ if begins(b"PUT /kvtrial ") => (201, "", "{}"),
        _ if begins(b"GET /version/cluster") => (200, "", r#"{"Version":"2.6.1"}"#),
        _ if begins(b"GET /status/cluster") => (200, "", r#"{"LiveNodes":[],"DeadNodes":[]}"#),
        _ if begins(b"GET /kvtrial/schema") => (200, "", r#"{"ColumnSchema":[{"name":"f"}]}"#),
        _ if begins(b"PUT /kvtrial/scanner") => (201, "Location: /kvtrial/scanner/1\r\n", ""),
        _ if has(b" /kvtrial/scanner/1 ") => (200, "", r#"{"Row":[]}"#),
        _ if has(b"list-type") => (200, "", "<R><Name>kvtrial</Name></R>"),
        _ if begins(b"GET /version") => (200, "", r#"{"etcdserver":"3.4.23","etcdcluster":"3.4.0"}"#),
        _ if has(b"count_only") => (200, "", "{}"),
        _ if has(b"DescribeTable") => (
            200,
            "",
            r#"{"Table":{"TableStatus":"ACTIVE","KeySchema":[{"AttributeName":"k"}],"AttributeDefinitions":[{"AttributeName":"k","AttributeType":"B"}]}}"#,
        ),
        _ => (answer.status, "", answer.body),
    }
}

fn store(name: &str, port: u16) -> Box<dyn Store> {
    // etcd has no databases.
    let database = (name != "etcd").then(|| "kvtrial".to_owned());
    let path = database.as_ref().map_or_else(String::new, |database| format!("/{database}"));
    let spec = Spec { name: name.into(), ..format!("{name}://127.0.0.1:{port}{path}").parse().unwrap() };
    let Opener::Server { connect, .. } = kvtrial_catalog::find(name).unwrap().opener else { panic!("{name}") };
    let endpoint = Endpoint { database, ..Endpoint::loopback(port) };
    connect(&spec, &[endpoint]).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// What is known of a put that is answered so.
fn failure(name: &str, answer: Answer) -> OwnedFailure {
    let store = store(name, serve(answer, Arc::new(AtomicBool::new(true))));
    let mut client = BlockingClient::open(&*store, 1, Duration::from_secs(20)).unwrap();
    match client.execute(&Operation::Put { key: b"k", value: b"v" }).unwrap() {
        OwnedReply::Failed(failure) => failure,
        other => panic!("{name}: {other:?}"),
    }
}

const STORES: [&str; 5] = ["etcd", "s3", "dynamodb", "hbase", "couchdb"];

#[test]
fn a_server_that_failed_at_a_put_leaves_open_what_happened() {
    let timed_out = Answer { status: 503, body: r#"{"error":"etcdserver: request timed out","code":14}"# };
    for (name, answer) in
        STORES.map(|name| (name, Answer { status: 500, body: "" })).into_iter().chain([("etcd", timed_out)])
    {
        let failure = failure(name, answer);
        assert!(matches!(&failure, OwnedFailure::Unknown(_)), "{name}: {failure:?}");
        assert_eq!(failure.as_failure().fate(), Fate::Unknown);
        assert!(failure.as_failure().words().contains(&answer.status.to_string()), "{name}: {failure:?}");
    }
}

#[test]
fn a_server_that_said_no_to_a_put_has_done_nothing() {
    for name in STORES {
        let failure = failure(name, Answer { status: 413, body: "" });
        assert!(matches!(&failure, OwnedFailure::Refused(_)), "{name}: {failure:?}");
        assert!(!failure.as_failure().fate().may_have_happened());
    }
}

#[test]
fn a_put_whose_connection_breaks_is_unknown() {
    for name in STORES {
        let open = Arc::new(AtomicBool::new(true));
        let store = store(name, serve(Answer { status: 200, body: "{}" }, open.clone()));
        let mut client = BlockingClient::open(&*store, 1, Duration::from_secs(20)).unwrap();
        open.store(false, Ordering::Relaxed);
        let reply = client.execute(&Operation::Put { key: b"k", value: b"v" }).unwrap();
        assert!(matches!(reply, OwnedReply::Failed(OwnedFailure::ConnectionLost(_))), "{name}: {reply:?}");
        assert_eq!(reply.as_reply().fate(), Some(Fate::Unknown));
    }
}
