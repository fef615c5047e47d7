//! The recorder between pipelines of many connections, subscriptions and quiet commands: every byte as it was, and each reply with its command.
#![allow(clippy::unwrap_used)]

use data::splitmix::Rng;
use kvtrial_record::{RecordRequest, RecordedProtocol, Recorder};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use study::Address;
use trace::kvtrace::{KvtraceReader, Recorded, RecordedKeys, RecordedValues, ReplyShape};

struct Server(Child, u16);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn server(program: &str, words: &str) -> Server {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let words = words.replace("PORT", &port.to_string());
    let child = Command::new(program).args(words.split(' ')).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let child = child.unwrap_or_else(|error| panic!("{program}: {error}: apt-get install redis-server memcached"));
    let until = Instant::now() + Duration::from_secs(60);
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(Instant::now() < until, "{program} does not start");
        std::thread::sleep(Duration::from_millis(5));
    }
    Server(child, port)
}

fn redis() -> Server {
    server("redis-server", "--bind 127.0.0.1 --port PORT --appendonly no --dir /tmp --dbfilename none.rdb")
}

fn recorder(port: u16, protocol: RecordedProtocol, out: &Path) -> Recorder {
    let store = Address::Tcp { host: "127.0.0.1".into(), port: Some(port) };
    let (keys, values) = (RecordedKeys::Kept, RecordedValues::Sizes);
    let (listen, out) = ("127.0.0.1:0".into(), out.into());
    Recorder::begin(&RecordRequest { store, trust: None, usual_port: 1, protocol, listen, out, keys, values }).unwrap()
}

/// Connections of the load, requests in a pipeline of each, and how many pipelines it sends.
const CONNECTIONS: u64 = 6;
const PIPELINE: usize = 24;
const PIPELINES: usize = 60;

/// What memtier_benchmark does: per connection one set to ten gets over keys of its own, in pipelines, values of many sizes; the bytes of all replies.
fn load(port: u16, connection: u64) -> Vec<u8> {
    let mut rng = Rng::new(connection);
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let mut replies = BufReader::new(stream.try_clone().unwrap());
    let mut all = Vec::new();
    for _ in 0..PIPELINES {
        let mut asked = Vec::new();
        for _ in 0..PIPELINE {
            let key = format!("memtier-{connection}-{}", rng.u64() % 200);
            if rng.u64().is_multiple_of(11) {
                let size = (rng.u64() % 9_000) as usize;
                asked
                    .extend_from_slice(format!("*3\r\n$3\r\nSET\r\n${}\r\n{key}\r\n${size}\r\n", key.len()).as_bytes());
                // Also bytes that look like the protocol.
                asked.extend((0..size).map(|at| b"\r\n$5*0+x"[(at + size) % 8]));
                asked.extend_from_slice(b"\r\n");
            } else {
                asked.extend_from_slice(format!("*2\r\n$3\r\nGET\r\n${}\r\n{key}\r\n", key.len()).as_bytes());
            }
        }
        stream.write_all(&asked).unwrap();
        for _ in 0..PIPELINE {
            let mut line = Vec::new();
            replies.read_until(b'\n', &mut line).unwrap();
            let length =
                line.strip_prefix(b"$").map(|text| String::from_utf8_lossy(text).trim().parse::<i64>().unwrap());
            all.extend_from_slice(&line);
            if let Some(length @ 0..) = length {
                let mut value = vec![0; length as usize + 2];
                replies.read_exact(&mut value).unwrap();
                all.extend_from_slice(&value);
            }
        }
    }
    all
}

fn loads(port: u16) -> Vec<Vec<u8>> {
    let threads: Vec<_> = (0..CONNECTIONS).map(|one| std::thread::spawn(move || load(port, one))).collect();
    threads.into_iter().map(|thread| thread.join().unwrap()).collect()
}

#[test]
fn pipelines_of_many_connections_are_answered_byte_for_byte_as_without_the_recorder() {
    let directory = tempfile::tempdir().unwrap();
    let [one, other] = [redis(), redis()];
    let recorder = recorder(one.1, RecordedProtocol::Resp, &directory.path().join("app.kvtrace"));
    let through = loads(recorder.address().port());
    assert!(through == loads(other.1), "the same bytes");
    let hits = through.iter().flat_map(|replies| replies.windows(4)).filter(|bytes| bytes == b"\r\n$5").count();
    assert!(hits > 100, "{hits}");
    let sum = recorder.end();
    let all = CONNECTIONS * (PIPELINE * PIPELINES) as u64;
    assert_eq!((sum.connections, sum.commands, sum.replies), (CONNECTIONS, all, all));
    assert_eq!((sum.not_understood_bytes, sum.answered_bytes), (0, through.iter().map(Vec::len).sum::<usize>() as u64));
}

