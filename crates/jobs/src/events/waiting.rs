//! Waiting at a queue, the same for every kind: look again a number of times, then sleep until the other side says that it is worth it.
//!
//! A sleeping summarizer is woken when a part of the queue is full, a sleeping parser when a part of it is empty: once for many portions.
//! A side that has to wait wakes the other side first, so that never both sleep. How long each waited and how full the queue was is noted.

use super::portion::Portion;
use super::queues::{Inlet, Outlet, QueueKind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The number of times a side that has to wait looks again before it sleeps.
pub const SPINS: u32 = 100;

/// Portions a summarizer takes at once, at most.
const TAKEN_AT_ONCE: usize = 1024;

/// A number that one thread writes, in a cache line of its own.
#[repr(align(128))]
#[derive(Default)]
struct Count(AtomicU64);

/// Where the threads of one side sleep.
#[repr(align(128))]
#[derive(Default)]
struct Sleepers {
    count: AtomicUsize,
    lock: Mutex<()>,
    open: Condvar,
}

impl Sleepers {
    /// Returns when `ready` has said true: looks a number of times, then sleeps between looks.
    #[cold]
    fn wait(&self, sleeps: &mut u64, mut ready: impl FnMut() -> bool) {
        for _ in 0..SPINS {
            if ready() {
                return;
            }
            std::hint::spin_loop();
        }
        let mut lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            self.count.fetch_add(1, Ordering::SeqCst);
            // The other side looks for sleepers after it has moved something: one of the two sees what the other did.
            fence(Ordering::SeqCst);
            if ready() {
                self.count.fetch_sub(1, Ordering::SeqCst);
                return;
            }
            *sleeps += 1;
            lock = self.open.wait(lock).unwrap_or_else(PoisonError::into_inner);
            self.count.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Wakes the sleepers, where there are any and `worthwhile` says so. Asked after something was moved.
    #[inline]
    fn wake(&self, worthwhile: impl FnOnce() -> bool) {
        fence(Ordering::SeqCst);
        if self.count.load(Ordering::Relaxed) > 0 && worthwhile() {
            drop(self.lock.lock().unwrap_or_else(PoisonError::into_inner));
            self.open.notify_all();
        }
    }
}

/// What both sides know of a queue.
struct Shared {
    size: u64,
    parsers: Sleepers,
    summarizer: Sleepers,
    /// Portions each parser has put in.
    pushed: Vec<Count>,
    /// Portions taken out.
    popped: Count,
    /// Parsers that may still put something in.
    open: AtomicUsize,
    /// Whether the summarizer is gone.
    gone: AtomicBool,
}

impl Shared {
    fn depth(&self) -> u64 {
        let pushed: u64 = self.pushed.iter().map(|count| count.0.load(Ordering::Acquire)).sum();
        pushed.saturating_sub(self.popped.0.load(Ordering::Acquire))
    }
}

/// The waiting of one thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct Waited {
    /// The time waited, in all.
    pub time: Duration,
    /// The number of sleeps.
    pub sleeps: u64,
}

/// The depth of a queue, as the summarizer found it each time it took something.
#[derive(Clone, Copy, Debug, Default)]
pub struct QueueDepth {
    /// Sum over all times.
    pub sum: u64,
    /// Times.
    pub times: u64,
    /// Most.
    pub most: u64,
}

/// A parser's end of a queue, with waiting. Dropped when the parser has nothing more.
pub struct Feed {
    inlet: Box<dyn Inlet>,
    shared: Arc<Shared>,
    number: usize,
    /// The waiting of this side.
    pub waited: Waited,
}

/// A summarizer's end of a queue, with waiting.
pub struct Drain {
    outlet: Box<dyn Outlet>,
    shared: Arc<Shared>,
    popped: u64,
    /// The waiting of this side.
    pub waited: Waited,
    /// The depth of the queue.
    pub depth: QueueDepth,
}

/// Returns a queue of a kind, of this many portions.
pub fn open(kind: &QueueKind, size: usize, parsers: usize) -> (Vec<Feed>, Drain) {
    let (inlets, outlet) = (kind.open)(size, parsers);
    let shared = Arc::new(Shared {
        size: size as u64,
        parsers: Sleepers::default(),
        summarizer: Sleepers::default(),
        pushed: (0..parsers).map(|_| Count::default()).collect(),
        popped: Count::default(),
        open: AtomicUsize::new(parsers),
        gone: AtomicBool::new(false),
    });
    let feed = |(number, inlet)| Feed { inlet, shared: Arc::clone(&shared), number, waited: Waited::default() };
    let feeds = inlets.into_iter().enumerate().map(feed).collect();
    (feeds, Drain { outlet, shared, popped: 0, waited: Waited::default(), depth: QueueDepth::default() })
}

impl Feed {
    /// Puts all of them in; waits while there is no room.
    #[inline]
    pub fn send(&mut self, portions: &[Portion]) {
        let sent = self.offer(portions);
        if sent < portions.len() {
            self.wait(&portions[sent..]);
        }
        self.shared.summarizer.wake(|| self.shared.depth() >= self.shared.size / 4);
    }

    /// Puts in what there is room for; wakes nobody, because it may be asked with the lock of sleepers in hand.
    #[inline]
    fn offer(&mut self, portions: &[Portion]) -> usize {
        let sent = self.inlet.push(portions);
        let count = &self.shared.pushed[self.number].0;
        // Only this thread writes it.
        count.store(count.load(Ordering::Relaxed) + sent as u64, Ordering::Release);
        sent
    }

    #[cold]
    fn wait(&mut self, mut portions: &[Portion]) {
        let begin = Instant::now();
        let (shared, mut sleeps) = (Arc::clone(&self.shared), 0);
        while !portions.is_empty() && !shared.gone.load(Ordering::Acquire) {
            shared.summarizer.wake(|| true);
            shared.parsers.wait(&mut sleeps, || {
                let sent = self.offer(portions);
                portions = &portions[sent..];
                sent > 0 || shared.gone.load(Ordering::Acquire)
            });
        }
        self.waited.time += begin.elapsed();
        self.waited.sleeps += sleeps;
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.shared.open.fetch_sub(1, Ordering::SeqCst);
        self.shared.summarizer.wake(|| true);
    }
}

impl Drain {
    /// Takes out what is there; waits while there is nothing. False: there is nothing left, and nobody who could put something in.
    #[inline]
    pub fn receive(&mut self, into: &mut Vec<Portion>) -> bool {
        let any = self.take(into) > 0 || self.wait(into);
        self.shared.parsers.wake(|| self.shared.depth() <= self.shared.size / 2);
        any
    }

    /// Takes out what is there; wakes nobody, because it may be asked with the lock of sleepers in hand.
    #[inline]
    fn take(&mut self, into: &mut Vec<Portion>) -> usize {
        let depth = self.shared.depth();
        let before = into.len();
        self.outlet.pop(into, TAKEN_AT_ONCE);
        let taken = into.len() - before;
        if taken > 0 {
            // What was put in may be counted only after it was taken out.
            let depth = depth.max(taken as u64).min(self.shared.size);
            self.depth.sum += depth;
            self.depth.times += 1;
            self.depth.most = self.depth.most.max(depth);
            self.popped += taken as u64;
            self.shared.popped.0.store(self.popped, Ordering::Release);
        }
        taken
    }

    #[cold]
    fn wait(&mut self, into: &mut Vec<Portion>) -> bool {
        let begin = Instant::now();
        let (shared, mut sleeps, mut taken) = (Arc::clone(&self.shared), 0, 0);
        shared.parsers.wake(|| true);
        shared.summarizer.wait(&mut sleeps, || {
            let over = shared.open.load(Ordering::SeqCst) == 0;
            taken = self.take(into); // after the look: what the last parser put in is there
            taken > 0 || over
        });
        self.waited.time += begin.elapsed();
        self.waited.sleeps += sleeps;
        taken > 0
    }
}

impl Drop for Drain {
    fn drop(&mut self) {
        self.shared.gone.store(true, Ordering::SeqCst);
        self.shared.parsers.wake(|| true);
    }
}
