//! Facts about the machine a study ran on.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The machine, as found before the first trial. A fact that could not be read is `None`, never guessed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostFacts {
    /// Operating system and kernel release.
    pub kernel: String,
    /// Processor model.
    pub cpu: String,
    /// Processors this process may use.
    pub cpus: u32,
    /// Frequency governor, where the kernel shows one.
    pub governor: Option<String>,
    /// The behaviour of a processor without work: idle driver and governor, and how long a virtual one polls before it halts.
    pub idle: Option<String>,
    /// Main memory.
    pub memory_bytes: u64,
    /// File system type under the private store directories.
    pub filesystem: Option<String>,
    /// The directory below which private store directories are made.
    pub directory: String,
    /// Clock the latencies were taken with: `tsc` or `os`, and why.
    pub clock: String,
    /// Transparent huge pages setting.
    pub huge_pages: Option<String>,
    /// The kind of virtual machine, if the machine says it is one.
    pub virtualisation: Option<String>,
    /// The kernel's measure against each weakness this processor has, by the kernel's names, e.g. `spectre_v2`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mitigations: Option<BTreeMap<String, String>>,
    /// Version of the processor's microcode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub microcode: Option<String>,
}

impl HostFacts {
    /// Returns what the machine is called: equal for equal hardware with the same kind of file system.
    pub fn hardware(&self) -> String {
        // The kernel takes a little for itself, and not the same at each start.
        let memory_gib = (self.memory_bytes as f64 / f64::from(1u32 << 30)).round();
        let file_system = self.filesystem.as_deref().unwrap_or("unknown file system");
        format!("{} · {} processors · {memory_gib} GiB · {file_system}", self.cpu, self.cpus)
    }
}

/// The disturbances of one trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Noise {
    /// Share of all processor time taken by the hypervisor, 0 to 1.
    pub steal: f64,
    /// Share of all processor time used by processes that are neither client nor server, 0 to 1.
    pub other_load: f64,
    /// Share of the time in which the quota of kvtrial's control group was used up, 0 to 1.
    pub throttled: f64,
    /// Times a processor lowered its clock because of heat.
    pub heat_events: u64,
    /// Whether these shares could be judged at all.
    #[serde(skip_serializing_if = "Judged::is_yes")]
    pub judged: Judged,
}

/// Whether kvtrial could judge how much other programs used the processors during a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Judged {
    /// The trial could be judged.
    #[default]
    Yes,
    /// The trial was too short: the kernel counts in ticks of 10 ms. Other load, steal and quotas are unknown.
    TooShort,
    /// The server is on this machine, but its processes were not found: `other_load` holds its own work too.
    ServerNotFound,
}

impl Judged {
    /// Returns whether the trial could be judged.
    pub fn is_yes(&self) -> bool {
        *self == Judged::Yes
    }
}
