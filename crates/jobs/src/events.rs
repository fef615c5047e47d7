//! events: how much was ordered by each customer and in each month, of events that come faster than one thread can sum them (the
//! summarizer of 2012).
//!
//! Parsers read events, queues carry them, summarizers add them up; each event goes to one to six counters, and a counter has one
//! writer, chosen by the hash of its customer or month. Then every counter is put into the store. The phase `summarize` is on the clock from
//! the first event parsed to the last one summarized, the phase `store` until the last counter is in the store.
//!
//! Answer: the counters. They do not depend on the order of events, so that every setting must come to the same: it is known from the
//! input before anything runs. No counter may miss an addition: what was added is counted, too.

pub mod pipeline;
mod portion;
mod preset;
pub mod queues;
mod store_phase;
mod table;
mod trial;
mod truth;
mod waiting;

use data::events::{EventFormat, EventText};
use jobkit::{Holds, Job, JobError, JobExtras, JobInfo, JobRequest, ParamInfo, QueryInfo, Trial, TrialSetup};
use pipeline::PipelinePlan;
use queues::QueueSizes;
use std::collections::BTreeMap;
use std::path::Path;
use store::Capabilities;
use truth::Truth;

/// Most events that are generated.
const MOST_EVENTS: u64 = 10_000_000_000;
/// Most threads of a side.
const MOST_THREADS: u64 = 64;
/// Longest key: `cq:` and a number below 2^61.
const KEY_BYTES: usize = 22;

/// The job as it is listed.
pub static JOB: JobInfo = JobInfo {
    name: "events",
    summary: "parse events, queue them, sum them up and store the sums; how long each side waits, and whether the queue or the work is the limit",
    input: "generated; or one event per line, also .gz: customer,date,quantity,cents (v1), JSON (v2)",
    records: "counters",
    params: &[
        ParamInfo {
            name: "events",
            default: "500000",
            values: "1 to 10000000000",
            tunable: &[],
            help: "events that are generated",
        },
        ParamInfo {
            name: "format",
            default: "v1",
            values: "v1, v2",
            tunable: &[],
            help: "v1: CSV; v2: nested JSON, the same events",
        },
        ParamInfo {
            name: "queue",
            default: "mutex-array",
            values: "mutex-array, mutex-list, channel, array-queue, ring, disruptor, none",
            tunable: &["mutex-array", "mutex-list", "channel", "array-queue", "ring", "disruptor", "none"],
            help: "how parsers hand events over: an array behind a lock; a list with a lock at each end; crossbeam-channel; \
                   crossbeam-queue; a ring per parser and summarizer (rtrb); the crate disruptor; none: one thread parses and sums",
        },
        ParamInfo {
            name: "parsers",
            default: "1",
            values: "1 to 64",
            tunable: &["1", "2", "3", "4"],
            help: "threads that parse",
        },
        ParamInfo {
            name: "summarizers",
            default: "1",
            values: "1 to 64",
            tunable: &["1", "2", "3", "4"],
            help: "threads that sum, each with a queue of its own",
        },
        ParamInfo {
            name: "size",
            default: "4096",
            values: "64 to 65536",
            tunable: &["64", "1024", "4096", "65536"],
            help: "what a queue holds: an event is one entry for its month, and one for its customer",
        },
        ParamInfo {
            name: "batch",
            default: "64",
            values: "1 to 256",
            tunable: &["1", "16", "64", "256"],
            help: "entries a parser puts into a queue at once",
        },
    ],
    prepare,
    extras: JobExtras {
        query: Some(QueryInfo { key: "COUNTER", holds: Holds::Values, render }),
        presets: preset::PRESETS,
        size: Some("events"),
        ..JobExtras::NONE
    },
};

struct Events {
    text: EventText,
    truth: Truth,
    plan: PipelinePlan,
}

