//! Bare speed of embedded stores, without engine, clock or verification: what an adapter costs, to find what slows it down.
//! Operations per second of this thread's own CPU time, which a busy machine hardly changes; waiting for a disk does not count.
//! Not a study: no repeats, no intervals.
//!
//! `cargo run --release -p kvtrial-catalog --example speed [VALUE_BYTES] [RECORDS] [SPEC]...`

use std::time::{Duration, Instant};
use store::{Opener, Operation, SessionPlan};
use study::Spec;

const TIME_EACH: Duration = Duration::from_millis(500);

/// Operations between two looks at the clock.
const BATCH: u64 = 256;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let value_bytes = args.next().map_or(Ok(64), |text| text.parse())?;
    let records: u64 = args.next().map_or(Ok(100_000), |text| text.parse())?;
    let mut specs: Vec<String> = args.collect();
    if specs.is_empty() {
        let embedded = kvtrial_catalog::all().filter(|info| matches!(info.opener, Opener::Embedded(_)));
        specs = embedded.map(|info| info.name.to_owned()).collect();
    }
    println!("{records} records of {value_bytes} bytes, one thread; operations a CPU second");
    for spec in specs {
        let rates = measure(&spec.parse()?, value_bytes, records)?;
        println!("{spec:<32} load {:>12.0}   put {:>12.0}   get {:>12.0}", rates[0], rates[1], rates[2]);
    }
    Ok(())
}

fn measure(spec: &Spec, value_bytes: usize, records: u64) -> Result<[f64; 3], Box<dyn std::error::Error>> {
    let info = kvtrial_catalog::of(spec)?.ok_or("no such store")?;
    let Opener::Embedded(open) = info.opener else { return Err("not an embedded store".into()) };
    let directory = tempfile::tempdir()?;
    let store = open(spec, directory.path())?;
    let mut session = store.session(SessionPlan { clients: 1, pipeline: 1 })?;
    let value = vec![7u8; value_bytes];
    let mut key = *b"key-000000000000";
    let mut name = |number: u64| {
        let mut rest = number;
        for digit in key[4..].iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        key
    };
    let started = cpu_s();
    for number in 0..records {
        session.submit(0, &Operation::Put { key: &name(number), value: &value })?;
    }
    let load = records as f64 / (cpu_s() - started);
    let mut random = 0x9E37_79B9_7F4A_7C15u64;
    let mut rate = |write: bool| -> Result<f64, store::StoreError> {
        let (started, mut done) = (cpu_s(), 0);
        let end = Instant::now() + TIME_EACH;
        while Instant::now() < end {
            for _ in 0..BATCH {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                let key = name(random % records);
                let operation =
                    if write { Operation::Put { key: &key, value: &value } } else { Operation::Get { key: &key } };
                std::hint::black_box(session.submit(0, &operation)?);
            }
            done += BATCH;
        }
        Ok(done as f64 / (cpu_s() - started))
    };
    Ok([load, rate(true)?, rate(false)?])
}

/// CPU time of this thread, in seconds.
fn cpu_s() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a place for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
