//! The choice of a store by what the user needs, with real trials and within a budget of time.

use crate::lab::Lab;
use crate::race::{Lap, Laps, RaceStanding, Raced, race};
use analysis::{Better, Metric, Need, meets_all, shown_at, summarise};
use runner::{PlannedCell, RunError};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use study::{
    Alternative, Cell, Class, Decision, Durability, Meets, NeedShown, Quantity, RaceEnd, Rejection, RejectionKind,
    StoreChoice,
};

/// Beyond this share of the budget a running trial is stopped.
const HARD_SHARE: f64 = 1.05;

/// The options of a choice.
pub struct ChooseOptions {
    /// What the user needs.
    pub needs: Vec<Need>,
    /// Wall time, from `begun`.
    pub budget: Duration,
    /// The start of the budget.
    pub begun: Instant,
}

/// Why there is no choice.
#[derive(Debug, thiserror::Error)]
pub enum ChooseError {
    /// A trial could not be run or recorded.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Not enough time for a single trial.
    #[error("--budget is too small: no trial was finished in {used_s:.0} s; give it {needed_s:.0}s or more")]
    Budget {
        /// The time that was used.
        used_s: f64,
        /// A budget in which there would be some trials.
        needed_s: f64,
    },
    /// The user interrupted before anything was decided.
    #[error("interrupted before anything was decided")]
    Interrupted,
}

/// Races the stores of the lab's plan: all together where there are needs, else those of one class and level of durability. `stop` is the lab's
/// flag: it is set when the budget is used up or `interrupted` is set.
///
/// # Errors
/// See [`ChooseError`].
pub fn choose(
    lab: &mut Lab<'_>,
    options: &ChooseOptions,
    stop: &AtomicBool,
    interrupted: &AtomicBool,
) -> Result<StoreChoice, ChooseError> {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                let is_late = options.begun.elapsed() > options.budget.mul_f64(HARD_SHARE);
                if interrupted.load(Ordering::Relaxed) || is_late {
                    stop.store(true, Ordering::Relaxed);
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let chosen = decide(lab, options, interrupted);
        over.store(true, Ordering::Relaxed);
        chosen
    })
}

fn decide(lab: &mut Lab<'_>, options: &ChooseOptions, interrupted: &AtomicBool) -> Result<StoreChoice, ChooseError> {
    let planned = lab.plan().cells.clone();
    let (baselines, stores): (Vec<PlannedCell>, Vec<PlannedCell>) = planned.into_iter().partition(|cell| cell.baseline);
    for baseline in &baselines {
        lab.trial(baseline, "baseline")?;
    }
    let groups = groups(lab, stores, &options.needs);
    let mut choice = StoreChoice { budget_s: options.budget.as_secs_f64(), ..StoreChoice::default() };
    let count = groups.len() as u32;
    for (at, (kind, stores)) in (0u32..).zip(groups) {
        // Each group has its share of the time that is left.
        let left = options.budget.saturating_sub(options.begun.elapsed());
        let deadline = options.begun.elapsed() + left / (count - at);
        let mut field = Field { lab, options, baselines: &baselines, stores: &stores };
        let seed = field.lab.plan().seed;
        let mut raced = race(&mut field, stores.len(), deadline, seed)?;
        if raced.ended == RaceEnd::Interrupted && !interrupted.load(Ordering::Relaxed) {
            raced.ended = RaceEnd::Budget; // the trial that was under way was stopped with it
        }
        choice.trials += raced.trials;
        choice.decisions.push(decision(&field, kind, &raced));
    }
    choice.used_s = options.begun.elapsed().as_secs_f64();
    match choice.trials {
        0 if interrupted.load(Ordering::Relaxed) => Err(ChooseError::Interrupted),
        0 => Err(ChooseError::Budget { used_s: choice.used_s, needed_s: (4.0 * choice.used_s).ceil() }),
        _ => Ok(choice),
    }
}

/// What stores have in common that are raced against each other without needs.
type Kind = (Class, Option<Durability>);

/// Stores that are raced against each other.
type Races = Vec<(Option<Kind>, Vec<PlannedCell>)>;

fn groups(lab: &Lab<'_>, stores: Vec<PlannedCell>, needs: &[Need]) -> Races {
    if !needs.is_empty() {
        return vec![(None, stores)];
    }
    let mut groups: Vec<(Kind, Vec<PlannedCell>)> = Vec::new();
    for store in stores {
        let cell = lab.plan().cell(&store);
        let key = (cell.class, cell.durability);
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, group)) => group.push(store),
            None => groups.push((key, vec![store])),
        }
    }
    groups.sort_by_key(|(key, _)| *key);
    groups.into_iter().map(|(kind, stores)| (Some(kind), stores)).collect()
}

/// Stores that race, as numbers.
struct Field<'f, 'l> {
    lab: &'f mut Lab<'l>,
    options: &'f ChooseOptions,
    baselines: &'f [PlannedCell],
    stores: &'f [PlannedCell],
}

