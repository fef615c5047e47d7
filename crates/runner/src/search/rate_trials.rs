//! The search for the highest rate, with real trials.

use super::bound::Bound;
use super::lab::Lab;
use super::rate::{self, RateFinding, RateTrials, Rounds, Seen, find_rate};
use crate::error::RunError;
use crate::plan::PlannedCell;
use engine::{Arrivals, Settings};
use std::time::Duration;
use study::{RateCount, RateLimit, RatePoint, RateSearch, ReasonKind, Status, TrialRecord};

/// Fewest operations of a trial that say anything.
const LEAST_OPERATIONS: u64 = 10;

/// How rates are searched.
#[derive(Clone, Copy, Debug)]
pub struct RateOptions {
    /// What must be kept.
    pub bound: Bound,
    /// Independent rounds around the edge: the n of the result.
    pub rounds: u32,
}

/// Rates of the curve below the edge, as shares of the rate found.
const CURVE: [f64; 4] = [0.25, 0.5, 0.75, 0.9];

/// Searches the highest rate for every cell of the plan, which are closed loops. An interrupted search keeps what it has.
///
/// # Errors
/// A store cannot be opened or cannot do the job, or a trial cannot be recorded.
pub fn find_rates(lab: &mut Lab<'_>, options: RateOptions) -> Result<Vec<RateSearch>, RunError> {
    let cells = lab.plan().cells.clone();
    let mut searches = Vec::new();
    for cell in cells {
        let mut search = StoreSearch { lab, cell: &cell, bound: options.bound, tried: Vec::new() };
        let mut found =
            RateSearch { store: cell.spec.to_string(), bound: options.bound.to_string(), ..RateSearch::default() };
        let ended = search.run(options, &mut found);
        found.points = points(&search.tried, options.bound);
        let stop = match ended {
            Ok(()) => false,
            Err(Halt::Interrupted) => {
                found.limited_by = RateLimit::Interrupted;
                true
            }
            Err(Halt::Fault) => {
                found.limited_by = RateLimit::Fault;
                false
            }
            Err(Halt::Run(error)) => return Err(error),
        };
        searches.push(found);
        if stop {
            break;
        }
    }
    Ok(searches)
}

enum Halt {
    Interrupted,
    /// A wrong or missing answer: a store that is wrong has no rate.
    Fault,
    Run(RunError),
}

impl From<RunError> for Halt {
    fn from(error: RunError) -> Halt {
        Halt::Run(error)
    }
}

struct StoreSearch<'l, 'a> {
    lab: &'l mut Lab<'a>,
    cell: &'l PlannedCell,
    bound: Bound,
    tried: Vec<(f64, TrialRecord)>,
}

impl StoreSearch<'_, '_> {
    fn run(&mut self, options: RateOptions, found: &mut RateSearch) -> Result<(), Halt> {
        let closed = self.lab.trial(self.cell, "closed loop")?.ok_or(Halt::Interrupted)?;
        if closed.verdict.status == Status::Void || closed.ops_per_s <= 0.0 {
            return Err(Halt::Fault);
        }
        found.counts = if units_per_s(&closed).is_some() { RateCount::Units } else { RateCount::Operations };
        found.closed_ops_per_s = rate_of(&closed);
        let seed = self.lab.plan().seed;
        let (rounds, limited_by) =
            match find_rate(self, options.bound.limit_ns, found.closed_ops_per_s, options.rounds, seed)? {
                RateFinding::Rates(rounds) => (rounds, RateLimit::Store),
                RateFinding::ClientLimited(rounds) => (rounds, RateLimit::Client),
                RateFinding::Never => (Rounds::default(), RateLimit::Bound),
            };
        found.limited_by = limited_by;
        found.rate = rounds.estimate();
        if let Some(edge) = found.rate {
            for share in CURVE {
                let rate = rate::tidy(edge.value * share);
                if !self.tried.iter().any(|(tried, _)| (tried / rate - 1.0).abs() < 0.1) {
                    self.at(rate)?;
                }
            }
        }
        Ok(())
    }
}

