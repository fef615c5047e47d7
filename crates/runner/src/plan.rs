//! What is going to be run.

use crate::assignment::{Assignment, ChangedBy, HistoryWish, Keys};
use crate::changes;
use crate::execution::Execution;
use crate::faults::Faults;
use crate::job_cache::JobCache;
use crate::order::{self, ScheduledTrial};
use crate::planned_cell::PlannedCell;
use data::sent::FileToSend;
use engine::{Arrivals, Outages, Settings, Timing};
use host::Installation;
use jobkit::{JobError, JobInfo};
use measure::Clock;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use store::StoreInfo;
use study::{Cell, DurabilitySource, HostFacts, Measure, SCHEMA, Sampled, Spec, Study, Target, TrialOrder, Varied};

/// The most bytes of a file of input that is sent to workers: it is in the memory of each of them while they read it.
pub const MOST_SENT_BYTES: u64 = 256 << 20;

/// The one who asked for a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// The user, by its name.
    ByName,
    /// kvtrial added the store for the user.
    Added,
}

/// A store of the plan.
#[derive(Clone)]
pub struct PlannedStore {
    /// The store's adapter.
    pub info: &'static StoreInfo,
    /// The spec as the user wrote it.
    pub spec: Spec,
    /// Who asked for the store.
    pub asked: Asked,
    /// Whether the store was added for comparison.
    pub baseline: bool,
}

/// Everything a study needs to know before it starts; made of a [`Request`](crate::Request).
#[non_exhaustive]
pub struct Plan {
    /// The job.
    pub job: &'static JobInfo,
    /// The job with its input read, for each set of parameters.
    pub job_cache: JobCache,
    /// The cells, baselines first.
    pub cells: Vec<PlannedCell>,
    /// The keys that are varied.
    pub varied: Vec<Varied>,
    /// The combinations that were drawn, when not all.
    pub sampled: Option<Sampled>,
    /// The order of trials.
    pub order: TrialOrder,
    /// Counted trials a cell.
    pub repeats: u32,
    /// If the number of repeats is not given: the longest time the study may take. Rounds beyond the second are left out where they would
    /// take it further.
    pub patience: Option<Duration>,
    /// Warm-up trials a cell.
    pub warmups: u32,
    /// Seed of order, keys and arrivals.
    pub seed: u64,
    /// The directory below which private directories are made.
    pub base: PathBuf,
    /// The treatment of the job's keys in the user's own store.
    pub keys_found: KeysFound,
    /// The process in which trials are carried out.
    pub execution: Execution,
    /// The faults done to nodes while a trial runs.
    pub faults: Faults,
    /// Whether what clients see is recorded and checked.
    pub histories: Histories,
    /// The bound of the memory of private servers, bytes.
    pub server_memory_bytes: Option<u64>,
}

/// The choice of trials whose history is recorded and checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Histories {
    /// Those in which nodes fail on purpose.
    #[default]
    WithFaults,
    /// All of them.
    All,
    /// All of them, and each is written to a file: to this one, then to others with a number behind the name.
    Written(PathBuf),
}

/// The treatment of keys of the job that the user's own store already holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeysFound {
    /// Refuse to run: they may be the user's data.
    Refuse,
    /// Delete them first.
    Delete,
}

impl Plan {
    /// Returns the study before its first trial: every cell, nothing measured.
    pub fn study(&self, command: Vec<String>, started_at: String) -> Study {
        Study {
            schema: SCHEMA,
            kvtrial: env!("CARGO_PKG_VERSION").into(),
            command,
            seed: self.seed,
            started_at,
            repeats: self.repeats,
            warmups: self.warmups,
            order: self.order,
            varied: self.varied.clone(),
            sampled: self.sampled,
            input: self.job_cache.shared_input(),
            faults: self.faults.asked(),
            server_memory_bytes: self.server_memory_bytes,
            fault_timeout_s: self.faults.timeout_s(),
            host: HostFacts { clock: Clock::get().describe(), ..host::facts(&self.base) },
            cells: self.cells.iter().map(|planned| self.cell(planned)).collect(),
            ..Study::default()
        }
    }

    /// Returns a cell before its first trial.
    pub fn cell(&self, planned: &PlannedCell) -> Cell {
        Cell {
            job: self.job.name.into(),
            store: planned.spec.to_string(),
            params: planned.shown_params(),
            varied: planned.varied.clone(),
            baseline: planned.baseline,
            layer: planned.info.layer().filter(|_| planned.baseline),
            class: layers::class_of(planned.info, &planned.spec),
            copies: planned.copies(),
            transport: planned.info.transport(&planned.spec),
            measure: planned.measure(),
            durability: planned
                .info
                .durability(&planned.spec)
                .ok()
                .map(|_| layers::declared(planned.info, &planned.spec).durability),
            durability_source: Some(match planned.spec.target {
                // Until it is reached.
                Target::Server(_) => DurabilitySource::Assumed,
                _ => DurabilitySource::SetByKvtrial,
            }),
            input: self.job_cache.own_input(&planned.params),
            records: self.job_cache.records(&planned.params),
            ..Cell::default()
        }
    }

