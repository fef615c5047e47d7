//! In what two cells differ besides the store: what a comparison must say, and what forbids it.

use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use study::{
    Cell, Crash, CrashCase, CrashMeans, CrashMoment, Durability, DurabilitySource, HostFacts, StruckNodes, Study,
};

/// The subject of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// Another job.
    Job,
    /// Other input data.
    Input,
    /// Other parameters of job or engine.
    Params,
    /// Nodes failed on purpose, and not in the same way.
    Faults,
    /// Crashes were made in another way.
    Crashes,
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
    /// One cell emulates operations that the other has natively.
    Emulated,
    /// Another microcode, or another answer of the kernel's to a weakness of the processor.
    Mitigation,
}

/// The weight of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Weight {
    /// May well be what is to be compared; it is listed.
    Listed,
    /// Never compared unless asked for (`--across`): another class or durability level.
    Across,
    /// The figures are not of the same thing (`--anyway`): other input, parameters, machine or instrument.
    Forbids,
}

/// A difference between the conditions of two cells.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Difference {
    /// The subject of the difference.
    pub condition: Condition,
    /// The fact that differs, e.g. `policy` or `cpu`; empty where the condition says enough.
    pub fact: String,
    /// The fact's value in the first cell.
    pub a: String,
    /// The fact's value in the second cell.
    pub b: String,
}

impl Difference {
    /// Returns how much it weighs.
    pub fn weight(&self) -> Weight {
        match self.condition {
            Condition::Job
            | Condition::Input
            | Condition::Params
            | Condition::Faults
            | Condition::Crashes
            | Condition::Host
            | Condition::Kvtrial => Weight::Forbids,
            Condition::Class | Condition::Durability => Weight::Across,
            Condition::StoreVersion | Condition::StoreConfig | Condition::Emulated | Condition::Mitigation => {
                Weight::Listed
            }
        }
    }
}

/// Returns every difference between the conditions two cells were measured under, heaviest first within the order of [`Condition`].
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
    let faults = |cell: &Cell| cell.faults.iter().map(|fault| fault.planned.as_str()).collect::<Vec<_>>().join(", ");
    compare(Condition::Faults, "", faults(cell_a), faults(cell_b));
    of_studies(study_a, study_b, &mut compare);
    compare(Condition::Class, "", cell_a.class.to_string(), cell_b.class.to_string());
    if cell_a.durability != cell_b.durability {
        compare(Condition::Durability, "", level(cell_a), level(cell_b));
    }
    // Two products always differ in these, so it is not worth a note.
    if cell_a.product == cell_b.product {
        let (config_a, config_b) = (&cell_a.store_config, &cell_b.store_config);
        of_products(
            &cell_a.product,
            (&cell_a.store_version, config_a),
            (&cell_b.store_version, config_b),
            &mut compare,
        );
    }
    let emulated = |cell: &Cell| if cell.emulated.is_empty() { "nothing".into() } else { cell.emulated.join(", ") };
    compare(Condition::Emulated, "", emulated(cell_a), emulated(cell_b));
    found
}

/// Returns the same of two levels of stores that were crashed.
pub(crate) fn crash_differences(a: (&Study, &Crash, &CrashCase), b: (&Study, &Crash, &CrashCase)) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut compare = |condition, fact: &str, a: String, b: String| {
        if a != b {
            found.push(Difference { condition, fact: fact.to_owned(), a, b });
        }
    };
    let ((study_a, crash_a, case_a), (study_b, crash_b, case_b)) = (a, b);
    for (fact, a, b) in unlike_ways(crash_a, crash_b) {
        compare(Condition::Crashes, fact, a, b);
    }
    of_studies(study_a, study_b, &mut compare);
    let level = |case: &CrashCase| case.level.map_or(NONE, Durability::name).to_owned();
    compare(Condition::Durability, "", level(case_a), level(case_b));
    // What was never opened says nothing of itself.
    if case_a.product == case_b.product && !case_a.product.is_empty() {
        of_products(
            &case_a.product,
            (&case_a.store_version, &case_a.store_config),
            (&case_b.store_version, &case_b.store_config),
            &mut compare,
        );
    }
    found
}

