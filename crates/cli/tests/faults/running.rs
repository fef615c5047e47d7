//! A kvtrial that runs, seen from outside: its processes, when it is at work, how it ends, what it leaves.

use crate::common::{Desk, Ran};
use std::fs;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long a busy machine may take to get a trial under way, and to end one where the claim is not about time.
const PATIENCE: Duration = Duration::from_secs(90);

/// How often it is noted what processes wait for.
const NOTE_EVERY: Duration = Duration::from_millis(20);

/// From when its clients begin to work to when this test must have seen it: a part of the shortest work.
const REACTION: Duration = Duration::from_millis(500);

/// What kvtrial may need beyond the deadline it was given: to notice, to judge, to write the study, to clear away.
const BESIDES: Duration = Duration::from_secs(3);

/// One process as `/proc` shows it.
#[derive(Clone, Debug)]
pub struct Process {
    pub pid: i32,
    parent: i32,
    session: i32,
    state: char,
    command: String,
}

fn process(pid: i32) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = stat[stat.rfind(')')? + 1..].split_ascii_whitespace().collect();
    let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    Some(Process {
        pid,
        state: fields[0].chars().next()?,
        parent: fields[1].parse().ok()?,
        session: fields[3].parse().ok()?,
        command: String::from_utf8_lossy(&command).replace('\0', " "),
    })
}

/// The processes the threads of another have started. To look at all of `/proc` again and again would be a load of its own.
fn children(pid: i32) -> Vec<Process> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let pids: Vec<i32> =
        lists.flat_map(|list| list.split_whitespace().map(str::parse).collect::<Vec<_>>()).flatten().collect();
    pids.into_iter().filter_map(process).collect()
}

/// These processes and all that they have started, or that are in a session one of these has made. The sessions of the first
/// `others` are not theirs alone.
fn descendants(all: &[Process], mut known: Vec<i32>, others: usize) -> Vec<i32> {
    loop {
        let more: Vec<i32> = all
            .iter()
            .filter(|one| {
                !known.contains(&one.pid) && (known.contains(&one.parent) || known[others..].contains(&one.session))
            })
            .map(|one| one.pid)
            .collect();
        if more.is_empty() {
            return known;
        }
        known.extend(more);
    }
}

fn processes() -> Vec<Process> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| process(entry.file_name().to_str()?.parse().ok()?)).collect()
}

/// Time the first thread of a process was ready to run and had no processor, so far.
fn run_delay(pid: i32) -> Duration {
    let text = fs::read_to_string(format!("/proc/{pid}/schedstat")).unwrap_or_default();
    Duration::from_nanos(text.split_ascii_whitespace().nth(1).and_then(|word| word.parse().ok()).unwrap_or(0))
}

/// How long processes were ready to run but had no processor since this was begun: what a busy machine takes from them.
#[derive(Default)]
struct Delays {
    first_and_last: Vec<(i32, Duration, Duration)>,
}

impl Delays {
    fn note(&mut self, pids: impl Iterator<Item = i32>) {
        for pid in pids {
            let now = run_delay(pid);
            match self.first_and_last.iter_mut().find(|known| known.0 == pid) {
                // One that is gone has no more.
                Some((_, _, last)) => *last = now.max(*last),
                None => self.first_and_last.push((pid, now, now)),
            }
        }
    }

    fn sum(&self) -> Duration {
        self.first_and_last.iter().map(|(_, first, last)| *last - *first).sum()
    }
}

/// Time the client threads of a worker have used, in ticks.
fn client_ticks(worker: i32) -> u64 {
    let threads = fs::read_dir(format!("/proc/{worker}/task")).into_iter().flatten().flatten();
    let read = |thread: fs::DirEntry| {
        let stat = fs::read_to_string(thread.path().join("stat")).ok()?;
        let fields: Vec<&str> = stat[stat.rfind(')')? + 1..].split_ascii_whitespace().collect();
        let client = stat.contains("(client-");
        client.then(|| Some(fields[11].parse::<u64>().ok()? + fields[12].parse::<u64>().ok()?)).flatten()
    };
    threads.filter_map(read).sum()
}

