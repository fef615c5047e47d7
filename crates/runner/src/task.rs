//! Tasks besides trials, from the side of kvtrial: a check, a question, deleting what a run left. Each opens its store in a worker
//! process, so that a library that dies or hangs is named, and ends nothing but its task.

use crate::assignment::Keys;
use crate::error::RunError;
use crate::execution::{Execution, Hearing, Wish};
use crate::message::{FromWorker, Inspection, Question, Refusal, Task};
use crate::plan::Plan;
use crate::planned_cell::PlannedCell;
use crate::silence::Silence;
use crate::supervisor::Supervisor;
use check::CaseResult;
use engine::Settings;
use host::{Installation, Opening};
use jobkit::{JobError, Params};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use store::{Facts, StoreInfo};
use study::{Reason, ReasonKind, Spec, Target};

/// A store that is to be checked.
pub struct CheckRequest {
    /// The store's adapter.
    pub info: &'static StoreInfo,
    /// The store.
    pub spec: Spec,
    /// The directory below which private directories are made.
    pub base: PathBuf,
    /// Longest wait for any reply.
    pub deadline: Duration,
}

/// The events while a check is under way.
pub enum Checking<'a> {
    /// The store is open.
    Opened(&'a Facts),
    /// A case is over.
    Case(&'a CaseResult),
}

/// Checks a store with its client; `None`: it was stopped before the end. A store that takes its process with it, hangs, or whose server dies,
/// fails the case that was under way.
///
/// # Errors
/// The store cannot be opened, or dies while it is opened.
pub fn check(
    request: CheckRequest,
    execution: &Execution,
    stop: &AtomicBool,
    hear: &mut dyn FnMut(Checking<'_>),
) -> Result<Option<check::CheckReport>, RunError> {
    let CheckRequest { info, spec, base, deadline } = request;
    let installation = Opening::new(base).installation(info, &spec).map_err(RunError::Store)?;
    let options = check::Options::default();
    let users = spec.target != Target::Private;
    let location = installation.location().clone();
    let task = Task::Check(Inspection { spec, location, deadline, seed: options.seed });
    let mut report = check::CheckReport { key_prefix: options.key_prefix(), ..check::CheckReport::default() };
    let (mut is_open, mut is_whole) = (false, false);
    let settings = Settings { deadline, ..Settings::default() };
    let sent = Sent { task: &task, info, plan: None, settings: &settings, installation: &installation };
    let done = sent.out(execution, stop, &mut |said| match said {
        FromWorker::Opened(opened) => {
            is_open = true;
            hear(Checking::Opened(&opened.facts));
        }
        FromWorker::Case(case) => {
            hear(Checking::Case(&case));
            report.cases.push(case);
        }
        FromWorker::Checked(whole) => (report, is_whole) = (*whole, true),
        _ => {}
    });
    match done {
        _ if stop.load(Ordering::Relaxed) => {
            installation.close().map_err(RunError::Store)?;
            return Ok(None);
        }
        Err(RunError::Broken { mut reason, .. }) if is_open && !is_whole => {
            if users {
                reason.example += &format!("; keys that begin with {} may be left in it", report.key_prefix);
            }
            let known = report.cases.len();
            report.cut_short(reason);
            report.cases[known..].iter().for_each(|case| hear(Checking::Case(case)));
        }
        Err(error) => return Err(error),
        Ok(()) => installation.close().map_err(RunError::Store)?,
    }
    Ok(Some(report))
}

/// Asks the store of the plan's only cell the job's question; of a private store after the job's work, of which `filling` hears. The answer in
/// words; `None`: it was stopped before.
///
/// # Errors
/// The store cannot be opened, breaks, or does not hold what is asked for.
pub fn ask(
    plan: &Plan,
    question: Question,
    stop: &AtomicBool,
    filling: &mut dyn FnMut(),
) -> Result<Option<String>, RunError> {
    let Some(cell) = plan.cells.first() else { return Ok(None) };
    let opening = Opening::new(&plan.base).only_to_read();
    let installation = opening.installation(cell.info, &cell.spec).map_err(RunError::Store)?;
    let task = Task::Ask(plan.assignment(cell, &installation, None), question);
    let sent =
        Sent { task: &task, info: cell.info, plan: Some(plan), settings: &cell.settings, installation: &installation };
    let (mut answer, mut offence, mut begun) = (None, None, false);
    let done = sent.out(&plan.execution, stop, &mut |said| match said {
        FromWorker::Begins(_) if !std::mem::replace(&mut begun, true) => filling(),
        FromWorker::Phase(done) => {
            let found = done.outcome.offences.into_reasons().into_iter().next();
            offence = offence.take().or(found);
        }
        FromWorker::Broken { phase, words } => {
            let example = format!("{words} (while: {phase})");
            offence = offence.take().or(Some(Reason { kind: ReasonKind::ConnectionLost, count: 1, example }));
        }
        FromWorker::Answered(words) => answer = Some(words),
        _ => {}
    });
    if stop.load(Ordering::Relaxed) && answer.is_none() {
        return Ok(None);
    }
    if !matches!(done, Err(RunError::Broken { .. }))
        && let Some(reason) = offence
    {
        return Err(RunError::Broken { store: format!("{}: the job could not fill it", cell.spec), reason });
    }
    done?;
    installation.close().map_err(RunError::Store)?;
    Ok(answer)
}

/// Deletes the job's keys from a store of the user's, and what its adapter has made there: how many keys there were, or `None` where it was
/// stopped before all was gone.
pub(crate) fn clear(
    plan: &Plan,
    cell: &PlannedCell,
    keys: Keys,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(&crate::UnderWay, measure::Progress),
) -> Result<Option<u64>, RunError> {
    let installation = Opening::new(&plan.base).installation(cell.info, &cell.spec).map_err(RunError::Store)?;
    let task = Task::Clear(plan.assignment(cell, &installation, Some(keys)));
    let sent =
        Sent { task: &task, info: cell.info, plan: Some(plan), settings: &cell.settings, installation: &installation };
    let mut cleared = None;
    sent.out(&plan.execution, stop, &mut |said| match said {
        FromWorker::Progress(phase, moment) => progress(&phase, moment),
        FromWorker::Cleared { deleted } => cleared = Some(deleted),
        _ => {}
    })?;
    installation.close().map_err(RunError::Store)?;
    Ok(cleared)
}

/// A task that is about to be sent out.
struct Sent<'a> {
    task: &'a Task,
    info: &'static StoreInfo,
    /// The plan whose job has a part in it.
    plan: Option<&'a Plan>,
    settings: &'a Settings,
    installation: &'a Installation,
}

impl Sent<'_> {
    /// Sends it out and hears what comes of it until the worker has left.
    fn out(&self, execution: &Execution, stop: &AtomicBool, heard: &mut dyn FnMut(FromWorker)) -> Result<(), RunError> {
        let supervisor = Supervisor::new(self.installation, stop, Silence::of(self.settings));
        let mut listening = Listening { supervisor, refusal: None, heard };
        let no_job = || JobError("no job has a part in this".into());
        let job = |params: &Params| self.plan.ok_or_else(no_job)?.job_cache.job(params);
        let departure = execution.carry_out(self.task, self.info, &job, &mut listening);
        let Listening { mut supervisor, refusal, .. } = listening;
        let store = self.task.place().0.to_string();
        if let Some(reason) = supervisor.leave().or_else(|| supervisor.death(departure)) {
            return Err(RunError::Broken { store, reason });
        }
        refusal.map_or(Ok(()), |refusal| Err(refusal.error(store)))
    }
}

/// Hears a worker.
struct Listening<'a> {
    supervisor: Supervisor<'a>,
    refusal: Option<Refusal>,
    heard: &'a mut dyn FnMut(FromWorker),
}

impl Hearing for Listening<'_> {
    fn hear(&mut self, report: FromWorker) {
        self.supervisor.hear(&report);
        match report {
            FromWorker::Refused(refusal) => self.refusal = Some(refusal),
            report => (self.heard)(report),
        }
    }

    fn hear_nothing(&mut self) {
        self.supervisor.hear_nothing();
    }

    fn wish(&mut self) -> Wish {
        self.supervisor.wish()
    }
}
