//! The hot path allocates nothing: counted by the allocator itself.

mod common;

use common::{Behaviour, Gets, Simulated};
use jobkit::{Offence, Phase, Step, Trial, Worker};
use kvtrial_engine::{Arrivals, Settings, Timing, run_phase};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use store::{Opener, Reply, Slot, Store};
use study::{Answer, Reason, Spec};

thread_local!(static ALLOCATIONS: Cell<u64> = const { Cell::new(0) });

struct Counting;

// SAFETY: every call goes to the system's allocator unchanged; counting touches a thread-local integer only.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Notes the thread's allocation count when its worker starts and when it has nothing more to do.
struct Watched {
    inner: Gets,
    allocations: AtomicU64,
}

struct WatchedWorker<'a> {
    inner: Box<dyn Worker + 'a>,
    started_at: Option<u64>,
    total: &'a AtomicU64,
}

impl Trial for Watched {
    fn phases(&self) -> Vec<Phase> {
        self.inner.phases()
    }

    fn worker(&self, phase: usize, slots: Range<Slot>) -> Box<dyn Worker + '_> {
        Box::new(WatchedWorker { inner: self.inner.worker(phase, slots), started_at: None, total: &self.allocations })
    }

    fn key(&self, _: u64, _: &mut Vec<u8>) -> bool {
        false
    }

    fn answer(&self) -> (Answer, Vec<Reason>) {
        self.inner.answer()
    }
}

impl Worker for WatchedWorker<'_> {
    fn next(&mut self, slot: Slot) -> Step<'_> {
        let now = ALLOCATIONS.with(Cell::get);
        let start = *self.started_at.get_or_insert(now);
        let step = self.inner.next(slot);
        if matches!(step, Step::Finished) {
            self.total.store(now - start, Ordering::Relaxed);
        }
        step
    }

    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) -> Result<(), Offence> {
        self.inner.reply(slot, reply)
    }
}

fn allocations_of(store: &dyn Store, per_slot: u64, settings: &Settings) -> u64 {
    let trial = Watched { inner: Gets { per_slot, known: None }, allocations: AtomicU64::new(u64::MAX) };
    let outcome = run_phase(store, &trial, 0, settings, &AtomicBool::new(false), &mut |_| {}).unwrap();
    assert_eq!(outcome.counts.operations, per_slot * u64::from(settings.slots()));
    trial.allocations.load(Ordering::Relaxed)
}

#[test]
fn a_million_operations_allocate_nothing_in_a_closed_loop() {
    let Opener::Embedded(open) = catalog::find("null").unwrap().opener else { panic!("null is embedded") };
    let null = open(&Spec::private("null"), std::path::Path::new("")).unwrap();
    for timing in [Timing::Every, Timing::Sampled(64)] {
        let settings = Settings { pipeline: 4, timing, ..Settings::default() };
        assert_eq!(allocations_of(null.as_ref(), 250_000, &settings), 0, "{timing:?}");
    }
}

#[test]
fn an_open_loop_allocates_nothing() {
    let settings = Settings { pipeline: 8, arrivals: Arrivals::Fixed { ops_per_s: 20_000.0 }, ..Settings::default() };
    // The simulated server's own queue is the one thing that may grow: at most a few times, not with the operations.
    let allocations = allocations_of(&Simulated(Behaviour::Serves(Duration::from_micros(20))), 1_000, &settings);
    assert!(allocations <= 4, "{allocations}");
}
