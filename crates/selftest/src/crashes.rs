//! Crashes: stores with a known fault are found out, one without is not accused.

use crash::proof::{FAULTS, NAME};
use jobkit::Stroke;
use runner::{Blow, BrokenFiles, CrashRequest, Crashed, Execution, RunError};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use store::StoreInfo;
use study::{CrashFindings, CrashMoment, Proof, Spec, StruckNodes, Tolerance};

/// Kills within which each fault must be found.
pub const MOST_KILLS: u32 = 20;
/// Kills in which a store without a fault must lose nothing.
pub const HONEST_KILLS: u32 = 1000;

const CLIENTS: u32 = 2;
const VALUE_BYTES: u32 = 228;
/// The longest time to a kill: of a store whose fault is rare, and of one that is only to be killed often.
const LONG: Duration = Duration::from_millis(400);
const SHORT: Duration = Duration::from_millis(4);

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
}

impl CrashProofs<'_> {
    /// Makes them all and hands each on; `false`: it was stopped before the end.
    ///
    /// # Errors
    /// A proof store could not be opened.
    pub fn prove(&self, stop: &AtomicBool, hear: &mut dyn FnMut(Proof)) -> Result<bool, RunError> {
        for (fault, shows) in FAULTS {
            let begun = Instant::now();
            let spec = Spec { options: [("fault".to_owned(), fault.to_owned())].into(), ..Spec::private(NAME) };
            let (kills, is_found) = self.kill(spec, MOST_KILLS, LONG, stop, &|found| shows.is_in(found))?;
            if stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
            hear(Proof {
                name: format!("crash_{}", fault.replace('-', "_")),
                passed: is_found,
                claim: format!("a store with the fault '{fault}' is found out within {MOST_KILLS} kills"),
                measured: is_found.then_some(f64::from(kills)),
                bound: Tolerance::at_most(f64::from(MOST_KILLS)),
                unit: "kills until it was found".into(),
                elapsed_s: begun.elapsed().as_secs_f64(),
                ..Proof::default()
            });
        }
        let begun = Instant::now();
        let (kills, is_accused) = self.kill(Spec::private(NAME), self.honest_kills, SHORT, stop, &|found| {
            found.lost + found.torn + found.resurrected + found.invented > 0
        })?;
        if stop.load(Ordering::Relaxed) {
            return Ok(false);
        }
        hear(Proof {
            name: "crash_honest".into(),
            passed: !is_accused,
            claim: format!("a store without a fault loses nothing in {} kills", self.honest_kills),
            measured: Some(f64::from(kills)),
            bound: Tolerance::at_least(f64::from(self.honest_kills)),
            unit: "kills without a finding".into(),
            elapsed_s: begun.elapsed().as_secs_f64(),
            ..Proof::default()
        });
        Ok(true)
    }

    /// Kills until something is found: how many kills that took, and whether it was.
    fn kill(
        &self,
        spec: Spec,
        kills: u32,
        longest: Duration,
        stop: &AtomicBool,
        shows: &dyn Fn(&CrashFindings) -> bool,
    ) -> Result<(u32, bool), RunError> {
        let Some(info): Option<&'static StoreInfo> = crash::proof::find(NAME) else { return Ok((0, false)) };
        let request = CrashRequest {
            info,
            spec,
            base: self.base.to_owned(),
            clients: CLIENTS,
            seed: self.seed,
            value_bytes: VALUE_BYTES,
            done: 0,
            cuts: kills,
            blow: Blow::Nodes { which: StruckNodes::All, stroke: Stroke::Kill, outage: Duration::ZERO },
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
            }
            if is_found || stop.load(Ordering::Relaxed) {
                enough.store(true, Ordering::Relaxed);
            }
        })?;
        Ok((made, is_found))
    }
}
