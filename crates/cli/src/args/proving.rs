//! Options of `check` and `crash`, which prove stores.

use super::SharingArguments;
use super::values::{disk_size, duration, whole};
use crate::shell_words;
use clap::builder::{EnumValueParser, PossibleValue, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, Args, Command, Error, ValueEnum};
use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::Duration;

/// Options of `check`.
#[derive(Debug, Args)]
pub struct CheckArguments {
    /// The stores, e.g. redis, memcached-unix, redis://localhost:6379
    #[arg(value_name = "SPEC", required = true, value_parser = shell_words::store(), hide_possible_values = true)]
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

/// Options of `crash`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  kvtrial crash redis-unix sqlite        every level of both, 20 kills each\n  \
                  kvtrial crash postgres,durability=commit --cuts 100\n\
                  The same seed writes the same values and kills at the same moment after the first acknowledgements; how far the store has got by \
                  then differs from run to run.")]
pub struct CrashArguments {
    /// The stores, private ones, e.g. redis-unix, sqlite; with durability= only that level, else every level
    #[arg(value_name = "SPEC", required = true, value_parser = shell_words::store(), hide_possible_values = true)]
    pub stores: Vec<String>,
    /// How to make a crash
    #[arg(long, value_enum, default_value_t = MeansArgument::Kill)]
    pub how: MeansArgument,
    /// How the disk behaves whose power is cut [default: honest]
    #[arg(long, value_enum)]
    pub disk: Option<DiskArgument>,
    /// Size of that disk, which is in memory: as much as is written to it [default: 2GiB]
    #[arg(long, value_name = "SIZE", value_parser = disk_size)]
    pub disk_size: Option<u64>,
    /// How many nodes of a store fail at once, chosen by the seed
    #[arg(long, value_enum, default_value_t = NodesArgument::All)]
    pub nodes: NodesArgument,
    /// How long nodes are frozen, and how long clients continue when other nodes are left
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = duration)]
    pub outage: Duration,
    /// What the store is doing at the crash, besides answering clients that write; or 'log TEXT': a line with TEXT has just come into its log
    #[arg(long, value_parser = MomentParser, default_value = "write")]
    pub during: MomentArgument,
    /// A command that kills your own store, named by its URL; with --start-command and --yes
    #[arg(long, value_name = "COMMAND", requires = "start_command", requires = "yes")]
    pub kill_command: Option<String>,
    /// A command that starts your store again on what is left; the command may stay in the foreground
    #[arg(long, value_name = "COMMAND", requires = "kill_command")]
    pub start_command: Option<String>,
    /// Yes, kill my own store
    #[arg(long, requires = "kill_command")]
    pub yes: bool,
    /// Crashes per level
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = whole(1, 1_000_000))]
    pub cuts: u32,
    /// Clients that write
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = whole(1, 256))]
    pub clients: u32,
    /// The longest value to write, in bytes
    #[arg(long, value_name = "N", default_value_t = 228, value_parser = whole(28, 65_536))]
    pub value_bytes: u32,
    /// Several workers.
    #[command(flatten)]
    pub sharing: SharingArguments,
    /// Seed of what is written, and of the moment of each crash
    #[arg(long, value_name = "N", default_value_t = 42)]
    pub seed: u64,
    /// The longest time from the first acknowledgements to a crash [default: 500ms; for power cuts of level second 3s]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub within: Option<Duration>,
    /// Longest wait for any reply
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    pub deadline: Duration,
    /// Directory for the study [default: kvtrial-study-TIME]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Resume the study in --out: make the missing cuts; other options as before
    #[arg(long, requires = "out")]
    pub resume: bool,
    /// Keep the files of every store that broke its promise, and print how to open them
    #[arg(long)]
    pub keep: bool,
    /// Where private stores keep their data [default: the system's temporary directory]
    #[arg(long, value_name = "DIR")]
    pub base: Option<PathBuf>,
}

/// How a crash is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MeansArgument {
    /// kill -9 of all processes of the server, or of the one that holds an embedded engine
    Kill,
    /// All processes of the server stop where they are, and continue after --outage
    Freeze,
    /// The power of the disk is cut: what was not flushed may be gone, sector by sector; needs root and /dev/fuse, or --disk recorded
    Power,
}

/// How a disk behaves whose power is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DiskArgument {
    /// What was flushed is durable; of what was not, the seed chooses what is left
    Honest,
    /// Flushes are acknowledged and not carried out
    Lies,
    /// A write that was under way damages durable sectors beside it
    Tears,
    /// Its file system is shut down at once: no sector is torn; needs no /dev/fuse
    Halts,
    /// None: file calls are recorded, and what a cut leaves is derived from the syncs among them; needs no root, and shows less
    Recorded,
}

/// How many nodes fail at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum NodesArgument {
    /// One
    #[value(name = "1")]
    One,
    /// The smallest majority
    Majority,
    /// All of them
    All,
}

/// What the store is doing when the crash comes.
#[derive(Clone, Debug, PartialEq, Eq, ValueEnum)]
pub enum MomentArgument {
    /// Nothing in particular
    Write,
    /// Writes its log into its files, by its own command
    Checkpoint,
    /// Rewrites its files, by its own command
    Compaction,
    /// Starts after a crash, and is then killed again
    Recovery,
    /// Has just renamed or deleted one of its files
    Rename,
    /// Has just written a line with this text into its log.
    #[value(skip)]
    Log(String),
}

/// Reads a moment: one of the words, or `log` and a text.
#[derive(Clone, Copy, Debug)]
struct MomentParser;

impl TypedValueParser for MomentParser {
    type Value = MomentArgument;

    fn parse_ref(&self, command: &Command, argument: Option<&Arg>, value: &OsStr) -> Result<MomentArgument, Error> {
        let text = value
            .to_str()
            .and_then(|value| format!("{value} ").strip_prefix("log ").map(|text| text.trim().to_owned()));
        match text.as_deref() {
            Some("") => {
                let problem = "--during log: which line? Write --during 'log TEXT', with a part of it\n";
                Err(Error::raw(ErrorKind::InvalidValue, problem).with_cmd(command))
            }
            Some(text) => Ok(MomentArgument::Log(text.to_owned())),
            None => EnumValueParser::<MomentArgument>::new().parse_ref(command, argument, value),
        }
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(MomentArgument::value_variants().iter().filter_map(ValueEnum::to_possible_value)))
    }
}
