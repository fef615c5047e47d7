//! A server killed under its client and started again in the same place.

use super::{Client, Got, info};
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use store::{CommandLine, Opener, Place, Store};
use study::Spec;

/// A server that this test starts, kills and starts again; ended when dropped.
struct Server {
    line: CommandLine,
    user: Option<(u32, u32)>,
    child: Child,
    directory: PathBuf,
}

impl Server {
    fn start(line: CommandLine, user: Option<(u32, u32)>, directory: &Path) -> Server {
        let child = command(&line, user).current_dir(directory).spawn().unwrap();
        Server { line, user, child, directory: directory.into() }
    }

    fn kill(&mut self) {
        // PostgreSQL's other processes end when their parent has ended.
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn start_again(&mut self) {
        self.child = command(&self.line, self.user).current_dir(&self.directory).spawn().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn command(line: &CommandLine, user: Option<(u32, u32)>) -> Command {
    let mut command = Command::new(&line.program);
    command.args(&line.args).envs(line.env.iter().cloned());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Some((uid, gid)) = user {
        command.uid(uid).gid(gid);
    }
    command
}

fn id(option: &str, user: &str) -> u32 {
    let output = Command::new("id").args([option, user]).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().parse().unwrap_or_else(|_| panic!("no user named {user}"))
}

/// Calls `attempt` until it gives something.
fn soon<T>(what: &str, mut attempt: impl FnMut() -> Option<T>) -> T {
    let limit = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(result) = attempt() {
            return result;
        }
        assert!(Instant::now() < limit, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// What was acknowledged before the kill is there afterwards; what is asked meanwhile is answered as lost, at once; sessions that
/// were open go on without being opened again.
pub fn kill_and_come_back(spec: &str) {
    let spec: Spec = spec.parse().unwrap();
    let Opener::Server { plan, connect, .. } = info(&spec.name).opener else { panic!("not a server") };
    let directory = tempfile::tempdir().unwrap();
    // SAFETY: the call has no preconditions.
    let root = unsafe { libc::geteuid() } == 0;
    let mut place = Place::new(directory.path(), root, study::Secret::new("tulip"), || Ok(free_port()));
    let plan = plan(&spec, &mut place).unwrap().nodes.remove(0).plan;
    let endpoints = std::slice::from_ref(&plan.endpoint);
    let user = plan.user.filter(|_| root).map(|user| (id("-u", user), id("-g", user)));
    let give = |path: &Path| user.map(|(uid, gid)| std::os::unix::fs::chown(path, Some(uid), Some(gid)).unwrap());
    give(directory.path());
    for made in &plan.directories {
        std::fs::create_dir_all(directory.path().join(made)).unwrap();
        give(&directory.path().join(made));
    }
    for (file, content) in &plan.files {
        std::fs::write(directory.path().join(file), content).unwrap();
        give(&directory.path().join(file));
    }
    for line in &plan.prepare {
        assert!(command(line, user).status().unwrap().success(), "{line:?}");
    }
    let mut server = Server::start(plan.run.clone(), user, directory.path());
    let store = soon("the server does not start", || {
        let started = Instant::now();
        let store = connect(&spec, endpoints).ok();
        assert!(store.is_some() || started.elapsed() < Duration::from_secs(2), "a failing connect must fail fast");
        store
    });
    let mut client = Client::new(&*store, 2, 2);
    assert_eq!(client.put(b"kept", b"value"), Got::Done);
    server.kill();
    let during = client.all(&[store::Operation::Get { key: b"kept" }; 4]);
    assert!(during.iter().all(|got| matches!(got, Got::Lost(_))), "{during:?}");
    let started = Instant::now();
    assert!(connect(&spec, endpoints).is_err() && started.elapsed() < Duration::from_secs(2));
    server.start_again();
    let again: Box<dyn Store> = soon("the server does not come back", || connect(&spec, endpoints).ok());
    let after = client.all(&[store::Operation::Get { key: b"kept" }; 4]);
    assert_eq!(after, vec![Got::Value(b"value".to_vec()); 4], "the old session, the old data");
    assert_eq!(Client::new(&*again, 1, 1).get(b"kept"), Got::Value(b"value".to_vec()), "a new session, the old data");
}