impl Field<'_, '_> {
    /// A cell with what its trials show so far.
    fn seen(&self, planned: &PlannedCell) -> Cell {
        let mut cell = match self.lab.tested(planned) {
            Some(tested) => Cell { trials: tested.trials.clone(), ..tested.cell.clone() },
            None => self.lab.plan().cell(planned),
        };
        summarise(&mut cell);
        cell
    }

    fn shown(&self, store: usize, alpha: f64) -> Vec<NeedShown> {
        let baselines: Vec<Cell> = self.baselines.iter().map(|planned| self.seen(planned)).collect();
        let baselines: Vec<&Cell> = baselines.iter().collect();
        let cell = self.seen(&self.stores[store]);
        self.options.needs.iter().map(|need| shown_at(need, &cell, &baselines, alpha)).collect()
    }

    fn name(&self, store: usize) -> String {
        self.stores[store].spec.to_string()
    }
}

impl Laps for Field<'_, '_> {
    type Error = RunError;

    fn lap(&mut self, store: usize, round: u32) -> Result<Lap, RunError> {
        let planned = &self.stores[store];
        let record = match self.lab.trial(planned, &format!("round {round}")) {
            Ok(Some(record)) => record,
            Ok(None) => return Ok(Lap::Stopped),
            Err(error @ RunError::Record(_)) => return Err(error),
            // One that cannot be run here is out, and the others go on.
            Err(_) => return Ok(Lap::NotRun),
        };
        let metric = Metric::ranking(&self.lab.plan().cell(planned));
        let figure = metric.of_trial(&record).filter(|figure| figure.is_finite() && *figure > 0.0);
        Ok(match figure.filter(|_| record.verdict.is_ranked()) {
            Some(figure) if metric.better() == Better::Higher => Lap::Figure(1.0 / figure),
            Some(figure) => Lap::Figure(figure),
            None => Lap::Void,
        })
    }

    fn meets(&self, store: usize, alpha: f64) -> Meets {
        meets_all(&self.shown(store, alpha))
    }

    fn spent(&self) -> Duration {
        self.options.begun.elapsed()
    }
}

/// What came of a race: those still in that meet the needs are taken; others that meet them are good enough.
fn decision(field: &Field<'_, '_>, kind: Option<Kind>, raced: &Raced) -> Decision {
    let shown: Vec<Vec<NeedShown>> =
        (0..raced.standings.len()).map(|store| field.shown(store, analysis::NEED_ALPHA)).collect();
    let (class, durability) = kind.map_or((None, None), |(class, durability)| (Some(class), durability));
    let mut decision = Decision { class, durability, ended: raced.ended, ..Decision::default() };
    let by_median = |mut stores: Vec<usize>| {
        let typical = |store: &usize| stats::median(&raced.figures[*store]).unwrap_or(f64::INFINITY);
        stores.sort_by(|a, b| typical(a).total_cmp(&typical(b)));
        stores
    };
    let all = by_median((0..raced.standings.len()).collect());
    let mut first = None;
    for store in all {
        let rejected = |kind, because: String| Rejection { store: field.name(store), kind, because };
        match (raced.standings[store], meets_all(&shown[store])) {
            (RaceStanding::Void, _) => decision.out.push(rejected(RejectionKind::Void, reason(field, store))),
            (RaceStanding::NotRun, _) => decision.out.push(rejected(RejectionKind::NotRun, String::new())),
            (RaceStanding::Missed, _) | (_, Meets::Missed) => {
                let missed = shown[store].iter().find(|one| one.meets == Meets::Missed);
                decision
                    .out
                    .push(rejected(RejectionKind::Missed, missed.map_or(String::new(), |one| one.need.clone())));
            }
            (_, Meets::NotShown) => decision.not_shown.push(field.name(store)),
            (RaceStanding::In, Meets::Met) if raced.figures[store].is_empty() => {
                decision.not_shown.push(field.name(store))
            }
            (RaceStanding::In, Meets::Met) => {
                first.get_or_insert(store);
                decision.take.push(field.name(store));
            }
            (RaceStanding::Worse | RaceStanding::Dear, Meets::Met) => {
                let times = first.and_then(|first| times(&raced.figures[store], &raced.figures[first]));
                decision.also.push(Alternative { store: field.name(store), times });
            }
        }
    }
    decision
}

/// How many times as much the one needs as the other.
fn times(more: &[f64], less: &[f64]) -> Option<Quantity> {
    stats::median_ratio(more, less, stats::Bootstrap::default()).map(|ratio| Quantity {
        value: ratio.value,
        low: ratio.low,
        high: ratio.high,
        level: ratio.level,
        n: ratio.n as u32,
    })
}

fn reason(field: &Field<'_, '_>, store: usize) -> String {
    let verdict = field.seen(&field.stores[store]).verdict;
    verdict.reasons.first().map_or(String::new(), |reason| reason.kind.name())
}
