//! What clients saw, recorded while the phases run and checked after them.

use crate::assignment::HistoryWish;
use history::{Check, Collector, Conflict, Deed, Encounter};
use jobkit::Trial;
use measure::Clock;
use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use study::{History, HistoryAct, HistoryFlaw, HistoryOperation};

/// The record of a trial, if one is kept.
pub(crate) struct Recording {
    /// What is recorded, or why nothing is.
    collector: Result<Arc<Collector>, String>,
    file: Option<PathBuf>,
    /// When the first timed phase began.
    began: Cell<Option<Instant>>,
}

impl Recording {
    /// Begins one for the trial, as wished.
    pub(crate) fn begin(trial: &dyn Trial, wish: &HistoryWish) -> Recording {
        let clock = Clock::get();
        let collector = Collector::new(&wish.directory).timed_by(Box::new(move |ticks| clock.ns(ticks)));
        let collector = Arc::new(collector);
        let collector = trial.record_history(&collector).map(|()| collector);
        Recording { collector, file: wish.file.clone(), began: Cell::new(None) }
    }

    /// Hears how far a timed phase is.
    pub(crate) fn timed(&self, elapsed: Duration) {
        if self.began.get().is_none() {
            self.began.set(Instant::now().checked_sub(elapsed));
        }
    }

    /// Returns what was found, when the phases and their workers are gone.
    pub(crate) fn findings(self, trial: Box<dyn Trial + '_>) -> History {
        drop(trial);
        let problem = |problem: String| History { problem, ..History::default() };
        let collected = match self.collector.map(Arc::try_unwrap) {
            Err(why) => return problem(why),
            Ok(Err(_)) => return problem("it is still being recorded".into()),
            Ok(Ok(collector)) => collector.collected(),
        };
        let checked = collected.and_then(|it| it.check().map(|checked| (it, checked)));
        let (collected, checked) = match checked {
            Err(error) => return problem(format!("what did not fit into memory could not be kept in a file: {error}")),
            Ok(checked) => checked,
        };
        let mut found = match checked {
            Err(why) => problem(why.to_string()),
            Ok(check) => {
                let times = Times::since(self.began.get());
                told(&check, |at_ns| times.s(at_ns))
            }
        };
        if let Some(wished) = self.file {
            let file = free(&wished);
            match collected.write_lines(&file) {
                Ok(()) => found.file = Some(file.display().to_string()),
                Err(error) => found.problem = format!("--history {}: {error}", file.display()),
            }
        }
        found
    }
}

/// Turns times of the clock into seconds since a moment.
struct Times {
    zero_ns: i128,
}

impl Times {
    fn since(began: Option<Instant>) -> Times {
        let clock = Clock::get();
        let ago = began.map_or(Duration::ZERO, |began| began.elapsed());
        Times { zero_ns: i128::from(clock.ns(clock.now())) - ago.as_nanos() as i128 }
    }

    fn s(&self, at_ns: u64) -> f64 {
        (i128::from(at_ns) - self.zero_ns) as f64 / 1e9
    }
}

/// Tells what a check has found, with its times in seconds as `s` has them.
pub(crate) fn told(check: &Check, s: impl Fn(u64) -> f64) -> History {
    let weaker = check.weaker;
    let operation = |it: &Encounter| HistoryOperation {
        client: it.client,
        key: it.key,
        act: match it.action {
            Deed::Read(_) => HistoryAct::Read,
            Deed::Missed(_) => HistoryAct::Miss,
            Deed::Write(_) => HistoryAct::Write,
            Deed::Delete(_) => HistoryAct::Delete,
            Deed::Swap { .. } => HistoryAct::Increase,
        },
        version: it.version(),
        sent_s: s(it.sent_ns),
        answered_s: it.answered_ns.map(&s),
    };
    History {
        operations: check.operations,
        unknown: check.unknown,
        keys: check.keys,
        contradicted_keys: check.contradicted_keys,
        reads: weaker.reads,
        stale_reads: weaker.stale_reads,
        oldest_stale_s: (weaker.stale_reads > 0).then_some(weaker.oldest_stale_ns as f64 / 1e9),
        backward_reads: weaker.backward_reads,
        own_writes_missed: weaker.own_writes_missed,
        flaw: check.smallest.as_ref().map(|it| match it.flaw {
            Conflict::NeverWritten => HistoryFlaw::NeverWritten,
            Conflict::BeforeItsWrite => HistoryFlaw::BeforeItsWrite,
            Conflict::SwappedTwice | Conflict::OutOfOrder => HistoryFlaw::OutOfOrder,
        }),
        smallest: check.smallest.iter().flat_map(|it| &it.operations).map(operation).collect(),
        ..History::default()
    }
}

/// The path, or the first one with a number behind it, of which there is no file yet: every trial has its own.
fn free(wished: &Path) -> PathBuf {
    let numbered = |number: u32| PathBuf::from(format!("{}.{number}", wished.display()));
    std::iter::once(wished.to_owned()).chain((2..).map(numbered)).find(|path| !path.exists()).unwrap_or_default()
}
