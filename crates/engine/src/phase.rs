//! Runs one phase of a trial over its threads.

use crate::clock::{Clock, Ticks, thread_cpu};
use crate::gate::{Gate, Place, Start};
use crate::growth::Growth;
use crate::job::Trial;
use crate::lane::{Lane, Signals};
use crate::live::{Live, Progress};
use crate::offence::{Offence, Offences};
use crate::outcome::{Counts, End, Histograms, Outcome};
use crate::schedule::Schedule;
use crate::series::Series;
use crate::settings::{Arrivals, Settings};
use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;
use store::{SessionPlan, Store, StoreError, Threading};
use study::ReasonKind;

/// Clients of each thread: contiguous, as even as possible.
fn shares(settings: &Settings, threading: Threading) -> Vec<Range<u32>> {
    let cpus = std::thread::available_parallelism().map_or(1, |count| count.get() as u32);
    let threads = match (settings.threads, threading) {
        (Some(threads), _) => threads,
        (None, Threading::PerClient) => settings.clients,
        (None, Threading::Shared) => (cpus / 2).max(1),
    };
    let threads = threads.clamp(1, settings.clients.max(1));
    (0..threads)
        .map(|thread| {
            let cut = |at: u32| (u64::from(at) * u64::from(settings.clients) / u64::from(threads)) as u32;
            cut(thread)..cut(thread + 1)
        })
        .collect()
}

struct ThreadEnd {
    start: Ticks,
    stop: Ticks,
    end: End,
    schedule: Option<Schedule>,
    counts: Counts,
    histograms: Histograms,
    series: Series,
    growth: Growth,
    offences: Offences,
    cpu: Duration,
    run_delay: Duration,
}