/// A conversation: each text is sent, and then as many bytes are read as stand beside it.
fn talk(port: u16, parts: &[(&str, usize)], between: impl Fn(usize)) -> Vec<u8> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut all = Vec::new();
    for (at, (asked, bytes)) in parts.iter().enumerate() {
        stream.write_all(asked.as_bytes()).unwrap();
        between(at);
        let mut answer = vec![0; *bytes];
        stream.read_exact(&mut answer).unwrap_or_else(|error| panic!("{asked}: {error}: {}", answer.escape_ascii()));
        all.extend_from_slice(&answer);
    }
    all
}

/// The commands of a recording, and the shapes of the replies.
fn shapes(file: &Path) -> Vec<ReplyShape> {
    let mut reader = KvtraceReader::open(file).unwrap();
    let mut shapes = Vec::new();
    while reader
        .block(|_, _, recorded| {
            if let Recorded::Reply(reply) = recorded {
                shapes.push(reply.shape);
            }
            Ok(())
        })
        .unwrap()
    {}
    shapes
}

#[test]
fn messages_of_a_subscription_are_no_replies_and_what_is_asked_behind_them_has_its_own() {
    use ReplyShape::{Many, Status, Value};
    // In version 3 commands are answered within a subscription, too, and what comes unasked begins with '>'.
    for (hello, shapes) in
        [("", [Many, Many, Many, Status, Value].to_vec()), ("HELLO 3", [Many, Many, Status, Value].to_vec())]
    {
        let directory = tempfile::tempdir().unwrap();
        let (server, out) = (redis(), directory.path().join("app.kvtrace"));
        let recorder = recorder(server.1, RecordedProtocol::Resp, &out);
        let mut stream = TcpStream::connect(recorder.address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut replies = BufReader::new(stream.try_clone().unwrap());
        let mut until = |last: &str| {
            let mut line = String::new();
            while !line.ends_with(last) {
                assert!(replies.read_line(&mut line).unwrap() > 0, "{line}");
            }
        };
        if !hello.is_empty() {
            stream.write_all(b"HELLO 3\r\n").unwrap();
            until("modules\r\n*0\r\n");
        }
        stream.write_all(b"SUBSCRIBE news other\r\n").unwrap();
        until(":2\r\n");
        for text in ["one", "two"] {
            talk(server.1, &[(&format!("PUBLISH news {text}\r\n"), 4)], |_| {});
            until(&format!("{text}\r\n"));
        }
        if hello.is_empty() {
            stream.write_all(b"UNSUBSCRIBE news\r\nUNSUBSCRIBE other\r\n").unwrap();
            until(":0\r\n");
        }
        stream.write_all(b"SET a value\r\nGET a\r\n").unwrap();
        until("value\r\n");
        drop((stream, replies));
        std::thread::sleep(Duration::from_millis(100));
        let sum = recorder.end();
        assert_eq!(
            (self::shapes(&out), sum.commands, sum.replies),
            (shapes.clone(), shapes.len() as u64, shapes.len() as u64)
        );
    }
}

#[test]
fn quiet_commands_of_memcached_have_no_reply_and_the_next_has_its_own() {
    use ReplyShape::{Missing, Status, Value};
    let directory = tempfile::tempdir().unwrap();
    let (one, other) =
        (server("memcached", "-u root -l 127.0.0.1 -p PORT"), server("memcached", "-u root -l 127.0.0.1 -p PORT"));
    let out = directory.path().join("app.kvtrace");
    let recorder = recorder(one.1, RecordedProtocol::Memcached, &out);
    // Of the quiet gets one finds something and says so; the others, and the writes, say nothing until all is asked.
    let parts = [
        ("ms a 1 q\r\nx\r\nms b 2 T0 q\r\nyy\r\nmn\r\n", 4),
        ("mg none v q\r\nmg a v k q\r\nmg none2 v q\r\nmn\r\n", 21 - 5),
        ("set c 0 0 1 noreply\r\nz\r\ntouch c 100 noreply\r\nget c\r\n", 19),
        ("md a q\r\nmd none q\r\nmn\r\nmg a v\r\nmg b v\r\n", 4 + 4 + 10),
    ];
    let through = talk(recorder.address().port(), &parts, |_| {});
    assert_eq!(through.escape_ascii().to_string(), talk(other.1, &parts, |_| {}).escape_ascii().to_string());
    std::thread::sleep(Duration::from_millis(100));
    let sum = recorder.end();
    assert_eq!(shapes(&out), [Status, Status, Value, Status, Missing, Value]);
    assert_eq!((sum.commands, sum.not_understood_bytes), (15, 0));
}
