//! From what is asked for to a plan: one way for every command that runs something.

use crate::changes;
use crate::execution::Execution;
use crate::faults::Faults;
use crate::job_cache::JobCache;
use crate::plan::{Asked, Histories, KeysFound, Plan, PlannedStore};
use crate::planned_cell::PlannedCell;
use crate::units;
use crate::vary::{Axis, Variation, VaryError};
use engine::{Arrivals, Settings};
use jobkit::{Job, JobError, JobInfo, Params};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;
use store::{Keeps, StoreError};
use study::{Class, Durability, Spec, Target, TrialOrder};

/// A request for a study: job, stores and rounds.
#[derive(Clone)]
pub struct Request {
    /// The job.
    pub job: &'static JobInfo,
    /// The job's input.
    pub data: Option<String>,
    /// The job's parameters, all of them.
    pub params: Params,
    /// The stores, baselines first.
    pub stores: Vec<PlannedStore>,
    /// The settings that drive phases.
    pub settings: Settings,
    /// The number and order of rounds.
    pub rounds: Rounds,
    /// Seed of order, keys and arrivals.
    pub seed: u64,
    /// The directory below which private directories are made.
    pub base: PathBuf,
    /// The treatment of the job's keys in the user's own store.
    pub keys_found: KeysFound,
    /// The process in which trials are carried out.
    pub execution: Execution,
}

/// The number of times each cell is run, and the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rounds {
    /// The order of trials.
    pub order: TrialOrder,
    /// Warm-up trials a cell.
    pub warmups: u32,
    /// Counted trials a cell.
    pub repeats: u32,
    /// If the number of repeats is not given: the longest time the study may take.
    pub patience: Option<Duration>,
}

impl Rounds {
    /// A single trial that counts.
    pub const ONCE: Rounds = Rounds { order: TrialOrder::Random, warmups: 0, repeats: 1, patience: None };
}

/// Why it cannot be done.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// Input or parameters the job cannot work with, or that it cannot be done on a store.
    #[error("{0}")]
    Job(String),
    /// A store that cannot be had with these options.
    #[error("{0}")]
    Store(#[from] StoreError),
    /// A key that cannot be varied.
    #[error("{0}")]
    Vary(#[from] VaryError),
    /// The least that the job needs exceeds what is free.
    #[error("-s {0}: {1}")]
    NoRoom(String, Shortage),
    /// No store is left.
    #[error("none of the stores can do the job; name one with -s, see 'kvtrial stores'")]
    Nowhere,
}

/// The memory or disk that a job needs, where that exceeds what is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shortage {
    /// Keys and values, at least.
    pub data_bytes: u64,
    /// The memory kvtrial needs to remember each key, to judge every reply.
    pub books_bytes: u64,
    /// The bytes that are free.
    pub free_bytes: u64,
    /// The kind of room.
    pub room: Room,
}

impl Shortage {
    /// Returns all that is needed.
    pub fn needed_bytes(&self) -> u64 {
        self.data_bytes.saturating_add(self.books_bytes)
    }
}

/// The kind of room that holds the keys and values of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// Memory.
    Memory,
    /// A disk.
    Disk,
}