/// A running kvtrial.
pub struct Running {
    pub desk: Desk,
    words: String,
    child: Child,
    path: String,
    /// Everything it was seen to have started, and the shared memory that has.
    seen: Vec<i32>,
    shared: Vec<PathBuf>,
    /// When the clients were last seen to have done nothing yet.
    idle: Instant,
}

/// What it came to.
pub struct Over {
    pub ran: Ran,
    pub status: ExitStatus,
    pub took: Duration,
    /// Of that, what kvtrial's own processes were ready to run but had no processor.
    delayed: Duration,
    pub words: String,
    path: String,
    pub desk: Desk,
}

impl Running {
    /// Starts `kvtrial run WORDS --out out`; `how` may limit it, or give it a terminal.
    pub fn start(words: &str, how: impl FnOnce(&mut Command)) -> Running {
        Running::start_at(words, |_| {}, how)
    }

    /// The same; `lay` puts something on the desk before. What is a program there is found before all others.
    pub fn start_at(words: &str, lay: impl FnOnce(&Path), how: impl FnOnce(&mut Command)) -> Running {
        let desk = Desk::new();
        lay(desk.path());
        testkit::tyrant_server::install(desk.path()).unwrap();
        Running::at(desk, format!("run {words} --no-baselines --out out"), how)
    }

    /// Starts `kvtrial` with these words at a desk.
    pub fn at(desk: Desk, words: String, how: impl FnOnce(&mut Command)) -> Running {
        let path = format!("{}:{}", desk.path().display(), std::env::var("PATH").unwrap());
        let mut command = desk.command(&words);
        command.env("PATH", &path);
        // A test that was itself started by nohup hands the ignored hang-up on.
        // SAFETY: signal is safe to call between fork and exec.
        unsafe {
            command.pre_exec(|| {
                libc::signal(libc::SIGHUP, libc::SIG_DFL);
                Ok(())
            })
        };
        how(&mut command);
        let child = command.spawn().unwrap();
        Running { desk, words, child, path, seen: Vec::new(), shared: Vec::new(), idle: Instant::now() }
    }

