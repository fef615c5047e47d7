//! kvtrial's part of an operation of a script allocates nothing.
#![allow(clippy::unwrap_used)]

mod common;
#[path = "../../jobs/tests/harness/mod.rs"]
mod harness;

use common::opened;
use jobkit::{Step, TrialSetup};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use store::{Operation, Reply};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    ALLOCATIONS.with(|made| made.set(made.get() + 1));
}

// SAFETY: everything is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as the caller promises.
        unsafe { System.realloc(block, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Strings that Lua has already take no memory of Lua's, so that what is counted is kvtrial's.
#[test]
fn a_get_and_a_put_allocate_nothing() {
    for capabilities in [harness::everything(), harness::nothing()] {
        allocate_nothing(capabilities);
    }
}

fn allocate_nothing(capabilities: store::Capabilities) {
    let text = "function run(client)
  local keys, value = {}, ('v'):rep(100)
  for i = 1, 10 do keys[i] = 'key' .. client.number .. ':' .. i end
  for turn = 1, 4000 do
    for i = 1, 10 do kv.put(keys[i], value) kv.get(keys[i]) end
  end
end";
    let job = opened(text, None, &[]).unwrap();
    let slots = 8;
    let trial = job.trial(&TrialSetup::alone(slots, capabilities, 1));
    let mut worker = trial.worker(0, 0..slots);
    let value = [b'v'; 100];
    let turn = |worker: &mut Box<dyn jobkit::Worker + '_>| {
        for slot in 0..slots {
            let reply = match worker.next(slot) {
                Step::Operation(Operation::Get { .. }) => Reply::Value(&value),
                Step::Operation(Operation::Put { .. }) => Reply::Done,
                other => panic!("{other:?}"),
            };
            worker.reply(slot, &reply).unwrap();
        }
    };
    // LuaJIT compiles what runs often, and its collector comes round: neither is per operation, and both are over by then.
    for _ in 0..20_000 {
        turn(&mut worker);
    }
    let before = ALLOCATIONS.get();
    for _ in 0..10_000 {
        turn(&mut worker);
    }
    let made = ALLOCATIONS.get() - before;
    assert_eq!(made, 0, "in {} operations", 10_000 * slots);
}
