//! Private servers, real ones: started, measured, refused, stopped.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod support;

use kvtrial_host::{Exit, Opening, open};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use store::{
    Capabilities, CommandLine, Deployment, Endpoint, Place, ServerPlan, Session, SessionPlan, Store, StoreError,
    StoreInfo, Threading,
};
use study::Spec;
use support::{
    MEMCACHED, POSTGRES, REDIS, REDIS_UNIX, all_processes, base, descendants, info, names_in, plan, program, redis,
    redis_cli, redis_connect, redis_plan, redis_server, redis_unix_server, survivors, unwritten_pages,
};
use testkit::waiting::until;

/// Opens a store that is expected not to start, and checks that it leaves nothing.
fn refusal(store: &'static StoreInfo) -> StoreError {
    let base = base();
    let error = open(store, &Spec::private(store.name), base.path()).expect_err("it must not start");
    assert_eq!(names_in(base.path()), [""; 0]);
    error
}

fn place_of(base: &Path) -> std::path::PathBuf {
    let names = names_in(base);
    assert_eq!(names.len(), 1, "{names:?}");
    base.join(&names[0])
}

#[test]
fn every_kind_of_server_starts_and_is_gone_without_a_trace_when_dropped() {
    for store in [&REDIS, &REDIS_UNIX, &MEMCACHED, &POSTGRES] {
        let base = base();
        let opened = open(store, &Spec::private(store.name), base.path()).unwrap();
        let pid = opened.server_pid().unwrap();
        let processes = [descendants(pid), vec![pid]].concat();
        assert!(opened.is_alive() && survivors(&processes).contains(&pid));
        assert_eq!(processes.len() > 1, store.name == "postgres", "{}: {processes:?}", store.name);
        drop(opened);
        assert_eq!(survivors(&processes), [0; 0], "{}", store.name);
        assert_eq!(all_processes().iter().filter(|(known, ..)| *known == pid).count(), 0, "no zombie either");
        assert_eq!(names_in(base.path()), [""; 0], "{}", store.name);
    }
}

#[test]
fn as_root_a_server_runs_as_its_own_user_in_a_directory_that_is_his() {
    if !support::is_root() {
        return;
    }
    let base = base();
    let opened = open(&POSTGRES, &Spec::private("postgres"), base.path()).unwrap();
    let pid = opened.server_pid().unwrap();
    let of_process = Path::new("/proc").join(pid.to_string()).metadata().unwrap();
    assert_ne!((of_process.uid(), of_process.gid()), (0, 0));
    let place = place_of(base.path());
    assert_eq!((place.metadata().unwrap().uid(), place.metadata().unwrap().mode() & 0o777), (0, 0o711));
    for below in ["store", "store/data", "store/run", "store/run/sockets"] {
        let meta = place.join(below).metadata().unwrap();
        assert_eq!((meta.uid(), meta.mode() & 0o777), (of_process.uid(), 0o700), "{below}");
    }
    opened.close().unwrap();
    assert_eq!(names_in(base.path()), [""; 0]);
}

#[test]
fn cpu_time_and_memory_of_a_server_agree_with_what_it_says_itself() {
    let base = base();
    let opened = open(&REDIS_UNIX, &Spec::private("redis-unix"), base.path()).unwrap();
    let socket = place_of(base.path()).join("store/redis.sock");
    let own_cpu_s = || {
        let info = redis_cli(&socket, &["INFO", "cpu"]);
        let field = |name: &str| -> f64 {
            info.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim().parse().unwrap()
        };
        field("used_cpu_sys:") + field("used_cpu_user:")
    };
    redis_cli(&socket, &["EVAL", "local i = 0 while i < 2e7 do i = i + 1 end return i", "0"]);
    let (low, measured, high) = (own_cpu_s(), opened.usage().unwrap(), own_cpu_s());
    assert!(low > 0.02 && (low - 0.002..high + 0.002).contains(&measured.cpu_s), "{low} {measured:?} {high}");
    assert!(opened.server_cpu_s().unwrap() >= measured.cpu_s);
    let before = measured.peak_rss_bytes;
    redis_cli(&socket, &["SETRANGE", "key", "33554432", "x"]);
    redis_cli(&socket, &["FLUSHALL"]);
    let peak = opened.usage().unwrap().peak_rss_bytes;
    assert!(peak > before + (30 << 20) && peak < before + (80 << 20), "{before} {peak}");
}

