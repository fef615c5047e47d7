//! What is known to be true must be what the program says, on a real Redis.

#![allow(clippy::unwrap_used, missing_docs)]

use crate::common;

use common::{Desk, Ran, once, run_once};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use testkit::waiting::until;

/// A Redis of the test's own, that can be frozen.
struct Redis {
    child: Child,
    directory: TempDir,
}

impl Redis {
    fn start() -> Redis {
        let directory = tempfile::tempdir().unwrap();
        let child = Command::new("redis-server")
            .args(["--port", "0", "--save", "", "--appendonly", "no", "--unixsocket"])
            .arg(directory.path().join("redis.sock"))
            .arg("--dir")
            .arg(directory.path())
            .stdout(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("redis-server: {error}; install it with: apt-get install redis-server"));
        let redis = Redis { child, directory };
        until("redis-server listens", || std::os::unix::net::UnixStream::connect(redis.socket()).is_ok());
        redis
    }

    fn socket(&self) -> PathBuf {
        self.directory.path().join("redis.sock")
    }

    fn url(&self) -> String {
        format!("redis-unix://{}", self.socket().display())
    }

    fn signal(&self, signal: i32) {
        // SAFETY: plain system call; the process is our child and has not been waited for.
        assert_eq!(unsafe { libc::kill(self.child.id() as i32, signal) }, 0);
    }

