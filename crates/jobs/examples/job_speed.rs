//! What the jobs themselves cost, without engine and store, in CPU time of this thread (the fastest of several rounds):
//!
//! `cargo run --release -p kvtrial-jobs --example job_speed [DATA]`

use data::fans::FanSet;
use data::scramble::Scramble;
use data::wyrand::WyRand;
use data::zipf::Zipf;
use jobkit::{Job, Step, TrialSetup, Worker};
use kvtrial_jobs as jobs;
use kvtrial_jobs::fans::{JsonNames, Merger, decode};
use kvtrial_jobs::fingerprint::fingerprint;
use std::hint::black_box;
use store::{Capabilities, Keeps, Operation, OperationKind, OperationSet, Reply};

fn cpu_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a timespec of ours.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The fastest of `rounds`, each given as CPU ns by the closure.
fn best(rounds: u32, mut round: impl FnMut() -> u64) -> u64 {
    (0..rounds).map(|_| round()).min().unwrap_or(0)
}

fn fans(source: &str) {
    let set = match FanSet::load(source) {
        Ok(set) => set,
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(2);
        }
    };
    let names = JsonNames::new(&set.pages);
    let (mut read, mut written) = (0, 0);
    // Records are kept in memory; each is brought into the cache first, as a session's buffer is when a reply is
    // handed over.
    let mut pass = |step: &mut dyn FnMut(&mut Merger, u32, &[u32], &[u8], &mut Vec<u8>)| {
        let mut records: Vec<Vec<u8>> = vec![Vec::new(); set.pages.len()];
        let (mut merger, mut old, mut out, mut ns) = (Merger::default(), Vec::new(), Vec::new(), 0);
        (read, written) = (0u64, 0u64);
        for profile in 0..set.profiles() {
            let list = set.profile(profile);
            for &page in list {
                let record = &mut records[page as usize];
                old.clear();
                old.extend_from_slice(record);
                let begin = cpu_ns();
                step(&mut merger, page, list, &old, &mut out);
                ns += cpu_ns() - begin;
                let merged = merger.merge(&names, page, list, (!old.is_empty()).then_some(&old), &mut out);
                assert!(merged.is_ok());
                read += old.len() as u64;
                written += out.len() as u64;
                record.clear();
                record.extend_from_slice(&out);
            }
        }
        ns
    };
    let empty = best(5, || pass(&mut |_, _, _, _, _| ()));
    let merge = best(5, || {
        pass(&mut |merger, page, list, old, out| {
            let _ = black_box(merger.merge(&names, page, list, (!old.is_empty()).then_some(old), out));
        })
    });
    let print = best(5, || pass(&mut |_, _, _, old, _| _ = black_box(fingerprint(old))));
    let strict = best(5, || pass(&mut |_, _, _, old, _| _ = black_box(decode(old, |_, count| _ = black_box(count)))));
    let [merge, print, strict] = [merge, print, strict].map(|ns| ns.saturating_sub(empty));
    let mentions = set.mentions().len() as u64;
    println!("fans on {source}: {mentions} mentions, {read} value bytes read, {written} written");
    for (what, ns, bytes) in [
        ("merge (decode, patch, encode)", merge, read + written),
        ("fingerprint", print, read),
        ("strict decode", strict, read),
    ] {
        println!(
            "  {what:32}{:9.1} ms {:9.0} ns/mention {:7.2} GB/s",
            ns as f64 / 1e6,
            ns as f64 / mentions as f64,
            bytes as f64 / ns as f64
        );
    }
}