    pub fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }

    fn children(&self) -> Vec<Process> {
        children(self.pid())
    }

    pub fn fork_server(&self) -> Option<Process> {
        self.children().into_iter().find(|child| child.command.trim_end().ends_with(" fork-server"))
    }

    pub fn guard(&self) -> Option<Process> {
        self.children().into_iter().find(|child| child.command.contains("kvtrial-guard"))
    }

    /// The program of the private server: it leads a session of its own.
    pub fn server(&self) -> Option<Process> {
        self.children().into_iter().find(|child| child.session == child.pid)
    }

    /// The private server's process and all it has started, whatever sessions those have made for themselves.
    pub fn of_server(&self) -> Vec<i32> {
        descendants(&processes(), vec![self.server().unwrap().pid], 0)
    }

    /// Sends a signal to every process of the private server.
    pub fn strike_server(&self, signal: i32) -> Instant {
        self.of_server().into_iter().map(|pid| strike(pid, signal)).next_back().unwrap()
    }

    pub fn worker(&self) -> Option<Process> {
        let fork_server = self.fork_server()?.pid;
        children(fork_server).into_iter().find(|process| process.state != 'Z')
    }

    #[allow(dead_code)] // the tests of tasks ask for it
    /// Waits until there is a worker that has opened its store, as its files or its threads show, and notes what runs then.
    pub fn until_worker(&mut self) -> Process {
        let begun = Instant::now();
        loop {
            let has_store = |worker: &Process| {
                let files = fs::read_dir(format!("/proc/{}/fd", worker.pid)).into_iter().flatten().flatten();
                files.filter_map(|file| fs::read_link(file.path()).ok()).any(|path| path.starts_with(self.desk.path()))
            };
            if let Some(worker) = self.worker().filter(has_store) {
                self.note();
                return worker;
            }
            assert!(self.child.try_wait().unwrap().is_none(), "{}: ended before it was at work", self.words);
            assert!(begun.elapsed() < PATIENCE, "{}: no worker was at work", self.words);
            sleep(Duration::from_millis(1));
        }
    }

    /// Starts one that is at work, and says which worker does it. `words` takes how many times the work is to be done: one that was over
    /// before this test could see it is started again with more of it.
    pub fn at_work(words: impl Fn(u32) -> String) -> (Running, Process) {
        for times in [1, 8, 64] {
            let mut running = Running::start(&words(times), |_| {});
            if let Some(worker) = running.worker_at_work()
                && running.idle.elapsed() < REACTION
            {
                return (running, worker);
            }
            let _ = running.child.kill();
            running.child.wait().unwrap();
        }
        panic!("{}: was over before it was seen to be at work", words(64));
    }

    /// Waits until a worker's clients have worked for a while, and notes what runs then.
    pub fn until_busy(&mut self) -> Process {
        if let Some(worker) = self.worker_at_work() {
            return worker;
        }
        let mut said = String::new();
        let stderr = self.child.stderr.as_mut().unwrap();
        std::io::Read::read_to_string(stderr, &mut said).unwrap();
        panic!("{}: ended before it was at work\n{said}", self.words);
    }

    /// The same; `None` when it ended before.
    fn worker_at_work(&mut self) -> Option<Process> {
        let begun = Instant::now();
        loop {
            if let Some(worker) = self.worker().filter(|worker| client_ticks(worker.pid) >= 4) {
                self.note();
                return Some(worker);
            }
            self.idle = Instant::now();
            if self.child.try_wait().unwrap().is_some() {
                return None;
            }
            assert!(begun.elapsed() < PATIENCE, "{}: no worker was at work", self.words);
            sleep(Duration::from_millis(5));
        }
    }

    #[allow(dead_code)] // the test of passwords asks for them
    /// Number and command line of every process it was seen to have started.
    pub fn command_lines(&self) -> Vec<(String, String)> {
        let seen = self.seen.iter().filter_map(|pid| process(*pid));
        seen.map(|one| (one.pid.to_string(), one.command)).collect()
    }

    /// Notes every process and every piece of shared memory of this kvtrial.
    fn note(&mut self) {
        let known = descendants(&processes(), vec![self.pid()], 1);
        for pid in &known[1..] {
            let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
            let shared = maps.lines().filter_map(|line| line.split_once("/dev/shm/"));
            // A PostgreSQL that is killed leaves its own to its next start; the test of the private servers looks at it.
            let shared = shared.filter(|(_, name)| !name.starts_with("PostgreSQL."));
            self.shared.extend(shared.map(|(_, name)| Path::new("/dev/shm").join(name.trim())));
        }
        self.seen.extend(known);
    }

    /// Waits for its end; nothing it was seen to have may be left a moment later.
    pub fn ended(mut self, struck: Instant) -> Over {
        let (mut delays, mut noted) = (Delays::default(), Instant::now());
        let is_ours = |pid: &i32| process(*pid).is_some_and(|one| one.command.trim_end().ends_with(" fork-server"));
        let ours: Vec<i32> = self.seen.iter().copied().filter(is_ours).chain([self.pid()]).collect();
        delays.note(ours.iter().copied());
        while self.child.try_wait().unwrap().is_none() {
            if noted.elapsed() >= NOTE_EVERY {
                delays.note(ours.iter().copied());
                noted = Instant::now();
            }
            if struck.elapsed() > PATIENCE {
                let all = processes();
                let left: Vec<&Process> = all.iter().filter(|one| self.seen.contains(&one.pid)).collect();
                self.child.kill().unwrap();
                panic!("{}: did not end within {PATIENCE:?}; there were {left:#?}", self.words);
            }
            sleep(Duration::from_millis(2));
        }
        let took = struck.elapsed();
        let delayed = delays.sum();
        let (pid, words) = (self.pid(), self.words.clone());
        let left = || -> Vec<String> {
            let alive = self.seen.iter().filter(|one| **one != pid).filter_map(|one| process(*one));
            let alive = alive.filter(|one| one.state != 'Z').map(|one| format!("process {one:?}"));
            let shared = self.shared.iter().filter(|path| path.exists());
            let files = self.desk.left_behind();
            let paths = shared.chain(&files).map(|path| path.display().to_string());
            alive.chain(paths).collect()
        };
        let begun = Instant::now();
        while !left().is_empty() && begun.elapsed() < Duration::from_secs(5) {
            sleep(Duration::from_millis(10));
        }
        assert!(left().is_empty(), "{words}: left behind: {:#?}", left());
        let output = self.child.wait_with_output().unwrap();
        let status = output.status;
        let ran = self.desk.finished(output);
        Over { ran, status, took, delayed, words, path: self.path, desk: self.desk }
    }
}

