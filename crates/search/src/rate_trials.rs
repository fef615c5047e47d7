//! The search for the highest rate, with real trials.

use crate::bound::Bound;
use crate::lab::Lab;
use crate::rate::{self, RateFinding, RateRounds, RateSeen, RateTrials, find_rate};
use crate::rate_judge::{is_fault, judge, points, rate_of, units_per_s};
use engine::{Arrivals, Settings};
use runner::{Plan, PlannedCell, RunError};
use std::time::Duration;
use store::StoreInfo;
use study::{BudgetLayer, Class, MoreClients, RateCount, RateLimit, RateSearch, Spec, Status, TrialRecord};

/// The options of a search for rates.
#[derive(Clone, Copy, Debug)]
pub struct RateOptions {
    /// The bound that must be kept.
    pub bound: Bound,
    /// Independent rounds around the edge: the n of the result.
    pub rounds: u32,
}

/// Rates of the curve below the edge, as shares of the rate found.
const CURVE: [f64; 4] = [0.25, 0.5, 0.75, 0.9];
/// Whether the clients were too few is tried with this many times as many, at this multiple of the rate found.
const MORE_CLIENTS: u32 = 4;
const ABOVE_THE_EDGE: f64 = 1.25;
/// Of trials with more clients: how many, and how many must keep the bound.
const TRIALS_WITH_MORE: u32 = 3;
const KEPT_WITH_MORE: u32 = 2;
/// Most clients that are tried.
const MOST_CLIENTS: u32 = 1024;
/// How much more another number of clients must keep to show that these were too few.
const CLEARLY_MORE: f64 = 1.1;

/// Returns the searches of a plan before they have begun: what is left of them when they are cut off.
pub fn unsearched(plan: &Plan, bound: Bound) -> Vec<RateSearch> {
    let search = |cell: &PlannedCell| RateSearch {
        store: cell.spec.to_string(),
        varied: cell.varied.clone(),
        clients: cell.settings.clients,
        bound: bound.to_string(),
        limited_by: RateLimit::Interrupted,
        ..RateSearch::default()
    };
    plan.cells.iter().map(search).collect()
}

/// Searches the highest rate for every cell of the plan, which are closed loops. A search that is cut off keeps what it has, and those behind
/// it stay as they are in `searches`: [`unsearched`].
///
/// # Errors
/// A store cannot be opened or cannot do the job, or a trial cannot be recorded.
pub fn find_rates(lab: &mut Lab<'_>, options: RateOptions, searches: &mut [RateSearch]) -> Result<(), RunError> {
    let cells = lab.plan().cells.clone();
    let mut unopened = None;
    for (cell, found) in cells.iter().zip(searches.iter_mut()) {
        let mut search = StoreSearch { lab, cell, bound: options.bound, tried: Vec::new() };
        let ended = search.run(options, found);
        found.points = points(&search.tried, options.bound, cell.settings.duration);
        match ended {
            Ok(()) => {}
            Err(Halt::Interrupted) => {
                found.limited_by = RateLimit::Interrupted;
                break;
            }
            Err(Halt::Fault) => found.limited_by = RateLimit::Fault,
            // The others are searched.
            Err(Halt::Run(error)) if error.is_of_here() => {
                found.limited_by = RateLimit::NotRun;
                unopened.get_or_insert(error);
            }
            Err(Halt::Run(error)) => {
                found.limited_by = RateLimit::Interrupted;
                return Err(error);
            }
        }
    }
    compare_clients(searches);
    match unopened {
        Some(error) if searches.iter().all(|search| search.limited_by == RateLimit::NotRun) => Err(error),
        _ => Ok(()),
    }
}

