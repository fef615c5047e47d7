//! In what two cells differ besides the store: what a comparison must say, and what forbids it.

use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use study::{Cell, HostFacts, Study};

/// What a difference is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// Another job.
    Job,
    /// Other input data.
    Input,
    /// Other parameters of job or engine.
    Params,
    /// Another machine, or the same one set up otherwise.
    Host,
    /// Measured by another version of kvtrial.
    Kvtrial,
    /// Embedded against network, and so on.
    Class,
    /// Another durability level.
    Durability,
    /// Another version of the same product.
    StoreVersion,
    /// The same product, configured otherwise.
    StoreConfig,
    /// One emulates operations the other has.
    Emulated,
}

/// How much a difference weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Weight {
    /// May well be what is to be compared; it is listed.
    Listed,
    /// Never compared unless asked for (`--across`): another class or durability level.
    Across,
    /// The figures are not of the same thing (`--anyway`): other input, parameters, machine or instrument.
    Forbids,
}

/// One difference between the conditions of two cells.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Difference {
    /// What it is about.
    pub condition: Condition,
    /// Which fact, e.g. `policy` or `cpu`; empty where the condition says it all.
    pub fact: String,
    /// Its value in the first cell.
    pub a: String,
    /// Its value in the second cell.
    pub b: String,
}

impl Difference {
    /// How much it weighs.
    pub fn weight(&self) -> Weight {
        match self.condition {
            Condition::Job | Condition::Input | Condition::Params | Condition::Host | Condition::Kvtrial => {
                Weight::Forbids
            }
            Condition::Class | Condition::Durability => Weight::Across,
            Condition::StoreVersion | Condition::StoreConfig | Condition::Emulated => Weight::Listed,
        }
    }
}

/// Every difference between the conditions two cells were measured under, heaviest first within the order of [`Condition`].
pub fn differences(a: (&Study, &Cell), b: (&Study, &Cell)) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut compare = |condition, fact: &str, a: String, b: String| {
        if a != b {
            found.push(Difference { condition, fact: fact.to_owned(), a, b });
        }
    };
    let ((study_a, cell_a), (study_b, cell_b)) = (a, b);
    compare(Condition::Job, "", cell_a.job.clone(), cell_b.job.clone());
    for (fact, a, b) in joined(&study_a.input, &study_b.input) {
        compare(Condition::Input, fact, shown(a), shown(b));
    }
    for (fact, a, b) in joined(&cell_a.params, &cell_b.params) {
        compare(Condition::Params, fact, a.cloned().unwrap_or(NONE.into()), b.cloned().unwrap_or(NONE.into()));
    }
    for ((fact, a), (_, b)) in host(&study_a.host).into_iter().zip(host(&study_b.host)) {
        compare(Condition::Host, fact, a, b);
    }
    // Studies of earlier versions do not say it.
    if let (Some(a), Some(b)) = (&study_a.host.idle, &study_b.host.idle) {
        compare(Condition::Host, "idle", a.clone(), b.clone());
    }
    compare(Condition::Kvtrial, "", study_a.kvtrial.clone(), study_b.kvtrial.clone());
    compare(Condition::Class, "", cell_a.class.clone(), cell_b.class.clone());
    if cell_a.durability != cell_b.durability {
        compare(Condition::Durability, "", level(cell_a), level(cell_b));
    }
    // Two products always differ in these, so it is not worth a note.
    if cell_a.product == cell_b.product {
        compare(Condition::StoreVersion, &cell_a.product, cell_a.store_version.clone(), cell_b.store_version.clone());
        for (fact, a, b) in joined(&cell_a.store_config, &cell_b.store_config) {
            compare(Condition::StoreConfig, fact, a.cloned().unwrap_or(NONE.into()), b.cloned().unwrap_or(NONE.into()));
        }
    }
    let emulated = |cell: &Cell| if cell.emulated.is_empty() { "nothing".into() } else { cell.emulated.join(", ") };
    compare(Condition::Emulated, "", emulated(cell_a), emulated(cell_b));
    found
}

/// A fact that is not there.
const NONE: &str = "not stated";

fn level(cell: &Cell) -> String {
    let says = if cell.durability_is_claimed() { ", as the server says" } else { "" };
    cell.durability.map_or(NONE.into(), |level| format!("{level}{says}"))
}

fn shown(value: Option<&serde_json::Value>) -> String {
    match value {
        None => NONE.into(),
        Some(serde_json::Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// Keys of both maps, each once, in order, with the values they have.
fn joined<'a, V>(
    a: &'a BTreeMap<String, V>,
    b: &'a BTreeMap<String, V>,
) -> impl Iterator<Item = (&'a str, Option<&'a V>, Option<&'a V>)> {
    let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    keys.into_iter().map(|key| (key.as_str(), a.get(key), b.get(key)))
}

/// The facts of a machine a time depends on. The kind of clock is not among them: both kinds show the same time.
fn host(host: &HostFacts) -> [(&'static str, String); 8] {
    let fact = |fact: &Option<String>| fact.clone().unwrap_or_else(|| NONE.into());
    [
        ("kernel", host.kernel.clone()),
        ("cpu", host.cpu.clone()),
        ("cpus", host.cpus.to_string()),
        // What the kernel keeps for itself varies by a few pages from boot to boot.
        ("memory", format!("{:.1} GiB", host.memory_bytes as f64 / f64::from(1 << 30))),
        ("governor", fact(&host.governor)),
        ("filesystem", fact(&host.filesystem)),
        ("huge_pages", fact(&host.huge_pages)),
        ("virtualisation", fact(&host.virtualisation)),
    ]
}
