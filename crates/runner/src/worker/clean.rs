//! What is done about the job's keys in a store of the user's before a trial. Private stores are new and need none of this.

use crate::assignment::{Action, Keys};
use crate::message::{FromWorker, Refusal, UnderWay};
use crate::worker::bench::{Bench, Link};
use engine::{Arrivals, Settings, run_phase};
use jobkit::{Offence, Phase, Step, Trial, TrialSetup, Worker};
use measure::Progress;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use store::{Belongings, Operation, Reply, Slot, Store, Sweep, Swept};
use study::{Answer, Reason, ReasonKind};

/// Looks for keys, or deletes them; how many were deleted.
pub(crate) fn carry_out(
    keys: &Keys,
    store: &dyn Store,
    settings: &Settings,
    bench: &Bench<'_>,
    setup: &TrialSetup,
    link: &mut dyn Link,
) -> Result<u64, Refusal> {
    let failed = |error: store::StoreError| Refusal::Keys(error.to_string());
    if let Belongings::Own(tables) = store.belongings() {
        let rows = tables.rows().map_err(failed)?;
        if keys.action == Action::Look && rows > 0 {
            return Err(Refusal::ForeignData { count: rows, example: "in tables that an earlier run has left".into() });
        }
        return tables.clear().map_err(failed).map(|()| rows);
    }
    let mut deleted = 0;
    for params in &keys.params {
        let job = (bench.job)(params).map_err(|error| Refusal::Job(error.0))?;
        let trial = job.trial(setup);
        let settings = many_at_once(settings);
        let planned = count(trial.as_ref());
        let (mut range, mut more) = (0..planned, BATCH.max(settings.slots().into()));
        loop {
            let there = clean(trial.as_ref(), keys.action, range.clone(), store, &settings, bench, link)?;
            deleted += there;
            let at_the_end = range.start >= planned && there == 0;
            if at_the_end || bench.stop.load(Ordering::Relaxed) || !has_later(trial.as_ref(), range.end) {
                break;
            }
            range = range.end..range.end + more;
            more = (more * 2).min(MOST_AT_ONCE);
        }
    }
    Ok(deleted)
}

/// Returns whether a trial may have used keys beyond those it knew of before it ran, from this number on.
pub(crate) fn has_later(trial: &dyn Trial, index: u64) -> bool {
    trial.later_key(index, &mut Vec::new())
}

/// The keys of these numbers; how many of them there were.
fn clean(
    trial: &dyn Trial,
    action: Action,
    keys: Range<u64>,
    store: &dyn Store,
    settings: &Settings,
    bench: &Bench<'_>,
    link: &mut dyn Link,
) -> Result<u64, Refusal> {
    let clean = Clean { trial, action, slots: settings.slots(), keys, deleted: AtomicU64::new(0) };
    let under_way = UnderWay::of(&clean.phase());
    let mut watch = |progress| link.say(FromWorker::Progress(under_way.clone(), progress));
    let swept = clean.in_batches(store, bench, &mut watch).map_err(|error| Refusal::Keys(error.to_string()))?;
    match swept {
        Some(swept) if action == Action::Look && swept.there > 0 => {
            Err(Refusal::ForeignData { count: swept.there, example: clean.named(swept.first) })
        }
        Some(swept) => Ok(swept.there),
        None => {
            clean.one_by_one(store, settings, bench, &mut watch)?;
            Ok(clean.deleted.into_inner())
        }
    }
}

/// Operations in flight while keys are looked for or deleted, whatever the trial has: one round trip per key takes minutes.
const AT_ONCE: u32 = 64;

/// Keys of one request, where a store has requests for many.
const BATCH: u64 = 1000;

/// Keys looked at in one batch beyond those a trial knew of before it ran: the first batch is small, because mostly there are none.
const MOST_AT_ONCE: u64 = 64 * BATCH;

/// The settings of the trial, with more operations in flight.
fn many_at_once(settings: &Settings) -> Settings {
    let pipeline = settings.pipeline.max(AT_ONCE.div_ceil(settings.clients.max(1)));
    Settings { pipeline, share: None, arrivals: Arrivals::Closed, duration: None, ..*settings }
}

/// Returns how many keys a trial has. It is found by halving, because a trial says only whether it has a key of a given number.
pub(crate) fn count(trial: &dyn Trial) -> u64 {
    let mut key = Vec::new();
    let mut has = |index| {
        key.clear();
        trial.key(index, &mut key)
    };
    let mut above = 1;
    while above < 1 << 40 && has(above - 1) {
        above *= 2;
    }
    let (mut known, mut beyond) = (above / 2, above);
    while known < beyond {
        let middle = known + (beyond - known) / 2;
        if has(middle) { known = middle + 1 } else { beyond = middle }
    }
    known
}

/// One untimed phase over keys of a trial.
struct Clean<'a> {
    trial: &'a dyn Trial,
    action: Action,
    slots: u32,
    /// Numbers of the keys.
    keys: Range<u64>,
    deleted: AtomicU64,
}

