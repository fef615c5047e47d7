//! What is heard and seen of a trial while its worker works.

use crate::attendant::Attendant;
use crate::execution::{Departure, Hearing, Wish};
use crate::faults::Faulting;
use crate::measured::{Measured, Meter};
use crate::message::{Finish, FromWorker, OpenedStore, Refusal};
use crate::observer::Observer;
use host::Premises;
use std::time::Instant;
use study::{FaultRecord, Left, LeftCount, NodeUse, Reason, ReasonKind, ServerUse};

/// Hears what the worker reports, and looks at the server and the disk at the moments that count.
pub(crate) struct Witness<'a> {
    /// Where the store is, if it is the user's.
    place: String,
    premises: &'a Premises,
    /// The worker is another process.
    apart: bool,
    attendant: Attendant<'a>,
    faulting: &'a Faulting,
    observer: &'a mut dyn Observer,
    meter: Option<Meter>,
    seen: Seen,
}

/// What was heard and seen of a trial.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) opened: Option<OpenedStore>,
    pub(crate) measured: Measured,
    pub(crate) finish: Option<Finish>,
    pub(crate) refusal: Option<Refusal>,
    /// What is in the user's store.
    left: Option<Left>,
    /// Why that could not be written down.
    pub(crate) unwritten: Option<String>,
    pub(crate) looks: Looks,
    /// The server died, or the worker gave no sign of life.
    pub(crate) broken_off: Option<Reason>,
    /// What became of the faults that were asked for.
    pub(crate) faults: Vec<FaultRecord>,
    /// Phases that were over before the first of them; `None`: none was begun.
    pub(crate) faulted_from: Option<usize>,
    /// Seconds of timed phases that were over then.
    pub(crate) over_s: f64,
    /// The worker died.
    pub(crate) died: Option<Reason>,
}

/// What was seen when all phases were over.
#[derive(Default)]
pub(crate) struct Looks {
    pub(crate) disk_bytes: Option<u64>,
    pub(crate) server: Option<ServerUse>,
    pub(crate) nodes: Vec<NodeUse>,
}

impl<'a> Witness<'a> {
    pub(crate) fn new(
        place: String,
        premises: &'a Premises,
        apart: bool,
        attendant: Attendant<'a>,
        faulting: &'a Faulting,
        observer: &'a mut dyn Observer,
    ) -> Witness<'a> {
        Witness { place, premises, apart, attendant, faulting, observer, meter: None, seen: Seen::default() }
    }

    /// The worker is gone.
    pub(crate) fn leave(mut self, departure: Departure) -> Seen {
        let cut_off = [ReasonKind::ConnectionLost, ReasonKind::NotConnected];
        let outcomes = &self.seen.measured.outcomes;
        if outcomes.iter().any(|(_, outcome)| cut_off.iter().any(|kind| outcome.offences.has(*kind))) {
            self.attendant.await_server_ending();
        }
        self.seen.broken_off = self.attendant.leave();
        self.seen.died = self.attendant.death(departure);
        self.seen
    }
}

impl Hearing for Witness<'_> {
    fn hear(&mut self, report: FromWorker) {
        self.attendant.hear(&report);
        let seen = &mut self.seen;
        match report {
            FromWorker::Opened(opened) => seen.opened = Some(opened),
            FromWorker::Leaves { keys, count, made } => {
                let left = Left { store: self.place.clone(), keys, count, made };
                seen.unwritten = self.observer.leaves(left.clone()).err();
                seen.left = Some(left);
            }
            FromWorker::Begins(phase) => {
                if phase.timed && seen.measured.timed_s == 0.0 {
                    self.faulting.begin(Instant::now());
                }
                self.meter = Some(Meter::start(self.premises, self.apart));
            }
            FromWorker::Progress(phase, progress) => {
                // More exact than the announcement: the clock is switched on later, and the worker says since when.
                if let Some(begun) = Instant::now().checked_sub(progress.elapsed)
                    && phase.timed
                    && seen.measured.timed_s == 0.0
                {
                    self.faulting.begin(begun);
                }
                self.observer.progress(&phase, progress);
            }
            FromWorker::Phase(done) => {
                if seen.faulted_from.is_none() && self.faulting.any_happened() {
                    seen.faulted_from = Some(seen.measured.outcomes.len());
                    seen.over_s = seen.measured.timed_s;
                }
                seen.measured.add(*done, self.meter.take(), self.premises);
            }
            FromWorker::Broken { phase, words } => seen.measured.broken(&phase, &words),
            FromWorker::Finished(finish) => {
                seen.looks = Looks {
                    disk_bytes: self.premises.disk_bytes(),
                    server: self.premises.usage(),
                    nodes: self.premises.node_use(),
                };
                if let (Some(left), Some(keys)) = (&mut seen.left, finish.keys_left) {
                    *left = Left { keys, count: LeftCount::Exact, ..left.clone() };
                    seen.unwritten = self.observer.leaves(left.clone()).err();
                }
                seen.finish = Some(*finish);
            }
            FromWorker::Refused(refusal) => seen.refusal = Some(refusal),
            _ => {}
        }
    }

    fn hear_nothing(&mut self) {
        self.attendant.hear_nothing();
    }

    fn wish(&mut self) -> Wish {
        self.attendant.wish()
    }
}
