//! Writers of a crash on several workers: each writes with clients of its own until nobody is to write any more, and then sends its ledger.
//!
//! A worker that is lost takes its ledger with it: then nobody knows what the store has to hold, and the crash shows nothing.

use super::account::middle;
use super::meet::named;
use super::{FleetEvent, FleetLink, FleetWorker};
use crate::execution::{Departure, Hearing, LOOK, Wish, with_words};
use crate::message::{ClientsBegun, CrashTask, FromWorker, LedgerPlace, Order, Task, ToWorker};
use crash::{ClockShift, LedgerParcel};
use host::Exit;
use jobkit::Share;
use std::time::{Duration, Instant};
use study::CrashWriter;

/// How long clients of a server that is gone may take to see that: until then they read what it had answered.
const LAST_ANSWERS: Duration = Duration::from_millis(250);
/// How long a worker may take to send its ledger.
const LEDGER_WITHIN: Duration = Duration::from_secs(20);
/// How long workers that were killed may take to end.
const KILLED_WITHIN: Duration = Duration::from_secs(1);

/// Lets the workers write, and hands on what they have written.
pub(super) fn attend(
    link: &mut dyn FleetLink,
    workers: Vec<FleetWorker>,
    task: &CrashTask,
    hearing: &mut dyn Hearing,
) -> Departure {
    let shares = Share::split(task.clients, workers.len() as u32);
    if shares.len() < workers.len() {
        return Departure::Lost(format!("{} workers cannot share {} clients", workers.len(), shares.len()));
    }
    let writers = workers.into_iter().zip(shares).map(|(worker, share)| Writer {
        worker,
        share,
        begun: None,
        parcels: Vec::new(),
        is_whole: false,
        is_gone: false,
    });
    let attending = Attending { link, writers: writers.collect(), hearing, stop: None, departure: None, killed: None };
    attending.carry_out(task)
}

/// A worker that writes.
struct Writer {
    worker: FleetWorker,
    share: Share,
    begun: Option<ClientsBegun>,
    /// What came of its ledger.
    parcels: Vec<LedgerParcel>,
    /// All of it has come.
    is_whole: bool,
    is_gone: bool,
}

/// When writers were to end, and whether they were told.
struct Stopping {
    since: Instant,
    is_told: bool,
}

struct Attending<'a> {
    link: &'a mut dyn FleetLink,
    writers: Vec<Writer>,
    hearing: &'a mut dyn Hearing,
    stop: Option<Stopping>,
    /// Why nothing will come of the crash any more.
    departure: Option<Departure>,
    killed: Option<Instant>,
}

