//! Proofs that the instrument is right, made on the machine it is used on.
//!
//! Each proof compares what kvtrial measures with what is known to be true: a store of ours that freezes once, the formula of a
//! queue, Zipf's law, the exact values behind a histogram, the system's clock, a store that lies. [`run`] makes them all;
//! [`aa`] compares a store with itself, and with itself slowed down, over many independent restarts. What was proved is kept for the studies
//! that follow: [`recall`], and [`ShownLevels`] of what crashes have shown of stores.
//!
//! What never lives here: judging a user's store (that is `check`), printing, exiting.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

pub mod aa;
mod cache;
mod clock;
pub mod crashes;
mod faults;
mod histogram;
mod liar;
mod open_loop;
mod shown;
mod simulated;
mod study_of;
mod test;
mod zipf;

pub use cache::{Identity, recall, remember};
pub use shown::{ShownLevel, ShownLevels, StartedLevel, remember_shown};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use study::{Proof, Selftest};
pub use test::Scope;
use test::Test;

/// Makes every proof of the scope in turn; `hear` hears of each as it is made. `None` when `stop` was set meanwhile.
///
/// Takes about 1 s quick and 15 s full on an idle machine; proofs that need time on a processor to themselves are tried up to
/// three times, which can make it 45 s.
pub fn run(scope: Scope, identity: &Identity, stop: &AtomicBool, hear: &mut dyn FnMut(&Proof)) -> Option<Selftest> {
    let begun = Instant::now();
    let mut proofs = Vec::new();
    for test in tests().filter(|test| scope == Scope::Full || test.scope == Scope::Quick) {
        let proof = test.prove(scope, stop);
        if stop.load(Ordering::Relaxed) {
            return None;
        }
        hear(&proof);
        proofs.push(proof);
    }
    let mut result = identity.result(scope.name());
    result.passed = proofs.iter().all(|proof| proof.passed);
    result.elapsed_s = begun.elapsed().as_secs_f64();
    result.proofs = proofs;
    Some(result)
}

/// Every proof there is, quick ones first.
fn tests() -> impl Iterator<Item = Test> {
    let mut all = Vec::new();
    all.extend(histogram::tests());
    all.extend(zipf::tests());
    all.extend(clock::tests());
    all.extend(faults::tests());
    all.extend(open_loop::tests());
    all.into_iter()
}
