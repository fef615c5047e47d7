//! However kvtrial ends, nothing of it is left: a process of its own stands in for kvtrial, and is ended in every way.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod support;

use kvtrial_host::{OpenStore, interrupt, open};
use std::fs::Permissions;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use store::{CommandLine, Deployment, Place, ServerPlan, StoreError, StoreInfo};
use study::Spec;
use support::{
    MEMCACHED, POSTGRES, REDIS_UNIX, THREE, all_processes, base, descendants, info, names_in, redis, redis_connect,
    redis_server, survivors,
};
use testkit::waiting::{soon, until};

/// What the stand-in is to do once its servers run.
const ROLE: &str = "KVTRIAL_TEST_ROLE";

/// Leaves sleepers behind that have left the server's session, its environment and its directory, each by another way.
static DETACHING: StoreInfo = info("redis", detaching_plan, redis_connect);

fn detaching_plan(_: &Spec, place: &mut Place) -> Result<Deployment, StoreError> {
    let port = place.port()?;
    let redis = redis(place);
    let script = format!(
        "sleep 1001 & (setsid sleep 1002 &) ; (cd /; setsid sleep 1003 &) ; (cd /; env -i setsid sleep 1004 &) ; exec {} --port {port}",
        redis.program.display(),
    );
    Ok(support::plan(port, CommandLine::new("/bin/sh").args(["-c", &script])).into())
}

/// The stand-in for kvtrial. It is no test: started by itself it does nothing.
#[test]
#[ignore = "is started by the other tests, as a process of its own"]
fn stand_in() {
    let Ok(role) = std::env::var(ROLE) else { return };
    interrupt::install(|| std::process::exit(130)).unwrap();
    // Those that stop may take as long as this machine needs: how long they get is what the other two are for.
    if !["ignores", "progresses"].contains(&role.as_str()) {
        thread::spawn(|| {
            loop {
                interrupt::progress();
                thread::sleep(Duration::from_millis(100));
            }
        });
    }
    let base = std::env::temp_dir();
    let stores: &[&'static StoreInfo] = match role.as_str() {
        "detaching" | "beside a daemon" => &[&DETACHING],
        "interrupted start" => &[&NEVER_READY],
        "killed preparing" => &[&NEVER_PREPARED],
        "several nodes" => &[&THREE],
        _ => &[&REDIS_UNIX, &MEMCACHED, &POSTGRES],
    };
    if ["interrupted start", "killed preparing"].contains(&role.as_str()) {
        println!("ready");
    }
    let _opened: Vec<OpenStore> =
        stores.iter().map(|store| open(store, &Spec::private(store.name), &base).unwrap()).collect();
    if role == "beside a daemon" {
        let daemon = "(cd /; env -i setsid sleep 1005 >/dev/null 2>&1 &)";
        assert!(Command::new("/bin/sh").args(["-c", daemon]).status().unwrap().success());
    }
    println!("ready");
    match role.as_str() {
        "panics" => panic!("as told"),
        "exits" => std::process::exit(7),
        "ignores" => thread::sleep(Duration::from_secs(1000)),
        "stops for ever" => {
            await_request();
            println!("asked");
            thread::sleep(Duration::from_secs(1000));
        }
        "progresses" => {
            await_request();
            // The time itself is the subject: 5 s in all, never 3 s without a word.
            for _ in 0..10 {
                thread::sleep(Duration::from_millis(500));
                interrupt::progress();
            }
        }
        "obeys" | "detaching" | "beside a daemon" | "several nodes" => await_request(),
        other => panic!("no role '{other}'"),
    }
}

/// However long the test takes to ask.
fn await_request() {
    while !interrupt::requested() {
        thread::sleep(Duration::from_millis(5));
    }
}

static NEVER_READY: StoreInfo =
    info("redis", |_, _| Ok(support::plan(1, CommandLine::new("/bin/sleep").arg("1000")).into()), redis_connect);

static NEVER_PREPARED: StoreInfo = info(
    "redis",
    |_, place| {
        let script = "sleep 1000 & (setsid sleep 1000; true) & sleep 1000 && echo";
        let prepare = vec![CommandLine::new("/bin/sh").args(["-c", script])];
        Ok(ServerPlan { prepare, ..redis_server(place)? }.into())
    },
    redis_connect,
);

/// A running stand-in, its private base and the processes it has started.
struct Running {
    child: Child,
    /// When it was started, in whole seconds since 1970.
    started_s: u64,
    base: tempfile::TempDir,
    processes: Vec<i32>,
    /// Kept open: a stand-in that cannot print would fail.
    printed: BufReader<ChildStdout>,
}

