//! The client threads of a trial, and the phases they run.

use crate::dark::Lights;
use crate::growth::{Gaps, Growth};
use crate::lane::{Lane, Signals};
use crate::outcome::{End, Outcome};
use crate::own_thread::{precise_sleeps, run_delay};
use crate::phase::{ThreadEnd, clients_of_threads, gather, whole};
use crate::pulse::{Pulse, Pulses};
use crate::schedule::Schedule;
use crate::settings::{Arrivals, Outages, Settings};
use crate::starting_line::{Begin, Start, StartingLine, Watcher, wait_until};
use jobkit::{Pace, Phase, Trial};
use measure::{Clock, Live, Progress, Ticks, thread_cpu};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SendError, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};
use store::{Reply, Session, SessionPlan, Sink, Slot, Store, StoreError, Threading, Until};

/// How soon a store that cannot be reached is tried again.
const OPEN_AGAIN: Duration = Duration::from_millis(50);

const NOT_STARTED: &str = "another client could not be opened";

/// Runs phase `index` of a trial by itself: a [`Crew`] of its own.
///
/// # Errors
/// When a session cannot be opened, or breaks as a whole.
pub fn run_phase(
    store: &dyn Store,
    trial: &dyn Trial,
    index: usize,
    settings: &Settings,
    stop: &AtomicBool,
    mut watch: &mut dyn FnMut(Progress),
) -> Result<Outcome, StoreError> {
    Crew::over(store, trial, settings, stop, |crew| crew.run(index, &mut watch))
}

/// The client threads of a trial. Connections live as long as the crew: a server cannot tell one phase from the next by them. Handles on
/// a library live as long as a phase: they are no connections, and some libraries compact only while there is none.
pub struct Crew<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    on: On<'env>,
    /// The clients of each thread.
    clients: Vec<Range<u32>>,
    members: Vec<Member<'scope>>,
    /// Operations per second of the phases that were run.
    rates: BTreeMap<usize, f64>,
    /// What phases without a clock do when connections are lost.
    outages: Outages,
}

/// What all phases have in common.
#[derive(Clone, Copy)]
struct On<'env> {
    store: &'env dyn Store,
    trial: &'env dyn Trial,
    settings: &'env Settings,
    stop: &'env AtomicBool,
}