/// Returns whether the crashes of two studies are made in the same way, as far as both say it.
pub fn are_made_alike(a: &Crash, b: &Crash) -> bool {
    unlike_ways(a, b).is_empty()
}

/// Returns the options in which two studies of crashes differ, as far as both state them, with the values of each.
fn unlike_ways(a: &Crash, b: &Crash) -> Vec<(&'static str, String, String)> {
    let both = ways(a).into_iter().zip(ways(b));
    both.filter_map(|((option, a), (_, b))| Some((option, a?, b?))).filter(|(_, a, b)| a != b).collect()
}

/// Returns how crashes were made, in the words of the options; `None` where a study does not say so.
fn ways(crash: &Crash) -> [(&'static str, Option<String>); 8] {
    let how = match crash.means {
        CrashMeans::Kill => "kill",
        CrashMeans::Freeze => "freeze",
        CrashMeans::Command => "a command",
        CrashMeans::Power => "power",
    };
    let nodes = match crash.nodes {
        StruckNodes::One => "1",
        StruckNodes::Majority => "majority",
        StruckNodes::All => "all",
    };
    let during = match &crash.during {
        CrashMoment::Write => "write".into(),
        CrashMoment::Checkpoint => "checkpoint".into(),
        CrashMoment::Compaction => "compaction".into(),
        CrashMoment::Recovery => "recovery".into(),
        CrashMoment::Rename => "rename".into(),
        CrashMoment::Log(text) => format!("log {text}"),
    };
    let time = |seconds: f64| Duration::try_from_secs_f64(seconds).map(|it| format!("{it:?}")).unwrap_or_default();
    [
        ("--how", Some(how.into())),
        ("--disk", crash.disk.map(|disk| disk.name().into())),
        ("--nodes", Some(nodes.into())),
        ("--during", Some(during)),
        ("--clients", Some(crash.clients.to_string())),
        ("--value-bytes", crash.value_bytes.map(|bytes| bytes.to_string())),
        ("--within", crash.within_s.map(time)),
        ("--outage", crash.outage_s.map(time)),
    ]
}

/// Machines and versions of kvtrial.
fn of_studies(a: &Study, b: &Study, compare: &mut dyn FnMut(Condition, &str, String, String)) {
    for ((fact, a), (_, b)) in host(&a.host).into_iter().zip(host(&b.host)) {
        compare(Condition::Host, fact, a, b);
    }
    // Studies of earlier versions do not say it.
    if let (Some(a), Some(b)) = (&a.host.idle, &b.host.idle) {
        compare(Condition::Host, "idle", a.clone(), b.clone());
    }
    compare(Condition::Kvtrial, "", a.kvtrial.clone(), b.kvtrial.clone());
    if let (Some(a), Some(b)) = (&a.host.mitigations, &b.host.mitigations) {
        let said = |it: Option<&String>| it.cloned().unwrap_or("Not affected".into());
        joined(a, b).for_each(|(weakness, a, b)| compare(Condition::Mitigation, weakness, said(a), said(b)));
    }
    if let (Some(a), Some(b)) = (&a.host.microcode, &b.host.microcode) {
        compare(Condition::Mitigation, "microcode", a.clone(), b.clone());
    }
}

/// Versions and configurations of one product.
fn of_products(
    product: &str,
    a: (&str, &BTreeMap<String, String>),
    b: (&str, &BTreeMap<String, String>),
    compare: &mut dyn FnMut(Condition, &str, String, String),
) {
    compare(Condition::StoreVersion, product, a.0.to_owned(), b.0.to_owned());
    for (fact, a, b) in joined(a.1, b.1) {
        compare(Condition::StoreConfig, fact, a.cloned().unwrap_or(NONE.into()), b.cloned().unwrap_or(NONE.into()));
    }
}

/// A fact that is not there.
const NONE: &str = "not stated";

fn level(cell: &Cell) -> String {
    let says = match cell.durability_source() {
        Some(DurabilitySource::AsTheServerSays) => ", as the server says",
        Some(DurabilitySource::AsTheUserSays) => ", as you say",
        Some(DurabilitySource::Assumed) => ", assumed",
        Some(DurabilitySource::SetByKvtrial) | None => "",
    };
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