impl RateTrials for StoreSearch<'_, '_> {
    type Error = Halt;

    fn at(&mut self, ops_per_s: f64) -> Result<Seen, Halt> {
        let settings = self.cell.settings;
        // Arrivals of their own for every trial: rounds are independent.
        let number = self.tried.len() as u64;
        // How long what is late may still be sent behind the end; late enough to be far over the bound.
        let grace = Duration::from_nanos((self.bound.limit_ns * 20.0) as u64).max(Duration::from_secs(1));
        let settings = Settings {
            arrivals: Arrivals::Poisson { ops_per_s },
            seed: data::splitmix::mix(settings.seed ^ (number << 32)),
            deadline: settings.deadline.min(grace),
            ..settings
        };
        let cell = PlannedCell { settings, ..self.cell.clone() };
        let record = self.lab.trial(&cell, "at a rate")?.ok_or(Halt::Interrupted)?;
        if is_fault(&record) {
            return Err(Halt::Fault);
        }
        let seen = judge(&record, self.bound);
        self.tried.push((ops_per_s, record));
        Ok(seen)
    }
}

/// Units per second, where units are due and not operations.
fn units_per_s(record: &TrialRecord) -> Option<f64> {
    analysis::Metric::UnitsPerS.of_trial(record)
}

/// The rate a trial reached, counted as it was offered: in units of several operations, or in operations.
fn rate_of(record: &TrialRecord) -> f64 {
    units_per_s(record).unwrap_or(record.ops_per_s)
}

/// Whether anything but too high a rate is wrong with a trial.
fn is_fault(record: &TrialRecord) -> bool {
    let by_load = [ReasonKind::NotSent, ReasonKind::Deadline];
    let mut reasons = record.verdict.reasons.iter();
    reasons.any(|reason| reason.kind.status() == Status::Void && !by_load.contains(&reason.kind))
}

fn judge(record: &TrialRecord, bound: Bound) -> Seen {
    let latency = &record.latency_ns;
    // What rests on a few operations says nothing, and must not pass for a bound that is kept.
    let enough = latency.response.n >= LEAST_OPERATIONS;
    let figure_ns = if enough { bound.figure(&latency.response) } else { f64::MAX };
    // The client is to blame when without its own lateness the bound might have been kept.
    let client_late = enough
        && figure_ns >= bound.limit_ns
        && bound.figure(&latency.client_lag) > bound.limit_ns.min(figure_ns) / 2.0;
    Seen { figure_ns, kept_up: record.not_sent == 0 && record.verdict.is_ranked(), client_late }
}

/// What was tried, by rate.
fn points(tried: &[(f64, TrialRecord)], bound: Bound) -> Vec<RatePoint> {
    let mut rates: Vec<f64> = tried.iter().map(|(rate, _)| *rate).collect();
    rates.sort_by(f64::total_cmp);
    rates.dedup();
    let point = |rate: f64| {
        let here: Vec<&TrialRecord> = tried.iter().filter(|(at, _)| *at == rate).map(|(_, record)| record).collect();
        let median = |figure: &dyn Fn(&TrialRecord) -> f64| {
            stats::median(&here.iter().map(|record| figure(record)).collect::<Vec<_>>()).unwrap_or_default()
        };
        let seen: Vec<Seen> = here.iter().map(|record| judge(record, bound)).collect();
        let within = |one: &&Seen| one.kept_up && !one.client_late && one.figure_ns < bound.limit_ns;
        RatePoint {
            offered_ops_per_s: rate,
            achieved_ops_per_s: median(&rate_of),
            p50_ns: median(&|record| record.latency_ns.response.p50 as f64),
            p99_ns: median(&|record| record.latency_ns.response.p99 as f64),
            p99_9_ns: median(&|record| record.latency_ns.response.p99_9 as f64),
            n: here.len() as u32,
            within: seen.iter().filter(within).count() as u32,
            client_late: seen.iter().filter(|one| one.client_late).count() as u32,
        }
    };
    rates.into_iter().map(point).collect()
}
