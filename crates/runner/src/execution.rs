//! Where trials are carried out: in this process, or each in a worker process of its own.

use crate::bench::{Bench, Link};
use crate::message::{Errand, FromWorker, Order, ToWorker};
use crate::work::perform;
use host::worker::{Nursery, kill};
use host::{Exit, Received};
use job::{Job, JobError, Params};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use store::{CommandLine, StoreInfo};

/// Where trials are carried out.
#[derive(Clone, Default)]
pub enum Execution {
    /// In this process: for stores and jobs that only this process knows. A store that kills its process kills this one.
    #[default]
    InProcess,
    /// Each in a process of its own, which shares nothing with others but the input. One that dies voids its trial only.
    Workers(Workers),
}

/// Makes worker processes. Clones share the nursery they come from.
#[derive(Clone)]
pub struct Workers {
    line: CommandLine,
    nursery: Arc<Mutex<Option<Nursery>>>,
}

/// How often kvtrial looks at the server and at the user's wishes while a worker works.
const LOOK: Duration = Duration::from_millis(25);
/// How long a worker that was told to stop may take: when the user waits, and when nothing will come of it any more.
const GRACE: Duration = Duration::from_secs(1);
const GRACE_OF_THE_LOST: Duration = Duration::from_millis(250);

/// Hears what a worker reports, and says whether it is to go on.
pub(crate) trait Hearing {
    /// Takes note of a report.
    fn hear(&mut self, report: FromWorker);

    /// Takes note that nothing was reported for a moment: everything sent so far has been heard.
    fn hear_nothing(&mut self);

    /// Whether the worker is to stop, and why.
    fn wish(&mut self) -> Wish;
}

/// What a worker is to do, and why.
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
    fn order(self) -> Order {
        if self == Wish::GoOn { Order::Go } else { Order::Stop }
    }

    fn grace(self) -> Duration {
        match self {
            Wish::StopForServer | Wish::StopForHang => GRACE_OF_THE_LOST,
            Wish::GoOn | Wish::StopForUser => GRACE,
        }
    }
}

/// How a worker left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Departure {
    /// It did what it was to do.
    Done,
    /// It was killed because it did not stop.
    Killed,
    /// It died: how, and its last words.
    Died(String),
}

impl Execution {
    /// Trials in worker processes, which this command line makes: it must call [`crate::serve_nursery`].
    pub fn workers(line: CommandLine) -> Execution {
        Execution::Workers(Workers { line, nursery: Arc::default() })
    }

    /// Whether trials run in other processes than this one.
    pub(crate) fn is_apart(&self) -> bool {
        matches!(self, Execution::Workers(_))
    }

    /// Carries out an errand. Adapter and job are those it names; workers find them by name.
    pub(crate) fn carry_out(
        &self,
        errand: &Errand,
        info: &'static StoreInfo,
        job: &dyn Fn(&Params) -> Result<Arc<dyn Job>, JobError>,
        hearing: &mut dyn Hearing,
    ) -> Departure {
        match self {
            Execution::Workers(workers) => workers.carry_out(errand, hearing),
            Execution::InProcess => {
                let stop = Arc::new(AtomicBool::new(false));
                perform(errand, &Bench { info, job, stop: &stop }, &mut Here { hearing, stop: &stop });
                Departure::Done
            }
        }
    }
}

/// A worker that is this very thread.
struct Here<'a> {
    hearing: &'a mut dyn Hearing,
    stop: &'a AtomicBool,
}

impl Link for Here<'_> {
    fn say(&mut self, report: FromWorker) {
        self.hearing.hear(report);
        if self.hearing.wish() != Wish::GoOn {
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    fn ask(&mut self, report: FromWorker) -> Order {
        self.hearing.hear(report);
        self.hearing.wish().order()
    }
}

impl Workers {
    fn carry_out(&self, errand: &Errand, hearing: &mut dyn Hearing) -> Departure {
        let mut kept = self.nursery.lock().unwrap_or_else(PoisonError::into_inner);
        let nursery = match kept.take().filter(|nursery| nursery.exit().is_none()) {
            Some(nursery) => nursery,
            None => match Nursery::start(&self.line) {
                Ok(nursery) => nursery,
                Err(error) => return Departure::Died(format!("worker processes cannot be made: {error}")),
            },
        };
        let nursery = kept.insert(nursery);
        let departure = attend(nursery, errand, hearing);
        if nursery.exit().is_some() {
            *kept = None; // the next trial starts another
        }
        departure
    }
}

/// Hands out an errand and listens until its worker has left.
fn attend(nursery: &mut Nursery, errand: &Errand, hearing: &mut dyn Hearing) -> Departure {
    let lost = |nursery: &Nursery| {
        let begun = Instant::now();
        while nursery.exit().is_none() && begun.elapsed() < GRACE {
            std::thread::sleep(Duration::from_millis(1));
        }
        Departure::Died(match nursery.exit() {
            Some((exit, words)) => format!("the nursery of the workers {}", with_words(exit, &words)),
            None => "the nursery of the workers no longer listens".into(),
        })
    };
    if !send(nursery, &ToWorker::Do(Box::new(errand.clone()))) {
        return lost(nursery);
    }
    let (mut worker, mut told, mut killed): (Option<i32>, Option<Instant>, bool) = (None, None, false);
    loop {
        let wish = hearing.wish();
        if wish != Wish::GoOn && told.is_none() {
            send(nursery, &ToWorker::Order(Order::Stop));
            told = Some(Instant::now());
        }
        if let (Some(since), Some(pid), false) = (told, worker, killed)
            && since.elapsed() > wish.grace()
        {
            kill(pid);
            killed = true;
        }
        let received = nursery.receiver().map_or(Received::Closed, |receiver| receiver.receive(Some(LOOK)));
        let message = match received {
            Received::Nothing => {
                hearing.hear_nothing();
                continue;
            }
            Received::Closed => return lost(nursery),
            Received::Message(message) => message,
        };
        let report = match serde_json::from_slice(&message) {
            Ok(report) => report,
            Err(error) => {
                worker.into_iter().for_each(kill);
                return Departure::Died(format!("the worker said what cannot be read: {error}"));
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
                send(nursery, &ToWorker::Order(order));
            }
            report => hearing.hear(report),
        }
    }
}

fn send(nursery: &Nursery, command: &ToWorker) -> bool {
    let Ok(message) = serde_json::to_vec(command) else { return false };
    nursery.sender().is_some_and(|sender| sender.send(&message).is_ok())
}

/// How a process ended, with what it said last.
fn with_words(exit: Exit, words: &str) -> String {
    let guess = if exit.was_killed() { "; kvtrial did not send it: memory may have run out" } else { "" };
    let said = if words.is_empty() { String::new() } else { format!("; its last words: {words}") };
    format!("{exit}{guess}{said}")
}
