//! What must be equal before two results may share an axis.

use sha2::{Digest, Sha256};
use study::{Cell, HostFacts, Study};

/// The facts that must be equal before two results may share an axis: job, parameters, input and its seed, faults, machine, class and level
/// of durability. Stores, their versions and their settings are what may differ.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ComparisonKey {
    /// Name of the job.
    pub job: String,
    /// The job's and the engine's parameters and the facts of the input, `key=value`.
    pub params: Vec<String>,
    /// The seed of every random choice.
    pub seed: u64,
    /// The machine: processor, its number, memory, file system.
    pub machine: String,
    /// The class.
    pub class: String,
    /// The level of durability; empty where there is none.
    pub durability: String,
}

/// Facts of an input that say where it lay, and not what is in it.
const OF_THE_PLACE: [&str; 2] = ["path", "file"];

impl ComparisonKey {
    /// Returns the key of a cell.
    pub fn of(study: &Study, cell: &Cell) -> ComparisonKey {
        let input = study.input.iter().chain(&cell.input).filter(|(name, _)| !OF_THE_PLACE.contains(&name.as_str()));
        let input = input.map(|(name, value)| format!("input.{name}={value}"));
        let faults = study.faults.iter().map(|fault| format!("fault={fault}"));
        let memory = study.server_memory_bytes.iter().map(|bytes| format!("server_memory_bytes={bytes}"));
        let own = cell.params.iter().map(|(name, value)| format!("{name}={value}"));
        let mut params: Vec<String> = own.chain(input).chain(faults).chain(memory).collect();
        params.sort();
        ComparisonKey {
            job: cell.job.clone(),
            params,
            seed: study.seed,
            machine: machine(&study.host),
            class: cell.class.to_string(),
            durability: cell.durability.map(|level| level.to_string()).unwrap_or_default(),
        }
    }

    /// Returns a short name of the key, for addresses of pages.
    pub fn id(&self) -> String {
        short(&format!("{self:?}"))
    }
}

/// Returns what a machine is called: equal for equal hardware with the same kind of file system.
pub fn machine(host: &HostFacts) -> String {
    // The kernel takes a little for itself, and not the same at each start.
    let memory_gib = (host.memory_bytes as f64 / f64::from(1u32 << 30)).round();
    let file_system = host.filesystem.as_deref().unwrap_or("unknown file system");
    format!("{} · {} processors · {memory_gib} GiB · {file_system}", host.cpu, host.cpus)
}

/// Returns the first digits of the digest of a text: what addresses of pages are made of.
pub fn short(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}
