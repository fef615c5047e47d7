//! One trial of a fleet: many workers report, one is heard.

use super::account::Bookkeeper;
use super::input::SharedInput;
use super::meet::{Attended, Stage, lead_ns, named};
use super::tick::{Tick, TickSum};
use super::{FleetEvent, FleetLink, FleetWorker, WorkerPlace};
use crate::assignment::Assignment;
use crate::execution::{Departure, Hearing, LOOK, Wish, with_words};
use crate::message::{Finish, FromWorker, Order, PhaseDone, Refusal, Task, ToWorker};
use crate::shares::{ShareReport, finish_of_shares};
use engine::{End, Outages, Settings};
use host::Exit;
use jobkit::{JobError, Share, TrialSetup};
use measure::monotonic_ns;
use std::time::{Duration, Instant};
use store::Capabilities;
use study::{Reason, ReasonKind};

/// How long workers that were killed may take to end.
const KILLED_WITHIN: Duration = Duration::from_secs(1);

/// How often the progress of all is reported.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// Hands out a trial in shares, and hears the workers until the last of them has left.
pub(super) fn attend(
    link: &mut dyn FleetLink,
    workers: Vec<FleetWorker>,
    assignment: &Assignment,
    input: SharedInput<'_>,
    hearing: &mut dyn Hearing,
) -> Departure {
    let shares = Share::split(assignment.settings.clients, workers.len() as u32);
    if shares.len() < workers.len() {
        return Departure::Lost(format!("{} workers cannot share {} clients", workers.len(), shares.len()));
    }
    let books = Bookkeeper::new(&workers, &shares);
    let attended = workers.iter().zip(&shares).map(|(worker, share)| Attended::new(worker.name.clone(), *share));
    let (attended, lead_ns) = (attended.collect(), lead_ns(&workers));
    let all = Attending {
        link,
        workers,
        attended,
        assignment,
        input,
        hearing,
        books,
        lead_ns,
        progress_told: None,
        departure: None,
        killed: None,
    };
    all.carry_out(&shares)
}

struct Attending<'a> {
    link: &'a mut dyn FleetLink,
    workers: Vec<FleetWorker>,
    attended: Vec<Attended>,
    assignment: &'a Assignment,
    input: SharedInput<'a>,
    hearing: &'a mut dyn Hearing,
    books: Bookkeeper,
    /// How far ahead of a start workers hear of it.
    lead_ns: u64,
    progress_told: Option<Instant>,
    /// Why nothing will come of the trial any more.
    departure: Option<Departure>,
    /// When all that were left were killed.
    killed: Option<Instant>,
}

