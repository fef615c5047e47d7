//! How far kvtrial is from the floor: a bare loop that does what no client can leave out, and verifies and times nothing (over sockets)
//! or only draws, reads the clock and records (in this process). `cargo bench -p kvtrial-cli --bench floor [-- SECTION...]`
//!
//! Sections: `sockets` (needs redis-server, taskset and a C compiler), `null`, `append`. Both sides run in turn, in the same minutes, on the
//! first processor; servers on the last. Over sockets an operation costs the slope of the whole process's CPU time between a short and a
//! long run, so start, load and report of either side count for nothing. Where idle processors can be told to poll before they halt
//! (root, paravirtual guests) both settings are measured.
#![allow(clippy::unwrap_used)]

mod lab;

use data::append::{Event, Generator};
use data::wyrand::WyRand;
use engine::{Clock, Histogram};
use lab::{Idle, Load, cpu_per_operation, median, ops_per_cpu_s, own_cpu, start_redis, study};
use std::hint::black_box;
use std::path::Path;
use std::process::Command;

const ROUNDS: usize = 7;

fn main() {
    lab::run(&[
        ("sockets", &["redis-server", "taskset", "cc"], sockets),
        ("null", &["taskset"], null),
        ("append", &["taskset"], append),
    ]);
}

fn say(what: &str, ratios: Vec<f64>, bare_ns: &[f64], wanted: &str) {
    let rounds = ratios.len();
    let (middle, low, high) = median(ratios);
    let (bare, ..) = median(bare_ns.to_vec());
    println!(
        "{what}: {middle:.2} times the bare loop's {bare:.1} ns ({low:.2} to {high:.2}, {rounds} rounds; wanted: {wanted})"
    );
}

fn sockets(directory: &Path) {
    let floor = directory.join("floor");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/floor.c");
    assert!(Command::new("cc").args(["-O2", "-o"]).arg(&floor).arg(source).status().unwrap().success());
    let (_server, socket, port) = start_redis(directory);
    let unix = (format!("redis-unix://{}", socket.display()), socket.display().to_string());
    let tcp = (format!("redis://127.0.0.1:{port}"), port.to_string());
    for idle in Idle::settings() {
        let idle = idle.take_effect();
        for (name, place, clients, pipeline, operations, wanted) in [
            ("unix 50x16", &unix, 50, 16, 3_000_000, "<= 1.15"),
            ("TCP 50x16", &tcp, 50, 16, 2_000_000, "<= 1.15"),
            ("unix 50x1", &unix, 50, 1, 400_000, "no goal"),
            ("unix 1x16", &unix, 1, 16, 600_000, "<= 1.10"),
            ("unix 1x1", &unix, 1, 1, 80_000, "<= 1.10"),
            ("TCP 1x16", &tcp, 1, 16, 600_000, "<= 1.10"),
            ("TCP 1x1", &tcp, 1, 1, 80_000, "<= 1.10"),
        ] {
            let load = Load { clients, pipeline };
            let mut bare_ns = Vec::new();
            let ratios = (0..ROUNDS)
                .map(|round| {
                    let bare = || {
                        cpu_per_operation(operations, |operations| {
                            let mut command = Command::new("taskset");
                            command.args(["-c", "0"]).arg(&floor).arg(&place.1).arg(clients.to_string());
                            command.arg(pipeline.to_string()).arg(operations.to_string());
                            command
                        })
                    };
                    let ours =
                        || cpu_per_operation(operations, |operations| load.gets(&place.0, operations, directory));
                    let (ours, bare) = lab::in_turn(round, ours, bare);
                    bare_ns.push(bare * 1e9);
                    ours / bare
                })
                .collect();
            say(&format!("Redis GET, {name}, {idle}"), ratios, &bare_ns, wanted);
        }
    }
}

const NULL_OPERATIONS: u64 = 20_000_000;
const RECORDS: u64 = 10_000;

fn null(directory: &Path) {
    let load = Load { clients: 1, pipeline: 1 };
    for (name, every, sample) in [("one latency in 64", 64, "--time-one-in 64"), ("every latency", 1, "")] {
        let mut bare_ns = Vec::new();
        let ratios = (0..ROUNDS)
            .map(|round| {
                let words = format!("{} {sample}", load.words("null", NULL_OPERATIONS));
                let ours = || 1.0 / ops_per_cpu_s(&study(&[], &words, directory));
                let (ours, bare) = lab::in_turn(round, ours, || lab::on_first_cpu(|| bare_reads(every)));
                bare_ns.push(bare * 1e9);
                ours / bare
            })
            .collect();
        say(&format!("null store, ycsb C, {name} taken"), ratios, &bare_ns, "<= 1.25");
    }
}

/// Draws the keys, reads the clock and records, as often as asked: CPU seconds per operation.
fn bare_reads(every: u32) -> f64 {
    let (clock, mut rng, mut latencies) = (Clock::get(), WyRand::new(42, 0), Histogram::default());
    let before = own_cpu();
    let (mut start, mut left) = (clock.now(), every);
    for _ in 0..NULL_OPERATIONS {
        left -= 1;
        let timed = left == 0;
        if timed && every > 1 {
            start = clock.now();
        }
        let key = jobs::ycsb::key::key(rng.below(RECORDS) as u32);
        black_box(&key);
        if timed {
            left = every;
            let now = clock.now();
            latencies.record(clock.ns(now - start));
            start = now;
        }
    }
    black_box(&latencies);
    (own_cpu() - before) / NULL_OPERATIONS as f64
}

