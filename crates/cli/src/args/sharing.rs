//! Options of a study on several machines, and of those that lend it theirs.

// The brackets of its help are those of a command line.
#![allow(rustdoc::broken_intra_doc_links)]

use super::values::{bind, duration, workers};
use clap::Args;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Heading of those options.
const WORKERS: &str = "Several machines";

/// How many workers share a study, and where they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkersArgument {
    /// On machines that join over NATS.
    Joining(u32),
    /// On this one.
    Local(u32),
}

impl WorkersArgument {
    /// Returns how many there are.
    pub fn count(self) -> u32 {
        match self {
            WorkersArgument::Joining(count) | WorkersArgument::Local(count) => count,
        }
    }
}

/// Options of a study that several workers share.
#[derive(Debug, Args)]
pub struct SharingArguments {
    /// Share the clients among N workers, each a process that has joined with 'kvtrial worker', on any machine: same study, same answer. local:N: N
    /// processes of this machine
    #[arg(long, value_name = "N|local:N", value_parser = workers, help_heading = WORKERS)]
    pub workers: Option<WorkersArgument>,
    /// The NATS server over which workers join: nats://[USER:PASSWORD@|:TOKEN@]HOST[:PORT], tls://... [default: one of kvtrial's own, for which
    /// the line to run on the other machines is printed]
    #[arg(long, value_name = "URL", requires = "workers", help_heading = WORKERS)]
    pub nats: Option<String>,
    /// Where kvtrial's own NATS server listens [default: every address of this machine, port 4222 or another]
    #[arg(long, value_name = "IP[:PORT]", requires = "workers", conflicts_with = "nats", value_parser = bind, help_heading = WORKERS)]
    pub bind: Option<(IpAddr, Option<u16>)>,
    /// How long to wait until all workers have joined
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration, help_heading = WORKERS)]
    pub join_within: Duration,
    /// Files for NATS.
    #[command(flatten, next_help_heading = WORKERS)]
    pub files: NatsFileArguments,
}

/// Files that say to NATS who this is, and whom to believe.
#[derive(Debug, Args)]
pub struct NatsFileArguments {
    /// File with the seed of an nkey, instead of a password
    #[arg(long, value_name = "FILE", requires = "nats")]
    pub nats_key: Option<PathBuf>,
    /// File with the certificates of authorities that the NATS server's may be signed by
    #[arg(long, value_name = "FILE", requires = "nats")]
    pub nats_ca: Option<PathBuf>,
    /// File with a certificate of yours, for a NATS server that asks for one; with --nats-cert-key
    #[arg(long, value_name = "FILE", requires = "nats", requires = "nats_cert_key")]
    pub nats_cert: Option<PathBuf>,
    /// File with the key of that certificate
    #[arg(long, value_name = "FILE", requires = "nats_cert")]
    pub nats_cert_key: Option<PathBuf>,
}

/// Options of `worker`.
#[derive(Debug, Args)]
#[command(
    after_help = "The study: kvtrial run ycsb -s redis://10.0.0.5 --workers 3 --nats nats://10.0.0.1 --clients 96\n\
                  Each of three machines: kvtrial worker nats://10.0.0.1\n\
                  A password written *** is that of KVTRIAL_PASSWORD, of the file KVTRIAL_PASSWORD_FILE, or asked for."
)]
pub struct WorkerArguments {
    /// The NATS server over which studies find this machine: nats://[USER:PASSWORD@|:TOKEN@]HOST[:PORT], tls://...
    #[arg(value_name = "URL")]
    pub nats: String,
    /// Name of this machine in studies [default: its host name]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Files for NATS.
    #[command(flatten)]
    pub files: NatsFileArguments,
}
