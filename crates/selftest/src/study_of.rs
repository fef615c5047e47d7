//! One small study, run as `kvtrial run` runs it.

use engine::Settings;
use measure::Progress;
use runner::{
    About, Asked, Ending, Execution, KeysFound, Observer, PlannedStore, Request, Rounds, UnderWay, Variation,
};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use store::StoreInfo;
use study::{Spec, TrialRecord};

/// A study of ycsb on a few stores.
pub(crate) struct SmallStudy<'a> {
    pub(crate) stores: Vec<(&'static StoreInfo, Spec)>,
    /// Parameters of the job.
    pub(crate) set: &'a [(&'a str, String)],
    pub(crate) settings: Settings,
    pub(crate) repeats: u32,
    pub(crate) seed: u64,
    pub(crate) base: &'a Path,
    pub(crate) execution: Execution,
}

impl SmallStudy<'_> {
    /// Returns the trials of each store, in the order they ran; `None` when `stop` was set meanwhile.
    pub(crate) fn run(&self, stop: &AtomicBool) -> Result<Option<Vec<Vec<TrialRecord>>>, String> {
        let job = &jobs::ycsb::JOB;
        let set: Vec<(String, String)> = self.set.iter().map(|(name, value)| ((*name).into(), value.clone())).collect();
        let params = jobs::params(job, &set).map_err(|error| error.to_string())?;
        let store = |(info, spec): &(&'static StoreInfo, Spec)| PlannedStore {
            info,
            spec: spec.clone(),
            asked: Asked::ByName,
            baseline: false,
        };
        let request = Request {
            job,
            data: None,
            params,
            stores: self.stores.iter().map(store).collect(),
            settings: self.settings,
            rounds: Rounds { repeats: self.repeats, ..Rounds::ONCE },
            seed: self.seed,
            base: PathBuf::from(self.base),
            keys_found: KeysFound::Refuse,
            execution: self.execution.clone(),
        };
        let plan = request.study(&Variation::none(), &mut |_| {}).map_err(|error| error.to_string())?;
        let mut trials = Trials(vec![Vec::new(); self.stores.len()]);
        match runner::run(&plan, &BTreeSet::new(), &[], stop, &mut trials) {
            Ok(Ending::Complete) => Ok(Some(trials.0)),
            Ok(Ending::Interrupted) => Ok(None),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// Keeps what trials came to.
struct Trials(Vec<Vec<TrialRecord>>);

impl Observer for Trials {
    fn trial_started(&mut self, _: u32, _: u32, _: &str, _: bool) {}

    fn progress(&mut self, _: &UnderWay, _: Progress) {
        host::interrupt::progress();
    }

    fn trial_finished(&mut self, cell: usize, record: TrialRecord, _: Option<&About>) -> Result<(), String> {
        host::interrupt::progress();
        self.0[cell].push(record);
        Ok(())
    }
}
