//! What a worker does: open the store where it is, run the phases, and report the result.

use crate::assignment::{Assignment, ChangedBy};
use crate::message::{Doing, Finish, FromWorker, Inspection, OpenedStore, Refusal, Task};
use crate::shares::{self, ShareFound, ShareReport};
use crate::worker::ask;
use crate::worker::bench::{Bench, Link};
use crate::worker::clean;
use crate::worker::crash;
use crate::worker::history::Recording;
use crate::worker::holding;
use crate::worker::phases::{Extent, phases};
use engine::Outages;
use host::ProcessUse;
use jobkit::{SharePart, TrialSetup};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;
use store::{Belongings, Capabilities, Keeps, Store};
use study::{LeftCount, Target};

/// Carries out a task.
pub(crate) fn perform(task: &Task, bench: &Bench<'_>, link: &mut dyn Link) {
    let (spec, location) = task.place();
    let begun = Instant::now();
    let store = match location.open(bench.info, spec) {
        Ok(store) => store,
        Err(error) => return link.say(FromWorker::Refused(Refusal::Store(error.to_string()))),
    };
    let (store, opening) = (&*store, begun.elapsed());
    let done = match task {
        // The store stays open until it was looked at.
        Task::Trial(trial) => {
            carry_out(store, trial, bench, link).map(|finish| _ = link.ask(FromWorker::Finished(Box::new(finish))))
        }
        Task::Ask(filling, question) => {
            ask::answer(store, filling, question, bench, link).map(|words| link.say(FromWorker::Answered(words)))
        }
        Task::Clear(clearing) => clear(store, clearing, bench, link),
        Task::Check(inspection) => inspect(store, inspection, bench, link),
        Task::Crash(task) => crash::carry_out(store, task, opening, bench, link),
    };
    if let Err(refusal) = done {
        link.say(FromWorker::Refused(refusal));
    }
}

/// Deletes the keys of the job, and what the adapter has made.
fn clear(store: &dyn Store, clearing: &Assignment, bench: &Bench<'_>, link: &mut dyn Link) -> Result<(), Refusal> {
    // It is asked what it can do, as it was then: which keys a job has may rest on that.
    let slots = clearing.settings.slots(); // a script may write keys per client
    let setup = TrialSetup::alone(slots, Capabilities::given(store), clearing.seed);
    let Some(keys) = &clearing.keys else { return Ok(()) };
    let deleted = clean::carry_out(keys, store, &clearing.settings, bench, &setup, link)?;
    if bench.stop.load(Ordering::Relaxed) {
        return Ok(()); // not all may be gone
    }
    if let Belongings::Own(tables) = store.belongings() {
        tables.unmake().map_err(|error| Refusal::Store(error.to_string()))?;
    }
    link.say(FromWorker::Cleared { deleted });
    Ok(())
}

/// Puts store and client through the cases of a check.
fn inspect(store: &dyn Store, inspection: &Inspection, bench: &Bench<'_>, link: &mut dyn Link) -> Result<(), Refusal> {
    let facts = inspection.location.facts(store).map_err(|error| Refusal::Store(error.to_string()))?;
    link.say(FromWorker::Opened(OpenedStore::of(&inspection.spec, facts, store.capabilities())));
    link.say(FromWorker::Does(Doing::Check));
    let stop = Some(Arc::clone(bench.stop));
    let options =
        check::Options { timeout: inspection.deadline, seed: inspection.seed, stop, ..check::Options::default() };
    let report = check::run(store, &options, &mut |case| link.say(FromWorker::Case(case.clone())));
    link.say(FromWorker::Checked(Box::new(report)));
    Ok(())
}

/// The commands that the server has carried out, where it counts them and says so.
fn commands_done(store: &dyn Store) -> Option<u64> {
    store.commands_done().ok().flatten()
}

/// Carries out a trial.
fn carry_out(
    store: &dyn Store,
    assignment: &Assignment,
    bench: &Bench<'_>,
    link: &mut dyn Link,
) -> Result<Finish, Refusal> {
    let facts = assignment.location.facts(store).map_err(|error| Refusal::Store(error.to_string()))?;
    let capabilities = Capabilities::given(store);
    let job = (bench.job)(&assignment.params).map_err(|error| Refusal::Job(error.0))?;
    let emulated = job.suits(&capabilities).map_err(|error| Refusal::Unsuited(error.0))?;
    let emulated = emulated.into_iter().map(str::to_owned).collect();
    let opened = OpenedStore::of(&assignment.spec, facts, &capabilities);
    link.say(FromWorker::Opened(OpenedStore { emulated, ..opened }));

    let keeps = capabilities.keeps;
    let share = assignment.settings.share();
    let setup = TrialSetup { slots: assignment.settings.slots(), share, capabilities, seed: assignment.seed };
    if !share.is_whole() {
        job.shareable(&setup).map_err(|error| Refusal::Unsuited(error.0))?;
    }
    if let Some(keys) = &assignment.keys {
        clean::carry_out(keys, store, &assignment.settings, bench, &setup, link)?;
    }
    let trial = job.trial(&setup);
    trial.set_deadline(assignment.settings.deadline);
    if matches!(assignment.settings.outages, Outages::Endure { .. }) {
        trial.expect_faults();
    }
    if assignment.changed_by == ChangedBy::Kvtrial {
        trial.expect_change();
    }
    let recording = assignment.history.as_ref().map(|wish| Recording::begin(trial.as_ref(), wish));
    if assignment.keys.is_some() {
        let keys = clean::count(trial.as_ref());
        let more = clean::has_later(trial.as_ref(), keys);
        let count = if more { LeftCount::Unknown } else { LeftCount::AtMost };
        link.say(FromWorker::Leaves { keys, count, made: store.belongings().names() });
    }
    let asks_server = !share.is_whole() && share.is_first();
    let commands_before = asks_server.then(|| commands_done(store)).flatten();
    ProcessUse::reset_peak();
    let all = trial.phases().len();
    let extent = Extent { count: all, recording: recording.as_ref() };
    let done = phases(store, trial.as_ref(), extent, assignment, bench, link);
    if !share.is_whole() {
        // All are through with what they ask of the server.
        link.exchange(ShareReport { complete: done.complete, part: SharePart::default() });
    }
    let commands = commands_before.and_then(|before| commands_done(store)?.checked_sub(before));
    let is_asked = share.is_first()
        && done.complete
        && done.unread.is_none()
        && keeps == Keeps::Everything
        && assignment.spec.target == Target::Private;
    let held = is_asked.then(|| {
        link.say(FromWorker::Does(Doing::Count));
        holding::ask(store)
    });
    let mut finish = match share.is_whole() {
        true => {
            let mut finish = shares::finish(job.as_ref(), trial.as_ref(), keeps, done);
            finish.answer_reasons.extend(held.iter().flat_map(|held| holding::reasons(held, trial.as_ref())));
            finish
        }
        false => {
            let part = trial.part().map_err(|error| Refusal::Unsuited(error.0))?;
            Finish {
                complete: done.complete,
                share: Some(ShareFound { done, part, held, commands }),
                ..Finish::default()
            }
        }
    };
    finish.resent = store.resent();
    finish.peak_rss_bytes = ProcessUse::now().peak_rss_bytes;
    if let Some(recording) = recording {
        link.say(FromWorker::Does(Doing::CheckHistory));
        finish.history = Some(recording.findings(trial));
    }
    Ok(finish)
}