impl Request {
    /// Returns the study of every combination on every store. The input of every combination is read; what the user did not name and the
    /// job cannot be done on is left out; `hear` hears of it, as of warnings. What the user named is refused. Nothing is started or made
    /// for that. What a user's own server can do is known only once it was asked: it is checked when it is opened.
    ///
    /// # Errors
    /// What is asked for cannot be done.
    pub fn study(self, variation: &Variation, hear: &mut dyn FnMut(&str)) -> Result<Plan, RequestError> {
        self.is_any_here()?;
        let mut job_cache = self.job_cache();
        let mut left = Vec::new();
        let mut told = BTreeSet::new();
        for mut cell in variation.cells(&self.stores, &self.params, self.settings)? {
            let job = job_cache.add(&cell.params).map_err(|problem| RequestError::Job(about(&cell, problem)))?;
            for warning in job.warnings() {
                if told.insert(warning.clone()) {
                    hear(&warning);
                }
            }
            if job.is_recorded() {
                if cell.settings.arrivals != Arrivals::Closed {
                    let problem =
                        "the operations of this job are due as they were recorded; leave --rate and --poisson out";
                    return Err(RequestError::Job(problem.into()));
                }
                cell.settings.arrivals = Arrivals::Recorded;
            }
            if let Some(sentence) = units::sentence(cell.settings.arrivals, || job.unit_operations())
                && told.insert(sentence.clone())
            {
                hear(&sentence);
            }
            match host::check(cell.info, &cell.spec) {
                // One that is not here is tried, says why it was not run, and the others run.
                Ok(()) | Err(StoreError::NotFound { .. } | StoreError::NotBuilt { .. }) => {}
                Err(error) => return Err(error.into()),
            }
            cell.change = job.change();
            if let Err(problem) = changes::of_cell(&cell) {
                if self.is_named(&cell.spec) {
                    return Err(RequestError::Job(problem));
                }
                if told.insert(cell.spec.to_string()) {
                    hear(&format!("left out: {problem}"));
                }
                continue;
            }
            let known = !matches!(cell.spec.target, Target::Server(_));
            match job.suits(&layers::declared(cell.info, &cell.spec)) {
                Err(problem) if known && self.is_named(&cell.spec) => {
                    return Err(RequestError::Job(format!("-s {}: {}", cell.spec, about(&cell, problem))));
                }
                Err(problem) if known => {
                    if told.insert(cell.spec.to_string()) {
                        hear(&format!("{} is left out: {problem}", cell.label()));
                    }
                }
                _ => match self.shortage(job.as_ref(), &cell) {
                    None => left.push(cell),
                    Some(shortage) if cell.baseline && !self.is_named(&cell.spec) => {
                        if told.insert(cell.spec.to_string()) {
                            hear(&format!("{} is left out: it has too little room ({shortage})", cell.label()));
                        }
                    }
                    Some(shortage) => return Err(RequestError::NoRoom(cell.spec.to_string(), shortage)),
                },
            }
        }
        if left.is_empty() { Err(RequestError::Nowhere) } else { Ok(self.plan(job_cache, left, variation)) }
    }

    /// Returns the search of the first store for the best of these settings, as it begins: with the first value of each. Every value is
    /// checked with the others at their first, so that one that cannot be used is refused before anything is started.
    ///
    /// # Errors
    /// What is asked for cannot be done; with the value that is the reason.
    pub fn search(self, axes: &[Axis]) -> Result<Plan, RequestError> {
        let variation = Variation { axes: axes.to_vec(), ..Variation::default() };
        let Some(store) = self.stores.first() else { return Err(RequestError::Nowhere) };
        let mut job_cache = self.job_cache();
        let mut cells = Vec::new();
        for (key, axis) in axes.iter().enumerate() {
            for value in 0..axis.values.len() {
                let mut setting = vec![0; axes.len()];
                setting[key] = value;
                let cell = variation.cell(&setting, store, &self.params, self.settings)?;
                let about = |problem: &dyn std::fmt::Display| {
                    RequestError::Job(format!("{}={}: {problem}", axis.key, axis.values[value]))
                };
                let prepared = job_cache.add(&cell.params).map_err(|problem| about(&problem))?;
                host::check(cell.info, &cell.spec).map_err(|problem| about(&problem))?;
                prepared.suits(&layers::declared(cell.info, &cell.spec)).map_err(|problem| {
                    about(&format!("{problem}. Leave it out: --vary {}=... with the possible values", axis.key))
                })?;
                if let Some(shortage) = self.shortage(prepared.as_ref(), &cell) {
                    return Err(RequestError::NoRoom(cell.label(), shortage));
                }
                cells.push(cell);
            }
        }
        cells.truncate(1);
        Ok(self.plan(job_cache, cells, &variation))
    }