const APPEND_KEYS: u64 = 10_000_000;

fn append(directory: &Path) {
    let mut bare_ns = Vec::new();
    let ratios = (0..ROUNDS)
        .map(|round| {
            let words = "run append -s ram,map=lines --data gen:10000000:42 --time-one-in 64 --set verify=sample \
                         --no-baselines --repeats 1 --warmups 0 --threads 1";
            let ours = || 1.0 / ops_per_cpu_s(&study(&[], words, directory));
            let (ours, bare) = lab::in_turn(round, ours, || lab::on_first_cpu(bare_appends));
            bare_ns.push(bare * 1e9);
            ours / bare
        })
        .collect();
    say("append, 10,000,000 keys in ram,map=lines", ratios, &bare_ns, "<= 1.25");
}

/// A cache line: a key, how many records it has, and the first three of them.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line {
    id: u64,
    records: u32,
    /// Where the others are: the block of the last power of two.
    block: u32,
    kept: [[u8; 16]; 3],
}

/// Lines the keys are spread over: as full as those of the store's map are after its last split.
const LINES_BITS: u32 = 24;
/// Events between the fetch of a line and its use, as in the job.
const AHEAD: usize = 64;
const BLOCK: usize = 1024;

/// The same events, the lines of a table of the final size touched in their order, and beyond three records those of blocks that double:
/// CPU seconds per append. Nothing ever grows or moves but a value.
fn bare_appends() -> f64 {
    let generator = Generator::new(APPEND_KEYS, 42);
    let clock = Clock::get();
    let mut latencies = Histogram::default();
    let lines = Huge::<Line>::new(1 << LINES_BITS);
    let mut blocks = Blocks { records: Huge::new(1 << 27), free: 1 };
    let place = |event: &Event| (event.id.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - LINES_BITS)) as usize;
    let before = own_cpu();
    let (mut events, mut made, mut at) = (Vec::<Event>::with_capacity(BLOCK + AHEAD), 0, 0);
    for number in 0..generator.events() {
        if at + AHEAD >= events.len() && made < generator.events() {
            events.drain(..at);
            at = 0;
            let more = (generator.events() - made).min(BLOCK as u64);
            let kept = events.len();
            events.resize(kept + more as usize, Event::default());
            generator.fill(made, &mut events[kept..]);
            made += more;
        }
        if let Some(coming) = events.get(at + AHEAD) {
            lines.fetch(place(coming));
        }
        let event = events[at];
        at += 1;
        let timed = number % 64 == 0;
        let start = if timed { clock.now() } else { 0 };
        let mut place = place(&event);
        let line = loop {
            // SAFETY: a place has so many bits as there are lines, most of which stay empty; no other reference to a line lives.
            let line = unsafe { &mut *lines.at(place) };
            if line.records == 0 || line.id == event.id {
                break line;
            }
            place = (place + 1) % (1 << LINES_BITS);
        };
        line.id = event.id;
        match line.records as usize {
            few @ 0..3 => line.kept[few] = event.record(),
            many => blocks.push(&mut line.block, many as u32 - 3, event.record()),
        }
        line.records += 1;
        if timed {
            latencies.record(clock.ns(clock.now() - start));
        }
    }
    black_box(&latencies);
    (own_cpu() - before) / generator.events() as f64
}

/// Records in blocks of a power of two; what outgrows one is copied to another.
struct Blocks {
    records: Huge<[u8; 16]>,
    free: u32,
}

impl Blocks {
    /// Adds a record to the block at `block`, which has `held`.
    fn push(&mut self, block: &mut u32, held: u32, record: [u8; 16]) {
        if held == 0 || held >= 4 && held.is_power_of_two() {
            let from = std::mem::replace(block, self.free);
            self.free += (held * 2).max(4);
            for moved in 0..held {
                // SAFETY: both blocks lie below `free`, which stays far below what was reserved.
                unsafe { *self.records.at((*block + moved) as usize) = *self.records.at((from + moved) as usize) };
            }
        }
        // SAFETY: the block has room for this record.
        unsafe { *self.records.at((*block + held) as usize) = record };
    }
}

/// Zeroed memory in huge pages, given by the kernel as it is touched.
struct Huge<T> {
    start: *mut T,
    bytes: usize,
}

impl<T> Huge<T> {
    fn new(items: usize) -> Huge<T> {
        let bytes = items * size_of::<T>();
        // SAFETY: a new private mapping touches nothing that exists; advice about it neither.
        let start = unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
            let start = libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
            assert_ne!(start, libc::MAP_FAILED);
            libc::madvise(start, bytes, libc::MADV_HUGEPAGE);
            start.cast()
        };
        Huge { start, bytes }
    }

    fn at(&self, index: usize) -> *mut T {
        debug_assert!(index < self.bytes / size_of::<T>());
        self.start.wrapping_add(index)
    }

    fn fetch(&self, index: usize) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a prefetch of any address is harmless.
        unsafe {
            core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T0 }>(self.at(index).cast());
        }
    }
}

impl<T> Drop for Huge<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping is this one's, and nothing points into it any more.
        unsafe { libc::munmap(self.start.cast(), self.bytes) };
    }
}
