//! The server: a thread that listens, a thread a connection, and the place where answers become lies.

use super::dialect::{Action, Dialect, Parsed, Request, Response};
use super::line::Line;
use super::map::{Map, Past};
use super::memcached::Memcached;
use super::resp::Resp;
use super::tyrant::Tyrant;
use super::untruth::{due, false_value, forced, is_about_values};
use super::{Knows, Lie, Protocol, Rule, Told, Visit};
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often waiting threads look whether the server ends.
const TICK: Duration = Duration::from_millis(20);

/// How late a sleep may end on a busy machine.
const WAKES_LATE: Duration = Duration::from_millis(10);

/// Keys that nobody wrote.
const SLIPPED_IN: u32 = 10_000;

/// A running server; it ends when this is dropped.
pub struct LyingServer {
    shared: Arc<Shared>,
    listening: Option<JoinHandle<()>>,
    address: Address,
}

enum Address {
    Tcp(u16),
    Unix(PathBuf),
}

pub(super) struct Shared {
    pub(super) map: Mutex<Map>,
    pub(super) rules: Vec<Rule>,
    pub(super) told: Mutex<Vec<Told>>,
    /// Until when it is at work, where it serves [`Lie::InTurn`].
    busy_until: Mutex<Option<Instant>>,
    /// Keys whose put was carried out and waits for its answer.
    pub(super) writing: Mutex<Vec<Vec<u8>>>,
    pub(super) turns: AtomicU64,
    /// Times requests were read.
    reads: AtomicU64,
    /// What was asked over each connection, in the order they came.
    pub(super) visits: Mutex<Vec<Visit>>,
    /// How often all connections were ended.
    hung_up: AtomicU64,
    ends: AtomicBool,
    /// Writes of a connection that are taken back when it closes, counted from the last.
    pub(super) takes_back: usize,
    /// What was before them, by connection.
    pub(super) pasts: Mutex<Vec<VecDeque<Vec<Past>>>>,
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl LyingServer {
    /// Listens on a free port of the loopback interface.
    ///
    /// # Errors
    /// When there is none.
    pub fn start(protocol: Protocol, rules: Vec<Rule>) -> io::Result<LyingServer> {
        LyingServer::on_a_port(protocol, rules, None, 0)
    }

    /// Listens on a free port, is honest, and takes the last `writes` writes of each connection back when it closes.
    ///
    /// # Errors
    /// When there is no port.
    pub fn start_taking_back(protocol: Protocol, writes: usize) -> io::Result<LyingServer> {
        LyingServer::on_a_port(protocol, Vec::new(), None, writes)
    }

    fn on_a_port(
        protocol: Protocol,
        rules: Vec<Rule>,
        knows: Option<Knows>,
        takes_back: usize,
    ) -> io::Result<LyingServer> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let port = listener.local_addr()?.port();
        let accept = move || {
            let (stream, _) = listener.accept()?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(TICK))?;
            Ok(Box::new(stream) as Box<dyn Line>)
        };
        Ok(LyingServer::serve(protocol, rules, knows, takes_back, Address::Tcp(port), accept))
    }

    /// Listens on a unix socket.
    ///
    /// # Errors
    /// When the path is taken or cannot be written.
    pub fn start_unix(protocol: Protocol, rules: Vec<Rule>, path: &Path) -> io::Result<LyingServer> {
        let listener = UnixListener::bind(path)?;
        let accept = move || {
            let (stream, _) = listener.accept()?;
            stream.set_read_timeout(Some(TICK))?;
            Ok(Box::new(stream) as Box<dyn Line>)
        };
        Ok(LyingServer::serve(protocol, rules, None, 0, Address::Unix(path.to_owned()), accept))
    }

    /// Listens on a free port, is honest, speaks RESP, and knows no more than these commands.
    ///
    /// # Errors
    /// When there is no port.
    pub fn start_small(knows: Knows) -> io::Result<LyingServer> {
        LyingServer::on_a_port(Protocol::Resp, Vec::new(), Some(knows), 0)
    }

    fn serve(
        protocol: Protocol,
        rules: Vec<Rule>,
        knows: Option<Knows>,
        takes_back: usize,
        address: Address,
        accept: impl Fn() -> io::Result<Box<dyn Line>> + Send + 'static,
    ) -> LyingServer {
        let shared = Arc::new(Shared {
            map: Mutex::default(),
            rules,
            told: Mutex::default(),
            busy_until: Mutex::default(),
            writing: Mutex::default(),
            turns: AtomicU64::new(0),
            reads: AtomicU64::new(0),
            visits: Mutex::default(),
            hung_up: AtomicU64::new(0),
            ends: AtomicBool::new(false),
            takes_back,
            pasts: Mutex::default(),
        });
        let for_thread = Arc::clone(&shared);
        let listening = std::thread::spawn(move || {
            let mut connections = Vec::new();
            while let Ok(line) = accept() {
                if for_thread.ends.load(Ordering::Relaxed) {
                    break;
                }
                let shared = Arc::clone(&for_thread);
                let visit = shared.admit();
                connections.push(std::thread::spawn(move || {
                    match protocol {
                        Protocol::Resp => converse(&Resp { knows }, line, visit, &shared),
                        Protocol::Memcached => converse(&Memcached, line, visit, &shared),
                        Protocol::Tyrant => converse(&Tyrant, line, visit, &shared),
                    }
                    shared.close(visit);
                }));
                connections.retain(|connection| !connection.is_finished());
            }
            for connection in connections {
                let _ = connection.join();
            }
        });
        LyingServer { shared, listening: Some(listening), address }
    }

    /// Returns the TCP port; 0 on a unix socket.
    pub fn port(&self) -> u16 {
        match self.address {
            Address::Tcp(port) => port,
            Address::Unix(_) => 0,
        }
    }

    /// Times it has read requests, one or several at once: round trips, over all connections.
    pub fn reads(&self) -> u64 {
        self.shared.reads.load(Ordering::Relaxed)
    }

    /// Returns the lies told so far, oldest first.
    pub fn told(&self) -> Vec<Told> {
        lock(&self.shared.told).clone()
    }

    /// Returns what was asked over each connection so far, in the order the connections came.
    pub fn visits(&self) -> Vec<Visit> {
        lock(&self.shared.visits).clone()
    }

    /// Ends every connection that waits for a request, and returns when they have.
    pub fn hang_up(&self) {
        self.shared.hung_up.fetch_add(1, Ordering::Relaxed);
        std::thread::sleep(5 * TICK);
    }
}

