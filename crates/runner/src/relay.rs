//! A fork server and the worker it has forked, spoken to in the messages of somebody who may be on another machine.

use host::worker::{ForkServer, kill, reap};
use host::{Received, Sender};
use serde::Deserialize;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use store::CommandLine;

/// How often the relay looks whether it is still needed.
const LOOK: Duration = Duration::from_millis(25);

/// No worker is there.
const NOBODY: i32 = 0;

/// Hands messages to a fork server's worker, and what that says to the one who made the relay. Dropping it ends both.
pub struct Relay {
    /// Gone when the relay ends: while somebody can speak to the fork server it stays.
    sender: Option<Sender>,
    worker: Arc<AtomicI32>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// What came from a fork server or its worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Relayed {
    /// A message, as it was sent.
    Message(Vec<u8>),
    /// The fork server is gone: how, and its last words.
    Gone(String),
}

impl Relayed {
    /// Returns whether a message says that the worker has ended, or that there is none.
    pub fn is_ending(message: &[u8]) -> bool {
        [&b"{\"Ended\""[..], b"{\"NotForked\""].iter().any(|begin| message.starts_with(begin))
    }
}

/// The messages that say whether a worker is there; all others are handed on unread.
#[derive(Deserialize)]
enum Presence {
    Started { pid: i32 },
    Ended {},
}

impl Relay {
    /// Starts a fork server with this command line; `heard` hears what comes from it.
    ///
    /// # Errors
    /// The system's error.
    pub fn start(line: &CommandLine, mut heard: impl FnMut(Relayed) + Send + 'static) -> io::Result<Relay> {
        let mut fork_server = ForkServer::start(line)?;
        let sender = fork_server.sender().cloned().ok_or_else(|| io::Error::other("the fork server has no channel"))?;
        let (worker, over) = (Arc::new(AtomicI32::new(NOBODY)), Arc::new(AtomicBool::new(false)));
        let (present, unneeded) = (Arc::clone(&worker), Arc::clone(&over));
        let thread = std::thread::Builder::new().name("relay".into()).spawn(move || {
            while !unneeded.load(Ordering::Relaxed) {
                match fork_server.receiver().map_or(Received::Closed, |receiver| receiver.receive(Some(LOOK))) {
                    Received::Nothing => {}
                    Received::Message(message) => {
                        note(&message, &present);
                        heard(Relayed::Message(message));
                    }
                    Received::Closed => return heard(Relayed::Gone(last_words(&fork_server))),
                }
            }
            kill_worker(&present);
        })?;
        Ok(Relay { sender: Some(sender), worker, over, thread: Some(thread) })
    }

    /// Hands on a message; whether it could be.
    pub fn send(&self, message: &[u8]) -> bool {
        self.sender.as_ref().is_some_and(|sender| sender.send(message).is_ok())
    }

    /// Kills the worker that is at work, if there is one.
    pub fn kill(&self) {
        kill_worker(&self.worker);
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        self.sender = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // a panic in it has been reported there
        }
        match self.worker.load(Ordering::Relaxed) {
            NOBODY => {}
            pid => reap(pid),
        }
    }
}

/// The fork server reaps a worker only at its next task: until then the id is nobody else's.
fn kill_worker(worker: &AtomicI32) {
    match worker.load(Ordering::Relaxed) {
        NOBODY => {}
        pid => kill(pid),
    }
}

/// Notes that a worker began or ended.
fn note(message: &[u8], worker: &AtomicI32) {
    // Results of phases are long, and not about that.
    if [&b"{\"Started\""[..], b"{\"Ended\""].iter().all(|begin| !message.starts_with(begin)) {
        return;
    }
    match serde_json::from_slice(message) {
        Ok(Presence::Started { pid }) => worker.store(pid, Ordering::Relaxed),
        Ok(Presence::Ended {}) => worker.store(NOBODY, Ordering::Relaxed),
        Err(_) => {}
    }
}

/// How long a fork server whose channel has closed may take to end.
const LAST_WORDS: Duration = Duration::from_secs(1);

fn last_words(fork_server: &ForkServer) -> String {
    let begun = std::time::Instant::now();
    while fork_server.exit().is_none() && begun.elapsed() < LAST_WORDS {
        std::thread::sleep(Duration::from_millis(1));
    }
    match fork_server.exit() {
        Some((exit, words)) => format!("the fork server of the workers {}", crate::execution::with_words(exit, &words)),
        None => "the fork server of the workers no longer listens".into(),
    }
}
