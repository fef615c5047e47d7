//! The formats of traces, and how a file shows which it is in.

use crate::builder::TraceBuilder;
use crate::input::TraceInput;
use crate::{cache2k, kvtrace, lcs, meta, monitor, monitor_trace, oracle, twitter};
use data::DataError;

/// A format of traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceFormat {
    /// kvtrial's own recordings.
    Kvtrace,
    /// Keys of 32 bits, nothing else.
    Cache2k,
    /// Twitter's cache traces, CSV.
    Twitter,
    /// Meta's key/value cache traces, CSV by header.
    Meta,
    /// libCacheSim's `oracleGeneral`, records of 24 bytes.
    Oracle,
    /// libCacheSim's own format, with a header and versions.
    Lcs,
    /// The text of `MONITOR`.
    Monitor,
    /// The CSV of `MONITOR TRACE`, as proposed for Valkey.
    MonitorTrace,
}

impl TraceFormat {
    /// The list of all formats.
    pub const ALL: [TraceFormat; 8] = [
        TraceFormat::Kvtrace,
        TraceFormat::Cache2k,
        TraceFormat::Twitter,
        TraceFormat::Meta,
        TraceFormat::Oracle,
        TraceFormat::Lcs,
        TraceFormat::Monitor,
        TraceFormat::MonitorTrace,
    ];

    /// Returns the word for it.
    pub fn name(self) -> &'static str {
        match self {
            TraceFormat::Kvtrace => "kvtrace",
            TraceFormat::Cache2k => "cache2k",
            TraceFormat::Twitter => "twitter",
            TraceFormat::Meta => "meta",
            TraceFormat::Oracle => "oracle",
            TraceFormat::Lcs => "lcs",
            TraceFormat::Monitor => "monitor",
            TraceFormat::MonitorTrace => "monitor-trace",
        }
    }

    /// Returns the format of that name.
    pub fn named(name: &str) -> Option<TraceFormat> {
        TraceFormat::ALL.into_iter().find(|format| format.name() == name)
    }

    /// Returns the format that a file shows: by its first bytes, and by its name where those could be anything.
    pub fn seen(name: &str, head: &[u8]) -> Option<TraceFormat> {
        let first = head.split(|&byte| byte == b'\n').next().unwrap_or_default();
        let first = first.strip_suffix(b"\r").unwrap_or(first);
        let file = name.rsplit('/').next().unwrap_or(name);
        let file = [".gz", ".xz", ".zst"].iter().find_map(|packed| file.strip_suffix(packed)).unwrap_or(file);
        match () {
            () if kvtrace::shows(head) => Some(TraceFormat::Kvtrace),
            () if lcs::shows(head) => Some(TraceFormat::Lcs),
            () if meta::shows(first) => Some(TraceFormat::Meta),
            () if monitor::shows(first) => Some(TraceFormat::Monitor),
            () if monitor_trace::shows(first) => Some(TraceFormat::MonitorTrace),
            () if twitter::shows(first) => Some(TraceFormat::Twitter),
            () if file.ends_with(".trace") => Some(TraceFormat::Cache2k),
            () if file.contains("oracleGeneral") || oracle::shows(head) => Some(TraceFormat::Oracle),
            () => None,
        }
    }

    /// Returns whether its times are whole seconds, so that the moments within them are made up.
    pub fn counts_seconds(self) -> bool {
        match self {
            TraceFormat::Twitter | TraceFormat::Meta | TraceFormat::Oracle | TraceFormat::Lcs => true,
            TraceFormat::Kvtrace | TraceFormat::Cache2k | TraceFormat::Monitor | TraceFormat::MonitorTrace => false,
        }
    }

    pub(crate) fn read(self, input: &mut TraceInput, builder: &mut TraceBuilder) -> Result<(), DataError> {
        match self {
            TraceFormat::Kvtrace => kvtrace::read(input, builder),
            TraceFormat::Cache2k => cache2k::read(input, builder),
            TraceFormat::Twitter => twitter::read(input, builder),
            TraceFormat::Meta => meta::read(input, builder),
            TraceFormat::Oracle => oracle::read(input, builder),
            TraceFormat::Lcs => lcs::read(input, builder),
            TraceFormat::Monitor => monitor::read(input, builder),
            TraceFormat::MonitorTrace => monitor_trace::read(input, builder),
        }
    }

    pub(crate) fn remedy() -> String {
        let names: Vec<&str> = TraceFormat::ALL.into_iter().map(TraceFormat::name).collect();
        format!("name it by --set format=, one of {}", names.join(", "))
    }
}