impl Running {
    fn start(role: &str) -> Running {
        Running::start_from(role, base(), Command::new(std::env::current_exe().unwrap()))
    }

    fn start_from(role: &str, base: tempfile::TempDir, mut command: Command) -> Running {
        // As at a login, whatever this test was started by (`nohup` ignores hang-ups for its children).
        // SAFETY: signal touches no memory and may be called between fork and exec.
        unsafe {
            command.pre_exec(|| {
                libc::signal(libc::SIGHUP, libc::SIG_DFL);
                Ok(())
            });
        }
        Running::spawn(role, base, command)
    }

    fn spawn(role: &str, base: tempfile::TempDir, mut command: Command) -> Running {
        let started_s = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let mut child = command
            .args(["--exact", "stand_in", "--ignored", "--nocapture"])
            .env(ROLE, role)
            .env("TMPDIR", base.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .unwrap();
        let printed = BufReader::new(child.stdout.take().unwrap());
        let mut running = Running { child, started_s, base, processes: Vec::new(), printed };
        running.await_word("ready");
        running.processes = running.descendants();
        running
    }

    /// Reads what it prints until it has printed this.
    fn await_word(&mut self, word: &str) {
        let mut line = String::new();
        while !line.contains(word) {
            line.clear();
            assert_ne!(self.printed.read_line(&mut line).unwrap(), 0, "the stand-in ended and never said '{word}'");
        }
    }

    fn descendants(&self) -> Vec<i32> {
        descendants(self.child.id().cast_signed())
    }

    fn signal(&self, signal: i32) {
        // SAFETY: kill touches no memory.
        unsafe { libc::kill(self.child.id().cast_signed(), signal) };
    }

    /// Whether the kernel throws this signal away for it.
    fn ignores(&self, signal: i32) -> bool {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
        u64::from_str_radix(mask.trim(), 16).unwrap() & (1 << (signal - 1)) != 0
    }

    fn wait(&mut self) -> ExitStatus {
        let child = &mut self.child;
        soon("the stand-in ends", || child.try_wait().unwrap())
    }

    /// Its descendants, as soon as there are that many.
    fn await_descendants(&mut self, are_all: impl Fn(&[i32]) -> bool) {
        self.processes = soon("the stand-in has started its processes", || {
            let found = self.descendants();
            are_all(&found).then_some(found)
        });
    }

    /// Takes the guard away before anything else happens.
    fn kill_guard(&mut self) {
        let is_guard = |pid: &i32| command_of(*pid).contains("kvtrial-guard");
        let guards: Vec<i32> = self.processes.iter().copied().filter(is_guard).collect();
        assert_eq!(guards.len(), 1);
        // SAFETY: kill touches no memory.
        unsafe { libc::kill(guards[0], libc::SIGKILL) };
    }

    /// Segments of shared memory that its processes have made.
    fn shared_memory(&self) -> Vec<String> {
        let segments = std::fs::read_to_string("/proc/sysvipc/shm").unwrap();
        // Its fifth column is who made it, its fourteenth when: a segment that somebody left behind may have been made by a process that
        // had the number of one of ours.
        let number = |line: &str, column: usize| line.split_whitespace().nth(column)?.parse::<u64>().ok();
        let made_by = |line: &str| number(line, 4).is_some_and(|pid| self.processes.contains(&(pid as i32)));
        let ours = |line: &&str| made_by(line) && number(line, 13).is_some_and(|made_s| made_s >= self.started_s);
        segments.lines().skip(1).filter(ours).map(str::to_owned).collect()
    }

    /// Every process gone.
    fn assert_no_process(&self) {
        assert!(!self.processes.is_empty());
        until("no process is left", || survivors(&self.processes).is_empty());
    }

    fn assert_nothing_left(&self) {
        self.assert_no_process();
        until("no shared memory is left", || self.shared_memory().is_empty());
        until("no directory is left", || names_in(self.base.path()).is_empty());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn after_the_first_signal_a_run_that_obeys_ends_by_itself_and_leaves_nothing() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        let mut running = Running::start("obeys");
        assert!(running.processes.len() > 5, "redis, memcached, postgres and its children: {:?}", running.processes);
        running.signal(signal);
        assert_eq!(running.wait().code(), Some(0), "signal {signal}");
        running.assert_nothing_left();
    }
}

#[test]
fn a_run_started_by_nohup_goes_on_when_its_terminal_is_closed() {
    let mut command = Command::new(std::env::current_exe().unwrap());
    // SAFETY: signal touches no memory and may be called between fork and exec.
    unsafe {
        command.pre_exec(|| {
            libc::signal(libc::SIGHUP, libc::SIG_IGN);
            Ok(())
        });
    }
    let mut running = Running::spawn("obeys", base(), command);
    // What a process ignores does nothing to it, now or later: no time is waited for.
    assert!(running.ignores(libc::SIGHUP), "a handler in its place would end the run");
    running.signal(libc::SIGHUP);
    assert_eq!(running.child.try_wait().unwrap(), None, "it goes on");
    running.signal(libc::SIGTERM);
    assert_eq!(running.wait().code(), Some(0));
    running.assert_nothing_left();
}

#[test]
fn a_run_that_ignores_the_signal_is_ended_after_three_seconds_and_leaves_nothing() {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let mut running = Running::start("ignores");
        let start = Instant::now();
        running.signal(signal);
        assert_eq!(running.wait().code(), Some(130));
        assert!((2.9..10.0).contains(&start.elapsed().as_secs_f64()), "{:?}", start.elapsed());
        running.assert_nothing_left();
    }
}

