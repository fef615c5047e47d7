//! Options of `record` and `fit`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Options of `record`.
#[derive(Debug, Args)]
#[command(
    after_help = "Change one port of the application, and work as usual; Ctrl-C ends the recording. Everything passes as it is, also what \
                  is not understood, which is counted. Then: kvtrial run replay --data app.kvtrace -s redis -s valkey -s lmdb\n\
                  Exit status: 0 recorded, 1 the recording is not whole, 2 bad usage, or the store, port or file cannot be had."
)]
pub struct RecordArguments {
    /// The store: redis://HOST:PORT, valkey://HOST:PORT, memcached://HOST:PORT, over TLS rediss://HOST:PORT,ca=FILE or memcached://HOST:PORT,tls=on,ca=FILE, or over a unix socket redis-unix:///PATH
    #[arg(value_name = "URL")]
    pub store: String,
    /// Where the application is to connect
    #[arg(long, value_name = "HOST:PORT")]
    pub listen: String,
    /// The file to write, which must not exist
    #[arg(short = 'o', long = "out", value_name = "FILE", default_value = "app.kvtrace")]
    pub out: PathBuf,
    /// What to keep as it is: keys, else hashed to others of the same length and kind; values, else only their sizes. May be repeated
    #[arg(long, value_name = "WHAT")]
    pub keep: Vec<KeepArgument>,
}

/// What is kept as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum KeepArgument {
    /// Keys
    Keys,
    /// Values, never passwords
    Values,
}

/// Options of `fit`.
#[derive(Debug, Args)]
#[command(
    after_help = "It says how popular keys are, what is asked of them, how large values are, when requests come, how the keys change, and what \
                  caches of any size would hit. With -o it writes a page with pictures, and a plan and a script that make the like: kvtrial run DIR/like.lua\n\
                  Exit status: 0 said, 2 bad usage, or the file is no trace."
)]
pub struct FitArguments {
    /// A recording of `kvtrial record`, or a trace that the job replay reads; or web12
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Its format, as the job replay has it
    #[arg(long, value_name = "FORMAT", default_value = "auto")]
    pub format: String,
    /// Look at the first requests only, as 10M
    #[arg(long, value_name = "N")]
    pub requests: Option<String>,
    /// Write a page with pictures, a plan for ycsb and a script that make the like into this directory, and say how far these are from the trace
    #[arg(short = 'o', long = "out", value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Seed of what is drawn
    #[arg(long, default_value_t = 42)]
    pub seed: u64,
}
