//! What is going to be run.

use engine::{Arrivals, Clock, Job, JobInfo, Params, Settings, Timing};
use std::collections::BTreeMap;
use std::path::PathBuf;
use store::StoreInfo;
use study::{Cell, HostFacts, Measure, SCHEMA, Spec, Study};

/// A store of the plan.
pub struct PlannedStore {
    /// Its adapter.
    pub info: &'static StoreInfo,
    /// As the user named it.
    pub spec: Spec,
    /// Whether it was added for comparison.
    pub baseline: bool,
}

/// Everything a study needs to know before it starts.
pub struct Plan {
    /// The job.
    pub job: &'static JobInfo,
    /// Its parameters, all of them.
    pub params: Params,
    /// The job with its input read.
    pub prepared: Box<dyn Job>,
    /// The stores, baselines first.
    pub stores: Vec<PlannedStore>,
    /// How phases are driven.
    pub settings: Settings,
    /// Counted trials a cell.
    pub repeats: u32,
    /// Warm-up trials a cell.
    pub warmups: u32,
    /// Seed of order, keys and arrivals.
    pub seed: u64,
    /// Where private directories are made.
    pub base: PathBuf,
    /// What to do with the job's keys in a store of the user's.
    pub keys_found: KeysFound,
}

/// What to do when a store of the user's already holds keys the job will use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeysFound {
    /// Refuse to run: they may be the user's data.
    Refuse,
    /// Delete them first.
    Delete,
}

impl Plan {
    /// The study before its first trial: every cell, nothing measured.
    pub fn study(&self, command: Vec<String>, started_at: String) -> Study {
        let params = self.cell_params();
        Study {
            schema: SCHEMA,
            kvtrial: env!("CARGO_PKG_VERSION").into(),
            command,
            seed: self.seed,
            started_at,
            repeats: self.repeats,
            warmups: self.warmups,
            input: self.prepared.input(),
            preset: None,
            host: HostFacts { clock: Clock::get().describe(), ..host::facts(&self.base) },
            selftest: None,
            cells: self
                .stores
                .iter()
                .map(|planned| Cell {
                    job: self.job.name.into(),
                    store: planned.spec.to_string(),
                    params: params.clone(),
                    baseline: planned.baseline,
                    class: planned.info.class.name().into(),
                    measure: self.measure(),
                    durability: planned.info.durability(&planned.spec).ok(),
                    ..Cell::default()
                })
                .collect(),
            more: BTreeMap::new(),
        }
    }

    /// What cells are ranked by: the figure that was not fixed beforehand.
    fn measure(&self) -> Measure {
        match (self.settings.arrivals, self.settings.duration) {
            (Arrivals::Fixed { .. } | Arrivals::Poisson { .. }, _) => Measure::Latency,
            (Arrivals::Closed, Some(_)) => Measure::Rate,
            (Arrivals::Closed, None) => Measure::Makespan,
        }
    }

    /// The job's parameters and the engine's, as text.
    fn cell_params(&self) -> BTreeMap<String, String> {
        let mut params = self.params.clone();
        params.insert("clients".into(), self.settings.clients.to_string());
        params.insert("pipeline".into(), self.settings.pipeline.to_string());
        if let Some(threads) = self.settings.threads {
            params.insert("threads".into(), threads.to_string());
        }
        match self.settings.arrivals {
            Arrivals::Closed => {}
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