    /// Returns a question to the stores, for which no input need be read here.
    ///
    /// # Errors
    /// A setting is out of range.
    pub fn question(self) -> Result<Plan, RequestError> {
        let variation = Variation::none();
        let cells = variation.cells(&self.stores, &self.params, self.settings)?;
        let job_cache = self.job_cache();
        Ok(self.plan(job_cache, cells, &variation))
    }

    fn job_cache(&self) -> JobCache {
        JobCache::new(self.job, self.data.clone(), self.seed)
    }

    /// The only place where a plan is made.
    fn plan(self, job_cache: JobCache, cells: Vec<PlannedCell>, variation: &Variation) -> Plan {
        let Request { job, mut stores, rounds, seed, base, keys_found, execution, .. } = self;
        stores.retain(|store| cells.iter().any(|cell| cell.info.name == store.info.name));
        let Rounds { order, warmups, repeats, patience } = rounds;
        let (varied, sampled) = (variation.varied(&stores), variation.sampled);
        Plan {
            job,
            job_cache,
            cells,
            varied,
            sampled,
            order,
            repeats,
            patience,
            warmups,
            seed,
            base,
            keys_found,
            execution,
            faults: Faults::default(),
            histories: Histories::default(),
            server_memory_bytes: None,
        }
    }

    /// Refuses stores of which none is on this machine.
    fn is_any_here(&self) -> Result<(), StoreError> {
        let mut found =
            self.stores.iter().filter(|store| !store.baseline).map(|store| host::present(store.info, &store.spec));
        let Some(Err(first)) = found.next() else { return Ok(()) };
        if found.any(|other| other.is_ok()) { Ok(()) } else { Err(first) }
    }

    fn is_named(&self, spec: &Spec) -> bool {
        let same = |store: &PlannedStore| store.spec.name == spec.name && store.spec.target == spec.target;
        self.stores.iter().any(|store| store.asked == Asked::ByName && same(store))
    }

    /// What is missing where what the job needs at least exceeds what is free: memory for what kvtrial keeps of each key, and for the keys
    /// and values of stores that may keep all in it; disk for those of others.
    fn shortage(&self, job: &dyn Job, cell: &PlannedCell) -> Option<Shortage> {
        let capabilities = layers::declared(cell.info, &cell.spec);
        let keeps = !matches!(cell.spec.target, Target::Server(_)) && capabilities.keeps == Keeps::Everything;
        let in_memory = match cell.info.class {
            Class::Baseline | Class::Library => true,
            Class::Network => capabilities.durability == Durability::None,
            Class::Embedded | Class::Distributed => false,
        };
        let data_bytes = if keeps { job.logical_bytes() } else { 0 };
        let of = |data_bytes, books_bytes, free: Option<u64>, room| {
            let shortage = Shortage { data_bytes, books_bytes, free_bytes: free?, room };
            (shortage.needed_bytes() > shortage.free_bytes).then_some(shortage)
        };
        let memory =
            of(if in_memory { data_bytes } else { 0 }, job.books_bytes(), store::memory::free_bytes(), Room::Memory);
        memory.or_else(|| of(data_bytes, 0, host::free_disk_bytes(&self.base), Room::Disk).filter(|_| !in_memory))
    }
}

impl std::fmt::Display for Shortage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [needed, free] = [self.needed_bytes(), self.free_bytes].map(|bytes| bytes >> 20);
        let what = match self.room {
            Room::Memory => "memory",
            Room::Disk => "disk",
        };
        write!(f, "at least {needed} MiB of {what} are needed, {free} MiB are free")
    }
}

/// A problem, with the combination it arises in when there are several.
fn about(cell: &PlannedCell, problem: JobError) -> String {
    if cell.varied.is_empty() {
        return problem.to_string();
    }
    let varied: Vec<String> = cell.varied.iter().map(|(key, value)| format!("{key}={value}")).collect();
    format!("--vary: at {}: {problem}", varied.join(" "))
}
