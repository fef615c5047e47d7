//! From what is asked for to a plan: one way for every command that runs something.

use crate::changes;
use crate::execution::Execution;
use crate::faults::Faults;
use crate::job_cache::JobCache;
use crate::plan::{Asked, KeysFound, Plan, PlannedCell, PlannedStore};
use crate::units;
use crate::vary::{Axis, Variation, VaryError};
use engine::Settings;
use job::{Job, JobError, JobInfo, Params};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;
use store::{Keeps, StoreError};
use study::{Class, Durability, Spec, Target, TrialOrder};

/// What is asked for.
#[derive(Clone)]
pub struct Request {
    /// The job.
    pub job: &'static JobInfo,
    /// Its input.
    pub data: Option<String>,
    /// Its parameters, all of them.
    pub params: Params,
    /// The stores, baselines first.
    pub stores: Vec<PlannedStore>,
    /// How phases are driven.
    pub settings: Settings,
    /// How often, and in which order.
    pub rounds: Rounds,
    /// Seed of order, keys and arrivals.
    pub seed: u64,
    /// Where private directories are made.
    pub base: PathBuf,
    /// What to do with the job's keys in a store of the user's.
    pub keys_found: KeysFound,
    /// Where trials are carried out.
    pub execution: Execution,
}

/// How often each cell is run, and in which order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rounds {
    /// The order of trials.
    pub order: TrialOrder,
    /// Warm-up trials a cell.
    pub warmups: u32,
    /// Counted trials a cell.
    pub repeats: u32,
    /// If the number of repeats is not given: how long the study may take.
    pub patience: Option<Duration>,
}

impl Rounds {
    /// One trial that counts.
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
    /// What is to be varied cannot be.
    #[error("{0}")]
    Vary(#[from] VaryError),
    /// The keys and values alone exceed what is free.
    #[error("-s {store}: {needed_bytes} bytes are needed, {free_bytes} are free")]
    NoRoom {
        /// The store's spec.
        store: String,
        /// What the job leaves at least.
        needed_bytes: u64,
        /// What is free.
        free_bytes: u64,
        /// Where.
        room: Room,
    },
    /// No store is left.
    #[error("none of the stores can do the job; name one with -s, see 'kvtrial stores'")]
    Nowhere,
}

/// What holds the keys and values of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// Memory.
    Memory,
    /// A disk.
    Disk,
}

impl Request {
    /// The study of every combination on every store. The input of every combination is read; what the user did not name and the job cannot
    /// be done on is left out; `hear` hears of it, as of warnings. What the user named is refused. Nothing is started or made for that.
    /// What a user's own server can do is known only once it was asked: it is checked when it is opened.
    ///
    /// # Errors
    /// What is asked for cannot be done.
    pub fn study(self, variation: &Variation, hear: &mut dyn FnMut(&str)) -> Result<Plan, RequestError> {
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
            if let Some(sentence) = units::sentence(cell.settings.arrivals, || job.unit_operations())
                && told.insert(sentence.clone())
            {
                hear(&sentence);
            }
            host::check(cell.info, &cell.spec)?;
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
                _ => {
                    self.has_room(job.as_ref(), &cell)?;
                    left.push(cell);
                }
            }
        }
        if left.is_empty() { Err(RequestError::Nowhere) } else { Ok(self.plan(job_cache, left, variation)) }
    }

    /// The search of the first store for the best of these settings, as it begins: with the first value of each. Every value is checked with
    /// the others at their first, so that one that cannot be used is refused before anything is started.
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
                cells.push(cell);
            }
        }
        cells.truncate(1);
        Ok(self.plan(job_cache, cells, &variation))
    }

    /// A question to the stores, for which no input need be read here.
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
        }
    }

    fn is_named(&self, spec: &Spec) -> bool {
        let same = |store: &PlannedStore| store.spec.name == spec.name && store.spec.target == spec.target;
        self.stores.iter().any(|store| store.asked == Asked::ByName && same(store))
    }

    /// Refuses a job whose keys and values alone exceed what is free: memory for stores that may keep all in it, else disk.
    fn has_room(&self, job: &dyn Job, cell: &PlannedCell) -> Result<(), RequestError> {
        let capabilities = layers::declared(cell.info, &cell.spec);
        if matches!(cell.spec.target, Target::Server(_)) || capabilities.keeps == Keeps::Nothing {
            return Ok(());
        }
        let in_memory = match cell.info.class {
            Class::Baseline => true,
            Class::Network => capabilities.durability == Durability::None,
            Class::Library => true,
            Class::Embedded | Class::Distributed => false,
        };
        let (free, room) = match in_memory {
            true => (store::memory::free_bytes(), Room::Memory),
            false => (host::free_disk_bytes(&self.base), Room::Disk),
        };
        let needed_bytes = job.logical_bytes();
        match free {
            Some(free_bytes) if free_bytes < needed_bytes => {
                Err(RequestError::NoRoom { store: cell.spec.to_string(), needed_bytes, free_bytes, room })
            }
            _ => Ok(()),
        }
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