impl Clean<'_> {
    fn phase(&self) -> Phase {
        let name = if self.action == Action::Look { "looking for foreign data" } else { "clearing" };
        Phase::untimed(name, Some(self.keys.end))
    }

    /// Many keys per request, if the store has such requests. Stops where the user wants no more.
    fn in_batches(
        &self,
        store: &dyn Store,
        bench: &Bench<'_>,
        watch: &mut dyn FnMut(Progress),
    ) -> Result<Option<Swept>, store::StoreError> {
        let sweep = if self.action == Action::Look { Sweep::Look } else { Sweep::Delete };
        let (start, mut all) = (Instant::now(), Swept::default());
        let Range { start: first, end } = self.keys;
        for from in (first..end.max(first + 1)).step_by(BATCH as usize) {
            let keys: Vec<Vec<u8>> = (from..end.min(from + BATCH)).map(|index| self.key_of(index)).collect();
            let lent: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
            let Some(swept) = store.sweep(sweep, &lent)? else { return Ok(None) };
            all.there += swept.there;
            all.first = all.first.or(swept.first.map(|place| from as usize + place));
            let operations = from + keys.len() as u64;
            watch(Progress { operations, errors: 0, p99_ns: None, elapsed: start.elapsed(), ..Progress::default() });
            if bench.stop.load(Ordering::Relaxed) {
                break;
            }
        }
        Ok(Some(all))
    }

    /// One operation per key, many in flight.
    fn one_by_one(
        &self,
        store: &dyn Store,
        settings: &Settings,
        bench: &Bench<'_>,
        watch: &mut dyn FnMut(Progress),
    ) -> Result<(), Refusal> {
        let outcome =
            run_phase(store, self, 0, settings, bench.stop, watch).map_err(|error| Refusal::Keys(error.to_string()))?;
        let Some(found) = outcome.offences.into_reasons().into_iter().next() else { return Ok(()) };
        let (count, example) = (found.count, found.example);
        Err(match found.kind {
            ReasonKind::ForeignData => Refusal::ForeignData { count, example },
            _ => Refusal::Unsuited(format!("its keys could not be looked through: {}", store::advised(&example))),
        })
    }

    fn key_of(&self, index: u64) -> Vec<u8> {
        let mut key = Vec::new();
        self.key(index, &mut key);
        key
    }

    /// The key of a number, as an example.
    fn named(&self, index: Option<usize>) -> String {
        index.map_or_else(String::new, |index| {
            let key = self.key_of(index as u64);
            Offence::new(ReasonKind::ForeignData, &key, "it is there").into_reason().example
        })
    }
}

impl Trial for Clean<'_> {
    fn phases(&self) -> Vec<Phase> {
        vec![self.phase()]
    }

    fn worker(&self, _: usize, slots: Range<Slot>) -> Box<dyn Worker + '_> {
        let next = slots.clone().map(|slot| self.keys.start + u64::from(slot)).collect();
        Box::new(CleanWorker { clean: self, next, keys: vec![Vec::new(); slots.len()] })
    }

    fn answer(&self) -> (Answer, Vec<Reason>) {
        (Answer::default(), Vec::new())
    }

    fn key(&self, index: u64, out: &mut Vec<u8>) -> bool {
        index < self.keys.end && (self.trial.key(index, out) || self.trial.later_key(index, out))
    }
}

/// Slot `s` of `n` has the keys `s`, `s + n`, ... of those there are.
struct CleanWorker<'a> {
    clean: &'a Clean<'a>,
    next: Vec<u64>,
    keys: Vec<Vec<u8>>,
}

impl Worker for CleanWorker<'_> {
    fn next(&mut self, slot: Slot) -> Step<'_> {
        let (index, key) = (&mut self.next[slot as usize], &mut self.keys[slot as usize]);
        key.clear();
        if !self.clean.key(*index, key) {
            return Step::Finished;
        }
        *index += u64::from(self.clean.slots);
        Step::Operation(match self.clean.action {
            Action::Look => Operation::Get { key },
            Action::Delete => Operation::Delete { key },
        })
    }

    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) -> Result<(), Offence> {
        let key = &self.keys[slot as usize];
        match (self.clean.action, reply) {
            (_, Reply::Missing) => Ok(()),
            (Action::Delete, Reply::Done) => {
                self.clean.deleted.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
            (Action::Look, Reply::Value(value)) => {
                Err(Offence::new(ReasonKind::ForeignData, key, format!("a value of {} bytes", value.len())))
            }
            (_, other) => Err(Offence::failed(key, other)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{AT_ONCE, count, many_at_once};
    use engine::Settings;
    use jobkit::{Phase, Trial, Worker};
    use std::ops::Range;
    use store::Slot;
    use study::{Answer, Reason};

    struct Keys(u64);

    impl Trial for Keys {
        fn phases(&self) -> Vec<Phase> {
            Vec::new()
        }

        fn worker(&self, _: usize, _: Range<Slot>) -> Box<dyn Worker + '_> {
            unreachable!("nothing is carried out here")
        }

        fn answer(&self) -> (Answer, Vec<Reason>) {
            (Answer::default(), Vec::new())
        }

        fn key(&self, index: u64, out: &mut Vec<u8>) -> bool {
            out.push(b'k');
            index < self.0
        }
    }

    #[test]
    fn keys_are_counted_without_going_through_them() {
        for keys in [0, 1, 2, 3, 4, 7, 8, 9, 1000, 208_000_000] {
            assert_eq!(count(&Keys(keys)), keys);
        }
    }

    #[test]
    fn keys_are_deleted_many_at_once_whatever_the_trial_has_in_flight() {
        for (clients, pipeline) in [(1, 1), (3, 1), (50, 1), (50, 16), (1, 256)] {
            let settings = many_at_once(&Settings { clients, pipeline, ..Settings::default() });
            assert_eq!(settings.clients, clients);
            assert!(settings.slots() >= AT_ONCE && settings.pipeline >= pipeline);
        }
    }
}
