//! Options of `record`.

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
    /// The store: redis://HOST:PORT, valkey://HOST:PORT, memcached://HOST:PORT, or over a unix socket redis-unix:///PATH
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
