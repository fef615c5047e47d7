//! A reply that never ends, or announces more than any memory holds, is not believed: it fails at once, and little is held of it. On
//! every protocol this project speaks itself, on HTTP, and through drivers as far as they allow.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[cfg(feature = "full")]
mod endless_support;

#[cfg(feature = "full")]
use endless_support::{mongodb, mysql};
use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use store::{BlockingClient, Endpoint, Opener, Operation, OwnedFailure, OwnedReply, Store};
use study::Spec;

/// Bytes held, and the most that were.
static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

struct Watched;

fn grew(size: usize) {
    let held = HELD.fetch_add(size, Ordering::Relaxed) + size;
    PEAK.fetch_max(held, Ordering::Relaxed);
}

// SAFETY: everything is passed on to the system's allocator; the counters are not on the heap.
unsafe impl GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grew(layout.size());
        // SAFETY: as the caller promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        grew(size);
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promised.
        unsafe { System.realloc(memory, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Watched = Watched;

/// What is believed of a reply's keys and values, bytes.
const BELIEVED: u64 = 1000;

/// What may be held of it: the mebibyte of room, twice while a buffer grows, and what the client itself needs.
const HELD_AT_MOST: usize = 8 << 20;

/// An answer to what a client has sent: the bytes before the endless part, and what is then repeated. Nothing repeated: it ends.
type Script = fn(&[u8]) -> (Vec<u8>, &'static [u8]);

fn serve(greeting: Vec<u8>, script: Script) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let greeting = greeting.clone();
            std::thread::spawn(move || converse(stream, &greeting, script));
        }
    });
    port
}

fn converse(mut stream: TcpStream, greeting: &[u8], script: Script) {
    let mut request = vec![0; 64 << 10];
    if stream.write_all(greeting).is_err() {
        return;
    }
    while let Ok(size @ 1..) = stream.read(&mut request) {
        let (answer, endless) = script(&request[..size]);
        if stream.write_all(&answer).is_err() {
            return;
        }
        if !endless.is_empty() {
            let repeated = endless.repeat((64 << 10) / endless.len());
            let block = if repeated.is_empty() { endless } else { &repeated };
            // Four gigabytes, or until the client has had enough.
            for _ in 0..(4usize << 30) / block.len() {
                if stream.write_all(block).is_err() {
                    return;
                }
            }
        }
    }
}

fn store(spec: &str, port: u16) -> Box<dyn Store> {
    let spec: Spec = spec.parse().unwrap();
    let Opener::Server { connect, .. } = kvtrial_catalog::find(&spec.name).unwrap().opener else { panic!("{spec}") };
    connect(&spec, &[Endpoint::loopback(port)]).unwrap_or_else(|error| panic!("{spec}: {error}"))
}

/// One at a time: memory is that of the whole process.
static ALONE: Mutex<()> = Mutex::new(());

/// What becomes of an operation that is answered so.
fn failure(spec: &str, script: Script, operation: &Operation<'_>) -> String {
    failure_within(Memory::Asked(HELD_AT_MOST), spec, Vec::new(), script, operation)
}

/// Memory a client may hold at most, bytes.
#[derive(Clone, Copy, Debug)]
enum Memory {
    /// That it has asked for.
    Asked(usize),
    /// That it has written to, too: a driver asks for what a message announces, and writes what is there.
    #[cfg(feature = "full")]
    Touched(usize),
}

/// What the kernel says of this process's memory.
#[cfg(feature = "full")]
fn resident(name: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.split_whitespace().find_map(|word| word.parse::<usize>().ok()).unwrap() << 10
}

impl Memory {
    /// From now on the most counts; what is held now.
    fn begin(self) -> usize {
        match self {
            Memory::Asked(_) => {
                let before = HELD.load(Ordering::Relaxed);
                PEAK.store(before, Ordering::Relaxed);
                before
            }
            #[cfg(feature = "full")]
            Memory::Touched(_) => {
                // So that the kernel's highest mark starts over.
                std::fs::write("/proc/self/clear_refs", "5").unwrap();
                resident("VmRSS:")
            }
        }
    }