/// Where the number of clients varies, one number shows of another whether it was too small.
fn compare_clients(searches: &mut [RateSearch]) {
    let others = |search: &RateSearch| {
        let mut varied = search.varied.clone();
        varied.remove(CLIENTS);
        (search.store.clone(), varied)
    };
    let known: Vec<(RateSearch, f64)> =
        searches.iter().filter_map(|search| Some((search.clone(), search.rate?.value))).collect();
    for search in searches.iter_mut().filter(|search| search.limited_by == RateLimit::Store) {
        let Some(rate) = search.rate else { continue };
        let better = known
            .iter()
            .filter(|(other, _)| other.clients > search.clients && others(other) == others(search))
            .max_by(|(_, a), (_, b)| a.total_cmp(b))
            .filter(|(_, most)| *most > CLEARLY_MORE * rate.value);
        if let Some((other, offered_ops_per_s)) = better {
            search.limited_by = RateLimit::Connections;
            search.more_clients = Some(MoreClients { clients: other.clients, offered_ops_per_s: *offered_ops_per_s });
        }
    }
}

/// The engine's key for the number of clients.
const CLIENTS: &str = "clients";

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
        let finding = find_rate(self, options.bound.limit_ns, found.closed_ops_per_s, options.rounds, seed)?;
        let mut lowest = None;
        let (rounds, limited_by) = match finding {
            RateFinding::Rates(rounds) => (rounds, RateLimit::Store),
            RateFinding::ClientLimited(rounds) => (rounds, RateLimit::Client),
            RateFinding::NotOffered(rounds) => (rounds, RateLimit::NotOffered),
            RateFinding::Unsettled(rate) => (RateRounds { rates: vec![rate], clipped: 1 }, RateLimit::Unsettled),
            RateFinding::Never(rate) => {
                lowest = Some(rate);
                (RateRounds::default(), RateLimit::Bound)
            }
        };
        found.rate = rounds.estimate();
        if let Some(rate) = lowest {
            found.wire_ns = self.wire(rate)?;
        }
        found.more_clients = match found.rate {
            Some(edge) if limited_by == RateLimit::Store => self.more_clients(edge.value)?,
            _ => None,
        };
        if let Some(edge) = found.rate {
            for share in CURVE {
                let rate = rate::tidy(edge.value * share);
                if !self.tried.iter().any(|(tried, _)| (tried / rate - 1.0).abs() < 0.1) {
                    self.at(rate)?;
                }
            }
        }
        found.limited_by = match limited_by {
            RateLimit::Store if found.more_clients.is_some() => RateLimit::Connections,
            RateLimit::Bound if found.wire_ns.is_some() => RateLimit::Client,
            other => other,
        };
        Ok(())
    }

    /// How a trial of this cell at a rate is driven.
    fn settings(&self, ops_per_s: f64) -> Settings {
        let settings = self.cell.settings;
        // Arrivals of their own for every trial: rounds are independent.
        let number = self.tried.len() as u64;
        // How long what is late may still be sent behind the end; late enough to be far over the bound.
        let grace = Duration::from_nanos((self.bound.limit_ns * 20.0) as u64).max(Duration::from_secs(1));
        Settings {
            arrivals: Arrivals::Poisson { ops_per_s },
            seed: data::splitmix::mix(settings.seed ^ (number << 32)),
            deadline: settings.deadline.min(grace),
            ..settings
        }
    }

    fn judge(&self, record: &TrialRecord, ops_per_s: f64) -> RateSeen {
        judge(record, self.bound, ops_per_s, self.cell.settings.duration)
    }

    /// What more clients keep above the edge; `None`: no more than these, or another number of them is searched beside this one.
    fn more_clients(&mut self, edge: f64) -> Result<Option<MoreClients>, Halt> {
        let clients = self.cell.settings.clients.saturating_mul(MORE_CLIENTS).min(MOST_CLIENTS);
        let is_searched =
            |cell: &PlannedCell| cell.spec == self.cell.spec && cell.settings.clients > self.cell.settings.clients;
        if clients <= self.cell.settings.clients || self.lab.plan().cells.iter().any(is_searched) {
            return Ok(None);
        }
        let rate = rate::tidy(edge * ABOVE_THE_EDGE);
        let mut kept = 0;
        for trial in 0..TRIALS_WITH_MORE {
            if kept + TRIALS_WITH_MORE - trial < KEPT_WITH_MORE || kept == KEPT_WITH_MORE {
                break;
            }
            let settings = self.settings(rate);
            // A library's clients are threads: as many more of these.
            let threads = settings.threads.map(|threads| match self.cell.info.class {
                Class::Network | Class::Distributed => threads,
                _ => threads.saturating_mul(MORE_CLIENTS),
            });
            let seed = data::splitmix::mix(settings.seed ^ u64::from(trial));
            let mut cell =
                PlannedCell { settings: Settings { clients, threads, seed, ..settings }, ..self.cell.clone() };
            if let Some(value) = cell.varied.get_mut(CLIENTS) {
                *value = clients.to_string();
            }
            // More clients than the store takes keep nothing.
            let Ok(tried) = self.lab.trial(&cell, "with more clients") else { return Ok(None) };
            let record = tried.ok_or(Halt::Interrupted)?;
            kept += u32::from(!is_fault(&record) && self.judge(&record, rate).is_within(self.bound.limit_ns));
        }
        Ok((kept >= KEPT_WITH_MORE).then_some(MoreClients { clients, offered_ops_per_s: rate }))
    }

    /// The bounded figure of a server that does nothing, at this rate and over the same kind of socket, where even that breaks the bound.
    fn wire(&mut self, ops_per_s: f64) -> Result<Option<f64>, Halt> {
        let class = self.cell.info.class;
        let Some(transport) = self.cell.info.transport(&self.cell.spec).filter(|_| class.has_servers()) else {
            return Ok(None);
        };
        let is_it = |info: &&StoreInfo| info.layer() == Some(BudgetLayer::Wire) && info.transport == Some(transport);
        let Some(info) = catalog::all().find(is_it) else { return Ok(None) };
        let spec = Spec::private(info.name);
        let cell = PlannedCell { info, spec, baseline: true, settings: self.settings(ops_per_s), ..self.cell.clone() };
        let Ok(tried) = self.lab.trial(&cell, "the wire alone") else { return Ok(None) };
        let record = tried.ok_or(Halt::Interrupted)?;
        let seen = self.judge(&record, ops_per_s);
        Ok((!is_fault(&record) && seen.figure_ns >= self.bound.limit_ns && seen.figure_ns < f64::MAX)
            .then_some(seen.figure_ns))
    }
}