#[test]
fn a_second_signal_ends_a_run_at_once_and_leaves_nothing() {
    // It says again and again that it is stopping, so that nothing but the second signal can end it.
    let mut running = Running::start("stops for ever");
    running.signal(libc::SIGINT);
    running.await_word("asked");
    let start = Instant::now();
    running.signal(libc::SIGINT);
    assert_eq!(running.wait().code(), Some(130));
    assert!(start.elapsed() < Duration::from_secs(8), "{:?}", start.elapsed());
    running.assert_nothing_left();
}

#[test]
fn a_run_that_reports_progress_may_take_longer_to_stop() {
    let mut running = Running::start("progresses");
    let start = Instant::now();
    running.signal(libc::SIGINT);
    assert_eq!(running.wait().code(), Some(0));
    assert!(start.elapsed() > Duration::from_secs(5));
    running.assert_nothing_left();
}

#[test]
fn a_panic_leaves_nothing() {
    let mut running = Running::start("panics");
    assert_eq!(running.wait().code(), Some(101));
    assert_eq!(names_in(running.base.path()), [""; 0]);
    assert_no_server_in(running.base.path());
}

#[test]
fn an_exit_without_dropping_anything_leaves_nothing() {
    let mut running = Running::start("exits");
    assert_eq!(running.wait().code(), Some(7));
    assert_eq!(names_in(running.base.path()), [""; 0]);
    assert_no_server_in(running.base.path());
}

#[test]
fn sigkill_leaves_nothing() {
    let mut running = Running::start("ignores");
    assert!(!running.shared_memory().is_empty(), "PostgreSQL makes some");
    running.signal(libc::SIGKILL);
    running.wait();
    running.assert_nothing_left();
}

#[test]
fn sigkill_leaves_nothing_of_commands_that_prepare_a_server() {
    let mut running = Running::start("killed preparing");
    running.await_descendants(|found| found.len() >= 5);
    running.signal(libc::SIGKILL);
    running.wait();
    running.assert_nothing_left();
}

#[test]
fn a_signal_meant_for_the_terminal_s_programs_does_not_reach_servers_or_guard() {
    let mut running = Running::start("stops for ever");
    let stand_in = running.child.id().cast_signed();
    let children: Vec<i32> =
        all_processes().into_iter().filter(|(_, parent, _)| *parent == stand_in).map(|(pid, ..)| pid).collect();
    assert_eq!(children.len(), 4, "three servers and the guard");
    // SAFETY: kill touches no memory. The stand-in leads a process group of its own.
    unsafe { libc::kill(-stand_in, libc::SIGINT) };
    running.await_word("asked");
    for child in &children {
        // SAFETY: getpgid touches no memory.
        assert_ne!(unsafe { libc::getpgid(*child) }, stand_in, "{child} would have got the signal too");
    }
    assert_eq!(survivors(&children), children);
    running.signal(libc::SIGKILL);
    running.wait();
    running.assert_nothing_left();
}

#[test]
fn sigkill_of_the_guard_too_leaves_no_server_and_the_next_start_removes_the_directories() {
    let mut running = Running::start("ignores");
    running.kill_guard();
    running.signal(libc::SIGKILL);
    running.wait();
    running.assert_no_process();
    assert_eq!(names_in(running.base.path()).len(), 3, "nobody was left to remove them");
    drop(open(&REDIS_UNIX, &Spec::private("redis-unix"), running.base.path()).unwrap());
    assert_eq!(names_in(running.base.path()), [""; 0]);
}

