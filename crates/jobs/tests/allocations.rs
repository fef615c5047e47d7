//! The jobs' hot path allocates nothing: a run of many thousand operations makes only the few allocations in which
//! buffers grow.
#![allow(clippy::unwrap_used)]

use data::events::{EventFormat, EventText};
use jobkit::{Step, TrialSetup};
use kvtrial_jobs as jobs;
use kvtrial_jobs::events::pipeline::{PipelinePlan, summarize};
use kvtrial_jobs::events::queues;
use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use store::{Capabilities, Operation, OperationKind, OperationSet, Reply};

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: everything is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.realloc(block, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Runs a job on one slot with a map as store; returns operations and allocations made inside the job in its timed
/// phase.
fn count(job: &str, data: Option<&str>, set: &[(&str, &str)]) -> (u64, u64) {
    let set: Vec<_> = set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let job = jobs::prepare(jobs::find(job).unwrap(), data.map(Into::into), &set, 42).unwrap();
    let capabilities = Capabilities { native: OperationSet::of(&OperationKind::ALL), ..Capabilities::BASIC };
    let trial = job.trial(&TrialSetup::alone(1, capabilities, 42));
    let mut map: HashMap<Vec<u8>, Vec<u8>> = HashMap::new();
    let (mut operations, mut inside) = (0, 0);
    for (number, phase) in trial.phases().iter().enumerate() {
        let mut worker = trial.worker(number, 0..1);
        loop {
            let before = ALLOCATIONS.load(Ordering::Relaxed);
            let step = worker.next(0);
            let mut made = ALLOCATIONS.load(Ordering::Relaxed) - before;
            let value;
            let reply = match step {
                Step::Operation(Operation::Get { key }) | Step::Check(Operation::Get { key }) => {
                    value = map.get(key).cloned();
                    value.as_deref().map_or(Reply::Missing, Reply::Value)
                }
                Step::Operation(Operation::Put { key, value }) => {
                    map.insert(key.into(), value.into());
                    Reply::Done
                }
                Step::Finished => break,
                other => panic!("{other:?}"),
            };
            let before = ALLOCATIONS.load(Ordering::Relaxed);
            worker.reply(0, &reply).unwrap();
            made += ALLOCATIONS.load(Ordering::Relaxed) - before;
            if phase.timed {
                operations += 1;
                inside += made;
            }
        }
    }
    (operations, inside)
}

#[test]
fn no_job_allocates_by_the_operation() {
    let (operations, made) = count("fans", Some("debian-10k"), &[]);
    assert_eq!(operations, 98_064);
    assert!(made < 100, "fans: {made} allocations in {operations} operations");
    for letter in ["A", "B", "C", "F"] {
        let (operations, made) = count("ycsb", None, &[("workload", letter), ("value", "100")]);
        assert!(operations >= 100_000 && made < 10, "ycsb {letter}: {made} allocations in {operations} operations");
    }
    // Of items nothing is kept, however many there are.
    let (operations, made) = count("grow", None, &[("items", "5000"), ("reads", "0.5")]);
    assert!(operations >= 9_999 && made < 10, "grow: {made} allocations in {operations} operations");
    // Of events only tables and buffers grow; a linked queue allocates per batch, and says so.
    for format in [EventFormat::V1, EventFormat::V2] {
        let text = EventText::generate(format, 50_000, 42);
        let unlinked = queues::ALL.iter().filter(|kind| kind.name != "mutex-list").map(Some);
        for queue in unlinked.chain([None]) {
            let plan = PipelinePlan { queue, parsers: 2, summarizers: 2, size: 1024, batch: 64 };
            let before = ALLOCATIONS.load(Ordering::Relaxed);
            let summed = summarize(&text, &plan).unwrap();
            let made = ALLOCATIONS.load(Ordering::Relaxed) - before;
            let name = queue.map_or("none", |kind| kind.name);
            assert!(summed.additions > 200_000 && made < 500, "{format:?} {name}: {made} allocations");
        }
    }
}
