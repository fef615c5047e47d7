//! One store over its versions.

use crate::collection::{Collection, Published};
use crate::key::ComparisonKey;
use analysis::{Better, Metric, Shown, separate};
use std::collections::BTreeMap;
use study::{Cell, Quantity};

/// What one store did with the same work in the course of its versions.
#[derive(Debug)]
pub struct VersionHistory<'c> {
    /// The store's spec without its version.
    pub store: String,
    /// What all results share.
    pub key: ComparisonKey,
    /// What they are measured by.
    pub metric: Metric,
    /// The newest result of each version, by version.
    pub results: Vec<(&'c Published, &'c Cell)>,
    /// The versions with which something changed.
    pub changes: Vec<VersionChange>,
}

/// A version that is shown to differ from the one before.
#[derive(Clone, Debug, PartialEq)]
pub struct VersionChange {
    /// The version before.
    pub from: String,
    /// The version.
    pub to: String,
    /// How many times better the later version is, with its interval; below 1 it is worse.
    pub better: Option<Quantity>,
}

/// Returns the histories of stores that were measured in two versions or more. All steps of one history are judged together.
pub fn histories(collection: &Collection) -> Vec<VersionHistory<'_>> {
    let mut by_store: BTreeMap<(String, ComparisonKey), BTreeMap<Vec<u64>, (&Published, &Cell)>> = BTreeMap::new();
    for published in &collection.studies {
        for cell in published.study.cells.iter().filter(|cell| !cell.baseline && cell.verdict.is_ranked()) {
            let key = ComparisonKey::of(&published.study, cell);
            let store = by_store.entry((versionless(&cell.store), key)).or_default();
            store.insert(numbers(&cell.store_version), (published, cell));
        }
    }
    let several = by_store.into_iter().filter(|(_, results)| results.len() > 1);
    several.map(|((store, key), results)| history(store, key, results.into_values().collect())).collect()
}

fn history<'c>(store: String, key: ComparisonKey, results: Vec<(&'c Published, &'c Cell)>) -> VersionHistory<'c> {
    let metric = results.first().map_or(Metric::Makespan, |(_, cell)| Metric::ranking(cell));
    let pairs: Vec<(&Cell, &Cell)> = results.windows(2).map(|two| (two[0].1, two[1].1)).collect();
    let shown = separate(&pairs, metric);
    let changed = pairs.iter().zip(shown).filter(|(_, shown)| matches!(shown, Shown::Larger | Shown::Smaller));
    let changes = changed.map(|((from, to), _)| VersionChange {
        from: from.store_version.clone(),
        to: to.store_version.clone(),
        better: match metric.better() {
            Better::Lower => analysis::ratio(to, from, metric),
            Better::Higher => analysis::ratio(from, to, metric),
        },
    });
    let changes = changes.collect();
    VersionHistory { store, key, metric, results, changes }
}

/// A spec without `@VERSION`, `version=` and the file of a library.
fn versionless(spec: &str) -> String {
    let (name, rest) = spec.split_once(',').map_or((spec, ""), |(name, rest)| (name, rest));
    let name = name.split_once('@').map_or(name, |(name, _)| name);
    let kept = rest.split(',').filter(|option| !option.is_empty());
    let kept = kept.filter(|option| !["version=", "lib=", "program="].iter().any(|of| option.starts_with(of)));
    std::iter::once(name).chain(kept).collect::<Vec<_>>().join(",")
}

/// The numbers of a version, for their order.
fn numbers(version: &str) -> Vec<u64> {
    version.split(|letter: char| !letter.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::{numbers, versionless};

    #[test]
    fn a_store_is_the_same_in_all_its_versions_and_other_options_stay() {
        assert_eq!(versionless("redis@7.0.15,durability=commit"), "redis,durability=commit");
        assert_eq!(versionless("rocksdb,lib=/x.so,durability=os"), "rocksdb,durability=os");
        assert_eq!(versionless("lmdb"), "lmdb");
        assert!(numbers("9.10.1") > numbers("9.9.2") && numbers("15.18 (Debian)") == [15, 18]);
    }
}
