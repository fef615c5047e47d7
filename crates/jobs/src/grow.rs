//! grow: a keystore that is filled with items of variable size, and read meanwhile (the job of 2009: 100 million items).
//!
//! Work: items are put, each once, in the order of their numbers; between the puts are gets of items that were put before, any of them.
//! Any item is made from its number, so nothing is kept to check a value by: it is made again. `mode=two-phase` first finds the
//! highest rate, then goes on at shares of it in an open loop, which a closed loop would hide the stalls from (Luo and Carey, *On
//! Performance Stability in LSM-based Storage Systems*, PVLDB 13(4), 2019). Answer: the key and sha256 of every item, in byte order of keys.

mod fill;
mod plan;
mod preset;
mod read_back;
mod trial;

use data::items::{Items, MAX_KEY_BYTES, MAX_VALUE_BYTES, MIN_VALUE_BYTES, MOST_ITEMS, ValueSize};
use job::{Job, JobError, JobInfo, JobRequest, ParamInfo, Trial, TrialSetup};
use plan::{FillPlan, Mode, Reads};
use std::collections::BTreeMap;
use std::sync::OnceLock;
use store::Capabilities;

/// The job as it is listed.
pub static JOB: JobInfo = JobInfo {
    name: "grow",
    summary: "fill a store with items of variable size while reading them; watch rate and tail against items stored",
    input: "items made by number and seed, 40 bytes to 1 MiB, 1 KB on average (default 20,000 items, 21 MB)",
    records: "items",
    params: &[
        ParamInfo { name: "items", default: "20000", values: "1 to 1000000000", tunable: &[], help: "items to store" },
        ParamInfo {
            name: "value",
            default: "spread",
            values: "spread, or 16 to 1048576",
            tunable: &[],
            help: "bytes of a value; spread: 40 to 1048576, like Debian's package descriptions, with a heavy tail",
        },
        ParamInfo {
            name: "reads",
            default: "0.1",
            values: "0 to 0.99",
            tunable: &[],
            help: "share of the operations that are gets of items stored before",
        },
        ParamInfo {
            name: "mode",
            default: "fill",
            values: "fill, two-phase",
            tunable: &[],
            help: "fill: as fast as replies come, or at --rate; two-phase: half of the items that way, the rest in an open loop at 50, 80 and \
             95 % of the rate reached",
        },
        ParamInfo {
            name: "verify",
            default: "all",
            values: "all, sample",
            tunable: &[],
            help: "read back every item, or one in 100 (then there is no digest); gets made while inserting are always verified",
        },
    ],
    prepare,
    query: None,
    presets: preset::PRESETS,
    plan: None,
    stores: &[],
};

/// Which items are read back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verify {
    All,
    Sample,
}

impl Verify {
    /// One item in this many is read.
    fn one_in(self) -> u64 {
        match self {
            Verify::All => 1,
            Verify::Sample => 100,
        }
    }
}

struct Grow {
    items: Items,
    plan: FillPlan,
    verify: Verify,
    expected: OnceLock<String>,
}

fn prepare(request: &JobRequest) -> Result<Box<dyn Job>, JobError> {
    let param = |name: &str| request.params.get(name).map_or("", String::as_str);
    let refuse = |name: &str, remedy: &str| JobError(format!("{name}={} is not possible; use {remedy}", param(name)));
    if let Some(data) = &request.data {
        return Err(JobError(format!(
            "--data {data}: grow makes its items; leave it out, and use --set items=N and --set value=BYTES"
        )));
    }
    let items = match param("items").parse() {
        Ok(items @ 1..=MOST_ITEMS) => items,
        _ => return Err(refuse("items", &format!("1 to {MOST_ITEMS}"))),
    };
    let size = match (param("value"), param("value").parse()) {
        ("spread", _) => ValueSize::Spread,
        (_, Ok(bytes @ MIN_VALUE_BYTES..=MAX_VALUE_BYTES)) => ValueSize::Fixed(bytes),
        _ => return Err(refuse("value", &format!("spread, or {MIN_VALUE_BYTES} to {MAX_VALUE_BYTES} bytes"))),
    };
    let reads = Reads::parse(param("reads")).ok_or_else(|| refuse("reads", "0 to 0.99"))?;
    let mode = match param("mode") {
        "fill" => Mode::Fill,
        "two-phase" => Mode::TwoPhase,
        _ => return Err(refuse("mode", "fill or two-phase")),
    };
    let verify = match param("verify") {
        "all" => Verify::All,
        "sample" => Verify::Sample,
        _ => return Err(refuse("verify", "all or sample")),
    };
    let plan = FillPlan::new(items, reads, mode);
    Ok(Box::new(Grow { items: Items::new(items, request.seed, size), plan, verify, expected: OnceLock::new() }))
}

impl Grow {
    /// The digest of a store that holds all items; computed when it is first asked for.
    fn expected(&self) -> &str {
        self.expected.get_or_init(|| self.items.digest_but(&BTreeMap::new()))
    }
}

impl Job for Grow {
    fn input(&self) -> BTreeMap<String, serde_json::Value> {
        let totals = self.items.totals();
        BTreeMap::from([
            ("name".into(), "items by number".into()),
            ("items".into(), self.items.len().into()),
            ("key_bytes".into(), totals.key_bytes.into()),
            ("value_bytes".into(), totals.value_bytes.into()),
            ("largest_value_bytes".into(), totals.largest_bytes.into()),
        ])
    }

    fn suits(&self, store: &Capabilities) -> Result<Vec<&'static str>, JobError> {
        if MAX_KEY_BYTES < store.min_key_bytes || MAX_KEY_BYTES > store.max_key_bytes {
            return Err(JobError(format!("its keys have {MAX_KEY_BYTES} bytes, which this store does not take")));
        }
        let largest = self.items.most_value_bytes();
        if largest > store.max_value_bytes {
            return Err(JobError(format!(
                "the largest value has {largest} bytes, this store takes at most {}; use --set value=BYTES, or another store",
                store.max_value_bytes
            )));
        }
        Ok(Vec::new())
    }

    fn trial(&self, setup: &TrialSetup) -> Box<dyn Trial + '_> {
        Box::new(trial::GrowTrial::new(self, setup))
    }

    fn known_digest(&self) -> Option<String> {
        (self.verify == Verify::All).then(|| self.expected().to_owned())
    }

    fn warnings(&self) -> Vec<String> {
        match self.verify {
            Verify::All => Vec::new(),
            Verify::Sample => vec!["verify=sample reads back one item in 100: there is no digest of all items.".into()],
        }
    }

    fn logical_bytes(&self) -> u64 {
        let totals = self.items.totals();
        totals.key_bytes + totals.value_bytes
    }
}
