//! Where a study is from: the machine, and the proof that the instrument was right there.

use crate::objection::Objection;
use study::{Proof, Study};

/// Returns what is wrong with the self-test.
pub(crate) fn selftest(study: &Study) -> Option<Objection> {
    let Some(selftest) = &study.selftest else { return Some(Objection::NoSelftest) };
    // What a proof says of itself is held against what it measured.
    let fails = |proof: &&Proof| !proof.passed || !proof.measured.is_some_and(|it| proof.bound.holds(it));
    let mut proofs: Vec<String> = selftest.proofs.iter().filter(fails).map(|proof| proof.name.clone()).collect();
    if proofs.is_empty() && selftest.passed && !selftest.proofs.is_empty() {
        return None;
    }
    if selftest.proofs.is_empty() {
        proofs.push("it has no proofs".into());
    } else if proofs.is_empty() {
        proofs.push("as a whole".into());
    }
    Some(Objection::Selftest { proofs })
}

/// Returns the facts of the machine that are missing and without which no two results can be told to be of one machine.
pub(crate) fn host(study: &Study) -> Option<Objection> {
    let host = &study.host;
    let facts = [
        ("the processor", !host.cpu.is_empty()),
        ("the number of processors", host.cpus > 0),
        ("the memory", host.memory_bytes > 0),
        ("the kernel", !host.kernel.is_empty()),
        ("the clock", !host.clock.is_empty()),
        ("the file system", host.filesystem.is_some()),
        ("the day", study.started_at.len() >= 10),
        ("the version of kvtrial", !study.kvtrial.is_empty()),
    ];
    let missing: Vec<&'static str> = facts.iter().filter(|(_, is_there)| !is_there).map(|(name, _)| *name).collect();
    (!missing.is_empty()).then_some(Objection::Host { missing })
}
