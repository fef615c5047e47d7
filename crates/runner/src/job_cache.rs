//! Jobs with their input read, one for each set of parameters, as many as memory may hold.

use host::ProcessUse;
use jobkit::{Job, JobError, JobInfo, JobRequest, Params};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The facts of a job's input: name, bytes, digest, counts.
pub type InputFacts = BTreeMap<String, serde_json::Value>;

/// Jobs are kept while all of them together need less than this; then the longest unused is given up and prepared again when its
/// turn comes. Preparing is never on the clock.
const KEPT_BYTES: u64 = 1 << 30;

/// Prepares jobs and keeps them.
pub struct JobCache {
    job: &'static JobInfo,
    data: Option<String>,
    seed: u64,
    inputs: BTreeMap<Params, InputFacts>,
    kept: RefCell<Vec<Kept>>,
}

struct Kept {
    params: Params,
    job: Arc<dyn Job>,
    bytes: u64,
}

impl JobCache {
    /// Makes a cache for jobs of one kind on one input.
    pub fn new(job: &'static JobInfo, data: Option<String>, seed: u64) -> JobCache {
        JobCache { job, data, seed, inputs: BTreeMap::new(), kept: RefCell::default() }
    }

    /// Reads and checks the input for these parameters, and remembers what it was.
    ///
    /// # Errors
    /// Input or parameters the job cannot work with.
    pub fn add(&mut self, params: &Params) -> Result<Arc<dyn Job>, JobError> {
        let job = self.job(params)?;
        self.inputs.entry(params.clone()).or_insert_with(|| job.input());
        Ok(job)
    }

    /// Returns the job with these parameters, prepared again if it was given up.
    ///
    /// # Errors
    /// The input has become unreadable.
    pub fn job(&self, params: &Params) -> Result<Arc<dyn Job>, JobError> {
        let mut kept = self.kept.borrow_mut();
        if let Some(at) = kept.iter().position(|one| one.params == *params) {
            let found = kept.remove(at);
            let job = Arc::clone(&found.job);
            kept.push(found); // the longest unused come first
            return Ok(job);
        }
        while kept.len() > 1 && kept.iter().map(|one| one.bytes).sum::<u64>() > KEPT_BYTES {
            kept.remove(0);
        }
        let before = ProcessUse::now().rss_bytes;
        let request =
            JobRequest { job: self.job.name, data: self.data.clone(), params: params.clone(), seed: self.seed };
        let job: Arc<dyn Job> = Arc::from((self.job.prepare)(&request)?);
        let bytes = ProcessUse::now().rss_bytes.saturating_sub(before);
        kept.push(Kept { params: params.clone(), job: Arc::clone(&job), bytes });
        Ok(job)
    }

    /// Returns what the jobs are, and what they read.
    pub(crate) fn source(&self) -> (&'static JobInfo, Option<&String>, u64) {
        (self.job, self.data.as_ref(), self.seed)
    }

    /// Gives up the jobs that are prepared: trials that run in other processes read the input there.
    pub fn clear(&self) {
        self.kept.borrow_mut().clear();
    }

    /// Returns the facts that all combinations share.
    pub fn shared_input(&self) -> InputFacts {
        let mut inputs = self.inputs.values();
        let mut shared = inputs.next().cloned().unwrap_or_default();
        inputs.for_each(|other| shared.retain(|name, value| other.get(name) == Some(value)));
        shared
    }

    /// Returns how many records the job leaves in the store, as far as its input for these parameters says.
    pub fn records(&self, params: &Params) -> Option<u64> {
        self.inputs.get(params)?.get(self.job.records)?.as_u64()
    }

    /// Returns the facts that only the combination with these parameters has.
    pub fn own_input(&self, params: &Params) -> InputFacts {
        let shared = self.shared_input();
        let mut own = self.inputs.get(params).cloned().unwrap_or_default();
        own.retain(|name, _| !shared.contains_key(name));
        own
    }
}