impl<'env> Crew<'_, 'env> {
    /// Carries out `work` with a crew for these phases; at its end threads and sessions are gone. `stop` ends a phase early.
    pub fn over<T>(
        store: &'env dyn Store,
        trial: &'env dyn Trial,
        settings: &'env Settings,
        stop: &'env AtomicBool,
        work: impl for<'scope> FnOnce(&mut Crew<'scope, 'env>) -> T,
    ) -> T {
        std::thread::scope(|scope| {
            let clients = clients_of_threads(settings, store.threading());
            work(&mut Crew {
                scope,
                on: On { store, trial, settings, stop },
                clients,
                members: Vec::new(),
                rates: BTreeMap::new(),
                outages: settings.outages,
            })
        })
    }

    /// Runs phase `index`. Sessions are opened, where there are none yet, and workers made before the clock starts. `watcher` is called from
    /// this thread.
    ///
    /// # Errors
    /// When a session cannot be opened, or breaks as a whole.
    pub fn run(&mut self, index: usize, watcher: &mut dyn Watcher) -> Result<Outcome, StoreError> {
        let On { store, trial, settings, .. } = self.on;
        let clock = Clock::get();
        let phase = trial.phases().get(index).copied();
        let (cpu, begin) = (thread_cpu(), clock.now());
        if let Some(result) = trial.whole(index, store, settings.whole_store_deadline()) {
            let elapsed = Duration::from_nanos(clock.ns(clock.now() - begin));
            return Ok(whole(result, settings, elapsed, thread_cpu() - cpu));
        }
        let settings = match phase {
            Some(Phase { timed: true, pace, .. }) => Settings { arrivals: self.arrivals(pace), ..*settings },
            _ => Settings { arrivals: Arrivals::Closed, duration: None, outages: self.outages, ..*settings },
        };
        self.muster()?;
        let (sender, receiver) = channel();
        let threads = self.members.len() as u32;
        let meeting = Arc::new(Meeting::of(threads, Schedule::new(&settings, &clock)));
        for (number, member) in self.members.iter().enumerate() {
            let meeting = Arc::clone(&meeting);
            let task = Task { index, number, settings, threads, meeting, ends: sender.clone() };
            if let Err(SendError(task)) = member.tasks.send(task) {
                task.meeting.line.abort(); // the thread is gone, and missing at the end
            }
        }
        drop(sender);
        let ends = await_ends(&receiver, &meeting, threads, &clock, watcher);
        let broke = ends.len() < threads as usize || ends.iter().any(Result::is_err);
        if broke || store.threading() == Threading::PerClient {
            self.dismiss();
        }
        let ends = ends.into_iter().collect::<Result<Vec<ThreadEnd>, StoreError>>()?;
        let operations = phase.and_then(|phase| phase.operations);
        let outcome = gather(ends, &settings, operations, &meeting, &clock);
        let answered = outcome.counts.answered() - outcome.counts.late;
        self.rates.insert(index, answered as f64 / outcome.elapsed.as_secs_f64().max(1e-9));
        Ok(outcome)
    }

    /// Ends all sessions; the next phase opens new ones, and its operations may take the whole deadline: nodes that came back may choose a leader.
    pub fn renew(&mut self) {
        self.dismiss();
        if let Outages::Endure { timeout } = &mut self.outages {
            *timeout = self.on.settings.deadline;
        }
    }

    /// When the operations of a timed phase of this pace are sent.
    fn arrivals(&self, pace: Pace) -> Arrivals {
        let asked = self.on.settings.arrivals;
        match pace {
            Pace::AsAsked => asked,
            Pace::Highest => Arrivals::Closed,
            Pace::ShareOf { phase, percent } => {
                let rate = self.rates.get(&phase).copied().filter(|&rate| rate > 0.0);
                rate.map_or(Arrivals::Closed, |rate| {
                    // Rates are the whole's, and what was measured is that of a share.
                    let ops_per_s = rate / self.on.settings.share().fraction() * f64::from(percent) / 100.0;
                    match asked {
                        Arrivals::Poisson { .. } => Arrivals::Poisson { ops_per_s },
                        Arrivals::Closed | Arrivals::Fixed { .. } | Arrivals::Recorded => Arrivals::Fixed { ops_per_s },
                    }
                })
            }
        }
    }

    /// Starts the threads, where there are none.
    fn muster(&mut self) -> Result<(), StoreError> {
        let missing = self.clients.len() - self.members.len();
        for (number, clients) in self.clients.iter().enumerate().skip(self.members.len()) {
            let (tasks, receiver) = channel();
            let (on, clients) = (self.on, clients.clone());
            let thread = std::thread::Builder::new().name(format!("client-{number}"));
            match thread.spawn_scoped(self.scope, move || serve(on, &clients, receiver)) {
                Ok(handle) => self.members.push(Member { tasks, handle }),
                Err(_) => {
                    self.dismiss();
                    return Err(StoreError::Session(format!(
                        "{missing} client threads could not be started; use fewer --clients"
                    )));
                }
            }
        }
        Ok(())
    }

    /// Ends the threads and their sessions; a panic in one of them is raised again here.
    fn dismiss(&mut self) {
        for Member { tasks, handle } in self.members.drain(..) {
            drop(tasks);
            if let Err(panic) = handle.join() {
                std::panic::resume_unwind(panic);
            }
        }
    }
}

/// A thread of a crew; it ends when no one can send it tasks any more.
struct Member<'scope> {
    tasks: Sender<Task>,
    handle: ScopedJoinHandle<'scope, ()>,
}

