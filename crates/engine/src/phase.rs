//! A phase over its threads: how clients are shared out among them, and how what they did becomes one outcome.

use crate::crew::Meeting;
use crate::dark::Gap;
use crate::growth::Growth;
use crate::outcome::{End, Outcome};
use crate::settings::{Outages, Settings};
use jobkit::{Offence, Offences};
use measure::Series;
use measure::{Clock, Ticks};
use measure::{Counts, Histograms};
use std::ops::Range;
use std::time::Duration;
use store::{StoreError, Threading, Trouble};
use study::{HeadOfLine, ReasonKind};

/// Most threads where the user sets no number: a system allows a process some ten thousand, and thousands beyond its processors only
/// wait for each other. Clients beyond them share threads.
pub(crate) const MOST_THREADS: u32 = 4096;

/// Clients of each thread of this process: contiguous, as even as possible.
pub(crate) fn clients_of_threads(settings: &Settings, threading: Threading) -> Vec<Range<u32>> {
    let own = settings.share();
    let cpus = std::thread::available_parallelism().map_or(1, |count| count.get() as u32);
    let threads = match (settings.threads, threading) {
        (Some(threads), _) => threads,
        (None, Threading::PerClient) => own.clients.min(MOST_THREADS),
        (None, Threading::Shared) => (cpus / 2).max(1),
    };
    let threads = threads.clamp(1, own.clients.max(1));
    (0..threads)
        .map(|thread| {
            let cut = |at: u32| own.first + (u64::from(at) * u64::from(own.clients) / u64::from(threads)) as u32;
            cut(thread)..cut(thread + 1)
        })
        .collect()
}

/// The account of a thread's work in a phase.
pub(crate) struct ThreadEnd {
    pub(crate) start: Ticks,
    pub(crate) stop: Ticks,
    pub(crate) end: End,
    /// Nothing is in flight on its session, however it ended.
    pub(crate) gave_all_up: bool,
    /// The job had no more work for it.
    pub(crate) ran_out: bool,
    pub(crate) last_reply: Ticks,
    pub(crate) counts: Counts,
    pub(crate) histograms: Histograms,
    pub(crate) series: Series,
    pub(crate) growth: Growth,
    pub(crate) gaps: Vec<Gap>,
    pub(crate) offences: Offences,
    pub(crate) cpu: Duration,
    pub(crate) run_delay: Duration,
    pub(crate) reconnected: u64,
    pub(crate) head_of_line: Option<HeadOfLine>,
}

/// Returns the outcome of a request to the store as a whole.
pub(crate) fn whole(
    result: Result<(), StoreError>,
    settings: &Settings,
    elapsed: Duration,
    client_cpu: Duration,
) -> Outcome {
    let outages = settings.outages;
    let mut outcome = Outcome { elapsed, client_cpu, ..Outcome::default() };
    // All shares make one request.
    outcome.counts.operations = u64::from(settings.share().is_first());
    if let Err(error) = result {
        outcome.counts.errors = 1;
        // Where nodes fail on purpose the store may not have said no: it may be gone.
        let kind = match (error.trouble(), outages) {
            (_, Outages::Endure { .. }) => Some(ReasonKind::Unknown),
            (Trouble::SaidBefore, Outages::GiveUp) => None,
            (Trouble::Refused, Outages::GiveUp) => Some(ReasonKind::Refused),
            (Trouble::NotConnected, Outages::GiveUp) => Some(ReasonKind::NotConnected),
            (Trouble::ConnectionLost, Outages::GiveUp) => Some(ReasonKind::ConnectionLost),
            (Trouble::Deadline, Outages::GiveUp) => Some(ReasonKind::Deadline),
        };
        kind.into_iter().for_each(|kind| outcome.offences.add(Offence::at_large(kind, error.to_string())));
    }
    outcome
}

