//! The figures of the README, measured on this machine: `cargo bench -p kvtrial-cli --bench figures [-- SECTION...]`.
//!
//! Sections: `null`, `syscalls`, `redis`, `memcached`, `fans`; those of the jobs are in `jobs`. Needs redis-server, redis-benchmark, memcached,
//! memcaslap (libmemcached-tools), strace and taskset; a section whose tools are missing says so and is left out.
//! The client is pinned to the first processor, servers to the last. Ratios come from alternating runs. What an operation costs over a socket
//! is the slope of the whole process's CPU time between a short and a long run, of kvtrial and of the other tool alike.
#![allow(clippy::unwrap_used)]

mod lab;

use lab::{
    Idle, KVTRIAL, Load, cpu_of, cpu_per_operation, free_port, median, ops_per_cpu_s, start, start_redis, study,
};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

const ROUNDS: usize = 7;

fn main() {
    lab::run(&[
        ("null", &[], null),
        ("syscalls", &["strace", "redis-server"], syscalls),
        ("redis", &["redis-server", "redis-benchmark", "taskset"], redis),
        ("memcached", &["memcached", "memcaslap", "taskset"], memcached),
        ("fans", &["redis-server"], fans),
    ]);
}

fn null(directory: &Path) {
    for (name, sample) in [("latency sampled 1/64", "--time-one-in 64"), ("every operation timed", "")] {
        let words = format!("{} {sample}", Load { clients: 1, pipeline: 1 }.words("null", 20_000_000));
        let rates = (0..ROUNDS).map(|_| ops_per_cpu_s(&study(&[], &words, directory)) / 1e6).collect();
        let (middle, low, high) = median(rates);
        println!("null store, ycsb C, {name}: {middle:.1} M op/s per core ({low:.1} to {high:.1}, {ROUNDS} runs)");
    }
}

/// Slope of a count between a short and a long run: what one operation costs, without start and end.
fn slope(short: u64, long: u64, count: impl Fn(u64) -> f64) -> f64 {
    (count(long) - count(short)) / (long - short) as f64
}

fn syscalls(directory: &Path) {
    let (_server, socket, port) = start_redis(directory);
    for url in [format!("redis-unix://{}", socket.display()), format!("redis://127.0.0.1:{port}")] {
        let trace = directory.join("strace");
        let cost = slope(20_000, 120_000, |operations| {
            let wrapper = ["strace", "-f", "-c", "-o", trace.to_str().unwrap()];
            study(&wrapper, &Load { clients: 8, pipeline: 1 }.words(&url, operations), directory);
            let text = std::fs::read_to_string(&trace).unwrap();
            let total = text.lines().find(|line| line.ends_with(" total")).unwrap().to_owned();
            total.split_whitespace().filter_map(|word| word.parse::<f64>().ok()).nth(3).unwrap()
        });
        println!("syscalls per Redis GET, {}, 8 connections, no pipelining: {cost:.2}", place(&url));
    }
}

fn place(url: &str) -> &'static str {
    if url.contains("unix") { "unix socket" } else { "TCP" }
}

fn redis(directory: &Path) {
    let (_server, socket, port) = start_redis(directory);
    let unix = format!("redis-unix://{}", socket.display());
    let tcp = format!("redis://127.0.0.1:{port}");
    let port = port.to_string();
    let (by_socket, by_port) = (["-s", socket.to_str().unwrap()], ["-p", port.as_str()]);
    let benchmark = |how: &[&str; 2], load: Load, operations: u64, test: &str| {
        let mut command = Command::new("taskset");
        command.args(["-c", "0", "redis-benchmark", "-q", "-t", test, "-r", "10000", "-d", "64"]).args(how);
        let (clients, pipeline) = (load.clients.to_string(), load.pipeline.to_string());
        command.args(["-c", &clients, "-P", &pipeline, "-n", &operations.to_string()]);
        command
    };
    cpu_of(&mut benchmark(&by_socket, Load { clients: 50, pipeline: 16 }, 200_000, "set"));
    for idle in Idle::settings() {
        let idle = idle.take_effect();
        for (name, url, how, clients, pipeline, operations) in [
            ("unix 50x16", &unix, &by_socket, 50, 16, 2_000_000),
            ("unix 50x1", &unix, &by_socket, 50, 1, 300_000),
            ("unix 1x16", &unix, &by_socket, 1, 16, 500_000),
            ("unix 1x1", &unix, &by_socket, 1, 1, 60_000),
            ("TCP 50x16", &tcp, &by_port, 50, 16, 1_000_000),
        ] {
            let load = Load { clients, pipeline };
            let ratios = (0..ROUNDS).map(|round| {
                let ours = || cpu_per_operation(operations, |operations| load.gets(url, operations, directory));
                let theirs = || cpu_per_operation(operations, |operations| benchmark(how, load, operations, "get"));
                let (ours, theirs) = lab::in_turn(round, ours, theirs);
                theirs / ours
            });
            let (middle, low, high) = median(ratios.collect());
            println!(
                "Redis GET per client CPU second against redis-benchmark, {name}, {idle}: {middle:.2} ({low:.2} to {high:.2}, {ROUNDS} pairs)"
            );
        }
    }
}

