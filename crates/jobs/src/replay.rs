//! replay: the requests of a trace, as an application made them, on any store.
//!
//! Work: gets, sets and deletes of the trace, those of one key in their order whatever the number of clients. The value that a set writes
//! follows from the key and the number of the request, so every value read is known to be the one written last, to the last byte. With
//! `fill=on-miss` a get that finds nothing is followed by a put, as a cache is used.
//!
//! A store may be smaller than what the trace writes: with `evictions=allowed` a value that is gone is a miss, and the hits of an exact LRU
//! and an exact FIFO of the size that the store was found to have are beside the store's.
//!
//! Answer: each key and how many of its requests were answered right. It follows from the trace alone.

mod commands;
mod judge;
mod lives;
mod own_keys;
mod read_back;
mod run;
mod trial;
mod truth;
mod values;

use crate::expires::{BY_READER, Expires, MOMENT_BYTES};
use data::count;
use jobkit::{Job, JobError, JobExtras, JobInfo, JobRequest, ParamInfo, Trial, TrialSetup};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;
use store::{Capabilities, OperationKind};
use trace::kvtrace::CommandLog;
use trace::{Filling, RequestKind, SHIPPED, Trace, TraceFormat, TraceOptions, fit};
use truth::Truth;

/// The most bytes of a value that may be asked for.
const MOST_VALUE_BYTES: u64 = 1 << 30;

/// The job as it is listed.
pub static JOB: JobInfo = JobInfo {
    name: "replay",
    summary: "the requests of a recorded trace, in their order per key; every value read verified, hits beside those of exact caches",
    input: "a recording (kvtrial record), or a trace of cache2k, Twitter, Meta, libCacheSim (oracleGeneral, LCS) or MONITOR, also .gz, .xz, .zst; or web12 (shipped)",
    records: "keys",
    params: &[
        ParamInfo {
            name: "format",
            default: "auto",
            values: "auto, kvtrace, cache2k, twitter, meta, oracle, lcs, monitor, monitor-trace",
            tunable: &[],
            help: "format of the trace; auto: what its first bytes show, else its name (.trace is cache2k)",
        },
        ParamInfo {
            name: "requests",
            default: "all",
            values: "all, or 1 to 4000000000",
            tunable: &[],
            help: "requests to replay, from the first on",
        },
        ParamInfo {
            name: "fill",
            default: "auto",
            values: "auto, never, on-miss",
            tunable: &[],
            help: "whether a get that finds nothing puts the value; auto: where the trace itself sets none",
        },
        ParamInfo {
            name: "pace",
            default: "none",
            values: "none, trace, or x0.001 to x1000000",
            tunable: &[],
            help: "when requests are due: as fast as replies come; as recorded; or that many times as fast",
        },
        ParamInfo {
            name: "load",
            default: "none",
            values: "none, first",
            tunable: &[],
            help: "first: every key is put before the clock starts, as large as its first request says",
        },
        ParamInfo {
            name: "evictions",
            default: "wrong",
            values: "wrong, allowed",
            tunable: &[],
            help: "whether the store may drop values, as a cache does; wrong: a value that is gone voids the trial",
        },
        ParamInfo {
            name: "ttl",
            default: "kept",
            values: "kept, none",
            tunable: &[],
            help: "kept: what has a time to live in the trace has one in the store, as many times shorter as the replay is faster; none: all values last",
        },
        ParamInfo {
            name: "commands",
            default: "values",
            values: "values, all",
            tunable: &[],
            help: "values: gets, sets and deletes, on any store; all: every command as it was recorded, on Redis and Valkey, and its reply is held \
                   against the recorded one (a recording with --keep values)",
        },
        ParamInfo {
            name: "value",
            default: "100",
            values: "0 to 1073741824",
            tunable: &[],
            help: "bytes of a value where the trace does not say",
        },
        ParamInfo {
            name: "largest",
            default: "1048576",
            values: "1 to 1073741824",
            tunable: &[],
            help: "larger values are cut to these bytes",
        },
    ],
    prepare,
    extras: JobExtras::NONE,
};

/// What happens before the clock starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Loading {
    Nothing,
    /// Every key is put.
    First,
}

/// Whether the store may drop values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Evictions {
    Wrong,
    Allowed,
}

/// Whether values live as long as in the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Times {
    Kept,
    /// They last.
    Dropped,
}

/// When requests are due.
#[derive(Clone, Copy, Debug, PartialEq)]
enum ReplayPace {
    /// When the replies to others have come.
    Highest,
    /// As recorded, this many times as fast.
    Recorded { speed: f64 },
}