/// CPU ns per request of the run phase, answered at once by `answer`.
fn ycsb(set: &str, keeps: Keeps, mut answer: impl FnMut(&Operation<'_>, &mut dyn FnMut(&Reply<'_>))) -> f64 {
    let pair = |word: &str| word.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
    let set: Vec<_> = set.split_whitespace().filter_map(pair).collect();
    let Some(info) = jobs::find("ycsb") else { return 0.0 };
    let job: Box<dyn Job> = match jobs::prepare(info, None, &set, 42) {
        Ok(job) => job,
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(2);
        }
    };
    let capabilities = Capabilities { native: OperationSet::of(&OperationKind::ALL), keeps, ..Capabilities::BASIC };
    let trial = job.trial(&TrialSetup::alone(1, capabilities, 42));
    let mut drive = |phase: usize| {
        let mut worker: Box<dyn Worker> = trial.worker(phase, 0..1);
        let (mut requests, mut offences) = (0u64, 0u64);
        let begin = cpu_ns();
        // Slot 0's reply needs the worker again, so the operation's answer is taken first.
        while let Step::Operation(operation) = worker.next(0) {
            let mut kept: Option<Kept> = None;
            answer(&operation, &mut |reply| kept = Some(Kept::of(reply)));
            let Some(kept) = kept else { continue };
            offences += u64::from(worker.reply(0, &kept.reply()).is_err());
            requests += 1;
        }
        assert_eq!(offences, 0);
        (cpu_ns() - begin) as f64 / requests as f64
    };
    drive(0);
    drive(1)
}

/// A reply to a slice that outlives the call.
enum Kept {
    Value(*const u8, usize),
    Missing,
    Done,
}

impl Kept {
    fn of(reply: &Reply<'_>) -> Kept {
        match reply {
            Reply::Value(value) => Kept::Value(value.as_ptr(), value.len()),
            Reply::Missing => Kept::Missing,
            _ => Kept::Done,
        }
    }

    fn reply(&self) -> Reply<'_> {
        match self {
            // SAFETY: points into the array of values of `main`, which is not touched until the next operation.
            Kept::Value(start, length) => Reply::Value(unsafe { std::slice::from_raw_parts(*start, *length) }),
            Kept::Missing => Reply::Missing,
            Kept::Done => Reply::Done,
        }
    }
}

fn main() {
    fans(&std::env::args().nth(1).unwrap_or_else(|| "debian-10k".into()));
    let (zipf, scramble, mut rng) = (Zipf::new(10_000, 0.99), Scramble::new(10_000, 42), WyRand::new(42, 0));
    let draws = 20_000_000u64;
    let mut time = |draw: &mut dyn FnMut(&mut WyRand) -> u64| {
        best(5, || {
            let begin = cpu_ns();
            black_box((0..draws).fold(0, |sum, _| sum ^ draw(&mut rng)));
            cpu_ns() - begin
        }) as f64
            / draws as f64
    };
    let (empty, rank, key) =
        (time(&mut |rng| rng.u64()), time(&mut |rng| zipf.draw(rng)), time(&mut |rng| scramble.key(zipf.draw(rng))));
    println!("zipf over 10,000: {rank:.1} ns a rank, {key:.1} ns a key (random number and loop alone: {empty:.1})");
    println!("ycsb, ns a request for next and reply together");
    for set in [
        "workload=C records=10000 operations=5000000",
        "workload=C records=10000 operations=5000000 distribution=uniform",
        "workload=A records=10000 operations=5000000 value=100",
    ] {
        let ns = (0..5).map(|_| {
            ycsb(set, Keeps::Nothing, |operation, reply| match operation {
                Operation::Get { .. } => reply(&Reply::Missing),
                _ => reply(&Reply::Done),
            })
        });
        println!("  null   {set:66}{:6.1}", ns.fold(f64::MAX, f64::min));
    }
    for value in [100, 1000] {
        let set = format!("workload=A records=10000 operations=2000000 value={value}");
        let mut values = vec![0u8; 10_000 * value];
        let place = |key: &[u8]| {
            let digits = std::str::from_utf8(&key[8..]).unwrap_or("0");
            usize::from_str_radix(digits, 16).unwrap_or(0) * value
        };
        let ns = (0..3).map(|_| {
            ycsb(&set, Keeps::Everything, |operation, reply| match operation {
                Operation::Put { key, value: new } => {
                    let at = place(key);
                    values[at..at + value].copy_from_slice(new);
                    reply(&Reply::Done);
                }
                Operation::Get { key } => reply(&Reply::Value(&values[place(key)..][..value])),
                _ => reply(&Reply::Done),
            })
        });
        println!("  kept   {set:66}{:6.1}  (with an array as store, every byte verified)", ns.fold(f64::MAX, f64::min));
    }
}
