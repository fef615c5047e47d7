//! Kills of the stores that would be taken, and what they show.

use crate::commands::crash::case::{case, promise, remember, sum_up, take_facts};
use crate::commands::shown;
use crate::output::note;
use runner::{Blow, BrokenFiles, CrashRequest, Crashed, Execution, PlannedCell};
use selftest::ShownLevels;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use store::{Facts, Keeps};
use study::{
    Cell, Crash, CrashCase, CrashMeans, CrashMoment, Durability, Promise, ShownPromise, ShownWhere, Spec, StruckNodes,
    Target,
};

/// Clients that write, and their longest value: as `kvtrial crash` has it.
const CLIENTS: u32 = 8;
const VALUE_BYTES: u32 = 228;
/// The longest time from the first acknowledgements to a kill.
const WITHIN: Duration = Duration::from_millis(300);

/// Kills stores on behalf of a choice.
pub struct Killer<'k> {
    /// Kills per store; 0: none is killed.
    pub cuts: u32,
    /// The directory below which private directories are made.
    pub base: PathBuf,
    /// Seed of what is written and when the kills come.
    pub seed: u64,
    /// Longest wait for any reply.
    pub deadline: Duration,
    /// The process in which clients run.
    pub execution: Execution,
    /// Set when the choice is to end.
    pub stop: &'k AtomicBool,
    /// The kills so far, as `kvtrial crash` writes them down.
    pub made: Crash,
    /// Everything that is known of stores that were killed.
    pub shown: ShownLevels,
}

impl<'k> Killer<'k> {
    /// Makes a killer of each store, `cuts` times.
    pub fn new(cuts: u32, base: PathBuf, seed: u64, deadline: Duration, stop: &'k AtomicBool) -> Killer<'k> {
        let made = Crash {
            means: CrashMeans::Kill,
            nodes: StruckNodes::All,
            during: CrashMoment::Write,
            cuts,
            clients: CLIENTS,
            value_bytes: Some(VALUE_BYTES),
            within_s: Some(WITHIN.as_secs_f64()),
            ..Crash::default()
        };
        let execution = crate::commands::fork_server::execution();
        Killer { cuts, base, seed, deadline, execution, stop, made, shown: shown::known() }
    }

    /// Makes `cuts` cuts beyond those there are.
    fn cut(&mut self, planned: &PlannedCell, spec: &Spec, at: usize, cuts: u32) -> Option<Facts> {
        let done = self.made.cases[at].cuts.len() as u32;
        let request = CrashRequest {
            info: planned.info,
            spec: spec.clone(),
            base: self.base.clone(),
            clients: CLIENTS,
            seed: self.seed,
            value_bytes: VALUE_BYTES,
            done,
            cuts: done + cuts,
            blow: Blow::Nodes { which: StruckNodes::All, stroke: jobkit::Stroke::Kill, outage: Duration::ZERO },
            during: CrashMoment::Write,
            earliest: Duration::ZERO,
            longest: WITHIN,
            deadline: self.deadline,
            broken: BrokenFiles::Removed,
        };
        let mut started = None;
        let case = &mut self.made.cases[at];
        let made = runner::crash(&request, &self.execution, self.stop, &mut |heard| match heard {
            Crashed::Opened(facts, level) => {
                take_facts(case, facts);
                started = Some(facts.clone());
                case.level.get_or_insert(level);
            }
            Crashed::Cut(cut) => {
                case.cuts.push(cut.clone());
                sum_up(case);
            }
        });
        if let Err(error) = made {
            case.problem = error.to_string();
        }
        started
    }
}

impl search::Kills for Killer<'_> {
    fn are_asked_for(&self) -> bool {
        self.cuts > 0
    }

    fn known(&self, cell: &Cell) -> Option<ShownPromise> {
        let level = cell.durability?;
        let spec: Spec = cell.store.parse().ok()?;
        let named = Spec { durability: None, ..spec }.to_string();
        let is_of = |case: &&CrashCase| case.store == named && case.level == Some(level);
        let made =
            self.made.cases.iter().find(is_of).filter(|case| matches!(case.promise, Promise::Kept | Promise::Broken));
        if let Some(case) = made {
            return Some(promise(case));
        }
        let facts = Facts {
            product: cell.product.clone(),
            version: cell.store_version.clone(),
            config: cell.store_config.clone(),
            ..Facts::default()
        };
        let started = shown::started(&cell.store, level, &facts)?;
        self.shown.of(&started).cloned()
    }

    fn kill(&mut self, planned: &PlannedCell, cell: &Cell, time: Duration) {
        let level = cell.durability.unwrap_or(Durability::None);
        let keeps_nothing = layers::declared(planned.info, &planned.spec).keeps == Keeps::Nothing;
        if level == Durability::None || planned.spec.target != Target::Private || keeps_nothing {
            return;
        }
        let is_shown = |it: &ShownPromise| it.place == ShownWhere::Here && it.cuts >= self.cuts;
        if self.known(cell).is_some_and(|known| is_shown(&known) || known.promise == Promise::Broken) {
            return;
        }
        let begun = Instant::now();
        note(&format!("kvtrial: killing {} while clients write, up to {} times", planned.spec, self.cuts));
        let spec = planned.spec.clone().with_durability(level);
        let fresh = case(planned.info, &spec);
        let is_it = |known: &CrashCase| known.store == fresh.store && known.level == Some(level);
        let at = self.made.cases.iter().position(is_it).unwrap_or_else(|| {
            self.made.cases.push(fresh);
            self.made.cases.len() - 1
        });
        let done = self.made.cases[at].cuts.len();
        let missing = self.cuts.saturating_sub(done as u32);
        // The first shows how long one takes.
        let mut started = self.cut(planned, &spec, at, missing.min(1));
        let each = begun.elapsed().max(Duration::from_millis(1));
        let affordable = time.saturating_sub(begun.elapsed()).as_secs_f64() / each.as_secs_f64();
        let more = (affordable as u32).min(missing.saturating_sub(1));
        if more > 0 && self.made.cases[at].cuts.len() > done {
            started = self.cut(planned, &spec, at, more).or(started);
        }
        if let Some(facts) = started {
            remember(&self.made.cases[at], CrashMeans::Kill, done, &facts);
        }
    }
}