    /// Returns what a cell asks of a worker at this installation.
    pub(crate) fn assignment(
        &self,
        planned: &PlannedCell,
        installation: &Installation,
        keys: Option<Keys>,
    ) -> Assignment {
        let (job, data, seed) = self.job_cache.source();
        Assignment {
            job: job.name.to_owned(),
            script: script::file(job),
            data: data.cloned(),
            file: None,
            params: planned.params.clone(),
            seed,
            spec: planned.spec.clone(),
            location: installation.location().clone(),
            settings: Settings { outages: self.faults.outages(planned), ..planned.settings },
            keys,
            history: self.history(planned),
            changed_by: match changes::of_cell(planned) {
                Ok(Some(_)) => ChangedBy::Kvtrial,
                _ => ChangedBy::Worker,
            },
        }
    }

    /// Reads the file that is the job's input, to be sent to workers that do not have it; `None`: it reads none, or one that is
    /// [too large](MOST_SENT_BYTES), which has to be where they are.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn file_to_send(&self) -> Result<Option<FileToSend>, JobError> {
        let Some(path) = self.job_cache.source().1.filter(|path| Path::new(path).is_file()) else { return Ok(None) };
        FileToSend::read(path, MOST_SENT_BYTES).map_err(|error| JobError(format!("--data {path}: {error}")))
    }

    /// Returns how the history of a trial is recorded, if it is.
    fn history(&self, planned: &PlannedCell) -> Option<HistoryWish> {
        let directory = self.base.clone();
        match &self.histories {
            Histories::WithFaults if self.faults.outages(planned) == Outages::GiveUp => None,
            Histories::WithFaults | Histories::All => Some(HistoryWish { directory, file: None }),
            Histories::Written(file) => Some(HistoryWish { directory, file: Some(file.clone()) }),
        }
    }

    /// Returns the counted rounds that were run, when the trial of this order begins another that the plan's patience leaves out.
    pub(crate) fn enough(&self, order: u32, so_far: Duration) -> Option<u32> {
        order::enough(order, self.cells.len() as u32, self.warmups, so_far, self.patience?)
    }

    /// Returns the trials of the whole study, as far as it can be told when the one of this order begins.
    pub(crate) fn expected(&self, order: u32, so_far: Duration) -> u32 {
        let cells = self.cells.len() as u32;
        let all = cells * (self.warmups + self.repeats);
        self.patience.map_or(all, |patience| order::expected(order, cells, self.warmups, all, so_far, patience))
    }

    /// Returns every trial in its order.
    pub fn turns(&self) -> Vec<ScheduledTrial> {
        match self.order {
            TrialOrder::Random => order::balanced(self.cells.len(), self.warmups, self.repeats, self.seed),
            TrialOrder::Rising => order::rising(self.cells.len(), self.warmups, self.repeats),
        }
    }
}

impl PlannedCell {
    /// Returns the number of servers that hold each pair of a private store, once all is well.
    fn copies(&self) -> Option<u32> {
        let is_private = self.spec.target == Target::Private && self.info.class.has_servers();
        let deployment = is_private.then(|| layers::on_paper(self.info, &self.spec, false)).flatten()?;
        deployment.ok().map(|deployment| deployment.copies)
    }

    /// Returns the store and what is varied, for people: `redis clients=16`.
    pub fn label(&self) -> String {
        let spec = self.spec.to_string();
        let elsewhere = self.varied.iter().filter(|(key, _)| !self.is_store_option(key));
        let varied: Vec<String> = elsewhere.map(|(key, value)| format!("{key}={value}")).collect();
        if varied.is_empty() { spec } else { format!("{spec} {}", varied.join(" ")) }
    }

    fn is_store_option(&self, key: &str) -> bool {
        let name = key.split_once('.').map_or(key, |(_, name)| name);
        !self.params.contains_key(key) && (name == "durability" || self.spec.options.contains_key(name))
    }

    /// Returns the figure that ranks cells: the one that was not fixed beforehand.
    fn measure(&self) -> Measure {
        match (self.settings.arrivals, self.settings.duration) {
            (Arrivals::Fixed { .. } | Arrivals::Poisson { .. } | Arrivals::Recorded, _) => Measure::Latency,
            (Arrivals::Closed, Some(_)) => Measure::Rate,
            (Arrivals::Closed, None) => Measure::Makespan,
        }
    }

    /// The job's parameters and the engine's, as text.
    fn shown_params(&self) -> BTreeMap<String, String> {
        let mut params = self.params.clone();
        params.insert("clients".into(), self.settings.clients.to_string());
        params.insert("pipeline".into(), self.settings.pipeline.to_string());
        if let Some(threads) = self.settings.threads {
            params.insert("threads".into(), threads.to_string());
        }
        match self.settings.arrivals {
            Arrivals::Closed | Arrivals::Recorded => {}
            Arrivals::Fixed { ops_per_s } => {
                params.insert("rate".into(), ops_per_s.to_string());
                params.insert("arrivals".into(), "fixed".into());
            }
            Arrivals::Poisson { ops_per_s } => {
                params.insert("rate".into(), ops_per_s.to_string());
                params.insert("arrivals".into(), "poisson".into());
            }
        }
        if let Timing::Sampled(every) = self.settings.timing {
            params.insert("timing".into(), format!("1/{every}"));
        }
        params
    }
}
