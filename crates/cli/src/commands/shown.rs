//! What crashes have shown of the levels of stores: `crash` keeps it, `run` and `stores` say it.

use crate::output::note;
use selftest::{Identity, ShownLevels, StartedLevel};
use store::Facts;
use study::{Durability, ShownPromise, Spec, Target};

/// Returns the results of crashes known here.
pub fn known() -> ShownLevels {
    ShownLevels::known(&identity())
}

/// Keeps what was shown, for the studies that follow.
pub fn remember(store: &str, level: Durability, facts: &Facts, shown: ShownPromise) {
    let Some(started) = started(store, level, facts) else { return };
    if let Err(error) = selftest::remember_shown(&identity(), started, shown) {
        note(&format!(
            "kvtrial: what was shown is not kept for later studies: {error}; set XDG_CACHE_HOME to a directory of yours"
        ));
    }
}

/// Returns a level of a private store; `None` where it promises nothing, or where the store is the user's or in no registry.
pub fn started(store: &str, level: Durability, facts: &Facts) -> Option<StartedLevel> {
    let spec: Spec = store.parse().ok()?;
    if level == Durability::None || spec.target != Target::Private {
        return None;
    }
    Some(StartedLevel {
        store: Spec { name: family(&spec.name)?.into(), durability: None, ..spec }.to_string(),
        level: Some(level),
        product: facts.product.clone(),
        store_version: facts.version.clone(),
        store_config: facts.config.clone(),
    })
}

/// The name a store shares with those that differ from it in how they are reached only.
fn family(name: &str) -> Option<&'static str> {
    catalog::all().find(|info| info.name == name).map(|info| info.family)
}

fn identity() -> Identity {
    Identity::here(env!("CARGO_PKG_VERSION"))
}
