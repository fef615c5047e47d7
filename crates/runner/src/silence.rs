//! How long a worker may give no sign of life before it is taken for hung: a call into an embedded store has no deadline of its own.
//!
//! While its threads are at operations each must give signs (see `Progress::silent`); what concerns the store as a whole (opening,
//! flushing, compacting, closing it) may take as long as a server may take for it. Counting its keys, for which many a store has to read
//! all of them, may also take as long as the work before it. The time before a worker is there is kvtrial's own: it reads the input.

use crate::message::{Doing, FromWorker};
use engine::{Settings, Timing};
use std::time::{Duration, Instant};

/// The margin added to every limit, so that a store's own deadline, which says more, comes first. Margin, grace of a lost worker and the
/// writing of the study together take less than the second in which a trial has to end after its deadline.
const MARGIN: Duration = Duration::from_millis(300);

/// The time of the last sign, and what the sign was of.
pub(crate) struct Silence {
    deadline: Duration,
    /// For the store as a whole.
    whole: Duration,
    /// For a thread that gives signs between operations; several may pass between two where not every one is timed.
    at_operations: Duration,
    /// When the worker gave its first.
    first: Option<Instant>,
    last: Option<Sign>,
}

struct Sign {
    at: Instant,
    of: Activity,
}

#[derive(Clone, Copy)]
enum Activity {
    /// Threads are at operations, this many are done.
    Operations(u64),
    /// The keys are counted.
    Counting,
    Other,
}

impl Silence {
    pub(crate) fn of(settings: &Settings) -> Silence {
        let (deadline, whole) = (settings.deadline, settings.whole_store_deadline());
        let at_operations = if settings.timing == Timing::Every { deadline } else { whole };
        Silence { deadline, whole, at_operations, first: None, last: None }
    }

    /// Returns the same limits with another one for the store as a whole, if that one is shorter.
    pub(crate) fn at_most(self, whole: Duration) -> Silence {
        Silence { whole: self.whole.min(whole), ..self }
    }

    /// Takes note of a report.
    pub(crate) fn hear(&mut self, report: &FromWorker, now: Instant) {
        let activity = match report {
            FromWorker::Ended { .. } | FromWorker::NotForked { .. } => {
                (self.first, self.last) = (None, None);
                return;
            }
            FromWorker::Progress(_, progress) if progress.silent.is_some() => Activity::Operations(progress.operations),
            FromWorker::Does(Doing::Count) => Activity::Counting,
            _ => Activity::Other,
        };
        let silent = match report {
            FromWorker::Progress(_, progress) => progress.silent.unwrap_or_default(),
            _ => Duration::ZERO,
        };
        self.first.get_or_insert(now);
        self.last = Some(Sign { at: now.checked_sub(silent).unwrap_or(now), of: activity });
    }

    /// Says that the silence has lasted too long, and what of, when it has.
    pub(crate) fn too_long(&self, now: Instant) -> Option<String> {
        let Sign { at, of } = self.last.as_ref()?;
        let silent = now.saturating_duration_since(*at);
        let silent_s = silent.as_secs_f64();
        // A server's own limit for the same comes first.
        let whole = self.whole + self.deadline + MARGIN;
        match of {
            Activity::Operations(done) => (silent > self.at_operations + MARGIN).then(|| {
                format!(
                    "after {} operations one was begun that did not return for {silent_s:.1} s; its process was ended",
                    study::whole(*done)
                )
            }),
            Activity::Counting => {
                let work = self.first.map_or(Duration::ZERO, |first| at.saturating_duration_since(first));
                (silent > whole.max(work)).then(|| {
                    format!(
                        "the store did not say within {silent_s:.0} s how many keys it holds; its process was ended"
                    )
                })
            }
            Activity::Other => (silent > whole).then(|| {
                let times = self.whole.as_secs_f64() / self.deadline.as_secs_f64();
                format!(
                    "the store did not return for {silent_s:.0} s, {times:.0} times --deadline; its process was ended"
                )
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Silence;
    use crate::message::{Doing, FromWorker, UnderWay};
    use engine::{Settings, Timing};
    use measure::Progress;
    use std::time::{Duration, Instant};

    fn progress(silent: Option<Duration>) -> FromWorker {
        let phase = UnderWay { name: "run".into(), timed: true, operations: None, carried: None };
        FromWorker::Progress(phase, Progress { operations: 123, silent, ..Progress::default() })
    }

    #[test]
    fn a_thread_has_a_deadline_an_opening_sixty_of_them_and_reading_the_input_none() {
        let second = Duration::from_secs(1);
        let settings = Settings { deadline: second * 2, ..Settings::default() };
        let begun = Instant::now();
        let after = |silence: &Silence, seconds: u32| silence.too_long(begun + second * seconds);
        let mut silence = Silence::of(&settings);
        assert_eq!(after(&silence, 100_000), None, "no worker is there yet");
        silence.hear(&FromWorker::Started { pid: 1 }, begun);
        assert_eq!(after(&silence, 122), None);
        assert!(after(&silence, 124).is_some_and(|words| words.contains("124 s, 60 times")));
        let shorter = silence.at_most(second * 24);
        assert!(after(&shorter, 27).is_some_and(|words| words.contains("27 s, 12 times")));
        assert_eq!(after(&shorter, 26), None);
        let mut silence = Silence::of(&settings);
        // What was silent for a second when it was said has been so for three, two later.
        silence.hear(&progress(Some(second)), begun + second);
        assert_eq!(after(&silence, 2), None);
        assert!(
            after(&silence, 3).is_some_and(|words| words.contains("after 123 operations") && words.contains("3.0 s"))
        );
        // No thread is at operations any more.
        silence.hear(&progress(None), begun + second);
        assert_eq!(after(&silence, 120), None);
        silence.hear(&FromWorker::NotForked { problem: String::new() }, begun + second);
        assert_eq!(after(&silence, 100_000), None, "nobody is there");
        let mut sampled = Silence::of(&Settings { timing: Timing::Sampled(64), ..settings });
        sampled.hear(&progress(Some(second)), begun + second);
        assert_eq!(after(&sampled, 60), None, "signs stand further apart");
        assert!(after(&sampled, 122).is_some());
    }

    #[test]
    fn keys_may_be_counted_for_as_long_as_the_work_took_or_an_opening_may_take() {
        let second = Duration::from_secs(1);
        let begun = Instant::now();
        let counting_after = |worked: u32, waited: u32| {
            let mut silence = Silence::of(&Settings { deadline: second, ..Settings::default() });
            silence.hear(&FromWorker::Started { pid: 1 }, begun);
            silence.hear(&progress(Some(Duration::ZERO)), begun + second * (worked / 2));
            silence.hear(&FromWorker::Does(Doing::Count), begun + second * worked);
            silence.too_long(begun + second * (worked + waited))
        };
        assert_eq!(counting_after(1000, 1000), None);
        assert!(counting_after(1000, 1001).is_some_and(|words| words.contains("within 1001 s how many keys it holds")));
        assert_eq!(counting_after(1, 61), None);
        assert!(counting_after(1, 62).is_some());
    }
}
