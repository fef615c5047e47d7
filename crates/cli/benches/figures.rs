//! The figures of the README, measured on this machine: `cargo bench -p kvtrial-cli --bench figures [-- SECTION...]`.
//!
//! Sections: `null`, `syscalls`, `instructions`, `redis`, `memcached`, `fans`, `generator`, `append`, `counts`. Needs redis-server, redis-benchmark, memcached,
//! memcaslap (libmemcached-tools), strace, valgrind and taskset; a section whose tools are missing says so and is left out.
//! The client is pinned to the first processor, servers to the last. Ratios come from alternating runs.
#![allow(clippy::unwrap_used)]

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const KVTRIAL: &str = env!("CARGO_BIN_EXE_kvtrial");
const ROUNDS: usize = 7;

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let sections: [(&str, &[&str], fn(&Path)); 9] = [
        ("null", &[], null),
        ("syscalls", &["strace", "redis-server"], syscalls),
        ("instructions", &["valgrind", "redis-server"], instructions),
        ("redis", &["redis-server", "redis-benchmark", "taskset"], redis),
        ("memcached", &["memcached", "memcaslap", "taskset"], memcached),
        ("fans", &["redis-server"], fans),
        ("generator", &[], generator),
        ("append", &["redis-server", "redis-benchmark", "taskset"], append),
        ("counts", &[], counts),
    ];
    for (name, tools, section) in sections {
        if !wanted.is_empty() && !wanted.iter().any(|word| word == name) {
            continue;
        }
        match tools.iter().find(|tool| !found(tool)) {
            Some(tool) => println!("{name}: left out, {tool} is not on PATH"),
            None => section(tempfile::tempdir().unwrap().path()),
        }
    }
}

fn found(tool: &str) -> bool {
    std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).any(|directory| directory.join(tool).is_file())
}

/// A server of the benchmark's own on the last processor; killed when dropped.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn last_cpu() -> String {
    (std::thread::available_parallelism().map_or(1, |cpus| cpus.get()) - 1).to_string()
}

fn start(words: &[&str], socket: &Path) -> Server {
    let mut command = Command::new("taskset");
    command.args(["-c", &last_cpu()]).args(words).stdout(Stdio::null()).stderr(Stdio::null());
    let server = Server(command.spawn().unwrap());
    let begin = Instant::now();
    while std::os::unix::net::UnixStream::connect(socket).is_err() && begin.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(10));
    }
    server
}

fn start_redis(directory: &Path) -> (Server, PathBuf, u16) {
    let socket = directory.join("redis.sock");
    let port = free_port();
    let words =
        format!("redis-server --bind 127.0.0.1 --port {port} --save --appendonly no --unixsocket {}", socket.display());
    let mut words: Vec<&str> = words.split(' ').collect();
    words.insert(6, "");
    (start(&words, &socket), socket, port)
}

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Reads of a workload that fits: 64-byte values, uniform over 10,000 keys.
fn gets(url: &str, operations: u64, clients: u32, pipeline: u32) -> String {
    format!(
        "run ycsb -s {url} --no-baselines --overwrite --repeats 1 --warmups 0 --threads 1 --clients {clients} --pipeline {pipeline} \
         --set workload=c --set distribution=uniform --set records=10000 --set value=64 --set operations={operations}"
    )
}

/// Runs kvtrial on the first processor and returns the first cell of its study.
fn study(wrapper: &[&str], words: &str, directory: &Path) -> Value {
    let out = directory.join("study");
    let _ = std::fs::remove_dir_all(&out);
    let mut command = Command::new("taskset");
    command.args(["-c", "0"]).args(wrapper).arg(KVTRIAL).args(words.split_whitespace()).arg("--out").arg(&out);
    let output = command.output().unwrap();
    let text = std::fs::read(out.join("study.json")).unwrap_or_else(|_| panic!("{output:?}"));
    let study: Value = serde_json::from_slice(&text).unwrap();
    let cell = study["cells"].as_array().unwrap().last().unwrap().clone();
    assert_ne!(cell["verdict"]["status"], "void", "{}", cell["verdict"]);
    cell
}

fn ops_per_cpu_s(cell: &Value) -> f64 {
    let trial = &cell["trials"][0];
    trial["operations"].as_f64().unwrap() / trial["client_cpu_s"].as_f64().unwrap()
}

