//! fans: which pages are liked together (the job of 2009 that started it all).
//!
//! Input: profiles with the pages they are fans of. Work, for each profile and each page p of it: get p, decode its
//! record (or start one), add one fan, add one to the count of every other page of the profile, put p. So one get and
//! one put a mention, on values that keep growing. Answer: all pairs of pages with their counts.

mod blob;
mod counters;
mod expected;
mod found;
mod json;
mod ledger;
mod policy;
mod preset;
mod query;
mod read_back;
mod record;
mod schedule;
mod trial;

use data::fans::FanSet;
use engine::{Holds, Job, JobError, JobInfo, JobRequest, ParamInfo, QueryInfo, Trial, TrialSetup};
use expected::{Index, Partners, Summary};
use policy::{Policy, Variant};
use std::collections::BTreeMap;
use std::sync::OnceLock;
use store::{Capabilities, Keeps};

pub use json::JsonNames;
pub use record::{Merger, NotARecord, decode};

/// The job as it is listed.
pub static JOB: JobInfo = JobInfo {
    name: "fans",
    summary: "correlate the fan pages of profiles: get, merge, put a growing JSON record a mention",
    input: "profiles with their pages, .tsv or bracket format, also .gz; debian-1k, debian-10k (default), gen:N:SEED",
    params: &[
        ParamInfo {
            name: "policy",
            default: "partition",
            values: "partition, cas, lock, none",
            help: "what keeps concurrent updates of one page apart: pages owned by slots, the store's compare-and-set, \
                   a lock in the client, or nothing (updates get lost and are counted)",
        },
        ParamInfo {
            name: "variant",
            default: "blob",
            values: "blob, counters",
            help: "a JSON record a page, or the store's own counters (keys fans:PAGE and with:PAGE)",
        },
    ],
    prepare,
    query: Some(QueryInfo { key: "PAGE", holds: Holds::Values, render: query::render }),
    presets: preset::PRESETS,
    plan: None,
};

/// The data set with all that is derived from it and shared by all trials.
pub struct Input {
    set: FanSet,
    names: JsonNames,
    index: Index,
    /// Page numbers in byte order of names, and each page's place in it.
    order: Vec<u32>,
    ranks: Vec<u32>,
    summary: OnceLock<Summary>,
}

impl Input {
    /// Derives everything but the summary.
    pub fn new(set: FanSet) -> Input {
        let order = set.pages.sorted();
        let mut ranks = vec![0; order.len()];
        for (rank, &page) in order.iter().enumerate() {
            ranks[page as usize] = rank as u32;
        }
        Input {
            names: JsonNames::new(&set.pages),
            index: Index::new(&set),
            order,
            ranks,
            summary: OnceLock::new(),
            set,
        }
    }

    fn partners(&self) -> Partners<'_> {
        Partners::new(&self.set, &self.index)
    }

    fn summary(&self) -> &Summary {
        self.summary.get_or_init(|| expected::summarise(&self.set, &self.index, &self.order, &self.ranks, &self.names))
    }

    /// The page with this name, as it is escaped in a record.
    fn page_of(&self, escaped: &[u8]) -> Option<u32> {
        if !escaped.contains(&b'\\') {
            return self.set.pages.id(escaped);
        }
        let mut name = Vec::with_capacity(escaped.len());
        let mut bytes = escaped.iter();
        while let Some(&byte) = bytes.next() {
            name.push(if byte == b'\\' { *bytes.next()? } else { byte });
        }
        self.set.pages.id(&name)
    }
}

struct Fans {
    input: Input,
    policy: Policy,
    variant: Variant,
}

fn prepare(request: &JobRequest) -> Result<Box<dyn Job>, JobError> {
    let param = |name: &str| request.params.get(name).map_or("", String::as_str);
    let policy = Policy::parse(param("policy"))?;
    let variant = Variant::parse(param("variant"))?;
    let source = request.data.as_deref().unwrap_or("debian-10k");
    let set = FanSet::load(source).map_err(|error| JobError(error.to_string()))?;
    Ok(Box::new(Fans { input: Input::new(set), policy, variant }))
}

impl Job for Fans {
    fn input(&self) -> BTreeMap<String, serde_json::Value> {
        let set = &self.input.set;
        BTreeMap::from([
            ("name".into(), set.source_name().into()),
            ("digest".into(), set.digest().into()),
            ("bytes".into(), set.text_bytes().into()),
            ("profiles".into(), set.profiles().into()),
            ("mentions".into(), set.mentions().len().into()),
            ("pages".into(), set.pages.len().into()),
            ("repeated_mentions_dropped".into(), set.repeated().into()),
        ])
    }

    fn suits(&self, store: &Capabilities) -> Result<Vec<&'static str>, JobError> {
        policy::check_operations(self.policy, self.variant, store)?;
        let summary = self.input.summary();
        let prefix = if self.variant == Variant::Counters { counters::PREFIX_BYTES } else { 0 };
        if summary.longest_key_bytes + prefix > store.max_key_bytes {
            return Err(JobError(format!(
                "the longest key has {} bytes, this store takes at most {}; use other data, or another store",
                summary.longest_key_bytes + prefix,
                store.max_key_bytes
            )));
        }
        if self.variant == Variant::Blob && summary.largest_value_bytes > store.max_value_bytes {
            return Err(JobError(format!(
                "the record of {} will grow to {} bytes, this store takes at most {}; use smaller --data, or another store",
                engine::printable(self.input.set.pages.get(summary.largest_value_page)),
                summary.largest_value_bytes,
                store.max_value_bytes
            )));
        }
        Ok(Vec::new())
    }

    fn trial(&self, setup: &TrialSetup) -> Box<dyn Trial + '_> {
        let checks = match setup.capabilities.keeps {
            Keeps::Everything => trial::Checks::All,
            Keeps::Nothing => trial::Checks::None,
        };
        Box::new(trial::FansTrial::new(&self.input, self.policy, self.variant, setup.slots, checks))
    }

    fn known_digest(&self) -> Option<String> {
        Some(self.input.summary().digest.clone())
    }
}