    fn check(self, before: usize, of: &str) {
        let (held, most) = match self {
            Memory::Asked(most) => (PEAK.load(Ordering::Relaxed) - before, most),
            #[cfg(feature = "full")]
            Memory::Touched(most) => (resident("VmHWM:").saturating_sub(before), most),
        };
        assert!(held < most, "{of}: {held} bytes were held");
    }
}

/// The same, of a server that speaks first; `memory` is what the client may hold.
fn failure_within(memory: Memory, spec: &str, greeting: Vec<u8>, script: Script, operation: &Operation<'_>) -> String {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let store = store(spec, serve(greeting, script));
    let mut client = BlockingClient::believing(BELIEVED, &*store, 1, Duration::from_secs(60)).unwrap();
    let before = memory.begin();
    let start = Instant::now();
    let reply = client.execute(operation).unwrap();
    memory.check(before, &format!("{spec} {operation:?}"));
    assert!(start.elapsed() < Duration::from_secs(30), "{spec} {operation:?}: {:?}", start.elapsed());
    match reply {
        OwnedReply::Failed(OwnedFailure::Protocol(words)) => words,
        other => panic!("{spec} {operation:?}: {:.300}", format!("{other:?}")),
    }
}

const GET: Operation<'static> = Operation::Get { key: b"k" };

/// The head of a reply by the first words of its request.
fn resp(request: &[u8]) -> (Vec<u8>, &'static [u8]) {
    let has = |word: &[u8]| request.windows(word.len()).any(|part| part == word);
    let bulk = |text: &str| format!("${}\r\n{text}\r\n", text.len()).into_bytes();
    match () {
        _ if has(b"INFO") => (bulk("redis_version:7.0.0\r\n"), b""),
        _ if has(b"CONFIG") => (b"*0\r\n".to_vec(), b""),
        _ if has(b"SCRIPT") => (bulk(&"0".repeat(40)), b""),
        _ if has(b"MGET") => (b"*2\r\n$-1\r\n$3221225472\r\n".to_vec(), b"v"),
        _ if has(b"GET\r\n$4\r\nline") => (b"+".to_vec(), b"v"),
        _ if has(b"GET\r\n$5\r\nerror") => (b"-ERR ".to_vec(), b"v"),
        _ if has(b"HGETALL\r\n$4\r\nmany") => (b"*4294967294\r\n".to_vec(), b"$1\r\na\r\n"),
        _ if has(b"HGETALL\r\n$4\r\ndeep") => (Vec::new(), b"*2\r\n"),
        _ => (b"$3221225472\r\n".to_vec(), b"v"),
    }
}

fn memcached(request: &[u8]) -> (Vec<u8>, &'static [u8]) {
    match request {
        b"version\r\n" => (b"VERSION 1.6.18\r\n".to_vec(), b""),
        b"stats settings\r\n" => (b"STAT item_size_max 1073741824\r\nEND\r\n".to_vec(), b""),
        [b'm', b'g', b' ', b'e', ..] => (Vec::new(), b"VA 1 O0000\r\nv\r\n"),
        [b'm', b'g', ..] => (b"VA 1000000000 O0000\r\n".to_vec(), b"v"),
        _ if request.windows(4).any(|part| part == b"many") => (Vec::new(), b"VALUE k 0 1\r\nv\r\n"),
        _ => (b"VALUE k 0 1000000000\r\n".to_vec(), b"v"),
    }
}

fn tyrant(request: &[u8]) -> (Vec<u8>, &'static [u8]) {
    let sized = |size: u32| [&[0][..], &size.to_be_bytes()].concat();
    match request {
        [0xC8, 0x88] => ([&sized(10)[..], b"version\t1\n"].concat(), b""),
        [0xC8, 0x31, ..] => ([&sized(1)[..], &1u32.to_be_bytes(), &2_000_000_000u32.to_be_bytes()].concat(), b"v"),
        _ => (sized(2_000_000_000), b"v"),
    }
}

