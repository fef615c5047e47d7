//! Crashes: stores with a known fault are found out, one without is not accused.

use crash::proof::{FAULTS, NAME, POWER_FAULTS, POWER_NAME};
use jobkit::Stroke;
use runner::{Blow, BrokenFiles, CrashRequest, Crashed, Execution, RunError};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use store::{CommandLine, StoreInfo};
use study::{CrashFindings, CrashMoment, DiskKind, Proof, Spec, StruckNodes, Tolerance};

/// Crashes within which each fault must be found.
pub const MOST_CRASHES: u32 = 20;
/// Kills in which a store without a fault must lose nothing.
pub const HONEST_KILLS: u32 = 1000;
/// Power cuts in which it must lose nothing.
pub const HONEST_CUTS: u32 = 100;

const CLIENTS: u32 = 2;
const VALUE_BYTES: u32 = 228;
/// Of many sectors, so that some are torn.
const TORN_BYTES: u32 = 16 << 10;
/// The longest time to a kill: of a store whose fault comes once in 100,000 writes, which a slow machine must get to; of any other with a fault; and of
/// one that is only to be killed often; and to a power cut.
const LONGEST: Duration = Duration::from_secs(2);
const LONG: Duration = Duration::from_millis(400);
const SHORT: Duration = Duration::from_millis(4);
const TO_CUT: Duration = Duration::from_millis(40);

/// Crashes of the proof stores.
pub struct CrashProofs<'a> {
    /// The directory below which private directories are made.
    pub base: &'a Path,
    /// Seed of what is written and of the moments.
    pub seed: u64,
    /// Kills of the store without a fault.
    pub honest_kills: u32,
    /// The process of the writers: a kill needs one that is not this one.
    pub execution: &'a Execution,
    /// Power cuts besides kills; `None`: they cannot be had here.
    pub power: Option<PowerProofs>,
    /// Hears after each crash how many were made, and of how many at most.
    pub progress: &'a dyn Fn(u32, u32),
}

/// What power cuts take.
pub struct PowerProofs {
    /// The program that serves the disk: it leads to [`serve_disk`](runner::serve_disk).
    pub server: CommandLine,
    /// Power cuts of the store without a fault.
    pub honest_cuts: u32,
}

/// A proof store, the blow it gets, and how often at most.
struct Ordeal {
    name: &'static str,
    fault: &'static str,
    blow: Blow,
    times: u32,
    longest: Duration,
    value_bytes: u32,
}

impl Ordeal {
    fn kills(fault: &'static str, times: u32, longest: Duration) -> Ordeal {
        let blow = Blow::Nodes { which: StruckNodes::All, stroke: Stroke::Kill, outage: Duration::ZERO };
        Ordeal { name: NAME, fault, blow, times, longest, value_bytes: VALUE_BYTES }
    }

    fn cuts(fault: &'static str, times: u32, disk: DiskKind, server: &CommandLine) -> Ordeal {
        let blow = Blow::Power { disk, bytes: runner::DISK_BYTES, server: server.clone() };
        // The log is read again after each cut: where there are many, it must not get long.
        let value_bytes = if times > MOST_CRASHES { VALUE_BYTES } else { TORN_BYTES };
        Ordeal { name: POWER_NAME, fault, blow, times, longest: TO_CUT, value_bytes }
    }
}

