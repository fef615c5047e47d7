//! sets: how many different ids there are, in both of two sets, in either (the job of 2011: user ids of 64 bits by the hundred million).
//!
//! Work: the ids are added to their sets; then the size of each set, and the union and intersection of each two neighbours (and of all
//! sets, where there are more than two) are counted. Each step is timed by itself. A store that keeps sets in a way of its own is
//! asked as a whole, over one connection; on any other each id of a set is a key, put and got one by one.
//!
//! Answer: of each union and intersection its ids: their number and two sums over their hashes. Exact ways must agree with it to the
//! element, and every id is read back. Sketches are judged by theory: a count that is off by more than four standard errors is wrong.

mod elements;
mod preset;
mod trial;
mod truth;

use data::sets::{IdKind, IdSets};
use jobkit::{Job, JobError, JobExtras, JobInfo, JobRequest, ParamInfo, Trial, TrialSetup};
use std::collections::BTreeMap;
use std::path::Path;
use store::{Capabilities, Keeps};
use truth::Truth;

/// Most ids a generated set may have.
const MOST_IDS: u64 = 1_000_000_000_000_000;

/// The job as it is listed.
pub static JOB: JobInfo = JobInfo {
    name: "sets",
    summary: "count large sets of ids, their unions and intersections, exactly or by sketches; every count and every id verified",
    input: "generated; or SET,ID per line, also .gz",
    records: "ids",
    params: &[
        ParamInfo {
            name: "ids",
            default: "1000000",
            values: "1 to 1000000000000000",
            tunable: &[],
            help: "ids of each of the two sets",
        },
        ParamInfo {
            name: "overlap",
            default: "0.5",
            values: "0 to 1",
            tunable: &[],
            help: "share of a set's ids that are also in the other",
        },
        ParamInfo {
            name: "kind",
            default: "random",
            values: "random, dense",
            tunable: &[],
            help: "random: spread over 64 bits; dense: one after the other",
        },
    ],
    prepare,
    extras: JobExtras {
        presets: preset::PRESETS,
        stores: &[
            "ram,way=hash",
            "ram,way=sorted",
            "ram,way=bitmap",
            "ram,way=roaring",
            "ram,way=indexed",
            "ram,way=hll",
            "ram,way=theta",
        ],
        size: Some("ids"),
        ..JobExtras::NONE
    },
};

struct Sets {
    sets: IdSets,
    truth: Truth,
}

fn prepare(request: &JobRequest) -> Result<Box<dyn Job>, JobError> {
    let param = |name: &str| request.params.get(name).map_or("", String::as_str);
    let ids = match data::count::whole(param("ids")) {
        Some(ids @ 1..=MOST_IDS) => ids,
        _ => return Err(JobError(format!("ids={} is not possible; use 1 to {MOST_IDS}", param("ids")))),
    };
    let overlap = match param("overlap").parse::<f64>() {
        Ok(share) if (0.0..=1.0).contains(&share) => share,
        _ => {
            let problem = "it is a share of a set's ids, and a set has no more than all of them; use 0 to 1";
            return Err(JobError(format!("overlap={}: {problem}", param("overlap"))));
        }
    };
    let kind = match param("kind") {
        "random" => IdKind::Random,
        "dense" => IdKind::Dense,
        other => return Err(JobError(format!("kind={other} is not possible; use random or dense"))),
    };
    let sets = match &request.data {
        Some(path) => IdSets::read(Path::new(path)).map_err(|error| JobError(error.to_string()))?,
        None => {
            fits(ids)?;
            IdSets::generate(ids, (ids as f64 * overlap).round() as u64, kind, request.seed & u64::from(u32::MAX))
        }
    };
    Ok(Box::new(Sets { truth: Truth::of(&sets), sets }))
}

/// Whether the generated ids themselves have room: 8 bytes each, in kvtrial and in the process that runs the trials.
fn fits(ids: u64) -> Result<(), JobError> {
    let needed_bytes = 4 * ids * size_of::<u64>() as u64;
    match store::memory::free_bytes() {
        Some(free) if free < needed_bytes => Err(JobError(format!(
            "ids={ids}: the ids alone take {} MiB, {} MiB of memory are free; use fewer",
            needed_bytes >> 20,
            free >> 20
        ))),
        _ => Ok(()),
    }
}

impl Job for Sets {
    fn input(&self) -> BTreeMap<String, serde_json::Value> {
        let added: usize = (0..self.sets.names().len()).map(|set| self.sets.added(set).len()).sum();
        BTreeMap::from([
            ("name".into(), self.sets.source_name().into()),
            ("digest".into(), self.sets.digest().into()),
            ("sets".into(), self.sets.names().len().into()),
            ("ids_added".into(), added.into()),
            ("ids".into(), self.truth.distinct.into()),
        ])
    }

    fn suits(&self, store: &Capabilities) -> Result<Vec<&'static str>, JobError> {
        if store.sets.is_some() {
            return Ok(Vec::new());
        }
        if store.max_key_bytes < elements::KEY_BYTES {
            return Err(JobError(format!(
                "its keys have {} bytes, this store takes at most {}; use another store",
                elements::KEY_BYTES,
                store.max_key_bytes
            )));
        }
        Ok(if store.keeps == Keeps::Everything { vec!["sets by put and get"] } else { Vec::new() })
    }

    fn trial(&self, setup: &TrialSetup) -> Box<dyn Trial + '_> {
        match setup.capabilities.sets {
            Some(way) => Box::new(trial::SetTrial::new(&self.sets, &self.truth, way)),
            None => Box::new(elements::ElementTrial::new(&self.sets, &self.truth, setup)),
        }
    }

    /// Sets are built and counted by requests to the store as a whole.
    fn shareable(&self, _: &TrialSetup) -> Result<(), JobError> {
        Err(JobError("its sets are built and counted one after the other; run it without --workers".into()))
    }

    fn known_digest(&self) -> Option<String> {
        Some(self.truth.digest())
    }

    fn logical_bytes(&self) -> u64 {
        self.truth.distinct * size_of::<u64>() as u64
    }
}