impl Drop for LyingServer {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::Relaxed);
        // One last connection wakes the thread that listens.
        let woken = match &self.address {
            Address::Tcp(port) => TcpStream::connect(("127.0.0.1", *port)).map(drop),
            Address::Unix(path) => UnixStream::connect(path).map(drop),
        };
        if let (Ok(()), Some(listening)) = (woken, self.listening.take()) {
            let _ = listening.join();
        }
    }
}

/// What becomes of a connection after an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Course {
    GoesOn,
    /// More bytes follow, without end.
    Floods,
    Stalls,
    HangsUp,
}

fn converse<D: Dialect>(dialect: &D, mut line: Box<dyn Line>, visit: usize, shared: &Shared) {
    let (mut input, mut out) = (Vec::new(), Vec::new());
    let mut chunk = vec![0; 64 << 10];
    let hung_up = shared.hung_up.load(Ordering::Relaxed);
    loop {
        let mut at = 0;
        loop {
            match dialect.parse(&input[at..]) {
                Parsed::Incomplete => break,
                Parsed::Broken => {
                    let _ = line.write_all(&out);
                    return line.hang_up();
                }
                Parsed::Request { request, consumed } => {
                    at += consumed;
                    let course = answer(dialect, &request, visit, shared, &mut line, &mut out);
                    if course == Course::GoesOn {
                        continue;
                    }
                    let _ = line.write_all(&out);
                    if course == Course::Floods {
                        while line.write_all(&chunk).is_ok() {
                            if shared.ends.load(Ordering::Relaxed) {
                                break;
                            }
                        }
                    }
                    if course == Course::Stalls {
                        wait(shared, Instant::now() + Duration::from_secs(3600));
                    }
                    return line.hang_up();
                }
            }
        }
        input.drain(..at);
        if line.write_all(&out).is_err() {
            return;
        }
        out.clear();
        match receive(&mut line, &mut chunk, hung_up, shared) {
            Some(received) => input.extend_from_slice(&chunk[..received]),
            None => return,
        }
    }
}

