//! What crashes have shown of the levels of stores, kept for the studies that follow: those on this machine in `kvtrial/crashes.json` in the
//! user's cache directory, those that came with the build in `shown.json`.

use crate::Identity;
use crate::cache::{keep, nowhere, path};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use study::{Durability, ShownPromise, ShownWhere};

const FILE: &str = "crashes.json";
const OF_THE_BUILD: &str = include_str!("shown.json");

/// A level of a store as it was really started. What was shown of it holds for no other version and no other settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StartedLevel {
    /// The store's spec without level and secrets, under the name of its family: how it is reached changes nothing a crash could show.
    pub store: String,
    /// The level.
    pub level: Option<Durability>,
    /// The product that was really started.
    pub product: String,
    /// The version of the product.
    pub store_version: String,
    /// The effective configuration of the product.
    pub store_config: BTreeMap<String, String>,
}

/// A level and what was shown of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ShownLevel {
    /// The machine it was on.
    pub machine: String,
    /// The level.
    #[serde(flatten)]
    pub started: StartedLevel,
    /// The result of the crashes.
    pub shown: ShownPromise,
}

/// All that is known here.
#[derive(Clone, Debug, Default)]
pub struct ShownLevels(Vec<ShownLevel>);

impl ShownLevels {
    /// Returns the results of crashes on this machine, and those that came with the build.
    pub fn known(identity: &Identity) -> ShownLevels {
        let mut levels = path(FILE).map(|path| read(&path)).unwrap_or_default();
        levels.retain(|level| level.machine == identity.machine());
        let mut elsewhere: Vec<ShownLevel> = serde_json::from_str(OF_THE_BUILD).unwrap_or_default();
        elsewhere.iter_mut().for_each(|level| level.shown.place = ShownWhere::Elsewhere);
        levels.append(&mut elsewhere);
        ShownLevels(levels)
    }

    /// Returns the result for this level with this version and these settings; this machine's before others.
    pub fn of(&self, started: &StartedLevel) -> Option<&ShownPromise> {
        self.0.iter().find(|level| level.started == *started).map(|level| &level.shown)
    }

    /// Returns the latest that was shown of a level of a store, whatever its version and settings; here before elsewhere.
    pub fn latest(&self, store: &str, level: Durability) -> Option<&ShownLevel> {
        let of = |it: &&ShownLevel| it.started.store == store && it.started.level == Some(level);
        let is_here = |it: &&ShownLevel| it.shown.place == ShownWhere::Here;
        self.0.iter().filter(of).max_by_key(|it| (is_here(it), it.shown.day.as_str()))
    }
}

/// Keeps what crashes on this machine have shown; added to what earlier ones have.
///
/// # Errors
/// There is no cache directory, or it cannot be written to. Nothing but the memory of it is lost.
pub fn remember_shown(identity: &Identity, started: StartedLevel, shown: ShownPromise) -> io::Result<()> {
    let level = ShownLevel { machine: identity.machine().to_owned(), started, shown };
    remember_in(&path(FILE).ok_or_else(nowhere)?, level)
}

fn read(path: &Path) -> Vec<ShownLevel> {
    fs::read(path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

fn remember_in(path: &Path, mut level: ShownLevel) -> io::Result<()> {
    let mut levels = read(path);
    let same = |it: &ShownLevel| it.machine == level.machine && it.started == level.started;
    if let Some(at) = levels.iter().position(same) {
        level.shown = level.shown.after(&levels.remove(at).shown);
    }
    levels.push(level);
    keep(path, &levels)
}

#[cfg(test)]
mod tests {
    use super::{OF_THE_BUILD, ShownLevel, ShownLevels, StartedLevel, read, remember_in};
    use study::{Durability, Promise, ShownPromise, ShownWhere};

    fn level(version: &str, promise: Promise, cuts: u32, day: &str) -> ShownLevel {
        let started = StartedLevel {
            store: "redis".into(),
            level: Some(Durability::Os),
            product: "Redis".into(),
            store_version: version.into(),
            ..StartedLevel::default()
        };
        let shown = ShownPromise { promise, cuts, day: day.into(), ..ShownPromise::default() };
        ShownLevel { machine: "this".into(), started, shown }
    }

    #[test]
    fn crashes_of_one_version_add_up_and_a_promise_once_broken_stays_broken() {
        let directory = std::env::temp_dir().join(format!("kvtrial-shown-{}", std::process::id()));
        let path = directory.join("deep/crashes.json");
        for made in [
            level("7.0", Promise::Kept, 20, "2026-11-24"),
            level("7.2", Promise::Kept, 5, "2026-11-24"),
            level("7.0", Promise::Broken, 3, "2026-11-25"),
            level("7.0", Promise::Kept, 20, "2026-11-26"),
        ] {
            remember_in(&path, made).unwrap();
        }
        let known = ShownLevels(read(&path));
        let of = |version| known.of(&level(version, Promise::Kept, 0, "").started).cloned();
        assert_eq!(of("7.0"), Some(level("", Promise::Broken, 43, "2026-11-26").shown));
        assert_eq!(of("7.2"), Some(level("", Promise::Kept, 5, "2026-11-24").shown));
        assert_eq!(of("8.0"), None);
        let latest = known.latest("redis", Durability::Os).map(|it| it.started.store_version.as_str());
        assert_eq!((latest, known.latest("redis", Durability::Commit)), (Some("7.0"), None));
        std::fs::write(&path, "[").unwrap();
        assert!(read(&path).is_empty(), "half a file is no knowledge");
        std::fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn what_was_shown_here_comes_before_what_came_with_the_build() {
        let mut elsewhere = level("7.0", Promise::Kept, 100, "2026-12-01");
        elsewhere.shown.place = ShownWhere::Elsewhere;
        let here = level("7.0", Promise::Kept, 5, "2026-11-25");
        let known = ShownLevels(vec![here.clone(), elsewhere]);
        assert_eq!(known.of(&here.started), Some(&here.shown));
        assert_eq!(known.latest("redis", Durability::Os), Some(&here));
    }

    #[test]
    fn what_came_with_the_build_can_be_read() {
        let levels: Vec<ShownLevel> = serde_json::from_str(OF_THE_BUILD).unwrap();
        let is_whole = |it: &ShownLevel| it.started.level.is_some() && it.shown.cuts > 0 && it.shown.day.len() == 10;
        assert!(levels.iter().all(is_whole));
    }
}
