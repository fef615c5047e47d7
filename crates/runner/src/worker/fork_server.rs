//! The fork server, from inside: one thread that reads what trials need, once, and forks a worker for each.

use crate::assignment::Assignment;
use crate::job_cache::JobCache;
use crate::message::{FromWorker, Order, Task, ToWorker};
use crate::shares::ShareReport;
use crate::worker::bench::{Bench, Link};
use crate::worker::work::perform;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use data::sent::{ArrivingFile, FileLabel};
use engine::Begin;
use host::Exit;
use host::worker::{Forked, inside};
use host::{Received, Receiver, Sender};
use jobkit::{JobError, JobInfo};
use measure::monotonic_ns;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use store::StoreInfo;

/// Inputs that are kept: the last ones used.
const SHELVES: usize = 4;

/// Serves until kvtrial is gone. What a worker is forked from must have one thread: nothing here may start another.
pub fn serve_fork_server() {
    let (sender, receiver) = inside();
    let mut ends = Ends { sender, receiver: Some(receiver) };
    let mut caches: Vec<(Key, JobCache)> = Vec::new();
    let mut _last: Option<Forked> = None;
    while let Some(command) = ends.next() {
        let ToWorker::Do(task) = command else { continue }; // an order to one that has ended meanwhile
        _last = None; // only now may another process get its id
        match ends.fetch(&task) {
            Ok(Fetched::All) => {}
            Ok(Fetched::Stopped) => {
                ends.say_for_the_dead(&FromWorker::Ended { exit: Exit::Status(0), words: String::new() });
                continue;
            }
            Err(problem) => {
                ends.say_for_the_dead(&FromWorker::NotForked { problem });
                continue;
            }
        }
        let (info, job_cache) = match at_hand(&task, &mut caches) {
            Ok(at_hand) => at_hand,
            Err(JobError(problem)) => {
                ends.say_for_the_dead(&FromWorker::NotForked { problem });
                continue;
            }
        };
        let no_job = || JobError("no job has a part in this".into());
        let job = |params: &_| job_cache.ok_or_else(no_job)?.job(params);
        // What is read here all later workers share; what cannot be read the worker reports.
        task.inputs().into_iter().for_each(|params| drop(job(params)));
        measure::Clock::get(); // calibrated once, for all workers
        let forked = Forked::fork(|| {
            let (stop, changed) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
            let mut link = ends.workers(&stop, &changed);
            let bench = Bench { info, job: &job, stop: &stop, changed: &changed };
            perform(&task, &bench, &mut link);
            0
        });
        match forked {
            Ok(worker) => {
                let (exit, words) = worker.wait();
                ends.say_for_the_dead(&FromWorker::Ended { exit, words });
                _last = Some(worker);
            }
            Err(error) => ends.say_for_the_dead(&FromWorker::NotForked { problem: error.to_string() }),
        }
    }
}

/// The adapter of the task's store, and the job cache of its job, if it has one.
fn at_hand<'a>(
    task: &Task,
    caches: &'a mut Vec<(Key, JobCache)>,
) -> Result<(&'static StoreInfo, Option<&'a JobCache>), JobError> {
    let spec = task.place().0;
    // A plugin is asked in a process of its own, and loaded by the worker. What is wrong with its library opening says.
    let known = catalog::of(spec).ok().flatten().or_else(|| catalog::find(&spec.name));
    let missing =
        || JobError(format!("this build of kvtrial does not know the store {}: use one that does", spec.name));
    let info = known.or_else(|| crash::proof::find(&spec.name)).ok_or_else(missing)?;
    let Some(assignment) = task.assignment() else { return Ok((info, None)) };
    Ok((info, Some(job_cache(caches, assignment.job_info()?, assignment))))
}

