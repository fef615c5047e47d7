//! Parsers, queues and summarizers at work: from the first event parsed to the last one summarized.

use super::portion::Portion;
use super::queues::QueueKind;
use super::table::{EventSummary, SummaryTable};
use super::waiting::{self, Drain, Feed, QueueDepth, Waited};
use data::events::EventText;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{Builder, ScopedJoinHandle};
use std::time::{Duration, Instant};

/// The plan of how the work is shared out.
#[derive(Clone, Copy)]
pub struct PipelinePlan {
    /// The queue between both sides; `None`: one thread parses and sums.
    pub queue: Option<&'static QueueKind>,
    /// Threads that parse.
    pub parsers: usize,
    /// Threads that sum, each with a queue of its own.
    pub summarizers: usize,
    /// Portions a queue holds.
    pub size: usize,
    /// Portions a parser puts into a queue at once.
    pub batch: usize,
}

/// The result of a pipeline.
pub struct Summed {
    /// The summaries, in any order.
    pub summaries: Vec<EventSummary>,
    /// The number of additions to counters.
    pub additions: u64,
    /// The time from the first event parsed to the last one summarized.
    pub elapsed: Duration,
    /// The parsers' part; nothing where there is no queue.
    pub parsers: SideTime,
    /// The summarizers' part.
    pub summarizers: SideTime,
    /// The depth of the queues.
    pub depth: QueueDepth,
}

/// The time that the threads of a side spent.
#[derive(Clone, Copy, Debug, Default)]
pub struct SideTime {
    /// The time from their begin to their end.
    pub lived: Duration,
    /// The time they waited for the other side.
    pub waited: Waited,
}

impl SideTime {
    fn add(&mut self, lived: Duration, waited: Waited) {
        self.lived += lived;
        self.waited.time += waited.time;
        self.waited.sleeps += waited.sleeps;
    }

    /// Returns the share of their time in which they waited.
    pub fn waiting_share(&self) -> f64 {
        let lived = self.lived.as_secs_f64();
        if lived > 0.0 { (self.waited.time.as_secs_f64() / lived).min(1.0) } else { 0.0 }
    }
}

/// Summarizes the events.
///
/// # Errors
/// When a thread cannot be started.
pub fn summarize(text: &EventText, plan: &PipelinePlan) -> io::Result<Summed> {
    match plan.queue {
        None => Ok(alone(text)),
        Some(kind) => together(text, plan, kind),
    }
}

/// One thread does it all.
fn alone(text: &EventText) -> Summed {
    let begin = Instant::now();
    let mut table = SummaryTable::default();
    for block in 0..text.blocks() {
        text.parse(block, |event| table.add(Portion::of(event)));
    }
    Summed {
        summaries: table.summaries().collect(),
        additions: table.additions(),
        elapsed: begin.elapsed(),
        parsers: SideTime::default(),
        summarizers: SideTime::default(),
        depth: QueueDepth::default(),
    }
}

/// What a summarizer comes to.
struct Sums {
    summaries: Vec<EventSummary>,
    additions: u64,
    lived: Duration,
    waited: Waited,
    depth: QueueDepth,
}

fn together(text: &EventText, plan: &PipelinePlan, kind: &QueueKind) -> io::Result<Summed> {
    let begin = Instant::now();
    let next = AtomicUsize::new(0);
    let mut feeds: Vec<Vec<Feed>> = (0..plan.parsers).map(|_| Vec::with_capacity(plan.summarizers)).collect();
    let mut drains = Vec::with_capacity(plan.summarizers);
    for _ in 0..plan.summarizers {
        let (ends, drain) = waiting::open(kind, plan.size, plan.parsers);
        feeds.iter_mut().zip(ends).for_each(|(feeds, end)| feeds.push(end));
        drains.push(drain);
    }
    let (sums, parsers) = std::thread::scope(|scope| {
        let named = |side: &str, number: usize| Builder::new().name(format!("{side}-{number}"));
        // Where one cannot be started, those that run have no other side any more, and end.
        let started = drains
            .into_iter()
            .enumerate()
            .map(|(number, drain)| named("summarizer", number).spawn_scoped(scope, move || sum(drain)));
        let summarizers: Vec<ScopedJoinHandle<'_, Sums>> = started.collect::<io::Result<_>>()?;
        let next = &next;
        let started = feeds.into_iter().enumerate().map(|(number, feeds)| {
            named("parser", number).spawn_scoped(scope, move || parse(text, next, feeds, plan.batch))
        });
        let parsers: Vec<ScopedJoinHandle<'_, (Duration, Waited)>> = started.collect::<io::Result<_>>()?;
        let mut parsing = SideTime::default();
        for (lived, waited) in parsers.into_iter().map(joined) {
            parsing.add(lived, waited);
        }
        let sums: Vec<Sums> = summarizers.into_iter().map(joined).collect();
        io::Result::Ok((sums, parsing))
    })?;
    let mut all = Summed {
        summaries: Vec::with_capacity(sums.iter().map(|sums| sums.summaries.len()).sum()),
        additions: 0,
        elapsed: Duration::ZERO,
        parsers,
        summarizers: SideTime::default(),
        depth: QueueDepth::default(),
    };
    for mut sums in sums {
        all.summaries.append(&mut sums.summaries);
        all.additions += sums.additions;
        all.summarizers.add(sums.lived, sums.waited);
        all.depth.sum += sums.depth.sum;
        all.depth.times += sums.depth.times;
        all.depth.most = all.depth.most.max(sums.depth.most);
    }
    all.elapsed = begin.elapsed();
    Ok(all)
}

/// What a thread came to; its panic goes on here.
fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// A parser's life: one block after the other, whichever is next.
fn parse(text: &EventText, next: &AtomicUsize, mut feeds: Vec<Feed>, batch: usize) -> (Duration, Waited) {
    let begin = Instant::now();
    let summarizers = feeds.len();
    let mut batches: Vec<Vec<Portion>> = feeds.iter().map(|_| Vec::with_capacity(batch)).collect();
    let mut hand_over = |writer: usize, portion: Portion| {
        let portions = &mut batches[writer];
        portions.push(portion);
        if portions.len() >= batch {
            feeds[writer].send(portions);
            portions.clear();
        }
    };
    loop {
        let block = next.fetch_add(1, Ordering::Relaxed);
        if block >= text.blocks() {
            break;
        }
        text.parse(block, |event| {
            let portion = Portion::of(event);
            let [month, customer] =
                [portion.month(), portion.customer()].map(|subject| subject.map(|it| it.writer(summarizers)));
            match (month, customer) {
                (Some(month), Some(customer)) if month != customer => {
                    hand_over(month, portion.of_month());
                    hand_over(customer, portion.of_customer());
                }
                (Some(writer), _) | (None, Some(writer)) => hand_over(writer, portion),
                (None, None) => {}
            }
        });
    }
    for (feed, portions) in feeds.iter_mut().zip(&batches).filter(|(_, portions)| !portions.is_empty()) {
        feed.send(portions);
    }
    let mut side = SideTime::default();
    feeds.iter().for_each(|feed| side.add(Duration::ZERO, feed.waited));
    (begin.elapsed(), side.waited)
}

/// A summarizer's life.
fn sum(mut drain: Drain) -> Sums {
    let begin = Instant::now();
    let mut table = SummaryTable::default();
    let mut portions = Vec::new();
    while drain.receive(&mut portions) {
        portions.drain(..).for_each(|portion| table.add(portion));
    }
    Sums {
        summaries: table.summaries().collect(),
        additions: table.additions(),
        lived: begin.elapsed(),
        waited: drain.waited,
        depth: drain.depth,
    }
}