/// Waits for bytes; `None` when the client or the server ends, or the server hangs up.
fn receive(line: &mut Box<dyn Line>, chunk: &mut [u8], hung_up: u64, shared: &Shared) -> Option<usize> {
    while !shared.ends.load(Ordering::Relaxed) && shared.hung_up.load(Ordering::Relaxed) == hung_up {
        match line.read(chunk) {
            Ok(0) => return None,
            Ok(received) => {
                shared.reads.fetch_add(1, Ordering::Relaxed);
                return Some(received);
            }
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted) => {}
            Err(_) => return None,
        }
    }
    None
}

fn wait(shared: &Shared, until: Instant) {
    while !shared.ends.load(Ordering::Relaxed) {
        match until.saturating_duration_since(Instant::now()) {
            Duration::ZERO => return,
            left => std::thread::sleep(left.min(TICK)),
        }
    }
}

fn answer<D: Dialect>(
    dialect: &D,
    Request { action, form }: &Request<D::Form>,
    visit: usize,
    shared: &Shared,
    line: &mut Box<dyn Line>,
    out: &mut Vec<u8>,
) -> Course {
    let (mut truth, lie) = {
        let mut map = lock(&shared.map);
        shared.remember(visit, if shared.takes_back > 0 { map.past(action) } else { Vec::new() });
        let forced = forced(action, visit, &map, shared);
        let action = forced.as_ref().unwrap_or(action);
        let drops = due(action, visit, shared, |lie| lie == Lie::DropsPut);
        let mut truth = if drops.is_some() { Response::Done } else { map.execute(action) };
        let mut lies = None;
        if drops.is_none() {
            let mut other = None;
            lies = due(action, visit, shared, |lie| {
                other = false_value(lie, action, &truth, &map, shared);
                lie != Lie::DropsPut && (other.is_some() || !is_about_values(lie))
            });
            if let (Some(_), Some(other)) = (lies, other) {
                truth = other;
            }
        }
        shared.note(visit, action, &truth);
        if lies == Some(Lie::KeysNobodyWrote) {
            map.slip_in(SLIPPED_IN);
        }
        (truth, drops.or(lies))
    };
    if lie == Some(Lie::Error) {
        truth = Response::Refused("out of memory");
    }
    if lie == Some(Lie::CommandingError) {
        truth = Response::Refused("\x1b]0;mine\x07\x1b[2J\x1b[31mred \u{202e}dilav\u{9b}5m");
    }
    let start = out.len();
    dialect.render(form, &truth, out);
    let half = start + (out.len() - start) / 2;
    match lie {
        Some(Lie::Late(time)) => {
            let late = out.split_off(start);
            let _ = line.write_all(out);
            *out = late;
            let key = if let Action::Put { key, .. } = action { Some(key) } else { None };
            lock(&shared.writing).extend(key.cloned());
            wait(shared, Instant::now() + time);
            let mut writing = lock(&shared.writing);
            if let Some(own) = writing.iter().position(|other| Some(other) == key) {
                writing.swap_remove(own);
            }
        }
        Some(Lie::InTurn(time)) => {
            let done = {
                let mut busy_until = lock(&shared.busy_until);
                let now = Instant::now();
                let free = busy_until.map_or(now, |until| until.max(now - WAKES_LATE));
                *busy_until.insert(free + time)
            };
            if done > Instant::now() {
                let own = out.split_off(start);
                let _ = line.write_all(out);
                *out = own;
                wait(shared, done);
            }
        }
        Some(Lie::Twice) => out.extend_from_within(start..),
        Some(Lie::Skipped) => out.truncate(start),
        Some(Lie::Never) => {
            out.truncate(start);
            return Course::Stalls;
        }
        Some(Lie::HalfThenStall) => {
            out.truncate(half);
            return Course::Stalls;
        }
        Some(Lie::HalfThenClose) => {
            out.truncate(half);
            return Course::HangsUp;
        }
        Some(Lie::Close) => {
            out.truncate(start);
            return Course::HangsUp;
        }
        Some(Lie::Endless) => {
            out.truncate(start);
            out.extend(dialect.endless(form));
            return Course::Floods;
        }
        Some(Lie::Garbage) => {
            out.truncate(start);
            out.extend_from_slice(dialect.garbage());
        }
        _ => {}
    }
    Course::GoesOn
}
