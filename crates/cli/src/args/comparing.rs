//! Options of `compare` and `report`.

use super::values::duration;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

/// Options of `compare`.
#[derive(Debug, Args)]
#[command(
    after_help = "A and B: a study (its directory or study.json), or one cell of it as DIR:STORE, with parameters where several \
                  cells have that store: before:redis, sweep:redis,clients=16. B is judged against A. One study alone: all its \
                  cells that may be ranked together.\nExit status: 0 compared, 1 some cell void, 2 bad usage or input, or cells \
                  that cannot be compared, 3 a --fail-if is broken (or too noisy to judge, with --noisy fail), or B broke a promise of durability that A kept."
)]
pub struct CompareArguments {
    /// What to compare: A and B, or one study
    #[arg(value_name = "A B", num_args = 0..=2)]
    pub operands: Vec<String>,
    /// Compare with this saved study in place of A
    #[arg(long, value_name = "NAME")]
    pub baseline: Option<String>,
    /// Save the study as a baseline, in .kvtrial/baselines/NAME, for --baseline NAME later
    #[arg(long, value_name = "NAME", conflicts_with_all = ["baseline", "fail_if"])]
    pub save_baseline: Option<String>,
    /// Fail (exit 3) when the data show that B is beyond this bound: 'p99 > +5%' against A, 'p99 > 2ms' by itself; or, of two studies of choose,
    /// that another store is to be taken or one is no longer good enough: 'decision'. Repeat it for more
    #[arg(long, value_name = "CONDITION")]
    pub fail_if: Vec<String>,
    /// Result of a --fail-if that is too noisy to judge, because a difference as large as its bound could not have been seen
    #[arg(long, value_name = "RESULT", value_enum, default_value_t = NoisyGate::Pass)]
    pub noisy: NoisyGate,
    /// Compare by this metric (makespan, ops_per_s, records_per_s, units_per_s, p50, p95, p99, p99.9, client_cpu, server_cpu, server_rss, disk), or by all.
    /// Repeat it for more [default: all; for one study alone the metric its ranking uses]
    #[arg(long = "metric", value_name = "METRIC")]
    pub metrics: Vec<String>,
    /// Compare across classes (embedded, network) and durability levels too
    #[arg(long)]
    pub across: bool,
    /// Compare although input, parameters, kind of crash, machine or version of kvtrial differ
    #[arg(long)]
    pub anyway: bool,
    /// Format of the result
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = ComparisonFormat::Text)]
    pub format: ComparisonFormat,
    /// Write the result to a file; text is still printed. html and png are written into this directory [default: kvtrial-comparison]
    #[arg(long, value_name = "PATH")]
    pub out: Option<PathBuf>,
}

/// The result of a gate that is too noisy to judge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum NoisyGate {
    /// Only reported; JUnit calls it skipped
    Pass,
    /// Fails (exit 3), in JUnit too
    Fail,
}

/// How a comparison is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ComparisonFormat {
    /// For a terminal
    Text,
    /// report.html of both, overlaid, with the findings, and plots/
    Html,
    /// GitHub-flavoured Markdown
    Markdown,
    /// JUnit XML
    Junit,
    /// Everything that was found
    Json,
}

/// Options of `site`.
#[derive(Debug, Args)]
#[command(
    after_help = "The first page asks what your work is like and says which stores are first for it; every study has its own report beside it. Only \
                  results with an equal job, parameters, input, machine, class and durability share a list. Exit status: 0 written, 2 bad usage, or a \
                  study that is damaged or newer than this build."
)]
pub struct SiteArguments {
    /// Directories with studies, in or below them
    #[arg(value_name = "DIR", required = true)]
    pub studies: Vec<PathBuf>,
    /// The directory for the pages; one that was there is replaced page by page
    #[arg(short, long, value_name = "DIR", default_value = "site")]
    pub out: PathBuf,
}

/// Options of `publish`.
#[derive(Debug, Args)]
#[command(
    group = clap::ArgGroup::new("task").required(true),
    after_help = "Examples:\n  kvtrial publish kvtrial-study-20261128T100000 --to results    check it, and add it to the git repository results\n  \
                  kvtrial publish --check results                               check every study in it, as its workflow does\n  \
                  kvtrial publish --verify --budget 10m results                 make again what nobody has yet, and mark it\n  \
                  kvtrial publish --init results                                write the workflow for GitHub\n\
                  Only files are written: what is staged and committed is yours to say. Exit status: 0 added, right, or reproduced; 1 a study is \
                  refused, or differs here; 2 bad usage or input."
)]
pub struct PublishArguments {
    /// Studies: their directories, or one that they are below
    #[arg(value_name = "DIR", required = true)]
    pub studies: Vec<PathBuf>,
    /// Check each study and add it, packed, to this git repository
    #[arg(long, value_name = "REPO_DIR", group = "task")]
    pub to: Option<PathBuf>,
    /// Check each study, and add nothing
    #[arg(long, group = "task")]
    pub check: bool,
    /// Make each study again by its own command, and mark it: reproduced here, differs here, or as submitted. Of several, those without a mark
    #[arg(long, group = "task")]
    pub verify: bool,
    /// Write the workflow of a repository of studies into DIR
    #[arg(long, group = "task")]
    pub init: bool,
    /// With --verify: time for each study; of one that takes longer, fewer trials or a part of its stores are made again [default: 10m]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub budget: Option<Duration>,
}

/// Options of `report`.
#[derive(Debug, Args)]
pub struct ReportArguments {
    /// A study: its directory or study.json. Several are overlaid (html and png)
    #[arg(value_name = "STUDY", required = true)]
    pub studies: Vec<PathBuf>,
    /// Format
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = StudyFormat::Html)]
    pub format: StudyFormat,
    /// Write to this file instead of standard output; html is written into this directory [default: the study's own; for several,
    /// kvtrial-report]
    #[arg(long, value_name = "PATH")]
    pub out: Option<PathBuf>,
}

/// How a study is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StudyFormat {
    /// report.html, one file that needs no network, and plots/ as below
    Html,
    /// The charts alone, as PNG and SVG in plots/ (not in every build; packages have it)
    Png,
    /// Everything `run` prints, or `tune`, or `crash`
    Text,
    /// GitHub-flavoured Markdown
    Markdown,
    /// One row per trial and figure
    Csv,
    /// One row per cell
    CellsCsv,
    /// OpenMetrics text, for Prometheus
    Openmetrics,
    /// JUnit XML, one test case per cell
    Junit,
    /// study.json, with its summaries recomputed
    Json,
}
