//! The recorder between clients and stores: every byte as it was, whatever it is; what was understood is in the file, and the rest is counted.
#![allow(clippy::unwrap_used)]

use data::splitmix::Rng;
use kvtrial_record::{RecordRequest, RecordedProtocol, Recorder, RecordingSum};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use study::Address;
use trace::kvtrace::{KvtraceReader, Recorded, RecordedKeys, RecordedValues, RecordedWord, RecordingEnd, ReplyShape};

/// A server of the test's own, ended with it.
struct Server(Child, Address);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn unix(program: &str, arguments: &[&str], socket: &Path) -> Server {
    let child = Command::new(program).args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let child = child.unwrap_or_else(|error| panic!("{program}: {error}: apt-get install redis-server memcached"));
    let until = Instant::now() + Duration::from_secs(60);
    while std::os::unix::net::UnixStream::connect(socket).is_err() {
        assert!(Instant::now() < until, "{program} does not start");
        std::thread::sleep(Duration::from_millis(5));
    }
    Server(child, Address::Unix(socket.into()))
}

fn redis(directory: &Path) -> Server {
    let socket = directory.join("redis.sock");
    let path = socket.to_str().unwrap();
    unix(
        "redis-server",
        &["--port", "0", "--unixsocket", path, "--save", "", "--dir", directory.to_str().unwrap()],
        &socket,
    )
}

fn memcached(directory: &Path) -> Server {
    let socket = directory.join("memcached.sock");
    unix("memcached", &["-u", "root", "-s", socket.to_str().unwrap()], &socket)
}

fn recorder(
    store: &Address,
    protocol: RecordedProtocol,
    out: &Path,
    keys: RecordedKeys,
    values: RecordedValues,
) -> Recorder {
    let (listen, out) = ("127.0.0.1:0".into(), PathBuf::from(out));
    Recorder::begin(&RecordRequest {
        store: store.clone(),
        trust: None,
        usual_port: 1,
        protocol,
        listen,
        out,
        keys,
        values,
    })
    .unwrap()
}

/// What is in a file, as text: a line per record.
fn records(file: &Path) -> (Vec<(u32, String)>, RecordingEnd) {
    let mut reader = KvtraceReader::open(file).unwrap();
    let mut seen = Vec::new();
    let word = |word: &RecordedWord<'_>| match word {
        RecordedWord::Plain(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        RecordedWord::Key(bytes) => format!("<{}>", String::from_utf8_lossy(bytes)),
        RecordedWord::Value(bytes) => format!("'{}'", String::from_utf8_lossy(bytes)),
        RecordedWord::Sized { bytes, .. } => format!("#{bytes}"),
    };
    while reader
        .block(|_, connection, recorded| {
            seen.push((
                connection,
                match recorded {
                    Recorded::Opened => "opened".into(),
                    Recorded::Closed => "closed".into(),
                    Recorded::Command(words) => words.iter().map(word).collect::<Vec<_>>().join(" "),
                    Recorded::Reply(reply) => format!("= {:?} {}", reply.shape, reply.bytes),
                    Recorded::NotUnderstood(bytes) => format!("? {bytes}"),
                },
            ));
            Ok(())
        })
        .unwrap()
    {}
    (seen, reader.end().unwrap())
}

/// Sends bytes, and reads until the other side ends.
fn say(to: impl std::net::ToSocketAddrs, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(to).unwrap();
    let _ = stream.write_all(bytes).and_then(|()| stream.shutdown(Shutdown::Write));
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    answer
}

/// Sends bytes over a unix socket, and reads until the other side ends.
fn say_directly(to: &Address, bytes: &[u8]) -> Vec<u8> {
    let Address::Unix(path) = to else { panic!() };
    let mut stream = std::os::unix::net::UnixStream::connect(path).unwrap();
    stream.write_all(bytes).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    answer
}

const TALK: &[u8] = b"*3\r\n$3\r\nSET\r\n$8\r\nuser:123\r\n$5\r\nhello\r\n*2\r\n$3\r\nGET\r\n$8\r\nuser:123\r\nget user:9\r\n\r\n\
    *1\r\n$5\r\nMULTI\r\n*2\r\n$4\r\nINCR\r\n$1\r\nn\r\n*2\r\n$4\r\nINCR\r\n$1\r\nn\r\n*4\r\n$4\r\nHSET\r\n$1\r\nh\r\n$1\r\nf\r\n$2\r\nvv\r\n*1\r\n$4\r\nEXEC\r\n\
    *4\r\n$4\r\nMGET\r\n$1\r\na\r\n$8\r\nuser:123\r\n$1\r\nb\r\n*2\r\n$7\r\nUNHEARD\r\n$6\r\nsecret\r\n*2\r\n$4\r\nAUTH\r\n$8\r\npassword\r\n*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n*2\r\n$7\r\nHGETALL\r\n$1\r\nh\r\n*2\r\n$3\r\nGET\r\n$4\r\nnone\r\n";