/// What an input is read for.
type Key = (&'static str, Option<String>, Option<FileLabel>, u64);

/// The job cache of an assignment's input; the last used is the last.
fn job_cache<'a>(caches: &'a mut Vec<(Key, JobCache)>, job: &'static JobInfo, assignment: &Assignment) -> &'a JobCache {
    let key = (job.name, assignment.data.clone(), assignment.file.clone(), assignment.seed);
    let kept = caches.iter().position(|(known, _)| *known == key).map(|at| caches.remove(at));
    let kept = kept.unwrap_or_else(|| {
        let job_cache = JobCache::new(job, key.1.clone(), key.3);
        (key, job_cache)
    });
    if caches.len() >= SHELVES {
        caches.remove(0);
    }
    caches.push(kept);
    &caches[caches.len() - 1].1
}

/// How it went with the input of a task.
enum Fetched {
    /// It is here.
    All,
    /// It is no longer wanted.
    Stopped,
}

/// The channel to kvtrial.
struct Ends {
    sender: Sender,
    /// Taken by the worker's thread in a worker.
    receiver: Option<Receiver>,
}

impl Ends {
    fn next(&mut self) -> Option<ToWorker> {
        next(self.receiver.as_mut()?)
    }

    /// Asks for the file that is a task's input, where it is sent and not here yet.
    fn fetch(&mut self, task: &Task) -> Result<Fetched, String> {
        let label = task.assignment().and_then(|assignment| assignment.file.as_ref());
        let Some(mut arriving) = label.and_then(ArrivingFile::of) else { return Ok(Fetched::All) };
        while let Some(from) = arriving.lacks() {
            self.say_for_the_dead(&FromWorker::Lacks { from });
            match self.next() {
                Some(ToWorker::Piece(text)) => {
                    arriving.add(&BASE64.decode(text).map_err(|error| format!("a piece of the input: {error}"))?)?;
                }
                Some(ToWorker::Order(Order::Stop)) | None => return Ok(Fetched::Stopped),
                Some(_) => {} // said to one that has ended meanwhile
            }
        }
        arriving.keep().map(|()| Fetched::All)
    }

    fn say_for_the_dead(&self, report: &FromWorker) {
        // Nobody listens any more: the next look at the channel ends the fork server.
        let _ = serde_json::to_vec(report).map(|message| self.sender.send_fresh(&message));
    }

    /// In a worker: a thread takes orders from now on.
    fn workers(&mut self, stop: &Arc<AtomicBool>, changed: &Arc<AtomicBool>) -> Remote {
        let (heard, answers) = mpsc::channel();
        if let Some(receiver) = self.receiver.take() {
            let (stop, changed) = (Arc::clone(stop), Arc::clone(changed));
            std::thread::spawn(move || take_orders(receiver, &heard, &stop, &changed));
        }
        let remote = Remote { sender: self.sender.clone(), heard: answers };
        remote.send(&FromWorker::Started { pid: std::process::id().cast_signed() });
        remote
    }
}

fn next(receiver: &mut Receiver) -> Option<ToWorker> {
    match receiver.receive(None) {
        Received::Message(message) => serde_json::from_slice(&message).ok(),
        Received::Nothing | Received::Closed => None,
    }
}

/// What kvtrial says to a worker that waits for it.
enum Heard {
    Order(Order),
    Told(Vec<ShareReport>),
    Begin { at_ns: u64 },
}

/// Hands on what kvtrial says; without kvtrial there is nothing left to do.
fn take_orders(mut receiver: Receiver, heard: &mpsc::Sender<Heard>, stop: &AtomicBool, changed: &AtomicBool) {
    while let Some(command) = next(&mut receiver) {
        let said = match command {
            ToWorker::Order(order) => {
                if order == Order::Stop {
                    stop.store(true, Ordering::Relaxed);
                }
                Heard::Order(order)
            }
            ToWorker::Told(told) => Heard::Told(told),
            ToWorker::Begin { at_ns } => Heard::Begin { at_ns },
            ToWorker::Changed => {
                changed.store(true, Ordering::Relaxed);
                continue;
            }
            ToWorker::Do(_) | ToWorker::Piece(_) => continue,
        };
        let _ = heard.send(said); // fails only when the worker asks no more
    }
    std::process::abort();
}

/// kvtrial, from a worker.
struct Remote {
    sender: Sender,
    heard: mpsc::Receiver<Heard>,
}

impl Remote {
    fn send(&self, report: &FromWorker) {
        let sent = serde_json::to_vec(report).map_err(std::io::Error::other).and_then(|it| self.sender.send(&it));
        if sent.is_err() {
            std::process::abort(); // kvtrial is gone
        }
    }
}

impl Link for Remote {
    fn say(&mut self, report: FromWorker) {
        self.send(&report);
    }

    fn ask(&mut self, report: FromWorker) -> Order {
        self.send(&report);
        // What it was told for something it no longer waits for is no answer.
        let order = |heard| if let Heard::Order(order) = heard { Some(order) } else { None };
        self.heard.iter().find_map(order).unwrap_or(Order::Stop)
    }

    fn exchange(&mut self, told: ShareReport) -> Vec<ShareReport> {
        self.send(&FromWorker::Tells(told.clone()));
        match self.heard.recv() {
            Ok(Heard::Told(all)) => all,
            _ => vec![ShareReport { complete: false, ..told }], // it is to stop
        }
    }

    fn ready(&mut self) -> Begin {
        self.send(&FromWorker::Ready);
        match self.heard.recv() {
            Ok(Heard::Begin { at_ns }) => {
                let wait = Duration::from_nanos(at_ns.saturating_sub(monotonic_ns()));
                let late = Duration::from_nanos(monotonic_ns().saturating_sub(at_ns));
                let now = Instant::now();
                Begin::At(now.checked_sub(late).unwrap_or(now) + wait)
            }
            _ => Begin::Now, // it is to stop, and its clients see that
        }
    }
}
