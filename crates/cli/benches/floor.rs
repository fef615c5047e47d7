//! How far kvtrial is from the floor: a bare loop that does what no client can leave out. Over sockets it verifies and times nothing; for the
//! null store it draws keys, reads the clock and records; for append it puts the same events into the same store without engine and job;
//! for sets it goes over two arrays of bits, and fills a table of ids.
//! `cargo bench -p kvtrial-cli --bench floor [-- SECTION...]`
//!
//! Sections: `sockets` (needs redis-server, taskset and a C compiler), `null`, `append`, `sets`. Both sides run in turn, in the same minutes, on the
//! first processor; servers on the last. Over sockets an operation costs the slope of the whole process's CPU time between a short and a
//! long run, so start, load and report of either side count for nothing; the runs are long enough that the report's 0.4 s of CPU, which
//! vary by a tenth, do not drown the slope. Where idle processors can be told to poll before they halt
//! (root, paravirtual guests) both settings are measured.
#![allow(clippy::unwrap_used)]

mod lab;

use data::append::{Event, Generator};
use data::wyrand::WyRand;
use lab::{Idle, Load, cpu_per_operation, median, ops_per_cpu_s, own_cpu, start_redis, study};
use measure::{Clock, Histogram};
use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use store::{Opener, Operation, OperationKind, SessionPlan};

const ROUNDS: usize = 7;
/// Where a goal stands within a few hundredths: rounds of one program differ by a tenth.
const MANY_ROUNDS: usize = 15;

fn main() {
    lab::run(&[
        ("sockets", &["redis-server", "taskset", "cc"], sockets),
        ("null", &["taskset"], null),
        ("append", &["taskset"], append),
        ("sets", &["taskset"], sets),
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
            ("unix 50x16", &unix, 50, 16, 6_000_000, "<= 1.15"),
            ("TCP 50x16", &tcp, 50, 16, 4_000_000, "<= 1.15"),
            ("unix 50x1", &unix, 50, 1, 400_000, "no goal"),
            ("unix 1x16", &unix, 1, 16, 3_000_000, "<= 1.10"),
            ("unix 1x1", &unix, 1, 1, 200_000, "<= 1.10"),
            ("TCP 1x16", &tcp, 1, 16, 3_000_000, "<= 1.10"),
            ("TCP 1x1", &tcp, 1, 1, 200_000, "<= 1.10"),
        ] {
            let load = Load { clients, pipeline };
            let mut bare_ns = Vec::new();
            let rounds = if pipeline > 1 { MANY_ROUNDS } else { ROUNDS };
            let ratios = (0..rounds)
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
    for (name, sample) in [("every latency", ""), ("one latency in 64", "--time-one-in 64")] {
        let mut bare_ns = Vec::new();
        let ratios = (0..ROUNDS)
            .map(|round| {
                let words = format!("{} {sample}", load.words("null", NULL_OPERATIONS));
                let ours = || 1.0 / ops_per_cpu_s(&study(&[], &words, directory));
                let (ours, bare) = lab::in_turn(round, ours, || lab::on_first_cpu(bare_reads));
                bare_ns.push(bare * 1e9);
                ours / bare
            })
            .collect();
        say(&format!("null store, ycsb C, {name} taken"), ratios, &bare_ns, "<= 1.25");
    }
}

/// Draws the keys, reads the clock after each and records: CPU seconds per operation.
fn bare_reads() -> f64 {
    let (clock, mut rng, mut latencies) = (Clock::get(), WyRand::new(42, 0), Histogram::default());
    let before = own_cpu();
    let mut start = clock.now();
    for _ in 0..NULL_OPERATIONS {
        let key = jobs::ycsb::key::key(rng.below(RECORDS));
        black_box(&key);
        let now = clock.now();
        latencies.record(clock.ns(now - start));
        start = now;
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
            let (ours, bare) = lab::in_turn(round, ours, || lab::on_first_cpu(|| bare_appends(directory)));
            bare_ns.push(bare * 1e9);
            ours / bare
        })
        .collect();
    say("append, 10,000,000 keys in ram,map=lines", ratios, &bare_ns, "<= 1.25");
}

/// Events between the announcement of a key and its append, as in the job.
const AHEAD: usize = 64;
const BLOCK: usize = 1024;

/// The same events into the same store by its session, without engine and job: keys are announced a turn ahead, one append in 64 is timed,
/// and replies are not looked at. So the same lines of memory are touched in the same order. CPU seconds per append.
fn bare_appends(directory: &Path) -> f64 {
    let info = catalog::find("ram").unwrap();
    let Opener::Embedded(open) = info.opener else { panic!("ram is not embedded") };
    let store = open(&"ram,map=lines".parse().unwrap(), directory).unwrap();
    let mut session = store.session(SessionPlan { clients: 1, pipeline: 1 }).unwrap();
    let generator = Generator::new(APPEND_KEYS, 42);
    let (clock, mut latencies) = (Clock::get(), Histogram::default());
    let before = own_cpu();
    let (mut events, mut made, mut at) = (Vec::<Event>::with_capacity(2 * BLOCK), 0, 0);
    loop {
        if events.len() < at + 2 * AHEAD && made < generator.events() {
            events.drain(..at);
            at = 0;
            let (kept, more) = (events.len(), (generator.events() - made).min(BLOCK as u64));
            events.resize(kept + more as usize, Event::default());
            generator.fill(made, &mut events[kept..]);
            made += more;
        }
        if at == events.len() {
            break;
        }
        for event in events.iter().skip(at + AHEAD).take(AHEAD) {
            session.expect(0, OperationKind::Append, &event.key());
        }
        let turn = at..events.len().min(at + AHEAD);
        at = turn.end;
        for (number, event) in events[turn].iter().enumerate() {
            let start = if number == 0 { clock.now() } else { 0 };
            let (key, value) = (event.key(), event.record());
            let reply = session.submit(0, &Operation::Append { key: &key, value: &value });
            black_box(&reply);
            if number == 0 {
                latencies.record(clock.ns(clock.now() - start));
            }
        }
        session.rest(0);
    }
    black_box(&latencies);
    (own_cpu() - before) / generator.events() as f64
}

/// Ids of each of the two sets whose index is built.
const INDEXED_IDS: u64 = 10_000_000;
/// Ids of each of the two sets that are combined.
const COMBINED_IDS: u64 = 100_000_000;
const SETS_ROUNDS: usize = 5;

/// The ways of 2011 by the clock, step by step. Both sides run alone on the first processor.
fn sets(directory: &Path) {
    let step = |cell: &serde_json::Value, name: &str| {
        let phase = cell["by_phase"].as_array().unwrap().iter().find(|phase| phase["name"] == name).unwrap();
        phase["elapsed_s"]["value"].as_f64().unwrap()
    };
    let run = |ids: u64| {
        let words = format!("run sets -s ram,way=bitmap --set ids={ids} --no-baselines --repeats 1 --warmups 0");
        study(&[], &words, directory)
    };
    let mut bare_ns = Vec::new();
    let ratios = (0..SETS_ROUNDS)
        .map(|round| {
            let ours = || step(&run(INDEXED_IDS), "build");
            let (ours, bare) = lab::in_turn(round, ours, || lab::on_first_cpu(bare_index));
            bare_ns.push(bare * 1e9 / (2 * INDEXED_IDS) as f64);
            ours / bare
        })
        .collect();
    say("sets, 2 x 10,000,000 random ids numbered, per id", ratios, &bare_ns, "<= 1.3");
    let (mut bare_ns, mut ratios, mut bytes) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()], 0.0);
    for round in 0..SETS_ROUNDS {
        let (cell, bare) = lab::in_turn(round, || run(COMBINED_IDS), || lab::on_first_cpu(bare_combinations));
        bytes = cell["answer"]["facts"]["bytes_per_id"].as_f64().unwrap();
        for (at, name) in ["union", "intersection"].into_iter().enumerate() {
            bare_ns[at].push(bare[at] * 1e9 / words_of(COMBINED_IDS) as f64);
            ratios[at].push(step(&cell, name) / bare[at]);
        }
    }
    let [union, intersection] = ratios;
    say("sets, union of 2 x 100,000,000 ids, per pair of words", union, &bare_ns[0], "<= 1.3");
    say("sets, intersection of the same, per pair of words", intersection, &bare_ns[1], "<= 1.3");
    println!("sets, 100,000,000 ids each: {bytes:.2} bytes per different id, its index with it (wanted: <= 20)");
}