/// Of a request the store it is for says whether it is about the cluster; every other reply announces what never comes.
#[cfg(feature = "voldemort")]
fn voldemort(request: &[u8]) -> (Vec<u8>, &'static [u8]) {
    let has = |word: &[u8]| request.windows(word.len()).any(|part| part == word);
    let file = |text: &str| {
        let field = |name: u8, bytes: &[u8]| {
            // All of these texts are of 128 to 16383 bytes, or empty.
            let len = [(bytes.len() & 0x7f) as u8 | 0x80, (bytes.len() >> 7) as u8];
            [&[name << 3 | 2][..], &len, bytes].concat()
        };
        let found = field(1, &[field(1, text.as_bytes()), field(2, b"")].concat());
        ([&(found.len() as u32).to_be_bytes()[..], &found].concat(), &b""[..])
    };
    match () {
        _ if request == b"pb0" => (b"ok".to_vec(), b""),
        _ if has(b"cluster.xml") => file(
            "<cluster><name>here</name><server><id>0</id><host>127.0.0.1</host><http-port>0</http-port><socket-port>1\
             </socket-port><partitions>0</partitions></server></cluster>",
        ),
        _ if has(b"stores.xml") => file(
            "<stores><store><name>kvtrial</name><persistence>bdb</persistence><routing>client</routing>\
             <replication-factor>1</replication-factor></store></stores>",
        ),
        _ => (2_000_000_000u32.to_be_bytes().to_vec(), b"v"),
    }
}

fn handlersocket(request: &[u8]) -> (Vec<u8>, &'static [u8]) {
    match request.first() {
        Some(b'P' | b'A') => (b"0\t1\n".repeat(request.iter().filter(|byte| **byte == b'\n').count()), b""),
        _ => (b"0\t3\tk\t".to_vec(), b"v"),
    }
}