fn memcached(directory: &Path) {
    let socket = directory.join("memcached.sock");
    let port = free_port();
    // memcaslap speaks TCP best; one server for each kind of socket, as memcached has it.
    let words = format!("memcached -u root -s {} -m 512 -t 1", socket.display());
    let _unix = start(&words.split(' ').collect::<Vec<_>>(), &socket, None);
    let words = format!("memcached -u root -l 127.0.0.1 -p {port} -U 0 -m 512 -t 1");
    let _tcp = start(&words.split(' ').collect::<Vec<_>>(), &socket, Some(port));
    let config = directory.join("memcaslap.cnf");
    std::fs::write(&config, "key\n16 16 1\nvalue\n64 64 1\ncmd\n0 0.1\n1 0.9\n").unwrap();
    let url = format!("memcached://127.0.0.1:{port}");
    let load = Load { clients: 50, pipeline: 16 };
    let mixed = |operations| {
        let words = load.words(&url, operations);
        lab::kvtrial(&[], &words.replace("workload=c", "workload=b --set read=0.9 --set update=0.1"), directory)
    };
    let memcaslap = |operations: u64| {
        let mut theirs = Command::new("taskset");
        // -d 16: gets go out sixteen at a time, as one command of many keys.
        theirs.args("-c 0 memcaslap -T 1 -c 50 -d 16 -w 1k -s".split(' '));
        theirs.arg(format!("127.0.0.1:{port}"));
        theirs.args(["-x", &operations.to_string(), "-F", config.to_str().unwrap()]);
        theirs
    };
    let ratios = (0..ROUNDS).map(|round| {
        let ours = || cpu_per_operation(400_000, mixed);
        let (ours, theirs) = lab::in_turn(round, ours, || cpu_per_operation(400_000, memcaslap));
        theirs / ours
    });
    let (middle, low, high) = median(ratios.collect());
    println!(
        "memcached get:set 9:1 per client CPU second against memcaslap, TCP 50x16: {middle:.2} ({low:.2} to {high:.2}, {ROUNDS} pairs)"
    );
}

fn fans(directory: &Path) {
    let one = "run fans -s redis-unix --no-baselines --repeats 3 --warmups 0";
    let seconds = |options: &str| {
        let cell = study_unpinned(&format!("{one} {options}"), directory);
        (cell["makespan_s"]["value"].as_f64().unwrap(), cell["answer"]["digest"].clone(), cell)
    };
    let (alone, digest, cell) = seconds("");
    let (pipelined, same, _) = seconds("--pipeline 64");
    assert_eq!(digest, same);
    println!(
        "fans on redis-unix: one round trip at a time {alone:.2} s, 64 slots on one connection {pipelined:.2} s, {:.2}x, same digest",
        alone / pipelined
    );
    let rss = cell["trials"][0]["client_rss_bytes"].as_f64().unwrap() / 1048576.0;
    let bare = study_unpinned(
        "run ycsb -s redis-unix --no-baselines --repeats 1 --warmups 0 --set workload=c --set records=1000",
        directory,
    );
    let bare = bare["trials"][0]["client_rss_bytes"].as_f64().unwrap() / 1048576.0;
    println!("client peak RSS: ycsb over 1,000 records {bare:.1} MiB; fans on debian-10k {rss:.1} MiB, input included");
}

/// As [`study`], but free to use every processor: for times on the wall.
fn study_unpinned(words: &str, directory: &Path) -> Value {
    let out = directory.join("study");
    let _ = std::fs::remove_dir_all(&out);
    let output = Command::new(KVTRIAL).args(words.split_whitespace()).arg("--out").arg(&out).output().unwrap();
    let text = std::fs::read(out.join("study.json")).unwrap_or_else(|_| panic!("{output:?}"));
    let study: Value = serde_json::from_slice(&text).unwrap();
    study["cells"].as_array().unwrap().last().unwrap().clone()
}
