//! What is heard of one worker of a fleet, and where all of them meet.

use super::FleetWorker;
use super::tick::TickSum;
use crate::message::{Finish, FromWorker, OpenedStore, PhaseDone, Refusal, UnderWay};
use crate::plan::MOST_SENT_BYTES;
use crate::shares::ShareReport;
use jobkit::Share;
use std::time::{Duration, Instant};

/// How far ahead of a common start workers hear of it: this, and several times as long as a message may take.
const LEAD: Duration = Duration::from_millis(30);
const TIMES_AS_LONG: u64 = 8;

/// Where a worker is in the trial.
#[derive(Debug, Default)]
pub(super) enum Stage {
    /// At something nobody waits for.
    #[default]
    Busy,
    /// It has told what the others must know before the next phase, and waits for what they tell.
    Told(ShareReport),
    /// It is about to begin a phase, and waits for an order.
    Begins(UnderWay),
    /// All its clients stand at the line, and wait for when the phase begins.
    AtLine,
    /// It is finished, and waits for an order.
    Finished(Box<Finish>),
    /// Its process has ended.
    Gone,
}

impl Stage {
    pub(super) fn told(self) -> Option<ShareReport> {
        if let Stage::Told(told) = self { Some(told) } else { None }
    }

    pub(super) fn finish(self) -> Option<Finish> {
        if let Stage::Finished(finish) = self { Some(*finish) } else { None }
    }
}

/// One worker of a fleet.
pub(super) struct Attended {
    pub(super) name: String,
    pub(super) share: Share,
    pub(super) stage: Stage,
    pub(super) opened: Option<OpenedStore>,
    /// What it leaves in the user's store: keys, and what was made there.
    pub(super) leaves: Option<FromWorker>,
    pub(super) ticks: TickSum,
    /// The phase it was last at, and since when.
    pub(super) at: Option<(UnderWay, Instant)>,
    pub(super) phase: Option<Box<PhaseDone>>,
    /// When it was told to begin the phase, by its own clock.
    pub(super) told_ns: u64,
}

impl Attended {
    pub(super) fn new(name: String, share: Share) -> Attended {
        Attended {
            name,
            share,
            stage: Stage::Busy,
            opened: None,
            leaves: None,
            ticks: TickSum::default(),
            at: None,
            phase: None,
            told_ns: 0,
        }
    }

    pub(super) fn is_gone(&self) -> bool {
        matches!(self.stage, Stage::Gone)
    }

    /// Returns how much of its work it had done when it was last heard, as people say it; timed phases may last a given time.
    pub(super) fn how_far(&self, last_heard: Instant, given: Option<Duration>) -> String {
        let Some((phase, since)) = &self.at else { return "before the first phase".into() };
        let seconds = last_heard.saturating_duration_since(*since).as_secs_f64();
        let planned = phase.operations.map(|all| self.share.part_of(all)).filter(|part| *part > 0);
        let of_work = |done: f64| format!("{:.0} % of its work", done.min(1.0) * 100.0);
        let done = match (given.filter(|_| phase.timed), planned) {
            (Some(given), _) => of_work(seconds / given.as_secs_f64()),
            (None, Some(part)) => of_work(self.ticks.operations as f64 / part as f64),
            (None, None) => format!("{} operations", study::whole(self.ticks.operations)),
        };
        format!("at {seconds:.1} s with {done} (while: {})", phase.name)
    }
}

/// How far ahead these hear of a start.
pub(super) fn lead_ns(workers: &[FleetWorker]) -> u64 {
    let slowest_ns = workers.iter().map(|worker| worker.clock.error_ns).max().unwrap_or(0);
    LEAD.as_nanos() as u64 + slowest_ns * TIMES_AS_LONG
}

/// Adds who could not do it, where that is not the same for all, and what helps there.
pub(super) fn named(refusal: Refusal, worker: &str, file: Option<&str>) -> Refusal {
    match refusal {
        Refusal::Store(words) => Refusal::Store(format!("worker {worker}: {words}")),
        Refusal::Job(words) => {
            let remedy = file.map_or_else(String::new, |file| {
                format!(
                    "; every worker's machine needs {file}, which is not sent: it has more than {} MiB. Put it there under the same path",
                    MOST_SENT_BYTES >> 20
                )
            });
            Refusal::Job(format!("worker {worker}: {words}{remedy}"))
        }
        other => other,
    }
}
