//! The shop of `examples/shop.py`, an application in another language: recorded by changing its port, and replayed on five stores.
#![allow(clippy::unwrap_used)]

use crate::common;
use crate::record;

use common::{Desk, Ran, named};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Duration;
use testkit::certificates::Certificates;
use testkit::{free_port, waiting};

const STORES: [&str; 5] = ["redis", "redis-unix", "memcached", "lmdb", "sqlite"];

/// Starts a store of the shop's own, without a password; returns it with its port. With certificates it speaks TLS and nothing else.
fn server(store: &str, directory: &std::path::Path, tls: Option<&Certificates>) -> (record::Running, u16) {
    let port = free_port();
    let path = |name: &str| tls.map(|tls| tls.path(name).display().to_string()).unwrap_or_default();
    let [certificate, key, authority] = ["cert.pem", "key.pem", "ca.pem"].map(path);
    let words = match (store, tls) {
        ("redis", None) => format!("redis-server --bind 127.0.0.1 --save --port {port}"),
        ("redis", Some(_)) => format!(
            "redis-server --bind 127.0.0.1 --save --port 0 --tls-port {port} --tls-auth-clients no --tls-cert-file {certificate} \
             --tls-key-file {key} --tls-ca-cert-file {authority}"
        ),
        (_, None) => format!("memcached -u root -l 127.0.0.1 -p {port}"),
        (_, Some(_)) => {
            format!("memcached -u root -l 127.0.0.1 -p {port} -Z -o ssl_chain_cert={certificate},ssl_key={key}")
        }
    };
    let mut words = words.split(' ');
    let mut command = Command::new(words.next().unwrap());
    // An option without a value: Redis saves nothing.
    command.args(words.flat_map(|word| if word == "--save" { vec![word, ""] } else { vec![word] }));
    let running = record::Running(command.current_dir(directory).stdout(Stdio::null()).spawn().unwrap());
    waiting::until("the store of the shop listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
    (running, port)
}

/// Runs the shop with its store at a port; returns what it says: what was sold, and a digest of all pages.
fn shop(store: &str, port: &str, words: &[&str]) -> String {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/shop.py");
    let ran = Command::new("python3")
        .args([script, store, port])
        .args(words)
        .env("PYTHONPATH", std::env::var("KVTRIAL_PYTHON_PACKAGES").unwrap_or_default())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "python3 -m pip install redis pymemcache, or run ./test: {errors}");
    String::from_utf8(ran.stdout).unwrap()
}

/// Records the shop with one store, and replays that on all.
fn recorded(store: &str, keep: &str, words: &[&str]) -> (Desk, Ran) {
    let desk = Desk::new();
    let [(_one, own), (_two, other)] = [server(store, desk.path(), None), server(store, desk.path(), None)];
    let url = format!("{store}://127.0.0.1:{own}");
    let (recorder, port) = record::recorder_of(&desk, &url, &format!("-o shop.kvtrace {keep}"));
    let said = shop(store, &port, words);
    recorder.interrupt();
    assert_eq!(said, shop(store, &other.to_string(), words), "without the recorder");
    assert!(said.contains(" orders, "), "{said}");
    assert_ne!(said, shop(store, &other.to_string(), &["--seed", "7"]));
    let words = "--data shop.kvtrace --clients 4 --no-baselines --repeats 1 --warmups 0 --out out";
    let ran = desk.kvtrial(&format!("run replay {words} {}", named(&STORES)));
    (desk, ran)
}

#[test]
fn the_shop_is_answered_the_same_through_the_recorder_and_replayed_on_five_stores_with_one_answer() {
    for store in ["redis", "memcached"] {
        let (desk, ran) = recorded(store, "", &[]);
        assert_eq!(ran.status, 0, "{}", ran.said());
        for other in STORES {
            assert!(ran.is_ranked(other) && ran.digest(other) == ran.digest("redis"), "{other}: {}", ran.said());
            assert_eq!(ran.cell(other)["answer"]["facts"]["get_hits"], ran.cell("lmdb")["answer"]["facts"]["get_hits"]);
            assert!(ran.stdout.contains(other), "{}", ran.stdout);
        }
        let input = &ran.study.as_ref().unwrap()["input"];
        assert!(input["gets"].as_u64().unwrap() > 5_000 && input["sets"].as_u64().unwrap() > 2_000, "{input}");
        // Pages of articles live for 5 minutes, sessions for 30, counts of logins for an hour, carts for a day.
        assert!(
            input["touches"].as_u64().unwrap() > 500 && input["times_to_live"].as_u64().unwrap() > 4_000,
            "{input}"
        );
        let emulated = |store: &str| ran.cell(store)["emulated"].to_string();
        assert!(emulated("lmdb").contains("expiry by a time in the value") && !emulated("redis").contains("expiry"));
        let fit = desk.kvtrial("fit shop.kvtrace").stdout;
        assert!(fit.contains(" 4 different ones: from 300 s") && fit.contains("at most 24 h"), "{fit}");
        assert!(desk.path().join("out/report.html").exists(), "{:?}", std::fs::read_dir(desk.path().join("out")));
    }
}

