//! Where trials are carried out: in this process, or each in a worker process of its own.

use crate::fleet::Fleet;
use crate::message::{FromWorker, Order, Task, ToWorker};
use crate::worker::bench::{Bench, Link};
use crate::worker::work::perform;
use host::worker::{ForkServer, kill};
use host::{Exit, Received};
use jobkit::{Job, JobError, Params};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use store::{CommandLine, StoreInfo};

/// The process in which trials are carried out.
#[derive(Clone, Default)]
pub enum Execution {
    /// This process: for stores and jobs that only this process knows. A store that kills its process kills this one.
    #[default]
    InProcess,
    /// Each in a process of its own, which shares nothing with others but the input. One that dies voids its trial only.
    Workers(Workers),
    /// Each in processes of several workers, which may be on other machines.
    Fleet(Fleet),
}

/// Makes worker processes. Clones share the fork server they come from.
#[derive(Clone)]
pub struct Workers {
    line: CommandLine,
    fork_server: Arc<Mutex<Option<ForkServer>>>,
}

/// How often kvtrial looks at the server and at the user's wishes while a worker works.
pub(crate) const LOOK: Duration = Duration::from_millis(25);
/// How long a worker that was told to stop may take: when the user waits, and when nothing will come of it any more.
const GRACE: Duration = Duration::from_secs(1);
const GRACE_OF_THE_LOST: Duration = Duration::from_millis(250);

/// Hears what a worker reports, and says whether it is to go on.
pub(crate) trait Hearing {
    /// Takes note of a report.
    fn hear(&mut self, report: FromWorker);

    /// Takes note that nothing was reported for a moment: everything sent so far has been heard.
    fn hear_nothing(&mut self);

    /// Returns whether the worker is to stop, and why.
    fn wish(&mut self) -> Wish;

    /// Whether what befalls the clients from now on is the work of a crash.
    fn is_struck(&self) -> bool {
        false
    }

    /// Whether the change of nodes that its job asked for is over.
    fn is_changed(&self) -> bool {
        false
    }
}

/// The wish about what a worker is to do, and its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    GoOn,
    /// The user asked to stop.
    StopForUser,
    /// The server is dead: nothing will come of it any more.
    StopForServer,
    /// The worker gave no sign of life for too long.
    StopForHang,
}

impl Wish {
    pub(crate) fn order(self) -> Order {
        if self == Wish::GoOn { Order::Go } else { Order::Stop }
    }

    pub(crate) fn grace(self) -> Duration {
        match self {
            Wish::StopForServer | Wish::StopForHang => GRACE_OF_THE_LOST,
            Wish::GoOn | Wish::StopForUser => GRACE,
        }
    }
}

/// The way a worker left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Departure {
    /// The worker did its task.
    Done,
    /// The worker was killed because it did not stop.
    Killed,
    /// The worker died: how, and its last words.
    Died(String),
    /// A worker that shares trials with others is lost, or was not there: which, and how that is known.
    Lost(String),
}

impl Execution {
    /// Makes an execution of trials in worker processes, which this command line makes: it must call [`crate::serve_fork_server`].
    pub fn workers(line: CommandLine) -> Execution {
        Execution::Workers(Workers::new(line))
    }

    /// Returns whether trials run in other processes than this one.
    pub(crate) fn is_apart(&self) -> bool {
        !matches!(self, Execution::InProcess)
    }

    /// Returns how many workers share a trial.
    pub fn sharers(&self) -> u32 {
        if let Execution::Fleet(fleet) = self { fleet.size() } else { 1 }
    }

    /// Carries out a task. Adapter and job are those it names; workers find them by name.
    pub(crate) fn carry_out(
        &self,
        task: &Task,
        info: &'static StoreInfo,
        job: &dyn Fn(&Params) -> Result<Arc<dyn Job>, JobError>,
        hearing: &mut dyn Hearing,
    ) -> Departure {
        match self {
            Execution::Workers(workers) => workers.carry_out(task, hearing),
            Execution::Fleet(fleet) => fleet.carry_out(task, info, job, hearing),
            Execution::InProcess => {
                let (stop, changed) = (Arc::new(AtomicBool::new(false)), AtomicBool::new(false));
                let bench = Bench { info, job, stop: &stop, changed: &changed };
                perform(task, &bench, &mut Here { hearing, stop: &stop, changed: &changed });
                Departure::Done
            }
        }
    }
}

/// A worker that is this very thread.
struct Here<'a> {
    hearing: &'a mut dyn Hearing,
    stop: &'a AtomicBool,
    changed: &'a AtomicBool,
}

