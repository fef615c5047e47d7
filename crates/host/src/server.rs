//! A private server from its plan to its end.

use crate::lease::{Lease, system_words};
use crate::log::Logs;
use crate::ports::{self, Ports};
use crate::process::{Ending, Pid, ending, signal};
use crate::user::{User, is_root};
use crate::{interrupt, secret, settle};
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};
use store::{CommandLine, Connect, Endpoint, Node, Place, PlanDeployment, ServerPlan, Store, StoreError, StoreInfo};
use study::{Address, Secret, Spec};

/// Pause between two attempts to connect to a server that is starting.
const RETRY: Duration = Duration::from_millis(15);

/// How long one prepare command may take.
const PREPARE_TIMEOUT: Duration = Duration::from_secs(300);

/// How long a server may take to end when asked to.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// The same when the user waits for it.
const INTERRUPTED_STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// How often other ports are tried when somebody has taken ours.
const PORT_TRIES: u32 = 5;

/// Longest path of a unix socket the system can bind.
const MAX_SOCKET_PATH_BYTES: usize = 107;

/// What it takes to start a server.
pub struct Recipe<'a> {
    /// The store.
    pub info: &'static StoreInfo,
    /// As the user named it.
    pub spec: &'a Spec,
    /// Where private directories are made.
    pub base: &'a Path,
    /// Processors it may use; all when empty.
    pub cpus: &'a [usize],
    /// The adapter's plan.
    pub plan: PlanDeployment,
    /// The adapter's way to connect.
    pub connect: Connect,
}

/// A running private server. Dropping it stops it.
pub struct Server {
    pid: Pid,
    stop_signal: i32,
    logs: Logs,
    endpoint: Endpoint,
    lease: Lease,
}

/// Why a server did not start.
enum Failed {
    /// Somebody else listens on one of its ports.
    PortTaken(StoreError),
    /// Anything else.
    Otherwise(StoreError),
}

impl From<StoreError> for Failed {
    fn from(error: StoreError) -> Failed {
        Failed::Otherwise(error)
    }
}