#[test]
fn every_command_of_the_shop_is_answered_by_another_redis_as_it_was() {
    let desk = recorded("redis", "--keep keys --keep values", &["--threads", "1"]).0;
    let words = "--set commands=all --data shop.kvtrace --clients 1 --no-baselines --repeats 1 --warmups 0 --out all";
    let ran = desk.kvtrial(&format!("run replay {words} -s redis"));
    assert_eq!(ran.status, 0, "{}", ran.said());
    assert!(ran.stdout.contains("replies are as the recorded ones on redis"), "{}", ran.stdout);
}

#[test]
fn what_is_over_when_it_is_asked_for_is_over_in_the_replay_at_its_pace_too() {
    let desk = Desk::new();
    let (_server, port) = server("redis", desk.path(), None);
    let (recorder, port) = record::recorder_of(&desk, &format!("redis://127.0.0.1:{port}"), "-o lives.kvtrace");
    let mut client = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
    let mut say = |words: &str| {
        client.write_all(words.as_bytes()).unwrap();
        let mut answer = [0; 200];
        let length = client.read(&mut answer).unwrap();
        String::from_utf8_lossy(&answer[..length]).into_owned()
    };
    say("SET short 1 PX 500\r\n");
    say("SET long 1 PX 500\r\n");
    say("EXPIRE long 100\r\n");
    say("SET got 1\r\n");
    say("GETEX got PX 500\r\n");
    // What is asked is the time itself: longer than memcached, which counts seconds, may be late.
    std::thread::sleep(Duration::from_millis(3100));
    assert_eq!((say("GET short\r\n"), say("GET long\r\n")), ("$-1\r\n".into(), "$1\r\n1\r\n".into()));
    assert_eq!(say("GET got\r\n"), "$-1\r\n");
    recorder.interrupt();
    let words = "--data lives.kvtrace --set pace=trace --no-baselines --repeats 1 --warmups 0 --out out";
    let ran = desk.kvtrial(&format!("run replay {words} {}", named(&STORES)));
    assert_eq!(ran.status, 0, "{}", ran.said());
    for store in STORES {
        assert!(ran.is_ranked(store) && ran.digest(store) == ran.digest("redis"), "{store}: {}", ran.said());
        let facts = &ran.cell(store)["answer"]["facts"];
        let seen = ["get_hits", "get_misses", "misses_of_what_expired"].map(|name| facts[name].as_u64());
        assert_eq!(seen, [Some(2), Some(2), Some(2)], "{store}: {facts}");
    }
}

#[test]
fn a_store_that_speaks_tls_is_recorded_and_the_shop_sees_no_difference() {
    let certificates = Certificates::made();
    let others = Certificates::made();
    for store in ["redis", "memcached"] {
        let desk = Desk::new();
        let [(_one, own), (_two, other)] =
            [server(store, desk.path(), Some(&certificates)), server(store, desk.path(), None)];
        let url = |by: &Certificates| format!("{store}://127.0.0.1:{own},tls=on,ca={}", by.path("ca.pem").display());
        let (recorder, port) = record::recorder_of(&desk, &url(&certificates), "-o tls.kvtrace");
        let said = shop(store, &port, &[]);
        recorder.interrupt();
        assert_eq!(said, shop(store, &other.to_string(), &[]), "without TLS and without the recorder");
        let words = "run replay --data tls.kvtrace -s ram --no-baselines --repeats 1 --warmups 0 --out out";
        let ran = desk.kvtrial(words);
        assert!(ran.status == 0 && ran.is_ranked("ram"), "{}", ran.said());
        assert!(ran.cell("ram")["answer"]["facts"]["get_hits"].as_u64() > Some(4_000), "{}", ran.said());
        // Nothing passes to a server whose certificate nobody known has signed.
        let refused = desk.kvtrial(&format!("record {} --listen 127.0.0.1:0 -o no.kvtrace", url(&others)));
        assert!(refused.status == 2 && refused.stderr.contains("certificate"), "{store}: {}", refused.said());
    }
}