#[test]
fn processes_that_detach_themselves_in_any_way_are_ended_too() {
    let mut running = Running::start("detaching");
    running.await_descendants(|found| found.iter().filter(|pid| command_of(**pid).starts_with("sleep\0")).count() == 4);
    assert_eq!(running.processes.len(), 6, "redis, four sleepers, the guard");
    running.signal(libc::SIGTERM);
    assert_eq!(running.wait().code(), Some(0));
    running.assert_nothing_left();
}

#[test]
fn a_daemon_that_a_command_of_the_users_has_started_lives_on() {
    let mut running = Running::start("beside a daemon");
    running.await_descendants(|found| found.iter().filter(|pid| command_of(**pid).starts_with("sleep\0")).count() == 5);
    running.signal(libc::SIGTERM);
    assert_eq!(running.wait().code(), Some(0));
    let left = survivors(&running.processes);
    assert_eq!(left.iter().map(|pid| command_of(*pid)).collect::<Vec<_>>(), ["sleep\x001005\0"]);
    // SAFETY: kill touches no memory.
    left.iter().for_each(|pid| unsafe {
        libc::kill(*pid, libc::SIGKILL);
    });
}

#[test]
fn every_node_of_a_deployment_ends_with_kvtrial_however_it_ends() {
    for signal in [libc::SIGINT, libc::SIGKILL] {
        let mut running = Running::start("several nodes");
        assert_eq!(running.processes.len(), 4, "three nodes and the guard");
        running.signal(signal);
        running.wait();
        running.assert_nothing_left();
    }
}

#[test]
fn the_next_start_after_sigkill_ends_what_a_server_had_detached() {
    let mut running = Running::start("detaching");
    running.await_descendants(|found| found.iter().filter(|pid| command_of(**pid).starts_with("sleep\0")).count() == 4);
    running.kill_guard();
    running.signal(libc::SIGKILL);
    running.wait();
    drop(open(&REDIS_UNIX, &Spec::private("redis-unix"), running.base.path()).unwrap());
    assert_eq!(names_in(running.base.path()), [""; 0]);
    // Only the one that has left session, environment and directory may be left: its sign does not say whose kvtrial started it.
    for pid in survivors(&running.processes) {
        assert_eq!(command_of(pid), "sleep\x001004\0");
        // SAFETY: kill touches no memory.
        unsafe { libc::kill(pid, libc::SIGKILL) };
    }
}

#[test]
fn a_start_that_takes_long_is_interrupted() {
    let mut running = Running::start("interrupted start");
    running.await_descendants(|found| found.len() >= 2);
    let start = Instant::now();
    running.signal(libc::SIGINT);
    assert_eq!(running.wait().code(), Some(101), "opening fails");
    assert!(start.elapsed() < Duration::from_secs(20), "long before the start would have been given up");
    running.assert_nothing_left();
}

#[test]
fn an_ordinary_user_can_start_every_server_and_leaves_nothing() {
    if !support::is_root() {
        return;
    }
    let (base, programs) = (base(), base_with_this_program());
    let user = 65_534;
    chown(base.path(), Some(user), Some(user)).unwrap();
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(programs.1).current_dir("/");
    let mut running = Running::start_from("obeys", base, command);
    assert!(running.processes.len() > 5);
    let owners: Vec<u32> = running
        .processes
        .iter()
        .map(|pid| std::os::unix::fs::MetadataExt::uid(&Path::new(&format!("/proc/{pid}")).metadata().unwrap()))
        .collect();
    assert!(owners.iter().all(|owner| *owner == user), "{owners:?}");
    running.signal(libc::SIGINT);
    assert_eq!(running.wait().code(), Some(0));
    running.assert_nothing_left();
}

/// This test program, where every user can run it.
fn base_with_this_program() -> (tempfile::TempDir, PathBuf) {
    let directory = base();
    let program = directory.path().join("endings");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    std::fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    (directory, program)
}

/// The words of a process's command, each with a zero behind it; nothing once it has ended.
fn command_of(pid: i32) -> String {
    String::from_utf8_lossy(&std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default()).into_owned()
}

/// No living process whose command line names something below this directory, or works there.
fn assert_no_server_in(base: &Path) {
    let name = base.to_str().unwrap();
    for (pid, _, state) in all_processes() {
        let works_there =
            std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|directory| directory.starts_with(base));
        let there = works_there || command_of(pid).contains(name);
        assert!(state == 'Z' || !there, "process {pid} is left");
    }
}