fn prepare(request: &JobRequest) -> Result<Box<dyn Job>, JobError> {
    let param = |name: &str| request.params.get(name).map_or("", String::as_str);
    let number = |name: &str, least: u64, most: u64| match data::count::whole(param(name)) {
        Some(number) if (least..=most).contains(&number) => Ok(number),
        _ => Err(JobError(format!("{name}={} is not possible; use {least} to {most}", param(name)))),
    };
    let format = match param("format") {
        "v1" => EventFormat::V1,
        "v2" => EventFormat::V2,
        other => return Err(JobError(format!("format={other} is not possible; use v1 (CSV) or v2 (JSON)"))),
    };
    let queue = match param("queue") {
        "none" => None,
        name => Some(queues::find(name).ok_or_else(|| no_queue(name))?),
    };
    let size = match param("size") {
        size if is_unbounded(size) => return Err(unbounded("size", size)),
        _ => number("size", 64, 65_536)?,
    };
    if let Some(kind) = queue.filter(|kind| kind.sizes == QueueSizes::PowersOfTwo && !size.is_power_of_two()) {
        let next = size.next_power_of_two();
        return Err(JobError(format!("size={size}: queue={} has sizes that are powers of two; use {next}", kind.name)));
    }
    let plan = PipelinePlan {
        queue,
        parsers: number("parsers", 1, MOST_THREADS)? as usize,
        summarizers: number("summarizers", 1, MOST_THREADS)? as usize,
        size: size as usize,
        batch: number("batch", 1, 256)? as usize,
    };
    let events = number("events", 1, MOST_EVENTS)?;
    let text = match &request.data {
        Some(path) => EventText::read(Path::new(path), format).map_err(|error| JobError(error.to_string()))?,
        None => {
            fits(events, format)?;
            EventText::generate(format, events, request.seed)
        }
    };
    let truth = Truth::of(&text).map_err(|error| JobError(error.to_string()))?;
    Ok(Box::new(Events { text, truth, plan }))
}

/// Whether somebody asks for a queue without a bound.
fn is_unbounded(word: &str) -> bool {
    ["0", "unbounded", "unlimited", "infinite", "inf"].contains(&word)
}

fn unbounded(option: &str, word: &str) -> JobError {
    JobError(format!(
        "{option}={word} is refused: a queue without a bound hides that the summarizers fall behind, until memory is gone; set size=64 to \
         65536, and the parsers wait instead"
    ))
}

fn no_queue(name: &str) -> JobError {
    if is_unbounded(name) {
        return unbounded("queue", name);
    }
    let known: Vec<&str> = queues::ALL.iter().map(|kind| kind.name).collect();
    JobError(format!(
        "queue={name} is not possible.{} Use {} or none",
        study::did_you_mean(name, known.iter().copied()),
        known.join(", ")
    ))
}

/// Whether the text has room, in kvtrial and in the process that runs the trials.
fn fits(events: u64, format: EventFormat) -> Result<(), JobError> {
    let needed_bytes = 2
        * events
        * match format {
            EventFormat::V1 => 24,
            EventFormat::V2 => 176,
        };
    match store::memory::free_bytes() {
        Some(free) if free < needed_bytes => Err(JobError(format!(
            "events={events}: their text takes {} MiB, {} MiB of memory are free; use fewer",
            needed_bytes >> 20,
            free >> 20
        ))),
        _ => Ok(()),
    }
}

fn render(key: &[u8], value: &[u8]) -> Result<String, String> {
    let count = store_phase::parse(value).ok_or_else(|| format!("'{}' is not a number", jobkit::printable(value)))?;
    Ok(format!("{{\"counter\":{},\"value\":{count}}}", serde_json::Value::from(String::from_utf8_lossy(key))))
}

impl Job for Events {
    fn input(&self) -> BTreeMap<String, serde_json::Value> {
        BTreeMap::from([
            ("name".into(), self.text.source_name().into()),
            ("digest".into(), self.text.digest().into()),
            ("bytes".into(), self.text.bytes().into()),
            ("events".into(), self.truth.events.into()),
            ("additions".into(), self.truth.additions.into()),
            ("counters".into(), self.truth.counters.len().into()),
        ])
    }

    fn suits(&self, store: &Capabilities) -> Result<Vec<&'static str>, JobError> {
        if store.max_key_bytes < KEY_BYTES {
            return Err(JobError(format!(
                "its keys have up to {KEY_BYTES} bytes, this store takes at most {}; use another store",
                store.max_key_bytes
            )));
        }
        Ok(Vec::new())
    }

    fn trial(&self, setup: &TrialSetup) -> Box<dyn Trial + '_> {
        Box::new(trial::EventTrial::new(&self.text, &self.truth, self.plan, setup))
    }

    /// Its queues are in memory.
    fn shareable(&self, _: &TrialSetup) -> Result<(), JobError> {
        Err(JobError("its parsers and summarizers are threads of one process; run it without --workers".into()))
    }

    fn known_digest(&self) -> Option<String> {
        Some(self.truth.digest(&BTreeMap::new()))
    }

    fn logical_bytes(&self) -> u64 {
        self.truth.logical_bytes
    }
}
