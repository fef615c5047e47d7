//! The phases of a trial, in the worker: each runs, is flushed and reported.

use crate::assignment::Assignment;
use crate::fleet::tick::Ticker;
use crate::message::{Doing, FromWorker, Order, PhaseDone, UnderWay};
use crate::shares::{PhasesDone, ShareReport};
use crate::worker::bench::{Bench, Link};
use crate::worker::growth::Watch;
use crate::worker::history::Recording;
use engine::{Begin, Crew, End, Outages, Watcher};
use host::ProcessUse;
use jobkit::{JobError, Phase, Purpose, SharePart, Trial};
use measure::{CoarseCounts, Progress};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use store::{SessionPlan, Store, Threading};
use study::{CurvePoint, Reason, ReasonKind, SeriesPoint, Stall};

/// The phase in which the final state is read once more, over new connections.
pub(crate) const READ_AGAIN: &str = "read again";

/// How long a server is given to see that connections were closed, before everything is read again.
const SEEN_CLOSED: Duration = Duration::from_millis(50);

/// The phases that are run, and what is recorded of them.
#[derive(Clone, Copy)]
pub(crate) struct Extent<'a> {
    /// The number of phases, from the first on.
    pub(crate) count: usize,
    pub(crate) recording: Option<&'a Recording>,
}

/// Runs phases of a trial.
pub(crate) fn phases(
    store: &dyn Store,
    trial: &dyn Trial,
    extent: Extent<'_>,
    assignment: &Assignment,
    bench: &Bench<'_>,
    link: &mut dyn Link,
) -> PhasesDone {
    Crew::over(store, trial, &assignment.settings, bench.stop, |crew| {
        run_phases(store, trial, extent, assignment, bench, link, crew)
    })
}

fn run_phases(
    store: &dyn Store,
    trial: &dyn Trial,
    extent: Extent<'_>,
    assignment: &Assignment,
    bench: &Bench<'_>,
    link: &mut dyn Link,
    crew: &mut Crew<'_, '_>,
) -> PhasesDone {
    let Extent { count, recording } = extent;
    let mut run = Running { store, trial, assignment, bench, link, recording, crew };
    let phases = trial.phases();
    let (mut complete, mut read, mut unreadable) = (true, false, false);
    for (index, phase) in phases.iter().enumerate().take(count) {
        let Some(all_complete) = run.meet(index, phase, complete) else { return PhasesDone::BROKEN };
        complete = all_complete;
        if !complete && phase.purpose != Purpose::ReadBack {
            continue;
        }
        if !complete {
            // What is only frozen is given time to come back; nodes that are down are read around.
            let _ = run.cannot_connect();
        }
        match run.phase(index, phase) {
            Some(End::Completed) => read = phase.purpose == Purpose::ReadBack,
            // Nodes failed on purpose, and nothing was answered any more: what can be read by now is read back all the same.
            Some(End::Unanswered) if endures(assignment) && trial.judges_unfinished() => {
                (complete, read) = (false, false);
                unreadable |= phase.purpose == Purpose::ReadBack;
            }
            _ => return PhasesDone::BROKEN,
        }
    }
    // Handles on a library end with every phase anyway.
    let connects = store.threading() != Threading::PerClient;
    match phases.len() == count && connects && trial.can_be_read_again() && run.all_are_complete(complete) {
        true => run.again(),
        false => PhasesDone { complete, read: read && !unreadable, unread: None },
    }
}

/// Whether nodes fail on purpose.
fn endures(assignment: &Assignment) -> bool {
    matches!(assignment.settings.outages, Outages::Endure { .. })
}

/// What running a phase needs.
struct Running<'a, 'b, 'scope, 'env> {
    store: &'a dyn Store,
    trial: &'a dyn Trial,
    assignment: &'a Assignment,
    bench: &'a Bench<'b>,
    link: &'a mut dyn Link,
    recording: Option<&'a Recording>,
    crew: &'a mut Crew<'scope, 'env>,
}

impl Running<'_, '_, '_, '_> {
    /// Reads the final state once more, over new connections.
    fn again(&mut self) -> PhasesDone {
        self.crew.renew();
        self.trial.renew();
        // A server needs a moment to see that connections were closed.
        std::thread::sleep(SEEN_CLOSED);
        if let Some(words) = self.cannot_connect() {
            let example = format!("new connections could not be opened, so nothing was read again over them: {words}");
            let unread = Some(Reason { kind: ReasonKind::FailedInFault, count: 1, example });
            return PhasesDone { complete: true, read: true, unread };
        }
        let phases = self.trial.phases();
        let again = self.trial.again().and_then(|index| Some((index, phases.get(index)?)));
        let complete = again.is_none_or(|(index, phase)| {
            self.phase(index, &Phase { name: READ_AGAIN, purpose: Purpose::Work, ..*phase }) == Some(End::Completed)
        });
        PhasesDone { complete, read: complete, unread: None }
    }

    /// After a fault a node may be down that nobody takes over from: why no connection can be opened until the deadline.
    fn cannot_connect(&mut self) -> Option<String> {
        if !endures(self.assignment) {
            return None; // whatever is wrong then is found by the phase
        }
        let patience = Instant::now() + self.assignment.settings.deadline;
        loop {
            let Err(error) = self.store.session(SessionPlan { clients: 1, pipeline: 1 }) else { return None };
            if Instant::now() >= patience || self.bench.stop.load(Ordering::Relaxed) {
                return Some(error.to_string());
            }
            std::thread::sleep(SEEN_CLOSED);
        }
    }

