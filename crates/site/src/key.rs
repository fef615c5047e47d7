//! What must be equal before two results may share an axis.

use study::{Cell, Study};

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
            machine: study.host.hardware(),
            class: cell.class.to_string(),
            durability: cell.durability.map(|level| level.to_string()).unwrap_or_default(),
        }
    }

    /// Returns a short name of the key, for addresses of pages.
    pub fn id(&self) -> String {
        short(&format!("{self:?}"))
    }
}

/// Returns the first digits of the digest of a text: what addresses of pages are made of.
pub fn short(text: &str) -> String {
    publish::sha256(text.as_bytes()).chars().take(12).collect()
}
