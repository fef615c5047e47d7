//! What each fault does, and what must come of it.

use crate::proxy::{Cut, Proxy};
use crate::running::{Over, Process, Running, freeze_client, limit_memory, on_a_small_disk, strike};
use std::fs::File;
use std::io::Read;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Words that keep a store at work for a while, as many `times` as asked. Of `ycsb` it is so short that it can be done again.
fn work(job: &str, store: &str, times: u32) -> String {
    let job = match job {
        "fans" => format!("fans --data gen:{}:42", 6000 * times),
        "ycsb" => format!("ycsb --set records=1000 --set seconds={times}"),
        "bulk" => format!("bulk --data gen:{}:42 --set batch=1", 40_000 * times),
        _ => format!("append --data gen:{}:42", 100_000 * times),
    };
    format!("{job} -s {store} --repeats 1 --warmups 0 --deadline 1s")
}

fn at_work(job: &str, store: &str) -> (Running, Process) {
    Running::at_work(|times| work(job, store, times))
}

/// The deadline of [`long`] runs.
const DEADLINE: Duration = Duration::from_secs(1);
/// What kvtrial sees for itself (a process has ended, a signal has come) it does not wait for.
const AT_ONCE: Duration = Duration::ZERO;
/// A private server that is asked to end because the user wants to go may take so long; then it is killed.
const FAREWELL: Duration = Duration::from_secs(2);

/// The cell is void, and the study goes on: what was recorded stays, and another trial is right, where that takes a moment only.
fn void_and_resumable(over: &Over) {
    assert_eq!(over.ran.status, 1, "{}: {}", over.words, over.ran.said());
    assert_eq!(over.ran.verdict(), "void", "{}: {}", over.words, over.ran.said());
    if over.words.contains("ycsb") {
        over.goes_on();
    } else {
        over.resumes();
    }
}

pub fn server_killed(store: &str, job: &str) {
    let (running, _) = at_work(job, store);
    let struck = strike(running.server().unwrap().pid, libc::SIGKILL);
    let over = running.ended(struck);
    let why = over.reason(&["server_died"]);
    assert!(why.contains("SIGKILL") && why.contains("while: "), "{}: {why}", over.words);
    over.ended_within(AT_ONCE);
    // Those that take seconds to start do it once: each of them is gone on with where its worker is killed.
    match store {
        "postgres-unix" | "mysql-unix" | "etcd" => drop(over.resumes()),
        _ => void_and_resumable(&over),
    }
}

pub fn server_frozen(store: &str, job: &str) {
    let (running, _) = at_work(job, store);
    // All of its processes: those of PostgreSQL answer without the first.
    let struck = running.strike_server(libc::SIGSTOP);
    let over = running.ended(struck);
    over.reason(&["deadline", "connection_lost"]);
    over.ended_within(DEADLINE);
    void_and_resumable(&over);
}

pub fn worker_killed(store: &str, job: &str) {
    let (running, worker) = at_work(job, store);
    let over = running.ended(strike(worker.pid, libc::SIGKILL));
    let why = over.reason(&["worker_died"]);
    assert!(why.contains("SIGKILL") && why.contains("while: "), "{}: {why}", over.words);
    over.ended_within(AT_ONCE);
    void_and_resumable(&over);
}

/// A library's call that never returns: one of four clients stands within it, the others go on. The next trial has another process.
pub fn call_without_end(store: &str, job: &str) {
    let (running, worker) = Running::at_work(|times| format!("{} --clients 4", work(job, store, 2 * times)));
    let over = running.ended(freeze_client(worker.pid));
    hung(&over);
    void_and_resumable(&over);

    if job == "ycsb" {
        let (running, worker) = Running::at_work(|times| work(job, store, times).replace("--repeats 1", "--repeats 2"));
        let over = running.ended(freeze_client(worker.pid));
        over.reason(&["deadline"]);
        let trials = over.ran.only()["trials"].as_array().unwrap();
        assert_eq!(trials.len(), 2, "{}: {}", over.words, over.ran.said());
        assert_ne!(trials[1]["verdict"]["status"], "void", "{}: {}", over.words, over.ran.said());
    }
}

pub fn worker_frozen(store: &str, job: &str) {
    let (running, worker) = Running::at_work(|times| work(job, store, 2 * times));
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
    over.ended_within(DEADLINE);
}