    /// Exchanges with the other shares what each must know before a phase; whether the phases of all were completed so far. `None`: that
    /// cannot be done.
    fn meet(&mut self, index: usize, phase: &Phase, complete: bool) -> Option<bool> {
        if self.assignment.settings.share().is_whole() {
            return Some(complete);
        }
        let Running { trial, link, .. } = self;
        let met = trial.tell(index).and_then(|part| {
            let told = link.exchange(ShareReport { complete, part });
            let complete = told.iter().all(|told| told.complete);
            told.into_iter().try_for_each(|told| trial.hear(index, told.part)).map(|()| complete)
        });
        met.map_err(|JobError(words)| self.broken(phase, words)).ok()
    }

    /// Returns whether all phases of all shares were completed.
    fn all_are_complete(&mut self, complete: bool) -> bool {
        if self.assignment.settings.share().is_whole() {
            return complete;
        }
        let told = ShareReport { complete, part: SharePart::default() };
        self.link.exchange(told).iter().all(|told| told.complete)
    }

    fn broken(&mut self, phase: &Phase, words: String) {
        self.link.say(FromWorker::Broken { phase: phase.name.into(), words });
    }

    /// Runs a phase; how it ended. `None`: it could not be run, or was not to be.
    fn phase(&mut self, index: usize, phase: &Phase) -> Option<End> {
        let Running { store, trial, assignment, bench, link, recording, crew } = self;
        if link.ask(FromWorker::Begins(UnderWay::of(phase))) == Order::Stop || bench.stop.load(Ordering::Relaxed) {
            return None;
        }
        let cpu_s = ProcessUse::now().cpu_s;
        let growth = phase.stores.map(|_| Watch::begin(*store, &assignment.location, assignment.settings.deadline));
        let recording = recording.filter(|_| phase.timed);
        let is_shared = !assignment.settings.share().is_whole();
        let ticker = is_shared.then(|| Ticker::new(assignment.settings.deadline, cpu_s));
        let mut watching = Watching { trial: *trial, bench, link: &mut **link, recording, phase, growth, ticker };
        let begun = Instant::now();
        let ran = crew.run(index, &mut watching);
        let (growth, ticker) = (watching.growth, watching.ticker);
        if let Some(rest) = ticker.and_then(|ticker| ticker.rest(ProcessUse::now().cpu_s)) {
            link.say(FromWorker::Tick(UnderWay::of(phase), rest));
        }
        let mut outcome = match ran {
            Ok(outcome) => outcome,
            Err(error) => {
                self.broken(phase, error.to_string());
                return None;
            }
        };
        if let Some(recording) = recording {
            recording.timed(begun.elapsed()); // one too short for progress
        }
        let mut curve = outcome.curve();
        let mut stalls = outcome.stalls().unwrap_or_else(|| stalls_of_series(&outcome.series(), &curve));
        if !is_shared {
            outcome.growth.clear(); // the curve says it in less
        }
        // A store that does not answer is not asked what it did: that would take another deadline.
        if let Some(growth) = growth.filter(|_| outcome.end != End::Unanswered) {
            growth.explain(outcome.elapsed, &mut curve, &mut stalls);
        }
        let mut flush = Duration::ZERO;
        if phase.timed && outcome.end == End::Completed {
            link.say(FromWorker::Does(Doing::Flush));
            let begin = Instant::now();
            if let Err(error) = store.flush() {
                link.say(FromWorker::Broken { phase: Doing::Flush.name().into(), words: error.to_string() });
            }
            flush = begin.elapsed();
        }
        let end = outcome.end;
        link.say(FromWorker::Phase(Box::new(PhaseDone {
            phase: UnderWay::of(phase),
            outcome,
            flush,
            curve,
            stalls,
            carried: phase.carries,
            reads_back: phase.purpose == Purpose::ReadBack,
            process_cpu_s: ProcessUse::now().cpu_s - cpu_s,
        })));
        Some(end)
    }
}

/// The one who watches a phase of a trial.
struct Watching<'a, 'b, 'l> {
    trial: &'a dyn Trial,
    bench: &'a Bench<'b>,
    link: &'l mut dyn Link,
    recording: Option<&'a Recording>,
    phase: &'a Phase,
    growth: Option<Watch<'a>>,
    /// Of a share of the trial.
    ticker: Option<Ticker>,
}

impl Watcher for Watching<'_, '_, '_> {
    fn ready(&mut self) -> Begin {
        if self.ticker.is_some() { self.link.ready() } else { Begin::Now }
    }

    fn progress(&mut self, progress: Progress) {
        if let Some(growth) = &mut self.growth {
            growth.look(progress.elapsed);
        }
        if self.bench.changed.load(Ordering::Relaxed) {
            self.trial.changed();
        }
        if let Some(recording) = self.recording {
            recording.timed(progress.elapsed);
        }
        let phase = UnderWay::of(self.phase);
        match &mut self.ticker {
            None => {
                let progress = Progress { latencies: CoarseCounts::default(), ..progress };
                self.link.say(FromWorker::Progress(phase, progress));
            }
            Some(ticker) => {
                let tick = ticker.look(progress, Instant::now(), || ProcessUse::now().cpu_s);
                tick.into_iter().for_each(|tick| self.link.say(FromWorker::Tick(phase.clone(), tick)));
            }
        }
    }
}

/// The stalls of an open loop, with the records stored when they began.
pub(crate) fn stalls_of_series(series: &[SeriesPoint], curve: &[CurvePoint]) -> Vec<Stall> {
    let stored =
        |at_s: f64| curve.partition_point(|point| point.at_s <= at_s).checked_sub(1).map_or(0, |at| curve[at].records);
    analysis::stalls(series).into_iter().map(|stall| Stall { records: stored(stall.at_s), ..stall }).collect()
}

impl UnderWay {
    pub(crate) fn of(phase: &Phase) -> UnderWay {
        UnderWay { name: phase.name.into(), timed: phase.timed, operations: phase.operations, carried: phase.carries }
    }
}