fn median(mut figures: Vec<f64>) -> (f64, f64, f64) {
    figures.sort_by(f64::total_cmp);
    (figures[figures.len() / 2], figures[0], figures[figures.len() - 1])
}

/// CPU seconds of a finished child, user and system.
fn cpu_of(command: &mut Command) -> f64 {
    let before = children_cpu();
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
    children_cpu() - before
}

fn children_cpu() -> f64 {
    // SAFETY: rusage is plain data for which all zeros is valid; the call only writes into it.
    let used = unsafe {
        let mut used: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &mut used);
        used
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(used.ru_utime) + seconds(used.ru_stime)
}

fn null(directory: &Path) {
    for (name, sample) in [("latency sampled 1/64", "--time-one-in 64"), ("every operation timed", "")] {
        let words = format!("{} {sample}", gets("null", 20_000_000, 1, 1));
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
            study(&wrapper, &gets(&url, operations, 8, 1), directory);
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

fn instructions(directory: &Path) {
    let (_server, socket, _) = start_redis(directory);
    let url = format!("redis-unix://{}", socket.display());
    for pipeline in [1, 16] {
        let cost = slope(20_000, 100_000, |operations| {
            let file = directory.join("callgrind");
            let out = format!("--callgrind-out-file={}", file.display());
            study(&["valgrind", "--tool=callgrind", &out], &gets(&url, operations, 8, pipeline), directory);
            let text = std::fs::read_to_string(&file).unwrap();
            let total = text.lines().find_map(|line| line.strip_prefix("totals: ")).unwrap();
            total.trim().parse().unwrap()
        });
        println!("user instructions per GET, verified and timed, 8 connections, P={pipeline}: {cost:.0}");
    }
}

fn redis(directory: &Path) {
    let (_server, socket, port) = start_redis(directory);
    let unix = format!("redis-unix://{}", socket.display());
    let tcp = format!("redis://127.0.0.1:{port}");
    let port = port.to_string();
    let (by_socket, by_port) = (["-s", socket.to_str().unwrap()], ["-p", port.as_str()]);
    let benchmark = |how: &[&str; 2], clients: u32, pipeline: u32, operations: u64, test: &str| {
        let mut command = Command::new("taskset");
        command.args(["-c", "0", "redis-benchmark", "-q", "-t", test, "-r", "10000", "-d", "64"]).args(how);
        command.args(["-c", &clients.to_string(), "-P", &pipeline.to_string(), "-n", &operations.to_string()]);
        cpu_of(&mut command)
    };
    benchmark(&by_socket, 50, 16, 200_000, "set");
    for (name, url, how, clients, pipeline, operations) in [
        ("unix 50x16", &unix, &by_socket, 50, 16, 2_000_000),
        ("unix 50x1", &unix, &by_socket, 50, 1, 300_000),
        ("unix 1x16", &unix, &by_socket, 1, 16, 500_000),
        ("unix 1x1", &unix, &by_socket, 1, 1, 60_000),
        ("TCP 50x16", &tcp, &by_port, 50, 16, 1_000_000),
    ] {
        let ratios = (0..ROUNDS)
            .map(|_| {
                let ours = ops_per_cpu_s(&study(&[], &gets(url, operations, clients, pipeline), directory));
                let theirs = operations as f64 / benchmark(how, clients, pipeline, operations, "get");
                ours / theirs
            })
            .collect();
        let (middle, low, high) = median(ratios);
        println!(
            "Redis GET per client CPU second against redis-benchmark, {name}: {middle:.2} ({low:.2} to {high:.2}, {ROUNDS} pairs)"
        );
    }
}

fn memcached(directory: &Path) {
    let socket = directory.join("memcached.sock");
    let port = free_port();
    // memcaslap speaks TCP best; one server for each kind of socket, as memcached has it.
    let words = format!("memcached -u root -s {} -m 512 -t 1", socket.display());
    let _unix = start(&words.split(' ').collect::<Vec<_>>(), &socket);
    let words = format!("memcached -u root -l 127.0.0.1 -p {port} -U 0 -m 512 -t 1");
    let _tcp = start(&words.split(' ').collect::<Vec<_>>(), &socket);
    let config = directory.join("memcaslap.cnf");
    std::fs::write(&config, "key\n16 16 1\nvalue\n64 64 1\ncmd\n0 0.1\n1 0.9\n").unwrap();
    let url = format!("memcached://127.0.0.1:{port}");
    let operations = 400_000u64;
    let ratios = (0..ROUNDS)
        .map(|_| {
            let words =
                gets(&url, operations, 50, 16).replace("workload=c", "workload=b --set read=0.9 --set update=0.1");
            let ours = ops_per_cpu_s(&study(&[], &words, directory));
            let mut theirs = Command::new("taskset");
            // -d 16: gets go out sixteen at a time, as one command of many keys.
            theirs.args("-c 0 memcaslap -T 1 -c 50 -d 16 -w 1k -s".split(' '));
            theirs.arg(format!("127.0.0.1:{port}"));
            theirs.args(["-x", &operations.to_string(), "-F", config.to_str().unwrap()]);
            ours / (operations as f64 / cpu_of(&mut theirs))
        })
        .collect();
    let (middle, low, high) = median(ratios);
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

/// CPU seconds of this thread.
fn own_cpu() -> f64 {
    // SAFETY: timespec is plain data for which all zeros is valid; the call only writes into it.
    let time = unsafe {
        let mut time: libc::timespec = std::mem::zeroed();
        libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time);
        time
    };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn generator(_: &Path) {
    for keys in [10_000_000, 78_000_000] {
        let generator = data::append::Generator::new(keys, 42);
        let mut block = [data::append::Event::default(); 256];
        let rates = (0..ROUNDS as u64)
            .map(|round| {
                let before = own_cpu();
                let blocks = 20_000;
                for number in 0..blocks {
                    generator.fill((round * blocks + number) * 256 % (generator.events() - 256), &mut block);
                    std::hint::black_box(&block);
                }
                (blocks * 256) as f64 / (own_cpu() - before) / 1e6
            })
            .collect();
        let (middle, low, high) = median(rates);
        println!(
            "append generator, {keys} keys: {middle:.1} M events/s per core ({low:.1} to {high:.1}, {ROUNDS} runs)"
        );
    }
}

fn append(directory: &Path) {
    let run = |store: &str, keys: u64, options: &str| {
        format!(
            "run append -s {store} --data gen:{keys}:42 --no-baselines --overwrite --repeats 1 --threads 1 {options}"
        )
    };
    for store in ["null", "ram", "ram,map=lines", "ram,shards=4096", "ram,map=hashbrown"] {
        let cell = study(&[], &run(store, 10_000_000, "--time-one-in 64 --set verify=sample"), directory);
        let stalls = cell["stalls"].as_array().map_or(&[][..], Vec::as_slice);
        let worst = stalls.iter().filter_map(|stall| stall["duration_s"].as_f64()).fold(0.0, f64::max);
        println!(
            "append, 10,000,000 keys in {store}: {:.2} M appends/s per core, {} stalls, longest {:.1} ms",
            ops_per_cpu_s(&cell) / 1e6,
            stalls.len(),
            worst * 1e3
        );
    }
    let (_server, socket, _) = start_redis(directory);
    let url = format!("redis-unix://{}", socket.display());
    let operations = 1_065_000_u64; // about as many as the events of 400,000 keys
    let ratios = (0..ROUNDS)
        .map(|_| {
            let ours = ops_per_cpu_s(&study(
                &[],
                &run(&url, 400_000, "--clients 50 --pipeline 16 --set verify=sample"),
                directory,
            ));
            let mut theirs = Command::new("taskset");
            theirs.args(["-c", "0", "redis-benchmark", "-q", "-s", socket.to_str().unwrap(), "-c", "50", "-P", "16"]);
            theirs.args(["-n", &operations.to_string(), "-r", "400000", "APPEND", "k__rand_int__", "0123456789abcdef"]);
            ours / (operations as f64 / cpu_of(&mut theirs))
        })
        .collect();
    let (middle, low, high) = median(ratios);
    println!(
        "Redis APPEND per client CPU second against redis-benchmark, unix 50x16: {middle:.2} ({low:.2} to {high:.2}, {ROUNDS} pairs)"
    );
}

fn counts(directory: &Path) {
    for store in ["ram", "ram,map=hashbrown"] {
        let words = format!("run counts -s {store} --no-baselines --repeats 1 --time-one-in 64");
        let rates = (0..ROUNDS).map(|_| ops_per_cpu_s(&study(&[], &words, directory)) / 1e6).collect();
        let (middle, low, high) = median(rates);
        println!("counts in {store}: {middle:.2} M increments/s per core ({low:.2} to {high:.2}, {ROUNDS} runs)");
    }
}
