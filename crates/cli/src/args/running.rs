//! Options of `run`.

use super::SharingArguments;
use super::values::{bound, duration, key_value, need, rate, scale, whole};
use crate::shell_words;
use analysis::Need;
use clap::{Args, ValueEnum};
use jobkit::Scale;
use search::Bound;
use std::path::PathBuf;
use std::time::Duration;

/// Headings of those options of `run` that are needed now and then. What people use first has none, and comes first.
const WHAT: &str = "Stores and input";
const LOAD: &str = "Load";
const SWEEP: &str = "Sweeps and searches";
const TRIALS: &str = "Trials";
const STUDY: &str = "Directories";

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
    #[arg(value_parser = shell_words::job(), hide_possible_values = true)]
    pub job: String,
    /// A store: NAME starts a private one, URL or NAME:PATH uses yours; options follow commas (redis,durability=commit). A password
    /// written *** is that of KVTRIAL_PASSWORD, of the file KVTRIAL_PASSWORD_FILE, or asked for.
    /// Repeat it to compare several. Without it: every embedded store of this build
    #[arg(short = 's', long = "store", value_name = "SPEC", value_parser = shell_words::store(), hide_possible_values = true)]
    pub stores: Vec<String>,
    /// Input: a file, or a name `kvtrial jobs` shows
    #[arg(long, value_name = "FILE|NAME")]
    pub data: Option<String>,
    /// Set a parameter of the job; repeat it for more
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_value)]
    pub set: Vec<(String, String)>,
    /// Run the job as its author did, and print the numbers published then beside yours; `kvtrial jobs` lists them
    #[arg(long, value_name = "YEAR")]
    pub preset: Option<String>,
    /// Run with each of these values: 1,2,8 or 1..256x2 or 1000..5000+1000. KEY: a parameter of the job, an option of a store
    /// (io-threads, redis.io-threads, durability), or clients, pipeline, threads, rate. Repeat it for all combinations
    #[arg(long = "vary", value_name = "KEY=VALUES", value_parser = key_value)]
    pub vary: Vec<(String, String)>,
    /// Connections, or handles of an embedded library [default: 1]
    #[arg(long, value_name = "N", value_parser = whole(1, 100_000))]
    pub clients: Option<u32>,
    /// Operations each client may have in flight [default: 1]
    #[arg(long, value_name = "N", value_parser = whole(1, 100_000))]
    pub pipeline: Option<u32>,
    /// Open loop: send this many operations per second, however slow the replies [default: closed loop]
    #[arg(long, value_name = "OPS_PER_S", value_parser = rate)]
    pub rate: Option<f64>,
    /// What you need of a store: rate>=2000 (offered at random moments), p99<5ms, memory<1GiB, disk<5x, durability=os, failed<0.1%, with
    /// --fault loss=0. Every store is held against it; exits with 1 unless all are shown to meet all. Repeat it for more
    #[arg(long = "need", value_name = "NEED", value_parser = need, conflicts_with = "find_rate", help_heading = WHAT)]
    pub needs: Vec<Need>,
    /// With --need memory<SIZE: every server that kvtrial starts runs in a control group of that size, as in a container; takes root. Libraries
    /// are measured only
    #[arg(long, requires = "needs", help_heading = WHAT)]
    pub limit_memory: bool,
    /// Counted trials of each store; 3 or more can show an order [default: 5; as few as 2 if 5 would take over about
    /// 30 s; 3 with --vary or --fault; 2 with --quick]
    #[arg(long, value_name = "N", value_parser = whole(1, 10_000))]
    pub repeats: Option<u32>,
    /// Directory for the study [default: kvtrial-study-TIME]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Server host; needs exactly one -s
    #[arg(long, value_name = "HOST", help_heading = WHAT)]
    pub host: Option<String>,
    /// Server port; needs exactly one -s
    #[arg(long, value_name = "PORT", help_heading = WHAT)]
    pub port: Option<u16>,
    /// Run only this many combinations of --vary, drawn at random by the seed
    #[arg(long, value_name = "N", requires = "vary", value_parser = whole(1, u32::MAX), help_heading = SWEEP)]
    pub sample: Option<u32>,
    /// Order of the trials. rising: as named; only to demonstrate the bias this causes
    #[arg(long, value_enum, default_value_t = OrderArgument::Random, help_heading = SWEEP)]
    pub order: OrderArgument,
    /// Size of a preset as a multiple of the original's, such as 0.01
    #[arg(long, value_name = "FACTOR", requires = "preset", default_value = "1", value_parser = scale, help_heading = WHAT)]
    pub scale: Scale,
    /// Read the job's parameters from a file; for ycsb, an unmodified YCSB property file
    #[arg(long, value_name = "FILE", help_heading = WHAT)]
    pub plan: Option<PathBuf>,
    /// Threads that drive the clients [default: one per client for libraries, 4096 at most, else half the
    /// processors]
    #[arg(long, value_name = "N", value_parser = whole(1, 4096), help_heading = LOAD)]
    pub threads: Option<u32>,
    /// Disturb a node of every private server while a trial runs: 'at 5s kill 2', 'at 5s stop 2', 'at 8s restart 2',
    /// 'at 5s freeze 2 for 3s', 'at 5s cut 2 for 3s' (its network), 'at 5s clock 2 by 30s for 3s' (its time of day; by -30s: behind), 'at 5s add'; or a common fault by name: kill, rolling, flap, lose-one-for-good, scale-out. Times count from the start of the first timed phase; a single server is node 1. Repeat it for more
    #[arg(long = "fault", value_name = "FAULT", conflicts_with = "find_rate", help_heading = LOAD)]
    pub faults: Vec<runner::AskedFault>,
    /// With --fault: longest wait for an operation. Then the operation fails, its connection is dropped and the trial continues; --deadline
    /// limits the time without any good reply [default: 1s]
    #[arg(long, value_name = "TIME", requires = "faults", value_parser = duration, help_heading = LOAD)]
    pub timeout: Option<Duration>,
    /// Record what every client sends and sees, and check after each trial that one copy of the data could have answered so; with a
    /// file, write it there, too, as lines of JSON that Elle and others read. With --fault it is recorded and checked anyway
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, help_heading = LOAD)]
    pub history: Option<Option<PathBuf>>,
    /// Open loop with random (Poisson) instead of evenly spaced arrivals
    #[arg(long, help_heading = LOAD)]
    pub poisson: bool,
    /// Search for the highest rate of random arrivals at which each store keeps this bound: p99<2ms, p99.9<500us, mean<1ms.
    /// A step lasts --set seconds= [default: 5], the edge is measured --repeats times [default: 5]. With --vary clients=1..64x4 the
    /// search is repeated for each number of clients
    #[arg(long, value_name = "BOUND", value_parser = bound, conflicts_with_all = ["rate", "warmups", "resume", "poisson"], help_heading = SWEEP)]
    pub find_rate: Option<Bound>,
    /// Several workers.
    #[command(flatten)]
    pub sharing: SharingArguments,
    /// Longest wait for any reply; then the trial ends and is void
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration, help_heading = LOAD)]
    pub deadline: Duration,
    /// Time one operation in N [default: every one]
    #[arg(long, value_name = "N", value_parser = whole(1, 1_000_000), help_heading = LOAD)]
    pub time_one_in: Option<u32>,
    /// Trials of each store that are run first and not counted [default: 0]
    #[arg(long, value_name = "N", value_parser = whole(0, 10_000), help_heading = TRIALS)]
    pub warmups: Option<u32>,
    /// Seed of every random choice
    #[arg(long, value_name = "N", default_value_t = 42, help_heading = TRIALS)]
    pub seed: u64,
    /// A first look: two repeats, which cannot show an order
    #[arg(long, help_heading = TRIALS)]
    pub quick: bool,
    /// Do not add the baselines: null, ram and, for servers, echo. With --fault there are none
    #[arg(long, help_heading = TRIALS)]
    pub no_baselines: bool,
    /// Delete the job's keys from your own store first, if it holds any
    #[arg(long, help_heading = STUDY)]
    pub overwrite: bool,
    /// Delete what the run leaves in your own store, after the last trial; `kvtrial clear` deletes it later
    #[arg(long, help_heading = STUDY)]
    pub clear: bool,
    /// Exit with 4 when a cell is degraded, or the self-test failed on this machine
    #[arg(long, help_heading = TRIALS)]
    pub strict: bool,
    /// Resume the study in --out: finish what was interrupted, or add trials with a higher --repeats; other options as
    /// before
    #[arg(long, requires = "out", help_heading = STUDY)]
    pub resume: bool,
    /// Where private stores keep their data: a directory on the disk to be measured [default: the system's temporary
    /// directory]
    #[arg(long, value_name = "DIR", help_heading = STUDY)]
    pub base: Option<PathBuf>,
}

/// The order of trials.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OrderArgument {
    /// Random and balanced
    Random,
    /// In the order the cells are named
    Rising,
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::args::Arguments;
    use clap::{Arg, CommandFactory};

    #[test]
    fn the_help_of_run_begins_with_the_ten_options_people_use_first() {
        let mut command = Arguments::command();
        let run = command.find_subcommand_mut("run").unwrap();
        let first: Vec<&str> =
            run.get_arguments().filter(|it| it.get_help_heading().is_none()).filter_map(Arg::get_long).collect();
        let asked = ["store", "data", "set", "preset", "vary", "clients", "pipeline", "rate", "repeats", "out"];
        assert_eq!(first, asked);
    }
}
