//! `kvtrial record` between redis-benchmark and Redis: what it writes can be replayed, also when it was killed; what cannot be recorded ends with 2.
#![allow(clippy::unwrap_used)]

use crate::common;

use common::Desk;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use testkit::waiting;

/// A program of the test's own, ended with it.
pub struct Running(pub Child);

impl Running {
    /// Ends a recorder as Ctrl-C does, and waits for it.
    pub fn interrupt(mut self) {
        // SAFETY: the process is this test's own, and was not waited for.
        unsafe { libc::kill(self.0.id() as i32, libc::SIGINT) };
        assert!(self.0.wait().unwrap().success());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn redis(directory: &Path) -> Running {
    let arguments = ["--port", "0", "--unixsocket", "redis.sock", "--save", ""];
    let child = Command::new("redis-server").args(arguments).current_dir(directory).stdout(Stdio::null()).spawn();
    let running = Running(child.unwrap());
    let socket = directory.join("redis.sock");
    waiting::until("redis-server listens", || std::os::unix::net::UnixStream::connect(&socket).is_ok());
    running
}

/// Starts a recording of the test's own Redis; returns it with its port.
fn recorder(desk: &Desk, words: &str) -> (Running, String) {
    recorder_of(desk, &format!("redis-unix://{}", desk.path().join("redis.sock").display()), words)
}

/// Starts a recording of a store; returns it with its port.
pub fn recorder_of(desk: &Desk, store: &str, words: &str) -> (Running, String) {
    let words = format!("record {store} --listen 127.0.0.1:0 {words}");
    let mut running = Running(desk.command(&words).stderr(Stdio::piped()).spawn().unwrap());
    let mut line = String::new();
    BufReader::new(running.0.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let port = line.split("Connect to 127.0.0.1:").nth(1).and_then(|rest| rest.split(' ').next()).map(str::to_owned);
    (running, port.unwrap_or_else(|| panic!("{line}")))
}

fn benchmark(port: &str, requests: &str) {
    let words = [
        "-h",
        "127.0.0.1",
        "-p",
        port,
        "-n",
        requests,
        "-c",
        "8",
        "-P",
        "4",
        "-r",
        "300",
        "-d",
        "50",
        "-t",
        "set,get",
        "-q",
    ];
    let ran = Command::new("redis-benchmark").args(words).output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
}

#[test]
fn what_an_application_did_is_recorded_until_ctrl_c_and_replayed_on_other_stores_with_one_answer() {
    let desk = Desk::new();
    let _redis = redis(desk.path());
    let (recorder, port) = recorder(&desk, "-o app.kvtrace");
    benchmark(&port, "3000");
    recorder.interrupt();
    let ran = desk.kvtrial("run replay --data app.kvtrace -s ram -s lmdb -s redis-unix -s memcached-unix --clients 4 --no-baselines --repeats 1 --warmups 0 --out out");
    assert_eq!(ran.status, 0, "{}", ran.said());
    let input = &ran.cells()[0]["input"];
    let digest = ran.digest("ram");
    for store in ["lmdb", "redis-unix", "memcached-unix"] {
        assert!(ran.is_ranked(store) && ran.digest(store) == digest, "{store}: {}", ran.said());
    }
    let facts = &ran.cell("ram")["answer"]["facts"];
    assert_eq!(facts["get_hits"].as_u64().unwrap() + facts["get_misses"].as_u64().unwrap(), 3000, "{input} {facts}");
    assert!((250..=300).contains(&facts["keys_at_end"].as_u64().unwrap()), "{facts}");
    // A file that exists is not written over.
    let again = desk.kvtrial(&format!(
        "record redis-unix://{}/redis.sock --listen 127.0.0.1:0 -o app.kvtrace",
        desk.path().display()
    ));
    assert!(again.status == 2 && again.stderr.contains("name a new file"), "{}", again.said());
}

#[test]
fn a_recorder_that_is_killed_leaves_a_file_with_all_but_its_last_second() {
    let desk = Desk::new();
    let _redis = redis(desk.path());
    let (mut recorder, port) = recorder(&desk, "-o killed.kvtrace --keep keys --keep values");
    benchmark(&port, "2000");
    // What is asked is the time in which everything is in the file.
    std::thread::sleep(Duration::from_millis(1100));
    let killed = Instant::now();
    recorder.0.kill().unwrap();
    recorder.0.wait().unwrap();
    assert!(killed.elapsed() < Duration::from_secs(60));
    let ran = desk.kvtrial("run replay --data killed.kvtrace -s ram --no-baselines --repeats 1 --warmups 0 --out out");
    assert_eq!(ran.status, 0, "{}", ran.said());
    assert!(ran.stderr.contains("The recording was not closed"), "{}", ran.said());
    let facts = &ran.cell("ram")["answer"]["facts"];
    assert_eq!(facts["get_hits"].as_u64().unwrap() + facts["get_misses"].as_u64().unwrap(), 2000, "{facts}");
}

/// Sends lines to a server, and waits for its end of the conversation.
fn talk(port: &str, lines: &str) {
    let mut stream = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
    stream.write_all(lines.as_bytes()).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    stream.read_to_end(&mut Vec::new()).unwrap();
}

#[test]
fn every_command_is_sent_as_it_was_and_a_reply_that_differs_is_said_in_words() {
    let desk = Desk::new();
    let _redis = redis(desk.path());
    let (recorder, port) = recorder(&desk, "-o same.kvtrace --keep keys --keep values");
    let lines = "SET a 1\r\nINCR a\r\nHSET h f v g w\r\nHGETALL h\r\nLPUSH l x y z\r\nLRANGE l 0 -1\r\nGET none\r\nMULTI\r\nINCR a\r\nEXEC\r\n\
                 ZADD z 1.5 m\r\nZSCORE z m\r\nNOSUCH x\r\nLPOP a\r\nTIME\r\nHELLO 3\r\nHGETALL h\r\nZSCORE z m\r\nGET none\r\nGET a\r\n";
    talk(&port, lines);
    recorder.interrupt();
    let replay = "run replay --set commands=all -s redis-unix --clients 1 --no-baselines --repeats 1 --warmups 0";
    let ran = desk.kvtrial(&format!("{replay} --data same.kvtrace --out out"));
    assert_eq!(ran.status, 0, "{}", ran.said());
    let facts = &ran.only()["answer"]["facts"];
    let count = |name: &str| facts[name].as_u64().unwrap();
    // Not sent are MULTI, EXEC and HELLO; TIME and what was queued say nothing.
    assert_eq!((count("replies_differ"), count("replies_same"), count("replies_not_compared")), (0, 15, 2), "{facts}");
    assert_eq!(count("commands_not_sent"), 3, "{facts}");
    std::fs::remove_dir_all(desk.path().join("out")).unwrap();
    // The application was answered from what was there before: a store that is empty answers otherwise.
    let (recorder, port) = self::recorder(&desk, "-o other.kvtrace --keep keys --keep values");
    talk(&port, "GET a\r\nLLEN l\r\nSET b 2\r\nGET b\r\n");
    recorder.interrupt();
    let ran = desk.kvtrial(&format!("{replay} --data other.kvtrace --out out"));
    let facts = &ran.only()["answer"]["facts"];
    assert_eq!((facts["replies_differ"].as_u64(), facts["replies_same"].as_u64()), (Some(2), Some(2)), "{facts}");
    assert_eq!(facts["first_differences"][0], "command 1, GET a: was a value of 7 bytes, is nothing");
    assert!(ran.stdout.contains("2 of 4 replies differ from the recorded ones on redis-unix"), "{}", ran.stdout);
    let sized = desk.kvtrial("run replay --set commands=all -s ram --data same.kvtrace");
    assert!(sized.status == 2 && sized.stderr.contains("commands=all sends commands of Redis"), "{}", sized.said());
}

#[test]
fn what_cannot_be_recorded_is_named_with_the_remedy() {
    let desk = Desk::new();
    let _redis = redis(desk.path());
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap();
    let store = format!("redis-unix://{}/redis.sock", desk.path().display());
    for (words, said) in [
        (format!("record {store} --listen {taken}"), "name another HOST:PORT, or end the program that has it"),
        ("record redis-unix:///none.sock --listen 127.0.0.1:0".into(), "start the store first"),
        (
            "record postgres://127.0.0.1:1 --listen 127.0.0.1:0".into(),
            "record does not understand what postgres speaks",
        ),
        ("record redis --listen 127.0.0.1:0".into(), "it is no address of a server; write redis://HOST:PORT"),
        ("record redis://127.0.0.1:1,ca=/none.pem --listen 127.0.0.1:0".into(), "ca= is for TLS; add tls=on"),
        ("record rediss://127.0.0.1:1 --listen 127.0.0.1:0".into(), "who signed its certificate (ca=FILE)"),
    ] {
        let ran = desk.kvtrial(&words);
        assert!(ran.status == 2 && ran.stderr.contains(said), "{words}: {}", ran.said());
    }
}