impl Recipe<'_> {
    /// Starts the server and connects to it; with other ports when somebody has taken them meanwhile.
    ///
    /// # Errors
    /// What went wrong, with the end of the server's log.
    pub fn start(&self) -> Result<(Server, Box<dyn Store>), StoreError> {
        let mut tries = 1;
        loop {
            match self.start_once() {
                Err(Failed::PortTaken(_)) if tries < PORT_TRIES => tries += 1,
                Err(Failed::PortTaken(error) | Failed::Otherwise(error)) => return Err(error),
                Ok(started) => return Ok(started),
            }
        }
    }

    fn start_once(&self) -> Result<(Server, Box<dyn Store>), Failed> {
        let lease = Lease::take(self.base)?;
        let ports = Ports::default();
        let secret = secret::fresh().map_err(|error| self.not_started(format!("no random bytes: {error}")))?;
        let source = ports.clone();
        let mut place = Place::new(lease.store(), is_root(), secret, move || source.free());
        let mut nodes = (self.plan)(self.spec, &mut place)?.nodes;
        let Some(Node { plan, .. }) = nodes.pop() else {
            return Err(self.not_started("it has no nodes".into()).into());
        };
        check_socket_path(&plan.endpoint)?;
        let user = self.user(&plan, &lease)?;
        for directory in &plan.directories {
            make_directories(lease.store(), directory, user)
                .map_err(|source| StoreError::Io { path: lease.store().join(directory), source })?;
        }
        for (file, content) in &plan.files {
            let path = lease.store().join(file);
            write(&path, content, user).map_err(|source| StoreError::Io { path, source })?;
        }
        for command in &plan.prepare {
            self.prepare(&lease, command, user, &place.secret)?;
        }
        let pid = self.spawn(&lease, &plan.run, user)?;
        let logs = plan.log.iter().map(|log| lease.store().join(log)).chain([lease.output().to_owned()]).collect();
        let logs = Logs::new(logs, place.secret.clone());
        let server = Server { pid, stop_signal: plan.stop_signal, logs, endpoint: plan.endpoint.clone(), lease };
        let store = self.await_ready(&server, &plan, &ports.given())?;
        settle::settle(server.lease.store(), settle::Handles::Closed)
            .map_err(|(path, source)| StoreError::Io { path, source })?;
        Ok((server, store))
    }

    /// The user to switch to, who then owns the store's directory.
    fn user(&self, plan: &ServerPlan, lease: &Lease) -> Result<Option<User>, StoreError> {
        let Some(name) = plan.user.filter(|_| is_root()) else { return Ok(None) };
        let user = User::named(name).ok_or_else(|| self.not_found(format!("user '{name}'")))?;
        lease.give_to(user).map_err(|source| StoreError::Io { path: lease.store().to_owned(), source })?;
        match user.barred_by(lease.store()) {
            None => Ok(Some(user)),
            Some(directory) => Err(StoreError::open(
                directory.display(),
                format!(
                    "user '{name}', who runs the server, may not pass through this directory; \
                     name one that everybody may, such as /tmp, by --base or TMPDIR"
                ),
            )),
        }
    }

    fn spawn(&self, lease: &Lease, line: &CommandLine, user: Option<User>) -> Result<Pid, StoreError> {
        lease.spawn(line, user, self.cpus.to_vec()).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => self.not_found(line.program.display().to_string()),
            _ => self.not_started(format!("{}: {}", line.program.display(), system_words(&error))),
        })
    }

    fn prepare(
        &self,
        lease: &Lease,
        line: &CommandLine,
        user: Option<User>,
        secret: &Secret,
    ) -> Result<(), StoreError> {
        let pid = self.spawn(lease, line, user)?;
        let problem = match wait(pid, PREPARE_TIMEOUT) {
            Some(Ending::Status(0)) => {
                lease.forget(pid);
                return Ok(());
            }
            _ if interrupt::requested() => return Err(self.not_started("kvtrial was interrupted".into())),
            Some(ending) => ending.to_string(),
            None => format!("took longer than {} s", PREPARE_TIMEOUT.as_secs()),
        };
        Err(self.not_started(format!(
            "{} {problem}{}",
            line.program.display(),
            Logs::new(vec![lease.output().to_owned()], secret.clone()).quote()
        )))
    }

    /// Connects as soon as the server answers. The attempts run on a thread of their own: one that hangs is left behind.
    fn await_ready(&self, server: &Server, plan: &ServerPlan, ports: &[u16]) -> Result<Box<dyn Store>, Failed> {
        let deadline = Instant::now() + plan.start_timeout;
        let attempts = Attempts::start(self.connect, self.spec.clone(), plan.endpoint.clone());
        let mut refusal = None;
        loop {
            let answer = attempts.answers.recv_timeout(RETRY);
            if let Some(ending) = server.ending() {
                let problem = format!("it {ending}{}", server.quote());
                if ports.iter().any(|port| ports::is_taken(*port)) {
                    return Err(Failed::PortTaken(self.not_started(format!("its port was taken: {problem}"))));
                }
                return Err(self.not_started(problem).into());
            }
            match answer {
                Ok(Ok(store)) => match plan.endpoint.tcp() {
                    Some((_, port)) if !ports::is_held_by(port, &server.lease.members()) => {
                        let problem = format!("another program listens on its port {port}");
                        return Err(Failed::PortTaken(self.not_started(problem)));
                    }
                    _ => return Ok(store),
                },
                Ok(Err(error)) => refusal = Some(error),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(self.not_started("the attempt to connect broke off".into()).into());
                }
            }
            if interrupt::requested() {
                return Err(self.not_started("kvtrial was interrupted".into()).into());
            }
            if Instant::now() >= deadline {
                let refusal = refusal.map_or_else(String::new, |error| format!(" ({error})"));
                let problem = format!(
                    "it did not answer within {} s{refusal}{}",
                    plan.start_timeout.as_secs_f64(),
                    server.quote()
                );
                return Err(self.not_started(problem).into());
            }
        }
    }

    fn not_found(&self, what: String) -> StoreError {
        StoreError::NotFound { store: self.info.name.into(), what, install: self.info.install.into() }
    }

    fn not_started(&self, problem: String) -> StoreError {
        StoreError::NotStarted { store: self.info.name.into(), problem }
    }
}