#[test]
fn a_conversation_with_redis_is_as_without_the_recorder_and_is_recorded_word_by_word() {
    let directory = tempfile::tempdir().unwrap();
    let server = redis(directory.path());
    let out = directory.path().join("app.kvtrace");
    let recorder = recorder(&server.1, RecordedProtocol::Resp, &out, RecordedKeys::Kept, RecordedValues::Sizes);
    let through = say(recorder.address(), TALK);
    say_directly(&server.1, b"FLUSHALL\r\n");
    assert_eq!(without_number(&through), without_number(&say_directly(&server.1, TALK)));
    let sum = recorder.end();
    let (seen, end) = records(&out);
    assert_eq!(end, RecordingEnd::Closed);
    let commands: Vec<&str> =
        seen.iter().map(|(_, line)| line.as_str()).filter(|line| !line.starts_with('=') && *line != "closed").collect();
    let expected = [
        "opened",
        "SET <user:123> #5",
        "GET <user:123>",
        "get <user:9>",
        "MULTI",
        "INCR <n>",
        "INCR <n>",
        "HSET <h> #1 #2",
        "EXEC",
        "MGET <a> <user:123> <b>",
        "UNHEARD #6",
        "AUTH #0",
        "HELLO #0",
        "HGETALL <h>",
        "GET <none>",
    ];
    assert_eq!(commands, expected);
    assert_eq!((sum.asked_bytes, sum.answered_bytes), (TALK.len() as u64, through.len() as u64));
    assert_eq!((sum.commands, sum.replies), (14, 14));
}

/// The same without the number that the server gives each connection.
fn without_number(answer: &[u8]) -> String {
    let text = answer.escape_ascii().to_string();
    let number = |rest: &str| rest.trim_start_matches(|digit: char| digit.is_ascii_digit()).to_owned();
    match text.split_once("$2\\r\\nid\\r\\n:") {
        Some((before, rest)) => format!("{before}{}", number(rest)),
        None => text,
    }
}

#[test]
fn every_reply_belongs_to_its_command_in_pipelines_transactions_and_both_versions_of_resp() {
    let directory = tempfile::tempdir().unwrap();
    let server = redis(directory.path());
    let out = directory.path().join("app.kvtrace");
    let recorder = recorder(&server.1, RecordedProtocol::Resp, &out, RecordedKeys::Kept, RecordedValues::Kept);
    let talk = "SET a one\r\nGET a\r\nGET b\r\nMULTI\r\nINCR n\r\nEXEC\r\nMGET a b\r\nNOSUCH x\r\nHELLO 3\r\nHSET h f v\r\nHGETALL h\r\nGET b\r\nDEL a b\r\nPING\r\n";
    let through = say(recorder.address(), talk.as_bytes());
    say_directly(&server.1, b"FLUSHALL\r\n");
    assert_eq!(without_number(&through), without_number(&say_directly(&server.1, talk.as_bytes())));
    // A subscription is answered, and what is asked within it.
    say(recorder.address(), b"PING\r\nSUBSCRIBE news\r\nPING\r\n");
    let sum = recorder.end();
    let lines: Vec<String> =
        records(&out).0.into_iter().filter(|(connection, _)| *connection == 1).map(|(_, line)| line).collect();
    let commands: Vec<&String> = lines.iter().filter(|line| !line.starts_with('=') && !line.ends_with("ed")).collect();
    assert_eq!(commands[..3], ["SET <a> 'one'", "GET <a>", "GET <b>"]);
    assert_eq!(commands[7..9], ["NOSUCH 'x'", "HELLO #0"]);
    let shapes: Vec<&str> = lines.iter().filter_map(|line| line.strip_prefix("= ")?.split(' ').next()).collect();
    let expected = [
        "Status", "Value", "Missing", "Status", "Status", "Many", "Many", "Error", "Many", "Number", "Many", "Missing",
        "Number", "Status",
    ];
    assert_eq!(shapes, expected);
    assert_eq!((sum.connections, sum.not_understood_bytes, sum.failed), (2, 0, None));
    assert_eq!((sum.commands, sum.replies), (17, 17));
}

