//! Watches a running trial.

use crate::execution::{Departure, Hearing, Wish};
use crate::faults::Faulting;
use crate::fleet::FleetAccount;
use crate::measured::{Measured, Meter};
use crate::message::{Finish, FromWorker, OpenedStore, Refusal};
use crate::observer::Observer;
use crate::supervisor::Supervisor;
use host::Installation;
use std::time::Instant;
use study::{FaultRecord, Left, LeftCount, NodeUse, Reason, ReasonKind, ServerUse};

/// Hears what the worker reports, and looks at the server and the disk at the moments that count.
pub(crate) struct Monitor<'a> {
    /// Where the store is, if it is the user's.
    place: String,
    installation: &'a Installation,
    /// The worker is another process.
    apart: bool,
    supervisor: Supervisor<'a>,
    faulting: &'a Faulting,
    observer: &'a mut dyn Observer,
    meter: Option<Meter>,
    seen: Seen,
}

/// Everything that was heard and seen of a trial.
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
    /// How old the oldest lost write was at the fault.
    pub(crate) oldest_lost_s: Option<f64>,
    /// The worker died, or one of several was lost.
    pub(crate) died: Option<Reason>,
    /// What each of several workers did.
    pub(crate) fleet: FleetAccount,
}

/// The figures that were seen when all phases were over.
#[derive(Default)]
pub(crate) struct Looks {
    pub(crate) disk_bytes: Option<u64>,
    pub(crate) server: Option<ServerUse>,
    pub(crate) nodes: Vec<NodeUse>,
}

impl<'a> Monitor<'a> {
    pub(crate) fn new(
        place: String,
        installation: &'a Installation,
        apart: bool,
        supervisor: Supervisor<'a>,
        faulting: &'a Faulting,
        observer: &'a mut dyn Observer,
    ) -> Monitor<'a> {
        Monitor { place, installation, apart, supervisor, faulting, observer, meter: None, seen: Seen::default() }
    }

    /// Notes that the worker is gone.
    pub(crate) fn leave(mut self, departure: Departure) -> Seen {
        let cut_off = [ReasonKind::ConnectionLost, ReasonKind::NotConnected];
        let outcomes = &self.seen.measured.outcomes;
        if outcomes.iter().any(|(_, outcome)| cut_off.iter().any(|kind| outcome.offences.has(*kind))) {
            self.supervisor.await_server_ending();
        }
        self.seen.broken_off = self.supervisor.leave();
        self.seen.died = self.supervisor.death(departure);
        self.seen
    }
}

impl Hearing for Monitor<'_> {
    fn hear(&mut self, report: FromWorker) {
        self.supervisor.hear(&report);
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
                self.faulting.phase_begins(&phase.name);
                self.meter = Some(Meter::start(self.installation, self.apart));
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
                seen.measured.add(*done, self.meter.take(), self.installation);
            }
            FromWorker::Broken { phase, words } => seen.measured.broken(&phase, &words),
            FromWorker::Finished(finish) => {
                seen.oldest_lost_s = finish.oldest_lost.and_then(|ago| self.faulting.age_s(ago));
                seen.looks = Looks {
                    disk_bytes: self.installation.disk_bytes(),
                    server: self.installation.usage(),
                    nodes: self.installation.node_use(),
                };
                if let (Some(left), Some(keys)) = (&mut seen.left, finish.keys_left) {
                    *left = Left { keys, count: LeftCount::Exact, ..left.clone() };
                    seen.unwritten = self.observer.leaves(left.clone()).err();
                }
                seen.finish = Some(*finish);
            }
            FromWorker::Shared(account) => seen.fleet = *account,
            FromWorker::Refused(refusal) => seen.refusal = Some(refusal),
            FromWorker::Does(doing) => self.observer.does(doing.name()),
            _ => {}
        }
    }

    fn hear_nothing(&mut self) {
        self.supervisor.hear_nothing();
    }

    fn wish(&mut self) -> Wish {
        self.supervisor.wish()
    }

    fn is_changed(&self) -> bool {
        self.faulting.is_changed()
    }
}