impl Attending<'_> {
    fn carry_out(mut self, task: &CrashTask) -> Departure {
        for at in 0..self.writers.len() {
            let Share { first, clients, .. } = self.writers[at].share;
            let task = CrashTask { ledger: LedgerPlace::Own { first }, clients, ..task.clone() };
            self.send(at, &ToWorker::Do(Box::new(Task::Crash(task))));
        }
        while !self.writers.iter().all(|writer| writer.is_gone) {
            self.see_to_the_end();
            if self.killed.is_some_and(|since| since.elapsed() > KILLED_WITHIN) {
                break;
            }
            match self.link.receive(LOOK) {
                FleetEvent::Nothing => self.hearing.hear_nothing(),
                FleetEvent::Lost { worker, how, .. } => {
                    self.writers[worker].is_gone = true;
                    self.lose(worker, &how);
                }
                FleetEvent::Message { worker, message } => match serde_json::from_slice(&message) {
                    Ok(report) => self.hear(worker, report),
                    Err(error) => self.lose(worker, &format!("it sent an unreadable message: {error}")),
                },
            }
        }
        let after = self.link.part();
        if let Some(departure) = self.departure {
            return departure;
        }
        // Where nothing has struck the store there is nothing to judge.
        if self.hearing.is_struck() {
            let mut wrote = Vec::new();
            for (writer, after) in self.writers.into_iter().zip(after) {
                let clock = middle(writer.worker.clock, after);
                let shift = ClockShift { offset_ns: clock.offset_ns, error_ns: clock.error_ns };
                for parcel in writer.parcels {
                    self.hearing.hear(FromWorker::Ledger(Box::new(parcel.moved(shift))));
                }
                wrote.push(CrashWriter {
                    name: writer.worker.name,
                    first_client: writer.share.first,
                    clients: writer.share.clients,
                    clock_error_s: clock.error_ns as f64 / 1e9,
                });
            }
            self.hearing.hear(FromWorker::Writers(wrote));
        }
        Departure::Done
    }

    /// Tells the writers when they are to end, and ends those that do not.
    fn see_to_the_end(&mut self) {
        let wish = self.hearing.wish();
        if wish != Wish::GoOn {
            self.stop();
        }
        let Some(Stopping { since, is_told }) = &mut self.stop else { return };
        let for_user = wish == Wish::StopForUser;
        let (stopped, tells) = (since.elapsed(), !*is_told);
        if tells && (for_user || stopped > LAST_ANSWERS) {
            *is_told = true;
            (0..self.writers.len()).for_each(|at| self.send(at, &ToWorker::Order(Order::Stop)));
        }
        let patience = if for_user { wish.grace() } else { LAST_ANSWERS + LEDGER_WITHIN };
        if stopped > patience && self.departure.is_none() {
            match self.writers.iter().position(|writer| !writer.is_gone).filter(|_| !for_user) {
                Some(late) => {
                    self.lose(late, &format!("it did not send what it wrote within {} s", LEDGER_WITHIN.as_secs()));
                }
                None => self.give_up(Departure::Killed),
            }
        }
    }

    fn stop(&mut self) {
        self.stop.get_or_insert_with(|| Stopping { since: Instant::now(), is_told: false });
    }

    fn hear(&mut self, at: usize, report: FromWorker) {
        let writer = &mut self.writers[at];
        match report {
            opened @ FromWorker::Opened(_) if at == 0 => self.hearing.hear(opened),
            FromWorker::Began(begun) => {
                writer.begun = Some(begun);
                let all = self.writers.iter().all(|it| it.begun == Some(ClientsBegun::All));
                self.hearing.hear(FromWorker::Began(if all { ClientsBegun::All } else { ClientsBegun::Some }));
            }
            FromWorker::Ledger(parcel) => {
                let is_whole = parcel.is_whole();
                writer.parcels.push(*parcel);
                if !is_whole {
                    self.lose(at, "a part of what it wrote has changed on the way here");
                }
            }
            FromWorker::LedgerSent { parcels } => {
                writer.is_whole = parcels == writer.parcels.len() as u64;
                if !writer.is_whole {
                    let words = format!("{} of {parcels} parts of what it wrote have come", writer.parcels.len());
                    self.lose(at, &words);
                }
            }
            FromWorker::Refused(refusal) => {
                let name = &writer.worker.name;
                self.hearing.hear(FromWorker::Refused(named(refusal, name, None)));
                // What a client says whose store was struck is no reason for others to end.
                if !self.hearing.is_struck() {
                    self.stop();
                }
            }
            FromWorker::Ended { exit, words } => {
                writer.is_gone = true;
                if !writer.is_whole {
                    let how = if exit == Exit::Status(0) { String::new() } else { with_words(exit, &words) };
                    self.lose(at, &format!("its process ended before it had sent what it wrote: {how}"));
                }
            }
            FromWorker::NotForked { problem } => {
                writer.is_gone = true;
                self.lose(at, &format!("a worker process could not be made: {problem}"));
            }
            _ => {}
        }
    }

    /// Nobody will know what a worker has written.
    fn lose(&mut self, at: usize, how: &str) {
        let how = how.trim_end_matches([':', ' ']);
        let words = format!("{}: {how}", self.writers[at].worker.name);
        self.give_up(Departure::Lost(words));
    }

    fn give_up(&mut self, departure: Departure) {
        self.departure.get_or_insert(departure);
        self.killed.get_or_insert_with(Instant::now);
        for at in 0..self.writers.len() {
            if !self.writers[at].is_gone {
                self.link.kill(at);
            }
        }
    }

    fn send(&mut self, at: usize, message: &ToWorker) {
        if let Ok(message) = serde_json::to_vec(message)
            && !self.writers[at].is_gone
        {
            self.link.send(at, &message);
        }
    }
}
