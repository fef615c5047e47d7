//! Options of `choose`, and those it shares with `tune`.

use super::SharingArguments;
use super::values::{duration, key_value, need, whole};
use crate::shell_words;
use analysis::Need;
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

/// Options of `choose`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  kvtrial choose fans\n  kvtrial choose ycsb --need 'rate>=2000' --need 'p99<5ms' --need durability=os\n  \
                  kvtrial choose shop.lua -s redis -s postgres -s sqlite --clients 16 --need 'p99<20ms' --budget 2m"
)]
pub struct ChooseArguments {
    /// The job, e.g. fans; `kvtrial jobs` lists them. Or a script of your own: FILE.lua
    #[arg(value_parser = shell_words::job(), hide_possible_values = true)]
    pub job: String,
    /// What you need of a store: rate>=2000 (offered at random moments), p99<5ms, memory<1GiB, disk<5x, durability=os, failed<0.1%. Repeat it for
    /// more. Without it: the best of each class of stores
    #[arg(long = "need", value_name = "NEED", value_parser = need)]
    pub needs: Vec<Need>,
    /// With --need memory<SIZE: every server that kvtrial starts runs in a control group of that size, as in a container; takes root. Libraries
    /// are measured only
    #[arg(long, requires = "needs")]
    pub limit_memory: bool,
    /// A candidate; repeat it for more. Without it: every store found here that can do the job
    #[arg(short = 's', long = "store", value_name = "SPEC", value_parser = shell_words::store(), hide_possible_values = true)]
    pub stores: Vec<String>,
    /// Time for all of it
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = duration)]
    pub budget: Duration,
    /// Disturb a node of every store while a trial runs, as kvtrial run --fault does; with -s, such as -s etcd,nodes=3. Repeat it for more
    #[arg(long = "fault", value_name = "FAULT", requires = "stores")]
    pub faults: Vec<runner::AskedFault>,
    /// Kills of each store that would be taken, while clients write [default: 20 where durability= is needed, else none]
    #[arg(long, value_name = "N", value_parser = whole(0, 100_000))]
    pub cuts: Option<u32>,
    /// How each trial is run.
    #[command(flatten)]
    pub search: SearchArguments,
    /// Several workers.
    #[command(flatten)]
    pub sharing: SharingArguments,
    /// Resume the choice in --out, with more --budget or after an interruption: its trials and kills are not run again; other options as before
    #[arg(long, requires = "out")]
    pub resume: bool,
}

/// Options that all searches share: what each trial does, and where.
#[derive(Debug, Args)]
pub struct SearchArguments {
    /// Input: a file, or a name `kvtrial jobs` shows
    #[arg(long, value_name = "FILE|NAME")]
    pub data: Option<String>,
    /// Set a parameter of the job; repeat it for more
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_value)]
    pub set: Vec<(String, String)>,
    /// Connections, or handles of an embedded library, in the default setting
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
    /// Where private stores keep their data: a directory on the disk to be measured [default: the system's temporary directory]
    #[arg(long, value_name = "DIR")]
    pub base: Option<PathBuf>,
}
