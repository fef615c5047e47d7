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

/// Runs kvtrial on the first processor and returns the first cell of its study.
pub fn study(wrapper: &[&str], words: &str, directory: &Path) -> Value {
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

pub fn ops_per_cpu_s(cell: &Value) -> f64 {
    let trial = &cell["trials"][0];
    trial["operations"].as_f64().unwrap() / trial["client_cpu_s"].as_f64().unwrap()
}

pub fn median(mut figures: Vec<f64>) -> (f64, f64, f64) {
    figures.sort_by(f64::total_cmp);
    (figures[figures.len() / 2], figures[0], figures[figures.len() - 1])
}

/// CPU seconds of a finished child, user and system.
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