    /// Freezes the server for about this time, and says how long it was.
    fn freeze(&self, time: Duration) -> Duration {
        self.signal(libc::SIGSTOP);
        let start = Instant::now();
        std::thread::sleep(time);
        self.signal(libc::SIGCONT);
        start.elapsed()
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Attempts at a measurement that anything else on this machine can only make worse.
const ATTEMPTS: u32 = 3;

/// Open loop at 1,000 reads per second on a server that is frozen meanwhile.
struct Event {
    /// How long the run is, and how that is set.
    run: Duration,
    words: &'static str,
    /// When after the start of kvtrial the server freezes, and for how long.
    after: Duration,
    frozen: Duration,
    /// How far from the truth a percentile may be. At random moments more or fewer operations are due in the same time.
    tolerance: f64,
}

const SECOND: Duration = Duration::from_secs(1);
const MIDDLE: Event = Event {
    run: Duration::from_secs(4),
    words: "--clients 1 --pipeline 2000 --set operations=4000",
    after: Duration::from_millis(1500),
    frozen: SECOND,
    tolerance: 0.02,
};

/// Reads due while the server is frozen are answered when it thaws: their response times are evenly spread from the whole time of the
/// freeze down to nothing. One in twenty of all was due in its first twentieth of the run's time, so 95 of 100 took at most the freeze less
/// that; one in a hundred too.
fn the_stall_is_seen(event: &Event) {
    let mut seen = Vec::new();
    for _ in 0..ATTEMPTS {
        let (ran, frozen) = stalled_run(event);
        let latency = &ran.only()["latency_ns"];
        assert!(ran.why("not_sent").is_none() && ran.verdict() != "void", "{}", ran.only()["verdict"]);
        let (n, due) = (latency["response"]["n"].as_u64().unwrap(), event.run.as_millis() as u64);
        let random = event.words.contains("--poisson --set seconds");
        assert!(if random { n.abs_diff(due) < 300 } else { n == due }, "{n} of {due} sent\n{}", ran.said());
        let service = &latency["service"];
        assert!(service["n"].as_u64() == Some(n) && service["p50"].as_u64().unwrap() > 0, "{latency}");
        let ratio = |percentile: &str, beyond: u32| {
            let truth = (frozen - event.run / beyond).as_nanos() as f64;
            latency["response"][percentile].as_f64().unwrap() / truth
        };
        let (p95, p99) = (ratio("p95", 20), ratio("p99", 100));
        seen.push(format!("frozen {frozen:?}: p95 {p95:.4} and p99 {p99:.4} of the truth"));
        if [p95, p99].iter().all(|ratio| (ratio - 1.0).abs() <= event.tolerance) {
            return;
        }
    }
    panic!("{}", seen.join("\n"));
}

fn stalled_run(event: &Event) -> (Ran, Duration) {
    let redis = Redis::start();
    let desk = Desk::new();
    let more = ["--rate 1000 --set workload=c --set records=500 --set value=100", event.words];
    let running = desk.command(&format!("run {} --out out", once("ycsb", &redis.url(), &more))).spawn().unwrap();
    // When the server freezes, and for how long, is the subject.
    std::thread::sleep(event.after);
    let frozen = redis.freeze(event.frozen);
    let output = running.wait_with_output().unwrap();
    (desk.finished(output), frozen)
}

#[test]
fn a_stall_of_one_second_is_reported_accurately() {
    the_stall_is_seen(&MIDDLE);
}

#[test]
fn a_stall_is_reported_accurately_when_the_run_is_as_long_as_a_time() {
    the_stall_is_seen(&Event { words: "--clients 1 --pipeline 2000 --set seconds=4", ..MIDDLE });
}

#[test]
fn a_stall_is_reported_accurately_at_random_moments() {
    let words = "--clients 1 --pipeline 2000 --poisson --set operations=4000";
    the_stall_is_seen(&Event { words, tolerance: 0.06, ..MIDDLE });
}

#[test]
fn a_stall_is_reported_accurately_at_random_moments_within_a_time() {
    let words = "--clients 1 --pipeline 2000 --poisson --set seconds=4";
    the_stall_is_seen(&Event { words, tolerance: 0.06, ..MIDDLE });
}

/// The time is over while the server is frozen, and the only slot has one operation in flight: all the others are sent when it thaws.
#[test]
fn a_stall_at_the_end_of_the_time_is_reported_accurately_by_one_slot() {
    let words = "--clients 1 --pipeline 1 --set seconds=4";
    let (after, frozen) = (Duration::from_millis(3300), Duration::from_millis(1500));
    the_stall_is_seen(&Event { words, after, frozen, tolerance: 0.03, ..MIDDLE });
}

/// What could not be sent within the time and as long as the store has to answer behind it is counted, and voids the run.
#[test]
fn what_a_frozen_server_could_not_be_sent_in_time_is_counted() {
    let words = "--clients 1 --pipeline 1 --deadline 2s --set seconds=2";
    let (run, after, frozen) = (2 * SECOND, SECOND, 4 * SECOND);
    let (ran, _) = stalled_run(&Event { run, words, after, frozen, ..MIDDLE });
    assert_eq!((ran.verdict(), ran.status), ("void", 1), "{}", ran.said());
    let (count, example) = ran.why("not_sent").unwrap();
    let trial = &ran.only()["trials"][0];
    assert_eq!((trial["not_sent"].as_u64().unwrap(), trial["operations"].as_u64().unwrap() + count), (count, 2000));
    assert!(count > 500 && example.contains("gave no answer for longer than --deadline"), "{count}: {example}");
}

/// Processes that do nothing, on every processor; they end when this is dropped.
struct Strangers(Vec<Child>);

impl Strangers {
    fn everywhere() -> Strangers {
        let busy = || Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let cpus = std::thread::available_parallelism().map_or(2, usize::from);
        Strangers((0..cpus).map(|_| busy()).collect())
    }
}

impl Drop for Strangers {
    fn drop(&mut self) {
        for stranger in &mut self.0 {
            let _ = stranger.kill();
            let _ = stranger.wait();
        }
    }
}

#[test]
fn the_users_own_server_on_this_machine_is_measured_and_doubted_like_a_private_one() {
    let redis = Redis::start();
    let strangers = Strangers::everywhere();
    let ran = run_once("ycsb", &redis.url(), &["--set workload=c --set records=200 --set seconds=1"]);
    drop(strangers);
    let trial = &ran.only()["trials"][0];
    assert!(trial["server"]["cpu_s"].as_f64().unwrap() > 0.01, "{trial}");
    assert!(trial["server"]["peak_rss_bytes"].as_u64().unwrap() > 1_000_000, "{trial}");
    assert!(trial["noise"].get("judged").is_none(), "{trial}");
    assert!(ran.verdict() == "degraded" && ran.why("other_load").is_some(), "{}", ran.only()["verdict"]);
}

#[test]
fn a_trial_too_short_to_judge_says_so() {
    let redis = Redis::start();
    let ran = run_once("ycsb", &redis.url(), &["--set workload=c --set records=200 --set seconds=0.05"]);
    assert_eq!(ran.only()["trials"][0]["noise"]["judged"], "too_short", "{}", ran.said());
    let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("are too short (under 0.25 s) to judge"), "{}", ran.said());
}

#[test]
fn a_full_server_is_void_with_the_refused_writes_counted() {
    let more = ["--set", "records=5000", "--set", "value=1000", "--set", "operations=2000", "--set", "workload=a"];
    let ran = run_once("ycsb", "redis,maxmemory=2mb", &more);
    assert_eq!((ran.verdict(), ran.status), ("void", 1), "{}", ran.said());
    let (count, example) = ran.why("refused").unwrap();
    // 2 MB minus what the server itself needs holds less than 2,000 of the 5,000 records.
    assert!((3_000..7_000).contains(&count), "{count} refused: {example}");
    assert!(example.contains("OOM") && example.contains("key "), "{example}");
    assert!(ran.said().contains("void"), "{}", ran.said());
}

#[test]
fn what_real_servers_evict_is_counted_as_evicted() {
    for spec in ["redis-unix,maxmemory=3mb,maxmemory-policy=allkeys-lru", "memcached-unix,memory=2"] {
        let ran = run_once("ycsb", spec, &["--set", "records=5000"]);
        assert_eq!((ran.verdict(), ran.status), ("void", 1), "{}", ran.said());
        let (count, example) = ran.why("evicted").unwrap_or_else(|| panic!("{spec}\n{}", ran.said()));
        assert!(
            count > 1_000 && example.replace(',', "").contains(&format!("{count} keys evicted")),
            "{spec}: {count}, {example}"
        );
    }
}

#[test]
fn a_server_that_forgets_shows_its_hit_rate_and_is_void() {
    let spec = "redis,maxmemory=2mb,maxmemory-policy=allkeys-random";
    let more = ["--set", "records=5000", "--set", "value=1000", "--set", "operations=4000", "--set", "workload=c"];
    let ran = run_once("ycsb", spec, &more);
    assert_eq!((ran.verdict(), ran.status), ("void", 1), "{}", ran.said());
    let (hits, misses) = (ran.only()["hits"].as_u64().unwrap(), ran.only()["misses"].as_u64().unwrap());
    assert_eq!(hits + misses, 4000, "{hits} hits, {misses} misses");
    assert!(misses > 1000, "{misses} misses");
    let (count, example) = ran.why("unexpected_miss").unwrap();
    assert!(count >= misses, "{count} of {misses} misses were found wrong: {example}");
}

#[test]
fn lost_updates_are_counted_and_every_policy_that_prevents_them_has_the_same_answer() {
    let fans = |policy: &str| {
        let policy = format!("policy={policy}");
        run_once("fans", "redis-unix", &["--clients", "8", "--pipeline", "4", "--set", &policy])
    };
    let careless = fans("none");
    assert_eq!((careless.verdict(), careless.status), ("void", 1), "{}", careless.said());
    let (count, example) = careless.why("lost_updates").unwrap();
    assert!(count > 0 && !example.is_empty(), "{count}: {example}");
    let digests = ["cas", "lock", "partition"].map(|policy| {
        let ran = fans(policy);
        assert_eq!(ran.status, 0, "{policy}: {}", ran.said());
        assert_ne!(ran.verdict(), "void", "{policy}: {}", ran.only()["verdict"]);
        ran.only()["answer"]["digest"].as_str().unwrap().to_owned()
    });
    assert!(digests[0].starts_with("sha256:"), "{digests:?}");
    assert!(digests.iter().all(|digest| *digest == digests[0]), "{digests:?}");
}
