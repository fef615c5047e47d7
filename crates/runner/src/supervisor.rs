//! What kvtrial sees to while a worker is on a task, whatever task that is: its process, the server, signs of life, the user's wish.

use crate::execution::{Departure, Wish};
use crate::message::FromWorker;
use crate::silence::Silence;
use host::Installation;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use study::{Reason, ReasonKind};

/// How long a server that has closed its connections may take to end: some first write to their log where they were.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// Stands by a worker.
pub(crate) struct Supervisor<'a> {
    installation: &'a Installation,
    stop: &'a AtomicBool,
    worker: Option<i32>,
    silence: Silence,
    /// What is being done.
    doing: String,
    /// How the server ended before its time, with the end of its log.
    server_ending: Option<String>,
    /// The worker gave no sign of life for too long.
    hang: Option<String>,
}

impl<'a> Supervisor<'a> {
    pub(crate) fn new(installation: &'a Installation, stop: &'a AtomicBool, silence: Silence) -> Supervisor<'a> {
        let doing = "opening the store".into();
        Supervisor { installation, stop, worker: None, silence, doing, server_ending: None, hang: None }
    }

    /// Takes note of a report.
    pub(crate) fn hear(&mut self, report: &FromWorker) {
        self.silence.hear(report, Instant::now());
        match report {
            FromWorker::Started { pid } => {
                self.installation.enter(*pid);
                self.worker = Some(*pid);
            }
            FromWorker::Begins(phase) | FromWorker::Progress(phase, _) => self.doing.clone_from(&phase.name),
            FromWorker::Does(what) => what.name().clone_into(&mut self.doing),
            FromWorker::Finished(_) | FromWorker::Answered(_) | FromWorker::Cleared { .. } | FromWorker::Checked(_) => {
                "disconnecting".clone_into(&mut self.doing);
            }
            // The fork server reaps it only at the next task: until then its id belongs to no other process.
            FromWorker::Ended { .. } => self.worker.take().into_iter().for_each(|pid| self.installation.leave(pid)),
            _ => {}
        }
    }

    /// Notes that nothing was reported for a moment.
    pub(crate) fn hear_nothing(&mut self) {
        if self.hang.is_none()
            && let Some(words) = self.silence.too_long(Instant::now())
        {
            self.hang = Some(format!("{words} (while: {})", self.doing));
        }
    }

    /// Returns whether the worker is to stop, and why.
    pub(crate) fn wish(&mut self) -> Wish {
        self.look_at_server();
        if self.server_ending.is_some() {
            Wish::StopForServer
        } else if self.stop.load(Ordering::Relaxed) {
            Wish::StopForUser
        } else if self.hang.is_some() {
            Wish::StopForHang
        } else {
            Wish::GoOn
        }
    }

    /// Connections were lost: a private server that is about to end is given a moment, so that its end is known and not only what
    /// followed from it.
    pub(crate) fn await_server_ending(&self) {
        let until = Instant::now() + LAST_WORDS;
        while self.installation.nodes().is_some() && self.installation.is_alive() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Notes that the worker is gone, and returns what cut its task short, if it was something the worker itself does not know.
    pub(crate) fn leave(&mut self) -> Option<Reason> {
        self.look_at_server();
        let reason = |kind, example| Reason { kind, count: 1, example };
        let server = self.server_ending.take().map(|words| reason(ReasonKind::ServerDied, words));
        server.or_else(|| self.hang.take().map(|words| reason(ReasonKind::Deadline, words)))
    }

    /// Returns how the worker died or was lost, if it was.
    pub(crate) fn death(&self, departure: Departure) -> Option<Reason> {
        let (kind, example) = match departure {
            Departure::Died(how) => (ReasonKind::WorkerDied, format!("{how} (while: {})", self.doing)),
            Departure::Lost(which) => (ReasonKind::WorkerLost, which),
            Departure::Done | Departure::Killed => return None,
        };
        Some(Reason { kind, count: 1, example })
    }

    fn look_at_server(&mut self) {
        if self.server_ending.is_none()
            && let Some(fallen) = self.installation.fallen()
        {
            self.server_ending = Some(format!("{fallen} (while: {}){}", self.doing, fallen.log_end));
        }
    }
}
