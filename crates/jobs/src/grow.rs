//! grow: a keystore that is filled with items of variable size, and read meanwhile (the job of 2009: 100 million items).
//!
//! Work: items are put, each once, in the order of their numbers; between the puts are gets of items that were put before, any of them.
//! Any item is made from its number, so nothing is kept to check a value by: it is made again. Or they are the user's, from a file.
//! `mode=two-phase` first finds the highest rate, then goes on at shares of it in an open loop, which a closed loop would hide the stalls
//! from (Luo and Carey, *On Performance Stability in LSM-based Storage Systems*, PVLDB 13(4), 2019). Answer: the key and sha256 of every
//! item, in byte order of keys.

mod fill;
mod plan;
mod preset;
mod read_back;
mod trial;

use data::items::{Items, MAX_VALUE_BYTES, MIN_VALUE_BYTES, MOST_ITEMS, ValueSize};
use jobkit::{Job, JobError, JobExtras, JobInfo, JobRequest, ParamInfo, Trial, TrialSetup};
use plan::{FillPlan, Mode, Reads};
use std::collections::BTreeMap;
use std::sync::OnceLock;
use store::Capabilities;

/// The job as it is listed.
pub static JOB: JobInfo = JobInfo {
    name: "grow",
    summary: "fill a store with items of variable size while reading them; watch rate and tail against items stored",
    input: "items made by number and seed, 40 bytes to 1 MiB, 1 KB on average (default 20,000 items, 21 MB); or a file: KEY TAB VALUE or \
            {\"k\": KEY, \"v\": VALUE} per line, also .gz",
    records: "items",
    params: &[
        ParamInfo {
            name: "items",
            default: "20000",
            values: "1 to 1000000000000000, or file",
            tunable: &[],
            help: "items to store; those of a file that has fewer are stored again, with 2~, 3~ ... before key and value; file: each \
                   item of the file once",
        },
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
    extras: JobExtras { presets: preset::PRESETS, size: Some("items"), ..JobExtras::NONE },
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
    let items = match (param("items"), param("items").parse()) {
        ("file", _) => None,
        (_, Ok(items @ 1..=MOST_ITEMS)) => Some(items),
        _ => return Err(refuse("items", &format!("1 to {MOST_ITEMS}, or file"))),
    };
    let size = match (param("value"), param("value").parse()) {
        ("spread", _) => ValueSize::Spread,
        (_, Ok(bytes @ MIN_VALUE_BYTES..=MAX_VALUE_BYTES)) => ValueSize::Fixed(bytes),
        _ => return Err(refuse("value", &format!("spread, or {MIN_VALUE_BYTES} to {MAX_VALUE_BYTES} bytes"))),
    };
    let items = match (&request.data, items) {
        (Some(_), _) if size != ValueSize::Spread => {
            return Err(refuse("value", "the values of --data as they are: leave it out"));
        }
        (Some(file), count) => Items::own(file, count).map_err(|error| JobError(error.to_string()))?,
        (None, Some(count)) => Items::new(count, request.seed, size),
        (None, None) => return Err(refuse("items", "a number, or name the file with --data")),
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
    let plan = FillPlan::new(items.len(), reads, mode);
    Ok(Box::new(Grow { items, plan, verify, expected: OnceLock::new() }))
}

impl Grow {
    /// The digest of a store that holds all items; computed when it is first asked for.
    fn expected(&self) -> &str {
        self.expected.get_or_init(|| self.items.digest_but(&BTreeMap::new()))
    }
}

impl Job for Grow {
    fn input(&self) -> BTreeMap<String, serde_json::Value> {
        let mut input = BTreeMap::from([
            ("name".into(), "items by number".into()),
            ("items".into(), serde_json::Value::from(self.items.len())),
        ]);
        if let Some(totals) = self.items.totals_soon() {
            input.insert("key_bytes".into(), totals.key_bytes.into());
            input.insert("value_bytes".into(), totals.value_bytes.into());
            input.insert("largest_value_bytes".into(), totals.largest_bytes.into());
        }
        if let Some(file) = self.items.file() {
            input.insert("name".into(), file.name.as_str().into());
            input.insert("digest".into(), file.digest.as_str().into());
            input.insert("bytes".into(), file.bytes.into());
            input.insert("items_of_file".into(), file.items.into());
        }
        input
    }

    fn suits(&self, store: &Capabilities) -> Result<Vec<&'static str>, JobError> {
        if let Some(bytes) = self
            .items
            .key_lengths()
            .into_iter()
            .find(|bytes| !(store.min_key_bytes..=store.max_key_bytes).contains(bytes))
        {
            return Err(JobError(format!(
                "a key has {bytes} bytes, this store takes {} to {}; use another store",
                store.min_key_bytes, store.max_key_bytes
            )));
        }
        let largest = self.items.most_value_bytes();
        if largest > store.max_value_bytes {
            return Err(JobError(format!(
                "the largest value has {largest} bytes, this store takes at most {}; use {}another store",
                store.max_value_bytes,
                if self.items.file().is_some() { "" } else { "--set value=BYTES, or " }
            )));
        }
        Ok(Vec::new())
    }

    fn trial(&self, setup: &TrialSetup) -> Box<dyn Trial + '_> {
        Box::new(trial::GrowTrial::new(self, setup))
    }

    /// An item belongs to one slot.
    fn shareable(&self, _: &TrialSetup) -> Result<(), JobError> {
        match self.plan.phases() {
            1 => Ok(()),
            _ => Err(JobError(
                "mode=two-phase: its later phases go at a part of the highest rate, and a worker knows only its own; set mode=fill".into(),
            )),
        }
    }

    fn known_digest(&self) -> Option<String> {
        (self.verify == Verify::All).then(|| self.expected().to_owned())
    }

    fn warnings(&self) -> Vec<String> {
        let sample = (self.verify == Verify::Sample)
            .then(|| "verify=sample reads back one item in 100: there is no digest of all items.".to_owned());
        let left = self.items.file().filter(|file| file.items > self.items.len()).map(|file| {
            let (some, all) = (study::whole(self.items.len()), study::whole(file.items));
            format!("{some} of the {all} items of {} are stored; --set items=file stores each of them.", file.name)
        });
        sample.into_iter().chain(left).collect()
    }

    fn logical_bytes(&self) -> u64 {
        self.items.least_bytes()
    }
}