#[test]
fn what_ended_processes_of_a_server_used_is_counted_and_shared_memory_once() {
    let base = base();
    let opened = open(&POSTGRES, &Spec::private("postgres"), base.path()).unwrap();
    let before = opened.usage().unwrap();
    let sockets = place_of(base.path()).join("store/run/sockets");
    let status = Command::new(program("psql", "postgresql-client"))
        .args(["-q", "-U", "postgres", "-o", "/dev/null", "-h"])
        .arg(sockets.canonicalize().unwrap())
        .args(["-c", "select count(*) from generate_series(1, 1500000) a, generate_series(1, 2) b"])
        .status()
        .unwrap();
    assert!(status.success());
    let after = opened.usage().unwrap();
    assert!(after.cpu_s > before.cpu_s + 0.1, "{before:?} {after:?}");
    let pids = [descendants(opened.server_pid().unwrap()), vec![opened.server_pid().unwrap()]].concat();
    let peaks: Vec<u64> = pids
        .iter()
        .map(|pid| {
            let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
            let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
            line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
        })
        .collect();
    let (sum, largest) = (peaks.iter().sum::<u64>(), *peaks.iter().max().unwrap());
    assert!(after.peak_rss_bytes < sum - sum / 10, "{after:?} {peaks:?}");
    assert!(after.peak_rss_bytes > largest / 2, "{after:?} {peaks:?}");
}

#[test]
fn bytes_on_disk_are_the_data_s_and_not_the_log_s() {
    let base = base();
    let opened = open(&REDIS_UNIX, &Spec::private("redis-unix"), base.path()).unwrap();
    let store = place_of(base.path()).join("store");
    let empty = opened.disk_bytes().unwrap();
    std::fs::write(store.join("redis.log"), vec![1; 4 << 20]).unwrap();
    assert_eq!(opened.disk_bytes(), Some(empty));
    std::fs::write(store.join("data"), vec![1; 1 << 20]).unwrap();
    std::fs::File::open(store.join("data")).unwrap().sync_all().unwrap();
    let full = opened.disk_bytes().unwrap();
    assert!((1 << 20..(1 << 20) + (64 << 10)).contains(&(full - empty)), "{empty} {full}");
}