#[test]
fn memcached_is_understood_in_text_and_meta_and_its_keys_are_hashed() {
    let directory = tempfile::tempdir().unwrap();
    let server = memcached(directory.path());
    let out = directory.path().join("app.kvtrace");
    let recorder = recorder(&server.1, RecordedProtocol::Memcached, &out, RecordedKeys::Hashed, RecordedValues::Kept);
    let talk = "set user:1 5 0 3\r\n\r\n\r\r\nget user:1 user:2\r\nget none\r\nset user:2 0 0 1 noreply\r\nx\r\nincr user:2 1\r\ndelete user:9\r\n\
                ms user:3 2 T0\r\nhi\r\nmg user:3 v\r\nmg user:4 v\r\nmd user:3\r\nmn\r\ngets user:1\r\nversion\r\nquit\r\n";
    let through = say(recorder.address(), talk.as_bytes());
    say_directly(&server.1, b"flush_all\r\nquit\r\n");
    // Only the number that compare-and-set goes by differs.
    let plain = |bytes: &[u8]| {
        String::from_utf8_lossy(bytes)
            .split("\r\n")
            .filter(|line| !line.starts_with("VALUE user:1 5 3"))
            .collect::<Vec<_>>()
            .join("\n")
    };
    assert_eq!(plain(&through), plain(&say_directly(&server.1, talk.as_bytes())));
    let sum = recorder.end();
    let lines: Vec<String> = records(&out).0.into_iter().map(|(_, line)| line).collect();
    let shapes: Vec<&str> = lines.iter().filter_map(|line| line.strip_prefix("= ")?.split(' ').next()).collect();
    let expected = [
        "Status", "Value", "Missing", "Error", "Missing", "Status", "Value", "Missing", "Status", "Status", "Value",
        "Status",
    ];
    assert_eq!(shapes, expected, "{lines:?}");
    assert_eq!((sum.commands, sum.replies, sum.not_understood_bytes), (14, 12, 0));
    let words: Vec<Vec<&str>> = lines
        .iter()
        .filter(|line| !line.starts_with('=') && *line != "closed")
        .map(|line| line.split(' ').collect())
        .collect();
    let (one, again) = (words[1][1], words[2][1]);
    assert!(one == again && one != "<user:1>" && one.len() == 8 && &one[5..6] == ":", "{lines:?}");
    assert_eq!((words[1][0], words[1][2], words[1][5]), ("set", "5", "'\r\n\r'"));
    assert_eq!(&words[2][2][..6], &one[..6], "the same beginning");
}

/// A store that answers anything with bytes of its own, and keeps what it got.
fn parrot() -> (Address, std::thread::JoinHandle<Vec<(Vec<u8>, Vec<u8>)>>, std::sync::mpsc::Sender<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (stop, stopped) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        let mut all = Vec::new();
        for (number, stream) in listener.incoming().enumerate() {
            if stopped.try_recv().is_ok() {
                break;
            }
            let mut stream = stream.unwrap();
            let (mut got, mut sent) = (Vec::new(), Vec::new());
            let (mut rng, mut buffer) = (Rng::new(number as u64), [0; 700]);
            loop {
                let read = stream.read(&mut buffer).unwrap_or(0);
                if read == 0 {
                    break;
                }
                got.extend_from_slice(&buffer[..read]);
                let answer: Vec<u8> = (0..rng.below(400))
                    .map(|_| b"+-:$*>%\r\nVALUE 0123456789 END\0\xff"[rng.below(31) as usize])
                    .collect();
                sent.extend_from_slice(&answer);
                stream.write_all(&answer).unwrap();
            }
            all.push((got, sent));
        }
        all
    });
    (Address::Tcp { host: "127.0.0.1".into(), port: Some(port) }, thread, stop)
}

#[test]
fn bytes_that_are_no_protocol_pass_as_they_are_and_are_counted() {
    for protocol in [RecordedProtocol::Resp, RecordedProtocol::Memcached] {
        let directory = tempfile::tempdir().unwrap();
        let (store, thread, stop) = parrot();
        let out = directory.path().join("app.kvtrace");
        let recorder = recorder(&store, protocol, &out, RecordedKeys::Hashed, RecordedValues::Sizes);
        let mut rng = Rng::new(99);
        let mut talks = Vec::new();
        for _ in 0..300 {
            let mut bytes = [TALK, b"set k 0 0 5\r\nvalue\r\nmg k v\r\n"][rng.below(2) as usize].to_vec();
            for _ in 0..rng.below(5) {
                let at = rng.below(bytes.len() as u64) as usize;
                match rng.below(3) {
                    0 => bytes.truncate(at + 1),
                    1 => bytes[at] = rng.below(256) as u8,
                    _ => bytes.insert(at, b"\r\n*$0129 \0\xff"[rng.below(11) as usize]),
                }
            }
            let answer = say(recorder.address(), &bytes);
            talks.push((bytes, answer));
        }
        let sum: RecordingSum = recorder.end();
        stop.send(()).unwrap();
        let Address::Tcp { port: Some(port), .. } = store else { panic!() };
        drop(TcpStream::connect(("127.0.0.1", port)));
        // The first came when the recorder looked whether there is a store.
        let seen = thread.join().unwrap();
        assert_eq!(seen[1..].len(), talks.len());
        assert!(seen[1..] == talks[..], "some byte is another");
        assert!(sum.not_understood_bytes > 1000 && sum.commands > 50 && sum.failed.is_none(), "{sum:?}");
        let (lines, end) = records(&out);
        let lost: u64 = lines.iter().filter_map(|(_, line)| line.strip_prefix("? ")?.parse::<u64>().ok()).sum();
        assert_eq!((lost, end), (sum.not_understood_bytes, RecordingEnd::Closed));
    }
}

