//! What crashes have shown of the level of durability a store promises.

use crate::{CrashMeans, Promise};
use serde::{Deserialize, Serialize};

/// Whose crashes they were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShownWhere {
    /// The user's own crashes, on this machine.
    #[default]
    Here,
    /// Crashes that came with the build, made on another machine.
    Elsewhere,
}

/// The result of crashes at a level. Where there were none, only the store vouches for its promise.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ShownPromise {
    /// Whose crashes.
    pub place: ShownWhere,
    /// `kept` or `broken`.
    pub promise: Promise,
    /// The means of the crashes.
    pub means: CrashMeans,
    /// The number of crashes.
    pub cuts: u32,
    /// The day of the latest, e.g. `2026-11-25`.
    pub day: String,
}

impl ShownPromise {
    /// Returns the same after more crashes of that level: what was broken once stays broken. Power cuts show all that kills do, and more, so the
    /// two are not added up: what power cuts have shown remains.
    pub fn after(self, earlier: &ShownPromise) -> ShownPromise {
        if self.means != earlier.means {
            let weight = |it: &ShownPromise| (it.promise == Promise::Broken, it.means == CrashMeans::Power);
            return if weight(&self) < weight(earlier) { earlier.clone() } else { self };
        }
        let promise = if earlier.promise == Promise::Broken { Promise::Broken } else { self.promise };
        ShownPromise { promise, cuts: self.cuts + earlier.cuts, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::ShownPromise;
    use crate::{CrashMeans, Promise};

    #[test]
    fn power_cuts_and_kills_are_not_added_up_and_what_was_broken_stays_broken() {
        let of = |means, promise, cuts| ShownPromise { means, promise, cuts, ..ShownPromise::default() };
        let kills = of(CrashMeans::Kill, Promise::Kept, 20);
        let power_cuts = of(CrashMeans::Power, Promise::Kept, 5);
        let broken = of(CrashMeans::Kill, Promise::Broken, 1);
        assert_eq!(kills.clone().after(&kills).cuts, 40);
        assert_eq!(power_cuts.clone().after(&kills), power_cuts);
        assert_eq!(kills.after(&power_cuts), power_cuts);
        assert_eq!(power_cuts.after(&broken), broken);
    }
}