struct Replay {
    trace: Trace,
    pace: ReplayPace,
    filling: Filling,
    loading: Loading,
    evictions: Evictions,
    times: Times,
    sizes: values::Sizes,
    truth: Truth,
    /// Every command, where all are sent as they were.
    log: Option<CommandLog>,
    seed: u64,
    digest: OnceLock<String>,
}

fn prepare(request: &JobRequest) -> Result<Box<dyn Job>, JobError> {
    let param = |name: &str| request.params.get(name).map_or("", String::as_str);
    let refuse = |name: &str, remedy: &str| JobError(format!("{name}={} is not possible; use {remedy}", param(name)));
    let format = match (param("format"), TraceFormat::named(param("format"))) {
        ("auto", _) => None,
        (_, Some(format)) => Some(format),
        (_, None) => return Err(refuse("format", &format!("auto, {}", names()))),
    };
    let most = match (param("requests"), count::whole(param("requests"))) {
        ("all", _) => u64::MAX,
        (_, Some(most @ 1..=4_000_000_000)) => most,
        _ => return Err(refuse("requests", "all, or 1 to 4000000000")),
    };
    let pace = match (param("pace"), param("pace").strip_prefix('x').map(str::parse::<f64>)) {
        ("none", _) => ReplayPace::Highest,
        ("trace", _) => ReplayPace::Recorded { speed: 1.0 },
        (_, Some(Ok(speed))) if (0.001..=1e6).contains(&speed) => ReplayPace::Recorded { speed },
        _ => return Err(refuse("pace", "none, trace, or x0.001 to x1000000")),
    };
    let loading = match param("load") {
        "none" => Loading::Nothing,
        "first" => Loading::First,
        _ => return Err(refuse("load", "none or first")),
    };
    let evictions = match param("evictions") {
        "wrong" => Evictions::Wrong,
        "allowed" => Evictions::Allowed,
        _ => return Err(refuse("evictions", "wrong or allowed")),
    };
    let times = match param("ttl") {
        "kept" => Times::Kept,
        "none" => Times::Dropped,
        _ => return Err(refuse("ttl", "kept or none")),
    };
    let bytes = |name, least| match count::whole(param(name)) {
        Some(bytes) if (least..=MOST_VALUE_BYTES).contains(&bytes) => Ok(bytes as u32),
        _ => Err(refuse(name, &format!("{least} to {MOST_VALUE_BYTES} bytes"))),
    };
    let (usual, largest) = (bytes("value", 0)?, bytes("largest", 1)?);
    let fills = match param("fill") {
        "auto" => None,
        "never" => Some(Filling::Never),
        "on-miss" => Some(Filling::OnMiss),
        _ => return Err(refuse("fill", "auto, never or on-miss")),
    };
    let options = TraceOptions { format, most, seed: request.seed };
    let file = request.data.as_deref().unwrap_or(SHIPPED);
    let trace = Trace::read(Path::new(file), options).map_err(|error| JobError(error.to_string()))?;
    if pace != ReplayPace::Highest && !trace.is_timed() {
        let format = trace.format().name();
        return Err(refuse(
            "pace",
            &format!("none: {file} is of the format {format}, which does not say when requests were made"),
        ));
    }
    let log = match param("commands") {
        "values" => None,
        "all" if pace != ReplayPace::Highest => {
            return Err(refuse("commands", "values with pace=trace, or leave pace out"));
        }
        "all" => Some(CommandLog::read(Path::new(file), most).map_err(|error| JobError(error.to_string()))?),
        _ => return Err(refuse("commands", "values or all")),
    };
    let filling = fills.unwrap_or(match trace.count(RequestKind::Set) {
        0 => Filling::OnMiss,
        _ => Filling::Never,
    });
    let sizes = values::Sizes::of(&trace, usual, largest, loading);
    let times = if trace.has_ttls() { times } else { Times::Dropped };
    let truth = Truth::of(&trace, &sizes, filling, loading, times);
    Ok(Box::new(Replay {
        pace,
        log,
        trace,
        filling,
        loading,
        evictions,
        times,
        sizes,
        truth,
        seed: request.seed,
        digest: OnceLock::new(),
    }))
}

impl Replay {
    /// Whether values have times to live.
    fn lives(&self) -> bool {
        self.times == Times::Kept
    }
}

fn names() -> String {
    TraceFormat::ALL.map(TraceFormat::name).join(", ")
}