impl Attending<'_> {
    fn carry_out(mut self, shares: &[Share]) -> Departure {
        for (at, share) in shares.iter().enumerate() {
            let settings = Settings { share: Some(*share), ..self.assignment.settings };
            let task = Task::Trial(Assignment { settings, ..self.input.given(self.assignment) });
            self.send(at, &ToWorker::Do(Box::new(task)));
        }
        let (mut told, mut is_changed): (Option<Instant>, bool) = (None, false);
        while !self.attended.iter().all(Attended::is_gone) {
            if !is_changed && self.hearing.is_changed() {
                is_changed = true;
                self.send_all(&ToWorker::Changed);
            }
            let wish = self.hearing.wish();
            if wish != Wish::GoOn {
                let since = *told.get_or_insert_with(|| {
                    self.stop_all();
                    Instant::now()
                });
                if since.elapsed() > wish.grace() && self.departure.is_none() {
                    self.give_up(Departure::Killed);
                }
            }
            if self.killed.is_some_and(|since| since.elapsed() > KILLED_WITHIN) {
                break;
            }
            match self.link.receive(LOOK) {
                FleetEvent::Nothing => self.hearing.hear_nothing(),
                FleetEvent::Lost { worker, how, silent } => self.lost(worker, &how, silent),
                FleetEvent::Message { worker, message } => match serde_json::from_slice(&message) {
                    Ok(report) => self.hear(worker, report),
                    Err(error) => {
                        let words = format!("{} sent an unreadable message: {error}", self.attended[worker].name);
                        self.give_up(Departure::Died(words));
                    }
                },
            }
        }
        let after = self.link.part();
        self.hearing.hear(FromWorker::Shared(Box::new(self.books.close(&after))));
        self.departure.unwrap_or(Departure::Done)
    }

    /// Takes note of what a worker reports.
    fn hear(&mut self, at: usize, report: FromWorker) {
        let worker = &mut self.attended[at];
        match report {
            FromWorker::Opened(opened) => {
                worker.opened = Some(opened);
                if self.attended.iter().all(|it| it.opened.is_some())
                    && let Some(opened) = self.attended[0].opened.clone()
                {
                    self.hearing.hear(FromWorker::Opened(opened));
                }
            }
            leaves @ FromWorker::Leaves { .. } => {
                // Each says what all of them leave together.
                worker.leaves = Some(leaves);
                if self.attended.iter().all(|it| it.leaves.is_some())
                    && let Some(leaves) = self.attended[0].leaves.clone()
                {
                    self.hearing.hear(leaves);
                }
            }
            FromWorker::Tells(told) => self.meet(at, Stage::Told(told)),
            FromWorker::Lacks { from } => {
                let piece = self.input.piece(from);
                self.send(at, &ToWorker::Piece(piece));
            }
            FromWorker::Begins(phase) => self.meet(at, Stage::Begins(phase)),
            FromWorker::Ready => self.meet(at, Stage::AtLine),
            FromWorker::Finished(finish) => self.meet(at, Stage::Finished(finish)),
            FromWorker::Tick(phase, tick) => self.tick(at, phase, &tick),
            // Of what precedes the trial: keys are looked for.
            FromWorker::Progress(phase, progress) if at == 0 => {
                self.hearing.hear(FromWorker::Progress(phase, progress))
            }
            FromWorker::Does(doing) if at == 0 => self.hearing.hear(FromWorker::Does(doing)),
            FromWorker::Phase(done) => self.phase(at, done),
            FromWorker::Broken { phase, words } => {
                let words = format!("{}: {words}", worker.name);
                self.hearing.hear(FromWorker::Broken { phase, words });
                self.stop_others(at);
            }
            FromWorker::Refused(refusal) => {
                let is_first = self.departure.is_none();
                if is_first {
                    let file = self.input.file_needed(self.assignment);
                    self.hearing.hear(FromWorker::Refused(named(refusal, &worker.name, file.as_deref())));
                }
                self.stop_others(at);
            }
            FromWorker::Ended { exit, words } => {
                worker.stage = Stage::Gone;
                match exit {
                    Exit::Status(0) => self.settle(),
                    _ if self.killed.is_some() => {}
                    _ => {
                        let words = format!("the worker of {} {}", worker.name, with_words(exit, &words));
                        self.give_up(Departure::Died(words));
                    }
                }
            }
            FromWorker::NotForked { problem } => {
                let words = format!("{}: a worker process could not be made: {problem}", worker.name);
                worker.stage = Stage::Gone;
                self.give_up(Departure::Died(words));
            }
            _ => {}
        }
    }

    /// A worker has come to where it waits for the others.
    fn meet(&mut self, at: usize, stage: Stage) {
        if let Stage::Begins(phase) = &stage {
            let worker = &mut self.attended[at];
            (worker.ticks, worker.at) = (TickSum::default(), Some((phase.clone(), Instant::now())));
        }
        self.attended[at].stage = stage;
        self.settle();
    }

    /// When everybody waits for the others: says how it goes on.
    fn settle(&mut self) {
        if self.attended.iter().any(|it| matches!(it.stage, Stage::Busy)) {
            return;
        }
        self.join_phases();
        if self.attended.iter().any(Attended::is_gone) {
            return self.stop_all(); // those that are left wait for somebody who does not come
        }
        let stages: Vec<Stage> = self.attended.iter_mut().map(|it| std::mem::take(&mut it.stage)).collect();
        match &stages[0] {
            Stage::Told(_) if stages.iter().all(|stage| matches!(stage, Stage::Told(_))) => {
                let told: Vec<ShareReport> = stages.into_iter().filter_map(Stage::told).collect();
                self.send_all(&ToWorker::Told(told));
            }
            Stage::Begins(phase) if stages.iter().all(|stage| matches!(stage, Stage::Begins(_))) => {
                self.hearing.hear(FromWorker::Begins(phase.clone()));
                let order = self.hearing.wish().order();
                self.send_all(&ToWorker::Order(order));
            }
            Stage::AtLine if stages.iter().all(|stage| matches!(stage, Stage::AtLine)) => self.begin(),
            Stage::Finished(_) if stages.iter().all(|stage| matches!(stage, Stage::Finished(_))) => {
                self.finish(stages.into_iter().filter_map(Stage::finish).collect());
            }
            _ => self.part_ways(stages),
        }
    }

    /// Some are finished though others would go on: nothing comes of what the others would do.
    fn part_ways(&mut self, stages: Vec<Stage>) {
        for (at, stage) in stages.into_iter().enumerate() {
            match stage {
                finished @ Stage::Finished(_) => self.attended[at].stage = finished,
                _ => self.send(at, &ToWorker::Order(Order::Stop)),
            }
        }
    }

    /// Tells all when the phase begins, each by its own clock.
    fn begin(&mut self) {
        let begin_ns = monotonic_ns() + self.lead_ns;
        for at in 0..self.workers.len() {
            let at_ns = self.workers[at].clock.theirs(begin_ns);
            let worker = &mut self.attended[at];
            worker.told_ns = at_ns;
            if let Some((_, since)) = &mut worker.at {
                *since = Instant::now() + Duration::from_nanos(self.lead_ns);
            }
            self.send(at, &ToWorker::Begin { at_ns });
        }
    }

    fn tick(&mut self, at: usize, phase: crate::UnderWay, tick: &Tick) {
        self.attended[at].ticks.add(tick);
        let now = Instant::now();
        if self.progress_told.is_none_or(|told| now.saturating_duration_since(told) >= PROGRESS_EVERY) {
            self.progress_told = Some(now);
            let together = TickSum::together(self.attended.iter().map(|it| &it.ticks));
            self.hearing.hear(FromWorker::Progress(phase, together));
        }
    }

    /// A worker is through with a phase.
    fn phase(&mut self, at: usize, done: Box<PhaseDone>) {
        let worker = &mut self.attended[at];
        let (end, operations) = (done.outcome.end, done.outcome.counts.operations);
        if end == End::Completed && worker.ticks.ticks > 0 && worker.ticks.operations != operations {
            let [told, says] = [worker.ticks.operations, operations].map(study::whole);
            let example = format!(
                "{} told of {told} operations while it worked, and of {says} in the end (while: {})",
                worker.name, done.phase.name
            );
            self.books.disagrees(Reason { kind: ReasonKind::WorkerDisagrees, count: 1, example });
        }
        worker.phase = Some(done);
        let endured = matches!(self.assignment.settings.outages, Outages::Endure { .. });
        if self.attended.iter().all(|it| it.phase.is_some()) {
            self.join_phases();
        } else if end != End::Completed && !endured {
            self.stop_others(at);
        }
    }

    /// Makes one phase of what every worker did in it.
    fn join_phases(&mut self) {
        let done: Vec<Option<Box<PhaseDone>>> = self.attended.iter_mut().map(|it| it.phase.take()).collect();
        let mut phases: Vec<&PhaseDone> = done.iter().flatten().map(|phase| &**phase).collect();
        let Some(first) = phases.first() else { return };
        if first.phase.timed && phases.len() == self.attended.len() {
            let told: Vec<u64> = self.attended.iter().map(|it| it.told_ns).collect();
            self.books.add(&phases, &told);
        }
        self.books.count(&phases);
        self.hold_against_plan(&phases);
        phases.clear();
        // The noise of this machine is what is left of its load without the work of its own workers.
        let here = self.workers.iter().map(|worker| worker.whereabouts == WorkerPlace::Here);
        let done = here.zip(done).filter_map(|(is_here, phase)| {
            let phase = *phase?;
            Some(if is_here { phase } else { PhaseDone { process_cpu_s: 0.0, ..phase } })
        });
        if let Some(joined) = PhaseDone::of_shares(done.collect()) {
            self.hearing.hear(FromWorker::Phase(Box::new(joined)));
        }
    }

    /// All workers together do not do more than was planned, but for what lost a race: it is read and sent again, two operations.
    fn hold_against_plan(&mut self, phases: &[&PhaseDone]) {
        let Some(planned) = phases.first().and_then(|phase| phase.phase.operations) else { return };
        let counts = |of: fn(&PhaseDone) -> u64| phases.iter().map(|phase| of(phase)).sum::<u64>();
        let (done, repeated) =
            (counts(|phase| phase.outcome.counts.operations), 2 * counts(|phase| phase.outcome.counts.conflicts));
        if done > planned + repeated {
            let [done, planned] = [done, planned].map(study::whole);
            let phase = &phases[0].phase.name;
            let example = format!("the workers say they did {done} operations, of {planned} planned (while: {phase})");
            self.books.disagrees(Reason { kind: ReasonKind::WorkerDisagrees, count: 1, example });
        }
    }

    /// Makes one result of what all have found, and lets them go.
    fn finish(&mut self, shares: Vec<Finish>) {
        match self.joined(shares) {
            Ok(finish) => {
                self.books.hold_against(finish.commands);
                self.hearing.hear(FromWorker::Finished(Box::new(finish)));
            }
            Err(JobError(words)) => self.hearing.hear(FromWorker::Refused(Refusal::Job(words))),
        }
        let order = self.hearing.wish().order();
        self.send_all(&ToWorker::Order(order));
    }

    fn joined(&self, shares: Vec<Finish>) -> Result<Finish, JobError> {
        let assignment = self.assignment;
        let job = (self.input.job)(&assignment.params)?;
        let capabilities = self.attended[0].opened.as_ref().map(|opened| opened.capabilities.clone());
        let capabilities = capabilities.ok_or_else(|| JobError("no worker has opened the store".into()))?;
        let capabilities = Capabilities { sets: self.input.declared.sets, ..capabilities };
        let keeps = capabilities.keeps;
        let setup = TrialSetup::alone(assignment.settings.slots(), capabilities, assignment.seed);
        finish_of_shares(job.as_ref(), job.trial(&setup).as_ref(), keeps, shares)
    }

    /// A worker is lost, and the trial with it.
    fn lost(&mut self, at: usize, how: &str, silent: Duration) {
        let worker = &mut self.attended[at];
        if worker.is_gone() {
            return;
        }
        worker.stage = Stage::Gone;
        let now = Instant::now();
        let given = self.assignment.settings.duration;
        let how_far = worker.how_far(now.checked_sub(silent).unwrap_or(now), given);
        let words = format!("{} {how_far}: {how}", worker.name);
        self.give_up(Departure::Lost(words));
    }

    /// Kills all that are left: nothing comes of the trial any more.
    fn give_up(&mut self, departure: Departure) {
        self.departure.get_or_insert(departure);
        self.killed.get_or_insert_with(Instant::now);
        for at in 0..self.attended.len() {
            if !self.attended[at].is_gone() {
                self.link.kill(at);
            }
        }
    }

    fn stop_others(&mut self, at: usize) {
        for other in (0..self.attended.len()).filter(|other| *other != at) {
            if !self.attended[other].is_gone() && !matches!(self.attended[other].stage, Stage::Finished(_)) {
                self.attended[other].stage = Stage::Busy;
                self.send(other, &ToWorker::Order(Order::Stop));
            }
        }
    }

    fn stop_all(&mut self) {
        self.send_all(&ToWorker::Order(Order::Stop));
    }

    fn send_all(&mut self, message: &ToWorker) {
        for at in 0..self.attended.len() {
            if !self.attended[at].is_gone() {
                self.send(at, message);
            }
        }
    }

    fn send(&mut self, at: usize, message: &ToWorker) {
        if let Ok(message) = serde_json::to_vec(message) {
            self.link.send(at, &message);
        }
    }
}