#[test]
fn redis_benchmark_with_many_clients_and_pipelines_is_recorded_to_the_last_command() {
    let directory = tempfile::tempdir().unwrap();
    let server = redis(directory.path());
    let out = directory.path().join("app.kvtrace");
    let recorder = recorder(&server.1, RecordedProtocol::Resp, &out, RecordedKeys::Hashed, RecordedValues::Sizes);
    let port = recorder.address().port().to_string();
    let ran = Command::new("redis-benchmark")
        .args(["-p", &port, "-n", "40000", "-c", "20", "-P", "16", "-r", "1000", "-t", "set,get,incr,lpush", "-q"])
        .output()
        .unwrap();
    assert!(ran.status.success(), "{ran:?}");
    let sum = recorder.end();
    let lines = records(&out).0;
    let of = |name: &str| lines.iter().filter(|(_, line)| line.starts_with(name)).count();
    assert_eq!([of("SET "), of("GET "), of("INCR "), of("LPUSH ")], [40_000; 4]);
    assert!(sum.commands >= 160_000 && sum.replies == sum.commands && sum.not_understood_bytes == 0, "{sum:?}");
    let distinct: std::collections::BTreeSet<&str> =
        lines.iter().filter_map(|(_, line)| line.strip_prefix("SET ")?.split(' ').next()).collect();
    assert!((990..=1000).contains(&distinct.len()), "{} keys", distinct.len());
}

#[test]
fn a_store_that_is_not_there_a_port_that_is_taken_and_a_file_that_exists_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = taken.local_addr().unwrap().to_string();
    let request = RecordRequest {
        trust: None,
        store: Address::Unix(directory.path().join("none.sock")),
        usual_port: 6379,
        protocol: RecordedProtocol::Resp,
        listen: "127.0.0.1:0".into(),
        out: directory.path().join("app.kvtrace"),
        keys: RecordedKeys::Hashed,
        values: RecordedValues::Sizes,
    };
    let error = |request: &RecordRequest| Recorder::begin(request).err().unwrap().to_string();
    assert!(error(&request).contains("start the store first"));
    let server = redis(directory.path());
    let request = RecordRequest { store: server.1.clone(), ..request };
    let said = error(&RecordRequest { listen: listen.clone(), ..request.clone() });
    assert!(said.contains(&format!("--listen {listen}")) && said.contains("name another HOST:PORT"), "{said}");
    std::fs::write(&request.out, "kept").unwrap();
    assert!(error(&request).contains("app.kvtrace") && std::fs::read(&request.out).unwrap() == b"kept");
}

#[test]
fn a_store_that_dies_is_an_end_to_its_clients_and_the_next_cannot_connect_but_the_recording_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let mut server = redis(directory.path());
    let out = directory.path().join("app.kvtrace");
    let recorder = recorder(&server.1, RecordedProtocol::Resp, &out, RecordedKeys::Kept, RecordedValues::Kept);
    let mut client = TcpStream::connect(recorder.address()).unwrap();
    client.write_all(b"SET a 1\r\n").unwrap();
    let mut answer = [0; 5];
    client.read_exact(&mut answer).unwrap();
    server.0.kill().unwrap();
    server.0.wait().unwrap();
    assert_eq!(client.read(&mut answer).unwrap_or(0), 0);
    assert_eq!(say(recorder.address(), b"GET a\r\n"), b"");
    let sum = recorder.end();
    assert_eq!((sum.connections, sum.commands, sum.replies), (1, 1, 1));
    let shown: Vec<String> = records(&out).0.into_iter().map(|(_, line)| line).collect();
    assert_eq!(shown[..3], ["opened", "SET <a> '1'", &format!("= {:?} 5", ReplyShape::Status)]);
}