impl RateTrials for StoreSearch<'_, '_> {
    type Error = Halt;

    fn at(&mut self, ops_per_s: f64) -> Result<RateSeen, Halt> {
        let cell = PlannedCell { settings: self.settings(ops_per_s), ..self.cell.clone() };
        let record = self.lab.trial(&cell, "at a rate")?.ok_or(Halt::Interrupted)?;
        if is_fault(&record) {
            return Err(Halt::Fault);
        }
        let seen = self.judge(&record, ops_per_s);
        self.tried.push((ops_per_s, record));
        Ok(seen)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::compare_clients;
    use study::{Quantity, RateLimit, RateSearch};

    fn search(store: &str, clients: u32, rate: f64, limited_by: RateLimit) -> RateSearch {
        let rate = Some(Quantity { value: rate, ..Quantity::default() });
        let varied = [("clients".to_owned(), clients.to_string())].into();
        RateSearch { store: store.into(), clients, varied, rate, limited_by, ..RateSearch::default() }
    }

    #[test]
    fn clients_were_too_few_where_more_of_them_keep_clearly_more_on_the_same_store() {
        let mut searches = [
            search("a", 1, 500.0, RateLimit::Store),
            search("a", 6, 2_900.0, RateLimit::Store),
            search("b", 1, 500.0, RateLimit::Store),
            search("b", 6, 540.0, RateLimit::Store),
            search("c", 1, 500.0, RateLimit::Client),
            search("c", 6, 2_900.0, RateLimit::Store),
        ];
        compare_clients(&mut searches);
        let limits = searches.each_ref().map(|search| search.limited_by);
        let [store, connections, client] = [RateLimit::Store, RateLimit::Connections, RateLimit::Client];
        assert_eq!(limits, [connections, store, store, store, client, store]);
        let more = searches[0].more_clients.unwrap();
        assert_eq!((more.clients, more.offered_ops_per_s), (6, 2_900.0));
    }
}