#[test]
fn what_setting_a_server_up_has_written_is_on_the_disk_before_the_store_is_handed_out() {
    let base = base();
    let own = base.path().join("own");
    std::fs::write(&own, vec![7; 1 << 20]).unwrap();
    let before = unwritten_pages(&own);
    std::fs::File::open(&own).unwrap().sync_all().unwrap();
    if before.is_none_or(|pages| pages == 0) || unwritten_pages(&own) != Some(0) {
        eprintln!("not judged: the system does not say what waits to be written, or keeps files in memory only");
        return;
    }
    std::fs::remove_file(own).unwrap();
    // Its plan makes 39 MB without syncing any of it.
    let opened = open(&POSTGRES, &Spec::private("postgres"), base.path()).unwrap();
    let (mut paths, mut files, mut waiting) = (vec![place_of(base.path()).join("store")], 0, 0);
    while let Some(path) = paths.pop() {
        let Ok(meta) = path.symlink_metadata() else { continue };
        if meta.is_dir() {
            paths.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if meta.is_file() {
            files += 1;
            waiting += unwritten_pages(&path).unwrap();
        }
    }
    // The server goes on writing a little of its own.
    assert!(files > 500 && waiting < 64, "{waiting} pages of {files} files still wait");
    drop(opened);
}

/// A store that asks its server a last time when it is dropped, as drivers do.
struct Talkative(Spec, Vec<Endpoint>);

static TALKATIVE: StoreInfo = info("redis", redis_plan, |spec, nodes| {
    redis_connect(spec, nodes)?;
    Ok(Box::new(Talkative(spec.clone(), nodes.to_vec())))
});

impl Store for Talkative {
    fn capabilities(&self) -> &Capabilities {
        &Capabilities::BASIC
    }

    fn session(&self, _: SessionPlan) -> Result<Box<dyn Session>, StoreError> {
        Err(StoreError::Session("not for use".into()))
    }

    fn threading(&self) -> Threading {
        Threading::Shared
    }

    fn facts(&self) -> Result<store::Facts, StoreError> {
        Ok(store::Facts::default())
    }
}

impl Drop for Talkative {
    fn drop(&mut self) {
        redis_connect(&self.0, &self.1).expect("the server answers");
    }
}

#[test]
fn a_server_can_be_given_processors_of_its_own_and_has_open_files_enough() {
    let base = base();
    let last = *kvtrial_host::allowed_cpus().last().unwrap();
    let opened = Opening::new(base.path()).server_cpus(&[last]).open(&REDIS, &Spec::private("redis")).unwrap();
    let status = std::fs::read_to_string(format!("/proc/{}/status", opened.server_pid().unwrap())).unwrap();
    assert!(status.contains(&format!("Cpus_allowed_list:\t{last}\n")), "{status}");
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", opened.server_pid().unwrap())).unwrap();
    let files = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    let numbers: Vec<u64> = files.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    assert!(numbers[0] >= numbers[1].min(65_536), "{files}");
}

#[test]
fn a_server_that_is_killed_or_frozen_is_noticed_and_cleared_away() {
    let base = base();
    let opened = open(&REDIS, &Spec::private("redis"), base.path()).unwrap();
    let pid = opened.server_pid().unwrap();
    // SAFETY: kill touches no memory.
    unsafe { libc::kill(pid, libc::SIGKILL) };
    until("it is seen to have ended", || !opened.is_alive());
    assert_eq!(opened.exit(), Some(Exit::Signal(libc::SIGKILL)));
    opened.close().unwrap();
    let frozen = open(&TALKATIVE, &Spec::private("redis"), base.path()).unwrap();
    // SAFETY: as above.
    unsafe { libc::kill(frozen.server_pid().unwrap(), libc::SIGSTOP) };
    let start = Instant::now();
    frozen.close().unwrap();
    assert!(start.elapsed() < Duration::from_secs(9), "it is thawed, so that it can answer a last time and end");
    assert_eq!(names_in(base.path()), [""; 0]);
}

#[test]
fn a_port_taken_meanwhile_is_changed_for_another() {
    static TAKEN: Mutex<Vec<TcpListener>> = Mutex::new(Vec::new());
    fn plan(_: &Spec, place: &mut Place) -> Result<Deployment, StoreError> {
        let server = redis_server(place)?;
        let mut taken = TAKEN.lock().unwrap();
        if taken.len() < 2 {
            taken.push(TcpListener::bind(server.endpoint.tcp().unwrap()).unwrap());
        }
        Ok(server.into())
    }
    static STORE: StoreInfo = info("redis", plan, redis_connect);
    let base = base();
    let opened = open(&STORE, &Spec::private("redis"), base.path()).unwrap();
    assert_eq!(TAKEN.lock().unwrap().len(), 2);
    assert!(opened.is_alive());
    assert_eq!(names_in(base.path()).len(), 1);
}

#[test]
fn a_stranger_who_answers_on_our_port_is_not_taken_for_our_server() {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    fn plan_with_stranger(_: &Spec, place: &mut Place) -> Result<Deployment, StoreError> {
        let server = redis_server(place)?;
        if CALLS.fetch_add(1, Ordering::SeqCst) > 0 {
            return Ok(server.into());
        }
        let stranger = TcpListener::bind(server.endpoint.tcp().unwrap()).unwrap();
        thread::spawn(move || {
            for mut stream in stranger.incoming().flatten() {
                let _ = stream.read(&mut [0; 6]);
                let _ = stream.write_all(b"+PONG\r\n");
            }
        });
        Ok(ServerPlan { run: CommandLine::new("/bin/sleep").arg("100"), ..server }.into())
    }
    static STORE: StoreInfo = info("redis", plan_with_stranger, redis_connect);
    let base = base();
    let opened = open(&STORE, &Spec::private("redis"), base.path()).unwrap();
    assert_eq!(CALLS.load(Ordering::SeqCst), 2);
    let command = std::fs::read(format!("/proc/{}/cmdline", opened.server_pid().unwrap())).unwrap();
    assert!(String::from_utf8_lossy(&command).contains("redis-server"));
}

#[test]
fn a_port_that_is_always_taken_is_given_up_after_five_tries() {
    static TAKEN: Mutex<Vec<TcpListener>> = Mutex::new(Vec::new());
    fn plan(_: &Spec, place: &mut Place) -> Result<Deployment, StoreError> {
        let server = redis_server(place)?;
        TAKEN.lock().unwrap().push(TcpListener::bind(server.endpoint.tcp().unwrap()).unwrap());
        Ok(server.into())
    }
    static STORE: StoreInfo = info("redis", plan, redis_connect);
    let message = refusal(&STORE).to_string();
    assert!(message.contains("port was taken") && message.contains("in use"), "{message}");
    assert_eq!(TAKEN.lock().unwrap().len(), 5);
}

#[test]
fn a_missing_program_is_named_with_the_way_to_get_it() {
    static STORE: StoreInfo =
        info("redis", |_, _| Ok(plan(1, CommandLine::new("/no/such/server")).into()), redis_connect);
    let error = refusal(&STORE);
    assert!(matches!(&error, StoreError::NotFound { .. }));
    assert_eq!(error.to_string(), "redis: /no/such/server not found; install it with: apt install the-package");
}

#[test]
fn a_user_the_server_needs_but_the_machine_has_not_is_named() {
    fn plan_with_user(_: &Spec, place: &mut Place) -> Result<Deployment, StoreError> {
        Ok(ServerPlan { user: Some("no-such-user"), ..redis_server(place)? }.into())
    }
    static STORE: StoreInfo = info("redis", plan_with_user, redis_connect);
    if support::is_root() {
        assert!(refusal(&STORE).to_string().contains("user 'no-such-user' not found"));
    }
}

#[test]
fn a_server_that_ends_at_once_is_quoted() {
    fn bad_option(_: &Spec, place: &mut Place) -> Result<Deployment, StoreError> {
        Ok(plan(place.port()?, redis(place).args(["--no-such-option", "7"])).into())
    }
    fn bad_directory(_: &Spec, place: &mut Place) -> Result<Deployment, StoreError> {
        let mut plan = redis_unix_server(place);
        plan.run = plan.run.args(["--appendonly", "yes", "--appenddirname", "redis.log"]);
        Ok(plan.into())
    }
    static BAD_OPTION: StoreInfo = info("redis", bad_option, redis_connect);
    static BAD_DIRECTORY: StoreInfo = info("redis", bad_directory, redis_connect);
    let output = refusal(&BAD_OPTION).to_string();
    assert!(output.contains("ended with status 1") && output.contains("no-such-option"), "{output}");
    let log = refusal(&BAD_DIRECTORY).to_string();
    assert!(log.contains("ended with status 1") && log.contains("append-only dir"), "{log}");
}

#[test]
fn a_failing_preparation_is_quoted_and_the_server_not_started() {
    fn plan_with_script(_: &Spec, place: &mut Place) -> Result<Deployment, StoreError> {
        let script = "echo begun; echo 'no space left' >&2; exit 3";
        let prepare = vec![CommandLine::new("/bin/sh").args(["-c", script])];
        Ok(ServerPlan { prepare, ..redis_server(place)? }.into())
    }
    static STORE: StoreInfo = info("redis", plan_with_script, redis_connect);
    let message = refusal(&STORE).to_string();
    assert!(message.contains("/bin/sh ended with status 3") && message.contains("begun\n  no space left"), "{message}");
}

#[test]
fn a_server_that_does_not_answer_in_time_is_given_up_even_when_connecting_hangs() {
    fn silent(_: &Spec, place: &mut Place) -> Result<Deployment, StoreError> {
        let run = CommandLine::new("/bin/sh").args(["-c", "echo still loading; exec sleep 100"]);
        Ok(ServerPlan { start_timeout: Duration::from_millis(300), ..plan(place.port()?, run) }.into())
    }
    fn hanging(_: &Spec, _: &[Endpoint]) -> Result<Box<dyn Store>, StoreError> {
        thread::sleep(Duration::from_secs(60));
        Err(StoreError::open("x", "hung"))
    }
    static SILENT: StoreInfo = info("redis", silent, redis_connect);
    static HANGING: StoreInfo = info("redis", silent, hanging);
    let start = Instant::now();
    let message = refusal(&SILENT).to_string();
    assert!(
        message.contains("within 0.3 s") && message.contains("refused") && message.contains("still loading"),
        "{message}"
    );
    assert!(refusal(&HANGING).to_string().contains("within 0.3 s"));
    assert!(start.elapsed() < Duration::from_secs(20), "the server ends when asked, not after 10 s");
}

#[test]
fn a_server_that_refuses_to_end_is_killed_with_all_its_children() {
    fn stubborn(_: &Spec, place: &mut Place) -> Result<Deployment, StoreError> {
        let (redis, port) = (redis(place), place.port()?);
        let script = format!(
            "trap '' TERM; {} --port {port} & sleep 1000 & wait; wait; wait; sleep 1000",
            redis.program.display()
        );
        Ok(plan(port, CommandLine::new("/bin/sh").args(["-c", &script])).into())
    }
    static STORE: StoreInfo = info("redis", stubborn, redis_connect);
    let base = base();
    let opened = open(&STORE, &Spec::private("redis"), base.path()).unwrap();
    let pid = opened.server_pid().unwrap();
    let processes = [descendants(pid), vec![pid]].concat();
    assert_eq!(processes.len(), 3);
    let start = Instant::now();
    opened.close().unwrap();
    assert!((9.0..30.0).contains(&start.elapsed().as_secs_f64()), "asked, then killed after 10 s");
    assert_eq!(survivors(&processes), [0; 0]);
    assert_eq!(names_in(base.path()), [""; 0]);
}

#[test]
fn a_socket_path_too_long_for_the_system_is_refused_with_the_remedy() {
    let base = base();
    let deep = base.path().join("d".repeat(90));
    std::fs::create_dir(&deep).unwrap();
    let message = open(&REDIS_UNIX, &Spec::private("redis-unix"), &deep).unwrap_err().to_string();
    assert!(message.contains("107 bytes") && message.contains("TMPDIR"), "{message}");
    assert_eq!(names_in(&deep), [""; 0]);
}

#[test]
fn a_directory_the_server_s_user_cannot_reach_is_named() {
    if !support::is_root() {
        return;
    }
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    let closed = tempfile::Builder::new().permissions(mode).tempdir().unwrap();
    let message = open(&POSTGRES, &Spec::private("postgres"), closed.path()).unwrap_err().to_string();
    assert!(message.contains(closed.path().to_str().unwrap()) && message.contains("postgres"), "{message}");
    assert_eq!(names_in(closed.path()), [""; 0]);
}

#[test]
fn specs_a_store_cannot_have_are_refused_before_anything_is_started() {
    let base = base();
    let missing = base.path().join("missing");
    let message = |spec: &str| open(&REDIS, &spec.parse().unwrap(), &missing).unwrap_err().to_string();
    assert!(message("redis,layout=hstore").contains("table, rows"));
    assert!(message("redis,durability=commit").contains("durability=commit"));
    assert!(message("redis:/data/x").contains("it is a server"));
    assert!(message("redis").contains("TMPDIR"), "a base that does not exist");
}

#[test]
fn the_user_s_own_server_is_connected_to_and_outlives_us() {
    let base = base();
    let private = open(&REDIS_UNIX, &Spec::private("redis-unix"), base.path()).unwrap();
    let socket = place_of(base.path()).join("store/redis.sock");
    let spec = format!("redis-unix://{}", socket.display()).parse().unwrap();
    let users = open(&REDIS_UNIX, &spec, base.path()).unwrap();
    // It is found by its socket and measured; its files are not ours to look at.
    assert!(users.usage().is_some_and(|used| used.peak_rss_bytes > 0), "{:?}", users.usage());
    assert_eq!((users.disk_bytes(), users.server_pid()), (None, None));
    users.close().unwrap();
    assert!(private.is_alive() && socket.exists());
    assert_eq!(redis_cli(&socket, &["PING"]), "PONG\n");
}