impl Job for Replay {
    fn input(&self) -> BTreeMap<String, serde_json::Value> {
        let Replay { trace, truth, .. } = self;
        let mut input = BTreeMap::from([
            ("name".into(), trace.source_name().into()),
            ("format".into(), trace.format().name().into()),
            ("requests".into(), trace.ids().len().into()),
            ("keys".into(), trace.keys().len().into()),
            ("gets".into(), trace.count(RequestKind::Get).into()),
            ("fill".into(), if self.filling == Filling::OnMiss { "on-miss".into() } else { "never".into() }),
            ("hits_of_all_kept".into(), serde_json::Value::from(truth.hits)),
            ("bytes".into(), truth.most_bytes.into()),
        ]);
        for (name, count) in [
            ("sets", trace.count(RequestKind::Set)),
            ("deletes", trace.count(RequestKind::Delete)),
            ("touches", trace.count(RequestKind::Touch)),
            ("times_to_live", fit::ttls_ms(trace).len() as u64),
            ("sets_of_another_kind", trace.other_writes()),
            ("left_out", trace.left_out()),
            ("values_cut", self.sizes.cut),
        ] {
            if count > 0 {
                input.insert(name.into(), count.into());
            }
        }
        input
    }

    fn suits(&self, store: &Capabilities) -> Result<Vec<&'static str>, JobError> {
        if self.log.is_some() {
            return match store.has(OperationKind::Command) {
                true => Ok(Vec::new()),
                false => Err(JobError(
                    "commands=all sends commands of Redis, which this store does not take; leave it out".into(),
                )),
            };
        }
        let by_reader = self.lives() && Expires::of(store) == Expires::ByReader;
        let longest = self.sizes.longest as usize + if by_reader { MOMENT_BYTES } else { 0 };
        let limits = store.min_key_bytes..=store.max_key_bytes;
        if let Some(bytes) = self.truth.key_lengths.into_iter().find(|bytes| !limits.contains(bytes)) {
            let (least, most) = limits.into_inner();
            return Err(JobError(format!(
                "a key has {bytes} bytes, this store takes {least} to {most}; use another store"
            )));
        }
        if longest > store.max_value_bytes {
            let most = store.max_value_bytes;
            return Err(JobError(format!(
                "the largest value has {longest} bytes, this store takes at most {most}; set largest={most}, or use another store"
            )));
        }
        Ok(if by_reader { vec![BY_READER] } else { Vec::new() })
    }

    fn trial(&self, setup: &TrialSetup) -> Box<dyn Trial + '_> {
        match &self.log {
            Some(log) => Box::new(commands::CommandTrial::new(log, setup)),
            None => Box::new(trial::ReplayTrial::new(self, setup)),
        }
    }

    /// A key belongs to one slot.
    fn shareable(&self, _: &TrialSetup) -> Result<(), JobError> {
        match self.log {
            None => Ok(()),
            Some(_) => Err(JobError(
                "commands=all: which command waits for which other is known to one process; set commands=values".into(),
            )),
        }
    }

    fn known_digest(&self) -> Option<String> {
        let digest = || self.digest.get_or_init(|| truth::digest(&self.trace, &BTreeMap::new())).clone();
        self.log.is_none().then(digest)
    }

    fn is_recorded(&self) -> bool {
        self.pace != ReplayPace::Highest
    }

    fn warnings(&self) -> Vec<String> {
        let Replay { trace, filling, .. } = self;
        let mut warnings = Vec::new();
        if *filling == Filling::OnMiss && trace.count(RequestKind::Set) > 0 {
            warnings.push("fill=on-miss puts what a get misses, and the trace has sets of its own, which misses may have caused: such \
                           values are put twice. Leave fill out, or set fill=never."
                .into());
        }
        if self.is_recorded() && trace.format().counts_seconds() {
            warnings.push(
                "The trace has whole seconds: within a second requests are spread by the seed, in their order.".into(),
            );
        }
        if trace.is_cut_off() {
            warnings.push("The recording was not closed: what was recorded in its last second may be missing.".into());
        }
        if trace.left_out() > 0 && self.log.is_none() {
            warnings.push(format!(
                "{} commands of the trace are no request for a value, and are left out.",
                study::whole(trace.left_out())
            ));
        }
        if trace.other_writes() > 0 && self.log.is_none() {
            let writes = study::whole(trace.other_writes());
            warnings.push(format!(
                "{writes} writes of the trace (append, increment, compare and set) are replayed as sets."
            ));
        }
        warnings
    }

    fn logical_bytes(&self) -> u64 {
        self.truth.most_bytes
    }

    fn books_bytes(&self) -> u64 {
        let per_key = size_of::<u32>() + if self.lives() { lives::LIFE_BYTES } else { 0 };
        (self.trace.keys().len() * per_key) as u64
    }
}