impl Link for Here<'_> {
    fn say(&mut self, report: FromWorker) {
        self.hearing.hear(report);
        if self.hearing.wish() != Wish::GoOn {
            self.stop.store(true, Ordering::Relaxed);
        }
        self.changed.store(self.hearing.is_changed(), Ordering::Relaxed);
    }

    fn ask(&mut self, report: FromWorker) -> Order {
        self.hearing.hear(report);
        self.hearing.wish().order()
    }
}

impl Workers {
    pub(crate) fn new(line: CommandLine) -> Workers {
        Workers { line, fork_server: Arc::default() }
    }

    pub(crate) fn carry_out(&self, task: &Task, hearing: &mut dyn Hearing) -> Departure {
        let mut kept = self.fork_server.lock().unwrap_or_else(PoisonError::into_inner);
        let fork_server = match kept.take().filter(|fork_server| fork_server.exit().is_none()) {
            Some(fork_server) => fork_server,
            None => match ForkServer::start(&self.line) {
                Ok(fork_server) => fork_server,
                Err(error) => return Departure::Died(format!("worker processes cannot be made: {error}")),
            },
        };
        let fork_server = kept.insert(fork_server);
        let departure = attend(fork_server, task, hearing);
        if fork_server.exit().is_some() {
            *kept = None; // the next trial starts another
        }
        departure
    }
}

/// Hands out a task and listens until its worker has left.
fn attend(fork_server: &mut ForkServer, task: &Task, hearing: &mut dyn Hearing) -> Departure {
    let lost = |fork_server: &ForkServer| {
        let begun = Instant::now();
        while fork_server.exit().is_none() && begun.elapsed() < GRACE {
            std::thread::sleep(Duration::from_millis(1));
        }
        Departure::Died(match fork_server.exit() {
            Some((exit, words)) => format!("the fork server of the workers {}", with_words(exit, &words)),
            None => "the fork server of the workers no longer listens".into(),
        })
    };
    if !send(fork_server, &ToWorker::Do(Box::new(task.clone()))) {
        return lost(fork_server);
    }
    let (mut worker, mut told, mut killed): (Option<i32>, Option<Instant>, bool) = (None, None, false);
    let mut is_changed = false;
    loop {
        if !is_changed && hearing.is_changed() {
            is_changed = send(fork_server, &ToWorker::Changed);
        }
        let wish = hearing.wish();
        if wish != Wish::GoOn && told.is_none() {
            send(fork_server, &ToWorker::Order(Order::Stop));
            told = Some(Instant::now());
        }
        if let (Some(since), Some(pid), false) = (told, worker, killed)
            && since.elapsed() > wish.grace()
        {
            kill(pid);
            killed = true;
        }
        let received = fork_server.receiver().map_or(Received::Closed, |receiver| receiver.receive(Some(LOOK)));
        let message = match received {
            Received::Nothing => {
                hearing.hear_nothing();
                continue;
            }
            Received::Closed => return lost(fork_server),
            Received::Message(message) => message,
        };
        let report = match serde_json::from_slice(&message) {
            Ok(report) => report,
            Err(error) => {
                worker.into_iter().for_each(kill);
                return Departure::Died(format!("the worker sent an unreadable message: {error}"));
            }
        };
        match report {
            FromWorker::Ended { exit, words } => {
                hearing.hear(FromWorker::Ended { exit, words: String::new() });
                return match exit {
                    Exit::Status(0) => Departure::Done,
                    _ if killed => Departure::Killed,
                    _ => Departure::Died(format!("the worker {}", with_words(exit, &words))),
                };
            }
            FromWorker::NotForked { problem } => {
                return Departure::Died(format!("a worker process could not be made: {problem}"));
            }
            FromWorker::Started { pid } => {
                worker = Some(pid);
                hearing.hear(FromWorker::Started { pid });
            }
            asks @ (FromWorker::Begins(_) | FromWorker::Finished(_)) => {
                hearing.hear(asks);
                let order = hearing.wish().order();
                send(fork_server, &ToWorker::Order(order));
            }
            report => hearing.hear(report),
        }
    }
}

fn send(fork_server: &ForkServer, command: &ToWorker) -> bool {
    let Ok(message) = serde_json::to_vec(command) else { return false };
    fork_server.sender().is_some_and(|sender| sender.send(&message).is_ok())
}

/// How a process ended, with what it said last.
pub(crate) fn with_words(exit: Exit, words: &str) -> String {
    let guess = if exit.was_killed() { "; kvtrial did not send it: memory may have run out" } else { "" };
    let said = if words.is_empty() { String::new() } else { format!("; its last words: {words}") };
    format!("{exit}{guess}{said}")
}
