//! append: a big table in memory that only grows (the job of 2011).
//!
//! Input: events, an id and some 64-bit fields each. Work, for each event: append 16 bytes (the id, and the exclusive or of the
//! fields, both big-endian) to the value of the key that is the id in 8 bytes. Values grow from 16 bytes to 16 KiB; 208 million
//! events on 78 million keys at the original scale. Answer: the values by key.
//!
//! The generator makes any event from its index and any key's events from the key, so nothing is kept to check a value by: it is
//! made again. The `null` cell is what the original called `xfer`: events are made and packed, and nothing is stored.

mod answer;
mod doubt;
mod lengths;
mod preset;
mod read_back;
mod run;
mod trial;

use answer::ExpectedAnswer;
use data::append::{Events, KEY_BYTES, RECORD_BYTES};
use jobkit::{Job, JobError, JobExtras, JobInfo, JobRequest, ParamInfo, Trial, TrialSetup};
use std::collections::BTreeMap;
use std::sync::OnceLock;
use store::{Capabilities, OperationKind};

/// The job as it is listed.
pub static JOB: JobInfo = JobInfo {
    name: "append",
    summary: "append 16 bytes per event to the values of many keys, and watch the store grow",
    input: "events, id,field,field,... per line in CSV, also .gz; gen:KEYS:SEED (default gen:20000:42, 53,808 events)",
    records: "keys",
    params: &[
        ParamInfo {
            name: "append",
            default: "auto",
            values: "auto, native, rewrite",
            tunable: &[],
            help: "the store's own append, or get and put of the whole value; auto: its own where it has one",
        },
        ParamInfo {
            name: "verify",
            default: "all",
            values: "all, sample",
            tunable: &[],
            help: "read back every value, or that of one key in 100 (then there is no digest)",
        },
    ],
    prepare,
    extras: JobExtras { presets: preset::PRESETS, ..JobExtras::NONE },
};

/// How bytes are appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Auto,
    Native,
    Rewrite,
}

/// Which values are read back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verify {
    All,
    Sample,
}

impl Verify {
    /// One key in this many is read.
    fn one_in(self) -> u64 {
        match self {
            Verify::All => 1,
            Verify::Sample => 100,
        }
    }
}

struct Append {
    events: Events,
    method: Method,
    verify: Verify,
    expected: OnceLock<ExpectedAnswer>,
}

fn prepare(request: &JobRequest) -> Result<Box<dyn Job>, JobError> {
    let param = |name: &str| request.params.get(name).map_or("", String::as_str);
    let method = match param("append") {
        "auto" => Method::Auto,
        "native" => Method::Native,
        "rewrite" => Method::Rewrite,
        other => return Err(JobError(format!("append={other} is not possible; use auto, native or rewrite"))),
    };
    let verify = match param("verify") {
        "all" => Verify::All,
        "sample" => Verify::Sample,
        other => return Err(JobError(format!("verify={other} is not possible; use all or sample"))),
    };
    let source = request.data.as_deref().unwrap_or("gen:20000:42");
    let events = Events::load(source).map_err(|error| JobError(error.to_string()))?;
    Ok(Box::new(Append { events, method, verify, expected: OnceLock::new() }))
}

impl Append {
    fn method_on(&self, store: &Capabilities) -> Method {
        match self.method {
            Method::Auto if store.has(OperationKind::Append) => Method::Native,
            Method::Auto => Method::Rewrite,
            asked => asked,
        }
    }

    /// What the store must hold at the end; computed when it is first asked for.
    fn expected(&self) -> &ExpectedAnswer {
        self.expected.get_or_init(|| ExpectedAnswer::of(&self.events))
    }
}

impl Job for Append {
    fn input(&self) -> BTreeMap<String, serde_json::Value> {
        let events = &self.events;
        let mut input = BTreeMap::from([
            ("name".into(), events.source_name().into()),
            ("appends".into(), events.len().into()),
            ("keys".into(), events.keys().into()),
            ("largest_value_bytes".into(), (events.most_events() * RECORD_BYTES as u64).into()),
        ]);
        if let Some(digest) = events.digest() {
            input.insert("digest".into(), digest.into());
        }
        input
    }

    fn suits(&self, store: &Capabilities) -> Result<Vec<&'static str>, JobError> {
        let largest = self.events.most_events() * RECORD_BYTES as u64;
        if KEY_BYTES < store.min_key_bytes || KEY_BYTES > store.max_key_bytes {
            return Err(JobError(format!("its keys have {KEY_BYTES} bytes, which this store does not take")));
        }
        if largest > store.max_value_bytes as u64 {
            return Err(JobError(format!(
                "the largest value will have {largest} bytes, this store takes at most {}; use other data, or another store",
                store.max_value_bytes
            )));
        }
        match self.method_on(store) {
            Method::Native if !store.has(OperationKind::Append) => {
                Err(JobError("append=native: this store has no append of its own; use append=rewrite".into()))
            }
            Method::Rewrite => Ok(vec!["append"]),
            _ => Ok(Vec::new()),
        }
    }

    fn trial(&self, setup: &TrialSetup) -> Box<dyn Trial + '_> {
        let method = self.method_on(&setup.capabilities);
        Box::new(trial::AppendTrial::new(self, method, setup))
    }

    /// A key belongs to one slot.
    fn shareable(&self, _: &TrialSetup) -> Result<(), JobError> {
        Ok(())
    }

    fn known_digest(&self) -> Option<String> {
        (self.verify == Verify::All).then(|| self.expected().digest.clone())
    }

    fn logical_bytes(&self) -> u64 {
        self.events.keys() * KEY_BYTES as u64 + self.events.len() * RECORD_BYTES as u64
    }
}
