//! What the recorder costs: round trips one by one, and pipelined, through it and through a bare relay that only copies, to the same Redis, in
//! turn. `cargo run --release -p kvtrial-record --example relay_rate`; needs redis-server.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use kvtrial_record::{RecordRequest, RecordedProtocol, Recorder};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use study::Address;
use trace::kvtrace::{RecordedKeys, RecordedValues};

const ROUNDS: usize = 60;
const TRIPS: usize = 500;
const BATCHES: usize = 50;
const PIPELINE: usize = 64;
const GET: &[u8] = b"*2\r\n$3\r\nGET\r\n$16\r\nuser:0000000001x\r\n";
const REPLY: usize = 6 + 100 + 2;

/// A relay that copies bytes and does nothing else.
fn bare(store: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let (client, store) = (client.unwrap(), TcpStream::connect(store).unwrap());
            client.set_nodelay(true).unwrap();
            store.set_nodelay(true).unwrap();
            for (from, to) in [(&client, &store), (&store, &client)] {
                let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                std::thread::spawn(move || {
                    let mut buffer = vec![0; 64 << 10];
                    while let Ok(read @ 1..) = from.read(&mut buffer) {
                        if to.write_all(&buffer[..read]).is_err() {
                            break;
                        }
                    }
                });
            }
        }
    });
    address
}

/// Seconds that this many batches take.
fn seconds(stream: &mut TcpStream, batches: usize, each: usize) -> f64 {
    let (batch, mut replies) = (GET.repeat(each), vec![0; REPLY * each]);
    let began = Instant::now();
    for _ in 0..batches {
        stream.write_all(&batch).unwrap();
        stream.read_exact(&mut replies).unwrap();
    }
    began.elapsed().as_secs_f64()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let directory = tempfile::tempdir().unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let arguments = ["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""];
    let mut server =
        Command::new("redis-server").args(arguments).current_dir(&directory).stdout(Stdio::null()).spawn().unwrap();
    let store = SocketAddr::from(([127, 0, 0, 1], port));
    let mut setting = loop {
        match TcpStream::connect(store) {
            Ok(stream) => break stream,
            Err(_) => std::thread::sleep(Duration::from_millis(10)),
        }
    };
    setting.write_all(format!("SET user:0000000001x {}\r\n", "v".repeat(100)).as_bytes()).unwrap();
    setting.read_exact(&mut [0; 5]).unwrap();
    let recorder = Recorder::begin(&RecordRequest {
        trust: None,
        store: Address::Tcp { host: "127.0.0.1".into(), port: Some(port) },
        usual_port: port,
        protocol: RecordedProtocol::Resp,
        listen: "127.0.0.1:0".into(),
        out: directory.path().join("app.kvtrace"),
        keys: RecordedKeys::Hashed,
        values: RecordedValues::Sizes,
    })
    .unwrap();
    let ways = [("redis itself", store), ("bare relay", bare(store)), ("recorder", recorder.address())];
    let mut ways = ways.map(|(name, to)| {
        let stream = TcpStream::connect(to).unwrap();
        stream.set_nodelay(true).unwrap();
        (name, stream)
    });
    for (name, batches, each) in
        [("1x1, µs per round trip", TRIPS, 1), ("pipelined, µs per request", BATCHES, PIPELINE)]
    {
        let mut found = [(); 3].map(|()| Vec::new());
        for round in 0..ROUNDS {
            for turn in 0..3 {
                let way = (round + turn) % 3;
                found[way].push(seconds(&mut ways[way].1, batches, each) * 1e6 / (batches * each) as f64);
            }
        }
        let ratios = found[2].iter().zip(&found[1]).map(|(recorder, bare)| recorder / bare).collect();
        let shown: Vec<String> =
            ways.iter().zip(&found).map(|((name, _), found)| format!("{name} {:.2}", median(found.clone()))).collect();
        println!("{name}: {}; recorder against bare relay, round by round: x{:.3}", shown.join(", "), median(ratios));
    }
    let sum = recorder.end();
    println!("{} commands, {} replies recorded", sum.commands, sum.replies);
    server.kill().unwrap();
    server.wait().unwrap();
}
