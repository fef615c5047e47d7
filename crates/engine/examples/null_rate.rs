//! Operations per CPU second of the whole loop on the null store: median of interleaved slices, thread CPU time.
//! `cargo run --release -p kvtrial-engine --example null_rate`

use jobkit::{Offence, Phase, Step, Think, Trial, Worker};
use kvtrial_engine::{Settings, Timing, run_phase};
use std::ops::Range;
use std::sync::atomic::AtomicBool;
use store::{Opener, Operation, Reply, Slot};
use study::{Answer, Reason, Spec};

const OPERATIONS: u64 = 20_000_000;
const SLICES: usize = 11;

/// Gets and puts, 95 to 5, with a random 16-byte key made for each.
struct Mix;

struct MixWorker {
    state: u64,
    left: u64,
    key: [u8; 16],
}

impl Trial for Mix {
    fn phases(&self) -> Vec<Phase> {
        vec![Phase::timed("run", Some(OPERATIONS))]
    }

    fn worker(&self, _: usize, slots: Range<Slot>) -> Box<dyn Worker + '_> {
        Box::new(MixWorker { state: u64::from(slots.start) + 1, left: OPERATIONS, key: [b'k'; 16] })
    }

    fn key(&self, _: u64, _: &mut Vec<u8>) -> bool {
        false
    }

    fn answer(&self) -> (Answer, Vec<Reason>) {
        (Answer::default(), Vec::new())
    }
}

impl Worker for MixWorker {
    #[inline]
    fn next(&mut self, _: Slot) -> Step<'_> {
        if self.left == 0 {
            return Step::Finished;
        }
        self.left -= 1;
        self.state = self.state.wrapping_add(0xa076_1d64_78bd_642f);
        let wide = u128::from(self.state) * u128::from(self.state ^ 0xe703_7ed1_a0b4_28db);
        let random = (wide >> 64) as u64 ^ wide as u64;
        self.key[8..].copy_from_slice(&random.to_le_bytes());
        Step::Operation(if random.is_multiple_of(20) {
            Operation::Put { key: &self.key, value: &[b'v'; 64] }
        } else {
            Operation::Get { key: &self.key }
        })
    }

    #[inline]
    fn reply(&mut self, _: Slot, reply: &Reply<'_>) -> Result<(), Offence> {
        match reply {
            Reply::Missing | Reply::Done => Ok(()),
            other => Err(Offence::failed(&self.key, other)),
        }
    }

    fn think(&self) -> Think {
        Think::Free
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Some(Opener::Embedded(open)) = catalog::find("null").map(|info| info.opener) else {
        return Err("there is no null store".into());
    };
    let null = open(&Spec::private("null"), std::path::Path::new(""))?;
    let mut rates = [Vec::new(), Vec::new()];
    for _ in 0..SLICES {
        for (timing, rates) in [Timing::Sampled(64), Timing::Every].into_iter().zip(&mut rates) {
            let settings = Settings { timing, ..Settings::default() };
            let outcome = run_phase(null.as_ref(), &Mix, 0, &settings, &AtomicBool::new(false), &mut |_| {})?;
            rates.push(outcome.counts.operations as f64 / outcome.client_cpu.as_secs_f64() / 1e6);
        }
    }
    for (name, rates) in ["sampled 1/64", "every one timed"].into_iter().zip(&mut rates) {
        rates.sort_by(f64::total_cmp);
        println!(
            "null store, {name}: {:.1} M op/s per core (median of {SLICES}, {:.1} to {:.1})",
            rates[SLICES / 2],
            rates[0],
            rates[SLICES - 1]
        );
    }
    Ok(())
}
