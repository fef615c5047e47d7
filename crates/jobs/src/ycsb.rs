//! ycsb: the core workloads A to F of the Yahoo! Cloud Serving Benchmark (Cooper and others 2010), with every reply
//! verified.
//!
//! What YCSB does not do: values are self-describing (key id, version, checksum, payload), so each byte of each read
//! is verified; a ledger of versions finds lost and stale updates with any number of clients; the Zipf law is the
//! true one over the keys that exist; the final state is read back in full.
//!
//! The answer is the list of keys, by their numbers, with `valid` behind each (`missing or wrong` otherwise). Which keys are inserted
//! follows from seed and number of operations, so its digest is equal on every store and with any number of clients,
//! and known before the run. A run by `seconds` inserts as many keys as there is time for, which is another number in
//! each trial: of those the answer lists only what is `missing or wrong`, and the digest is equal and known all the same.

mod chooser;
mod dealt;
mod expiring;
mod gone;
pub(crate) mod judge;
pub mod key;
mod lives;
mod load;
pub mod plan;
mod read_back;
pub(crate) mod run;
mod shared;
pub(crate) mod trial;
pub(crate) mod value;
pub(crate) mod versions;
pub(crate) mod workload;

use crate::expires::{BY_READER, Expires, MOMENT_BYTES};
use data::digest::LineDigest;
use jobkit::{Job, JobError, JobExtras, JobInfo, JobRequest, Trial, TrialSetup};
use lives::{LIFE_BYTES, Lifetimes};
use std::collections::BTreeMap;
use std::sync::OnceLock;
use store::{Capabilities, OperationKind};
use workload::{Kind, Workload};

/// The job as it is listed.
pub static JOB: JobInfo = JobInfo {
    name: "ycsb",
    summary: "the core workloads A to F: load, run, read back; every reply verified",
    input: "generated; --plan FILE takes an unmodified YCSB property file",
    records: "records",
    params: workload::PARAMS,
    prepare,
    extras: JobExtras { plan: Some(plan::parse), size: Some("records"), ..JobExtras::NONE },
};

/// What reading back found.
#[derive(Default)]
struct Verdicts {
    valid: u64,
    /// Ids of keys that are missing, wrong, or whose writing failed.
    invalid: Vec<u64>,
}

/// Digest of the lines `key \t valid`, for ids below `ids`; of those above, of the invalid.
fn digest_of(ids: u64, invalid: &[u64]) -> String {
    let mut invalid = invalid.to_vec();
    invalid.sort_unstable();
    let mut invalid = invalid.into_iter().peekable();
    let mut digest = LineDigest::default();
    for id in 0..ids {
        let verdict: &[u8] = if invalid.next_if_eq(&id).is_some() { b"missing or wrong" } else { b"valid" };
        digest.line(&[&key::key(id), verdict]);
    }
    invalid.for_each(|id| digest.line(&[&key::key(id), b"missing or wrong"]));
    digest.finish()
}

impl Workload {
    /// Keys whose number does not depend on how much time there is.
    fn planned(&self) -> u64 {
        self.records + self.inserts().unwrap_or(0)
    }
}

struct Ycsb {
    workload: Workload,
    inserts: Option<u64>,
    seed: u64,
    digest: OnceLock<String>,
}

fn prepare(request: &JobRequest) -> Result<Box<dyn Job>, JobError> {
    if let Some(data) = &request.data {
        return Err(JobError(format!(
            "--data {data}: ycsb generates its data; use --set records= and value=, or --plan FILE"
        )));
    }
    let workload = Workload::parse(&request.params, request.seed)?;
    let inserts = workload.inserts();
    Ok(Box::new(Ycsb { workload, inserts, seed: request.seed, digest: OnceLock::new() }))
}

