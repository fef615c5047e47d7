//! fans: which pages are liked together (the job of 2009 that started it all).
//!
//! Input: profiles with the pages they are fans of. Work, for each profile and each page p of it: get p, decode its
//! record (or start one), add one fan, add one to the count of every other page of the profile, put p. So one get and
//! one put a mention, on values that keep growing. Answer: all pairs of pages with their counts.

mod blob;
mod counters;
mod doubt;
mod expected;
mod found;
mod json;
mod pages;
mod policy;
mod preset;
mod query;
mod read_back;
mod record;
mod schedule;
mod trial;

use data::fans::FanSet;
use expected::{Index, Partners, Summary};
use jobkit::{Holds, Job, JobError, JobExtras, JobInfo, JobRequest, ParamInfo, QueryInfo, Trial, TrialSetup};
use policy::{Policy, Variant};
use std::collections::BTreeMap;
use std::sync::OnceLock;
use store::Capabilities;

pub use json::JsonNames;
pub use record::{Merger, NotARecord, decode};

/// The job as it is listed.
pub static JOB: JobInfo = JobInfo {
    name: "fans",
    summary: "correlate the fan pages of profiles: get, merge, put a growing JSON record per mention",
    input: "profiles with their pages, .tsv or bracket format, also .gz; debian-1k, debian-10k (default), gen:N:SEED",
    records: "pages",
    params: &[
        ParamInfo {
            name: "policy",
            default: "partition",
            values: "partition, cas, lock, none",
            tunable: &["partition", "cas", "lock"],
            help: "what keeps concurrent updates of one page apart: pages owned by slots, the store's compare-and-set, \
                   a lock in the client, or nothing (updates get lost and are counted)",
        },
        ParamInfo {
            name: "variant",
            default: "blob",
            values: "blob, counters",
            tunable: &[],
            help: "a JSON record per page, or the store's own counters (keys fans:PAGE and with:PAGE)",
        },
    ],
    prepare,
    extras: JobExtras {
        query: Some(QueryInfo { key: "PAGE", holds: Holds::Values, render: query::render }),
        presets: preset::PRESETS,
        ..JobExtras::NONE
    },
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

/// From here a profile takes longer than all others of a usual input together.
const MANY_PAGES: usize = 10_000;
/// What a partner and its count take in a record, at least.
const COUNT_BYTES: u64 = 12;

/// Number and pages of the profile with the most.
fn largest(set: &FanSet) -> (usize, usize) {
    let each = (0..set.profiles()).map(|profile| (profile, set.profile(profile).len()));
    each.max_by_key(|(_, pages)| *pages).unwrap_or_default()
}

/// `1.1 GiB`, `10.9 TiB`.
fn size(bytes: u64) -> String {
    let gib = bytes as f64 / f64::from(1 << 30);
    if gib < 1024.0 { format!("{gib:.1} GiB") } else { format!("{:.1} TiB", gib / 1024.0) }
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
            ("largest_profile".into(), largest(set).1.into()),
        ])
    }

    fn warnings(&self) -> Vec<String> {
        let set = &self.input.set;
        let (number, pages) = largest(set);
        if pages < MANY_PAGES {
            return Vec::new();
        }
        let counts = (pages as u64).saturating_mul(pages as u64);
        vec![format!(
            "{}: profile {} of {} has {pages} pages. Each of them counts all others, so this profile alone is {counts} counts: hours of \
             work and {} of values or more. Leave it out or split it",
            set.source_name(),
            number + 1,
            set.profiles(),
            size(counts.saturating_mul(COUNT_BYTES)),
        )]
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
                jobkit::printable(self.input.set.pages.get(summary.largest_value_page)),
                summary.largest_value_bytes,
                store.max_value_bytes
            )));
        }
        Ok(Vec::new())
    }

    fn trial(&self, setup: &TrialSetup) -> Box<dyn Trial + '_> {
        Box::new(trial::FansTrial::new(&self.input, self.policy, self.variant, setup))
    }

    /// The store keeps writers of a page apart, or a page belongs to one slot.
    fn shareable(&self, _: &TrialSetup) -> Result<(), JobError> {
        match (self.policy, self.variant) {
            (Policy::Lock, Variant::Blob) => Err(JobError(
                "policy=lock: its locks are in the memory of one process; set policy=partition, or policy=cas where the store has it".into(),
            )),
            _ => Ok(()),
        }
    }

    fn known_digest(&self) -> Option<String> {
        Some(self.input.summary().digest.clone())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::JOB;

    #[test]
    fn one_profile_of_very_many_pages_is_warned_of_with_what_it_will_cost() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("wide.tsv");
        let warnings = |pages: usize| {
            let names: Vec<String> = (0..pages).map(|page| format!("p{page}")).collect();
            std::fs::write(&path, format!("one\ta b\ntwo\t{} p0\n", names.join(" "))).unwrap();
            let job = crate::prepare(&JOB, Some(path.display().to_string()), &[], 42).unwrap();
            assert_eq!(job.input()["largest_profile"], pages);
            assert_eq!(job.input()["repeated_mentions_dropped"], 1);
            job.warnings()
        };
        assert!(warnings(9_999).is_empty());
        // A million pages, each compared with all before it, would have been read for hours in silence.
        let found = warnings(1_000_000);
        assert_eq!(found.len(), 1);
        for words in ["profile 2 of 2 has 1000000 pages", "1000000000000 counts", "10.9 TiB"] {
            assert!(found[0].contains(words), "{words}: {found:?}");
        }
    }
}