/// Runs phase `index` of a trial. Sessions are opened and workers made before the clock starts. `stop` ends it early; `watch` is
/// called about ten times a second from the calling thread.
///
/// # Errors
/// When a session cannot be opened, or breaks as a whole.
pub fn run_phase(
    store: &dyn Store,
    trial: &dyn Trial,
    index: usize,
    settings: &Settings,
    stop: &AtomicBool,
    watch: &mut dyn FnMut(Progress),
) -> Result<Outcome, StoreError> {
    let clock = Clock::get();
    let phase = trial.phases().get(index).copied();
    let timed = phase.is_some_and(|phase| phase.timed);
    let begin = clock.now();
    if let Some(result) = trial.whole(index, store, settings.deadline * WHOLE_STORE_PATIENCE) {
        return Ok(whole(result, Duration::from_nanos(clock.ns(clock.now() - begin))));
    }
    let settings = if timed { *settings } else { Settings { arrivals: Arrivals::Closed, duration: None, ..*settings } };
    let shares = shares(&settings, store.threading());
    let threads = shares.len() as u32;
    let live = Live::default();
    let gate = Gate::default();
    let (sender, receiver) = channel();

    let ends = std::thread::scope(|scope| {
        let mut handles = Vec::new();
        for (number, share) in shares.into_iter().enumerate() {
            let (place, live, sender, settings) = (gate.place(), &live, sender.clone(), &settings);
            let schedule =
                Schedule::new(settings.arrivals, number as u32, threads, settings.duration, settings.seed, &clock);
            let body = move || {
                let _ended = EndNotice(sender);
                let signals = Signals { stop, live };
                run_thread(store, trial, index, settings, share, schedule, signals, threads, place)
            };
            handles.push(std::thread::Builder::new().name(format!("client-{number}")).spawn_scoped(scope, body));
        }
        drop(sender);
        if handles.iter().any(Result::is_err) {
            gate.abort();
            return Err(StoreError::Session(format!(
                "{threads} client threads could not be started; use fewer --clients"
            )));
        }
        gate.open(threads);
        let start = clock.now();
        loop {
            match receiver.recv_timeout(Duration::from_millis(100)) {
                Err(RecvTimeoutError::Timeout) => {
                    let elapsed = Duration::from_nanos(clock.ns(clock.now() - start));
                    watch(live.progress(elapsed));
                }
                Ok(()) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        let mut ends = Vec::new();
        for handle in handles.into_iter().flatten() {
            match handle.join() {
                Ok(end) => ends.push(end),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        // The thread that failed says why; the others only say that they were not started.
        ends.sort_by_key(|end| matches!(end, Err(StoreError::Session(words)) if words == NOT_STARTED));
        ends.into_iter().collect::<Result<Vec<ThreadEnd>, StoreError>>()
    })?;
    let operations = phase.and_then(|phase| phase.operations);
    Ok(gather(ends, &settings, operations, &clock))
}

/// Deadlines of one operation that a request to the store as a whole may take: it touches every record.
const WHOLE_STORE_PATIENCE: u32 = 60;

/// The outcome of a request to the store as a whole.
fn whole(result: Result<(), StoreError>, elapsed: Duration) -> Outcome {
    let mut outcome = Outcome { elapsed, ..Outcome::default() };
    outcome.counts.operations = 1;
    if let Err(error) = result {
        outcome.counts.errors = 1;
        outcome.offences.add(Offence::at_large(ReasonKind::Refused, error.to_string()));
    }
    outcome
}

const NOT_STARTED: &str = "another client could not be opened";

/// Wakes the watching thread when a client thread is gone, however it went.
struct EndNotice(std::sync::mpsc::Sender<()>);

impl Drop for EndNotice {
    fn drop(&mut self) {
        let _ = self.0.send(()); // nobody listens any more: nothing to wake
    }
}

#[allow(clippy::too_many_arguments)] // one call site; a struct would only rename them
fn run_thread(
    store: &dyn Store,
    trial: &dyn Trial,
    index: usize,
    settings: &Settings,
    clients: Range<u32>,
    schedule: Option<Schedule>,
    signals: Signals<'_>,
    threads: u32,
    place: Place<'_>,
) -> Result<ThreadEnd, StoreError> {
    let plan = SessionPlan { clients: clients.len() as u32, pipeline: settings.pipeline };
    let mut session = store.session(plan)?;
    let longest = store.capabilities().max_value_bytes as u64;
    session.believe(trial.largest_reply_bytes().unwrap_or(longest));
    let slots = clients.start * settings.pipeline..clients.end * settings.pipeline;
    let records = trial.records(index).filter(|_| schedule.is_none());
    let growth = Growth::new(&Clock::get(), records, threads);
    let mut lane = Lane::new(trial.worker(index, slots), plan.slots(), settings, schedule, signals, growth);
    precise_sleeps();
    if place.ready() == Start::Abort {
        return Err(StoreError::Session(NOT_STARTED.into()));
    }
    let clock = Clock::get();
    let (cpu, delay) = (thread_cpu(), run_delay());
    let start = lane.start();
    let end = session.executor().run(std::future::poll_fn(|cx| lane.turn(session.as_mut(), cx)))?;
    let stop = clock.now();
    lane.finish();
    Ok(ThreadEnd {
        start,
        stop,
        end,
        cpu: thread_cpu() - cpu,
        run_delay: run_delay().saturating_sub(delay),
        schedule: lane.schedule.take(),
        counts: lane.counts,
        histograms: std::mem::take(&mut lane.histograms),
        series: lane.series,
        growth: lane.growth,
        offences: std::mem::take(&mut lane.offences),
    })
}

/// Operations that were to be sent and never were, over all threads: where the time ends the phase, all that was due within it; where
/// the job does, the operations it had left, or if it does not know their number what was due before the last thread ended. So a thread
/// that stopped before the others is counted like them.
fn not_sent(ends: &[ThreadEnd], settings: &Settings, operations: Option<u64>, stop: Ticks) -> u64 {
    if ends.iter().any(|end| end.end == End::Interrupted) {
        return 0; // the user wanted no more
    }
    let schedules = ends.iter().filter_map(|end| end.schedule.as_ref());
    let unanswered = ends.iter().any(|end| end.end == End::Unanswered);
    match (settings.arrivals, settings.duration, operations) {
        (Arrivals::Closed, ..) => 0,
        (_, Some(_), _) => schedules.map(|schedule| schedule.backlog(Ticks::MAX)).sum(),
        (_, None, Some(all)) if unanswered => all.saturating_sub(schedules.map(Schedule::issued).sum()),
        (_, None, _) => schedules.map(|schedule| schedule.backlog(stop)).sum(),
    }
}

fn gather(ends: Vec<ThreadEnd>, settings: &Settings, operations: Option<u64>, clock: &Clock) -> Outcome {
    let begin = ends.iter().map(|end| end.start).min().unwrap_or(0);
    let stop = ends.iter().map(|end| end.stop).max().unwrap_or(0);
    let mut outcome = Outcome::default();
    outcome.counts.not_sent = not_sent(&ends, settings, operations, stop);
    ends.into_iter().for_each(|end| outcome.merge(end.seen(clock, begin)));
    outcome
}

impl ThreadEnd {
    /// What the thread did, apart from this process's clock. The phase began at `begin`.
    fn seen(self, clock: &Clock, begin: Ticks) -> Outcome {
        let since = |from: Ticks| Duration::from_nanos(clock.ns(self.stop.saturating_sub(from)));
        let own = since(self.start).as_secs_f64();
        Outcome {
            elapsed: since(begin),
            end: self.end,
            counts: self.counts,
            histograms: self.histograms,
            timeline: self.series.seen(clock),
            growth: if self.growth.watches() { vec![self.growth.seen(clock, begin)] } else { Vec::new() },
            offences: self.offences,
            client_cpu: self.cpu,
            thread_load: if own > 0.0 { self.cpu.as_secs_f64() / own } else { 0.0 },
            run_delay: self.run_delay,
            threads: 1,
        }
    }
}

/// Lets this thread's sleeps end when they should: the kernel's default slack is 50 µs.
fn precise_sleeps() {
    // SAFETY: PR_SET_TIMERSLACK takes one number and touches no memory.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
}

/// Time this thread was ready to run but waited for a processor; zero where the kernel does not say.
fn run_delay() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let ns = text.split_ascii_whitespace().nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
    Duration::from_nanos(ns)
}