impl CrashProofs<'_> {
    /// Makes them all and hands each on; `false`: it was stopped before the end.
    ///
    /// # Errors
    /// A proof store could not be opened.
    pub fn prove(&self, stop: &AtomicBool, hear: &mut dyn FnMut(Proof)) -> Result<bool, RunError> {
        let mut told = |proof| {
            let is_whole = !is_stopped(stop);
            if is_whole {
                hear(proof);
            }
            is_whole
        };
        for (fault, shows) in FAULTS {
            let claim = format!("a store with the fault '{fault}' is found out within {MOST_CRASHES} kills");
            let ordeal = Ordeal::kills(fault, MOST_CRASHES, if fault == "forgets" { LONGEST } else { LONG });
            if !told(self.found(format!("crash_{fault}"), claim, ordeal, stop, &|found| shows.is_in(found))?) {
                return Ok(false);
            }
        }
        let claim = format!("a store without a fault loses nothing in {} kills", self.honest_kills);
        let ordeal = Ordeal::kills("none", self.honest_kills, SHORT);
        if !told(self.unaccused("crash_honest", claim, ordeal, stop)?) {
            return Ok(false);
        }
        let Some(PowerProofs { server, honest_cuts }) = &self.power else { return Ok(true) };
        for (fault, shows) in POWER_FAULTS {
            let claim = format!("a store with the fault '{fault}' is found out within {MOST_CRASHES} power cuts");
            let ordeal = Ordeal::cuts(fault, MOST_CRASHES, DiskKind::Honest, server);
            if !told(self.found(format!("power_{fault}"), claim, ordeal, stop, &|found| shows.is_in(found))?) {
                return Ok(false);
            }
        }
        let claim = format!("a disk that lies about flushes is found out within {MOST_CRASHES} power cuts");
        let ordeal = Ordeal::cuts("none", MOST_CRASHES, DiskKind::Lies, server);
        if !told(self.found("power_lying_disk".into(), claim, ordeal, stop, &|found| found.lost > 0)?) {
            return Ok(false);
        }
        let claim = format!("a store without a fault loses nothing in {honest_cuts} power cuts");
        let ordeal = Ordeal::cuts("none", *honest_cuts, DiskKind::Honest, server);
        Ok(told(self.unaccused("power_honest", claim, ordeal, stop)?))
    }

    /// Proves that something is found.
    fn found(
        &self,
        name: String,
        claim: String,
        ordeal: Ordeal,
        stop: &AtomicBool,
        shows: &dyn Fn(&CrashFindings) -> bool,
    ) -> Result<Proof, RunError> {
        let (begun, most) = (Instant::now(), ordeal.times);
        let (crashes, is_found) = self.crash(ordeal, stop, shows)?;
        Ok(Proof {
            name: name.replace('-', "_"),
            passed: is_found,
            claim,
            measured: is_found.then_some(f64::from(crashes)),
            bound: Tolerance::at_most(f64::from(most)),
            unit: "crashes until it was found".into(),
            elapsed_s: begun.elapsed().as_secs_f64(),
            ..Proof::default()
        })
    }

    /// Proves that nothing is found.
    fn unaccused(&self, name: &str, claim: String, ordeal: Ordeal, stop: &AtomicBool) -> Result<Proof, RunError> {
        let (begun, least) = (Instant::now(), ordeal.times);
        let (crashes, is_accused) =
            self.crash(ordeal, stop, &|found| found.lost + found.torn + found.resurrected + found.invented > 0)?;
        Ok(Proof {
            name: name.into(),
            passed: !is_accused,
            claim,
            measured: Some(f64::from(crashes)),
            bound: Tolerance::at_least(f64::from(least)),
            unit: "crashes without a finding".into(),
            elapsed_s: begun.elapsed().as_secs_f64(),
            ..Proof::default()
        })
    }

    /// Crashes it until something is found: how many times that took, and whether it was.
    fn crash(
        &self,
        ordeal: Ordeal,
        stop: &AtomicBool,
        shows: &dyn Fn(&CrashFindings) -> bool,
    ) -> Result<(u32, bool), RunError> {
        let Ordeal { name, fault, blow, times, longest, value_bytes } = ordeal;
        let Some(info): Option<&'static StoreInfo> = crash::proof::find(name) else { return Ok((0, false)) };
        let request = CrashRequest {
            info,
            spec: Spec { options: [("fault".to_owned(), fault.to_owned())].into(), ..Spec::private(name) },
            base: self.base.to_owned(),
            clients: CLIENTS,
            seed: self.seed,
            value_bytes,
            done: 0,
            cuts: times,
            blow,
            during: CrashMoment::Write,
            earliest: Duration::ZERO,
            longest,
            deadline: Duration::from_secs(10),
            broken: BrokenFiles::Removed,
        };
        let enough = AtomicBool::new(false);
        let (mut made, mut is_found) = (0, false);
        runner::crash(&request, self.execution, &enough, &mut |heard| {
            if let Crashed::Cut(cut) = heard {
                made = cut.cut;
                is_found = shows(&cut.found);
                host::interrupt::progress();
                (self.progress)(made, times);
            }
            if is_found || is_stopped(stop) {
                enough.store(true, Ordering::Relaxed);
            }
        })?;
        Ok((made, is_found))
    }
}

fn is_stopped(stop: &AtomicBool) -> bool {
    stop.load(Ordering::Relaxed)
}
