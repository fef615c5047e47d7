//! What each fault does, and what must come of it.

use crate::proxy::{Cut, Proxy};
use crate::running::{Over, Running, freeze_client, on_a_small_disk, strike};
use std::fs::File;
use std::io::Read;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Words that keep a store at work for longer than any test waits.
fn long(job: &str, store: &str) -> String {
    let job = match job {
        "fans" => "fans --data gen:6000:42",
        "ycsb" => "ycsb --set records=1000 --set seconds=40",
        "bulk" if store == "ram" => "bulk --data gen:400000:42 --set batch=1",
        "bulk" => "bulk --data gen:40000:42 --set batch=1",
        "append" if store == "ram" => "append --data gen:1000000:42",
        _ => "append --data gen:100000:42",
    };
    format!("{job} -s {store} --repeats 1 --deadline 1s")
}

/// The same, short enough to be done again.
fn short(store: &str) -> String {
    format!("ycsb --set records=1000 --set seconds=2 -s {store} --repeats 1")
}

fn unlimited(_: &mut Command) {}

/// Room for a busy machine in claims about time.
const SLACK: Duration = Duration::from_secs(5);

/// The study goes on: what was recorded stays.
fn void_and_resumable(over: &Over) {
    assert_eq!(over.ran.status, 1, "{}: {}", over.words, over.ran.said());
    assert_eq!(over.ran.verdict(), "void", "{}: {}", over.words, over.ran.said());
    over.resumes();
}

pub fn server_killed(store: &str, job: &str) {
    let mut running = Running::start(&long(job, store), unlimited);
    running.until_busy();
    let struck = strike(running.server().unwrap().pid, libc::SIGKILL);
    let over = running.ended(struck);
    let why = over.reason(&["server_died"]);
    assert!(why.contains("SIGKILL") && why.contains("while: "), "{}: {why}", over.words);
    assert!(over.took < Duration::from_secs(1) + SLACK, "{}: {:?}", over.words, over.took);
    void_and_resumable(&over);
}

pub fn server_frozen(store: &str, job: &str) {
    let mut running = Running::start(&long(job, store), unlimited);
    running.until_busy();
    // All of its processes: those of PostgreSQL answer without the first.
    let struck = running.strike_server(libc::SIGSTOP);
    let over = running.ended(struck);
    over.reason(&["deadline", "connection_lost"]);
    assert!(over.took < Duration::from_secs(2) + SLACK, "{}: {:?}", over.words, over.took);
    void_and_resumable(&over);
}

pub fn worker_killed(store: &str, job: &str) {
    let mut running = Running::start(&long(job, store), unlimited);
    let worker = running.until_busy();
    let over = running.ended(strike(worker.pid, libc::SIGKILL));
    let why = over.reason(&["worker_died"]);
    assert!(why.contains("SIGKILL") && why.contains("while: "), "{}: {why}", over.words);
    assert!(over.took < Duration::from_secs(1) + SLACK, "{}: {:?}", over.words, over.took);
    void_and_resumable(&over);
}