impl Job for Ycsb {
    fn input(&self) -> BTreeMap<String, serde_json::Value> {
        let records = self.workload.records;
        BTreeMap::from([
            ("name".into(), format!("{}, seed {}", self.workload.name, self.seed).into()),
            ("records".into(), records.into()),
            ("bytes".into(), (records * (key::KEY_BYTES + self.workload.value_bytes) as u64).into()),
        ])
    }

    fn suits(&self, store: &Capabilities) -> Result<Vec<&'static str>, JobError> {
        if self.workload.mix.has(Kind::Scan) && !store.has(OperationKind::Scan) {
            return Err(JobError(format!(
                "{} has scans, which this store cannot do; use workload=A, B, C, D or F, or set scan=0 and another share",
                self.workload.name
            )));
        }
        if !(store.min_key_bytes..=store.max_key_bytes).contains(&key::KEY_BYTES) {
            return Err(JobError(format!(
                "keys have {} bytes, this store takes {} to {}; use another store",
                key::KEY_BYTES,
                store.min_key_bytes,
                store.max_key_bytes
            )));
        }
        let expires = self.workload.ttl_ms.map(|ttl_ms| (ttl_ms, Expires::of(store)));
        let moment_bytes = if let Some((_, Expires::ByReader)) = expires { MOMENT_BYTES } else { 0 };
        let most_bytes = store.max_value_bytes.saturating_sub(moment_bytes);
        if self.workload.value_bytes > most_bytes {
            return Err(JobError(format!(
                "value={}: this store takes at most {} bytes; set value={most_bytes} or less",
                self.workload.value_bytes,
                study::whole(most_bytes as u64),
            )));
        }
        match expires {
            None => Ok(Vec::new()),
            Some((_, Expires::ByReader)) => Ok(vec![BY_READER]),
            Some((ttl_ms, Expires::InStore(expiry))) => {
                let refused = |problem| JobError(format!("ttl={ttl_ms}ms: {problem}"));
                expiry.check(ttl_ms).map(|()| Vec::new()).map_err(refused)
            }
        }
    }

    fn trial(&self, setup: &TrialSetup) -> Box<dyn Trial + '_> {
        let keeps = setup.capabilities.keeps;
        let lives = self
            .workload
            .ttl_ms
            .map(|ttl_ms| Lifetimes::new(self.workload.planned(), ttl_ms, Expires::of(&setup.capabilities)));
        let trial = trial::YcsbTrial::new(&self.workload, self.inserts, setup.seed, setup.slots, keeps);
        Box::new(trial.living(lives).sharing(setup))
    }

    /// A key is written by the share that reads it back.
    fn shareable(&self, _: &TrialSetup) -> Result<(), JobError> {
        let Workload { name, mix, ttl_ms, .. } = &self.workload;
        let refused = |problem: &str, remedy: &str| Err(JobError(format!("{name}: {problem}; {remedy}")));
        match () {
            () if mix.has(Kind::Insert) => refused(
                "which keys were inserted so far is known to one process",
                "use workload=A, B, C or F, or set insert=0 and another share",
            ),
            () if mix.has(Kind::Scan) => refused(
                "a scan finds keys of all workers, and of their versions one process knows its own",
                "use workload=A, B, C or F, or set scan=0 and another share",
            ),
            () if ttl_ms.is_some() => {
                refused("how long a value lives is known to the process that put it", "leave ttl out")
            }
            () => Ok(()),
        }
    }

    fn logical_bytes(&self) -> u64 {
        self.workload.planned().saturating_mul((key::KEY_BYTES + self.workload.value_bytes) as u64)
    }

    fn books_bytes(&self) -> u64 {
        let life_bytes = if self.workload.ttl_ms.is_some() { LIFE_BYTES } else { 0 };
        self.workload.planned().saturating_mul(versions::ENTRY_BYTES + life_bytes)
    }

    fn known_digest(&self) -> Option<String> {
        Some(self.digest.get_or_init(|| digest_of(self.workload.planned(), &[])).clone())
    }
}