/// The place where the threads of a phase meet each other and their watcher.
pub(crate) struct Meeting {
    line: StartingLine,
    live: Live,
    pulses: Vec<Pulse>,
    /// When the threads were told to begin; known when they have begun.
    pub(crate) told: OnceLock<Ticks>,
    /// Known when the first session is open.
    pub(crate) lights: OnceLock<Lights>,
    /// Under open loop: what is due.
    pub(crate) schedule: Option<Schedule>,
}

impl Meeting {
    fn of(threads: u32, schedule: Option<Schedule>) -> Meeting {
        let pulses = (0..threads).map(|_| Pulse::default()).collect();
        let (told, lights) = (OnceLock::new(), OnceLock::new());
        Meeting { line: StartingLine::default(), live: Live::default(), pulses, told, lights, schedule }
    }
}

/// A thread's part of a phase.
struct Task {
    index: usize,
    /// The thread's number, from 0.
    number: usize,
    settings: Settings,
    threads: u32,
    meeting: Arc<Meeting>,
    /// Dropped when the task is over, however it was.
    ends: Sender<Result<ThreadEnd, StoreError>>,
}

/// Starts the threads, watches, and gathers what became of the threads, those that failed first.
fn await_ends(
    receiver: &Receiver<Result<ThreadEnd, StoreError>>,
    meeting: &Meeting,
    threads: u32,
    clock: &Clock,
    watcher: &mut dyn Watcher,
) -> Vec<Result<ThreadEnd, StoreError>> {
    let start = meeting.line.start(threads, || {
        let begin = watcher.ready();
        let now = clock.now();
        let told = match begin {
            Begin::Now => now,
            Begin::At(instant) => {
                now + clock.ticks(instant.saturating_duration_since(Instant::now())) - clock.ticks(instant.elapsed())
            }
        };
        let begin = told.max(now);
        let _ = meeting.told.set(told); // nobody else does
        meeting.schedule.iter().for_each(|schedule| schedule.start(begin));
        begin
    });
    let start = start.unwrap_or_else(|| clock.now());
    let mut pulses = Pulses::new(&meeting.pulses, Instant::now());
    let mut look = || {
        let elapsed = Duration::from_nanos(clock.ns(clock.now().saturating_sub(start)));
        watcher.progress(meeting.live.progress(elapsed, pulses.silent(Instant::now())));
    };
    let mut looked = false;
    let mut ends = Vec::with_capacity(threads as usize);
    loop {
        match receiver.recv_timeout(Duration::from_millis(100)) {
            Ok(end) => ends.push(end),
            Err(RecvTimeoutError::Timeout) => {
                look();
                looked = true;
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    if looked {
        look(); // no thread is in its loop any more: a silence from now on is not theirs
    }
    // The thread that failed says why; the others only say that they were not started.
    ends.sort_by_key(|end| matches!(end, Err(StoreError::Session(words)) if words == NOT_STARTED));
    ends
}

/// A thread's life: one part of a phase after the other, on the session of the first.
fn serve(on: On<'_>, clients: &Range<u32>, tasks: Receiver<Task>) {
    precise_sleeps();
    let mut session = None;
    for task in tasks {
        let ends = task.ends.clone();
        let end = carry_out(on, clients, task, &mut session);
        if !end.as_ref().is_ok_and(|end| end.end == End::Completed || end.gave_all_up) {
            session = None; // operations may be in flight on it
        }
        let _ = ends.send(end); // fails only when nobody listens any more
    }
}

/// Carries out a thread's part of a phase. The session is opened when there is none.
fn carry_out(
    on: On<'_>,
    clients: &Range<u32>,
    task: Task,
    session: &mut Option<Box<dyn Session>>,
) -> Result<ThreadEnd, StoreError> {
    let On { store, trial, stop, .. } = on;
    let Task { index, number, settings, threads, meeting, ends: _ } = task;
    let mark = meeting.line.mark();
    let plan = SessionPlan { clients: clients.len() as u32, pipeline: settings.pipeline };
    let session = match session {
        Some(session) => {
            look_around(session.as_mut())?;
            session
        }
        none => {
            let longest = store.capabilities().max_value_bytes as u64;
            let largest = trial.largest_reply_bytes().unwrap_or(longest);
            none.insert(open(store, plan, largest, &settings, stop)?)
        }
    };
    let before = session.reconnected();
    session.take_head_of_line(); // that of the phase before
    let slots = clients.start * settings.pipeline..clients.end * settings.pipeline;
    let records = trial.phases().get(index).and_then(|phase| phase.stores);
    let schedule = meeting.schedule.as_ref();
    let gaps_are = if schedule.is_none() { Gaps::Waiting } else { Gaps::Paced };
    let own = records.map(|records| settings.share().part_of(records));
    let growth = Growth::new(&Clock::get(), own, threads, gaps_are);
    let pulse = &meeting.pulses[number];
    let timed = trial.phases().get(index).is_some_and(|phase| phase.timed);
    let watched = timed && matches!(settings.outages, Outages::Endure { .. });
    let lights = watched.then(|| {
        let clock = Clock::get();
        meeting.lights.get_or_init(|| Lights::of(session.parts(), &clock, clock.now()))
    });
    let signals = Signals { stop, live: &meeting.live, pulse };
    let mut lane = Lane::new(trial.worker(index, slots), plan.slots(), &settings, signals, lights, schedule, growth);
    let Start::Go(origin) = mark.ready() else { return Err(StoreError::Session(NOT_STARTED.into())) };
    let clock = Clock::get();
    wait_until(origin, &clock, threads);
    let (cpu, delay) = (thread_cpu(), run_delay());
    let start = lane.start(origin);
    let alive = pulse.alive();
    let end = session.executor().run(std::future::poll_fn(|cx| lane.turn(session.as_mut(), cx)))?;
    let stop = clock.now();
    drop(alive);
    lane.finish();
    Ok(ThreadEnd {
        start,
        stop,
        end,
        gave_all_up: lane.gave_all_up(),
        cpu: thread_cpu() - cpu,
        run_delay: run_delay().saturating_sub(delay),
        ran_out: lane.ran_out,
        last_reply: lane.last_reply(),
        gaps: lane.take_gaps(),
        counts: lane.books.counts,
        histograms: std::mem::take(&mut lane.books.histograms),
        series: lane.books.series,
        growth: lane.growth,
        offences: std::mem::take(&mut lane.books.offences),
        reconnected: session.reconnected() - before,
        head_of_line: session.take_head_of_line(),
    })
}

/// Opens a session. Where outages are endured, a store that cannot be reached is tried again until the deadline: another node may be about to
/// take over.
fn open(
    store: &dyn Store,
    plan: SessionPlan,
    largest_reply_bytes: u64,
    settings: &Settings,
    stop: &AtomicBool,
) -> Result<Box<dyn Session>, StoreError> {
    let deadline = Instant::now() + settings.deadline;
    loop {
        match store.believing_session(plan, largest_reply_bytes) {
            Err(StoreError::Open { .. })
                if matches!(settings.outages, Outages::Endure { .. })
                    && Instant::now() < deadline
                    && !stop.load(Ordering::Relaxed) =>
            {
                std::thread::sleep(OPEN_AGAIN);
            }
            opened => return opened,
        }
    }
}

/// Lets an idle session see what became of its connections, so that one the server closed meanwhile is opened again instead of failing
/// the operation that is sent over it. A driver's tasks have their turn, too, which they may have missed when the last phase ended.
fn look_around(session: &mut dyn Session) -> Result<(), StoreError> {
    let executor = session.executor();
    // In the first turn a driver's tasks hear what has arrived, in the second they have dealt with it.
    (0..2).try_for_each(|_| executor.run(std::future::poll_fn(|cx| session.poll(cx, Until::Now, &mut Nobody))))
}

/// Expects no reply. A bridge reports what came unasked with the next operation.
struct Nobody;

impl Sink for Nobody {
    fn arrived(&mut self) {}

    fn reply(&mut self, _: Slot, _: &Reply<'_>) {}
}
