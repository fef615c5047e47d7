//! What the async bridge itself costs an operation: nothing on the heap. Run with `--release -- --nocapture` to see nanoseconds.

#![cfg(feature = "async")]
#![allow(clippy::unwrap_used)]

use kvtrial_store::asynchronous::{Async, AsyncClient, BufferedReply, ReplyBuffer};
use kvtrial_store::{Operation, Reply, Session, SessionPlan, Sink, Slot, Until};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::future::poll_fn;
use std::time::{Duration, Instant};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, counting for each thread.
struct Counting;

// SAFETY: every call goes to the system's allocator as it came; the counter is a plain cell that is never dropped.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: as the caller promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: as the caller promised.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

struct Fake {
    yields: u32,
}

impl AsyncClient for Fake {
    async fn execute(&mut self, operation: &Operation<'_>, out: &mut ReplyBuffer) -> BufferedReply {
        for _ in 0..self.yields {
            tokio::task::yield_now().await;
        }
        match *operation {
            Operation::Get { key } => out.value(key),
            Operation::GetMany { keys } => {
                keys.iter().for_each(|key| out.rows.push(key, key));
                BufferedReply::Rows
            }
            _ => BufferedReply::Done,
        }
    }
}

/// Slots that have been answered.
#[derive(Default)]
struct Idle(Vec<Slot>);

impl Sink for Idle {
    fn arrived(&mut self) {}

    fn reply(&mut self, slot: Slot, _: &Reply<'_>) {
        self.0.push(slot);
    }
}

/// Carries out `operations` over all slots; allocations on this thread and the time it took.
fn spend(session: &mut dyn Session, slots: u32, operations: u32) -> (u64, Duration) {
    let keys: [&[u8]; 3] = [b"one", b"two", b"three"];
    let pairs: [(&[u8], &[u8]); 2] = [(b"a", b"1"), (b"b", b"2")];
    let kinds = [
        Operation::Get { key: b"0123456789abcdef" },
        Operation::Put { key: b"0123456789abcdef", value: &[7; 64] },
        Operation::GetMany { keys: &keys },
        Operation::PutMany { pairs: &pairs },
    ];
    let mut idle = Idle((0..slots).collect());
    let mut sent = vec![0usize; slots as usize];
    let mut left = operations;
    let deadline = Instant::now() + Duration::from_secs(60);
    let executor = session.executor();
    let before = (ALLOCATIONS.get(), Instant::now());
    executor.run(async {
        while left > 0 || (idle.0.len() as u32) < slots {
            while left > 0
                && let Some(slot) = idle.0.pop()
            {
                left -= 1;
                let count = &mut sent[slot as usize];
                *count += 1;
                assert_eq!(session.submit(slot, &kinds[*count % kinds.len()]).unwrap(), None);
            }
            poll_fn(|cx| session.poll(cx, Until::At(deadline), &mut idle)).await.unwrap();
        }
    });
    (ALLOCATIONS.get() - before.0, before.1.elapsed())
}

#[test]
fn an_operation_allocates_nothing_once_the_buffers_are_warm() {
    for slots in [1, 16, 256] {
        for yields in [1, 3] {
            let plan = SessionPlan { clients: 1, pipeline: slots };
            let mut session = Async::session(plan, async |_| Ok(Fake { yields })).unwrap();
            spend(&mut *session, slots, 8 * slots);
            let operations = 20_000;
            let (allocations, time) = spend(&mut *session, slots, operations);
            println!(
                "{slots} slots, {yields} wakes: {} ns an operation, {allocations} allocations",
                time.as_nanos() / u128::from(operations)
            );
            // The runtime's list of deferred wakers grows once in each run; operations must not show.
            assert!(allocations < 20, "{slots} slots, {yields} wakes: {allocations} allocations");
        }
    }
}

#[test]
fn a_driver_that_is_ready_at_once_costs_no_allocation_either() {
    let mut session =
        Async::session(SessionPlan { clients: 1, pipeline: 1 }, async |_| Ok(Fake { yields: 0 })).unwrap();
    let mut run = |operations: u32| {
        session.executor().run(async {
            let before = (ALLOCATIONS.get(), Instant::now());
            for number in 0..operations {
                let key = number.to_be_bytes();
                let reply = session.submit(0, &Operation::Get { key: &key }).unwrap();
                assert_eq!(reply, Some(Reply::Value(&key)));
            }
            (ALLOCATIONS.get() - before.0, before.1.elapsed())
        })
    };
    run(10);
    let (allocations, time) = run(100_000);
    println!("ready at once: {} ns an operation", time.as_nanos() / 100_000);
    assert_eq!(allocations, 0);
}
