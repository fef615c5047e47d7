//! Starts real servers for tests of wire stores, and asks a session things. Included by several test files, none of which uses all.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs::Permissions;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::task::{Context, Waker};
use std::time::{Duration, Instant};
use store::{
    Endpoint, Failure, Opener, Operation, Place, Reply, ServerPlan, Session, SessionPlan, Sink, Slot, Store,
    StoreError, Until,
};
use study::Spec;
use tempfile::TempDir;

/// Longer than anything here takes on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A private server, killed when dropped.
pub struct Server {
    spec: Spec,
    plan: ServerPlan,
    child: Child,
    _directory: TempDir,
}

impl Server {
    /// Starts the server of a spec and waits until it answers.
    pub fn start(spec: &str) -> Server {
        let spec: Spec = spec.parse().unwrap();
        let info = kvtrial_stores::find(&spec.name).unwrap();
        info.check_options(&spec).unwrap();
        let Opener::Server { plan, .. } = info.opener else { panic!("{} is no server", spec.name) };
        let mut problem = None;
        for _ in 0..5 {
            let directory = TempDir::new().unwrap();
            // The server may be another user, where the tests are root's.
            std::fs::set_permissions(directory.path(), Permissions::from_mode(0o777)).unwrap();
            // SAFETY: takes nothing, cannot fail.
            let root = unsafe { libc::geteuid() } == 0;
            let mut place = Place::new(directory.path(), root, study::Secret::new("tulip"), || Ok(free_port()));
            let planned = plan(&spec, &mut place).unwrap_or_else(|error| panic!("{error}"));
            let plan = planned.nodes.into_iter().next().unwrap().plan;
            for (file, content) in &plan.files {
                std::fs::write(directory.path().join(file), content).unwrap();
            }
            if let Some((uid, gid)) = user(&plan) {
                std::os::unix::fs::chown(directory.path(), Some(uid), Some(gid)).unwrap();
            }
            let child = spawn(&plan);
            let mut server = Server { spec: spec.clone(), plan, child, _directory: directory };
            match server.ready() {
                Ok(()) => return server,
                Err(error) => problem = Some(error), // perhaps its port was taken meanwhile
            }
        }
        panic!("{spec} did not start: {problem:?}");
    }

