//! What the benchmarks share: servers pinned to the last processor, kvtrial to the first, CPU time, medians.
#![allow(dead_code)] // each benchmark uses a part of it

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub const KVTRIAL: &str = env!("CARGO_BIN_EXE_kvtrial");

/// A section of a benchmark: its name, the tools it needs, and what it does in a directory of its own.
pub type Section = (&'static str, &'static [&'static str], fn(&Path));

/// Runs the sections named on the command line, or all. One whose tools are missing says so.
pub fn run(sections: &[Section]) {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
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
pub struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub fn last_cpu() -> String {
    (std::thread::available_parallelism().map_or(1, |cpus| cpus.get()) - 1).to_string()
}

/// Starts a server on the last processor and waits until its socket or port is open.
pub fn start(words: &[&str], socket: &Path, port: Option<u16>) -> Server {
    let mut command = Command::new("taskset");
    command.args(["-c", &last_cpu()]).args(words).stdout(Stdio::null()).stderr(Stdio::null());
    let server = Server(command.spawn().unwrap());
    let listens = || match port {
        Some(port) => std::net::TcpStream::connect(("127.0.0.1", port)).is_ok(),
        None => std::os::unix::net::UnixStream::connect(socket).is_ok(),
    };
    let begin = Instant::now();
    while !listens() && begin.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(10));
    }
    server
}

pub fn start_redis(directory: &Path) -> (Server, PathBuf, u16) {
    let socket = directory.join("redis.sock");
    let port = free_port();
    let words =
        format!("redis-server --bind 127.0.0.1 --port {port} --save --appendonly no --unixsocket {}", socket.display());
    let mut words: Vec<&str> = words.split(' ').collect();
    words.insert(6, "");
    (start(&words, &socket, None), socket, port)
}

pub fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// kvtrial on the first processor; its study is to be in `study` of the directory.
pub fn kvtrial(wrapper: &[&str], words: &str, directory: &Path) -> Command {
    let out = directory.join("study");
    let _ = std::fs::remove_dir_all(&out);
    let mut command = Command::new("taskset");
    command.args(["-c", "0"]).args(wrapper).arg(KVTRIAL).args(words.split_whitespace()).arg("--out").arg(&out);
    command
}

/// Runs kvtrial on the first processor and returns the first cell of its study.
pub fn study(wrapper: &[&str], words: &str, directory: &Path) -> Value {
    let output = kvtrial(wrapper, words, directory).output().unwrap();
    let text = std::fs::read(directory.join("study/study.json")).unwrap_or_else(|_| panic!("{output:?}"));
    let study: Value = serde_json::from_slice(&text).unwrap();
    let cell = study["cells"].as_array().unwrap().last().unwrap().clone();
    assert_ne!(cell["verdict"]["status"], "void", "{}", cell["verdict"]);
    cell
}

pub fn ops_per_cpu_s(cell: &Value) -> f64 {
    let trial = &cell["trials"][0];
    trial["operations"].as_f64().unwrap() / trial["client_cpu_s"].as_f64().unwrap()
}

pub fn median(mut figures: Vec<f64>) -> (f64, f64, f64) {
    figures.sort_by(f64::total_cmp);
    (figures[figures.len() / 2], figures[0], figures[figures.len() - 1])
}

/// Closed-loop reads: connections, and requests in flight on each.
#[derive(Clone, Copy)]
pub struct Load {
    pub clients: u32,
    pub pipeline: u32,
}

impl Load {
    /// Reads of a workload that fits: 64-byte values, uniform over 10,000 keys.
    pub fn words(self, url: &str, operations: u64) -> String {
        format!(
            "run ycsb -s {url} --no-baselines --overwrite --repeats 1 --warmups 0 --threads 1 --clients {} --pipeline {} \
             --set workload=c --set distribution=uniform --set records=10000 --set value=64 --set operations={operations}",
            self.clients, self.pipeline
        )
    }

    /// kvtrial doing them on the first processor.
    pub fn gets(self, url: &str, operations: u64, directory: &Path) -> Command {
        kvtrial(&[], &self.words(url, operations), directory)
    }
}

/// CPU seconds one operation takes a program, start, end and everything that does not grow with the operations left out: the slope of the
/// whole process's CPU time between a short and a long run.
pub fn cpu_per_operation(operations: u64, mut run: impl FnMut(u64) -> Command) -> f64 {
    let short = operations / 5;
    let mut cpu = |operations| cpu_of(&mut run(operations));
    let (short_s, long_s) = (cpu(short), cpu(short + operations));
    (long_s - short_s) / operations as f64
}

/// Runs both sides, the first first in even rounds and last in odd ones.
pub fn in_turn<A, B>(round: usize, first: impl FnOnce() -> A, second: impl FnOnce() -> B) -> (A, B) {
    if round.is_multiple_of(2) {
        let first = first();
        (first, second())
    } else {
        let second = second();
        (first(), second)
    }
}

/// Does it on the first processor, as kvtrial is.
pub fn on_first_cpu<T: Send>(body: impl FnOnce() -> T + Send) -> T {
    let pinned = || {
        host::pin_thread(&[0]).unwrap();
        body()
    };
    std::thread::scope(|scope| scope.spawn(pinned).join().unwrap())
}

/// What idle processors do before they halt.
#[derive(Clone, Copy, PartialEq)]
pub enum Idle {
    /// Whatever this machine is set to; it cannot be changed.
    AsItIs,
    /// They halt at once.
    Halt,
    /// They poll for 200 µs.
    Poll,
}

const POLL_NS: &str = "/sys/module/haltpoll/parameters/guest_halt_poll_ns";

impl Idle {
    /// Those that can be had here.
    pub fn settings() -> Vec<Idle> {
        let governor = std::fs::read_to_string("/sys/devices/system/cpu/cpuidle/current_governor").unwrap_or_default();
        let now = std::fs::read_to_string(POLL_NS).unwrap_or_default();
        if governor.trim() == "haltpoll" && std::fs::write(POLL_NS, now.trim()).is_ok() {
            vec![Idle::Poll, Idle::Halt]
        } else {
            vec![Idle::AsItIs]
        }
    }

    /// Sets it, until the guard is dropped.
    pub fn take_effect(self) -> IdleSet {
        let before = std::fs::read_to_string(POLL_NS).unwrap_or_default();
        match self {
            Idle::AsItIs => {}
            Idle::Halt => std::fs::write(POLL_NS, "0").unwrap(),
            Idle::Poll => std::fs::write(POLL_NS, "200000").unwrap(),
        }
        IdleSet { idle: self, before }
    }
}

/// A setting in effect; dropped, the one before is back.
pub struct IdleSet {
    idle: Idle,
    before: String,
}

impl std::fmt::Display for IdleSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self.idle {
            Idle::AsItIs => "idle processors as they are",
            Idle::Halt => "idle processors halt",
            Idle::Poll => "idle processors poll",
        })
    }
}

impl Drop for IdleSet {
    fn drop(&mut self) {
        if self.idle != Idle::AsItIs {
            let _ = std::fs::write(POLL_NS, self.before.trim()); // it could be written before
        }
    }
}

/// CPU seconds of a finished child, user and system, and of the children it waited for.
pub fn cpu_of(command: &mut Command) -> f64 {
    let before = children_cpu();
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
    children_cpu() - before
}

pub fn children_cpu() -> f64 {
    // SAFETY: rusage is plain data for which all zeros is valid; the call only writes into it.
    let used = unsafe {
        let mut used: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &mut used);
        used
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(used.ru_utime) + seconds(used.ru_stime)
}

/// CPU seconds of this thread.
pub fn own_cpu() -> f64 {
    // SAFETY: timespec is plain data for which all zeros is valid; the call only writes into it.
    let time = unsafe {
        let mut time: libc::timespec = std::mem::zeroed();
        libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time);
        time
    };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