#[cfg(feature = "full")]
fn http(request: &[u8], head: &str, endless: &'static [u8]) -> (Vec<u8>, &'static [u8]) {
    let whole = |body: &str| {
        (format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes(), &b""[..])
    };
    match request {
        _ if request.starts_with(b"GET / ") => whole(r#"{"couchdb":"Welcome","version":"3"}"#),
        _ if request.starts_with(b"PUT /kvtrial/_security ") => whole("{}"),
        _ if request.starts_with(b"PUT /kvtrial ") => {
            (b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}".to_vec(), b"")
        }
        _ if request.starts_with(b"GET /version/cluster") => whole(r#"{"Version":"2.6.1"}"#),
        _ if request.starts_with(b"GET /status/cluster") => whole(r#"{"LiveNodes":[],"DeadNodes":[]}"#),
        _ if request.starts_with(b"GET /kvtrial/schema") => whole(r#"{"ColumnSchema":[{"name":"f"}]}"#),
        _ if request.starts_with(b"PUT /kvtrial/scanner") => {
            (b"HTTP/1.1 201 Created\r\nLocation: /kvtrial/scanner/1\r\nContent-Length: 0\r\n\r\n".to_vec(), b"")
        }
        _ if request.windows(20).any(|part| part == b" /kvtrial/scanner/1 ") => whole(r#"{"Row":[]}"#),
        _ if request.windows(9).any(|part| part == b"list-type") => whole("<R><Name>kvtrial</Name></R>"),
        _ if request.starts_with(b"GET /version") => whole(r#"{"etcdserver":"3.4.23","etcdcluster":"3.4.0"}"#),
        _ if request.windows(10).any(|part| part == b"count_only") => whole("{}"),
        _ if request.windows(13).any(|part| part == b"DescribeTable") => whole(
            r#"{"Table":{"TableStatus":"ACTIVE","KeySchema":[{"AttributeName":"k"}],"AttributeDefinitions":[{"AttributeName":"k","AttributeType":"B"}]}}"#,
        ),
        _ => (format!("HTTP/1.1 200 OK\r\n{head}").into_bytes(), endless),
    }
}

#[test]
fn no_reply_is_believed_beyond_what_can_come_whatever_it_announces_and_however_long_it_goes_on() {
    let many = Operation::GetMany { keys: &[b"k", b"many"] };
    let announced = |bytes: &str, words: String| {
        assert!(
            words.contains("announces a reply of") && words.contains(bytes) && words.contains("more than the 1050576"),
            "{words}"
        );
    };
    announced("3221225487 bytes", failure("redis", resp, &GET));
    announced("3221225", failure("redis", resp, &many));
    announced("2147", failure("redis", resp, &Operation::GetFields { key: b"many" }));
    announced("1000000023 bytes", failure("memcached", memcached, &GET));
    announced("bytes", failure("memcached", memcached, &Operation::GetMany { keys: &[b"endless"] }));
    announced("1000000024 bytes", failure("memcached,protocol=text", memcached, &GET));
    announced("bytes", failure("memcached,protocol=text", memcached, &many));
    announced("2000000005 bytes", failure("tyrant", tyrant, &GET));
    announced("2000000", failure("tyrant", tyrant, &many));
    announced("bytes", failure("handlersocket", handlersocket, &GET));
    // What is no protocol at all is seen before it is large.
    assert!(failure("redis", resp, &Operation::Get { key: b"line" }).contains("a line of less than 64 KiB"));
    assert!(failure("redis", resp, &Operation::Get { key: b"error" }).contains("a line of less than 64 KiB"));
    assert!(failure("redis", resp, &Operation::GetFields { key: b"deep" }).contains("an array of strings"));
}

/// Answers every statement with a column of bytes, and the key `k` as the head and the endless part say.
#[cfg(feature = "full")]
fn postgres(request: &[u8], head: &[u8], endless: &'static [u8]) -> (Vec<u8>, &'static [u8]) {
    const READY: &[u8] = b"Z\0\0\0\x05I";
    const DONE: &[u8] = b"C\0\0\0\x05\0";
    match request.first() {
        // The length of the first message begins with nought.
        Some(0) => ([b"R\0\0\0\x08\0\0\0\0", READY].concat(), b""),
        Some(b'Q') => ([DONE, READY].concat(), b""),
        Some(b'P') => {
            // Name and statement end with nought; then come the types of the parameters.
            let types: Vec<u8> = request[5..].splitn(3, |byte| *byte == 0).nth(2).unwrap().to_vec();
            let types = &types[..2 + 4 * usize::from(types[1])];
            let length = (4 + types.len() as u32).to_be_bytes();
            let column = [&b"\0\x01v\0"[..], &[0; 6], &17_u32.to_be_bytes(), &[255; 6], &[0; 2]].concat();
            let columns = (4 + column.len() as u32).to_be_bytes();
            ([b"1\0\0\0\x04t", &length[..], types, b"T", &columns, &column, READY].concat(), b"")
        }
        _ if request.windows(5).any(|part| part == b"\0\0\0\x01k") => ([b"2\0\0\0\x04", head].concat(), endless),
        _ => ([b"2\0\0\0\x04", DONE, READY].concat(), b""),
    }
}

#[cfg(feature = "voldemort")]
#[test]
fn no_value_of_voldemort_is_believed_beyond_what_can_come() {
    for operation in [GET, Operation::GetMany { keys: &[b"k"] }] {
        let words = failure("voldemort://127.0.0.1", voldemort, &operation);
        assert!(words.contains("announces a reply of 2000000000 bytes, more than the 1050576"), "{words}");
    }
}

#[cfg(feature = "full")]
#[test]
fn no_row_of_a_database_is_believed_beyond_what_can_come_nor_rows_without_end() {
    let long = |request: &[u8]| postgres(request, b"D\x7f\xff\xff\xff\0\x01\x7f\xff\xff\xf5", b"v");
    assert!(failure("postgres", long, &GET).contains("announces a reply of 2147483653 bytes, more than the 1050576"));
    /// A row of a thousand bytes: the driver takes ten times its size for one of a byte.
    static ROW: [u8; 1011] = {
        let (mut row, head) = ([b'v'; 1011], *b"D\0\0\x03\xf2\0\x01\0\0\x03\xe8");
        let mut at = 0;
        while at < head.len() {
            row[at] = head[at];
            at += 1;
        }
        row
    };
    let rows = |request: &[u8]| postgres(request, b"", &ROW);
    let many = Operation::GetMany { keys: &[b"k"] };
    assert!(failure("postgres", rows, &many).contains("more than the 1050576"));
    // Of one key two rows are one too many.
    failure("postgres", rows, &GET);
}

/// Two of the largest parts of a packet, while the driver's buffer grows: it begins to believe a part when it has all of it.
#[cfg(feature = "full")]
const HELD_OF_MYSQL: Memory = Memory::Asked(64 << 20);

/// Five times the longest message: the driver copies it, and keeps every document of it by itself, however small.
#[cfg(feature = "full")]
const HELD_OF_MONGODB: Memory = Memory::Touched(256 << 20);

#[cfg(feature = "full")]
#[test]
fn no_packet_of_mysql_is_believed_beyond_what_the_driver_must_take_nor_rows_without_end() {
    let fails = |script, held, operation| failure_within(held, "mysql", mysql::greeting(), script, operation);
    let long = |request: &[u8]| mysql::answer(request, mysql::long);
    let many = |request: &[u8]| mysql::answer(request, mysql::many);
    let words = fails(long, HELD_OF_MYSQL, &GET);
    assert!(words.contains("announces a reply of more than 16778240 bytes, more than the 1050576"), "{words}");
    for operation in &[Operation::GetMany { keys: &[b"k"] }, Operation::Scan { start: b"k", limit: 10 }] {
        let words = fails(many, Memory::Asked(HELD_AT_MOST), operation);
        assert!(words.contains("announces a reply of") && words.contains("more than the 1050576"), "{words}");
    }
    assert!(fails(many, Memory::Asked(HELD_AT_MOST), &GET).contains("two rows of one key"));
    assert!(
        fails(many, Memory::Asked(HELD_AT_MOST), &Operation::GetFields { key: b"k" })
            .contains("a counter that is no integer")
    );
}

#[cfg(feature = "full")]
#[test]
fn no_message_of_mongodb_is_believed_beyond_the_longest_it_says_it_sends_nor_documents_without_end() {
    let fails = |script, held, operation| failure_within(held, "mongodb", Vec::new(), script, operation);
    let announced = |request: &[u8]| mongodb::answer(request, mongodb::USUAL, mongodb::announced);
    assert!(fails(announced, Memory::Asked(HELD_AT_MOST), &GET).contains("2147483647 over maximum 48000000"));
    let noise = |request: &[u8]| mongodb::answer(request, mongodb::USUAL, mongodb::noise);
    fails(noise, HELD_OF_MONGODB, &GET);
    let many = Operation::GetMany { keys: &[b"k"] };
    for (message, script) in [
        (&mongodb::LARGE, (|request: &[u8]| mongodb::answer(request, mongodb::USUAL, mongodb::large)) as Script),
        (&mongodb::SMALL, |request: &[u8]| mongodb::answer(request, mongodb::USUAL, mongodb::small)),
    ] {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(message.len() < mongodb::USUAL as usize, "made, and short enough");
        drop(alone);
        let words = fails(script, HELD_OF_MONGODB, &many);
        assert!(words.contains("announces a reply of") && words.contains("more than the 1050576"), "{words}");
    }
    let batches = |request: &[u8]| mongodb::answer(request, mongodb::USUAL, mongodb::batches);
    assert!(fails(batches, Memory::Asked(HELD_AT_MOST), &many).contains("more than the 1050576"));
}

#[cfg(feature = "full")]
#[test]
fn a_server_that_says_its_messages_are_longer_than_those_of_mongodb_is_refused() {
    let boastful = |request: &[u8]| mongodb::answer(request, i32::MAX, mongodb::announced);
    let Opener::Server { connect, .. } = kvtrial_catalog::find("mongodb").unwrap().opener else { panic!() };
    let refusal = connect(&"mongodb".parse().unwrap(), &[Endpoint::loopback(serve(Vec::new(), boastful))]);
    let words = refusal.err().expect("2 GiB were believed").to_string();
    assert!(words.contains("up to 2147483647 bytes (maxMessageSizeBytes)"), "{words}");
}

#[cfg(feature = "full")]
#[test]
fn no_http_body_is_believed_beyond_what_can_come_nor_headers_without_end() {
    for spec in ["couchdb", "etcd", "dynamodb", "s3", "hbase"] {
        let long = |request: &[u8]| http(request, "Content-Length: 3221225472\r\n\r\n", b"v");
        assert!(failure(spec, long, &GET).contains("announces a reply of 3221225472 bytes, more than the 1050576"));
        let chunks = |request: &[u8]| http(request, "Transfer-Encoding: chunked\r\n\r\n", b"4\r\nvvvv\r\n");
        assert!(failure(spec, chunks, &GET).contains("more than the 1050576"));
        let until_closed = |request: &[u8]| http(request, "Connection: close\r\n\r\n", b"v");
        assert!(failure(spec, until_closed, &GET).contains("more than the 1050576"));
        let headers = |request: &[u8]| http(request, "", b"X-Again: and again\r\n");
        failure(spec, headers, &GET);
        let one_header = |request: &[u8]| http(request, "X-Again: ", b"and again ");
        failure(spec, one_header, &GET);
    }
}

#[test]
fn what_is_asked_before_the_run_is_bounded_too() {
    let endless = |request: &[u8]| match request {
        b"version\r\n" => (b"VERSION 1.6.18\r\n".to_vec(), &b""[..]),
        _ => (Vec::new(), &b"STAT a b\r\n"[..]),
    };
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let before = HELD.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let port = serve(Vec::new(), endless);
    let Opener::Server { connect, .. } = kvtrial_catalog::find("memcached").unwrap().opener else { panic!() };
    let _ = connect(&"memcached".parse().unwrap(), &[Endpoint::loopback(port)]);
    let held = PEAK.load(Ordering::Relaxed) - before;
    assert!(held < 64 << 20, "{held} bytes were held");
}

/// NATS: a message of 2 GiB, one that goes on, and a line without an end, by the key.
fn nats(request: &[u8]) -> (Vec<u8>, &'static [u8]) {
    let said = String::from_utf8_lossy(request).replace("PONG\r\n", "");
    let inbox = said.split_whitespace().find(|word| word.starts_with("_INBOX")).unwrap_or("?");
    let stream = r#"{"config":{"num_replicas":1,"allow_direct":true}}"#;
    match () {
        _ if said.starts_with("CONNECT") => (b"PONG\r\n".to_vec(), b""),
        _ if said.contains("STREAM.INFO") => {
            (format!("MSG {inbox} 1 {}\r\n{stream}\r\n", stream.len()).into_bytes(), b"")
        }
        _ if said.contains("$KV.kvtrial.line") => (b"MSG ".to_vec(), b"v"),
        _ if said.contains("$KV.kvtrial.aside") => (b"INFO ".to_vec(), b"v"),
        _ if said.contains("$KV.kvtrial.long") => (format!("MSG {inbox} 1 60000000\r\n").into_bytes(), b"v"),
        _ => (format!("MSG {inbox} 1 2147483647\r\n").into_bytes(), b"v"),
    }
}

/// Ignite: a handshake, the size of a cache, and a reply of 2 GiB to anything else.
fn ignite(request: &[u8]) -> (Vec<u8>, &'static [u8]) {
    const SIZE: [u8; 2] = 1020i16.to_le_bytes();
    match request {
        [_, _, _, _, 1, ..] if request.get(5..7) == Some(&[1, 0]) => (vec![1, 0, 0, 0, 1], b""),
        [_, _, _, _, one, two, number @ ..] if [*one, *two] == SIZE => {
            ([&20i32.to_le_bytes()[..], &number[..8], &[0; 12]].concat(), b"")
        }
        _ => (i32::MAX.to_le_bytes().to_vec(), b"v"),
    }
}

#[test]
fn no_message_of_nats_and_no_reply_of_ignite_is_believed_beyond_what_can_come() {
    let hello = b"INFO {\"version\":\"2.9.10\",\"max_payload\":1048704,\"headers\":true}\r\n";
    let held = Memory::Asked(HELD_AT_MOST);
    let fails = |operation: &Operation<'_>| failure_within(held, "nats", hello.to_vec(), nats, operation);
    let words = fails(&GET);
    assert!(words.contains("sizes"), "{words}");
    let words = fails(&Operation::Get { key: b"long" });
    assert!(words.contains("more than the 1050576"), "{words}");
    for key in [&b"line"[..], b"aside"] {
        fails(&Operation::Get { key });
    }
    let words = failure("ignite", ignite, &GET);
    assert!(words.contains("announces a reply of 2147483651 bytes, more than the 1050576"), "{words}");
}