impl Over {
    /// It ended within this deadline and three seconds: on a busy machine, three in which its processes could run.
    pub fn ended_within(&self, deadline: Duration) {
        let Over { took, delayed, words, .. } = self;
        println!("{took:9.3?} from the fault to the end, {delayed:.3?} of it without a processor");
        assert!(*took <= deadline + BESIDES + *delayed, "{words}: {took:?}, {delayed:?} of it without a processor");
    }

    /// Whether it ended by this signal.
    pub fn was_ended_by(&self, signal: i32) -> bool {
        self.status.signal() == Some(signal)
    }

    /// Count and example of the first of these reasons the cell has.
    pub fn reason(&self, kinds: &[&str]) -> String {
        let found = kinds.iter().find_map(|kind| self.ran.why(kind));
        found.unwrap_or_else(|| panic!("{}: none of {kinds:?}\n{}", self.words, self.ran.said())).1
    }

    /// The study goes on: one more trial of its cell, after the fault, is whole and right.
    pub fn goes_on(&self) {
        let before = self.ran.only()["trials"].as_array().unwrap().len();
        let words = self.words.replace("--repeats 1", &format!("--repeats {}", before + 1));
        assert_ne!(words, self.words);
        let mut command = self.desk.command(&format!("{words} --resume"));
        let ran = self.desk.finished(command.env("PATH", &self.path).output().unwrap());
        let trials = ran.only()["trials"].as_array().unwrap();
        assert_eq!(trials.len(), before + 1, "{words} --resume: {}", ran.said());
        assert_ne!(trials[before]["verdict"]["status"], "void", "{words} --resume: {}", ran.said());
        assert!(self.desk.left_behind().is_empty(), "{:?}", self.desk.left_behind());
    }

    /// The study can be read and gone on with: the same words with `--resume` bring it to its end. Of one without a finished trial
    /// nothing may have been kept.
    pub fn resumes(&self) -> Ran {
        let kept = self.desk.path().join("out").exists();
        let resume = if kept { " --resume" } else { "" };
        assert!(kept || [2, 130].contains(&self.ran.status), "{}: {}", self.words, self.ran.said());
        let mut command = self.desk.command(&format!("{}{resume}", self.words));
        let ran = self.desk.finished(command.env("PATH", &self.path).output().unwrap());
        assert!([0, 1].contains(&ran.status), "{} --resume: {}", self.words, ran.said());
        let trials = ran.only()["trials"].as_array().unwrap().len();
        assert!(trials >= 1, "{} --resume: no trial\n{}", self.words, ran.said());
        assert!(self.desk.left_behind().is_empty(), "{:?}", self.desk.left_behind());
        ran
    }
}