/// A fork server that is killed takes the worker with it; the next trial has another.
pub fn nursery_killed(store: &str, job: &str) {
    // The deadline is not what is tried here, so that no busy machine shall miss it.
    let twice = |times| {
        work(job, store, times).replace("--repeats 1", "--repeats 2").replace("--deadline 1s", "--deadline 10s")
    };
    let (running, _) = Running::at_work(twice);
    let struck = strike(running.fork_server().unwrap().pid, libc::SIGKILL);
    let over = running.ended(struck);
    assert!(over.reason(&["worker_died"]).contains("fork server"), "{}", over.ran.said());
    let trials = over.ran.only()["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 2, "{}", over.ran.said());
    assert_ne!(trials[1]["verdict"]["status"], "void", "{}", over.ran.said());
    over.resumes();
}

pub fn kvtrial_killed(store: &str, job: &str) {
    let (running, _) = at_work(job, store);
    let struck = strike(running.pid(), libc::SIGKILL);
    let over = running.ended(struck);
    assert!(over.was_ended_by(libc::SIGKILL), "{}", over.ran.said());
    assert_eq!(over.resumes().status, 0);
}

pub fn guard_killed(store: &str, job: &str) {
    let (running, _) = at_work(job, store);
    let struck = strike(running.guard().unwrap().pid, libc::SIGKILL);
    let over = running.ended(struck);
    assert_eq!(over.ran.status, 0, "{}: {}", over.words, over.ran.said());
    assert_ne!(over.ran.verdict(), "void", "{}", over.ran.said());
    over.resumes();
}

/// Signals that ask kvtrial to end.
pub fn asked_to_end(store: &str, job: &str, signal: i32) {
    let (running, _) = at_work(job, store);
    let struck = strike(running.pid(), signal);
    let over = running.ended(struck);
    assert_eq!(over.ran.status, 130, "{}: {}", over.words, over.ran.said());
    over.ended_within(FAREWELL);
    assert_eq!(over.resumes().status, 0);
}

/// A terminal whose other end is closed: the kernel hangs up its session, and it takes no more words.
pub fn terminal_closed(store: &str, job: &str) {
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
    let mut running = Running::start(&work(job, store, 8), |command| {
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
    over.ended_within(FAREWELL);
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
    let over = limited(3 << 10, &work(job, store, 1).replace("--deadline 1s", "--deadline 5s")).ended(begun);
    over.reason(&["refused", "worker_died", "connection_lost", "server_died"]);
    void_and_resumable(&over);
}

pub fn disk_full_at_set_up(store: &str, job: &str) {
    let begun = Instant::now();
    let over = limited(3, &work(job, store, 1)).ended(begun);
    // Either the store or the study cannot be opened, which the user can fix, or the first write is refused.
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

/// Words that load 100 MB, in which memory grows; of a store in memory 1 GB, for it takes a gigabyte in a quarter of a second.
fn growing(store: &str, times: u32) -> String {
    let records = if store == "ram" { 250_000 } else { 25_000 };
    work("ycsb", store, 1).replace("records=1000", &format!("records={} --set value=4000", records * times))
}

/// The worker may have no more memory than it has, and a little.
pub fn workers_memory_limited(store: &str, _: &str) {
    let (running, worker) = Running::at_work(|times| growing(store, times));
    let over = running.ended(limit_memory(&[worker.pid]));
    let why = over.reason(&["worker_died", "refused"]);
    let words = ["memory", "SIGABRT", "SIGSEGV"];
    assert!(words.iter().any(|word| why.contains(word)), "{}: {why}", over.words);
    void_and_resumable(&over);
}

/// The same for a private server.
pub fn servers_memory_limited(store: &str, _: &str) {
    // Twice as much, so that on a busy machine, too, there is some to come when the limit is set.
    let (running, _) = Running::at_work(|times| growing(store, 2 * times));
    let struck = limit_memory(&running.of_server());
    let over = running.ended(struck);
    let why = over.reason(&["server_died", "refused", "unexpected_miss"]);
    let words = match store {
        "memcached" => "acknowledged", // it forgets others to make room
        "etcd" => "its log ends",      // Go writes down where every thread was: what is quoted is the end of that
        _ => "memory",
    };
    assert!(why.to_lowercase().contains(words), "{}: {why}", over.words);
    void_and_resumable(&over);
}

/// A server of the user's that may hold a fifth of the records: it refuses the others, or forgets.
pub fn users_server_full(program: &str, _: &str) {
    let proxy = Proxy::to_small(program);
    let begun = Instant::now();
    let over = Running::start(&growing(&proxy.spec(), 1), |_| {}).ended(begun);
    match program {
        "redis" => assert!(over.reason(&["refused"]).contains("maxmemory"), "{}", over.ran.said()),
        _ => assert!(over.reason(&["unexpected_miss"]).contains("acknowledged"), "{}", over.ran.said()),
    }
    assert_eq!((over.ran.status, over.ran.verdict()), (1, "void"), "{}: {}", over.words, over.ran.said());
    over.resumes();
}

/// Too little memory from the start.
pub fn memory_limited_at_set_up(store: &str, job: &str) {
    let begun = Instant::now();
    let over = Running::start(&work(job, store, 1), |command| {
        let limit = libc::rlimit { rlim_cur: 300 << 20, rlim_max: 300 << 20 };
        // SAFETY: setrlimit is safe between fork and exec.
        unsafe {
            command.pre_exec(move || {
                assert_eq!(libc::setrlimit(libc::RLIMIT_AS, &limit), 0);
                Ok(())
            })
        };
    })
    .ended(begun);
    let said = over.ran.said();
    assert!([1, 2].contains(&over.ran.status) && said.to_lowercase().contains("memory"), "{}: {said}", over.words);
    // With memory again it is done.
    over.resumes();
}

/// A server of the user's behind a proxy that cuts connections.
pub fn connections_cut(program: &str, job: &str, cut: Cut) {
    let proxy = Proxy::to(program);
    // The others go on, and what was cut is connected again.
    let words = |times| format!("{} --clients 4", work(job, &proxy.spec(), 2 * times));
    let (running, _) = Running::at_work(words);
    let struck = proxy.cut(cut);
    let over = running.ended(struck);
    over.reason(&["connection_lost"]);
    void_and_resumable(&over);
}

/// A server of the user's that dies: nobody says so, but nothing answers any more.
pub fn users_server_killed(program: &str, job: &str) {
    let mut proxy = Proxy::to(program);
    let spec = proxy.spec();
    let (running, _) = Running::at_work(|times| format!("{} --clients 4", work(job, &spec, 2 * times)));
    let struck = proxy.kill_server();
    let over = running.ended(struck);
    over.reason(&["connection_lost"]);
    over.ended_within(DEADLINE);
    proxy.restart_server();
    void_and_resumable(&over);
}