/// A library's call that never returns: one of four clients stands within it, the others go on. The next trial has another process.
pub fn call_without_end(store: &str, job: &str) {
    let mut running = Running::start(&format!("{} --clients 4", long(job, store)), unlimited);
    let worker = running.until_busy();
    let over = running.ended(freeze_client(worker.pid));
    hung(&over);
    void_and_resumable(&over);

    let words = format!("{} --deadline 1s", short(store).replace("--repeats 1", "--repeats 2"));
    let mut running = Running::start(&words, unlimited);
    let worker = running.until_busy();
    let over = running.ended(freeze_client(worker.pid));
    over.reason(&["deadline"]);
    let trials = over.ran.only()["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 2, "{}: {}", over.words, over.ran.said());
    assert_ne!(trials[1]["verdict"]["status"], "void", "{}: {}", over.words, over.ran.said());
}

pub fn worker_frozen(store: &str, job: &str) {
    let mut running = Running::start(&long(job, store), unlimited);
    let worker = running.until_busy();
    // Before its first word of a phase it counts as opening the store.
    std::thread::sleep(Duration::from_millis(400));
    let over = running.ended(strike(worker.pid, libc::SIGSTOP));
    hung(&over);
    void_and_resumable(&over);
}

/// It ended a second after the deadline, with what was being done.
fn hung(over: &Over) {
    let why = over.reason(&["deadline"]);
    assert!(why.contains(" operations one was begun") && why.contains("while: "), "{}: {why}", over.words);
    println!("{}: {:?}: {why}", over.words, over.took);
    assert!(over.took < Duration::from_secs(2) + SLACK, "{}: {:?}", over.words, over.took);
}

/// A nursery that is killed takes the worker with it; the next trial has another.
pub fn nursery_killed(store: &str, _: &str) {
    let mut running = Running::start(&short(store).replace("--repeats 1", "--repeats 2"), unlimited);
    running.until_busy();
    let struck = strike(running.nursery().unwrap().pid, libc::SIGKILL);
    let over = running.ended(struck);
    assert!(over.reason(&["worker_died"]).contains("nursery"), "{}", over.ran.said());
    let trials = over.ran.only()["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 2, "{}", over.ran.said());
    assert_ne!(trials[1]["verdict"]["status"], "void", "{}", over.ran.said());
    over.resumes();
}

pub fn kvtrial_killed(store: &str, _: &str) {
    let mut running = Running::start(&short(store), unlimited);
    running.until_busy();
    let struck = strike(running.pid(), libc::SIGKILL);
    let over = running.ended(struck);
    assert!(over.was_ended_by(libc::SIGKILL), "{}", over.ran.said());
    assert_eq!(over.resumes().status, 0);
}

pub fn guard_killed(store: &str, _: &str) {
    let mut running = Running::start(&short(store), unlimited);
    running.until_busy();
    let struck = strike(running.guard().unwrap().pid, libc::SIGKILL);
    let over = running.ended(struck);
    assert_eq!(over.ran.status, 0, "{}: {}", over.words, over.ran.said());
    assert_ne!(over.ran.verdict(), "void", "{}", over.ran.said());
    over.resumes();
}

/// Signals that ask kvtrial to end.
pub fn asked_to_end(store: &str, signal: i32) {
    let mut running = Running::start(&short(store), unlimited);
    running.until_busy();
    let struck = strike(running.pid(), signal);
    let over = running.ended(struck);
    assert_eq!(over.ran.status, 130, "{}: {}", over.words, over.ran.said());
    assert!(over.took < Duration::from_secs(3) + SLACK, "{}: {:?}", over.words, over.took);
    assert_eq!(over.resumes().status, 0);
}

/// A terminal whose other end is closed: the kernel hangs up its session, and it takes no more words.
pub fn terminal_closed(store: &str, _: &str) {
    let (mut master, mut slave) = (-1, -1);
    let null = std::ptr::null_mut();
    // SAFETY: openpty writes two descriptors; they belong to nobody else. No process started meanwhile may keep the master open.
    let (master, slave) = unsafe {
        assert_eq!(libc::openpty(&mut master, &mut slave, null, null.cast(), null.cast()), 0);
        assert_eq!(libc::fcntl(master, libc::F_SETFD, libc::FD_CLOEXEC), 0);
        assert_eq!(libc::fcntl(slave, libc::F_SETFD, libc::FD_CLOEXEC), 0);
        assert_eq!(libc::fcntl(master, libc::F_SETFL, libc::O_NONBLOCK), 0);
        (OwnedFd::from_raw_fd(master), OwnedFd::from_raw_fd(slave))
    };
    let mut running = Running::start(&short(store), |command| {
        let output = || File::from(slave.try_clone().unwrap());
        command.stdin(output()).stdout(output()).stderr(output()).env("TERM", "xterm");
        // SAFETY: both calls are safe between fork and exec.
        unsafe {
            command.pre_exec(|| {
                if libc::setsid() == -1 || libc::ioctl(0, libc::TIOCSCTTY, 0) == -1 {
                    return Err(std::io::Error::last_os_error());
                }
                Ok(())
            })
        };
    });
    drop(slave);
    let closing = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&closing);
    // Somebody looks at the terminal, until its window is closed.
    let looking = std::thread::spawn(move || {
        let mut terminal = File::from(master);
        let (mut seen, mut buffer) = (0, [0; 4096]);
        while !told.load(Ordering::Relaxed) {
            seen += terminal.read(&mut buffer).unwrap_or(0);
            std::thread::sleep(Duration::from_millis(1));
        }
        seen
    });
    running.until_busy();
    let struck = Instant::now();
    closing.store(true, Ordering::Relaxed);
    assert!(looking.join().unwrap() > 0, "nothing was shown");
    let over = running.ended(struck);
    assert_eq!(over.ran.status, 130, "{}: {}", over.words, over.ran.said());
    assert!(over.took < Duration::from_secs(3) + SLACK, "{}: {:?}", over.words, over.took);
    assert_eq!(over.resumes().status, 0);
}

/// No file may grow beyond this many KiB: a full disk, to a store.
fn limited(kib: u64, words: &str) -> Running {
    Running::start(words, |command| {
        let limit = libc::rlimit { rlim_cur: kib << 10, rlim_max: kib << 10 };
        // SAFETY: setrlimit is safe between fork and exec.
        unsafe {
            command.pre_exec(move || {
                assert_eq!(libc::setrlimit(libc::RLIMIT_FSIZE, &limit), 0);
                Ok(())
            })
        };
    })
}

pub fn disk_full_in_mid_run(store: &str, job: &str) {
    let begun = Instant::now();
    let over = limited(3 << 10, &long(job, store).replace("--deadline 1s", "--deadline 5s")).ended(begun);
    over.reason(&["refused", "worker_died", "connection_lost", "server_died"]);
    void_and_resumable(&over);
}

pub fn disk_full_at_set_up(store: &str, job: &str) {
    let begun = Instant::now();
    let over = limited(3, &long(job, store)).ended(begun);
    // Either the store or the study cannot be opened, which is the user's to mend, or the first write is refused.
    let said = over.ran.said();
    assert!([1, 2].contains(&over.ran.status), "{}: {said}", over.words);
    assert!(
        said.contains("too large") || said.contains("full") || said.contains("I/O error"),
        "{}: {said}",
        over.words
    );
    // With room again it is done.
    over.resumes();
}

/// A store that maps its files is killed by SIGBUS when the disk below is full. Needs root.
pub fn mapped_disk_full(store: &str, job: &str) {
    let words = format!("{job} --data gen:8000:42 -s {store} --repeats 2 --base small");
    let begun = Instant::now();
    let over = Running::start(&words, on_a_small_disk).ended(begun);
    let why = over.reason(&["worker_died"]);
    assert!(why.contains("SIGBUS") && why.contains("while: run"), "{}: {why}", over.words);
    assert_eq!(over.ran.only()["trials"].as_array().unwrap().len(), 2, "{}", over.ran.said());
    void_and_resumable(&over);
}

/// More memory than a process may have.
pub fn memory_limited(store: &str, _: &str) {
    let words = format!("ycsb --set records=4000000 --set value=1000 -s {store} --repeats 1");
    let begun = Instant::now();
    let over = Running::start(&words, |command| {
        let limit = libc::rlimit { rlim_cur: 700 << 20, rlim_max: 700 << 20 };
        // SAFETY: setrlimit is safe between fork and exec.
        unsafe {
            command.pre_exec(move || {
                assert_eq!(libc::setrlimit(libc::RLIMIT_AS, &limit), 0);
                Ok(())
            })
        };
    })
    .ended(begun);
    let why = over.reason(&["worker_died", "refused", "server_died"]);
    assert!(!why.is_empty(), "{}", over.ran.said());
    void_and_resumable(&over);
}

/// A server of the user's behind a proxy that cuts connections.
pub fn connections_cut(program: &str, job: &str, cut: Cut) {
    let proxy = Proxy::to(program);
    // The others go on, and what was cut is connected again.
    let words = format!("{} --clients 4", long(job, &proxy.spec())).replace("seconds=40", "seconds=2");
    let mut running = Running::start(&words, unlimited);
    running.until_busy();
    let struck = proxy.cut(cut);
    let over = running.ended(struck);
    over.reason(&["connection_lost"]);
    void_and_resumable(&over);
}

/// A server of the user's that dies: nobody says so, but nothing answers any more.
pub fn users_server_killed(program: &str, job: &str) {
    let mut proxy = Proxy::to(program);
    let mut running = Running::start(&format!("{} --clients 4", long(job, &proxy.spec())), unlimited);
    running.until_busy();
    let struck = proxy.kill_server();
    let over = running.ended(struck);
    over.reason(&["connection_lost"]);
    assert!(over.took < Duration::from_secs(2) + SLACK, "{}: {:?}", over.words, over.took);
    assert_eq!((over.ran.status, over.ran.verdict()), (1, "void"), "{}: {}", over.words, over.ran.said());
}