/// Places of the index of two sets of `ids` ids each: three of four may be taken.
fn places(ids: u64) -> usize {
    (2 * ids + 2 * ids / 3 + 2) as usize
}

/// Words of the bits of one of them.
fn words_of(ids: u64) -> usize {
    places(ids).div_ceil(64)
}

/// Ids of two sets with half in common, put into a table with linear probing whose lines are fetched 32 ids ahead: seconds.
fn bare_index() -> f64 {
    let ids: Vec<u64> = [0..INDEXED_IDS, INDEXED_IDS / 2..INDEXED_IDS + INDEXED_IDS / 2]
        .into_iter()
        .flatten()
        .map(|at| data::sets::IdKind::Random.id((42 << 32) + at))
        .collect();
    let begin = std::time::Instant::now();
    let mut table = vec![0u64; places(INDEXED_IDS)];
    let mut homes = [0; 32];
    for batch in ids.chunks(homes.len()) {
        for (home, &id) in homes.iter_mut().zip(batch) {
            *home = home_of(id, table.len());
            fetch(&table, *home);
        }
        for (&home, &id) in homes.iter().zip(batch) {
            let mut place = home;
            while table[place] != id && table[place] != 0 {
                place = if place + 1 == table.len() { 0 } else { place + 1 };
            }
            table[place] = id;
        }
    }
    black_box(&table);
    begin.elapsed().as_secs_f64()
}

/// The finaliser of MurmurHash3 (Appleby 2011), scaled to the table.
fn home_of(id: u64, places: usize) -> usize {
    let mut hash = id;
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    ((u128::from(hash ^ (hash >> 33)) * places as u128) >> 64) as usize
}

fn fetch(table: &[u64], place: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing, and `place` is within the table.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(table.as_ptr().add(place).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (table, place);
}

/// Bits counted in the union and in the intersection of two arrays as long as those of 100 million ids: seconds each.
fn bare_combinations() -> [f64; 2] {
    let words = words_of(COMBINED_IDS) as u64;
    let bits = |set: u64| (0..words).map(|at| data::sets::IdKind::Random.id(2 * at + set)).collect::<Vec<u64>>();
    let (a, b) = (bits(0), bits(1));
    [ones(&a, &b, |a, b| a | b), ones(&a, &b, |a, b| a & b)]
}

/// Counts the bits of two arrays combined: seconds.
fn ones(a: &[u64], b: &[u64], combine: impl Fn(u64, u64) -> u64) -> f64 {
    let begin = std::time::Instant::now();
    black_box(a.iter().zip(b).map(|(a, b)| u64::from(combine(*a, *b).count_ones())).sum::<u64>());
    begin.elapsed().as_secs_f64()
}
