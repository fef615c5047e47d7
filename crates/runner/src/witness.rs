//! What is heard and seen of a trial while its worker works.

use crate::execution::{Hearing, Wish};
use crate::measured::{Measured, Meter};
use crate::message::{Finish, Opened, Refusal, Report};
use crate::run::Observer;
use crate::silence::Silence;
use engine::Settings;
use host::Premises;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use study::{Left, LeftCount, ServerUse};

/// Hears what the worker reports, and looks at the server and the disk at the moments that count.
pub(crate) struct Witness<'a> {
    /// Where the store is, if it is the user's.
    place: String,
    premises: &'a Premises,
    /// The worker is another process.
    apart: bool,
    stop: &'a AtomicBool,
    observer: &'a mut dyn Observer,
    worker: Option<i32>,
    meter: Option<Meter>,
    silence: Silence,
    seen: Seen,
}

/// What was heard and seen of a trial.
pub(crate) struct Seen {
    pub(crate) opened: Option<Opened>,
    pub(crate) measured: Measured,
    pub(crate) finish: Option<Finish>,
    pub(crate) refusal: Option<Refusal>,
    /// What is in the user's store.
    pub(crate) left: Option<Left>,
    /// Why that could not be written down.
    pub(crate) unwritten: Option<String>,
    pub(crate) looks: Looks,
    /// How the server ended before it was told to, with the end of its log.
    pub(crate) server_ending: Option<String>,
    /// The worker gave no sign of life for too long.
    pub(crate) hang: Option<String>,
    /// What was being done.
    pub(crate) doing: String,
}

/// What was seen when all phases were over.
#[derive(Default)]
pub(crate) struct Looks {
    pub(crate) disk_bytes: Option<u64>,
    pub(crate) server: Option<ServerUse>,
}

impl<'a> Witness<'a> {
    pub(crate) fn new(
        place: String,
        premises: &'a Premises,
        apart: bool,
        settings: &Settings,
        stop: &'a AtomicBool,
        observer: &'a mut dyn Observer,
    ) -> Witness<'a> {
        let seen = Seen {
            opened: None,
            measured: Measured::default(),
            finish: None,
            refusal: None,
            left: None,
            unwritten: None,
            looks: Looks::default(),
            server_ending: None,
            hang: None,
            doing: "opening the store".into(),
        };
        let silence = Silence::of(settings);
        Witness { place, premises, apart, stop, observer, worker: None, meter: None, silence, seen }
    }

    /// The worker is gone.
    pub(crate) fn leave(mut self) -> Seen {
        self.look_at_server();
        self.seen
    }

    fn look_at_server(&mut self) {
        if self.seen.server_ending.is_none()
            && let Some(ending) = self.premises.ending()
        {
            let (doing, log) = (&self.seen.doing, self.premises.log_end());
            self.seen.server_ending = Some(format!("{ending} (while: {doing}){log}"));
        }
    }
}

impl Hearing for Witness<'_> {
    fn hear(&mut self, report: Report) {
        self.silence.hear(&report, Instant::now());
        let seen = &mut self.seen;
        match report {
            Report::Started { pid } => {
                self.premises.enter(pid);
                self.worker = Some(pid);
            }
            Report::Opened(opened) => seen.opened = Some(opened),
            Report::Leaves { keys, made } => {
                let left = Left { store: self.place.clone(), keys, count: LeftCount::AtMost, made };
                seen.unwritten = self.observer.leaves(left.clone()).err();
                seen.left = Some(left);
            }
            Report::Begins(phase) => {
                seen.doing.clone_from(&phase.name);
                self.meter = Some(Meter::start(self.premises, self.apart));
            }
            Report::Progress(phase, progress) => {
                self.observer.progress(&phase, progress);
                seen.doing = phase.name;
            }
            Report::Does(what) => what.name().clone_into(&mut seen.doing),
            Report::Phase(done) => seen.measured.add(*done, self.meter.take(), self.premises),
            Report::Broken { phase, words } => seen.measured.broken(&phase, &words),
            Report::Finished(finish) => {
                seen.looks = Looks { disk_bytes: self.premises.disk_bytes(), server: self.premises.usage() };
                if let (Some(left), Some(keys)) = (&mut seen.left, finish.keys_left) {
                    *left = Left { keys, count: LeftCount::Exact, ..left.clone() };
                    seen.unwritten = self.observer.leaves(left.clone()).err();
                }
                seen.finish = Some(*finish);
                "disconnecting".clone_into(&mut seen.doing);
            }
            Report::Refused(refusal) => seen.refusal = Some(refusal),
            // Its id is its own until the next trial.
            Report::Ended { .. } => self.worker.take().into_iter().for_each(|pid| self.premises.leave(pid)),
            Report::NotBegotten { .. } => {}
        }
    }

    fn hear_nothing(&mut self) {
        if self.seen.hang.is_none()
            && let Some(words) = self.silence.too_long(Instant::now())
        {
            self.seen.hang = Some(format!("{words} (while: {})", self.seen.doing));
        }
    }

    fn wish(&mut self) -> Wish {
        self.look_at_server();
        if self.seen.server_ending.is_some() {
            Wish::StopForServer
        } else if self.stop.load(Ordering::Relaxed) {
            Wish::StopForUser
        } else if self.seen.hang.is_some() {
            Wish::StopForHang
        } else {
            Wish::GoOn
        }
    }
}