    fn ready(&mut self) -> Result<(), StoreError> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.connect() {
                Ok(_) => return Ok(()),
                Err(error) if self.child.try_wait().unwrap().is_some() || Instant::now() > deadline => {
                    return Err(error);
                }
                Err(_) => std::thread::sleep(Duration::from_millis(5)),
            }
        }
    }

    fn connect(&self) -> Result<Box<dyn Store>, StoreError> {
        let info = kvtrial_stores::find(&self.spec.name).unwrap();
        let Opener::Server { connect, .. } = info.opener else { panic!() };
        connect(&self.spec, std::slice::from_ref(&self.plan.endpoint))
    }

    pub fn store(&self) -> Box<dyn Store> {
        self.connect().unwrap()
    }

    pub fn endpoint(&self) -> &Endpoint {
        &self.plan.endpoint
    }

    pub fn client(&self, clients: u32, pipeline: u32) -> Client {
        Client::new(self.store().session(SessionPlan { clients, pipeline }).unwrap())
    }

    /// Kills the server without warning.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Kills the server and starts an empty one in its place.
    pub fn restart(&mut self) {
        self.kill();
        if let study::Address::Unix(path) = &self.plan.endpoint.address {
            let _ = std::fs::remove_file(path);
        }
        self.child = spawn(&self.plan);
        self.ready().unwrap();
    }

    /// Sends the server a signal.
    pub fn signal(&self, signal: i32) {
        // SAFETY: the child is ours and not yet waited for.
        assert_eq!(unsafe { libc::kill(self.child.id() as i32, signal) }, 0);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The numbers of the user the server runs as, where root starts it.
fn user(plan: &ServerPlan) -> Option<(u32, u32)> {
    // SAFETY: takes nothing, cannot fail.
    let name = plan.user.filter(|_| unsafe { libc::geteuid() } == 0)?;
    let number = |option: &str| {
        let said = Command::new("id").args([option, name]).output().unwrap().stdout;
        String::from_utf8(said).unwrap().trim().parse().unwrap()
    };
    Some((number("-u"), number("-g")))
}

fn spawn(plan: &ServerPlan) -> Child {
    let mut command = Command::new(&plan.run.program);
    if let Some((uid, gid)) = user(plan) {
        command.uid(uid).gid(gid);
    }
    command
        .args(&plan.run.args)
        .envs(plan.run.env.clone())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    // SAFETY: takes nothing, cannot fail.
    let root = unsafe { libc::geteuid() } == 0;
    if let Some(user) = plan.user.filter(|_| root).and_then(host::User::named) {
        command.uid(user.uid).gid(user.gid);
    }
    // SAFETY: prctl is allowed between fork and exec. The server dies with the thread that started it, which runs the test.
    unsafe {
        command.pre_exec(|| {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            Ok(())
        });
    }
    command.spawn().unwrap()
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A reply that is owned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Value(Vec<u8>),
    Versioned(Vec<u8>, u64),
    Missing,
    Done,
    Number(i64),
    Conflict,
    Rows(Vec<(Vec<u8>, Vec<u8>)>),
    Refused(String),
    Lost(String),
    Protocol(String),
}

impl Answer {
    pub fn of(reply: Reply<'_>) -> Answer {
        match reply {
            Reply::Value(value) => Answer::Value(value.to_vec()),
            Reply::Versioned { value, version } => Answer::Versioned(value.to_vec(), version),
            Reply::Missing => Answer::Missing,
            Reply::Done => Answer::Done,
            Reply::Number(number) => Answer::Number(number),
            Reply::Conflict => Answer::Conflict,
            Reply::Rows(rows) => Answer::Rows(rows.iter().map(|(key, value)| (key.to_vec(), value.to_vec())).collect()),
            Reply::Failed(Failure::Refused(words)) => Answer::Refused(words.to_owned()),
            Reply::Failed(Failure::ConnectionLost(words)) => Answer::Lost(words.to_owned()),
            Reply::Failed(Failure::Protocol(words)) => Answer::Protocol(words.to_owned()),
            Reply::Failed(Failure::Deadline) => panic!("a session has no deadlines"),
        }
    }
}

/// Takes replies by slot.
#[derive(Default)]
pub struct Inbox {
    pub answers: Vec<(Slot, Answer)>,
    pub arrivals: u32,
}

impl Sink for Inbox {
    fn arrived(&mut self) {
        self.arrivals += 1;
    }

    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) {
        assert!(self.arrivals > 0, "a reply came before its arrival was told");
        self.answers.push((slot, Answer::of(*reply)));
    }
}

/// A session that is asked and waited for.
pub struct Client {
    pub session: Box<dyn Session>,
}

impl Client {
    pub fn new(session: Box<dyn Session>) -> Client {
        Client { session }
    }

    /// Carries one operation out on slot 0.
    pub fn ask(&mut self, operation: Operation<'_>) -> Answer {
        self.ask_all(&[(0, operation)]).remove(0)
    }

    /// Carries operations out on different slots at once; answers in the same order.
    pub fn ask_all(&mut self, operations: &[(Slot, Operation<'_>)]) -> Vec<Answer> {
        let mut answers = vec![None; operations.len()];
        let place = |slot| operations.iter().position(|(other, _)| *other == slot).unwrap();
        for (at, (slot, operation)) in operations.iter().enumerate() {
            if let Some(reply) = self.session.submit(*slot, operation).unwrap() {
                answers[at] = Some(Answer::of(reply));
            }
        }
        let deadline = Instant::now() + PATIENCE;
        while answers.contains(&None) {
            assert!(Instant::now() < deadline, "no reply in {PATIENCE:?}");
            for (slot, answer) in self.poll(Until::At(deadline)).answers {
                assert_eq!(answers[place(slot)].replace(answer), None, "slot {slot} was answered twice");
            }
        }
        answers.into_iter().map(Option::unwrap).collect()
    }

    /// Polls once.
    pub fn poll(&mut self, until: Until) -> Inbox {
        let mut inbox = Inbox::default();
        let polled = self.session.poll(&mut Context::from_waker(Waker::noop()), until, &mut inbox);
        assert!(polled.is_ready(), "a wire session waits inside poll");
        let std::task::Poll::Ready(result) = polled else { unreachable!() };
        result.unwrap();
        inbox
    }

    pub fn get(&mut self, key: impl AsRef<[u8]>) -> Answer {
        self.ask(Operation::Get { key: key.as_ref() })
    }

    pub fn put(&mut self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Answer {
        self.ask(Operation::Put { key: key.as_ref(), value: value.as_ref() })
    }
}

/// Bytes that tell their place and their seed.
pub fn noise(seed: u64, size: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let step = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..size).map(step).collect()
}
