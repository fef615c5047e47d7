//! Events of a store just after which a crash comes, where that is asked for.

use super::blow::wait;
use super::cutting::Cutting;
use super::lines::LogLines;
use super::moment::Moment;
use super::renames::Renames;
use host::Nodes;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use store::StoreError;
use study::CrashMoment;

/// How long kvtrial waits for the event, and the longest time from it to the crash.
const WITHIN: Duration = Duration::from_secs(5);
const AFTER: Duration = Duration::from_millis(5);
/// How often it looks meanwhile whether the worker has left.
const GLANCE: Duration = Duration::from_millis(50);

impl Cutting<'_> {
    /// Waits until the next event has come; `false`: the worker has left.
    pub(super) fn await_event(&self, moment: &Moment) -> Result<bool, StoreError> {
        match (&self.request.during, self.installation.location().directory()) {
            (CrashMoment::Rename, Some(directory)) => {
                let failed = |source| StoreError::Io { path: directory.to_owned(), source };
                let renames = Renames::within(directory).map_err(failed)?;
                self.await_next(moment, |until| renames.next(until).map_err(failed))
            }
            (CrashMoment::Log(text), _) => {
                let logs = self.installation.nodes().map(Nodes::logs).unwrap_or_default();
                let mut lines = LogLines::from_now_on(logs, text);
                self.await_next(moment, |until| Ok(lines.next(until)))
            }
            _ => Ok(true),
        }
    }

    fn await_next(
        &self,
        moment: &Moment,
        mut next: impl FnMut(Instant) -> Result<bool, StoreError>,
    ) -> Result<bool, StoreError> {
        let until = Instant::now() + WITHIN;
        while !moment.over.load(Ordering::Acquire) {
            let now = Instant::now();
            if next(until.min(now + GLANCE))? {
                let after_ns = self.set().after_event_ns(AFTER.as_nanos() as u64);
                return Ok(wait(Duration::from_nanos(after_ns), moment));
            }
            if now >= until {
                moment.no_event.store(true, Ordering::Release);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns which event has not come in time, in words; `None`: none was waited for.
    pub(super) fn missed(&self) -> Option<String> {
        let what = match &self.request.during {
            CrashMoment::Rename => "no file of the store was renamed or deleted".into(),
            CrashMoment::Log(text) => format!("no line with '{text}' came into the log of the store"),
            _ => return None,
        };
        Some(format!("{what} within {} s", WITHIN.as_secs()))
    }
}