/// Makes one outcome of what the threads did.
pub(crate) fn gather(
    mut ends: Vec<ThreadEnd>,
    settings: &Settings,
    operations: Option<u64>,
    meeting: &Meeting,
    clock: &Clock,
) -> Outcome {
    let begin = ends.iter().map(|end| end.start).min().unwrap_or(0);
    let stop = ends.iter().map(|end| end.stop).max().unwrap_or(0);
    // Under open loop a thread may wait for what others give back, long after its last reply.
    let last_reply = match &meeting.schedule {
        Some(_) => ends.iter().map(|end| end.last_reply).max().unwrap_or(0),
        None => stop,
    };
    let ran_out = ends.iter().all(|end| end.ran_out);
    let mut outcome = Outcome::default();
    let gaps = ends.iter_mut().flat_map(|end| std::mem::take(&mut end.gaps)).collect();
    outcome.dark = meeting.lights.get().map(|lights| lights.seen(gaps, clock, begin, stop)).unwrap_or_default();
    ends.into_iter().for_each(|end| outcome.merge(end.seen(clock, begin, stop)));
    let since = |from: Ticks, until: Ticks| Duration::from_nanos(clock.ns(until.saturating_sub(from)));
    outcome.late_start = since(meeting.told.get().copied().unwrap_or(begin), begin);
    if let Some(schedule) = &meeting.schedule {
        let own = operations.map(|all| settings.share().part_of(all));
        outcome.counts.not_sent = schedule.not_sent(outcome.end, ran_out, own, stop);
        outcome.offered = Some(schedule.offered(ran_out));
        if outcome.end == End::Completed {
            // These arrivals last until the next would be due, even if the last was answered before.
            outcome.elapsed = since(begin, last_reply).max(since(0, schedule.lasts()));
        }
    }
    if let Some(given) = settings.duration
        && outcome.end == End::Completed
        && !ran_out
    {
        outcome.drain = Some(since(begin, last_reply).saturating_sub(given));
        outcome.elapsed = given;
    }
    outcome
}

impl ThreadEnd {
    /// What the thread did, apart from this process's clock. The phase lasted from `begin` to `stop`.
    fn seen(self, clock: &Clock, begin: Ticks, stop: Ticks) -> Outcome {
        let since = |from: Ticks| Duration::from_nanos(clock.ns(self.stop.saturating_sub(from)));
        // A thread without work leaves before it has used a processor for long enough to say anything.
        let whole = Duration::from_nanos(clock.ns(stop.saturating_sub(begin))).as_secs_f64();
        Outcome {
            elapsed: since(begin),
            drain: None,
            offered: None,
            late_start: Duration::ZERO,
            end: self.end,
            counts: self.counts,
            histograms: self.histograms,
            timeline: self.series.seen(clock),
            dark: Vec::new(),
            growth: if self.growth.watches() { vec![self.growth.seen(clock, begin)] } else { Vec::new() },
            offences: self.offences,
            client_cpu: self.cpu,
            thread_load: if whole > 0.0 { self.cpu.as_secs_f64() / whole } else { 0.0 },
            run_delay: self.run_delay,
            reconnected: self.reconnected,
            head_of_line: self.head_of_line,
            threads: 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST_THREADS, clients_of_threads};
    use crate::Settings;
    use jobkit::Share;
    use store::Threading;

    #[test]
    fn a_library_gets_a_thread_per_client_up_to_a_limit_and_every_client_has_one_thread() {
        for (clients, threads, expected) in
            [(1, None, 1), (64, None, 64), (100_000, None, MOST_THREADS), (100_000, Some(10), 10), (3, Some(8), 3)]
        {
            let all = clients_of_threads(&Settings { clients, threads, ..Settings::default() }, Threading::PerClient);
            assert_eq!(all.len(), expected as usize);
            assert_eq!((all[0].start, all[all.len() - 1].end), (0, clients));
            assert!(all.windows(2).all(|pair| pair[0].end == pair[1].start && !pair[0].is_empty()));
        }
    }

    #[test]
    fn the_threads_of_all_shares_serve_every_client_once_numbered_over_the_whole() {
        let served = |share: Share| {
            let settings = Settings { clients: 8, threads: Some(2), share: Some(share), ..Settings::default() };
            clients_of_threads(&settings, Threading::Shared)
        };
        let all: Vec<_> = Share::split(8, 3).into_iter().flat_map(served).collect();
        assert_eq!(all, [0..1, 1..2, 2..3, 3..5, 5..6, 6..8]);
    }
}