#[allow(dead_code)] // not all tests have one
/// Mounts a file system of 8 MiB on `small`, seen by this kvtrial and what it starts, by nobody else. Needs root.
pub fn on_a_small_disk(command: &mut Command) {
    // SAFETY: unshare and mount touch no memory of ours but the strings, and are safe between fork and exec.
    unsafe {
        command.pre_exec(|| {
            let (tmpfs, none) = (c"tmpfs".as_ptr(), std::ptr::null());
            let private = libc::MS_REC | libc::MS_PRIVATE;
            if libc::unshare(libc::CLONE_NEWNS) != 0
                || libc::mount(none, c"/".as_ptr(), none, private, none.cast()) != 0
                || libc::mkdir(c"small".as_ptr(), 0o755) != 0
                || libc::mount(tmpfs, c"small".as_ptr(), tmpfs, 0, c"size=8m".as_ptr().cast()) != 0
            {
                return Err(std::io::Error::last_os_error());
            }
            Ok(())
        })
    };
}

#[allow(dead_code)] // not all tests do
/// Stops one client thread of a worker within whatever call it is in; the others go on. Until the process is gone.
pub fn freeze_client(worker: i32) -> Instant {
    let tasks = fs::read_dir(format!("/proc/{worker}/task")).unwrap().flatten();
    let is_client = |entry: &fs::DirEntry| {
        fs::read_to_string(entry.path().join("comm")).is_ok_and(|name| name.trim_end() == "client-0")
    };
    let client = tasks.filter(is_client).find_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok()).unwrap();
    let (stopped, hears) = std::sync::mpsc::channel();
    // Only the thread that stopped it may wait for it; a process is not gone before somebody has.
    std::thread::spawn(move || {
        let (mut status, none) = (0, std::ptr::null_mut::<libc::c_void>());
        // SAFETY: traces a thread of a process the test has started; waitpid only writes the status.
        unsafe {
            assert_eq!(libc::ptrace(libc::PTRACE_SEIZE, client, none, none), 0, "{}", std::io::Error::last_os_error());
            assert_eq!(libc::ptrace(libc::PTRACE_INTERRUPT, client, none, none), 0);
            assert_eq!(libc::waitpid(client, &raw mut status, libc::__WALL), client);
            stopped.send(libc::WIFSTOPPED(status)).unwrap();
            libc::waitpid(client, &raw mut status, libc::__WALL);
        }
    });
    assert!(hears.recv().unwrap());
    Instant::now()
}

/// What processes may have beyond the memory they have.
const ROOM_BYTES: u64 = 8 << 20;

#[allow(dead_code)] // not all tests do
/// Lets processes have hardly more memory than they have.
pub fn limit_memory(pids: &[i32]) -> Instant {
    for pid in pids {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let size = status.lines().find_map(|line| line.strip_prefix("VmSize:")).unwrap();
        let kib: u64 = size.trim().trim_end_matches(" kB").parse().unwrap();
        let most = (kib << 10) + ROOM_BYTES;
        let id =
            |name: &str| status.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()).unwrap();
        // Only the user of a process may limit it: who runs a server is not root.
        let mut command = Command::new("prlimit");
        // SAFETY: geteuid touches no memory.
        if id("Uid:") != unsafe { libc::geteuid() }.to_string() {
            command = Command::new("setpriv");
            command.args(["--reuid", id("Uid:"), "--regid", id("Gid:"), "--clear-groups", "prlimit"]);
        }
        command.args(["--pid", &pid.to_string(), &format!("--as={most}")]);
        assert!(command.status().unwrap().success(), "{command:?}");
    }
    Instant::now()
}

/// Sends a signal.
pub fn strike(pid: i32, signal: i32) -> Instant {
    // SAFETY: signalling a process the test has started.
    assert_eq!(unsafe { libc::kill(pid, signal) }, 0, "process {pid} is gone");
    Instant::now()
}