impl Server {
    /// Process id of the program started.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// How it ended, if it has.
    pub fn ending(&self) -> Option<Ending> {
        ending(self.pid)
    }

    /// The end of its logs, ready to follow a message; empty when they are.
    pub fn quote(&self) -> String {
        self.logs.quote()
    }

    /// Where it listens, and how to log in.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Its directory and processes.
    pub fn lease(&self) -> &Lease {
        &self.lease
    }

    /// Files that are its logs, not its data.
    pub fn logs(&self) -> &[PathBuf] {
        self.logs.files()
    }

    /// Asks it to end, waits up to 10 s, kills what is left and removes its directory.
    ///
    /// # Errors
    /// What could not be removed.
    pub fn stop(&self) -> Result<(), StoreError> {
        if self.ending().is_none() {
            signal(self.pid, self.stop_signal);
            wait_to_stop(self.pid);
        }
        self.lease.end()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Who wants to know calls `stop` first.
        let _ = self.stop();
    }
}

/// Connects again and again on a thread of its own until it succeeds, or nobody wants to know any more.
struct Attempts {
    answers: Receiver<Result<Box<dyn Store>, StoreError>>,
    given_up: Arc<AtomicBool>,
}

impl Attempts {
    fn start(connect: Connect, spec: Spec, endpoint: Endpoint) -> Attempts {
        let (sender, answers) = mpsc::channel();
        let given_up = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&given_up);
        thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                let answer = connect(&spec, std::slice::from_ref(&endpoint));
                let connected = answer.is_ok();
                if sender.send(answer).is_err() || connected {
                    return;
                }
                thread::sleep(RETRY);
            }
        });
        Attempts { answers, given_up }
    }
}

impl Drop for Attempts {
    fn drop(&mut self) {
        self.given_up.store(true, Ordering::Relaxed);
    }
}

/// Makes a directory below `top` and those on the way to it, private to the user.
fn make_directories(top: &Path, directory: &Path, user: Option<User>) -> io::Result<()> {
    let below = directory.strip_prefix(top).unwrap_or(directory);
    let mut path = top.to_owned();
    for part in below.components() {
        path.push(part);
        if !path.exists() {
            DirBuilder::new().mode(0o700).create(&path)?;
            user.map_or(Ok(()), |user| user.own(&path))?;
        }
    }
    Ok(())
}

/// Writes a file that belongs to the user, and that nobody else can read.
fn write(path: &Path, content: &str, user: Option<User>) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?.write_all(content.as_bytes())?;
    user.map_or(Ok(()), |user| user.own(path))
}

fn check_socket_path(endpoint: &Endpoint) -> Result<(), StoreError> {
    match &endpoint.address {
        Address::Unix(path) if path.as_os_str().as_bytes().len() > MAX_SOCKET_PATH_BYTES => Err(StoreError::open(
            path.display(),
            format!(
                "a unix socket's path has at most {MAX_SOCKET_PATH_BYTES} bytes; name a shorter directory by --base or TMPDIR"
            ),
        )),
        _ => Ok(()),
    }
}

/// Waits for a process to end; `None` when it takes too long or kvtrial is interrupted.
fn wait(pid: Pid, timeout: Duration) -> Option<Ending> {
    let deadline = Instant::now() + timeout;
    loop {
        match ending(pid) {
            None if Instant::now() < deadline && !interrupt::requested() => thread::sleep(Duration::from_millis(3)),
            result => return result,
        }
    }
}

fn wait_to_stop(pid: Pid) {
    let start = Instant::now();
    while ending(pid).is_none() {
        let timeout = if interrupt::requested() { INTERRUPTED_STOP_TIMEOUT } else { STOP_TIMEOUT };
        if start.elapsed() >= timeout {
            return;
        }
        thread::sleep(Duration::from_millis(2));
    }
}
