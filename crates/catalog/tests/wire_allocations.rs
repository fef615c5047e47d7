//! In a steady state an operation over a wire store allocates nothing, whatever its kind and the size of its value.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[allow(dead_code)] // only some of it is used here
mod battery;

use battery::Opened;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};
use store::{Expected, Operation, OperationKind, Reply, Session, Sink, Slot, Store, Until};
use testkit::Rig;
use testkit::bytes::noise;

/// Counts this thread's allocations.
struct Counting;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: everything is passed on to the system's allocator; the counter needs no memory of its own.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: as the caller promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: as the caller promised.
        unsafe { System.realloc(memory, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Stores over kvtrial's own codecs.
const SPECS: [&str; 10] = [
    "redis-unix",
    "redis,connections=2",
    "memcached-unix",
    "memcached,connections=1",
    "memcached-unix,protocol=text",
    "nats",
    "nats,reads=leader",
    "handlersocket",
    "redis-cluster,connections=1",
    "redis-cluster,replicas=1,wait=1",
];

struct Counted {
    answered: usize,
    failed: u32,
}

impl Sink for Counted {
    fn arrived(&mut self) {}

    fn reply(&mut self, _: Slot, reply: &Reply<'_>) {
        self.answered += 1;
        self.failed += u32::from(matches!(reply, Reply::Failed(_)));
    }
}

fn carry_out(session: &mut dyn Session, operations: &[Operation<'_>]) {
    let mut sink = Counted { answered: 0, failed: 0 };
    for (slot, operation) in operations.iter().enumerate() {
        assert_eq!(session.submit(slot as u32, operation).unwrap(), None);
    }
    let mut cx = Context::from_waker(Waker::noop());
    while sink.answered < operations.len() {
        let polled = session.poll(&mut cx, Until::At(Instant::now() + Duration::from_secs(30)), &mut sink);
        assert!(matches!(polled, std::task::Poll::Ready(Ok(()))));
    }
    assert_eq!(sink.failed, 0);
}

#[test]
fn no_operation_allocates_once_the_largest_values_have_been_seen() {
    assert!(
        {
            let before = COUNT.get();
            drop(std::hint::black_box(vec![1u8]));
            COUNT.get() == before + 1
        },
        "the counter counts"
    );
    for spec in SPECS {
        allocates_nothing(spec, Rig::start(spec).store());
    }
    allocates_nothing("tyrant-unix", Opened::fresh("tyrant-unix").store());
}

#[test]
#[ignore = "a Java server, which is fetched"]
fn no_operation_on_ignite_allocates_either() {
    allocates_nothing("ignite", Rig::start("ignite").store());
}

fn allocates_nothing(spec: &str, store: &dyn Store) {
    let has = |kind| store.capabilities().has(kind);
    let large = noise(1, 150_000);
    for (clients, pipeline) in [(1, 16), (8, 2), (16, 1)] {
        let mut session = store.session(store::SessionPlan { clients, pipeline }).unwrap();
        let keys: [&[u8]; 3] = [b"small", b"large", b"none"];
        let all = [
            Operation::Put { key: b"small", value: b"value" },
            Operation::Put { key: b"large", value: &large },
            Operation::Put { key: b"with \0", value: &large },
            Operation::Get { key: b"small" },
            Operation::Get { key: b"large" },
            Operation::Get { key: b"none" },
            Operation::GetVersioned { key: b"large" },
            Operation::Delete { key: b"gone" },
            Operation::Scan { start: b"a", limit: 2 },
            Operation::Increment { key: b"counter", by: 7 },
            Operation::GetCounter { key: b"counter" },
            Operation::CompareAndSet { key: b"absent", expected: Expected::Absent, value: b"x" },
            Operation::CompareAndSet {
                key: b"large",
                expected: Expected::Present { version: 1, value: &large },
                value: &large,
            },
            Operation::GetMany { keys: &keys },
            Operation::IncrementField { key: b"record", field: b"f", by: 1 },
            Operation::GetFields { key: b"record" },
            Operation::PutMany { pairs: &[(b"p", b"1"), (b"q", b"2")] },
        ];
        let native: Vec<_> = all.into_iter().filter(|operation| has(operation.kind())).collect();
        assert!(
            has(OperationKind::GetMany) || ["nats", "redis-cluster", "ignite"].iter().any(|it| spec.starts_with(it)),
            "{spec}"
        );
        let allocations_of = |session: &mut dyn Session, operations: &[Operation<'_>]| {
            let before = COUNT.get();
            for _ in 0..100 {
                carry_out(session, operations);
            }
            COUNT.get() - before
        };
        // A buffer grows when it first meets a large value, and which buffer meets which value is chance: so this settles.
        let settled = (0..20).find(|_| allocations_of(&mut *session, &native) == 0);
        assert!(settled.is_some(), "{spec} {clients}x{pipeline}: still allocates after 20 times 100 rounds");
        // Small values need no luck, once each connection has had a get.
        let small = [native[0], native[3], native[0], native[5]];
        carry_out(&mut *session, &small);
        assert_eq!(allocations_of(&mut *session, &small), 0, "{spec} {clients}x{pipeline}");
    }
}
