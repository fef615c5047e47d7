//! counts: how often each word, and each pair of neighbouring words, occurs in many short messages (the job of April 2009).
//!
//! Input: messages. Work: for each message, increment the counter of every word (unigram) and of every two words that follow each
//! other (bigram), all in one key space. So one increment a word and one a pair: about 34 a message. Answer: all terms with their
//! counts.

mod doubt;
mod preset;
mod read_back;
mod run;
mod trial;

use crate::tally::Tally;
use data::digest::LineDigest;
use data::messages::Terms;
use jobkit::{Holds, Job, JobError, JobExtras, JobInfo, JobRequest, ParamInfo, QueryInfo, Trial, TrialSetup};
use std::collections::BTreeMap;
use std::sync::OnceLock;
use store::{Capabilities, OperationKind};

/// The job as it is listed.
pub static JOB: JobInfo = JobInfo {
    name: "counts",
    summary: "count words and word pairs: one increment per word and per pair, on many small counters",
    input: "one message per line, any bytes, also .gz; vader (default, 23,703 messages); gen:MESSAGES:SEED",
    records: "terms",
    params: &[ParamInfo {
        name: "increment",
        default: "auto",
        values: "auto, native, memcached, rewrite",
        tunable: &[],
        help: "the store's own increment; get, add 0 if absent, increment, as memcached users do it; or get and put of the number as \
               text; auto: its own where it has one, else rewrite",
    }],
    prepare,
    extras: JobExtras {
        query: Some(QueryInfo { key: "TERM", holds: Holds::Counters, render }),
        presets: preset::PRESETS,
        ..JobExtras::NONE
    },
};

/// How a counter is incremented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Auto,
    Native,
    Memcached,
    Rewrite,
}

impl Method {
    /// What a store must have for it.
    fn needs(self) -> &'static [OperationKind] {
        match self {
            Method::Auto | Method::Rewrite => &[OperationKind::Get, OperationKind::Put],
            Method::Native | Method::Memcached => &[OperationKind::Increment, OperationKind::GetCounter],
        }
    }
}

struct Counting {
    terms: Terms,
    longest_term_bytes: usize,
    shortest_term_bytes: usize,
    method: Method,
    digest: OnceLock<String>,
    answers: OnceLock<Tally>,
}

fn prepare(request: &JobRequest) -> Result<Box<dyn Job>, JobError> {
    let method = match request.params.get("increment").map_or("", String::as_str) {
        "auto" => Method::Auto,
        "native" => Method::Native,
        "memcached" => Method::Memcached,
        "rewrite" => Method::Rewrite,
        other => {
            let message = format!("increment={other} is not possible; use auto, native, memcached or rewrite");
            return Err(JobError(message));
        }
    };
    let terms = Terms::load(request.data.as_deref().unwrap_or("vader")).map_err(|error| JobError(error.to_string()))?;
    let lengths = || terms.names.iter().map(<[u8]>::len);
    let (longest_term_bytes, shortest_term_bytes) = (lengths().max().unwrap_or(0), lengths().min().unwrap_or(0));
    Ok(Box::new(Counting {
        longest_term_bytes,
        shortest_term_bytes,
        terms,
        method,
        digest: OnceLock::new(),
        answers: OnceLock::new(),
    }))
}

fn render(key: &[u8], value: &[u8]) -> Result<String, String> {
    let count: u64 = parse(value).ok_or_else(|| format!("'{}' is not a count", jobkit::printable(value)))?;
    Ok(format!("{{\"term\":{},\"count\":{count}}}", serde_json::Value::from(String::from_utf8_lossy(key))))
}

/// A decimal number.
fn parse(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.trim_ascii_end().parse().ok()
}

impl Counting {
    fn method_on(&self, store: &Capabilities) -> Method {
        match self.method {
            Method::Auto if Method::Native.needs().iter().all(|&kind| store.has(kind)) => Method::Native,
            Method::Auto => Method::Rewrite,
            asked => asked,
        }
    }

    /// The digest of the lines `term \t count`, with other counts (or none) for some terms.
    fn digest_with(&self, wrong: &BTreeMap<u32, Option<u64>>) -> String {
        let mut lines = LineDigest::default();
        for term in self.terms.names.sorted() {
            let count = match wrong.get(&term) {
                Some(None) => continue,
                Some(&Some(count)) => count,
                None => u64::from(self.terms.counts[term as usize]),
            };
            lines.line(&[self.terms.names.get(term), count.to_string().as_bytes()]);
        }
        lines.finish()
    }

    /// What all increments together must answer: each term every number from 1 to its count, once.
    fn answers(&self) -> &Tally {
        self.answers.get_or_init(|| {
            let mut answers = Tally::default();
            for (term, &count) in (0..).zip(&self.terms.counts) {
                (1..=count).for_each(|number| answers.add(term, u64::from(number)));
            }
            answers
        })
    }

    fn digest(&self) -> &str {
        self.digest.get_or_init(|| self.digest_with(&BTreeMap::new()))
    }
}

impl Job for Counting {
    fn input(&self) -> BTreeMap<String, serde_json::Value> {
        let terms = &self.terms;
        BTreeMap::from([
            ("name".into(), terms.source_name().into()),
            ("digest".into(), terms.digest().into()),
            ("bytes".into(), terms.text_bytes.into()),
            ("messages".into(), terms.messages.into()),
            ("tokens".into(), terms.tokens.into()),
            ("increments".into(), terms.increments.len().into()),
            ("terms".into(), terms.names.len().into()),
        ])
    }

    fn suits(&self, store: &Capabilities) -> Result<Vec<&'static str>, JobError> {
        let (longest, shortest) = (self.longest_term_bytes, self.shortest_term_bytes);
        if longest > store.max_key_bytes || shortest < store.min_key_bytes {
            return Err(JobError(format!(
                "its terms have {shortest} to {longest} bytes, this store takes keys of {} to {}; use other data, or another store",
                store.min_key_bytes, store.max_key_bytes
            )));
        }
        let method = self.method_on(store);
        if let Some(missing) = method.needs().iter().find(|&&kind| !store.has(kind)) {
            return Err(JobError(format!(
                "increment={} needs {}, which this store does not have; use increment=rewrite",
                if method == Method::Memcached { "memcached" } else { "native" },
                missing.name()
            )));
        }
        Ok(if method == Method::Rewrite { vec!["increment"] } else { Vec::new() })
    }

    fn trial(&self, setup: &TrialSetup) -> Box<dyn Trial + '_> {
        Box::new(trial::CountTrial::new(self, self.method_on(&setup.capabilities), setup))
    }

    /// The store counts, or a term belongs to one slot.
    fn shareable(&self, _: &TrialSetup) -> Result<(), JobError> {
        Ok(())
    }

    fn known_digest(&self) -> Option<String> {
        Some(self.digest().to_owned())
    }

    fn logical_bytes(&self) -> u64 {
        self.terms.names.iter().map(|term| term.len() as u64 + 8).sum()
    }
}
